package charge

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// clusterLives are when each cluster existed: while any of its nodes did, or a container ran.
func (ch *Charger) clusterLives() map[signals.Symbol]timeline.Intervals {
	all := map[signals.Symbol]timeline.Intervals{}
	for _, n := range observe.Each(&ch.Limits, slices.All(ch.SortedNodes())) {
		all[n.Cluster] = append(all[n.Cluster], n.Life...)
	}
	for _, c := range observe.Each(&ch.Limits, slices.All(ch.Pods.Order)) {
		life := all[c.Pod.Cluster]
		for i := range c.Sections {
			x := timeline.Interval{From: c.Sections[i].From, To: c.Sections[i].To}
			if n := len(life); n > 0 && life[n-1].From <= x.From && x.From <= life[n-1].To { // mostly
				life[n-1].To = max(life[n-1].To, x.To)
			} else {
				life = append(life, x)
			}
		}
		all[c.Pod.Cluster] = life
	}
	for cluster, life := range all {
		all[cluster] = timeline.Union(life)
	}
	return all
}

// chargeManagement makes the assets of clusters whose management has a cost.
func (ch *Charger) chargeManagement() {
	lives := ch.clusterLives()
	for cluster, m := range ch.Prices.Management {
		if len(lives[cluster]) == 0 {
			lives[cluster] = ch.LifeOf(cluster, m.Price.Original, nil)
		}
	}
	var unpriced []string
	for _, cluster := range observe.SortedSymbols(lives) {
		m := ch.Prices.Management[cluster]
		if m == nil {
			m = &observe.Management{}
		}
		price := ch.PriceOf("kubecost_cluster_management_cost", m.Price.Best(), ch.item(rates.ItemManagement, cluster))
		costs := false
		ch.eachSet(lives[cluster], func(set int, life timeline.Intervals) {
			from, to := life.Bounds()
			asset := allocation.Management{
				Cluster: cluster.Name(), Provisioner: m.Provisioner.Value.Name(), PriceSource: price.Source(to),
				Start: time.UnixMilli(from).UTC(), End: time.UnixMilli(to).UTC(),
			}
			for _, part := range life {
				price.Each(part.From, part.To, func(from, to int64, price float64) { asset.Cost += price * observe.Hours(from, to) })
			}
			if asset.Cost > 0 {
				costs = costs || set >= ch.First && set < ch.Last
				ch.Sets[set].Management = append(ch.Sets[set].Management, asset)
			}
		})
		if costs && price.IsDefault(ch.Asked(lives[cluster])) {
			unpriced = append(unpriced, cluster.Name())
		}
	}
	ch.Count(notices.UnpricedPlanes, unpriced, ch.Sheet().InDollars())
}

// chargeLocalDisks makes the disk assets of nodes. No allocation has a share of them.
func (ch *Charger) chargeLocalDisks() {
	var unpriced []string
	for _, n := range observe.Each(&ch.Limits, slices.All(ch.uses.nodes)) {
		capacity := n.Disk
		if len(capacity) == 0 {
			continue
		}
		a := n.Asset(ch.Sampling.End)
		price := ch.PriceOf("", nil, rates.Item{
			Kind: rates.ItemStorage, Cluster: a.Cluster, Provider: rates.Provider(a.ProviderID), Region: a.Region, Zone: a.Zone, Name: a.Name, Labels: a.Labels,
		})
		if len(ch.Asked(n.Life)) > 0 && price.IsDefault(ch.Asked(n.Life)) {
			unpriced = append(unpriced, ch.Placed(n.Cluster, n.Name.Value()))
		}
		cuts := timeline.SortedEdges(price.Edges(capacity.Edges(nil)))
		ch.eachSet(n.Life, func(set int, life timeline.Intervals) {
			from, to := life.Bounds()
			d := allocation.Disk{
				Cluster: a.Cluster, Name: a.Name, ProviderID: a.ProviderID, Local: true, StorageClass: allocation.LocalStorage, Labels: a.Labels, PriceSource: price.Source(to),
				Start: time.UnixMilli(from).UTC(), End: time.UnixMilli(to).UTC(),
			}
			d.UsedByteHours, d.UsedMax = n.diskUsed(set)
			for _, part := range life {
				for at := part.From; at < part.To; {
					next := timeline.NextEdge(cuts, at, part.To)
					byteHours := max(0, capacity.Value(next)) * observe.Hours(at, next)
					d.ByteHours += byteHours
					d.Cost += byteHours / allocation.RAM.PerPriceUnit() * price.At(next)
					at = next
				}
			}
			ch.Sets[set].Disks = append(ch.Sets[set].Disks, d)
		})
	}
	// No metric gives their price, and few sheets do: a built-in price in the right currency deserves no warning.
	if note := ch.Sheet().InDollars(); note != "" {
		ch.Count(notices.UnpricedDisks, unpriced, note)
	}
}
