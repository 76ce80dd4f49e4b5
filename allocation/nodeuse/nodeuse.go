package nodeuse

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
)

// Part is a part of what nodes have, in the mean over the hours that have data, and what it costs.
type Part struct {
	Amounts [allocation.NumResources]float64 // cores, bytes of memory, devices
	Cost    Monthly
}

// Monthly is money of a month of 730 hours, at the rate of the hours that have data (SEMANTICS §1).
type Monthly struct {
	List   float64 // at list prices
	Billed float64 // with what bills add
}

// Group is a node or a pool of nodes of a cluster, and what would become of its cost without it (SEMANTICS §12).
type Group struct {
	Cluster, Pool string
	Node          string   // empty for pools
	InstanceTypes []string // sorted
	Count         float64  // of nodes, in the mean over the hours that have data
	Cost          Monthly

	Moving     Part // of pods that would run elsewhere
	DaemonSets Part // of pods of DaemonSets, which end with their nodes
	Idle       Part
	// Elsewhere is what is idle on the other nodes of the cluster, in the mean: cores, bytes of memory, devices.
	Elsewhere [allocation.NumResources]float64

	// Committed is what bills charge a month for the nodes under commitments, amortized, at the rate of the time that they charge; NaN where
	// they charge none. BilledPart is the part of the list cost whose time they charge, from 0 to 1.
	Committed, BilledPart float64
}

// Savings returns how much less is paid a month without the nodes: at least if all that moves costs its list price elsewhere and commitments
// are paid on, at most if there is room for it and commitments serve other machines. least is NaN where bills do not tell commitments, and
// negative where more may be paid than before.
func (g *Group) Savings() (least, most float64) {
	return g.Cost.Billed - g.Moving.Cost.List - g.Committed, g.Cost.Billed
}

// Notes say in sentences what Savings rests on, and what is not known of commitments.
func Notes(groups []Group) []string {
	const rounding = 1e-9
	notes := []string{"The least is saved if what moves costs its list price elsewhere and commitments are paid on, the most if other nodes have room and other machines use the commitments. Below 0 more is paid."}
	listed, charged := 0.0, 0.0
	for i := range groups {
		listed, charged = listed+groups[i].Cost.List, charged+groups[i].Cost.List*groups[i].BilledPart
	}
	switch {
	case charged == 0 && listed > 0:
		notes = append(notes, "No bill charges these nodes, so what is committed is not known.")
	case charged < listed*(1-rounding):
		notes = append(notes, fmt.Sprintf("Bills charge %.0f %% of these nodes' time, by list cost; the rest of the time of a node or pool is taken to be committed alike.", 100*charged/listed))
	}
	return notes
}

// Needs returns what Groups looks at.
func Needs() *allocation.Projection {
	p := &allocation.Projection{Properties: []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.ControllerKind}}
	for r := range allocation.NumResources {
		p.Columns = append(p.Columns, allocation.Hours.Of(r), allocation.Cost.Of(r), allocation.Adjustment.Of(r))
	}
	return p
}

// Groups returns the nodes that are selected, or their pools, the dearest first, by what sets of the window up to now, which come oldest first,
// say of them. It ends with the first error.
func Groups(sets iter.Seq2[*allocation.Set, error], w allocation.Window, now time.Time, byNode bool, selects func(*allocation.Node) bool) ([]Group, error) {
	groups := nodeGroups{byNode: byNode, selects: selects, sums: map[nodeKey]*nodeSums{}, idle: map[string]*resourceHours{}}
	var covered []allocation.Covered
	for s, err := range sets {
		if err == nil {
			err = s.Require(Needs())
		}
		if err != nil {
			return nil, fmt.Errorf("look at nodes: %w", err)
		}
		covered = coverage.Join(covered, s.Covered)
		groups.add(s)
	}
	c := coverage.Measure(w, covered, now)
	list := make([]Group, 0, len(groups.sums))
	for key, sums := range groups.sums {
		list = append(list, sums.group(key, groups.idle[key.cluster], &c))
	}
	slices.SortFunc(list, func(a, b Group) int {
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

// nodeKey identifies a Group.
type nodeKey struct{ cluster, pool, node string }

// nodeSums are the sums over the sets of a Group.
type nodeSums struct {
	types                    map[string]bool
	seconds                  float64
	whole, moving, own, idle partSums // own is of DaemonSets
	charged                  allocation.Charged
}

// partSums are the sums of a Part.
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
func (x *nodeSums) group(key nodeKey, idle *resourceHours, c *coverage.Coverage) Group {
	hours, month := 1/c.Factor(1), c.Factor(coverage.MonthHours)
	part := func(p *partSums) Part {
		return Part{p.hours.over(hours), Monthly{p.list * month, (p.list + p.adjustment) * month}}
	}
	elsewhere := *idle
	for r := range elsewhere {
		elsewhere[r] = max(0, elsewhere[r]-x.idle.hours[r]) // differences of sums may round below 0
	}
	g := Group{
		Cluster: key.cluster, Pool: key.pool, Node: key.node, InstanceTypes: slices.Sorted(maps.Keys(x.types)), Count: x.seconds / 3600 / hours,
		Cost: part(&x.whole).Cost, Moving: part(&x.moving), DaemonSets: part(&x.own), Idle: part(&x.idle),
		Elsewhere: elsewhere.over(hours), Committed: math.NaN(),
	}
	if listed := x.charged.Listed; listed > 0 {
		g.BilledPart = min(1, listed/x.whole.list)
		g.Committed = x.charged.Committed / g.BilledPart * month
	}
	return g
}
