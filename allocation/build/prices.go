package build

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// addPrices takes and returns the prices in a series.
func (b *Builder) addPrices(p *prices.ByMetric, s *incoming, t prices.Thing) timeline.Steps {
	return p.Add(b.pricesSampling().Steps(s.p), s.p.AnyNotFinite(), s.Repeats, t, &b.prices.suspicious)
}

// sheet is the price sheet over the time that is computed.
func (b *Builder) sheet() prices.Sheet {
	return prices.Sheet{Rates: b.prices.rates, Start: b.sampling.Start, End: b.sampling.End}
}

// priceOf is the price of an item: the steps of a metric, else the sheet's price.
func (b *Builder) priceOf(metric string, steps timeline.Steps, i rates.Item) prices.Item {
	return b.sheet().Item(metric, b.fillGaps(steps), i)
}

// placed is the name of something in a cluster, with the cluster's name if there are several clusters.
func (b *Builder) placed(cluster signals.Symbol, name string) string {
	if b.report.severalClusters {
		return cluster.Value() + "/" + name
	}
	return name
}

// warnSuspiciousPrices warns about prices by metrics that are not usable, or probably in another unit.
func (b *Builder) warnSuspiciousPrices() {
	b.noteSuspiciousNodes()
	b.noteSuspiciousItems()
	b.report.warnings = append(b.report.warnings, b.prices.suspicious.Warnings(b.placed, b.sheet().InDollars())...)
}

// noteSuspiciousNodes records nodes with suspicious prices of their resources.
func (b *Builder) noteSuspiciousNodes() {
	currency := b.sheet().Currency()
	for _, n := range each(&b.limits, slices.All(b.sortedNodes())) {
		if len(n.life) == 0 {
			continue
		}
		var of [notices.NumSuspicions][]string
		var most [notices.NumSuspicions]float64
		for r := range allocation.NumResources {
			if len(n.amount[r]) == 0 {
				continue // what a node does not have needs no price
			}
			suspicious, times := prices.Judge(n.price[r], timeline.Interval{From: b.start(), To: b.end()}, rates.ReferenceNode(r, currency))
			for k := range notices.NumSuspicions {
				if suspicious[k] {
					of[k], most[k] = append(of[k], strings.ToUpper(r.String())), max(most[k], times[k])
				}
			}
		}
		for k := range notices.NumSuspicions {
			if len(of[k]) > 0 {
				thing := prices.Thing{Of: strings.Join(of[k], " and "), Things: notices.NodesPriced, Name: b.placed(n.cluster, n.name.Value())}
				b.prices.suspicious.Note(k, thing, "hour", most[k])
			}
		}
	}
}

// noteSuspiciousItems records everything else with suspicious prices. Free management and traffic are not suspicious: providers give them away.
func (b *Builder) noteSuspiciousItems() {
	item := func(kind rates.ItemKind, steps timeline.Steps, things, unit, name string, mayBeFree bool) {
		suspicious, times := prices.Judge(steps, timeline.Interval{From: b.start(), To: b.end()}, rates.ReferenceItem(kind, b.sheet().Currency()))
		for k := range notices.NumSuspicions {
			if suspicious[k] && (k != notices.Free || !mayBeFree) {
				b.prices.suspicious.Note(k, prices.Thing{Things: things, Name: name}, unit, times[k])
			}
		}
	}
	for _, v := range b.storage.volumes {
		item(rates.ItemStorage, v.price.Best(), notices.VolumesPriced, "hour", b.placed(v.cluster, v.name.Value()), false)
	}
	for key, x := range b.services.balancers {
		item(rates.ItemLoadBalancer, x.price.Best(), notices.BalancersPriced, "hour", b.placed(key.cluster, key.namespace.Value()+"/"+key.name.Value()), false)
	}
	for cluster, m := range b.prices.management {
		item(rates.ItemManagement, m.price.Best(), notices.ManagementPriced, "hour", cluster.Value(), true)
	}
	for cluster, e := range b.prices.egress {
		for kind := egressZone; kind < numTraffic; kind++ {
			item(egressPrices[kind].kind, e[kind].Best(), notices.TrafficPriced, "GiB", cluster.Value(), true)
		}
	}
}

// noteSeveralClusters records whether there are several clusters.
func (b *Builder) noteSeveralClusters() {
	seen := map[signals.Symbol]bool{}
	for key := range b.nodes.byName {
		seen[key.cluster] = true
	}
	for p := range b.everyPod() {
		seen[p.cluster] = true
	}
	b.report.severalClusters = len(seen) > 1
}
