package allocation

import (
	"cmp"
	"slices"
)

// Proportion is what part of an asset's cost a row is, from 0 to 1: of what the asset costs at list price, idle
// included, what the row costs before idle and shared costs. The parts of things that the asset is not are 0.
type Proportion struct {
	Cluster      string
	Name         string // of the node, disk, or `<namespace>/<service>` of the load balancer; empty for all nodes of a cluster
	Type         string // Node, Disk, LoadBalancer; empty for all nodes of a cluster
	ProviderID   string // as the provider's bill has it, or the address of a load balancer
	CPU          float64
	RAM          float64
	GPU          float64
	PV           float64
	LoadBalancer float64
	Node         float64 // of CPU, RAM and GPU together
}

// Key is the name of the asset in an answer, `<cluster>,<name>`, or the cluster for all nodes of one; : and / of the cluster's
// id are _ in it, as they are in other names.
func (p *Proportion) Key() string {
	key := appendCluster(nil, p.Cluster)
	if p.Name != "" {
		key = append(append(key, ','), p.Name...)
	}
	return string(key)
}

// portion is what a row costs of an asset.
type portion struct {
	key  portionKey
	cost [NumResources]float64 // of volumes and load balancers, the first is all
}

// portionKey says what asset a portion is of.
type portionKey struct {
	cluster ID
	kind    portionKind
	name    ID // of a node, 0 for all of a cluster; else the key of shares
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

// measurePortions notes what each result costs of nodes, volumes and load balancers.
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

// asset is what Proportions tells of an asset.
type asset struct {
	name, typ, providerID string
	cost                  [NumResources]float64
}

// indexAssets notes the assets that portions are of.
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

// Proportions are the row's parts of assets' costs, by cluster and name, where Options.Proportions asked for them: of each
// node with IdleByNode, else of all nodes of each cluster, of disks and of load balancers. What cost nothing is left out.
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

// ratio is part/all, 0 where that is no number.
func ratio(part, all float64) float64 {
	if v := part / all; v-v == 0 {
		return v
	}
	return 0
}
