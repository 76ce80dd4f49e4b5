package observe

import (
	"cmp"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Node is one node; until nodes are resolved, all nodes of one name.
type Node struct {
	NodeKey
	Index    int // among all nodes, sorted
	Reported nodeReports

	Lifespan
	After   int64              // when the node before it under its name ended; 0 for none
	Away    timeline.Intervals // when its object was away, though its machine ran on
	Twinned bool               // other Node objects are the same machine; once resolved

	LabelMap    map[string]string // the last reported labels
	SpotByLabel bool              // LabelMap says that it is a spot node
	Provider    allocation.ID     // the id of its ProviderID, once resolved
	Life        timeline.Intervals
	Bridged     timeline.Intervals                      // parts of Life in which it was not seen
	Amount      [allocation.NumResources]timeline.Steps // capacity, alternatives resolved
	Price       [allocation.NumResources]timeline.Steps // by metrics, per price unit and hour, alternatives resolved
	Rates       prices.Node                             // for times without a price by a metric
	Allocatable [allocation.NumResources]timeline.Steps // the part of Amount for pods, if both are known
	Disk        timeline.Steps                          // size of its own disk, alternatives resolved
	ByPods      bool                                    // it is billed by its pods, and has no capacity; once resolved
	Fargate     bool                                    // it is one of AWS Fargate
	OtherDisks  map[signals.Symbol]timeline.Intervals   // when a device is no part of Disk, or is one that another device shows as well
}

// nodeReports has what series report about a node.
type nodeReports struct {
	Seen        timeline.Steps // kube_node_info
	Shown       timeline.Steps // kube_node_info or its capacity, each sample until the next scrape
	ProviderID  timeline.Dated[signals.Symbol]
	priceLabels timeline.Dated[nodePriceLabels]
	Labels      timeline.Dated[allocation.ID] // maps of the Dict
	Created     timeline.Steps
	Spot        timeline.Steps
	Capacity    [allocation.NumResources]timeline.Ranked
	Priced      [allocation.NumResources]prices.ByMetric
	Devices     timeline.RankedBy[signals.Symbol] // capacity by the resource names of devices
	DeviceCount timeline.Steps                    // of whole devices, where something else than its capacity tells
	Taints      timeline.Dated[Taint]
	Disks       timeline.RankedBy[signals.Symbol] // size of its disk, and of the file systems on it by device; once the nodes of disks are found
}

// Taint is a taint of a node.
type Taint struct{ Key, Value signals.Symbol }

// nodePriceLabels are the labels of a node in OpenCost's price metrics.
type nodePriceLabels struct{ instanceType, region, arch, providerID string }

func (ob *Observer) nodeOf(s *Incoming) *Node {
	key := NodeKey{s.Key[0], s.Key[1]}
	if ob.Nodes.ByName[key] == nil {
		ob.Nodes.ByName[key] = []*Node{{NodeKey: key, Reported: nodeReports{Devices: timeline.RankedBy[signals.Symbol]{}}}}
	}
	return ob.Nodes.ByName[key][0]
}

func (ob *Observer) addNode(s *Incoming) error {
	n := ob.nodeOf(s)
	sights := ob.Sampling.Sights(s.Points)
	seen := ob.Sampling.Holding(nil, sights)
	n.Reported.Seen, n.Reported.Shown = timeline.Max(n.Reported.Seen, seen), timeline.Max(n.Reported.Shown, seen)
	if s.Key[2] != None {
		n.Reported.ProviderID.Add(s.Key[2], sights)
	}
	return nil
}

func (ob *Observer) addNodeLabels(s *Incoming) error {
	ob.nodeOf(s).Reported.Labels.Add(ob.addTail(s.tail), ob.Sampling.Steps(s.Points))
	return nil
}

func (ob *Observer) addNodeTaint(s *Incoming) error {
	ob.nodeOf(s).Reported.Taints.Add(Taint{s.Key[2], s.Key[3]}, ob.Sampling.Steps(s.Points))
	return nil
}

func (ob *Observer) addNodeCreated(s *Incoming) error {
	n := ob.nodeOf(s)
	n.Reported.Created = timeline.Max(n.Reported.Created, ob.Sampling.Reports(s.Points))
	return nil
}

func (ob *Observer) addNodeCapacity(s *Incoming) error {
	n := ob.nodeOf(s)
	n.Reported.Capacity[s.Resource].Add(s.Rank, ob.Sampling.Steps(s.Points))
	if s.Resource == allocation.CPU {
		n.Reported.Shown = timeline.Max(n.Reported.Shown, ob.Sampling.Holding(nil, ob.Sampling.Sights(s.Points)))
	}
	return nil
}

func (ob *Observer) addNodePrice(s *Incoming) error {
	n := ob.nodeOf(s)
	prices := ob.addPrices(&n.Reported.Priced[s.Resource], s, n.PricedThing(s.Resource))
	n.Reported.priceLabels.Add(nodePriceLabels{s.Key[2].Name(), s.Key[3].Name(), s.Key[4].Name(), s.Key[5].Name()}, prices)
	return nil
}

func (ob *Observer) addNodeSpot(s *Incoming) error {
	n := ob.nodeOf(s)
	n.Reported.Spot = timeline.Max(n.Reported.Spot, ob.pricesSampling().Steps(s.Points))
	return nil
}

// PricedThing is a resource of the node as a thing that metrics price.
func (n *Node) PricedThing(r allocation.Resource) prices.Thing {
	return prices.Thing{Cluster: n.Cluster, Of: strings.ToUpper(r.String()), Things: notices.NodesPriced, Name: n.Name.Value()}
}

// CapacityByAllocatable is the rank of the capacity signal that is what pods may use.
const CapacityByAllocatable = 2

// Label is the value of the first of the names that the node has as a label.
func (n *Node) Label(names []labelnames.Name) string {
	return labelnames.First(n.LabelMap, names)
}

// isSpot reports whether the node is a spot node at t: by its metric, else by the labels of providers.
func (n *Node) isSpot(t int64) bool {
	if v, known := n.Reported.Spot.At(t); known {
		return v != 0
	}
	return n.SpotByLabel
}

// Asset returns the node's asset with its properties at t, without amounts.
func (n *Node) Asset(t int64) allocation.Node {
	from := n.Reported.priceLabels.At(timeline.Forever)
	asset := allocation.Node{
		Cluster: n.Cluster.Name(), Name: n.Name.Name(),
		ProviderID:   n.ProviderID(),
		InstanceType: cmp.Or(n.Label(labelnames.InstanceTypeLabels), from.instanceType),
		Region:       cmp.Or(n.Label(labelnames.RegionLabels), from.region),
		Zone:         n.Label(labelnames.ZoneLabels), Pool: n.Label(labelnames.PoolLabels),
		Arch: cmp.Or(n.Label(labelnames.ArchLabels), from.arch),
		Spot: n.isSpot(t), Labels: n.LabelMap,
	}
	if at := n.createdAt(); at > 0 {
		asset.Created = time.UnixMilli(at).UTC()
	}
	return asset
}

// ProviderID is what the provider calls the node, "" where that is not known.
func (n *Node) ProviderID() string {
	return cmp.Or(n.Reported.ProviderID.At(timeline.Forever).Name(), n.Reported.priceLabels.At(timeline.Forever).providerID)
}

// ExtendLife lets a node live from the start of a container on it, if it was first seen shortly after that: it existed then, unless it
// was created later.
func (n *Node) ExtendLife(started int64) {
	i, _ := slices.BinarySearchFunc(n.Life, started, func(x timeline.Interval, at int64) int { return cmp.Compare(x.From, at+1) })
	if i == len(n.Life) || n.Life[i].From-started > timeline.Lookback {
		return
	}
	if n.BornAt() <= started && !n.Twinned {
		n.Life[i].From = max(started, n.After)
	}
}

// RateAt are the sheet's rates at t. They change with the sheet, and when a node becomes spot or ceases to be.
func (n *Node) RateAt(t int64) *rates.NodeRates { return n.Rates.At(t, n.isSpot(t)) }

// PriceAt is the price of a resource at t per price unit and hour: by a metric, else by the sheet.
func (n *Node) PriceAt(r allocation.Resource, t int64) float64 {
	if price, known := n.Price[r].At(t); known {
		return price
	}
	return n.RateAt(t).Price[r]
}

// DiscountAt is the sheet's discount on CPU and RAM at t. It is 0 if a metric prices either of them, for the asset has one discount
// for both.
func (n *Node) DiscountAt(t int64) float64 {
	for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} {
		if _, known := n.Price[r].At(t); known {
			return 0
		}
	}
	return n.RateAt(t).Discount
}

// priceEdges appends the instants at which the price of a resource changes.
func (n *Node) priceEdges(r allocation.Resource, dst []int64) []int64 {
	return append(n.Reported.Spot.Edges(n.Price[r].Edges(dst)), n.Rates.Changes...)
}

// PriceSource names where the price of a resource comes from at t.
func (n *Node) PriceSource(r allocation.Resource, t int64) string {
	if _, known := n.Price[r].At(t); known {
		return "node_" + r.String() + "_hourly_cost"
	}
	rates := n.RateAt(t)
	return cmp.Or(rates.Sources[r], rates.Source)
}

// SortedNodes are the nodes sorted by cluster and name, and then by time.
func (ob *Observer) SortedNodes() []*Node {
	nodes := make([]*Node, 0, len(ob.Nodes.ByName))
	for n := range ob.EveryNode() {
		nodes = append(nodes, n)
	}
	slices.SortStableFunc(nodes, func(x, y *Node) int {
		return cmp.Or(cmp.Compare(x.Cluster.Value(), y.Cluster.Value()), cmp.Compare(x.Name.Value(), y.Name.Value()))
	})
	return nodes
}

// LacksPrice reports whether no metric prices a resource that the node has.
func (n *Node) LacksPrice(r allocation.Resource) bool {
	return len(n.Amount[r]) > 0 && len(n.Price[r]) == 0
}

// ReportsSpot reports whether a metric or a label says whether the node is a spot node.
func (n *Node) ReportsSpot() bool {
	return len(n.Reported.Spot) > 0 || n.SpotByLabel || labelnames.TellsSpot(n.LabelMap)
}

// EachStretch calls f for every stretch of the node's life in (from, to] in which capacity and price of a resource
// are constant. It cuts at the instants in more, too.
func (n *Node) EachStretch(r allocation.Resource, from, to int64, more []int64, f func(from, to int64, amount, price float64)) {
	edges := n.priceEdges(r, n.Amount[r].Edges(slices.Clone(more)))
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for _, life := range n.Life.Clip(from, to) {
		for at := life.From; at < life.To; {
			next := timeline.NextEdge(edges, at, life.To)
			f(at, next, max(0, n.Amount[r].Value(next)), n.PriceAt(r, next))
			at = next
		}
	}
}

// Edges appends the instants at which the node's life, capacity or price changes.
func (n *Node) Edges(dst []int64) []int64 {
	dst = n.Life.Edges(dst)
	for r := range allocation.NumResources {
		dst = n.priceEdges(r, n.Amount[r].Edges(dst))
	}
	return dst
}

// Charged reports whether the node lives at t, or nothing says when it lived.
func (n *Node) Charged(t int64) bool {
	_, alive := n.Life.Find(t)
	return alive || len(n.Life) == 0 && !n.Twinned
}

// Has reports whether the node exists at t and its capacity of the resource is known, or it is billed by its pods.
func (n *Node) Has(r allocation.Resource, t int64) bool {
	_, alive := n.Life.Find(t)
	_, known := n.Amount[r].At(t)
	return alive && (known || n.ByPods)
}

// NotBefore is since when a pod waits on the node: since it was scheduled, or since the node's life begins if that is much later. A pod
// that is seen to run when the life begins may have run all the time before.
func (n *Node) NotBefore(scheduled int64) int64 {
	if n == nil || len(n.Life) == 0 || scheduled >= n.Life[0].From-timeline.Lookback {
		return scheduled
	}
	return n.Life[0].From
}

// NodeAt is the name of the node that a kubelet's series come from. name is the node's name, the address that it is scraped at, or
// either with a port. NodeAt is none for an address of no known node.
func (ob *Observer) NodeAt(cluster, name signals.Symbol) signals.Symbol {
	if name == None || ob.Nodes.ByName[NodeKey{cluster, name}] != nil {
		return name
	}
	host, _, err := net.SplitHostPort(name.Value())
	if err != nil {
		host = name.Value()
	}
	at := ob.Symbols.Of(host)
	if node, ok := ob.Nodes.Addresses[NodeKey{cluster, at}]; ok {
		return node
	}
	if ob.Nodes.ByName[NodeKey{cluster, at}] == nil && (err == nil || net.ParseIP(host) != nil) {
		return None
	}
	return at
}

// NodesAt returns the nodes with the name in the key of a series about a node's disk.
func (ob *Observer) NodesAt(s *Incoming) []*Node {
	return ob.Nodes.ByName[NodeKey{s.Key[0], ob.NodeAt(s.Key[0], s.Key[1])}]
}

// addNodeDisk takes the size of a node's own disk, or of one file system on its disks.
func (ob *Observer) addNodeDisk(s *Incoming) error {
	key := NodeKey{s.Key[0], s.Key[1]}
	if ob.Nodes.Disks[key] == nil {
		ob.Nodes.Disks[key] = timeline.RankedBy[signals.Symbol]{}
	}
	ob.Nodes.Disks[key].Add(s.Key[2], s.Rank, ob.Sampling.Steps(s.Points))
	return nil
}
