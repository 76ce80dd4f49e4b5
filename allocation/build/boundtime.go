package build

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// bound adds to the rows of a container the least and the most time that it may truly have run. Sets that do not count a run may
// have no row of the container. So the nearest set that does takes the time that is possible beyond it, and sums over sets are bounds
// too. A wait that is charged belongs to the run after it.
func (b *Builder) bound(c *container, found *timeline.Runs, waits timeline.Intervals) {
	for _, wait := range waits {
		if n := len(found.All); n > 0 && found.All[0].Start.At == wait.To {
			found.All[0].Start = timeline.Reported(wait.From)
			continue
		}
		end := timeline.Edge{At: wait.To, Earliest: wait.To - b.sampling.Cell(), Latest: wait.To + b.sampling.Cell()}
		pending := timeline.Runs{All: []timeline.Run{{Start: timeline.Reported(wait.From), End: end}}}
		b.boundRun(c, &pending, 0)
	}
	for k := range found.All {
		b.boundRun(c, found, k)
	}
}

// boundRun adds the certain and the possible time of the k-th run.
func (b *Builder) boundRun(c *container, found *timeline.Runs, k int) {
	run, begin, end := &found.All[k], b.sampling.Start, b.sampling.End
	from, to := max(run.Start.At, begin), min(run.End.At, end)
	if len(c.rows) == 0 || from > to {
		return
	}
	first, last := b.setAt(from+1), b.setAt(to)
	if from == to { // not charged, but it may have run: the nearest row counts that
		first = nearest(c.rows, last)
		last = first
	}
	for _, part := range found.Least(k) {
		b.addBound(c, allocation.LeastSeconds, first, last, max(part.From, b.borders[first]), min(part.To, b.borders[last+1]))
	}
	most := found.Most(k)
	if from == begin || from == b.start() { // nothing is asked about the time before
		most.From = max(most.From, from)
	}
	if to == end || to == b.end() {
		most.To = min(most.To, to)
	}
	if int(first) >= b.last || int(last) < b.first { // only a margin counts it: the nearest row in the window takes what may lie there
		asked := slices.DeleteFunc(slices.Clone(c.rows), func(x rowRef) bool { return x.row == noRow })
		if len(asked) == 0 {
			return
		}
		first = nearest(asked, first)
		last, most = first, timeline.Interval{From: max(most.From, b.start()), To: min(most.To, b.end())}
	}
	b.addBound(c, allocation.MostSeconds, first, last, most.From, most.To)
}

// nearest returns the set, among those of rows, that is nearest to another set.
func nearest(rows []rowRef, set int32) int32 {
	return slices.MinFunc(rows, func(x, y rowRef) int { return cmp.Compare(distance(x.set, set), distance(y.set, set)) }).set
}

// distance is the number of sets from x to y.
func distance(x, y int32) int32 { return max(x-y, y-x) }

// addBound adds (from, to] to a column of the rows in the sets from first to last. Each row takes the part within its set; the first
// and the last row also take what lies before and after.
func (b *Builder) addBound(c *container, column allocation.Column, first, last int32, from, to int64) {
	for _, ref := range c.rows {
		if ref.set < first || ref.set > last {
			continue
		}
		lo, hi := from, to
		if ref.set > first {
			lo = max(lo, b.borders[ref.set])
		}
		if ref.set < last {
			hi = min(hi, b.borders[ref.set+1])
		}
		if lo < hi {
			b.add(ref, column, float64(hi-lo)/1000)
		}
	}
}
