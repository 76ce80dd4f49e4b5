package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// nodeInterval is the time (From, To] that a pod without a UID spent on one node.
type nodeInterval struct {
	timeline.Interval
	*observe.Placement
	left int64 // when it was last seen on the previous node
}

// nodeIntervals are the pod's nodes in the order of time. If it was seen on two nodes at once, it is on the one it came to last.
func nodeIntervals(p *observe.Pod) []nodeInterval {
	var seen []nodeInterval
	for i := range p.Placements {
		for _, x := range p.Placements[i].Seen {
			seen = append(seen, nodeInterval{Interval: timeline.Interval{From: x.From, To: x.To}, Placement: &p.Placements[i]})
		}
	}
	slices.SortFunc(seen, func(x, y nodeInterval) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Node.Value(), y.Node.Value()))
	})
	var out []nodeInterval
	left := int64(timeline.Unborn)
	for _, x := range seen {
		until := x.To
		if n := len(out); n == 0 || out[n-1].Placement != x.Placement {
			x.left, x.To = min(left, x.From), timeline.Forever
			if n == 0 {
				x.From = timeline.Unborn
			} else {
				out[n-1].To = x.From
			}
			out = append(out, x)
		}
		left = min(until, out[len(out)-1].To)
	}
	return out
}

// splitPlacements makes a pod of each interval that a pod without a UID spent on one node. It then sorts the pods of a name, so
// that nothing depends on the order in which a source returns them.
func (rs *Resolver) splitPlacements() {
	for name, pods := range observe.Each(&rs.Limits, maps.All(rs.Pods.ByName)) {
		if len(pods) == 1 && pods[0].UID != observe.None {
			continue // mostly: only pods without a UID are split, and one is sorted
		}
		var out []*observe.Pod
		for _, p := range pods {
			out = rs.appendSplit(out, p)
		}
		slices.SortFunc(out, func(x, y *observe.Pod) int {
			return cmp.Or(cmp.Compare(x.UID.Value(), y.UID.Value()), cmp.Compare(x.Nth, y.Nth))
		})
		rs.Pods.ByName[name] = out
	}
}

// appendSplit appends a pod for each node that p was on, or p itself if there was one.
func (rs *Resolver) appendSplit(dst []*observe.Pod, p *observe.Pod) []*observe.Pod {
	intervals := nodeIntervals(p)
	if len(intervals) < 2 {
		return append(dst, p)
	}
	for i, x := range intervals {
		part := during(p, x, i+1)
		rs.AddNew(part)
		dst = append(dst, part)
		mask := timeline.Steps{{From: x.From, To: x.To, V: 1}}
		if rs.Sampling.Exact() && x.To != timeline.Forever { // it was last seen here one scrape before it was seen elsewhere
			mask[0].To = max(x.From+1, rs.Sampling.LastSight(x.To+1))
		}
		for _, from := range p.Containers {
			part.NewContainer(from.Name).AddSignals(from, mask, true)
		}
	}
	rs.Replace(p)
	return dst
}

// during returns p as the n-th pod of its name, with the part of p's signals within an interval.
func during(p *observe.Pod, x nodeInterval, n int) *observe.Pod {
	part, signs := *p, *p.PodSignals
	part.PodSignals = &signs
	part.Nth, part.Placements, part.Containers = n, nil, nil
	part.Node, part.Address = timeline.Latest[signals.Symbol]{}, timeline.Latest[signals.Symbol]{}
	part.Node.Set(x.Node, 0)
	if x.Address != observe.None {
		part.Address.Set(x.Address, 0)
	}
	part.Seen = timeline.Within(x.Seen, timeline.Steps{{From: x.From, To: x.To, V: 1}})
	part.Started = part.Started.Unless(func(v float64) bool { at := int64(v * 1000); return at < x.left-timeline.Lookback || at > x.To })
	mask := timeline.Steps{{From: x.From, To: x.To, V: 1}}
	part.Born, part.Completed, part.Deleted = timeline.Within(p.Born, mask), timeline.Within(p.Completed, mask), timeline.Within(p.Deleted, mask)
	return &part
}
