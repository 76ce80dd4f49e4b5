package observe

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// exportedPrices are prices of machines and volumes that exporters give besides those of node_*_hourly_cost and pv_hourly_cost.
type exportedPrices struct {
	byName    map[NodeKey]*instancePrices // by cluster and the instance's name
	byID      map[signals.Symbol]*instancePrices
	offerings map[offered]map[signals.Symbol]timeline.Steps // by zone
	volumes   map[NodeKey]*volumePrices
}

func newExportedPrices() exportedPrices {
	return exportedPrices{
		byName: map[NodeKey]*instancePrices{}, byID: map[signals.Symbol]*instancePrices{},
		offerings: map[offered]map[signals.Symbol]timeline.Steps{}, volumes: map[NodeKey]*volumePrices{},
	}
}

// instancePrices are what cloudcost-exporter says of an instance.
type instancePrices struct {
	whole timeline.Steps
	unit  [allocation.NumResources]timeline.Steps
}

// offered is what Karpenter estimates the price of, by zone.
type offered struct{ cluster, instanceType, capacityType signals.Symbol }

// volumePrices are what cloudcost-exporter says of a volume.
type volumePrices struct{ whole, unit timeline.Steps }

// addInstancePrice takes the price of a machine, or of a core or a GiB of it. The exporter may run in another cluster than the machine, which is then known by
// the name of its cluster at the provider, or by the provider's id.
func (ob *Observer) addInstancePrice(s *Incoming) error {
	x := &ob.Prices.Exported
	steps := ob.pricesSampling().Steps(s.Points).Positive()
	for _, cluster := range []signals.Symbol{s.Key[0], s.Key[3]} {
		if key := (NodeKey{cluster, s.Key[1]}); key.Name != None && cluster != None {
			x.byName[key] = x.byName[key].with(s, steps)
		}
	}
	if id := s.Key[2]; id != None {
		x.byID[id] = x.byID[id].with(s, steps)
	}
	return nil
}

// with are the prices with those of a series. The highest of several counts.
func (p *instancePrices) with(s *Incoming, steps timeline.Steps) *instancePrices {
	if p == nil {
		p = &instancePrices{}
	}
	to := &p.whole
	if s.Signal == signals.InstanceUnitPrice {
		to = &p.unit[s.Resource]
	}
	*to = timeline.Max(*to, steps)
	return p
}

// addOfferingPrice takes the price of a machine of a type.
func (ob *Observer) addOfferingPrice(s *Incoming) error {
	key := offered{s.Key[0], s.Key[1], s.Key[2]}
	zones := ob.Prices.Exported.offerings[key]
	if zones == nil {
		zones = map[signals.Symbol]timeline.Steps{}
		ob.Prices.Exported.offerings[key] = zones
	}
	zones[s.Key[3]] = timeline.Max(zones[s.Key[3]], ob.pricesSampling().Steps(s.Points).Positive())
	return nil
}

// addExportedVolumePrice takes the price of a whole volume, or of a GiB of it.
func (ob *Observer) addExportedVolumePrice(s *Incoming) error {
	key := NodeKey{s.Key[0], s.Key[1]}
	p := ob.Prices.Exported.volumes[key]
	if p == nil {
		p = &volumePrices{}
		ob.Prices.Exported.volumes[key] = p
	}
	to := &p.whole
	if s.Signal == signals.VolumeUnitPrice {
		to = &p.unit
	}
	*to = timeline.Max(*to, ob.pricesSampling().Steps(s.Points).Positive())
	return nil
}

// ExportedPrices are what exporters say of a node, best first. a is its asset.
func (ob *Observer) ExportedPrices(n *Node, a *allocation.Node) (out []prices.Exported) {
	x := &ob.Prices.Exported
	p := x.byName[n.NodeKey]
	for _, id := range instanceIDs(n.ProviderID()) {
		symbol := ob.Symbols.Of(id)
		for _, by := range []*instancePrices{x.byID[symbol], x.byName[NodeKey{n.Cluster, symbol}]} {
			if p == nil {
				p = by
			}
		}
	}
	if p != nil {
		e := prices.Exported{Source: rates.CloudcostExporter, Currency: rates.Dollar}
		e.Whole[0] = ob.FillGaps(p.whole)
		e.Whole[1] = e.Whole[0]
		for r, steps := range p.unit {
			e.Unit[r] = ob.FillGaps(steps)
		}
		out = append(out, e)
	}
	e := prices.Exported{Source: rates.Karpenter, Currency: rates.Dollar}
	if strings.HasPrefix(a.Region, "cn-") || strings.HasPrefix(a.Zone, "cn-") {
		e.Currency = "CNY"
	}
	for i, capacity := range [...]string{"on-demand", "spot"} {
		zones := x.offerings[offered{n.Cluster, ob.Symbols.Of(a.InstanceType), ob.Symbols.Of(capacity)}]
		e.Whole[i] = ob.FillGaps(offeredIn(zones, ob.Symbols.Of(a.Zone), capacity == "spot"))
	}
	if len(e.Whole[0]) > 0 || len(e.Whole[1]) > 0 {
		out = append(out, e)
	}
	return out
}

// offeredIn is what a machine costs in a zone: where the zone is not known, or Karpenter does not say it of a machine on demand, whose price is the same in all zones
// of a region, the highest of all zones.
func offeredIn(zones map[signals.Symbol]timeline.Steps, zone signals.Symbol, spot bool) (steps timeline.Steps) {
	if in, ok := zones[zone]; ok {
		return in
	}
	if spot && zone != None {
		return nil
	}
	for _, in := range zones {
		steps = timeline.Max(steps, in)
	}
	return steps
}

// instanceIDs are how exporters may name the instance of a provider's id besides by its node: by its last part, and as a member of an Azure scale set.
func instanceIDs(providerID string) []string {
	parts := strings.Split(providerID, "/")
	last := parts[len(parts)-1]
	ids := []string{last}
	if n := len(parts); n >= 4 && strings.EqualFold(parts[n-4], "virtualMachineScaleSets") {
		ids = append(ids, parts[n-3]+"_"+last)
	}
	return ids
}

// ExportedVolumePrice is what an exporter says of a GiB of a volume whose size is known.
func (ob *Observer) ExportedVolumePrice(v *Volume) prices.ExportedUnit {
	p := ob.Prices.Exported.volumes[v.NodeKey]
	if p == nil {
		return prices.ExportedUnit{}
	}
	whole := timeline.Quotient(ob.FillGaps(p.whole), v.Capacity, allocation.RAM.PerPriceUnit())
	return prices.ExportedUnit{Source: rates.CloudcostExporter, Currency: rates.Dollar, Steps: timeline.Overlay(whole, ob.FillGaps(p.unit))}
}

// lacksPrices reports whether a node lacks a price by a metric of its own at some time.
func (ob *Observer) lacksPrices(n *Node) bool {
	own := ob.OwnPrices(n)
	for r := range allocation.NumResources {
		capacity := timeline.Union(timeline.AppendIntervals(nil, n.Reported.Capacity[r].Best()))
		if len(capacity) > 0 && !own[r].Cover(capacity) {
			return true
		}
	}
	return false
}

// OwnPrices are the prices of what a node has by metrics of its own, without the defaults that OpenCost exports.
func (ob *Observer) OwnPrices(n *Node) (own [allocation.NumResources]timeline.Steps) {
	for r := range own {
		own[r] = ob.FillGaps(n.Reported.Priced[r].Best())
	}
	return prices.WithoutDefaults(own)
}

// Unpriced reports whether nodes or volumes lack prices by metrics of their own at some time, and returns the instance types of the nodes.
func (ob *Observer) Unpriced() (nodes, volumes bool, instanceTypes []string) {
	types := map[string]bool{}
	for n := range ob.EveryNode() {
		if ob.lacksPrices(n) {
			nodes = true
			labels := ob.Dict.TextMap(n.Reported.Labels.At(timeline.Forever))
			if of := cmp.Or(labelnames.First(labels, labelnames.InstanceTypeLabels), n.Reported.priceLabels.At(timeline.Forever).instanceType); of != "" {
				types[of] = true
			}
		}
	}
	for _, v := range ob.Storage.Volumes {
		volumes = volumes || !ob.FillGaps(v.Price.Best()).Cover(timeline.Union(timeline.AppendIntervals(nil, v.Seen)))
	}
	return nodes, volumes, slices.Sorted(maps.Keys(types))
}
