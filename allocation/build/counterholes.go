package build

import (
	"cmp"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// attributeHoles corrects the increases of a counter over holes if its series has no id that distinguishes containers of
// one name (SEMANTICS §2: a gap is bridged if UID and start are the same on both sides). If c started within the hole, its
// increase begins with that start; if c does not run after the hole, it has none. cells is changed in place.
func (b *Builder) attributeHoles(c *container, s *incoming, cells []timeline.Cell) []timeline.Cell {
	if s.series != 0 || s.Signal != signals.ContainerUse {
		return cells
	}
	kept := cells[:0]
	for _, cell := range cells {
		if cell.From != timeline.Unborn && cell.Held && cell.Amount != 0 {
			if _, running := c.runs.Find(cell.To); !running {
				continue
			}
			if at, ok := c.startedWithin(cell.From, cell.To); ok {
				cell.From = min(at, cell.To-1)
				cell.Amount, _ = b.samplingOf(s).SeenAt(s.p, cell.To)
			}
		}
		kept = append(kept, cell)
	}
	return kept
}

// isSameCounter reports whether a counter that was seen until from and again at to is the same one. Its id decides, else the
// container's starts.
func (b *Builder) isSameCounter(c *container, s *incoming, from, to int64) bool {
	if s.series != 0 {
		return true
	}
	_, again := c.startedWithin(from, to)
	return !again
}

// reportedStarts are the starts that are reported within an hour of t. Every window around t knows these.
func (c *container) reportedStarts(t int64) timeline.Steps {
	return c.started.Around(t, allocation.Evidence.Milliseconds())
}

// startedWithin returns when the container last started in (from, to], by the starts reported, else by its runs. ok is false if
// it did not start.
func (c *container) startedWithin(from, to int64) (at int64, ok bool) {
	at = math.MinInt64
	for _, x := range c.reportedStarts(to) {
		if v := int64(x.V * 1000); v <= to {
			at = max(at, v)
		}
	}
	if at == math.MinInt64 {
		if run, running := c.runs.Find(to); running {
			at = run.From
		}
	}
	return at, at > from && at <= to
}

// nextStart is the first reported start of the container after t, timeline.Forever if there is none.
func (c *container) nextStart(t int64) int64 { return c.reportedStarts(t).NextInstant(t) }

// hasRestarted reports whether a container is known to have started more than once within the window. It may then have a usage
// series for each start.
func (c *container) hasRestarted() bool {
	return len(c.runs) > 1 || c.started.Varies() || c.restarts.Varies()
}

// measureInOrder measures a series at once, or keeps it for measureRestarted if the container restarted. The charge for the time before
// the first sample of a series depends on the series before it, and sources do not return series in the order of time.
func (l *integrator) measureInOrder(c *container, s *incoming) {
	if !c.restarted {
		l.measure(c, s)
		return
	}
	held := *s
	held.key, held.p = slices.Clone(s.key), s.p.Clone()
	use := l.b.containerUse(c)
	use.unmeasured = append(use.unmeasured, held)
}

// measureRestarted measures the series that measureInOrder kept, in the order of time.
func (b *Builder) measureRestarted() {
	l := &b.usage
	for _, c := range each(&b.limits, slices.All(b.uses.containers)) {
		if c == nil {
			continue
		}
		slices.SortStableFunc(c.unmeasured, func(x, y incoming) int {
			return cmp.Or(cmp.Compare(x.Signal, y.Signal), cmp.Compare(x.p.First(), y.p.First()), cmp.Compare(x.p.Last(), y.p.Last()))
		})
		for i := range c.unmeasured {
			l.measure(c.container, &c.unmeasured[i])
		}
		c.unmeasured = nil
	}
}
