package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// pricedTraffic names traffic that has one price.
type pricedTraffic struct {
	cluster signals.Symbol
	kind    observe.TrafficKind
}

// trafficPrice is the price of a GiB of a kind of traffic in a cluster. It may be called once all prices are known.
func (l *integrator) trafficPrice(cluster signals.Symbol, kind observe.TrafficKind) *prices.Item {
	key := pricedTraffic{cluster, kind}
	t, ok := l.prices[key]
	if !ok {
		item := prices.Free()
		if kind >= observe.EgressZone {
			priced := egressPrices[kind]
			var steps timeline.Steps
			if prices := l.ch.Prices.Egress[cluster]; prices != nil {
				steps = prices[kind].Best()
			}
			item = l.ch.PriceOf(priced.metric, steps, l.ch.item(priced.kind, cluster))
		}
		t = &item
		l.prices[key] = t
	}
	return t
}

// egressPrices has the metric and the item of each kind of traffic with a cost.
var egressPrices = [observe.NumTraffic]struct {
	metric string
	kind   rates.ItemKind
}{
	observe.EgressZone:     {"kubecost_network_zone_egress_cost", rates.ItemEgressZone},
	observe.EgressRegion:   {"kubecost_network_region_egress_cost", rates.ItemEgressRegion},
	observe.EgressInternet: {"kubecost_network_internet_egress_cost", rates.ItemEgressInternet},
}

// warnDefaultEgress names the clusters with traffic that has only a default price.
func (ch *Charger) warnDefaultEgress() {
	var unpriced []string
	for _, s := range observe.Each(&ch.Limits, slices.All(ch.Sets[ch.First:ch.Last])) {
		for i := range s.Networks {
			n := &s.Networks[i]
			for kind, cost := range [observe.NumTraffic]float64{observe.EgressZone: n.CrossZone, observe.EgressRegion: n.CrossRegion, observe.EgressInternet: n.Internet} {
				if cost == 0 {
					continue
				}
				if t := ch.usage.trafficPrice(ch.Symbols.Of(n.Cluster), observe.TrafficKind(kind)); t.IsDefault(timeline.Intervals{{From: n.Start.UnixMilli(), To: n.End.UnixMilli()}}) {
					unpriced = append(unpriced, n.Cluster)
				}
			}
		}
	}
	ch.Count(notices.UnpricedTraffic, unpriced, ch.Sheet().InDollars())
}

// priceNetworks fills in the prices by which the traffic of clusters is charged.
func (ch *Charger) priceNetworks(s *allocation.Set) {
	for i := range s.Networks {
		n := &s.Networks[i]
		for k, cost := range [...]float64{n.CrossZone, n.CrossRegion, n.Internet} {
			if cost != 0 {
				t := ch.usage.trafficPrice(ch.Symbols.Of(n.Cluster), observe.EgressZone+observe.TrafficKind(k))
				n.Price[k], n.PriceSource[k] = t.At(n.End.UnixMilli()), t.Source(n.End.UnixMilli())
			}
		}
	}
}
