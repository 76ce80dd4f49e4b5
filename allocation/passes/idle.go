package passes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// addIdle makes idle rows, one for each node or cluster, in a set of their own.
func addIdle(w *work, o *Options) {
	w.idled = true
	if !o.Idle && o.ShareIdle == NoSplit {
		w.forgoIdle()
		return
	}
	idle := w.set.Like()
	to := idle.Table()
	rows := map[idleKey]int{}
	key, last := idleKey{}, ""
	for i := range w.set.Nodes {
		n := &w.set.Nodes[i]
		if i == 0 || n.Cluster != last {
			key.cluster, _ = w.Dict.Find(n.Cluster)
			last = n.Cluster
		}
		if o.IdleByNode {
			key.node, _ = w.Dict.Find(n.Name)
		}
		start, end := n.Start.UnixMilli(), n.End.UnixMilli()
		row, ok := rows[key]
		if !ok {
			row = idle.AddRow(allocation.Idle, start, end)
			rows[key] = row
			// An idle row has no instance: its provider id is the node's name, as in OpenCost and Kubecost.
			to.IDs[allocation.Cluster][row], to.IDs[allocation.NodeName][row], to.IDs[allocation.ProviderID][row] = key.cluster, key.node, key.node
		}
		to.Start[row], to.End[row] = min(to.Start[row], start), max(to.End[row], end)
		for r, cost := range n.Idle {
			to.Values[allocation.Cost.Of(allocation.Resource(r))][row] += cost
			to.Values[allocation.Adjustment.Of(allocation.Resource(r))][row] += n.IdleAdjustment[r]
		}
	}
	w.idle = idle
	if o.Filter != nil || o.ShareIdle != NoSplit {
		w.findPlaces(rows, o)
	}
}

// forgoIdle records the idle that no row shows.
func (w *work) forgoIdle() {
	idle := w.nodeIdle()
	w.books.Out.Add(&idle)
	for i := range w.set.Nodes {
		for r, cost := range w.set.Nodes[i].Idle {
			w.books.Idle[r] += cost
		}
	}
}

// nodeIdle returns the idle cost of all nodes, with adjustments.
func (w *work) nodeIdle() (idle allocation.Money) {
	for i := range w.set.Nodes {
		for r := range allocation.NumResources {
			idle[r.Kind()] += w.set.Nodes[i].Idle[r] + w.set.Nodes[i].IdleAdjustment[r]
		}
	}
	return idle
}

// dropIdle removes a fraction of a resource from an idle row, and records what it removed.
func (w *work) dropIdle(row int, r allocation.Resource, fraction float64) {
	of := w.idle.Table()
	cost, adjustment := &of.Values[allocation.Cost.Of(r)][row], &of.Values[allocation.Adjustment.Of(r)][row]
	w.books.Idle[r] += *cost * fraction
	w.books.Out[r.Kind()] += (*cost + *adjustment) * fraction
	*cost -= *cost * fraction
	*adjustment -= *adjustment * fraction
}

// idleKey identifies an idle row: a cluster, or a node in it.
type idleKey struct{ cluster, node allocation.ID }

// findPlaces finds the idle row for each row.
func (w *work) findPlaces(rows map[idleKey]int, o *Options) {
	w.identify(allocation.Cluster, nil)
	if o.IdleByNode {
		w.identify(allocation.NodeName, nil)
	}
	w.place = make([]int32, w.set.Len())
	last, at := idleKey{^allocation.ID(0), 0}, int32(nowhere)
	for i := range w.place {
		key := idleKey{cluster: w.IDs[allocation.Cluster][i]}
		if o.IdleByNode {
			key.node = w.IDs[allocation.NodeName][i]
		}
		if key != last {
			last, at = key, nowhere
			if row, ok := rows[key]; ok {
				at = int32(row)
			}
		}
		w.place[i] = at
	}
}

// idleWeights is what the rows at an idle row weigh, per resource.
type idleWeights struct {
	all, kept [allocation.NumResources]float64 // of all rows, and of the rows that the filter kept
	some      bool                             // some rows were kept
}

// weighIdle weighs the rows at each idle row. All rows take part but idle rows and costs outside of clusters. Shared rows
// take part too and pass their idle on.
func (w *work) weighIdle(split Split) []idleWeights {
	weights := make([]idleWeights, w.idle.Len())
	places := w.place[:w.built]
	for i, place := range places {
		if place != nowhere && (w.keep == nil || w.keep[i]) {
			weights[place].some = true
		}
	}
	for r := range allocation.NumResources {
		if split != Even && w.set.AllZero(allocation.Cost.Of(r)) && w.set.AllZero(allocation.Adjustment.Of(r)) {
			continue // no row has any
		}
		weight := w.idleWeights(split, r)
		last, all, kept := int32(nowhere), 0.0, 0.0 // sums of adjacent rows with the same place
		for i, place := range places {
			if place != last {
				if last != nowhere {
					weights[last].all[r], weights[last].kept[r] = all, kept
				}
				if last = place; last != nowhere {
					all, kept = weights[last].all[r], weights[last].kept[r]
				}
			}
			all += weight[i]
			if w.keep == nil || w.keep[i] {
				kept += weight[i]
			}
		}
		if last != nowhere {
			weights[last].all[r], weights[last].kept[r] = all, kept
		}
	}
	return weights
}

// idleWeights returns the weight of each row when idle of a resource is divided: its cost, or 1. The slice is valid until the
// next call.
func (w *work) idleWeights(split Split, r allocation.Resource) []float64 {
	m := w.workspace
	m.weights = slices.Grow(m.weights[:0], w.built)[:w.built]
	weights := m.weights
	cost, adjustment := w.Values[allocation.Cost.Of(r)], w.Values[allocation.Adjustment.Of(r)]
	for i := range weights {
		if weights[i] = 1; split != Even {
			weights[i] = max(0, cost[i]+adjustment[i])
		}
	}
	return weights
}

// giveIdle gives idle to the rows where it is shared. Otherwise it reduces each idle row to what the rows that the filter
// kept would have been given, and removes idle rows without such rows.
func giveIdle(w *work, o *Options) {
	switch {
	case w.idle == nil:
	case o.ShareIdle != NoSplit:
		w.shareIdle(o)
	case o.Filter != nil:
		left := make([]bool, w.idle.Len())
		for row, weighed := range w.weighIdle(Weighted) {
			left[row] = weighed.some
			for r := range allocation.NumResources {
				removed := 1.0
				if weighed.all[r] != 0 {
					removed = 1 - weighed.kept[r]/weighed.all[r]
				}
				w.dropIdle(row, r, removed)
			}
		}
		w.idle, w.err = w.idle.Pick(func(row int) bool { return left[row] })
	}
}

// shareIdle moves idle into the rows. Idle that no row can take stays in idle rows, even if idle rows were not asked for,
// unless there is a filter: filtered rows have no part in it.
func (w *work) shareIdle(o *Options) {
	weights := w.weighIdle(o.ShareIdle)
	var given [allocation.NumResources][2][]float64
	idle := w.idle.Table()
	for r := range allocation.NumResources {
		given[r] = [2][]float64{idle.Values[allocation.Cost.Of(r)], idle.Values[allocation.Adjustment.Of(r)]}
		w.shareIdleResource(r, weights, o.ShareIdle)
	}
	left := make([]bool, w.idle.Len())
	for row, weighed := range weights {
		for r := range allocation.NumResources {
			if weighed.all[r] != 0 {
				given[r][0][row], given[r][1][row] = 0, 0
				continue
			}
			if o.Filter != nil {
				w.dropIdle(row, r, 1)
			}
			left[row] = left[row] || given[r][0][row] != 0 || given[r][1][row] != 0
		}
	}
	w.idle, w.err = w.idle.Pick(func(row int) bool { return left[row] })
}

// shareIdleResource gives the idle cost of one resource to the rows.
func (w *work) shareIdleResource(r allocation.Resource, byPlace []idleWeights, split Split) {
	of := w.idle.Table()
	idle, adjustment := of.Values[allocation.Cost.Of(r)], of.Values[allocation.Adjustment.Of(r)]
	if !slices.ContainsFunc(idle, notZero) && !slices.ContainsFunc(adjustment, notZero) {
		return
	}
	weights := w.idleWeights(split, r)
	cost, costIdle := w.own(allocation.Cost.Of(r)), w.own(allocation.CostIdle.Of(r))
	adjusted := w.Values[allocation.Adjustment.Of(r)]
	if slices.ContainsFunc(adjustment, notZero) {
		adjusted = w.own(allocation.Adjustment.Of(r))
	}
	for i, place := range w.place[:w.built] { // rows that passes added take none
		if place == nowhere || byPlace[place].all[r] == 0 {
			continue
		}
		fraction := weights[i] / byPlace[place].all[r]
		cost[i] += idle[place] * fraction
		costIdle[i] += idle[place] * fraction
		if adjustment[place] != 0 {
			adjusted[i] += adjustment[place] * fraction
		}
	}
}

func notZero(v float64) bool { return v != 0 }

// idleNames returns the names of the idle rows.
func (w *work) idleNames(o *Options) ([]string, error) {
	byPool := o.IdleByNode && slices.ContainsFunc(o.Aggregate, allocation.Key.OfNodePools)
	place := func(row int) string { return w.idle.Text(allocation.NodeName, row) }
	if byPool {
		pools, err := w.idle.NodePools()
		if err != nil {
			return nil, err
		}
		place = func(row int) string { return cmp.Or(pools(row), allocation.UnallocatedName) }
	}
	names := make([]string, w.idle.Len())
	for row := range names {
		var parts []string
		if o.SplitIdle {
			parts = append(parts, allocation.ClusterInName(w.idle.Text(allocation.Cluster, row)))
		}
		if byPool || o.SplitIdle && o.IdleByNode {
			parts = append(parts, place(row))
		}
		names[row] = strings.Join(append(parts, allocation.IdleName), "/")
	}
	return names, nil
}
