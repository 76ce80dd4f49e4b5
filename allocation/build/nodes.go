package build

import (
	"cmp"
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

// node is one node; until nodes are resolved, all nodes of one name.
type node struct {
	nodeKey
	index    int // among the builder's nodes, sorted
	reported nodeReports

	lifespan
	after int64 // when the node before it under its name ended; 0 for none

	labelMap    map[string]string // the last reported labels
	spotByLabel bool              // labelMap says that it is a spot node
	provider    allocation.ID     // the id of its providerID, once resolved
	life        timeline.Intervals
	bridged     timeline.Intervals                      // parts of life in which it was not seen
	amount      [allocation.NumResources]timeline.Steps // capacity, alternatives resolved
	price       [allocation.NumResources]timeline.Steps // by metrics, per price unit and hour, alternatives resolved
	rates       prices.Node                             // for times without a price by a metric
	allocatable [allocation.NumResources]timeline.Steps // the part of amount for pods, if both are known
}

// nodeReports has what series report about a node.
type nodeReports struct {
	seen        timeline.Steps // kube_node_info
	shown       timeline.Steps // kube_node_info or its capacity, each sample until the next scrape
	providerID  timeline.Dated[signals.Symbol]
	priceLabels timeline.Dated[nodePriceLabels]
	labels      timeline.Dated[allocation.ID] // maps of the builder's Dict
	created     timeline.Steps
	spot        timeline.Steps
	capacity    [allocation.NumResources]timeline.Ranked
	priced      [allocation.NumResources]prices.ByMetric
	devices     timeline.RankedBy[signals.Symbol] // capacity by the resource names of devices
	disks       timeline.RankedBy[signals.Symbol] // size of the file systems on the node's own disk, by device
}

// nodePriceLabels are the labels of a node in OpenCost's price metrics.
type nodePriceLabels struct{ instanceType, region, arch, providerID string }

func (b *Builder) nodeOf(s *incoming) *node {
	key := nodeKey{s.key[0], s.key[1]}
	if b.nodes.byName[key] == nil {
		b.nodes.byName[key] = []*node{{nodeKey: key, reported: nodeReports{devices: timeline.RankedBy[signals.Symbol]{}, disks: timeline.RankedBy[signals.Symbol]{}}}}
	}
	return b.nodes.byName[key][0]
}

func (b *Builder) addNode(s *incoming) error {
	n := b.nodeOf(s)
	sights := b.sampling.Sights(s.p)
	seen := b.sampling.Holding(nil, sights)
	n.reported.seen, n.reported.shown = timeline.Max(n.reported.seen, seen), timeline.Max(n.reported.shown, seen)
	if s.key[2] != none {
		n.reported.providerID.Add(s.key[2], sights)
	}
	return nil
}

func (b *Builder) addNodeLabels(s *incoming) error {
	b.nodeOf(s).reported.labels.Add(b.addTail(s.tail), b.sampling.Steps(s.p))
	return nil
}

func (b *Builder) addNodeCreated(s *incoming) error {
	n := b.nodeOf(s)
	n.reported.created = timeline.Max(n.reported.created, b.sampling.Reports(s.p))
	return nil
}

func (b *Builder) addNodeCapacity(s *incoming) error {
	n := b.nodeOf(s)
	n.reported.capacity[s.Resource].Add(s.Rank, b.sampling.Steps(s.p))
	if s.Resource == allocation.CPU {
		n.reported.shown = timeline.Max(n.reported.shown, b.sampling.Holding(nil, b.sampling.Sights(s.p)))
	}
	return nil
}

func (b *Builder) addNodePrice(s *incoming) error {
	n := b.nodeOf(s)
	prices := b.addPrices(&n.reported.priced[s.Resource], s, n.pricedThing(s.Resource))
	n.reported.priceLabels.Add(nodePriceLabels{s.key[2].Value(), s.key[3].Value(), s.key[4].Value(), s.key[5].Value()}, prices)
	return nil
}

func (b *Builder) addNodeSpot(s *incoming) error {
	n := b.nodeOf(s)
	n.reported.spot = timeline.Max(n.reported.spot, b.pricesSampling().Steps(s.p))
	return nil
}

// pricedThing is a resource of the node as a thing that metrics price.
func (n *node) pricedThing(r allocation.Resource) prices.Thing {
	return prices.Thing{Cluster: n.cluster, Of: strings.ToUpper(r.String()), Things: notices.NodesPriced, Name: n.name.Value()}
}

// capacityByAllocatable is the rank of the capacity signal that is what pods may use.
const capacityByAllocatable = 2

// label is the value of the first of the names that the node has as a label.
func (n *node) label(names []labelnames.Name) string {
	return labelnames.First(n.labelMap, names)
}

// isSpot reports whether the node is a spot node at t: by its metric, else by the labels of providers.
func (n *node) isSpot(t int64) bool {
	if v, known := n.reported.spot.At(t); known {
		return v != 0
	}
	return n.spotByLabel
}

// asset returns the node's asset with its properties at t, without amounts.
func (n *node) asset(t int64) allocation.Node {
	from := n.reported.priceLabels.At(timeline.Forever)
	asset := allocation.Node{
		Cluster: n.cluster.Value(), Name: n.name.Value(),
		ProviderID:   n.providerID(),
		InstanceType: cmp.Or(n.label(labelnames.InstanceTypeLabels), from.instanceType),
		Region:       cmp.Or(n.label(labelnames.RegionLabels), from.region),
		Zone:         n.label(labelnames.ZoneLabels), Pool: n.label(labelnames.PoolLabels),
		Arch: cmp.Or(n.label(labelnames.ArchLabels), from.arch),
		Spot: n.isSpot(t), Labels: n.labelMap,
	}
	if at := n.createdAt(); at > 0 {
		asset.Created = time.UnixMilli(at).UTC()
	}
	return asset
}

// providerID is what the provider calls the node, "" where that is not known.
func (n *node) providerID() string {
	return cmp.Or(n.reported.providerID.At(timeline.Forever).Value(), n.reported.priceLabels.At(timeline.Forever).providerID)
}

// resolveNodes finds when each node lived, its capacity and its prices.
func (b *Builder) resolveNodes() {
	sights := b.nodeSights()
	for i, n := range each(&b.limits, slices.All(b.sortedNodes())) {
		n.index = i
		b.dict.Add(n.cluster.Value()) // idle rows name nodes that no container ran on
		b.dict.Add(n.name.Value())
		n.labelMap = b.dict.TextMap(n.reported.labels.At(timeline.Forever))
		n.spotByLabel = labelnames.IsSpot(n.labelMap)
		n.provider = b.dict.Add(n.providerID())
		for r := range allocation.NumResources {
			n.amount[r], n.price[r] = n.reported.capacity[r].Best(), b.fillGaps(n.reported.priced[r].Best())
			if len(n.reported.capacity[r]) > capacityByAllocatable {
				n.allocatable[r] = b.fillGaps(n.reported.capacity[r][capacityByAllocatable])
			}
		}
		if len(n.reported.devices) > 0 {
			n.amount[allocation.GPU] = n.reported.devices.Sum(signals.Compare, func(name signals.Symbol) float64 { return deviceFraction(name.Value(), n) })
		}
		seen := n.reported.seen
		if len(seen) == 0 {
			seen = timeline.Ones(n.amount[allocation.CPU])
		}
		for r := range allocation.NumResources {
			n.amount[r] = b.fillGaps(n.amount[r])
		}
		n.reported.spot = b.fillGaps(n.reported.spot)
		seen = timeline.Overlay(seen, n.steps(sights[n.nodeKey]))
		runs := b.nodeRuns(n, seen)
		n.life, n.bridged = runs.Intervals().Clip(b.sampling.Start, b.sampling.End), runs.Bridged
		b.rateNode(n)
	}
	b.endLives()
}

// nodeRuns finds when a node ran that was seen at times.
func (b *Builder) nodeRuns(n *node, seen timeline.Steps) timeline.Runs {
	return b.sampling.Runs(&timeline.Presence{Seen: b.sampling.SightsOf(seen), Started: n.reported.created}, &b.absentIn(n.cluster).nodes)
}

// extendLife lets a node live from the start of a container on it, if it was first seen shortly after that: it existed then, unless it
// was created later.
func (n *node) extendLife(started int64) {
	i, _ := slices.BinarySearchFunc(n.life, started, func(x timeline.Interval, at int64) int { return cmp.Compare(x.From, at+1) })
	if i == len(n.life) || n.life[i].From-started > timeline.Lookback {
		return
	}
	if n.bornAt() <= started {
		n.life[i].From = max(started, n.after)
	}
}

// rateNode takes the sheet's prices for resources that no metric prices. It notes nodes with default prices, to warn about them,
// except those whose own prices were left out: there is another warning about these.
func (b *Builder) rateNode(n *node) {
	a := n.asset(b.sampling.End)
	n.rates = b.sheet().Node(rates.NodeAttributes{
		Cluster: a.Cluster, Name: a.Name, Provider: rates.Provider(a.ProviderID), Region: a.Region, Zone: a.Zone,
		InstanceType: a.InstanceType, GPUModel: n.label(labelnames.GPULabels), Labels: a.Labels,
	})
	unpriced := false
	times := append(slices.Clone(n.rates.Changes), b.sampling.End)
	for r := range allocation.NumResources {
		byDefault := slices.ContainsFunc(times, func(t int64) bool {
			now := n.rateAt(t)
			return r != allocation.GPU && now.Default || r == allocation.GPU && now.Sources[allocation.GPU] == rates.BuiltInPrices
		})
		unpriced = unpriced || byDefault && !n.price[r].Cover(b.asked(n.life)) && len(n.amount[r]) > 0 && !b.prices.suspicious.IsBad(n.pricedThing(r))
	}
	if unpriced && len(b.asked(n.life)) > 0 {
		b.prices.defaulted = append(b.prices.defaulted, b.placed(n.cluster, a.Name))
	}
}

// rateAt are the sheet's rates at t. They change with the sheet, and when a node becomes spot or ceases to be.
func (n *node) rateAt(t int64) *rates.NodeRates { return n.rates.At(t, n.isSpot(t)) }

// priceAt is the price of a resource at t per price unit and hour: by a metric, else by the sheet.
func (n *node) priceAt(r allocation.Resource, t int64) float64 {
	if price, known := n.price[r].At(t); known {
		return price
	}
	return n.rateAt(t).Price[r]
}

// discountAt is the sheet's discount on CPU and RAM at t. It is 0 if a metric prices either of them, for the asset has one discount
// for both.
func (n *node) discountAt(t int64) float64 {
	for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} {
		if _, known := n.price[r].At(t); known {
			return 0
		}
	}
	return n.rateAt(t).Discount
}

// priceEdges appends the instants at which the price of a resource changes.
func (n *node) priceEdges(r allocation.Resource, dst []int64) []int64 {
	return append(n.reported.spot.Edges(n.price[r].Edges(dst)), n.rates.Changes...)
}

// priceSource names where the price of a resource comes from at t.
func (n *node) priceSource(r allocation.Resource, t int64) string {
	if _, known := n.price[r].At(t); known {
		return "node_" + r.String() + "_hourly_cost"
	}
	rates := n.rateAt(t)
	return cmp.Or(rates.Sources[r], rates.Source)
}

// sortedNodes are the nodes sorted by cluster and name, and then by time.
func (b *Builder) sortedNodes() []*node {
	nodes := make([]*node, 0, len(b.nodes.byName))
	for n := range b.everyNode() {
		nodes = append(nodes, n)
	}
	slices.SortStableFunc(nodes, func(x, y *node) int {
		return cmp.Or(cmp.Compare(x.cluster.Value(), y.cluster.Value()), cmp.Compare(x.name.Value(), y.name.Value()))
	})
	return nodes
}
