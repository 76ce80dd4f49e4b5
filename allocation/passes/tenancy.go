package passes

import (
	"math"

	"github.com/promcost/promcost/allocation"
)

// tenancy is a cost of a cluster or node besides CPU, memory and devices, to be divided among the rows there.
type tenancy struct {
	start, end int64
	cost       float64
	hours      float64 // in which rows ran meanwhile, summed over rows
	place      idleKey // a node, or a cluster where node is 0
	local      bool    // belongs to the node, not to the cluster
}

// addTenancy divides the costs of clusters besides nodes among the rows there, as shared cost by usage hours. Where nothing
// ran, the cost becomes a row __unallocated__. Shared rows take their part and pass it on.
func addTenancy(w *work, o *Options) {
	if !o.ShareTenancy {
		return
	}
	w.books.Tenancy = true
	all := w.tenancies()
	if len(all) == 0 {
		return
	}
	w.locate()
	clusters, nodes := map[allocation.ID][]*tenancy{}, map[idleKey][]*tenancy{}
	for i := range all {
		t := &all[i]
		if t.local {
			nodes[t.place] = append(nodes[t.place], t)
		} else {
			clusters[t.place.cluster] = append(clusters[t.place.cluster], t)
		}
	}
	w.eachTenant(clusters, nodes, func(_ int, t *tenancy, hours float64) { t.hours += hours })
	shared := w.own(allocation.SharedCost)
	w.eachTenant(clusters, nodes, func(row int, t *tenancy, hours float64) {
		if t.hours > 0 {
			shared[row] += t.cost * (hours / t.hours)
		}
	})
	for i := range all {
		if t := &all[i]; t.hours == 0 && t.cost != 0 {
			w.addUnallocated(t.place.cluster, t.start, t.end, allocation.SharedCost, t.cost)
		}
	}
}

// tenancies returns the management fees and local disks of the set, with adjustments.
func (w *work) tenancies() (all []tenancy) {
	for i := range w.set.Management {
		m := &w.set.Management[i]
		t := tenancy{start: m.Start.UnixMilli(), end: m.End.UnixMilli(), cost: m.Cost + m.Adjustment}
		t.place.cluster, _ = w.Dict.Find(m.Cluster)
		all = append(all, t)
	}
	for i := range w.set.Disks {
		d := &w.set.Disks[i]
		if !d.Local {
			continue
		}
		t := tenancy{start: d.Start.UnixMilli(), end: d.End.UnixMilli(), cost: d.Cost + d.Adjustment, local: true}
		t.place.cluster, _ = w.Dict.Find(d.Cluster)
		t.place.node, _ = w.Dict.Find(d.Name)
		all = append(all, t)
	}
	return all
}

// eachTenant calls f for each row and each cost of its cluster and node, with the row's usage hours.
func (w *work) eachTenant(clusters map[allocation.ID][]*tenancy, nodes map[idleKey][]*tenancy, f func(row int, t *tenancy, hours float64)) {
	var ofCluster, ofNode []*tenancy
	last := idleKey{^allocation.ID(0), 0}
	for row := range w.built {
		place := idleKey{w.IDs[allocation.Cluster][row], w.IDs[allocation.NodeName][row]}
		if place != last {
			ofCluster, ofNode, last = clusters[place.cluster], nodes[place], place
		}
		for _, t := range ofCluster {
			f(row, t, w.usageHours(row, t.start, t.end))
		}
		for _, t := range ofNode {
			f(row, t, w.usageHours(row, t.start, t.end))
		}
	}
}

// usageHours returns how many hours a container ran while an asset existed, from start to end in Unix milliseconds: its
// running time, in proportion to the overlap. Rows that are not workloads have none.
func (w *work) usageHours(row int, start, end int64) float64 {
	if w.Special[row] != allocation.Workload {
		return 0
	}
	from, to := max(start, w.Start[row]), min(end, w.End[row])
	running := w.Values[allocation.RunningSeconds][row] / 3600
	switch span := w.End[row] - w.Start[row]; {
	case from > to:
		return 0
	case span == 0:
		return running
	default:
		return math.Min(running, running*(float64(to-from)/float64(span)))
	}
}
