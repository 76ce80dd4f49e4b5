package build

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// management is the price and the provisioner of a cluster's control plane.
type management struct {
	price       prices.ByMetric
	provisioner timeline.Latest[signals.Symbol]
}

func (b *Builder) addManagementPrice(s *incoming) error {
	m, ok := b.prices.management[s.key[0]]
	if !ok {
		m = &management{}
		b.prices.management[s.key[0]] = m
	}
	b.addPrices(&m.price, s, prices.Thing{Cluster: s.key[0], Things: notices.ManagementPriced, Name: s.key[0].Value()})
	if s.key[1] != none {
		m.provisioner.Set(s.key[1], s.p.Last())
	}
	return nil
}

// clusterLives are when each cluster existed: while any of its nodes did, or a container ran.
func (b *Builder) clusterLives() map[signals.Symbol]timeline.Intervals {
	all := map[signals.Symbol]timeline.Intervals{}
	for _, n := range each(&b.limits, slices.All(b.sortedNodes())) {
		all[n.cluster] = append(all[n.cluster], n.life...)
	}
	for _, c := range each(&b.limits, slices.All(b.pods.order)) {
		life := all[c.pod.cluster]
		for i := range c.segments {
			x := timeline.Interval{From: c.segments[i].from, To: c.segments[i].to}
			if n := len(life); n > 0 && life[n-1].From <= x.From && x.From <= life[n-1].To { // mostly
				life[n-1].To = max(life[n-1].To, x.To)
			} else {
				life = append(life, x)
			}
		}
		all[c.pod.cluster] = life
	}
	for cluster, life := range all {
		all[cluster] = timeline.Union(life)
	}
	return all
}

// chargeManagement makes the assets of clusters whose management has a cost.
func (b *Builder) chargeManagement() {
	lives := b.clusterLives()
	for cluster, m := range b.prices.management {
		if len(lives[cluster]) == 0 {
			lives[cluster] = b.lifeOf(cluster, m.price.Original)
		}
	}
	var unpriced []string
	for _, cluster := range sortedSymbols(lives) {
		m := b.prices.management[cluster]
		if m == nil {
			m = &management{}
		}
		price := b.priceOf("kubecost_cluster_management_cost", m.price.Best(), b.item(rates.ItemManagement, cluster))
		costs := false
		b.eachSet(lives[cluster], func(set int, life timeline.Intervals) {
			from, to := life.Bounds()
			asset := allocation.Management{
				Cluster: cluster.Value(), Provisioner: m.provisioner.Value.Value(), PriceSource: price.Source(to),
				Start: time.UnixMilli(from).UTC(), End: time.UnixMilli(to).UTC(),
			}
			for _, part := range life {
				price.Each(part.From, part.To, func(from, to int64, price float64) { asset.Cost += price * hours(from, to) })
			}
			if asset.Cost > 0 {
				costs = costs || set >= b.first && set < b.last
				b.sets[set].Management = append(b.sets[set].Management, asset)
			}
		})
		if costs && price.IsDefault(b.asked(lives[cluster])) {
			unpriced = append(unpriced, cluster.Value())
		}
	}
	b.count(notices.UnpricedPlanes, unpriced, b.sheet().InDollars())
}

// addNodeDisk takes the size of one file system on a node's own disk. A node's file systems are summed.
func (b *Builder) addNodeDisk(s *incoming) error {
	b.nodeOf(s).reported.disks.Add(s.key[2], s.Rank, b.sampling.Steps(s.p))
	return nil
}

// chargeLocalDisks makes the disk assets of nodes. No allocation has a share of them.
func (b *Builder) chargeLocalDisks() {
	var unpriced []string
	for _, n := range each(&b.limits, slices.All(b.uses.nodes)) {
		capacity := b.fillGaps(n.reported.disks.Sum(signals.Compare, func(signals.Symbol) float64 { return 1 }))
		if len(capacity) == 0 {
			continue
		}
		a := n.asset(b.sampling.End)
		price := b.priceOf("", nil, rates.Item{
			Kind: rates.ItemStorage, Cluster: a.Cluster, Provider: rates.Provider(a.ProviderID), Region: a.Region, Zone: a.Zone, Name: a.Name, Labels: a.Labels,
		})
		if len(b.asked(n.life)) > 0 && price.IsDefault(b.asked(n.life)) {
			unpriced = append(unpriced, b.placed(n.cluster, a.Name))
		}
		cuts := timeline.SortedEdges(price.Edges(capacity.Edges(nil)))
		b.eachSet(n.life, func(set int, life timeline.Intervals) {
			from, to := life.Bounds()
			d := allocation.Disk{
				Cluster: a.Cluster, Name: a.Name, ProviderID: a.ProviderID, Local: true, StorageClass: allocation.LocalStorage, Labels: a.Labels, PriceSource: price.Source(to),
				Start: time.UnixMilli(from).UTC(), End: time.UnixMilli(to).UTC(),
			}
			d.UsedByteHours, d.UsedMax = n.diskUsed(set)
			for _, part := range life {
				for at := part.From; at < part.To; {
					next := timeline.NextEdge(cuts, at, part.To)
					byteHours := max(0, capacity.Value(next)) * hours(at, next)
					d.ByteHours += byteHours
					d.Cost += byteHours / allocation.RAM.PerPriceUnit() * price.At(next)
					at = next
				}
			}
			b.sets[set].Disks = append(b.sets[set].Disks, d)
		})
	}
	// No metric gives their price, and few sheets do: a built-in price in the right currency deserves no warning.
	if note := b.sheet().InDollars(); note != "" {
		b.count(notices.UnpricedDisks, unpriced, note)
	}
}
