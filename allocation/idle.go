package allocation

import "slices"

// addIdle makes idle rows, one for each node or cluster, in a set of their own.
func addIdle(w *work, o *Options) {
	w.idled = true
	if !o.Idle && o.ShareIdle == NoSplit {
		w.forgoIdle()
		return
	}
	idle := w.set.like()
	rows := map[idleKey]int{}
	key, last := idleKey{}, ""
	for i := range w.set.Nodes {
		n := &w.set.Nodes[i]
		if i == 0 || n.Cluster != last {
			key.cluster, _ = w.dict.Find(n.Cluster)
			last = n.Cluster
		}
		if o.IdleByNode {
			key.node, _ = w.dict.Find(n.Name)
		}
		start, end := n.Start.UnixMilli(), n.End.UnixMilli()
		row, ok := rows[key]
		if !ok {
			row = idle.grow(Idle, start, end)
			rows[key] = row
			// An idle row has no instance: its provider id is the node's name, as in OpenCost and Kubecost.
			idle.ids[Cluster][row], idle.ids[NodeName][row], idle.ids[ProviderID][row] = key.cluster, key.node, key.node
		}
		idle.start[row], idle.end[row] = min(idle.start[row], start), max(idle.end[row], end)
		for r, cost := range n.Idle {
			idle.values[Cost.Of(Resource(r))][row] += cost
			idle.values[Adjustment.Of(Resource(r))][row] += n.IdleAdjustment[r]
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
	w.books.out.add(&idle)
	for i := range w.set.Nodes {
		for r, cost := range w.set.Nodes[i].Idle {
			w.books.idle[r] += cost
		}
	}
}

// nodeIdle returns the idle cost of all nodes, with adjustments.
func (w *work) nodeIdle() (idle money) {
	for i := range w.set.Nodes {
		for r, kind := range nodeKinds {
			idle[kind] += w.set.Nodes[i].Idle[r] + w.set.Nodes[i].IdleAdjustment[r]
		}
	}
	return idle
}

// dropIdle removes a part of a resource from an idle row, and notes it.
func (w *work) dropIdle(row int, r Resource, part float64) {
	cost, adjustment := &w.idle.values[Cost.Of(r)][row], &w.idle.values[Adjustment.Of(r)][row]
	w.books.idle[r] += *cost * part
	w.books.out[nodeKinds[r]] += (*cost + *adjustment) * part
	*cost -= *cost * part
	*adjustment -= *adjustment * part
}

// idleKey identifies an idle row: a cluster, or a node in it.
type idleKey struct{ cluster, node ID }

// findPlaces finds the idle row for each row.
func (w *work) findPlaces(rows map[idleKey]int, o *Options) {
	w.identify(Cluster, nil)
	if o.IdleByNode {
		w.identify(NodeName, nil)
	}
	w.place = make([]int32, w.set.Len())
	last, at := idleKey{^ID(0), 0}, int32(nowhere)
	for i := range w.place {
		key := idleKey{cluster: w.set.ids[Cluster][i]}
		if o.IdleByNode {
			key.node = w.set.ids[NodeName][i]
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

// idlePart is what the rows at an idle row weigh, per resource.
type idlePart struct {
	all, kept [NumResources]float64 // of all rows, and of the rows that the filter kept
	some      bool                  // some rows were kept
}

// idleParts weighs the rows at each idle row. All rows take part but idle rows and costs outside of clusters. Shared rows
// take part too and pass their idle on.
func (w *work) idleParts(split Split) []idlePart {
	parts := make([]idlePart, w.idle.Len())
	places := w.place[:w.built]
	for i, place := range places {
		if place != nowhere && (w.keep == nil || w.keep[i]) {
			parts[place].some = true
		}
	}
	for r := range NumResources {
		if split != Even && w.set.AllZero(Cost.Of(r)) && w.set.AllZero(Adjustment.Of(r)) {
			continue // no row has any
		}
		weight := w.idleWeights(split, r)
		last, all, kept := int32(nowhere), 0.0, 0.0 // sums of adjacent rows with the same place
		for i, place := range places {
			if place != last {
				if last != nowhere {
					parts[last].all[r], parts[last].kept[r] = all, kept
				}
				if last = place; last != nowhere {
					all, kept = parts[last].all[r], parts[last].kept[r]
				}
			}
			all += weight[i]
			if w.keep == nil || w.keep[i] {
				kept += weight[i]
			}
		}
		if last != nowhere {
			parts[last].all[r], parts[last].kept[r] = all, kept
		}
	}
	return parts
}

// idleWeights returns the weight of each row when idle of a resource is divided: its cost, or 1. The slice is valid until the
// next call.
func (w *work) idleWeights(split Split, r Resource) []float64 {
	m := w.workspace
	m.weights = slices.Grow(m.weights[:0], w.built)[:w.built]
	weights := m.weights
	cost, adjustment := w.set.values[Cost.Of(r)], w.set.values[Adjustment.Of(r)]
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
		for row, part := range w.idleParts(Weighted) {
			left[row] = part.some
			for r := range NumResources {
				removed := 1.0
				if part.all[r] != 0 {
					removed = 1 - part.kept[r]/part.all[r]
				}
				w.dropIdle(row, r, removed)
			}
		}
		w.idle = w.idle.only(left)
	}
}

// shareIdle moves idle into the rows. Idle that no row can take stays in idle rows, even if idle rows were not asked for,
// unless there is a filter: filtered rows have no part in it.
func (w *work) shareIdle(o *Options) {
	parts := w.idleParts(o.ShareIdle)
	var given [NumResources][2][]float64
	for r := range NumResources {
		given[r] = [2][]float64{w.idle.values[Cost.Of(r)], w.idle.values[Adjustment.Of(r)]}
		w.shareIdleOf(r, parts, o.ShareIdle)
	}
	left := make([]bool, w.idle.Len())
	for row, part := range parts {
		for r := range NumResources {
			if part.all[r] != 0 {
				given[r][0][row], given[r][1][row] = 0, 0
				continue
			}
			if o.Filter != nil {
				w.dropIdle(row, r, 1)
			}
			left[row] = left[row] || given[r][0][row] != 0 || given[r][1][row] != 0
		}
	}
	w.idle = w.idle.only(left)
}

// shareIdleOf gives idle of one resource to the rows.
func (w *work) shareIdleOf(r Resource, parts []idlePart, split Split) {
	idle, adjustment := w.idle.values[Cost.Of(r)], w.idle.values[Adjustment.Of(r)]
	if !slices.ContainsFunc(idle, notZero) && !slices.ContainsFunc(adjustment, notZero) {
		return
	}
	weights := w.idleWeights(split, r)
	cost, costIdle := w.own(Cost.Of(r)), w.own(CostIdle.Of(r))
	adjusted := w.set.values[Adjustment.Of(r)]
	if slices.ContainsFunc(adjustment, notZero) {
		adjusted = w.own(Adjustment.Of(r))
	}
	for i, place := range w.place[:w.built] { // rows that passes added take none
		if place == nowhere || parts[place].all[r] == 0 {
			continue
		}
		part := weights[i] / parts[place].all[r]
		cost[i] += idle[place] * part
		costIdle[i] += idle[place] * part
		if adjustment[place] != 0 {
			adjusted[i] += adjustment[place] * part
		}
	}
}

func notZero(v float64) bool { return v != 0 }

// only returns an idle set with the wanted rows.
func (s *Set) only(want []bool) *Set {
	dst := s.like()
	for row, wanted := range want {
		if !wanted {
			continue
		}
		at := dst.grow(s.special[row], s.start[row], s.end[row])
		for p := range s.ids {
			dst.ids[p][at] = s.ids[p][row]
		}
		for c := range s.values {
			dst.values[c][at] = s.values[c][row]
		}
	}
	return dst
}

// idleName returns the name of an idle row.
func (w *work) idleName(row int, o *Options) string {
	if !o.SplitIdle {
		return IdleName
	}
	name := appendCluster(nil, w.idle.Text(Cluster, row))
	if o.IdleByNode {
		name = append(append(name, '/'), w.idle.Text(NodeName, row)...)
	}
	return string(append(name, "/"+IdleName...))
}
