package timeline

// Sights is when the samples of a series show that an object runs. The value is how long a sample lasts, in milliseconds: the
// scrape interval of the series, on the grid up to two where the series has no staleness markers; 0 where samples are 0. In
// exact mode a step reaches from just before its first sample to its last, and scrapes that are missing end it; on the grid it
// is of Steps.
func (s Sampling) Sights(p *Points) Steps {
	var few [4]Step
	return append(Steps(nil), s.appendSights(few[:0], p)...)
}

// appendSights appends sights to dst, which is empty.
func (s Sampling) appendSights(dst Steps, p *Points) Steps {
	lasts := s.Interval // of answers, whose distance is that of the grid
	switch {
	case !s.Exact() && s.Lookback < Lookback:
		lasts = s.Lookback
	case s.Exact() || !p.sampled:
		lasts = s.interval(p)
	}
	return s.shown(dst, p, func(v float64) float64 {
		if v == 0 {
			return 0
		}
		return float64(lasts)
	})
}

// Reports are the values of a series at the times at which its samples show them: as Sights, but of the samples' values.
func (s Sampling) Reports(p *Points) Steps {
	var few [4]Step
	return append(Steps(nil), s.appendReports(few[:0], p)...)
}

// appendReports appends reports to dst, which is empty.
func (s Sampling) appendReports(dst Steps, p *Points) Steps {
	return s.shown(dst, p, func(v float64) float64 { return v })
}

// shown appends values of a series' samples to out, which is empty.
func (s Sampling) shown(out Steps, p *Points, value func(float64) float64) Steps {
	if !s.Exact() {
		var few [4]Step
		for _, x := range s.appendSteps(few[:0], p) {
			out = out.add(x.From, x.To, value(x.V))
		}
		return out
	}
	apart := 2*s.interval(p) - 1
	joined := false
	for x := range s.pieces(p, apart) {
		if !usable(x.v) {
			joined = false
			continue
		}
		v := value(x.v)
		if n := len(out); joined && out[n-1].V == v {
			out[n-1].To = x.last
		} else {
			out = append(out, Step{x.first - 1, x.last, v})
		}
		joined = !x.marked && x.next-x.last <= apart
	}
	return out
}

// SightsOf returns the sights that the steps of Steps were made of, as far as the steps show them. Steps of any value count.
func (s Sampling) SightsOf(steps Steps) Steps {
	var out Steps
	for _, x := range steps {
		out = out.add(x.From, x.To, float64(s.Interval))
	}
	if s.Exact() {
		for i := range out {
			x := &out[i]
			x.From, x.To = x.From-1, max(x.From, x.To-s.Interval)
		}
	}
	return out
}

// LastSight returns the last sight whose step, made by Steps or Holding, lasts until a time.
func (s Sampling) LastSight(until int64) int64 {
	if s.Exact() {
		return until - s.Interval
	}
	return until
}

// Holding is how long sights of any value last: each until the next scrape. It overwrites dst with that.
func (s Sampling) Holding(dst, sights Steps) Steps {
	out := append(dst[:0], sights...)
	for i := range out {
		if s.Exact() {
			out[i].To += max(int64(out[i].V), s.Interval)
		}
		if i > 0 {
			out[i].From = max(out[i].From, out[i-1].To)
			out[i].To = max(out[i].To, out[i].From)
		}
	}
	return out
}
