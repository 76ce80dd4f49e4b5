package passes

import (
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// addExternal makes rows of the external allocations. Properties that they do not carry are missing. Without keys, pod and
// container are then __external__.
func addExternal(w *work, o *Options) {
	if !o.External || len(w.set.External) == 0 {
		return
	}
	w.grow()
	for i := range w.set.External {
		e := &w.set.External[i]
		r := allocation.Row{Special: allocation.External, Text: e.Text, Labels: e.Labels, Start: e.Start, End: e.End}
		for _, p := range [...]allocation.Property{allocation.Pod, allocation.Container} {
			if r.Text[p] == "" && len(o.Aggregate) == 0 {
				r.Text[p] = allocation.ExternalName
			}
		}
		r.Values[allocation.ExternalCost] = e.Cost
		w.set.Append(&r)
		w.books.External += e.Cost
	}
}

// isAdjusted reports whether an asset has an adjustment.
func isAdjusted(s *allocation.Set) bool {
	return slices.ContainsFunc(s.Nodes, func(n allocation.Node) bool { return n.Adjustment != [allocation.NumResources]float64{} }) ||
		slices.ContainsFunc(s.Disks, func(d allocation.Disk) bool { return d.Adjustment != 0 }) ||
		slices.ContainsFunc(s.Balancers, func(l allocation.LoadBalancer) bool { return l.Adjustment != 0 }) ||
		slices.ContainsFunc(s.Networks, func(n allocation.Network) bool { return n.Adjustment != 0 }) ||
		slices.ContainsFunc(s.Management, func(m allocation.Management) bool { return m.Adjustment != 0 })
}

// adjustRows returns the set with the adjustments of its assets divided among its rows, and among the idle of its nodes. Those
// of management and local disks reach rows with Options.ShareTenancy. It writes to the set's adjusted nodes, which must be a copy.
func adjustRows(s *allocation.Set) (*allocation.Set, error) {
	if t := s.Table(); t.Unread.Columns[allocation.Cost.Of(allocation.CPU)] || !isAdjusted(s) {
		return s, nil
	}
	located := [...]allocation.Property{allocation.Cluster, allocation.NodeName, allocation.ProviderID}
	w := newWork(s, &workspace{}, s.Table().Dict)
	for _, p := range located {
		if s.Table().Deferred[p] != nil && w.Dict == s.Table().Dict {
			w.ownDict()
		}
		w.identify(p, nil)
	}
	if err := w.set.Require(allocation.OfRows(located[:])); err != nil {
		return nil, err
	}
	w.adjustNodes()
	w.adjustVolumes()
	w.adjustBalancers()
	w.adjustNetworks()
	return w.set, w.workspace.err
}

// textID returns the id of a text, which it adds to a dictionary of the set's own if need be.
func (w *work) textID(text string) allocation.ID {
	id, ok := w.Dict.Find(text)
	if !ok {
		if w.Dict == w.given {
			w.ownDict()
		}
		id = w.Dict.Add(text)
	}
	return id
}

// ownDict gives the set a dictionary of its own.
func (w *work) ownDict() {
	w.Dict = w.Dict.Clone()
}

// nodeKey identifies the nodes whose adjustments are divided together: those of one name, or of one name and provider id
// where nodes of one name followed each other.
type nodeKey struct {
	idleKey
	provider allocation.ID
	alone    int // differs for nodes without rows
}

// nodeKeys returns the keys of the nodes, and a function that returns the key of a row.
func (w *work) nodeKeys() (keys []nodeKey, ofRow func(row int) nodeKey) {
	keys = make([]nodeKey, len(w.set.Nodes))
	first, several := make(map[idleKey]string, len(keys)), map[idleKey]bool{}
	for i := range keys {
		n := &w.set.Nodes[i]
		key := &keys[i].idleKey
		var hasCluster, hasNode bool
		key.cluster, hasCluster = w.Dict.Find(n.Cluster)
		key.node, hasNode = w.Dict.Find(n.Name)
		if !hasCluster || !hasNode { // no row has it
			keys[i].alone = i + 1
			continue
		}
		if id, ok := first[*key]; !ok {
			first[*key] = n.ProviderID
		} else if id != n.ProviderID {
			several[*key] = true
		}
	}
	known := map[nodeKey]bool{}
	for i := range keys {
		if keys[i].alone == 0 && several[keys[i].idleKey] {
			id := w.set.Nodes[i].ProviderID
			var found bool
			if keys[i].provider, found = w.Dict.Find(id); !found && id != first[keys[i].idleKey] {
				keys[i].alone = i + 1
			}
			known[keys[i]] = true
		}
	}
	ids := w.IDs
	return keys, func(row int) nodeKey {
		key := nodeKey{idleKey: idleKey{ids[allocation.Cluster][row], ids[allocation.NodeName][row]}}
		if len(several) > 0 && several[key.idleKey] {
			if key.provider = ids[allocation.ProviderID][row]; !known[key] { // it is charged with the first node of the name
				key.provider, _ = w.Dict.Find(first[key.idleKey])
			}
		}
		return key
	}
}

// nodeLoad is what nodes of one key cost, with their rows, and their adjustments.
type nodeLoad struct {
	key              nodeKey
	cost, adjustment [allocation.NumResources]float64
}

// nodeLoads finds loads. Rows find them by the id of the node's name, because a look-up by key for each row takes much longer.
type nodeLoads struct {
	byKey  map[nodeKey]*nodeLoad
	byName []*nodeLoad // the first of each name
}

// add returns the load of a key, a new one if there is none.
func (n *nodeLoads) add(key nodeKey) *nodeLoad {
	l := n.byKey[key]
	if l == nil {
		l = &nodeLoad{key: key}
		n.byKey[key] = l
		if missing := int(key.node) + 1 - len(n.byName); missing > 0 {
			n.byName = append(n.byName, make([]*nodeLoad, missing)...)
		}
		if n.byName[key.node] == nil {
			n.byName[key.node] = l
		}
	}
	return l
}

// find returns the load of a key, nil if there is none.
func (n *nodeLoads) find(key nodeKey) *nodeLoad {
	if int(key.node) >= len(n.byName) {
		return nil
	}
	if l := n.byName[key.node]; l == nil || l.key == key {
		return l
	}
	return n.byKey[key]
}

// adjustNodes divides the adjustments of nodes among the rows on them and idle, per resource, in proportion to cost. Where
// nothing costs anything, idle takes all.
func (w *work) adjustNodes() {
	if !slices.ContainsFunc(w.set.Nodes, func(n allocation.Node) bool { return n.Adjustment != [allocation.NumResources]float64{} }) {
		return
	}
	keys, keyOf := w.nodeKeys()
	loads := nodeLoads{byKey: make(map[nodeKey]*nodeLoad, len(keys))}
	nodes := make([]*nodeLoad, len(keys))
	for i, key := range keys {
		nodes[i] = loads.add(key)
		for r := range allocation.NumResources {
			nodes[i].cost[r] += w.set.Nodes[i].Idle[r]
			nodes[i].adjustment[r] += w.set.Nodes[i].Adjustment[r]
		}
	}
	rows := make([]*nodeLoad, w.built)
	for row := range rows {
		rows[row] = loads.find(keyOf(row))
	}
	for r := range allocation.NumResources {
		if !slices.ContainsFunc(nodes, func(l *nodeLoad) bool { return l.adjustment[r] != 0 }) {
			continue
		}
		cost, adjustment := w.Values[allocation.Cost.Of(r)], w.own(allocation.Adjustment.Of(r))
		for row, l := range rows {
			if l != nil {
				l.cost[r] += cost[row]
			}
		}
		for row, l := range rows {
			if l != nil && l.cost[r] != 0 {
				adjustment[row] += l.adjustment[r] * (cost[row] / l.cost[r])
			}
		}
	}
	for i, l := range nodes {
		n := &w.set.Nodes[i]
		for r := range allocation.NumResources {
			n.IdleAdjustment[r] = n.Adjustment[r]
			if l.cost[r] != 0 {
				n.IdleAdjustment[r] = l.adjustment[r] * (n.Idle[r] / l.cost[r])
			}
		}
	}
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

// share returns what a row with weights w gets of the adjustment.
func (a *adjusting) share(w weights) float64 {
	for i, sum := range a.sum {
		if sum != 0 {
			return a.amount * (w[i] / sum)
		}
	}
	return 0
}

// adjustShares divides the adjustments of assets among the rows that have shares of them, found by key. Where no row has a
// share, the adjustment becomes a row of its own with the share that newShare returns.
func adjustShares[T any](w *work, assets map[string]*adjusting, of *allocation.Shares[T], c allocation.Column, key func(*T) allocation.ID, weigh func(*T) weights, add func(*T, float64), newShare func(key, id allocation.ID) T) {
	if len(assets) == 0 {
		return
	}
	byID := make(map[allocation.ID]*adjusting, len(assets))
	for text, a := range assets {
		if id, ok := w.Dict.Find(text); ok {
			byID[id] = a
		}
	}
	list := slices.Clone(of.List)
	for i := range list {
		if a := byID[key(&list[i])]; a != nil {
			for k, v := range weigh(&list[i]) {
				a.sum[k] += v
			}
		}
	}
	of.List = list
	adjustment := w.own(c)
	for row := range w.built {
		shares := of.Row(row)
		for i := range shares {
			if a := byID[key(&shares[i])]; a != nil {
				share := a.share(weigh(&shares[i]))
				add(&shares[i], share)
				adjustment[row] += share
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(assets)) {
		a := assets[text]
		if w.leaveAdjustment(a, c) {
			share := newShare(w.textID(text), w.textID(a.id))
			add(&share, a.amount)
			of.Add(w.set.Len()-1, share)
		}
	}
}

// leaveAdjustment makes a row of an adjustment that no row could take, and reports whether it did.
func (w *work) leaveAdjustment(a *adjusting, c allocation.Column) bool {
	if a.sum != (weights{}) || a.amount == 0 {
		return false
	}
	w.addUnallocated(w.textID(a.cluster), a.start, a.end, c, a.amount)
	return true
}

// addAdjusting adds an adjustment to those of the key.
func addAdjusting(assets map[string]*adjusting, key string, a adjusting) {
	if have := assets[key]; have != nil {
		a.amount += have.amount
		a.start, a.end = min(a.start, have.start), max(a.end, have.end)
	}
	assets[key] = &a
}

// adjustVolumes divides the adjustments of volumes by cost.
func (w *work) adjustVolumes() {
	assets := map[string]*adjusting{}
	for i := range w.set.Disks {
		if d := &w.set.Disks[i]; !d.Local && d.Adjustment != 0 {
			addAdjusting(assets, allocation.VolumeKey(d.Cluster, d.Name), adjusting{cluster: d.Cluster, id: d.ProviderID, start: d.Start.UnixMilli(), end: d.End.UnixMilli(), amount: d.Adjustment})
		}
	}
	adjustShares(w, assets, &w.Volumes, allocation.PVCostAdjustment, func(v *allocation.VolumeShare) allocation.ID { return v.Key },
		func(v *allocation.VolumeShare) weights { return weights{v.Cost, v.ByteHours, 1} },
		func(v *allocation.VolumeShare, share float64) { v.Adjustment += share },
		func(key, id allocation.ID) allocation.VolumeShare {
			return allocation.VolumeShare{Key: key, ProviderID: id}
		})
}

// adjustBalancers divides the adjustments of load balancers by cost, which follows usage at each instant, else by usage hours.
func (w *work) adjustBalancers() {
	assets := map[string]*adjusting{}
	for i := range w.set.Balancers {
		if l := &w.set.Balancers[i]; l.Adjustment != 0 {
			addAdjusting(assets, allocation.LoadBalancerKey(l.Cluster, l.Namespace, l.Service), adjusting{cluster: l.Cluster, id: l.Namespace + "/" + l.Service, start: l.Start.UnixMilli(), end: l.End.UnixMilli(), amount: l.Adjustment})
		}
	}
	adjustShares(w, assets, &w.Balancers, allocation.LoadBalancerCostAdjustment, func(l *allocation.LoadBalancerShare) allocation.ID { return l.Key },
		func(l *allocation.LoadBalancerShare) weights { return weights{l.Cost, l.Hours, 1} },
		func(l *allocation.LoadBalancerShare, share float64) { l.Adjustment += share },
		func(key, id allocation.ID) allocation.LoadBalancerShare {
			return allocation.LoadBalancerShare{Key: key, Service: id}
		})
}

// adjustNetworks divides the adjustments of networks among the rows of the cluster, by the cost of their traffic, or else by
// the time that they ran.
func (w *work) adjustNetworks() {
	of := map[allocation.ID]*adjusting{}
	var all []*adjusting
	for i := range w.set.Networks {
		n := &w.set.Networks[i]
		if n.Adjustment != 0 {
			cluster := w.textID(n.Cluster)
			of[cluster] = &adjusting{cluster: n.Cluster, start: n.Start.UnixMilli(), end: n.End.UnixMilli(), amount: n.Adjustment}
			all = append(all, of[cluster])
		}
	}
	if len(all) == 0 {
		return
	}
	each := func(f func(row int, a *adjusting, has weights)) {
		for row, id := range w.IDs[allocation.Cluster][:w.built] {
			if a := of[id]; a != nil {
				f(row, a, weights{networkCost(w.Table, row), w.runningSeconds(row)})
			}
		}
	}
	each(func(_ int, a *adjusting, has weights) {
		for k, v := range has {
			a.sum[k] += v
		}
	})
	adjustment := w.own(allocation.NetworkCostAdjustment)
	each(func(row int, a *adjusting, has weights) { adjustment[row] += a.share(has) })
	for _, a := range all {
		w.leaveAdjustment(a, allocation.NetworkCostAdjustment)
	}
}

// runningSeconds returns how long a container ran, 0 for rows that are not workloads.
func (w *work) runningSeconds(row int) float64 {
	if w.Special[row] != allocation.Workload {
		return 0
	}
	return w.Values[allocation.RunningSeconds][row]
}

// networkCost returns the cost of a row's traffic at list price.
func networkCost(t *allocation.Table, row int) (sum float64) {
	for _, c := range allocation.SharedNetwork.ListColumns() {
		sum += t.Values[c][row]
	}
	return sum
}
