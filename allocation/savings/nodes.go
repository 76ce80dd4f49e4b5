package savings

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
)

// NodePart is a part of what nodes have, in the mean over the hours that have data, and what it costs.
type NodePart struct {
	Amounts [allocation.NumResources]float64 // cores, bytes of memory, devices
	Cost    Monthly
}

// NodeGroup is a node or a pool of nodes of a cluster, and what would become of its cost without it (SEMANTICS §12).
type NodeGroup struct {
	Cluster, Pool string
	Node          string   // empty for pools
	InstanceTypes []string // sorted
	Count         float64  // of nodes, in the mean over the hours that have data
	Cost          Monthly

	Moving     NodePart // of pods that would run elsewhere
	DaemonSets NodePart // of pods of DaemonSets, which end with their nodes
	Idle       NodePart
	// Elsewhere is what is idle on the other nodes of the cluster, in the mean: cores, bytes of memory, devices.
	Elsewhere [allocation.NumResources]float64

	// Committed is what bills charge a month for the nodes under commitments, amortized, at the rate of the time that they charge; NaN where
	// they charge none. BilledPart is the part of the list cost whose time they charge, from 0 to 1.
	Committed, BilledPart float64
}

// Savings returns how much less is paid a month without the nodes: at least if all that moves costs its list price elsewhere and commitments
// are paid on, at most if there is room for it and commitments serve other machines. least is NaN where bills do not tell commitments, and
// negative where more may be paid than before.
func (g *NodeGroup) Savings() (least, most float64) {
	return g.Cost.Billed - g.Moving.Cost.List - g.Committed, g.Cost.Billed
}

// NodeNote says in one sentence what Savings rests on.
const NodeNote = "The least is saved if what moves costs its list price elsewhere and commitments are paid on, the most if other nodes have room and other machines use the commitments. Below 0 more is paid."

// CommitmentNote says in one sentence what is not known of commitments, where bills charge nodes of which charged of listed is the list cost; ""
// where all is known.
func CommitmentNote(charged, listed float64) string {
	const rounding = 1e-9
	switch {
	case charged == 0 && listed > 0:
		return "No bill charges these nodes, so what is committed is not known."
	case charged < listed*(1-rounding):
		return fmt.Sprintf("Bills charge %.0f %% of these nodes' time, by list cost; the rest of the time of a node or pool is taken to be committed alike.", 100*charged/listed)
	}
	return ""
}

// NodeNeeds returns what NodeGroups looks at.
func NodeNeeds() *allocation.Projection {
	p := &allocation.Projection{Properties: []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.ControllerKind}}
	for r := range allocation.NumResources {
		p.Columns = append(p.Columns, allocation.Hours.Of(r), allocation.Cost.Of(r), allocation.Adjustment.Of(r))
	}
	return p
}

// NodeGroups returns the nodes that are selected, or their pools, the dearest first, by what the sets, which come oldest first, say of them.
func NodeGroups(sets iter.Seq2[*allocation.Set, error], q Question, byNode bool, selects func(*allocation.Node) bool) ([]NodeGroup, error) {
	groups := nodeGroups{byNode: byNode, selects: selects, sums: map[nodeKey]*nodeSums{}, idle: map[string]*resourceHours{}}
	w := newWalk(q)
	err := w.each(sets, NodeNeeds(), func(s *allocation.Set, _ func(int) bool) { groups.add(s) })
	if err != nil {
		return nil, err
	}
	list := make([]NodeGroup, 0, len(groups.sums))
	for key, sums := range groups.sums {
		list = append(list, sums.group(key, groups.idle[key.cluster], w))
	}
	slices.SortFunc(list, func(a, b NodeGroup) int {
		return cmp.Or(cmp.Compare(b.Cost.Billed, a.Cost.Billed), strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Pool, b.Pool), strings.Compare(a.Node, b.Node))
	})
	return list, nil
}

// resourceHours are core-hours, byte-hours and device-hours.
type resourceHours [allocation.NumResources]float64

// over are the means over so many hours.
func (h *resourceHours) over(hours float64) (mean [allocation.NumResources]float64) {
	for r, v := range h {
		mean[r] = v / hours
	}
	return mean
}

// nodeKey identifies a NodeGroup.
type nodeKey struct{ cluster, pool, node string }

// nodeSums are the sums over the sets of a NodeGroup.
type nodeSums struct {
	types                    map[string]bool
	seconds                  float64
	whole, moving, own, idle partSums // own is of DaemonSets
	charged                  allocation.Charged
}

// partSums are the sums of a NodePart.
type partSums struct {
	hours            resourceHours
	list, adjustment float64
}

func (p *partSums) add(r allocation.Resource, hours, list, adjustment float64) {
	p.hours[r] += hours
	p.list += list
	p.adjustment += adjustment
}

// nodeGroups collects nodes, set by set.
type nodeGroups struct {
	byNode  bool
	selects func(*allocation.Node) bool
	sums    map[nodeKey]*nodeSums
	idle    map[string]*resourceHours // of all nodes, by cluster
}

func (g *nodeGroups) add(s *allocation.Set) {
	type place struct{ cluster, node string }
	at := map[place]*nodeSums{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if g.idle[n.Cluster] == nil {
			g.idle[n.Cluster] = &resourceHours{}
		}
		for r := range allocation.NumResources {
			g.idle[n.Cluster][r] += idleHours(n, r)
		}
		if g.selects(n) {
			sums := g.of(n)
			sums.add(n)
			at[place{n.Cluster, n.Name}] = sums
		}
	}
	for row := range s.Len() {
		sums := at[place{s.Text(allocation.Cluster, row), s.Text(allocation.NodeName, row)}]
		if sums == nil || s.Special(row) != allocation.Workload {
			continue
		}
		part := &sums.moving
		if s.Text(allocation.ControllerKind, row) == "daemonset" {
			part = &sums.own
		}
		for r := range allocation.NumResources {
			part.add(r, s.Value(allocation.Hours.Of(r), row), s.Value(allocation.Cost.Of(r), row), s.Value(allocation.Adjustment.Of(r), row))
		}
	}
}

// of finds or makes the sums that a node counts to.
func (g *nodeGroups) of(n *allocation.Node) *nodeSums {
	key := nodeKey{cluster: n.Cluster, pool: n.Pool}
	if g.byNode {
		key.node = n.Name
	}
	if g.sums[key] == nil {
		g.sums[key] = &nodeSums{types: map[string]bool{}}
	}
	return g.sums[key]
}

func (x *nodeSums) add(n *allocation.Node) {
	if n.InstanceType != "" {
		x.types[n.InstanceType] = true
	}
	x.seconds += n.RunningSeconds
	x.charged.Listed += n.Charged.Listed
	x.charged.Committed += n.Charged.Committed
	for r := range allocation.NumResources {
		x.whole.add(r, n.Hours[r], n.Cost[r], n.Adjustment[r])
		x.idle.add(r, idleHours(n, r), n.Idle[r], n.IdleAdjustment[r])
	}
}

// idleHours is what of the capacity is idle, by its part of the cost: amounts above a node's capacity would make it negative.
func idleHours(n *allocation.Node, r allocation.Resource) float64 {
	if n.Cost[r] == 0 {
		return 0
	}
	return n.Hours[r] * n.Idle[r] / n.Cost[r]
}

// group is what the sums say. idle is that of all nodes of the cluster.
func (x *nodeSums) group(key nodeKey, idle *resourceHours, w *walk) NodeGroup {
	c := coverage.Measure(w.question.Window, w.covered, w.question.Now)
	hours := 1 / c.Factor(1)
	part := func(p *partSums) NodePart { return NodePart{p.hours.over(hours), w.month(p.list, p.adjustment)} }
	elsewhere := *idle
	for r := range elsewhere {
		elsewhere[r] = max(0, elsewhere[r]-x.idle.hours[r]) // differences of sums may round below 0
	}
	g := NodeGroup{
		Cluster: key.cluster, Pool: key.pool, Node: key.node, InstanceTypes: slices.Sorted(maps.Keys(x.types)), Count: x.seconds / 3600 / hours,
		Cost: w.month(x.whole.list, x.whole.adjustment), Moving: part(&x.moving), DaemonSets: part(&x.own), Idle: part(&x.idle),
		Elsewhere: elsewhere.over(hours), Committed: math.NaN(),
	}
	if listed := x.charged.Listed; listed > 0 {
		g.BilledPart = min(1, listed/x.whole.list)
		g.Committed = x.charged.Committed / g.BilledPart * c.Factor(coverage.MonthHours)
	}
	return g
}
