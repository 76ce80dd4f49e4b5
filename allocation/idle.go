package allocation

import (
	"cmp"
	"slices"
)

// addIdle puts the idle of the set's nodes beside it, a row a node or a cluster.
func addIdle(w *work, o *Options) {
	if !o.Idle {
		return
	}
	idle := w.set.like()
	idle.dict = w.dict
	rows := map[idleKey]int{}
	for i := range w.set.Nodes {
		n := &w.set.Nodes[i]
		cluster, _ := w.dict.Find(n.Cluster)
		key := idleKey{cluster: cluster}
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
		}
	}
	w.idle = idle
}

// idleKey is what idle is kept for: a cluster, or a node of it.
type idleKey struct{ cluster, node ID }

// besideIdle is the cost of the rows that an idle row belongs to: all of them, and those that the filter kept.
type besideIdle struct {
	all, kept [NumResources]float64
	some      bool // rows were kept
}

// costBesideIdle sums the cost of the rows by the idle row of their node or cluster.
func (w *work) costBesideIdle(o *Options) []besideIdle {
	index := make(map[idleKey]int, w.idle.Len())
	for row := range w.idle.Len() {
		index[idleKey{w.idle.ids[Cluster][row], w.idle.ids[NodeName][row]}] = row
	}
	sums := make([]besideIdle, w.idle.Len())
	for i, kept := range w.keep {
		key := idleKey{cluster: w.set.ids[Cluster][i]}
		if o.IdleByNode {
			key.node = w.set.ids[NodeName][i]
		}
		row, ok := index[key]
		if !ok {
			continue
		}
		sum := &sums[row]
		sum.some = sum.some || kept
		for r := range NumResources {
			cost := w.set.adjusted(r, i)
			sum.all[r] += cost
			if kept {
				sum.kept[r] += cost
			}
		}
	}
	return sums
}

// scaleIdle leaves of each idle row what the rows that the filter kept would have been given of it: their part of the
// cost of all rows of the cluster or node, per resource. Rows of idle that nothing was kept for go.
func (w *work) scaleIdle(o *Options) {
	left := w.set.like()
	left.dict = w.dict
	for row, sum := range w.costBesideIdle(o) {
		if !sum.some {
			continue
		}
		at := left.grow(Idle, w.idle.start[row], w.idle.end[row])
		for _, p := range [...]Property{Cluster, NodeName, ProviderID} {
			left.ids[p][at] = w.idle.ids[p][row]
		}
		for r := range NumResources {
			if sum.all[r] != 0 {
				left.values[Cost.Of(r)][at] = w.idle.values[Cost.Of(r)][row] * (sum.kept[r] / sum.all[r])
			}
		}
	}
	w.idle = left
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

// sumNodes adds up the nodes of the sets. A node is one by cluster, name and provider id; what it is called and where it
// stands is the newest set's word.
func sumNodes(sets []*Set) []Node {
	type key struct{ cluster, name, provider string }
	var nodes []Node
	at := map[key]int{}
	for _, s := range sets {
		for i := range s.Nodes {
			n := s.Nodes[i]
			k := key{n.Cluster, n.Name, n.ProviderID}
			j, ok := at[k]
			if !ok {
				at[k] = len(nodes)
				nodes = append(nodes, n)
				continue
			}
			was := &nodes[j]
			for r := range NumResources {
				n.Hours[r] += was.Hours[r]
				n.Cost[r] += was.Cost[r]
				n.Idle[r] += was.Idle[r]
			}
			n.RunningSeconds += was.RunningSeconds
			if was.Start.Before(n.Start) {
				n.Start = was.Start
			}
			if was.End.After(n.End) {
				n.End = was.End
			}
			nodes[j] = n
		}
	}
	slices.SortStableFunc(nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	return nodes
}

// sumResiduals adds up the residuals of the sets by cluster and resource.
func sumResiduals(sets []*Set) []Residual {
	var sum []Residual
	for _, s := range sets {
		for _, r := range s.Residuals {
			i := slices.IndexFunc(sum, func(have Residual) bool { return have.Cluster == r.Cluster && have.Resource == r.Resource })
			if i < 0 {
				sum = append(sum, r)
				continue
			}
			sum[i].Cost += r.Cost
			sum[i].Overcommit += r.Overcommit
		}
	}
	slices.SortFunc(sum, func(a, b Residual) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Resource, b.Resource))
	})
	return sum
}
