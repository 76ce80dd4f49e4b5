package allocation

import (
	"maps"
	"slices"
)

// addExternal makes rows of the external allocations. Properties that they do not carry are missing, but pod and container
// are then __external__.
func addExternal(w *work, o *Options) {
	if !o.External || len(w.set.External) == 0 {
		return
	}
	w.grow()
	for i := range w.set.External {
		e := &w.set.External[i]
		r := Row{Special: External, Text: e.Text, Labels: e.Labels, Start: e.Start, End: e.End}
		for _, p := range [...]Property{Pod, Container} {
			if r.Text[p] == "" {
				r.Text[p] = ExternalName
			}
		}
		r.Values[ExternalCost] = e.Cost
		w.set.Append(&r)
		w.books.external += e.Cost
	}
}

// reconcile gives the rows their shares of the adjustments of their assets, and idle its share of the adjustments of nodes.
func reconcile(w *work, o *Options) {
	if !o.Reconcile {
		return
	}
	w.books.reconcile = true
	if !w.set.isAdjusted() {
		return
	}
	w.locate()
	w.adjustNodes()
	w.adjustVolumes()
	w.adjustBalancers()
	w.adjustNetworks()
}

// adjustNodes divides the adjustments of nodes among the rows on them and idle, per resource, in proportion to cost. Where
// nothing costs anything, idle takes all.
func (w *work) adjustNodes() {
	type load struct{ cost, adjustment [NumResources]float64 }
	loads := map[idleKey]*load{}
	adjusted := false
	for i := range w.set.Nodes {
		n := &w.set.Nodes[i]
		key := w.nodeKey(n)
		if loads[key] == nil {
			loads[key] = &load{}
		}
		for r := range NumResources {
			loads[key].cost[r] += n.Idle[r]
			loads[key].adjustment[r] += n.Adjustment[r]
			adjusted = adjusted || n.Adjustment[r] != 0
		}
	}
	if !adjusted {
		return
	}
	of := make([]*load, w.built)
	for row := range of {
		of[row] = loads[idleKey{w.set.ids[Cluster][row], w.set.ids[NodeName][row]}]
		for r := range NumResources {
			if of[row] != nil {
				of[row].cost[r] += w.set.values[Cost.Of(r)][row]
			}
		}
	}
	for r := range NumResources {
		cost, adjustment := w.set.values[Cost.Of(r)], w.own(Adjustment.Of(r))
		for row, l := range of {
			if l != nil && l.cost[r] != 0 {
				adjustment[row] += l.adjustment[r] * (cost[row] / l.cost[r])
			}
		}
	}
	w.adjustIdle = make([][NumResources]float64, len(w.set.Nodes))
	for i := range w.set.Nodes {
		n := &w.set.Nodes[i]
		l := loads[w.nodeKey(n)]
		for r := range NumResources {
			w.adjustIdle[i][r] = n.Adjustment[r]
			if l.cost[r] != 0 {
				w.adjustIdle[i][r] = l.adjustment[r] * (n.Idle[r] / l.cost[r])
			}
		}
	}
}

// nodeKey returns the key of the rows on a node.
func (w *work) nodeKey(n *Node) idleKey {
	cluster, _ := w.dict.Find(n.Cluster)
	node, _ := w.dict.Find(n.Name)
	return idleKey{cluster, node}
}

// weights are what an adjustment is divided by: the first weight whose sum is not 0.
type weights [3]float64

// adjusting is the adjustment of an asset that is being divided among the rows that share the asset.
type adjusting struct {
	cluster    string
	id         string // of a volume: the provider's id; of a load balancer: its service
	start, end int64
	amount     float64
	sum        weights // of all rows that share the asset
}

// part returns the part of the adjustment for a row with weights w.
func (a *adjusting) part(w weights) float64 {
	for i, sum := range a.sum {
		if sum != 0 {
			return a.amount * (w[i] / sum)
		}
	}
	return 0
}

// adjustShares divides the adjustments of assets among the rows that have shares of them, found by key. Where no row has a
// share, the adjustment becomes a row of its own with the share that newShare returns.
func adjustShares[T any](w *work, assets map[string]*adjusting, of *shares[T], c Column, key func(*T) ID, weigh func(*T) weights, add func(*T, float64), newShare func(key, id ID) T) {
	if len(assets) == 0 {
		return
	}
	byID := make(map[ID]*adjusting, len(assets))
	for text, a := range assets {
		if id, ok := w.dict.Find(text); ok {
			byID[id] = a
		}
	}
	list := slices.Clone(of.list)
	for i := range list {
		if a := byID[key(&list[i])]; a != nil {
			for k, v := range weigh(&list[i]) {
				a.sum[k] += v
			}
		}
	}
	of.list = list
	adjustment := w.own(c)
	for row := range w.built {
		shares := of.ofRow(row)
		for i := range shares {
			if a := byID[key(&shares[i])]; a != nil {
				part := a.part(weigh(&shares[i]))
				add(&shares[i], part)
				adjustment[row] += part
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(assets)) {
		a := assets[text]
		if w.leaveAdjustment(a, c) {
			key, _ := w.dict.Find(text)
			id, _ := w.dict.Find(a.id)
			share := newShare(key, id)
			add(&share, a.amount)
			of.add(w.set.Len()-1, share)
		}
	}
}

// leaveAdjustment makes a row of an adjustment that no row could take, and reports whether it did.
func (w *work) leaveAdjustment(a *adjusting, c Column) bool {
	if a.sum != (weights{}) || a.amount == 0 {
		return false
	}
	cluster, _ := w.dict.Find(a.cluster)
	w.addUnallocated(cluster, a.start, a.end, c, a.amount)
	return true
}

// adjustVolumes divides the adjustments of volumes by cost.
func (w *work) adjustVolumes() {
	assets := map[string]*adjusting{}
	for i := range w.set.Disks {
		if d := &w.set.Disks[i]; !d.Local && d.Adjustment != 0 {
			assets[VolumeKey(d.Cluster, d.Name)] = &adjusting{cluster: d.Cluster, id: d.ProviderID, start: d.Start.UnixMilli(), end: d.End.UnixMilli(), amount: d.Adjustment}
		}
	}
	adjustShares(w, assets, &w.set.volumes, PVCostAdjustment, func(v *VolumeShare) ID { return v.Key },
		func(v *VolumeShare) weights { return weights{v.Cost, v.ByteHours, 1} },
		func(v *VolumeShare, part float64) { v.Adjustment += part },
		func(key, id ID) VolumeShare { return VolumeShare{Key: key, ProviderID: id} })
}

// adjustBalancers divides the adjustments of load balancers by usage hours.
func (w *work) adjustBalancers() {
	assets := map[string]*adjusting{}
	for i := range w.set.Balancers {
		if l := &w.set.Balancers[i]; l.Adjustment != 0 {
			assets[LoadBalancerKey(l.Cluster, l.Namespace, l.Service)] = &adjusting{cluster: l.Cluster, id: l.Namespace + "/" + l.Service, start: l.Start.UnixMilli(), end: l.End.UnixMilli(), amount: l.Adjustment}
		}
	}
	adjustShares(w, assets, &w.set.balancers, LoadBalancerCostAdjustment, func(l *LoadBalancerShare) ID { return l.Key },
		func(l *LoadBalancerShare) weights { return weights{l.Hours, l.Cost, 1} },
		func(l *LoadBalancerShare, part float64) { l.Adjustment += part },
		func(key, id ID) LoadBalancerShare { return LoadBalancerShare{Key: key, Service: id} })
}

// adjustNetworks divides the adjustments of networks among the rows of the cluster, by the cost of their traffic, or else by
// usage hours.
func (w *work) adjustNetworks() {
	of := map[ID]*adjusting{}
	var all []*adjusting
	for i := range w.set.Networks {
		n := &w.set.Networks[i]
		if n.Adjustment != 0 {
			cluster, _ := w.dict.Find(n.Cluster)
			of[cluster] = &adjusting{cluster: n.Cluster, start: n.Start.UnixMilli(), end: n.End.UnixMilli(), amount: n.Adjustment}
			all = append(all, of[cluster])
		}
	}
	if len(all) == 0 {
		return
	}
	each := func(f func(row int, a *adjusting, has weights)) {
		for row, id := range w.set.ids[Cluster][:w.built] {
			if a := of[id]; a != nil {
				f(row, a, weights{w.set.networkCost(row), w.usageHours(row, a.start, a.end)})
			}
		}
	}
	each(func(_ int, a *adjusting, has weights) {
		for k, v := range has {
			a.sum[k] += v
		}
	})
	adjustment := w.own(NetworkCostAdjustment)
	each(func(row int, a *adjusting, has weights) { adjustment[row] += a.part(has) })
	for _, a := range all {
		w.leaveAdjustment(a, NetworkCostAdjustment)
	}
}

// networkCost returns the cost of a row's traffic at list price.
func (s *Set) networkCost(row int) (sum float64) {
	for _, c := range SharedNetwork.ListColumns() {
		sum += s.values[c][row]
	}
	return sum
}
