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

// Portion is a row's cost of an asset.
type Portion struct {
	Key  PortionKey
	Cost [NumResources]float64 // volumes and load balancers only use the first
}

// PortionKey identifies the asset of a portion.
type PortionKey struct {
	Cluster ID
	Kind    PortionKind
	Name    ID // of a node, 0 for all nodes of a cluster; otherwise the key of the shares
}

// PortionKind is a kind of asset.
type PortionKind uint8

// The kinds of assets that rows have portions of.
const (
	NodePortion PortionKind = iota
	DiskPortion
	BalancerPortion
)

// PortionAsset is what Proportions returns about an asset.
type PortionAsset struct {
	Name, Type, ProviderID string
	Cost                   [NumResources]float64
}

// Proportions returns the row's parts of assets' costs, by cluster and name, if Options.Proportions is set: of each node with
// IdleByNode, otherwise of all nodes of each cluster; of disks; and of load balancers. Parts without cost are left out.
func (s *Set) Proportions(row int) []Proportion {
	var list []Proportion
	for _, p := range s.table.Portions.Row(row) {
		a := s.table.Assets[p.Key]
		if a == nil || p.Cost == ([NumResources]float64{}) {
			continue
		}
		of := Proportion{Cluster: s.table.Dict.Text(p.Key.Cluster), Name: a.Name, Type: a.Type, ProviderID: a.ProviderID}
		switch p.Key.Kind {
		case NodePortion:
			of.CPU, of.RAM, of.GPU = ratio(p.Cost[CPU], a.Cost[CPU]), ratio(p.Cost[RAM], a.Cost[RAM]), ratio(p.Cost[GPU], a.Cost[GPU])
			of.Node = ratio(p.Cost[CPU]+p.Cost[RAM]+p.Cost[GPU], a.Cost[CPU]+a.Cost[RAM]+a.Cost[GPU])
		case DiskPortion:
			of.PV = ratio(p.Cost[0], a.Cost[0])
		case BalancerPortion:
			of.LoadBalancer = ratio(p.Cost[0], a.Cost[0])
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
