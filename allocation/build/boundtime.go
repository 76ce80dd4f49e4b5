package build

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// bound adds to the rows of a container how long it truly ran at the least and at the most. What is possible of a run beyond
// the sets that count it is added to the nearest of them, for in the others it may have no row: so sums over sets bound what is
// true of all of them. A wait that is charged belongs to the run after it.
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

// boundRun adds what is certain and what is possible of the k-th run.
func (b *Builder) boundRun(c *container, found *timeline.Runs, k int) {
	run, begin, end := &found.All[k], b.sampling.Start, b.sampling.End
	from, to := max(run.Start.At, begin), min(run.End.At, end)
	if len(c.rows) == 0 || from > to {
		return
	}
	first, last := b.setAt(from+1), b.setAt(to)
	if from == to { // not charged, but it may have run: the nearest row says so
		first = nearest(c.rows, last)
		last = first
	}
	for _, part := range found.Least(k) {
		b.addBound(c, allocation.LeastSeconds, first, last, max(part.From, b.borders[first]), min(part.To, b.borders[last+1]))
	}
	most := found.Most(k)
	if from == begin || from == b.start() { // the margins around the window are not asked for
		most.From = max(most.From, from)
	}
	if to == end || to == b.end() {
		most.To = min(most.To, to)
	}
	if int(first) >= b.last || int(last) < b.first { // counted in a margin alone: what of it may lie within the window is the nearest row's there
		asked := slices.DeleteFunc(slices.Clone(c.rows), func(x rowRef) bool { return int(x.set) < b.first || int(x.set) >= b.last })
		if len(asked) == 0 {
			return
		}
		first = nearest(asked, first)
		last, most = first, timeline.Interval{From: max(most.From, b.start()), To: min(most.To, b.end())}
	}
	b.addBound(c, allocation.MostSeconds, first, last, most.From, most.To)
}

// nearest is the set of rows that is nearest to another set.
func nearest(rows []rowRef, set int32) int32 {
	return slices.MinFunc(rows, func(x, y rowRef) int { return cmp.Compare(distance(x.set, set), distance(y.set, set)) }).set
}

// distance is how far two sets are apart.
func distance(x, y int32) int32 { return max(x-y, y-x) }

// addBound adds (from, to] to a column of the rows in the sets from first to last, each what is of its time, and the outer ones
// what is beyond them.
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
			b.rows[ref.set].Column(column)[ref.row] += float64(hi-lo) / 1000
		}
	}
}
