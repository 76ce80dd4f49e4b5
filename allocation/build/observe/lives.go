package observe

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Lifespan is the time (from, until] in which a node's name means one node, which did not exist before earliest. The zero value is all
// time.
type Lifespan struct{ From, Until, Earliest int64 }

// Split returns a node for each lifespan, with the reports of n within it.
func (n *Node) Split(spans []Lifespan) []*Node {
	nodes := make([]*Node, len(spans))
	for i, x := range spans {
		nodes[i] = &Node{NodeKey: n.NodeKey, Lifespan: x, Reported: n.Reported.within(x), Away: n.Away.Clip(x.From, x.Until)}
	}
	return nodes
}

// within returns the reports within a lifespan.
func (r *nodeReports) within(x Lifespan) nodeReports {
	out := nodeReports{
		Seen: x.clip(r.Seen), Shown: x.clip(r.Shown), Created: x.Steps(r.Created), Spot: x.Steps(r.Spot),
		ProviderID: r.ProviderID.Within(x.From, x.Until), priceLabels: r.priceLabels.Within(x.From, x.Until), Labels: r.Labels.Within(x.From, x.Until), Taints: r.Taints.Within(x.From, x.Until),
		Devices: x.byName(r.Devices), DeviceCount: x.Steps(r.DeviceCount), Disks: x.byName(r.Disks),
	}
	for resource := range allocation.NumResources {
		out.Capacity[resource] = x.ranked(r.Capacity[resource])
		out.Priced[resource] = prices.ByMetric{Original: x.Steps(r.Priced[resource].Original), Repeated: x.Steps(r.Priced[resource].Repeated)}
	}
	return out
}

// Steps are the values of s that belong to the node. A value from before its lifespan does not if another value follows within a lookback.
func (x Lifespan) Steps(s timeline.Steps) timeline.Steps {
	out := x.clip(s)
	if i := slices.IndexFunc(s, func(step timeline.Step) bool { return step.To > x.From }); len(out) > 1 && s[i].From < x.From && out[1].From <= x.From+timeline.Lookback {
		return out[1:]
	}
	return out
}

// clip is the part of s within the lifespan.
func (x Lifespan) clip(s timeline.Steps) timeline.Steps {
	if x == (Lifespan{}) {
		return s
	}
	return timeline.Within(s, timeline.Steps{{From: x.From, To: x.Until, V: 1}})
}

func (x Lifespan) ranked(r timeline.Ranked) timeline.Ranked {
	out := make(timeline.Ranked, len(r))
	for rank, s := range r {
		out[rank] = x.Steps(s)
	}
	return out
}

func (x Lifespan) byName(m timeline.RankedBy[signals.Symbol]) timeline.RankedBy[signals.Symbol] {
	out := make(timeline.RankedBy[signals.Symbol], len(m))
	for name, r := range m {
		if of := x.ranked(r); slices.ContainsFunc(of, func(s timeline.Steps) bool { return len(s) > 0 }) {
			out[name] = of
		}
	}
	return out
}

// createdAt is when the node was created, in Unix milliseconds, 0 if that is not known.
func (n *Node) createdAt() int64 {
	if len(n.Reported.Created) == 0 {
		return 0
	}
	return int64(n.Reported.Created[0].V * 1000)
}

// BornAt is the earliest time at which the node can have run anything.
func (n *Node) BornAt() int64 { return cmp.Or(n.createdAt(), n.Earliest) }

// EveryNode yields all nodes, in no order.
func (ob *Observer) EveryNode() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, nodes := range Each(&ob.Limits, maps.All(ob.Nodes.ByName)) {
			for _, n := range nodes {
				if !yield(n) {
					return
				}
			}
		}
	}
}
