package timeline

import "slices"

// Sights is when the samples of a series show that an object runs. The value is how long a sample lasts, in milliseconds: the
// scrape interval of the series, on the grid up to two where the series has no staleness markers; 0 where samples are 0. In
// exact mode a step reaches from just before its first sample to its last, and scrapes that are missing end it; on the grid it
// is of Steps.
func (s Sampling) Sights(p *Points) Steps {
	lasts := float64(s.interval(p))
	switch {
	case s.Exact():
	case s.Lookback < Lookback:
		lasts = float64(s.Lookback)
	case p.sampled: // its distance is that of the grid
		lasts = float64(s.Interval)
	}
	return s.shown(p, func(v float64) float64 {
		if v == 0 {
			return 0
		}
		return lasts
	})
}

// Reports are the values of a series at the times at which its samples show them: as Sights, but of the samples' values.
func (s Sampling) Reports(p *Points) Steps { return s.shown(p, func(v float64) float64 { return v }) }

func (s Sampling) shown(p *Points, value func(float64) float64) Steps {
	var few [4]Step
	out := Steps(few[:0])
	if !s.Exact() {
		for _, x := range s.Steps(p) {
			out = out.add(x.From, x.To, value(x.V))
		}
		return append(Steps(nil), out...)
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
	return append(Steps(nil), out...)
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

// Holding is how long sights of any value last: each until the next scrape.
func (s Sampling) Holding(sights Steps) Steps {
	out := slices.Clone(sights)
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
