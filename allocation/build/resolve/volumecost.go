package resolve

import (
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// resolveVolumes finds the claims of every volume, by namespace and name, its life and its size.
func (rs *Resolver) resolveVolumes() {
	for key, owners := range rs.claimOwners() {
		rs.Storage.Volume(key.Cluster, key.Name).Owners = owners // it may be known only by its claim
	}
	for _, v := range observe.Each(&rs.Limits, maps.All(rs.Storage.Volumes)) {
		seen := timeline.Overlay(v.Seen, timeline.Ones(v.Capacity))
		v.Capacity = rs.FillGaps(v.Capacity)
		for _, o := range v.Owners {
			seen = timeline.Overlay(seen, timeline.Within(timeline.Ones(o.Claim.Capacity), o.Claim.Bound[v.Name]))
			v.Capacity = timeline.Overlay(v.Capacity, timeline.Within(rs.FillGaps(o.Claim.Capacity), timeline.Mask(o.When)))
		}
		v.Life = rs.LifeOf(v.Cluster, seen)
		for _, o := range v.Owners {
			for _, when := range o.When {
				o.Claim.Life = append(o.Claim.Life, v.Life.Clip(when.From, when.To)...)
			}
			o.Claim.Life = timeline.Union(o.Claim.Life)
		}
	}
}

// claimOwners returns the claims that each volume was bound to, by namespace and name.
func (rs *Resolver) claimOwners() map[observe.NodeKey][]observe.Ownership {
	out := map[observe.NodeKey][]observe.Ownership{}
	for _, key := range observe.Each(&rs.Limits, slices.All(observe.SortedObjects(rs.Storage.Claims))) {
		c := rs.Storage.Claims[key]
		names := observe.SortedSymbols(c.Bound)
		var all timeline.Steps
		for i, name := range names {
			numbered := slices.Clone(c.Bound[name])
			for k := range numbered {
				numbered[k].V = float64(i)
			}
			all = timeline.Max(all, numbered)
		}
		for _, x := range rs.FillGaps(all) {
			of := observe.NodeKey{Cluster: c.Cluster, Name: names[int(x.V)]}
			n := len(out[of])
			if n == 0 || out[of][n-1].Claim != c {
				out[of] = append(out[of], observe.Ownership{Claim: c})
				n++
			}
			o := &out[of][n-1]
			o.When = append(o.When, timeline.Intervals{{From: x.From, To: x.To}}.Clip(rs.Sampling.Start, rs.Sampling.End)...)
		}
	}
	return out
}
