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

// asset is what Proportions returns about an asset.
type asset struct {
	name, typ, providerID string
	cost                  [NumResources]float64
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
