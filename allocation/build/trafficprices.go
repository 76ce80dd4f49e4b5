package build

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// egressPrice has the prices of a GiB by metrics, by kind of traffic.
type egressPrice [numTraffic]prices.ByMetric

func (b *Builder) addZonePrice(s *incoming) error     { return b.addEgressPrice(s, egressZone) }
func (b *Builder) addRegionPrice(s *incoming) error   { return b.addEgressPrice(s, egressRegion) }
func (b *Builder) addInternetPrice(s *incoming) error { return b.addEgressPrice(s, egressInternet) }

func (b *Builder) addEgressPrice(s *incoming, kind trafficKind) error {
	all, ok := b.prices.egress[s.key[0]]
	if !ok {
		all = &egressPrice{}
		b.prices.egress[s.key[0]] = all
	}
	b.addPrices(&all[kind], s, prices.Thing{Cluster: s.key[0], Things: notices.TrafficPriced, Name: s.key[0].Value()})
	return nil
}

// egressRates is the price of a GiB of a kind of traffic in a cluster.
func (b *Builder) egressRates(cluster signals.Symbol, kind trafficKind) prices.Item {
	priced := egressPrices[kind]
	var steps timeline.Steps
	if prices := b.prices.egress[cluster]; prices != nil {
		steps = prices[kind].Best()
	}
	return b.priceOf(priced.metric, steps, b.item(priced.kind, cluster))
}

// pricedTraffic names traffic that has one price.
type pricedTraffic struct {
	cluster signals.Symbol
	kind    trafficKind
}

// trafficPrice is the price of a GiB of a kind of traffic in a cluster. It may be called once all prices are known.
func (l *integrator) trafficPrice(cluster signals.Symbol, kind trafficKind) *prices.Item {
	key := pricedTraffic{cluster, kind}
	t, ok := l.prices[key]
	if !ok {
		item := prices.Free()
		if kind >= egressZone {
			item = l.b.egressRates(cluster, kind)
		}
		t = &item
		l.prices[key] = t
	}
	return t
}

// egressPrices has the metric and the item of each kind of traffic with a cost.
var egressPrices = [numTraffic]struct {
	metric string
	kind   rates.ItemKind
}{
	egressZone:     {"kubecost_network_zone_egress_cost", rates.ItemEgressZone},
	egressRegion:   {"kubecost_network_region_egress_cost", rates.ItemEgressRegion},
	egressInternet: {"kubecost_network_internet_egress_cost", rates.ItemEgressInternet},
}

// warnDefaultEgress names the clusters with traffic that has only a default price.
func (b *Builder) warnDefaultEgress() {
	var unpriced []string
	for _, s := range each(&b.limits, slices.All(b.sets[b.first:b.last])) {
		for i := range s.Networks {
			n := &s.Networks[i]
			for kind, cost := range [numTraffic]float64{egressZone: n.CrossZone, egressRegion: n.CrossRegion, egressInternet: n.Internet} {
				if cost == 0 {
					continue
				}
				if t := b.egressRates(b.symbols.Of(n.Cluster), trafficKind(kind)); t.IsDefault(timeline.Intervals{{From: n.Start.UnixMilli(), To: n.End.UnixMilli()}}) {
					unpriced = append(unpriced, n.Cluster)
				}
			}
		}
	}
	b.count(notices.UnpricedTraffic, unpriced, b.sheet().InDollars())
}

// priceNetworks fills in the prices by which the traffic of clusters is charged.
func (b *Builder) priceNetworks(s *allocation.Set) {
	for i := range s.Networks {
		n := &s.Networks[i]
		for k, cost := range [...]float64{n.CrossZone, n.CrossRegion, n.Internet} {
			if cost != 0 {
				t := b.egressRates(b.symbols.Of(n.Cluster), egressZone+trafficKind(k))
				n.Price[k], n.PriceSource[k] = t.At(n.End.UnixMilli()), t.Source(n.End.UnixMilli())
			}
		}
	}
}
