package resolve

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// bound adds to the rows of a container the least and the most time that it may truly have run. Sets that do not count a run may
// have no row of the container. So the nearest set that does takes the time that is possible beyond it, and sums over sets are bounds
// too. A wait that is charged belongs to the run after it.
func (rs *Resolver) bound(c *observe.Container, found *timeline.Runs, waits timeline.Intervals) {
	for _, wait := range waits {
		if n := len(found.All); n > 0 && found.All[0].Start.At == wait.To {
			found.All[0].Start = timeline.Reported(wait.From)
			continue
		}
		end := timeline.Edge{At: wait.To, Earliest: wait.To - rs.Sampling.Cell(), Latest: wait.To + rs.Sampling.Cell()}
		pending := timeline.Runs{All: []timeline.Run{{Start: timeline.Reported(wait.From), End: end}}}
		rs.boundRun(c, &pending, 0)
	}
	for k := range found.All {
		rs.boundRun(c, found, k)
	}
}

// boundRun adds the certain and the possible time of the k-th run.
func (rs *Resolver) boundRun(c *observe.Container, found *timeline.Runs, k int) {
	run, begin, end := &found.All[k], rs.Sampling.Start, rs.Sampling.End
	from, to := max(run.Start.At, begin), min(run.End.At, end)
	if len(c.Rows) == 0 || from > to {
		return
	}
	first, last := rs.SetAt(from+1), rs.SetAt(to)
	if from == to { // not charged, but it may have run: the nearest row counts that
		first = nearest(c.Rows, last)
		last = first
	}
	for _, part := range found.Least(k) {
		rs.addBound(c, allocation.LeastSeconds, first, last, max(part.From, rs.Borders[first]), min(part.To, rs.Borders[last+1]))
	}
	most := found.Most(k)
	if from == begin || from == rs.Start() { // nothing is asked about the time before
		most.From = max(most.From, from)
	}
	if to == end || to == rs.End() {
		most.To = min(most.To, to)
	}
	if int(first) >= rs.Last || int(last) < rs.First { // only a margin counts it: the nearest row in the window takes what may lie there
		asked := slices.DeleteFunc(slices.Clone(c.Rows), func(x observe.RowRef) bool { return x.Row == observe.NoRow })
		if len(asked) == 0 {
			return
		}
		first = nearest(asked, first)
		last, most = first, timeline.Interval{From: max(most.From, rs.Start()), To: min(most.To, rs.End())}
	}
	rs.addBound(c, allocation.MostSeconds, first, last, most.From, most.To)
}

// nearest returns the set, among those of rows, that is nearest to another set.
func nearest(rows []observe.RowRef, set int32) int32 {
	return slices.MinFunc(rows, func(x, y observe.RowRef) int { return cmp.Compare(distance(x.Set, set), distance(y.Set, set)) }).Set
}

// distance is the number of sets from x to y.
func distance(x, y int32) int32 { return max(x-y, y-x) }

// addBound adds (from, to] to a column of the rows in the sets from first to last. Each row takes the part within its set; the first
// and the last row also take what lies before and after.
func (rs *Resolver) addBound(c *observe.Container, column allocation.Column, first, last int32, from, to int64) {
	for _, ref := range c.Rows {
		if ref.Set < first || ref.Set > last {
			continue
		}
		lo, hi := from, to
		if ref.Set > first {
			lo = max(lo, rs.Borders[ref.Set])
		}
		if ref.Set < last {
			hi = min(hi, rs.Borders[ref.Set+1])
		}
		if lo < hi {
			rs.AddTo(ref, column, float64(hi-lo)/1000)
		}
	}
}
