package build

import (
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
)

// location is where something is, as price sheets name it. Empty fields are not known.
type location struct{ provider, region, zone string }

// findLocations finds the location of each cluster: the provider and the region of most of its nodes, the first by name in a tie.
// A cluster has a zone only if all its nodes are in it.
func (b *Builder) findLocations() {
	type votes struct{ provider, region, zone map[string]int }
	of := map[signals.Symbol]*votes{}
	for n := range b.everyNode() {
		if len(n.life) == 0 {
			continue
		}
		v := of[n.cluster]
		if v == nil {
			v = &votes{map[string]int{}, map[string]int{}, map[string]int{}}
			of[n.cluster] = v
		}
		a := n.asset(b.sampling.End)
		v.provider[rates.Provider(a.ProviderID)]++
		v.region[a.Region]++
		v.zone[a.Zone]++
	}
	b.prices.locations = make(map[signals.Symbol]location, len(of))
	for cluster, v := range of {
		p := location{provider: rates.MostNamed(v.provider), region: rates.MostNamed(v.region)}
		if len(v.zone) == 1 {
			p.zone = rates.MostNamed(v.zone)
		}
		b.prices.locations[cluster] = p
	}
}

// item is an item of a cluster with the cluster's location.
func (b *Builder) item(kind rates.ItemKind, cluster signals.Symbol) rates.Item {
	p := b.prices.locations[cluster]
	return rates.Item{Kind: kind, Cluster: cluster.Value(), Provider: p.provider, Region: p.region, Zone: p.zone}
}

// volumeItem is the volume as price sheets see it. Its driver, handle and labels say where it is, else it is where its cluster is.
// Its namespace is that of the claim that it was bound to last.
func (b *Builder) volumeItem(v *volume, owners []ownership) rates.Item {
	i := b.item(rates.ItemStorage, v.cluster)
	labels := v.labels.Value
	prices.PlaceVolume(&i, v.driver.Value.Value(), v.handle.Value.Value(), labels)
	i.StorageClass, i.Name, i.Labels = v.class.Value.Value(), v.name.Value(), labels
	last := int64(0)
	for _, o := range owners {
		if n := len(o.when); n > 0 && (i.Namespace == "" || o.when[n-1].To > last) {
			i.Namespace, last = o.claim.namespace.Value(), o.when[n-1].To
		}
	}
	return i
}
