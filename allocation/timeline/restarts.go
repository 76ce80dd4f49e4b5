package timeline

import (
	"cmp"
	"slices"
)

// restart is a start at the time at, which was reported from the time reported on; with born set, of another object with the same name. The start before it
// was reported until shown.
type restart struct {
	at, shown, reported int64
	born                bool
}

// changes appends the starts that are reported to dst.
func (s Steps) changes(dst []restart, born bool) []restart {
	shown := int64(Unborn)
	for i := range s {
		if at, ok := s[i].millis(); ok {
			dst = append(dst, restart{at, shown, s[i].From, born})
		}
		shown = s[i].To
	}
	return dst
}

// divides reports whether an object was started within a span, and was reported to be so soon that a window around it could know.
func (c *restart) divides(x *sighting) bool {
	return c.at > x.From+1+second && c.at <= x.To && c.reported-c.at <= maxLead
}

// restarts divides spans in which another start is reported, of the object or of another one with its name.
func (s Sampling) restarts(p *Presence, spans []sighting) []sighting {
	var few [4]restart
	starts := p.Started.changes(few[:0], false)
	reported := int64(Unborn) // until when starts of its own were reported
	if n := len(p.Started); n > 0 {
		reported = p.Started[n-1].To
	}
	var fewBorn [4]restart
	for i, c := range p.Born.changes(fewBorn[:0], true) {
		if i > 0 && reported < c.shown { // the first start was known before
			starts = append(starts, c)
		}
	}
	if !slices.ContainsFunc(starts, func(c restart) bool {
		return slices.ContainsFunc(spans, func(x sighting) bool { return c.divides(&x) })
	}) {
		return spans
	}
	slices.SortFunc(starts, func(a, b restart) int { return cmp.Compare(a.at, b.at) })
	away := p.away()
	out := make([]sighting, 0, len(spans))
	for _, x := range spans {
		for _, c := range starts {
			if !c.divides(&x) {
				continue
			}
			old := x
			old.To, old.until = max(x.From+1, s.lastShown(p, c.at-x.last), min(c.shown, c.at-1)), c.at
			if gap, ok := away.Find(c.at); ok {
				old.To = max(x.From+1, gap.From)
			}
			out = append(out, old)
			x.From, x.since, x.born = c.at, Unborn, c.born
			if !c.born {
				x.started = c.at
			}
		}
		out = append(out, x)
	}
	return out
}

// away are the stretches between an end and the next start of which both were reported only after that start, and in which the object was shown
// as it was before: its node could not tell. An end that was reported later than 5 minutes after it does not count, because a window
// that ends there could not know it.
func (p *Presence) away() (out Intervals) {
	if len(p.Ended) == 0 {
		return nil
	}
	starts := p.Started.changes(nil, false)
	for i, c := range starts {
		v, ok := p.Ended.At(c.reported + 1)
		ended := int64(v * 1000)
		if i > 0 && ok && starts[i-1].at < ended && ended < min(c.shown, c.at) && c.reported-ended <= maxGap {
			out = append(out, Interval{ended, c.at})
		}
	}
	return out
}

// hidden adds the time that a restarted object may have run unseen: a termination is reported only for the latest run, and
// runs between two samples, or two points of the grid, are not seen. None of it is charged.
func (s Sampling) hidden(p *Presence, runs *Runs, w *Watch) {
	n := len(runs.All)
	if !s.Exact() {
		if n == 0 || n == 1 && !p.restarted() {
			return
		}
		for k := range runs.All[1:] {
			runs.All[k].End.Latest = max(runs.All[k].End.Latest, runs.All[k+1].Start.Earliest)
		}
		first, last := &runs.All[0].Start, &runs.All[n-1].End
		first.Earliest = min(first.Earliest, p.Seen[0].From-s.Interval)
		last.Latest = max(last.Latest, p.Seen[len(p.Seen)-1].To+s.Step)
		return
	}
	for i := range p.Ended {
		at, ok := p.Ended[i].millis()
		if !ok {
			continue
		}
		k, _ := slices.BinarySearchFunc(runs.All, at, func(r Run, at int64) int { return cmp.Compare(r.End.At, at-second) })
		if k == len(runs.All) || runs.All[k].Start.At >= at {
			runs.All = slices.Insert(runs.All, k, Run{Edge{at, p.stopped(at, s.Interval, w.Down), at}, Edge{at, at, at + second}})
		} else if len(p.Started) == 0 && runs.All[k].End.At > at+second {
			runs.Doubtful = append(runs.Doubtful, Interval{at - s.Interval, at + s.Interval})
		}
	}
}

// stopped is the last time before at when the object is known not to have run, scrapes being apart so far. In an outage
// nothing is known: what ended in one may have run since it began.
func (p *Presence) stopped(at, apart int64, down Intervals) int64 {
	last := at - maxGap
	if gap, ok := before(down, at); ok {
		last = min(last, max(gap.From-apart, at-maxLead))
	}
	if v, ok := p.Born.At(at); ok && v > 0 {
		last = int64(v * 1000)
	}
	for i := range p.Seen {
		if x := &p.Seen[i]; x.V == 0 && x.From < at {
			last = max(last, min(x.To, at-1), x.From)
			if x.To >= at {
				last = max(x.From, at-apart)
			}
		}
	}
	for i := range p.Ended {
		if v, ok := p.Ended[i].millis(); ok && v < at {
			last = max(last, v)
		}
	}
	return min(last, at)
}
