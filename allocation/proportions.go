package allocation

import (
	"cmp"
	"slices"
)

// Proportion is the part of an asset's cost that a row has, from 0 to 1: the row's cost before idle and shared costs, divided
// by the asset's cost at list price with idle. Parts that the asset does not have are 0.
type Proportion struct {
	Cluster      string
	Name         string // of the node or disk, or `<namespace>/<service>` of the load balancer; empty for all nodes of a cluster
	Type         string // Node, Disk, LoadBalancer; empty for all nodes of a cluster
	ProviderID   string // as in the provider's bill, or the address of a load balancer
	CPU          float64
	RAM          float64
	GPU          float64
	PV           float64
	LoadBalancer float64
	Node         float64 // of CPU, RAM and GPU together
}

// Key returns the name of the asset in an answer: `<cluster>,<name>`, or the cluster for all of its nodes. As in other names,
// : and / in the cluster's id become _.
func (p *Proportion) Key() string {
	key := appendCluster(nil, p.Cluster)
	if p.Name != "" {
		key = append(append(key, ','), p.Name...)
	}
	return string(key)
}

// portion is a row's cost of an asset.
type portion struct {
	key  portionKey
	cost [NumResources]float64 // volumes and load balancers only use the first
}

// portionKey identifies the asset of a portion.
type portionKey struct {
	cluster ID
	kind    portionKind
	name    ID // of a node, 0 for all nodes of a cluster; otherwise the key of the shares
}

// portionKind is a kind of asset.
type portionKind uint8

const (
	nodePortion portionKind = iota
	diskPortion
	balancerPortion
)

// orderPortions compares portions by cluster, kind and name.
func (d *Dict) orderPortions(a, b *portion) int {
	return cmp.Or(d.order(a.key.cluster, b.key.cluster), cmp.Compare(a.key.kind, b.key.kind), d.order(a.key.name, b.key.name))
}

func addPortion(to, from *portion) {
	for r, v := range from.cost {
		to.cost[r] += v
	}
}

// measurePortions records each result's cost of nodes, volumes and load balancers.
func measurePortions(w *work, o *Options) {
	if !o.Proportions {
		return
	}
	n := int32(w.set.Len())
	var list []rowShare[portion]
	at := map[rowShare[portionKey]]int{}
	for row, g := range w.group {
		if g == n || row >= w.built {
			continue
		}
		key := rowShare[portionKey]{g, portionKey{cluster: w.rows.ids[Cluster][row]}}
		if o.IdleByNode {
			key.share.name = w.rows.ids[NodeName][row]
		}
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, rowShare[portion]{g, portion{key: key.share}})
		}
		for r := range NumResources {
			list[i].share.cost[r] += w.rows.values[Cost.Of(r)][row] - w.rows.values[CostIdle.Of(r)][row]
		}
		for _, v := range w.rows.Volumes(row) {
			key := portionKey{cluster: key.share.cluster, kind: diskPortion, name: v.Key}
			list = append(list, rowShare[portion]{g, portion{key, [NumResources]float64{v.Cost}}})
		}
		for _, l := range w.rows.LoadBalancerShares(row) {
			key := portionKey{cluster: key.share.cluster, kind: balancerPortion, name: l.Key}
			list = append(list, rowShare[portion]{g, portion{key, [NumResources]float64{l.Cost}}})
		}
	}
	w.set.portions = mergeRowShares(list, w.dict.orderPortions, addPortion)
	w.set.indexAssets(o)
}

// asset is what Proportions returns about an asset.
type asset struct {
	name, typ, providerID string
	cost                  [NumResources]float64
}

// indexAssets records the assets of portions.
func (s *Set) indexAssets(o *Options) {
	s.assets = map[portionKey]*asset{}
	add := func(cluster, name string, kind portionKind, a asset) {
		var key portionKey
		key.kind = kind
		key.cluster, _ = s.dict.Find(cluster)
		key.name, _ = s.dict.Find(name)
		have := s.assets[key]
		if have == nil {
			s.assets[key] = &a
			return
		}
		for r, v := range a.cost {
			have.cost[r] += v
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if o.IdleByNode {
			_, id := ParseProviderID(n.ProviderID)
			add(n.Cluster, n.Name, nodePortion, asset{n.Name, "Node", id, n.Cost})
		} else {
			add(n.Cluster, "", nodePortion, asset{cost: n.Cost})
		}
	}
	for i := range s.Disks {
		if d := &s.Disks[i]; !d.Local {
			_, id := ParseProviderID(d.ProviderID)
			add(d.Cluster, VolumeKey(d.Cluster, d.Name), diskPortion, asset{d.Name, "Disk", id, [NumResources]float64{d.Cost}})
		}
	}
	for i := range s.Balancers {
		l := &s.Balancers[i]
		add(l.Cluster, LoadBalancerKey(l.Cluster, l.Namespace, l.Service), balancerPortion, asset{l.Namespace + "/" + l.Service, "LoadBalancer", cmp.Or(l.ProviderID, l.IP), [NumResources]float64{l.Cost}})
	}
}

// Proportions returns the row's parts of assets' costs, by cluster and name, if Options.Proportions is set: of each node with
// IdleByNode, otherwise of all nodes of each cluster; of disks; and of load balancers. Parts without cost are left out.
func (s *Set) Proportions(row int) []Proportion {
	var list []Proportion
	for _, p := range s.portions.ofRow(row) {
		a := s.assets[p.key]
		if a == nil || p.cost == ([NumResources]float64{}) {
			continue
		}
		of := Proportion{Cluster: s.dict.Text(p.key.cluster), Name: a.name, Type: a.typ, ProviderID: a.providerID}
		switch p.key.kind {
		case nodePortion:
			of.CPU, of.RAM, of.GPU = ratio(p.cost[CPU], a.cost[CPU]), ratio(p.cost[RAM], a.cost[RAM]), ratio(p.cost[GPU], a.cost[GPU])
			of.Node = ratio(p.cost[CPU]+p.cost[RAM]+p.cost[GPU], a.cost[CPU]+a.cost[RAM]+a.cost[GPU])
		case diskPortion:
			of.PV = ratio(p.cost[0], a.cost[0])
		case balancerPortion:
			of.LoadBalancer = ratio(p.cost[0], a.cost[0])
		}
		list = append(list, of)
	}
	slices.SortStableFunc(list, func(a, b Proportion) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return list
}

// ratio returns part/all, 0 where that is not a finite number.
func ratio(part, all float64) float64 {
	if v := part / all; v-v == 0 {
		return v
	}
	return 0
}
