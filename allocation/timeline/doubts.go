package timeline

import "slices"

// doubts returns the stretches in which the object may have ended and started again: those noted, those in which it is only
// assumed to run, those in which its node was away, and those in which its restarts were counted. On a grid, also stretches
// between two points with scrapes in between, or with a known restart. Where the same start or restart count is reported
// before and after a stretch, the object has not restarted.
func (s Sampling) doubts(p *Presence, runs *Runs) Intervals {
	if p.OneSeries {
		return nil
	}
	doubts := slices.Concat(runs.Doubtful, s.supposed(p))
	switch {
	case !s.Exact() && (s.Step >= 2*s.Interval || p.restarted()):
		for i := range runs.All {
			doubts = append(doubts, Interval{runs.All[i].Start.Earliest, runs.All[i].End.Latest})
		}
	case s.Exact():
		doubts = append(doubts, s.changing(p.Restarts)...)
	}
	if len(doubts) > 0 {
		doubts = Union(doubts).Without(s.unbroken(p))
	}
	for _, x := range p.away() {
		doubts = append(doubts, Interval{x.From, x.To + second})
	}
	return Union(doubts)
}

// unbroken are the stretches in which the object has not ended and started again, if it ran at both of their ends.
func (s Sampling) unbroken(p *Presence) Intervals {
	var out Intervals
	add := func(from, to int64) {
		if from < to {
			out = append(out, Interval{from, to})
		}
	}
	for i, x := range p.Restarts {
		from := x.From
		if i > 0 && p.Restarts[i-1].V == x.V {
			from = p.Restarts[i-1].To
		}
		add(s.firstOf(from), s.lastShown(p, s.shownUntil(p.Restarts, i)))
	}
	out = Union(out).Without(s.changing(p.Born)) // another object of its name counts its own
	for i := range p.Started {
		if at, ok := p.Started[i].millis(); ok {
			add(at+second, s.shownUntil(p.Started, i))
		}
	}
	return Union(out)
}

// supposed is when the object is only supposed to run, since the sample that showed last that it did.
func (s Sampling) supposed(p *Presence) (out Intervals) {
	for _, x := range p.Supposed {
		out = append(out, Interval{x.From - s.age(), x.To})
	}
	return Union(out)
}

// lastShown returns when a sample last showed, up to at, that the object ran. That is at itself unless the object is only
// assumed to run then.
func (s Sampling) lastShown(p *Presence, at int64) int64 {
	if x, ok := s.supposed(p).Find(at); ok {
		return x.From
	}
	return at
}

// shownUntil is until when the value of the i-th step held at least.
func (s Sampling) shownUntil(steps Steps, i int) int64 {
	if i+1 < len(steps) && steps[i+1].V != steps[i].V {
		return steps[i].To - s.age()
	}
	return steps[i].To
}

// changing returns the stretches in which the reported value changed.
func (s Sampling) changing(steps Steps) (out Intervals) {
	for i := 1; i < len(steps); i++ {
		if steps[i].V != steps[i-1].V {
			out = append(out, Interval{steps[i-1].To - s.age(), s.firstOf(steps[i].From)})
		}
	}
	return out
}

// age is how old a sample may be that a point of the grid sees: no marker may follow it.
func (s Sampling) age() int64 {
	if s.Exact() {
		return 0
	}
	return 2 * s.Interval
}

// restarted reports whether the object is known to have started more than once.
func (p *Presence) restarted() bool {
	return len(p.Ended) > 0 || p.Started.Varies() || p.Restarts.Varies() || p.Born.Varies()
}
