package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// BorderSpans returns when counters of nodes are needed: in the lookback before each border of a set (or before the first and the
// last one if there are many), and between borders where nodes join or leave. Of the spans in last only the last value is needed, of
// those in whole all values.
func (rs *Resolver) BorderSpans() (last, whole []observe.Span) {
	var before timeline.Intervals
	for border := rs.First; border <= rs.Last; border++ {
		if !rs.Reads(border) {
			continue
		}
		at := rs.Borders[border]
		before = append(before, timeline.Interval{From: at - rs.Sampling.Lookback, To: at + 1})
		if x := (observe.Span{Start: at - rs.Sampling.Lookback + 1, End: at}); rs.leavesIn(x) {
			whole = append(whole, x) // a node has no value at its end
		} else {
			last = append(last, x)
		}
	}
	between := timeline.Union(append(rs.firstSights(), rs.lastSights()...))
	for _, x := range between.Joined(observe.MostBorders).Without(before) {
		whole = append(whole, observe.Span{Start: x.From, End: x.To})
	}
	return last, whole
}

// leavesIn reports whether some node is last seen within x.
func (rs *Resolver) leavesIn(x observe.Span) bool {
	for n := range rs.EveryNode() {
		if seen := n.LastSeen(); x.Start <= seen && seen < x.End {
			return true
		}
	}
	return false
}

// firstSights are the spans in which nodes are first seen that existed before the window. They leave out the lookbacks before
// borders of sets.
func (rs *Resolver) firstSights() (all timeline.Intervals) {
	borders, lookback := rs.Borders[rs.First:rs.Last+1], rs.Sampling.Lookback
	start := borders[0]
	for n := range rs.EveryNode() {
		seen := n.FirstSeen()
		if seen <= start-lookback || n.Joined(seen, start) {
			continue
		}
		next, _ := slices.BinarySearch(borders, max(seen, start+1))
		if next == len(borders) {
			continue
		}
		x := timeline.Interval{From: max(seen, start+1), To: min(seen+lookback, borders[next]-lookback)}
		if x.From < x.To {
			all = append(all, x)
		}
	}
	return all
}

// lastSights are the lookbacks before nodes are last seen. They leave out the lookbacks before borders that are read.
func (rs *Resolver) lastSights() (all timeline.Intervals) {
	for n := range rs.EveryNode() {
		seen := n.LastSeen()
		set := int(rs.SetAt(seen))
		if set < rs.First || set >= rs.Last || rs.Reads(set+1) && seen > rs.Borders[set+1]-rs.Sampling.Lookback {
			continue
		}
		all = append(all, timeline.Interval{From: max(seen-rs.Sampling.Lookback, rs.Borders[set]) + 1, To: seen})
	}
	return all
}
