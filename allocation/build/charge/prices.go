package charge

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// item is an item of a cluster with the cluster's location.
func (ch *Charger) item(kind rates.ItemKind, cluster signals.Symbol) rates.Item {
	p := ch.Prices.Locations[cluster]
	return rates.Item{Kind: kind, Cluster: cluster.Value(), Provider: p.Provider, Region: p.Region, Zone: p.Zone}
}

// volumeItem is the volume as price sheets see it. Its driver, handle and labels say where it is, else it is where its cluster is.
// Its namespace is that of the claim that it was bound to last.
func (ch *Charger) volumeItem(v *observe.Volume, owners []observe.Ownership) rates.Item {
	i := ch.item(rates.ItemStorage, v.Cluster)
	labels := v.Labels.Value
	prices.PlaceVolume(&i, v.Driver.Value.Value(), v.Handle.Value.Value(), labels)
	i.StorageClass, i.Name, i.Labels = v.Class.Value.Value(), v.Name.Value(), labels
	last := int64(0)
	for _, o := range owners {
		if n := len(o.When); n > 0 && (i.Namespace == "" || o.When[n-1].To > last) {
			i.Namespace, last = o.Claim.Namespace.Value(), o.When[n-1].To
		}
	}
	return i
}

// warnSuspiciousPrices warns about prices by metrics that are not usable, or probably in another unit.
func (ch *Charger) warnSuspiciousPrices() {
	ch.noteSuspiciousNodes()
	ch.noteSuspiciousItems()
	ch.Report.Warnings = append(ch.Report.Warnings, ch.Prices.Suspicious.Warnings(ch.Placed, ch.Sheet().InDollars())...)
}

// noteSuspiciousNodes records nodes with suspicious prices of their resources.
func (ch *Charger) noteSuspiciousNodes() {
	currency := ch.Sheet().Currency()
	for _, n := range observe.Each(&ch.Limits, slices.All(ch.SortedNodes())) {
		if len(n.Life) == 0 {
			continue
		}
		var of [notices.NumSuspicions][]string
		var most [notices.NumSuspicions]float64
		for r := range allocation.NumResources {
			if len(n.Amount[r]) == 0 {
				continue // what a node does not have needs no price
			}
			suspicious, times := prices.Judge(n.Price[r], timeline.Interval{From: ch.Start(), To: ch.End()}, rates.ReferenceNode(r, currency))
			for k := range notices.NumSuspicions {
				if suspicious[k] {
					of[k], most[k] = append(of[k], strings.ToUpper(r.String())), max(most[k], times[k])
				}
			}
		}
		for k := range notices.NumSuspicions {
			if len(of[k]) > 0 {
				thing := prices.Thing{Of: strings.Join(of[k], " and "), Things: notices.NodesPriced, Name: ch.Placed(n.Cluster, n.Name.Value())}
				ch.Prices.Suspicious.Note(k, thing, "hour", most[k])
			}
		}
	}
}

// noteSuspiciousItems records everything else with suspicious prices. Free management and traffic are not suspicious: providers give them away.
func (ch *Charger) noteSuspiciousItems() {
	item := func(kind rates.ItemKind, steps timeline.Steps, things, unit, name string, mayBeFree bool) {
		suspicious, times := prices.Judge(steps, timeline.Interval{From: ch.Start(), To: ch.End()}, rates.ReferenceItem(kind, ch.Sheet().Currency()))
		for k := range notices.NumSuspicions {
			if suspicious[k] && (k != notices.Free || !mayBeFree) {
				ch.Prices.Suspicious.Note(k, prices.Thing{Things: things, Name: name}, unit, times[k])
			}
		}
	}
	for _, v := range ch.Storage.Volumes {
		item(rates.ItemStorage, v.Price.Best(), notices.VolumesPriced, "hour", ch.Placed(v.Cluster, v.Name.Value()), false)
	}
	for key, x := range ch.Services.Balancers {
		item(rates.ItemLoadBalancer, x.Price.Best(), notices.BalancersPriced, "hour", ch.Placed(key.Cluster, key.Namespace.Value()+"/"+key.Name.Value()), false)
	}
	for cluster, m := range ch.Prices.Management {
		item(rates.ItemManagement, m.Price.Best(), notices.ManagementPriced, "hour", cluster.Value(), true)
	}
	for cluster, e := range ch.Prices.Egress {
		for kind := observe.EgressZone; kind < observe.NumTraffic; kind++ {
			item(egressPrices[kind].kind, e[kind].Best(), notices.TrafficPriced, "GiB", cluster.Value(), true)
		}
	}
}
