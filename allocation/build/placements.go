package build

import (
	"cmp"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// placement is a node that a pod without a UID was on, the pod's address there, and when it was seen.
type placement struct {
	node, address signals.Symbol
	seen          timeline.Steps
}

// nodeInterval is the time (From, To] that a pod without a UID spent on one node.
type nodeInterval struct {
	timeline.Interval
	*placement
	left int64 // when it was last seen on the previous node
}

// addPlacement records where a pod without a UID was seen. All pods of one name are one pod until containers are resolved, which splits it by node: a pod
// that is created again on another node is another pod.
func (p *pod) addPlacement(node, address signals.Symbol, seen timeline.Steps) {
	if p.uid != none || node == none {
		return
	}
	for i := range p.placements {
		if x := &p.placements[i]; x.node == node {
			x.seen = timeline.Max(x.seen, seen)
			x.address = address
			return
		}
	}
	p.placements = append(p.placements, placement{node, address, slices.Clone(seen)})
}

// nodeIntervals are the pod's nodes in the order of time. If it was seen on two nodes at once, it is on the one it came to last.
func (p *pod) nodeIntervals() []nodeInterval {
	var seen []nodeInterval
	for i := range p.placements {
		for _, x := range p.placements[i].seen {
			seen = append(seen, nodeInterval{Interval: timeline.Interval{From: x.From, To: x.To}, placement: &p.placements[i]})
		}
	}
	slices.SortFunc(seen, func(x, y nodeInterval) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.node.Value(), y.node.Value()))
	})
	var out []nodeInterval
	left := int64(timeline.Unborn)
	for _, x := range seen {
		until := x.To
		if n := len(out); n == 0 || out[n-1].placement != x.placement {
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
func (b *Builder) splitPlacements() {
	for name, pods := range each(&b.limits, maps.All(b.pods.byName)) {
		if len(pods) == 1 && pods[0].uid != none {
			continue // mostly: only pods without a UID are split, and one is sorted
		}
		var out []*pod
		for _, p := range pods {
			out = b.appendSplit(out, p)
		}
		slices.SortFunc(out, func(x, y *pod) int {
			return cmp.Or(cmp.Compare(x.uid.Value(), y.uid.Value()), cmp.Compare(x.nth, y.nth))
		})
		b.pods.byName[name] = out
	}
}

// appendSplit appends a pod for each node that p was on, or p itself if there was one.
func (b *Builder) appendSplit(dst []*pod, p *pod) []*pod {
	intervals := p.nodeIntervals()
	if len(intervals) < 2 {
		return append(dst, p)
	}
	for i, x := range intervals {
		part := p.during(x, i+1)
		b.addNew(part)
		dst = append(dst, part)
		mask := timeline.Steps{{From: x.From, To: x.To, V: 1}}
		if b.sampling.Exact() && x.To != timeline.Forever { // it was last seen here one scrape before it was seen elsewhere
			mask[0].To = max(x.From+1, b.sampling.LastSight(x.To+1))
		}
		for _, from := range p.containers {
			part.newContainer(from.container).addSignals(from, mask, true)
		}
	}
	b.replace(p)
	return dst
}

// during returns p as the n-th pod of its name, with the part of p's signals within an interval.
func (p *pod) during(x nodeInterval, n int) *pod {
	part, signs := *p, *p.podSignals
	part.podSignals = &signs
	part.nth, part.placements, part.containers = n, nil, nil
	part.node, part.address = timeline.Latest[signals.Symbol]{}, timeline.Latest[signals.Symbol]{}
	part.node.Set(x.node, 0)
	if x.address != none {
		part.address.Set(x.address, 0)
	}
	part.seen = timeline.Within(x.seen, timeline.Steps{{From: x.From, To: x.To, V: 1}})
	part.started = part.started.Unless(func(v float64) bool { at := int64(v * 1000); return at < x.left-timeline.Lookback || at > x.To })
	mask := timeline.Steps{{From: x.From, To: x.To, V: 1}}
	part.born, part.completed, part.deleted = timeline.Within(p.born, mask), timeline.Within(p.completed, mask), timeline.Within(p.deleted, mask)
	return &part
}
