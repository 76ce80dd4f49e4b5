package charge

import (
	"slices"
	"sort"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// findMounts finds the pods that mount each claim, and warns about mounted claims without a known volume.
func (ch *Charger) findMounts(pods []*podUse) {
	var lost []string
	for _, p := range observe.Each(&ch.Limits, slices.All(pods)) {
		for _, name := range p.Mounts {
			key := observe.ObjectKey{Cluster: p.Cluster, Namespace: p.Namespace, Name: name}
			c, ok := ch.Storage.Claims[key]
			if ok {
				use := ch.claimUse(c)
				use.pods = append(use.pods, p)
			}
			if !ok || len(c.Bound) == 0 {
				lost = append(lost, ch.Placed(p.Cluster, p.Namespace.Value()+"/"+name.Value()))
			}
		}
	}
	ch.Count(notices.LostClaims, lost)
}

// chargeVolumes makes the disk assets of persistent volumes, and divides their cost among the pods that mount them
// while these run. The cost of time without such pods goes to rows of its own.
func (ch *Charger) chargeVolumes(pods []*podUse) {
	ch.findMounts(pods)
	var empty, unpriced, unseen []string
	for _, key := range observe.Each(&ch.Limits, slices.All(observe.SortedNodeKeys(ch.Storage.Volumes))) {
		v := ch.Storage.Volumes[key]
		x := ch.newMounted(v)
		if len(v.Life) == 0 {
			for _, o := range v.Owners {
				if len(v.Capacity) == 0 && len(v.Seen) == 0 && len(o.When) > 0 {
					unseen = append(unseen, ch.Placed(o.Claim.Cluster, o.Claim.Namespace.Value()+"/"+o.Claim.Name.Value()))
				}
			}
			continue
		}
		switch {
		case len(ch.Asked(v.Life)) == 0: // it lives only in a margin
		case len(v.Capacity) == 0:
			empty = append(empty, ch.Placed(v.Cluster, v.Name.Value()))
		case x.price.IsDefault(ch.Asked(v.Life)) && !ch.Prices.Suspicious.IsBad(prices.Thing{Cluster: v.Cluster, Things: notices.VolumesPriced, Name: v.Name.Value()}):
			unpriced = append(unpriced, ch.Placed(v.Cluster, v.Name.Value()))
		}
		x.charge()
	}
	ch.Count(notices.UnboundClaims, unseen)
	ch.Count(notices.EmptyVolumes, empty)
	ch.Count(notices.UnpricedVolumes, unpriced, ch.Sheet().InDollars())
}

// mounted divides one volume among the rows of the pods that mount it. Amounts of Divided are byte-hours.
type mounted struct {
	timeline.Divided
	ch    *Charger
	v     *observe.Volume
	price prices.Item
	uses  []volumeUse
}

// volumeUse is a stretch of time within a set that a pod bears, by the rows of its containers.
type volumeUse struct {
	from, to int64
	set      int32
	rows     []int32
}

// newMounted lays out when the volume was mounted, and integrates its cost.
func (ch *Charger) newMounted(v *observe.Volume) *mounted {
	x := &mounted{ch: ch, v: v, price: ch.Sheet().Item("pv_hourly_cost", ch.FillGaps(v.Price.Best()), ch.ExportedVolumePrice(v), ch.volumeItem(v, v.Owners))}
	edges := append(x.price.Edges(v.Capacity.Edges(v.Life.Edges(nil))), ch.Borders...)
	for _, o := range v.Owners {
		edges = o.When.Edges(edges)
	}
	x.findUses()
	for _, use := range x.uses {
		edges = append(edges, use.from, use.to)
	}
	x.Divided = timeline.NewDivided(edges)
	for _, use := range x.uses {
		x.Use(use.from, use.to)
	}
	x.Integrate(func(from, to int64) (cost, byteHours float64) {
		if _, alive := x.v.Life.Find(to); !alive {
			return 0, 0
		}
		byteHours = max(0, x.v.Capacity.Value(to)) * observe.Hours(from, to)
		return byteHours / allocation.RAM.PerPriceUnit() * x.price.At(to), byteHours
	})
	return x
}

// findUses finds when pods run that mount the volume, by one claim or several, and the moments between them.
func (x *mounted) findUses() {
	mounts := map[*podUse]timeline.Intervals{}
	var pods []*podUse
	for _, o := range x.v.Owners {
		for _, p := range x.ch.claimUse(o.Claim).pods {
			if _, ok := mounts[p]; !ok {
				pods = append(pods, p)
			}
			mounts[p] = append(mounts[p], o.When...)
		}
	}
	for _, p := range pods {
		all := p.running()
		for _, when := range timeline.Union(mounts[p]) {
			i := sort.Search(len(all), func(i int) bool { return all[i].to > when.From })
			for ; i < len(all) && all[i].from < when.To; i++ {
				x.uses = append(x.uses, volumeUse{max(all[i].from, when.From), min(all[i].to, when.To), all[i].set, p.rowsOf(&all[i])})
			}
		}
	}
	for _, held := range x.v.Held {
		x.ch.EachPart(held.From, held.To, func(set int32, from, to int64) {
			use := volumeUse{from: from, to: to, set: set}
			for _, c := range held.Containers {
				use.rows = append(use.rows, c.RowIn(set).Row)
			}
			x.uses = append(x.uses, use)
		})
	}
}

// charge makes the assets and the shares.
func (x *mounted) charge() {
	ch := x.ch
	key := ch.Dict.Add(allocation.VolumeKey(x.v.Cluster.Name(), x.v.Name.Name()))
	_, id := allocation.ParseProviderID(x.v.Handle.Value.Name())
	provider := ch.Dict.Add(id)
	x.assets()
	index := map[observe.RowRef]int{}
	var refs []observe.RowRef
	var shares []allocation.VolumeShare
	for _, use := range x.uses {
		i, j, n := x.Edge(use.from), x.Edge(use.to), float64(len(use.rows))
		for _, row := range use.rows {
			if row == observe.NoRow {
				continue
			}
			ref := observe.RowRef{Set: use.set, Row: row}
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
	}
	for i, ref := range refs {
		ch.Rows[ref.Set].AddVolume(ref.Row, shares[i])
	}
	x.leftOver(allocation.VolumeShare{Key: key, ProviderID: provider})
}

// leftOver gives the cost of time in which nobody mounts the volume to a row of the claim's namespace, or of the cluster if there is no
// claim.
func (x *mounted) leftOver(share allocation.VolumeShare) {
	for i := 1; i < len(x.Edges); i++ {
		from, to := x.Edges[i-1], x.Edges[i]
		if _, alive := x.v.Life.Find(to); !alive || x.Users[i-1] > 0 {
			continue
		}
		share.Cost, share.ByteHours = x.Cost[i]-x.Cost[i-1], x.Amount[i]-x.Amount[i-1]
		x.ch.leftOver(leftKey{x.ch.SetAt(to), allocation.Unmounted, x.v.Cluster, x.namespaceAt(to)}, from, to).addVolume(&share)
	}
}

// namespaceAt is the namespace of the claim that the volume is bound to at t, none without a claim.
func (x *mounted) namespaceAt(t int64) signals.Symbol {
	if c := x.claimAt(t); c != nil {
		return c.Namespace
	}
	return observe.None
}

func (x *mounted) claimAt(t int64) *observe.Claim {
	for _, o := range x.v.Owners {
		if _, ok := o.When.Find(t); ok {
			return o.Claim
		}
	}
	return nil
}

// assets adds the volume to the disks of the sets that it lives in.
func (x *mounted) assets() {
	x.ch.eachSet(x.v.Life, func(set int, part timeline.Intervals) {
		end := part[len(part)-1].To
		i, j := x.Edge(x.ch.Borders[set]), x.Edge(x.ch.Borders[set+1])
		d := allocation.Disk{
			Cluster: x.v.Cluster.Name(), Name: x.v.Name.Name(), ProviderID: x.v.Handle.Value.Name(),
			StorageClass: x.v.Class.Value.Name(), PriceSource: x.price.Source(end),
			Start: time.UnixMilli(part[0].From).UTC(), End: time.UnixMilli(end).UTC(),
			ByteHours: x.Amount[j] - x.Amount[i], Cost: x.Cost[j] - x.Cost[i],
		}
		if c := x.claimAt(end); c != nil {
			d.ClaimNamespace, d.ClaimName = c.Namespace.Name(), c.Name.Name()
		}
		d.UsedByteHours, d.UsedMax = x.used(set)
		x.ch.Sets[set].Disks = append(x.ch.Sets[set].Disks, d)
	})
}

// used returns how much of the volume was used in a set, NaN if that is not known.
func (x *mounted) used(set int) (byteHours, most float64) {
	if x.v.Joined {
		return usedIn(set, []*filled{x.ch.joinedUse(x.v)})
	}
	var parts []*filled
	for _, o := range x.v.Owners {
		if len(o.When.Clip(x.ch.Borders[set], x.ch.Borders[set+1])) > 0 {
			parts = append(parts, &x.ch.claimUse(o.Claim).used)
		}
	}
	return usedIn(set, parts)
}
