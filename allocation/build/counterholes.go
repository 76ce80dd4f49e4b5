package build

import (
	"cmp"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// apart gives the increases of a counter over holes to who used them, where its series has no id that tells the containers of
// one name apart (SEMANTICS §2: a gap is bridged where the same UID and start stand on both sides). The increase of a
// container that was not there before the hole began with its start; of one that is not there after it, it is nothing. cells
// is changed in place.
func (b *Builder) attributeHoles(c *container, s *seen, cells []timeline.Cell) []timeline.Cell {
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

// goesOn reports whether a counter that was seen until from and again at to is the same one: by its id, else by what is known
// of the container's starts.
func (b *Builder) isSameCounter(c *container, s *seen, from, to int64) bool {
	if s.series != 0 {
		return true
	}
	_, again := c.startedWithin(from, to)
	return !again
}

// toldAround are the starts that every window around t knows of: not what is reported only more than an hour before or later.
func (c *container) reportedStarts(t int64) timeline.Steps {
	return c.started.Around(t, allocation.Evidence.Milliseconds())
}

// startedWithin is when the container last started in (from, to], by the starts reported, else by its runs; ok is false where
// it did not.
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

// nextStart is the first reported start of the container after t, timeline.Forever where there is none.
func (c *container) nextStart(t int64) int64 {
	next := int64(timeline.Forever)
	for _, x := range c.reportedStarts(t) {
		if at := int64(x.V * 1000); at > t {
			next = min(next, at)
		}
	}
	return next
}

// hasRestarted reports whether a container has started more than once within the window, as far as is known: then it may have a usage
// series for each start.
func (c *container) hasRestarted() bool {
	return len(c.runs) > 1 || c.started.Varies() || c.restarts.Varies()
}

// measureInOrder measures a series at once, or, where the container restarted, once all of its series are there: what a series is
// charged for the time before its first sample depends on the series before it, and sources give series in no order of time.
func (l *Worker) measureInOrder(c *container, s *seen) {
	if !c.restarted {
		l.measure(c, s)
		return
	}
	held := *s
	held.key, held.p = slices.Clone(s.key), s.p.Clone()
	c.unmeasured = append(c.unmeasured, held)
}

// measureRestarted measures what measureInOrder has held back, in the order of time.
func (b *Builder) measureRestarted() {
	l := b.worker()
	for _, c := range each(b, slices.All(b.pods.order)) {
		slices.SortStableFunc(c.unmeasured, func(x, y seen) int {
			return cmp.Or(cmp.Compare(x.Signal, y.Signal), cmp.Compare(x.p.First(), y.p.First()), cmp.Compare(x.p.Last(), y.p.Last()))
		})
		for i := range c.unmeasured {
			l.measure(c, &c.unmeasured[i])
		}
		c.unmeasured = nil
	}
}
