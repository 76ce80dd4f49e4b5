package charge

import (
	"cmp"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// attributeHoles corrects the increases of a counter over holes if its series has no id that distinguishes containers of
// one name (SEMANTICS §2: a gap is bridged if UID and start are the same on both sides). If c started within the hole, its
// increase begins with that start; if c does not run after the hole, it has none. cells is changed in place.
func (ch *Charger) attributeHoles(c *observe.Container, s *observe.Incoming, cells []timeline.Cell) []timeline.Cell {
	if s.ID != 0 || s.Signal != signals.ContainerUse {
		return cells
	}
	kept := cells[:0]
	for _, cell := range cells {
		if cell.From != timeline.Unborn && cell.Held && cell.Amount != 0 {
			if _, running := c.Runs.Find(cell.To); !running {
				continue
			}
			if at, ok := c.StartedWithin(cell.From, cell.To); ok {
				cell.From = min(at, cell.To-1)
				cell.Amount, _ = ch.SamplingOf(s).SeenAt(s.Points, cell.To)
			}
		}
		kept = append(kept, cell)
	}
	return kept
}

// isSameCounter reports whether a counter that was seen until from and again at to is the same one. Its id decides, else the
// container's starts.
func (ch *Charger) isSameCounter(c *observe.Container, s *observe.Incoming, from, to int64) bool {
	if s.ID != 0 {
		return true
	}
	_, again := c.StartedWithin(from, to)
	return !again
}

// measureInOrder measures a series at once, or keeps it for measureRestarted if several containers may follow each other: the container
// restarted, or several pods have its name. The charge for the time before the first sample of a series depends on the series before it, and
// sources do not return series in the order of time.
func (l *integrator) measureInOrder(c *observe.Container, s *observe.Incoming, several bool) {
	if !c.Restarted && !several {
		l.measure(c, s)
		return
	}
	use := l.ch.containerUse(c)
	for _, part := range l.ch.apart(c, s) {
		part.Key = slices.Clone(s.Key)
		use.unmeasured = append(use.unmeasured, part)
	}
}

// apart returns a series of usage in parts of its own, one for each start of its container, if it has no id that distinguishes these. A counter that
// falls is that of another start, and so is one that comes back after it.
func (ch *Charger) apart(c *observe.Container, s *observe.Incoming) (parts []observe.Incoming) {
	part := *s
	if s.ID != 0 || s.Signal != signals.ContainerUse || !ch.Sampling.Exact() {
		part.Points = s.Points.Clone()
		return []observe.Incoming{part}
	}
	first, last, seen := s.Points.First(), s.Points.First(), int64(timeline.Unborn)
	cut := func() {
		var points timeline.Points
		s.Points.Between(&points, first, last)
		part.Points, part.ID = points.Clone(), 0
		if at, known := c.StartBefore(first); known {
			part.ID = uint64(at)
		}
		parts = append(parts, part)
	}
	value := math.NaN()
	for t, v := range s.Points.All() {
		if v == v {
			anew := v < value
			if last > seen && t > first { // it was gone
				at, _ := c.StartBefore(t)
				anew = anew || at > seen
			}
			if anew {
				cut()
				first = t
			}
			seen, value = t, v
		}
		last = t
	}
	cut()
	return parts
}

// measureRestarted measures the series that measureInOrder kept, in the order of time.
func (ch *Charger) measureRestarted() {
	l := &ch.usage
	for _, c := range observe.Each(&ch.Limits, slices.All(ch.uses.containers)) {
		if c == nil {
			continue
		}
		slices.SortStableFunc(c.unmeasured, func(x, y observe.Incoming) int {
			return cmp.Or(cmp.Compare(x.Signal, y.Signal), cmp.Compare(x.Points.First(), y.Points.First()), cmp.Compare(x.Points.Last(), y.Points.Last()))
		})
		for i := range c.unmeasured {
			s := &c.unmeasured[i]
			if ch.Sampling.Exact() || s.Signal == signals.ContainerLevel {
				if next, ok := c.nextContainer(i, *ch.coverage(c.Container, s.Resource)); ok {
					s.Points = c.untilNext(s, next)
				}
			}
			l.measure(c.Container, s)
		}
		c.unmeasured = nil
	}
}

// nextContainer returns when the container started that follows the one of the i-th series, which is another one of the same signal, and
// whether there is one. A series may come in pieces: one that covers something began before.
func (c *containerUse) nextContainer(i int, covered timeline.Coverage) (start int64, ok bool) {
	s := &c.unmeasured[i]
	for k := i + 1; k < len(c.unmeasured); k++ {
		next := &c.unmeasured[k]
		if next.Signal != s.Signal {
			break
		}
		if next.ID == s.ID || covered.Has(next.ID) {
			continue
		}
		if first := next.Points.First(); first > s.Points.First() {
			if at, known := c.StartBefore(first); known && at > s.Points.First() {
				return at, true
			}
			return first, true
		}
	}
	return 0, false
}

// untilNext returns the points of a series until the next container started: cAdvisor may tell of an ended container for minutes. What a
// counter counts until it no longer grows was used before the end of the run.
func (c *containerUse) untilNext(s *observe.Incoming, next int64) *timeline.Points {
	if s.Signal != signals.ContainerUse {
		return until(s.Points, next)
	}
	grown, value := next, math.NaN()
	for t, v := range s.Points.All() {
		if v > value {
			grown = max(grown, t)
		}
		if v == v {
			value = v
		}
	}
	before := s.Points.First()
	for t, v := range s.Points.All() {
		run, running := c.Runs.Find(before + 1)
		if running && before < run.To && run.To < t && t <= grown && t-before <= timeline.Lookback {
			out := until(s.Points, before).Clone()
			out.Append(run.To, v)
			return out
		}
		before = t
	}
	return until(s.Points, grown)
}

// until returns the points up to a time. They share the memory of p.
func until(p *timeline.Points, t int64) *timeline.Points {
	var out timeline.Points
	p.Between(&out, p.First(), t)
	return &out
}
