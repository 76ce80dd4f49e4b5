package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// volumeIdentity is what a volume is outside of its cluster: by its driver and handle, or by an NFS server and a directory of it.
type volumeIdentity struct {
	cluster    signals.Symbol
	system, id string
}

// joinVolumes joins the volumes of a cluster that are one thing.
func (rs *Resolver) joinVolumes() {
	same := map[volumeIdentity][]*observe.Volume{}
	for _, key := range observe.Each(&rs.Limits, slices.All(observe.SortedNodeKeys(rs.Storage.Volumes))) {
		v := rs.Storage.Volumes[key]
		id := volumeIdentity{v.Cluster, strings.ToLower(v.Export.Value.Server.Value()), strings.TrimRight(v.Export.Value.Path.Value(), "/")}
		if v.Driver.Known() && v.Handle.Known() {
			id = volumeIdentity{v.Cluster, v.Driver.Value.Value(), v.Handle.Value.Value()}
		}
		if id.system != "" && len(v.Life) > 0 {
			same[id] = append(same[id], v)
		}
	}
	for _, volumes := range observe.Each(&rs.Limits, maps.All(same)) {
		if len(volumes) > 1 {
			joinVolumes(volumes)
		}
	}
}

// joinVolumes lets only the largest of volumes that are one live at each instant, the first of those of one size, and gives it the claims of all.
func joinVolumes(volumes []*observe.Volume) {
	var edges []int64
	var owners []observe.Ownership
	for _, v := range volumes {
		v.Joined = true
		edges = v.Life.Edges(v.Capacity.Edges(edges))
		for i, o := range v.Owners {
			v.Owners[i].When = timeline.Intersection(v.Life, timeline.Mask(o.When))
		}
		owners = append(owners, v.Owners...)
	}
	edges = timeline.SortedEdges(edges)
	lives := make([]timeline.Intervals, len(volumes))
	for i := 1; i < len(edges); i++ {
		largest, most := -1, -1.0
		for k, v := range volumes {
			if _, alive := v.Life.Find(edges[i]); alive && v.Capacity.Value(edges[i]) > most {
				largest, most = k, v.Capacity.Value(edges[i])
			}
		}
		if largest >= 0 {
			lives[largest] = append(lives[largest], timeline.Interval{From: edges[i-1], To: edges[i]})
		}
	}
	for k, v := range volumes {
		if v.Life = timeline.Union(lives[k]); len(v.Life) == 0 {
			continue
		}
		for _, o := range owners {
			if i := slices.IndexFunc(v.Owners, func(x observe.Ownership) bool { return x.Claim == o.Claim }); i >= 0 { // it was bound to one after the other
				v.Owners[i].When = timeline.Union(slices.Concat(v.Owners[i].When, o.When))
			} else {
				v.Owners = append(v.Owners, o)
			}
		}
		for _, o := range v.Owners {
			o.Claim.Joined = append(o.Claim.Joined, v)
		}
	}
}

// mount is a stretch of time in which a pod ran that mounted a volume.
type mount struct {
	timeline.Interval
	pod *observe.Pod
}

// holdVolumes finds the moments, no longer than two scrapes or what is bridged anyway, between the pods that mount a volume one after the other. They
// belong to the pod before.
func (rs *Resolver) holdVolumes() {
	mounting := map[*observe.Claim][]*observe.Pod{}
	for p := range rs.EveryPod() {
		for _, name := range p.Mounts {
			if c := rs.Storage.Claims[observe.ObjectKey{Cluster: p.Cluster, Namespace: p.Namespace, Name: name}]; c != nil {
				mounting[c] = append(mounting[c], p)
			}
		}
	}
	most := max(timeline.Lookback, 2*rs.Sampling.Interval)
	for _, key := range observe.Each(&rs.Limits, slices.All(observe.SortedNodeKeys(rs.Storage.Volumes))) {
		v := rs.Storage.Volumes[key]
		if len(v.Life) == 0 {
			continue
		}
		var mounts []mount
		var all timeline.Intervals
		for _, o := range v.Owners {
			slices.SortStableFunc(mounting[o.Claim], observe.ComparePods)
			for _, p := range mounting[o.Claim] {
				for _, x := range mountedBy(p, o.When) {
					mounts, all = append(mounts, mount{x, p}), append(all, x)
				}
			}
		}
		all = timeline.Union(all)
		for i := 1; i < len(all); i++ {
			gap := timeline.Interval{From: all[i-1].To, To: all[i].From}
			if life, alive := v.Life.Find(gap.To); alive && life.From < gap.From && gap.To-gap.From <= most {
				rs.hold(v, gap, mounts)
			}
		}
	}
}

// mountedBy is when a pod ran within when.
func mountedBy(p *observe.Pod, when timeline.Intervals) timeline.Intervals {
	var running timeline.Intervals
	for _, c := range p.Containers {
		for i := range c.Sections {
			running = append(running, timeline.Interval{From: c.Sections[i].From, To: c.Sections[i].To})
		}
	}
	running = timeline.Union(running)
	var out timeline.Intervals
	for _, x := range when {
		out = append(out, running.Clip(x.From, x.To)...)
	}
	return out
}

// hold gives a gap between the mounts of a volume to those that end where it begins, and makes their containers' rows in the sets that it reaches into.
func (rs *Resolver) hold(v *observe.Volume, gap timeline.Interval, mounts []mount) {
	for i, m := range mounts {
		ends := func(x mount) bool { return x.pod == m.pod && x.To == gap.From }
		if !ends(m) || slices.ContainsFunc(mounts[:i], ends) { // it may mount the volume by two claims
			continue
		}
		held := observe.Hold{Interval: gap}
		for _, c := range m.pod.Containers {
			if slices.ContainsFunc(c.Sections, func(s observe.Section) bool { return s.From < gap.From && gap.From <= s.To }) {
				held.Containers = append(held.Containers, c)
			}
		}
		v.Held = append(v.Held, held)
		rs.EachPart(gap.From, gap.To, func(set int32, from, _ int64) {
			for _, c := range held.Containers {
				if slices.ContainsFunc(c.Rows, func(ref observe.RowRef) bool { return ref.Set == set }) {
					continue
				}
				if ref := rs.addRow(c, set, from, from); ref.Row != observe.NoRow {
					rs.describe(c, rs.Rows[set], ref.Row)
				}
			}
		})
	}
}
