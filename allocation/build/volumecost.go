package build

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// ownership is when a claim was bound to a volume.
type ownership struct {
	claim *claim
	when  timeline.Intervals
}

// resolveVolumes finds the claims of every volume, by namespace and name, its life and its size.
func (b *Builder) resolveVolumes() {
	for key, owners := range b.claimOwners() {
		b.storage.volume(key.cluster, key.name).owners = owners // it may be known only by its claim
	}
	for _, v := range each(&b.limits, maps.All(b.storage.volumes)) {
		seen := timeline.Overlay(v.seen, timeline.Ones(v.capacity))
		v.capacity = b.fillGaps(v.capacity)
		for _, o := range v.owners {
			seen = timeline.Overlay(seen, timeline.Within(timeline.Ones(o.claim.capacity), o.claim.bound[v.name]))
			v.capacity = timeline.Overlay(v.capacity, timeline.Within(b.fillGaps(o.claim.capacity), timeline.Mask(o.when)))
		}
		v.life = b.lifeOf(v.cluster, seen)
		for _, o := range v.owners {
			for _, when := range o.when {
				o.claim.life = append(o.claim.life, v.life.Clip(when.From, when.To)...)
			}
			o.claim.life = timeline.Union(o.claim.life)
		}
	}
}

// claimOwners returns the claims that each volume was bound to, by namespace and name.
func (b *Builder) claimOwners() map[nodeKey][]ownership {
	out := map[nodeKey][]ownership{}
	for _, key := range each(&b.limits, slices.All(sortedObjects(b.storage.claims))) {
		c := b.storage.claims[key]
		names := sortedSymbols(c.bound)
		var all timeline.Steps
		for i, name := range names {
			numbered := slices.Clone(c.bound[name])
			for k := range numbered {
				numbered[k].V = float64(i)
			}
			all = timeline.Max(all, numbered)
		}
		for _, x := range b.fillGaps(all) {
			of := nodeKey{c.cluster, names[int(x.V)]}
			n := len(out[of])
			if n == 0 || out[of][n-1].claim != c {
				out[of] = append(out[of], ownership{claim: c})
				n++
			}
			o := &out[of][n-1]
			o.when = append(o.when, timeline.Intervals{{From: x.From, To: x.To}}.Clip(b.sampling.Start, b.sampling.End)...)
		}
	}
	return out
}

// findMounts finds the pods that mount each claim, and warns about mounted claims without a known volume.
func (b *Builder) findMounts(pods []*podUse) {
	var lost []string
	for _, p := range each(&b.limits, slices.All(pods)) {
		for _, name := range p.mounts {
			key := objectKey{p.cluster, p.namespace, name}
			c, ok := b.storage.claims[key]
			if ok {
				use := b.claimUse(c)
				use.pods = append(use.pods, p)
			}
			if !ok || len(c.bound) == 0 {
				lost = append(lost, b.placed(p.cluster, p.namespace.Value()+"/"+name.Value()))
			}
		}
	}
	b.count(notices.LostClaims, lost)
}

// chargeVolumes makes the disk assets of persistent volumes, and divides their cost among the pods that mount them
// while these run. The cost of time without such pods goes to rows of its own.
func (b *Builder) chargeVolumes(pods []*podUse) {
	b.findMounts(pods)
	var empty, unpriced, unseen []string
	for _, key := range each(&b.limits, slices.All(sortedNodeKeys(b.storage.volumes))) {
		v := b.storage.volumes[key]
		x := b.newMounted(v)
		if len(v.life) == 0 {
			for _, o := range v.owners {
				if len(v.capacity) == 0 && len(v.seen) == 0 && len(o.when) > 0 {
					unseen = append(unseen, b.placed(o.claim.cluster, o.claim.namespace.Value()+"/"+o.claim.name.Value()))
				}
			}
			continue
		}
		switch {
		case len(b.asked(v.life)) == 0: // it lives only in a margin
		case len(v.capacity) == 0:
			empty = append(empty, b.placed(v.cluster, v.name.Value()))
		case x.price.IsDefault(b.asked(v.life)) && !b.prices.suspicious.IsBad(prices.Thing{Cluster: v.cluster, Things: notices.VolumesPriced, Name: v.name.Value()}):
			unpriced = append(unpriced, b.placed(v.cluster, v.name.Value()))
		}
		x.charge()
	}
	b.count(notices.UnboundClaims, unseen)
	b.count(notices.EmptyVolumes, empty)
	b.count(notices.UnpricedVolumes, unpriced, b.sheet().InDollars())
}

// mounted divides one volume among the rows of the pods that mount it. Amounts of Divided are byte-hours.
type mounted struct {
	timeline.Divided
	b     *Builder
	v     *volume
	price prices.Item
}

// newMounted lays out when the volume was mounted, and integrates its cost.
func (b *Builder) newMounted(v *volume) *mounted {
	x := &mounted{b: b, v: v, price: b.priceOf("pv_hourly_cost", v.price.Best(), b.volumeItem(v, v.owners))}
	edges := append(x.price.Edges(v.capacity.Edges(v.life.Edges(nil))), b.borders...)
	for _, o := range v.owners {
		edges = o.when.Edges(edges)
	}
	x.eachMount(func(_ *podUse, _ *shift, from, to int64) { edges = append(edges, from, to) })
	x.Divided = timeline.NewDivided(edges)
	x.eachMount(func(_ *podUse, _ *shift, from, to int64) { x.Use(from, to) })
	x.Integrate(func(from, to int64) (cost, byteHours float64) {
		if _, alive := x.v.life.Find(to); !alive {
			return 0, 0
		}
		byteHours = max(0, x.v.capacity.Value(to)) * hours(from, to)
		return byteHours / allocation.RAM.PerPriceUnit() * x.price.At(to), byteHours
	})
	return x
}

// eachMount calls f for every part of a pod's running time in which it mounts the volume.
func (x *mounted) eachMount(f func(p *podUse, s *shift, from, to int64)) {
	for _, o := range x.v.owners {
		for _, p := range x.b.claimUse(o.claim).pods {
			all := p.running()
			for _, when := range o.when {
				i := sort.Search(len(all), func(i int) bool { return all[i].to > when.From })
				for ; i < len(all) && all[i].from < when.To; i++ {
					f(p, &all[i], max(all[i].from, when.From), min(all[i].to, when.To))
				}
			}
		}
	}
}

// charge makes the assets and the shares.
func (x *mounted) charge() {
	b := x.b
	key := b.dict.Add(allocation.VolumeKey(x.v.cluster.Value(), x.v.name.Value()))
	_, id := allocation.ParseProviderID(x.v.handle.Value.Value())
	provider := b.dict.Add(id)
	x.assets()
	index := map[rowRef]int{}
	var refs []rowRef
	var shares []allocation.VolumeShare
	x.eachMount(func(p *podUse, s *shift, from, to int64) {
		i, j, n := x.Edge(from), x.Edge(to), float64(s.n)
		for _, row := range p.rowsOf(s) {
			if row == noRow {
				continue
			}
			ref := rowRef{s.set, row}
			at, ok := index[ref]
			if !ok {
				at = len(refs)
				index[ref] = at
				refs, shares = append(refs, ref), append(shares, allocation.VolumeShare{Key: key, ProviderID: provider})
			}
			share := &shares[at]
			share.Cost += (x.CostEach[j] - x.CostEach[i]) / n
			share.ByteHours += (x.AmountEach[j] - x.AmountEach[i]) / n
		}
	})
	for i, ref := range refs {
		b.rows[ref.set].AddVolume(ref.row, shares[i])
	}
	x.leftOver(allocation.VolumeShare{Key: key, ProviderID: provider})
}

// leftOver gives the cost of time in which nobody mounts the volume to a row of the claim's namespace, or of the cluster if there is no
// claim.
func (x *mounted) leftOver(share allocation.VolumeShare) {
	for i := 1; i < len(x.Edges); i++ {
		from, to := x.Edges[i-1], x.Edges[i]
		if _, alive := x.v.life.Find(to); !alive || x.Users[i-1] > 0 {
			continue
		}
		share.Cost, share.ByteHours = x.Cost[i]-x.Cost[i-1], x.Amount[i]-x.Amount[i-1]
		x.b.leftOver(leftKey{x.b.setAt(to), allocation.Unmounted, x.v.cluster, x.namespaceAt(to)}, from, to).addVolume(&share)
	}
}

// namespaceAt is the namespace of the claim that the volume is bound to at t, none without a claim.
func (x *mounted) namespaceAt(t int64) signals.Symbol {
	if c := x.claimAt(t); c != nil {
		return c.namespace
	}
	return none
}

func (x *mounted) claimAt(t int64) *claim {
	for _, o := range x.v.owners {
		if _, ok := o.when.Find(t); ok {
			return o.claim
		}
	}
	return nil
}

// assets adds the volume to the disks of the sets that it lives in.
func (x *mounted) assets() {
	x.b.eachSet(x.v.life, func(set int, part timeline.Intervals) {
		end := part[len(part)-1].To
		i, j := x.Edge(x.b.borders[set]), x.Edge(x.b.borders[set+1])
		d := allocation.Disk{
			Cluster: x.v.cluster.Value(), Name: x.v.name.Value(), ProviderID: x.v.handle.Value.Value(),
			StorageClass: x.v.class.Value.Value(), PriceSource: x.price.Source(end),
			Start: time.UnixMilli(part[0].From).UTC(), End: time.UnixMilli(end).UTC(),
			ByteHours: x.Amount[j] - x.Amount[i], Cost: x.Cost[j] - x.Cost[i],
		}
		if c := x.claimAt(end); c != nil {
			d.ClaimNamespace, d.ClaimName = c.namespace.Value(), c.name.Value()
		}
		d.UsedByteHours, d.UsedMax = x.used(set)
		x.b.sets[set].Disks = append(x.b.sets[set].Disks, d)
	})
}

// used returns how much of the volume was used in a set, NaN if that is not known.
func (x *mounted) used(set int) (byteHours, most float64) {
	var parts []*filled
	for _, o := range x.v.owners {
		if len(o.when.Clip(x.b.borders[set], x.b.borders[set+1])) > 0 {
			parts = append(parts, &x.b.claimUse(o.claim).used)
		}
	}
	return usedIn(set, parts)
}
