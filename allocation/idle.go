package allocation

import "slices"

// addIdle puts the idle of the set's nodes beside it, a row a node or a cluster.
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
			// Idle knows no instance: its provider is the node by name, as the peers have it.
			idle.ids[Cluster][row], idle.ids[NodeName][row], idle.ids[ProviderID][row] = key.cluster, key.node, key.node
		}
		idle.start[row], idle.end[row] = min(idle.start[row], start), max(idle.end[row], end)
		for r, cost := range n.Idle {
			idle.values[Cost.Of(Resource(r))][row] += cost
			if w.adjustIdle != nil {
				idle.values[Adjustment.Of(Resource(r))][row] += w.adjustIdle[i][r]
			}
		}
	}
	w.idle = idle
	if o.Filter != nil || o.ShareIdle != NoSplit {
		w.findPlaces(rows, o)
	}
}

// forgoIdle notes the idle that is in no row.
func (w *work) forgoIdle() {
	idle := w.nodeIdle()
	w.books.out.add(&idle)
	for i := range w.set.Nodes {
		for r, cost := range w.set.Nodes[i].Idle {
			w.books.idle[r] += cost
		}
	}
}

// nodeIdle is the idle of all nodes, with their adjustments.
func (w *work) nodeIdle() (idle money) {
	for i := range w.set.Nodes {
		for r, kind := range nodeKinds {
			idle[kind] += w.set.Nodes[i].Idle[r]
			if w.adjustIdle != nil {
				idle[kind] += w.adjustIdle[i][r]
			}
		}
	}
	return idle
}

// dropIdle empties an idle row of a resource, and notes it.
func (w *work) dropIdle(row int, r Resource, part float64) {
	cost, adjustment := &w.idle.values[Cost.Of(r)][row], &w.idle.values[Adjustment.Of(r)][row]
	w.books.idle[r] += *cost * part
	w.books.out[nodeKinds[r]] += (*cost + *adjustment) * part
	*cost -= *cost * part
	*adjustment -= *adjustment * part
}

// idleKey is what idle is kept for: a cluster, or a node of it.
type idleKey struct{ cluster, node ID }

// findPlaces finds the idle row of each row.
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

// idlePart is the part that the rows at an idle row take of it, per resource.
type idlePart struct {
	all, kept [NumResources]float64 // of all rows, and of those that the filter kept
	some      bool                  // rows were kept
}

// idleParts weighs the rows by the idle row of their node or cluster. What takes idle is everything that is no idle
// itself, so shared rows too: they pass it on. Costs outside of clusters take none.
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
			continue // nobody has any
		}
		weight := w.idleWeights(split, r)
		last, all, kept := int32(nowhere), 0.0, 0.0 // of the place of rows that lie side by side
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

// idleWeights are what idle of a resource is given to the rows by: what they cost of it, or 1. They may be used until there are
// others.
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

// giveIdle gives idle to the rows, where it is shared. Else it leaves of each idle row what the rows that the filter kept
// would have been given of it; idle rows that nothing was kept for go.
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
				gone := 1.0
				if part.all[r] != 0 {
					gone = 1 - part.kept[r]/part.all[r]
				}
				w.dropIdle(row, r, gone)
			}
		}
		w.idle = w.idle.only(left)
	}
}

// shareIdle moves idle into the rows. What nobody can take of it stays idle, whether idle was asked for or not, unless
// something is filtered: of what nobody is given, the rows of a filter have no part.
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
	cost, told := w.own(Cost.Of(r)), w.own(CostIdle.Of(r))
	adjusted := w.set.values[Adjustment.Of(r)]
	if slices.ContainsFunc(adjustment, notZero) {
		adjusted = w.own(Adjustment.Of(r))
	}
	for i, place := range w.place[:w.built] { // those that passes added take none
		if place == nowhere || parts[place].all[r] == 0 {
			continue
		}
		part := weights[i] / parts[place].all[r]
		cost[i] += idle[place] * part
		told[i] += idle[place] * part
		if adjustment[place] != 0 {
			adjusted[i] += adjustment[place] * part
		}
	}
}

func notZero(v float64) bool { return v != 0 }

// only is an idle set with the rows that are wanted.
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

// idleName is the name of an idle row.
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
