package charge

import (
	"cmp"
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

// measureInOrder measures a series at once, or keeps it for measureRestarted if the container restarted. The charge for the time before
// the first sample of a series depends on the series before it, and sources do not return series in the order of time.
func (l *integrator) measureInOrder(c *observe.Container, s *observe.Incoming) {
	if !c.Restarted {
		l.measure(c, s)
		return
	}
	held := *s
	held.Key, held.Points = slices.Clone(s.Key), s.Points.Clone()
	use := l.ch.containerUse(c)
	use.unmeasured = append(use.unmeasured, held)
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
			l.measure(c.Container, &c.unmeasured[i])
		}
		c.unmeasured = nil
	}
}
