package reconcile

import (
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// Kind is what a line is about.
type Kind uint8

// The kinds. Those before External are assets of clusters.
const (
	Node Kind = iota
	Volume
	LocalDisk // a node's own disk
	Balancer
	Network
	Management // a control plane
	External   // outside of clusters, with properties of allocations
	Cloud      // anything else
	NumKinds
)

// String is the kind's name in texts.
func (k Kind) String() string {
	return [NumKinds]string{"node", "volume", "local disk", "load balancer", "network", "management", "external", "cloud"}[k]
}

// Asset identifies an asset of a cluster. The network and the control plane of a cluster have no name.
type Asset struct {
	Kind Kind
	allocation.AssetKey
}

// quantity is how much of an asset a set has.
type quantity struct {
	list float64 // cost at list price
	// amounts divide what is free: the time that a node ran, the bytes over time of a disk, the hours of a load balancer. If
	// that is 0 all day, the time from the asset's start to its end does.
	amounts [2]float64
}

func (p quantity) plus(o quantity) quantity {
	return quantity{p.list + o.list, [2]float64{p.amounts[0] + o.amounts[0], p.amounts[1] + o.amounts[1]}}
}

// eachAsset calls f with each asset of a set, in order, with how much of it there is, and with the asset itself.
func eachAsset(s *allocation.Set, f func(a Asset, has quantity, of any)) {
	amounts := func(amount float64, start, end time.Time) [2]float64 {
		return [2]float64{amount, end.Sub(start).Hours()}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		f(Asset{Node, allocation.AssetKey{Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID}}, quantity{n.TotalCost(), amounts(n.RunningSeconds, n.Start, n.End)}, n)
	}
	for i := range s.Disks {
		d := &s.Disks[i]
		kind := Volume
		if d.Local {
			kind = LocalDisk
		}
		f(Asset{kind, allocation.AssetKey{Cluster: d.Cluster, Name: d.Name, ProviderID: d.ProviderID}}, quantity{d.Cost, amounts(d.ByteHours, d.Start, d.End)}, d)
	}
	for i := range s.Balancers {
		l := &s.Balancers[i]
		f(Asset{Balancer, allocation.AssetKey{Cluster: l.Cluster, Name: l.Namespace + "/" + l.Service}}, quantity{l.Cost, amounts(l.Hours, l.Start, l.End)}, l)
	}
	for i := range s.Networks {
		n := &s.Networks[i]
		f(clusterAsset(Network, n.Cluster), quantity{list: n.TotalCost()}, n)
	}
	for i := range s.Management {
		m := &s.Management[i]
		f(clusterAsset(Management, m.Cluster), quantity{list: m.Cost}, m)
	}
}

// usageOf sums how long the containers of each cluster ran, where the rows were read.
func usageOf(s *allocation.Set) map[string]float64 {
	usage := map[string]float64{}
	clusters, err := s.IDs(allocation.Cluster)
	if err != nil {
		return usage
	}
	seconds, err := s.Column(allocation.RunningSeconds)
	if err != nil {
		return usage
	}
	sum := 0.0 // of the rows of one cluster, which follow each other
	for row, cluster := range clusters {
		if s.Special(row) == allocation.Workload {
			sum += seconds[row]
		}
		if row+1 == len(clusters) || clusters[row+1] != cluster {
			usage[s.Dict().Text(cluster)] += sum
			sum = 0
		}
	}
	return usage
}

// Index finds the assets of a day by what bills call them. It is safe for concurrent use.
type Index struct {
	assets   []Asset
	there    []bool     // the asset is in the set of the day, or is made where a bill charges it
	has      []quantity // of each asset
	classes  []class    // of each asset
	position map[Asset]int32
	usage    map[string]float64 // seconds that the containers of each cluster ran
	clusters []string           // sorted
	// ids are the names of assets in bills, in lower case, by kind.
	ids [External]map[string][]int32
	// sets are the nodes of Azure's scale sets, by the id of the set.
	sets map[string][]int32
	// elbs are load balancers by the name that AWS gave them, which is a part of their host names.
	elbs  map[string][]int32
	bills map[string]*billRules
}

// NewIndex indexes the assets of a set of one day. labels says what the aliases of labels stand for.
func NewIndex(day *allocation.Set, bills []billing.Bill, labels allocation.LabelMapping) *Index {
	x := &Index{
		position: map[Asset]int32{}, usage: usageOf(day), clusters: day.Clusters(),
		sets: map[string][]int32{}, elbs: map[string][]int32{}, bills: map[string]*billRules{},
	}
	for k := range x.ids {
		x.ids[k] = map[string][]int32{}
	}
	eachAsset(day, func(a Asset, has quantity, of any) {
		at := x.have(a, has)
		x.classes[at] = classOf(a, of)
		switch of := of.(type) {
		case *allocation.Node:
			x.nameNode(at, of)
		case *allocation.Disk:
			if !of.Local {
				x.nameVolume(at, of)
			}
		case *allocation.LoadBalancer:
			x.nameBalancer(at, of)
		}
	})
	for _, cluster := range x.clusters {
		x.have(clusterAsset(Network, cluster), quantity{})
		x.name(Management, x.have(clusterAsset(Management, cluster), quantity{}), billed(cluster), lastElement(billed(cluster)))
	}
	for i := range bills {
		x.bills[bills[i].Name] = newBillRules(&bills[i], labels)
	}
	return x
}

func clusterAsset(kind Kind, cluster string) Asset {
	return Asset{kind, allocation.AssetKey{Cluster: cluster}}
}

// add adds an asset, or to one of the same key, and returns its position.
func (x *Index) add(a Asset, has quantity) int32 {
	at, ok := x.position[a]
	if !ok {
		at = int32(len(x.assets))
		x.position[a] = at
		x.assets, x.there, x.has = append(x.assets, a), append(x.there, false), append(x.has, quantity{})
		x.classes = append(x.classes, classOf(a, nil))
	}
	x.has[at] = x.has[at].plus(has)
	return at
}

// have adds an asset that is there.
func (x *Index) have(a Asset, has quantity) int32 {
	at := x.add(a, has)
	x.there[at] = true
	return at
}

// name gives an asset a name in bills. Empty names are none.
func (x *Index) name(kind Kind, at int32, names ...string) {
	for _, name := range names {
		if name = strings.ToLower(name); name != "" && !slices.Contains(x.ids[kind][name], at) {
			x.ids[kind][name] = append(x.ids[kind][name], at)
		}
	}
}
