package resolve

import (
	"math"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// The bytes that volumes may have. A volume of less was given no unit, and a file system of more is one that grows as it is filled.
const (
	leastVolume = 1 << 20
	mostVolume  = 1 << 50
)

// resolveVolumes finds the claims of every volume, by namespace and name, its life and its size.
func (rs *Resolver) resolveVolumes() {
	for key, owners := range rs.claimOwners() {
		rs.Storage.Volume(key.Cluster, key.Name).Owners = owners // it may be known only by its claim
	}
	var tiny []string
	for _, key := range observe.Each(&rs.Limits, slices.All(observe.SortedNodeKeys(rs.Storage.Volumes))) {
		v := rs.Storage.Volumes[key]
		seen := timeline.Overlay(v.Seen, timeline.Ones(v.Capacity))
		var filesystem timeline.Steps // its size
		for _, o := range v.Owners {
			seen = timeline.Overlay(seen, timeline.Within(timeline.Ones(o.Claim.Capacity), o.Claim.Bound[v.Name]))
			filesystem = timeline.Overlay(filesystem, timeline.Within(rs.FillGaps(o.Claim.Capacity), timeline.Mask(o.When)))
		}
		v.Life = rs.LifeOf(v.Cluster, seen, nil)
		if rs.findSize(v, filesystem.Between(leastVolume, mostVolume)) {
			tiny = append(tiny, rs.Placed(v.Cluster, v.Name.Value()))
		}
		for _, o := range v.Owners {
			for _, when := range o.When {
				o.Claim.Life = append(o.Claim.Life, v.Life.Clip(when.From, when.To)...)
			}
			o.Claim.Life = timeline.Union(o.Claim.Life)
		}
	}
	rs.Count(notices.TinyVolumes, tiny)
	rs.joinVolumes()
	rs.holdVolumes()
}

// findSize finds the size of a volume, of what is known of it and of its file system. It reports whether a size within the window is too small to be one.
func (rs *Resolver) findSize(v *observe.Volume, filesystem timeline.Steps) (tiny bool) {
	told := rs.FillGaps(v.Capacity)
	v.Capacity = timeline.Overlay(timeline.Overlay(told.Between(leastVolume, math.Inf(1)), filesystem), told)
	for _, x := range told.Between(0, leastVolume-1) {
		for _, life := range rs.Asked(v.Life).Clip(x.From, x.To) {
			tiny = tiny || filesystem.LengthWithin(life.From, life.To) > 0
		}
	}
	return tiny
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
