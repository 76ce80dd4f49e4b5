package build

import (
	"cmp"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// shift is a part of a pod's running time, within one set, in which the same containers run.
type shift struct {
	from, to int64
	set      int32
	first, n int32               // the rows of its containers, in podUse.rows
	free     [egressZone]float64 // bytes of the kinds of traffic that cost nothing
	paid     *[numTraffic]moved  // of the other kinds; nil for no traffic of these
}

// moved is what of one kind a pod sent or received in some time.
type moved struct{ bytes, cost float64 }

// traffic is what was moved of a kind.
func (x *shift) traffic(kind trafficKind) moved {
	switch {
	case kind < egressZone:
		return moved{bytes: x.free[kind]}
	case x.paid == nil:
		return moved{}
	}
	return x.paid[kind]
}

// add adds a share of what was moved of a kind.
func (x *shift) add(kind trafficKind, m moved, share float64) {
	if kind < egressZone {
		x.free[kind] += m.bytes * share
		return
	}
	if x.paid == nil {
		x.paid = &[numTraffic]moved{}
	}
	x.paid[kind].bytes += m.bytes * share
	x.paid[kind].cost += m.cost * share
}

// running are the shifts of a pod's running time, ascending. The rows of a shift share evenly what the pod costs as a whole. Call it
// after all containers are resolved. If another container is discovered, new shifts take the traffic of the old ones.
func (p *podUse) running() []shift {
	segments := 0
	for _, c := range p.containers {
		segments += len(c.segments)
	}
	if p.segments == segments {
		return p.shifts
	}
	before := p.shifts
	p.segments = segments
	p.shifts, p.rows = layShifts(p.containers)
	for i := range before {
		x := &before[i]
		for kind := range numTraffic {
			if m := x.traffic(kind); m != (moved{}) {
				spread(nearestShifts(nil, []*podUse{p}, x.from, x.to), x.from, x.to, timeline.Forever/2, kind, m)
			}
		}
	}
	return p.shifts
}

func layShifts(containers []*container) ([]shift, []int32) {
	var few [32]int64
	edges := few[:0]
	eachRun := func(f func(x segment)) { // whatever its terms
		for _, c := range containers {
			for i := 0; i < len(c.segments); {
				x := c.segments[i]
				for i++; i < len(c.segments) && c.segments[i].from == x.to && c.segments[i].ref == x.ref; i++ {
					x.to = c.segments[i].to
				}
				f(x)
			}
		}
	}
	eachRun(func(s segment) { edges = append(edges, s.from, s.to) })
	edges = timeline.SortedEdges(edges)
	if len(edges) == 0 {
		return nil, nil
	}
	pieces := make([]shift, len(edges)-1)
	eachPiece := func(f func(*shift, segment)) {
		eachRun(func(s segment) {
			i, _ := slices.BinarySearch(edges, s.from)
			for ; edges[i] < s.to; i++ {
				f(&pieces[i], s)
			}
		})
	}
	total := int32(0)
	eachPiece(func(x *shift, s segment) {
		x.set = s.ref.set
		x.n++
		total++
	})
	at := int32(0)
	for i := range pieces {
		pieces[i].from, pieces[i].to = edges[i], edges[i+1]
		pieces[i].first = at
		at, pieces[i].n = at+pieces[i].n, 0
	}
	rows := make([]int32, total)
	eachPiece(func(x *shift, s segment) {
		rows[x.first+x.n] = s.ref.row
		x.n++
	})
	return slices.DeleteFunc(pieces, func(x shift) bool { return x.n == 0 }), rows
}

// rowsOf returns the rows of the containers that run in x.
func (p *podUse) rowsOf(x *shift) []int32 { return p.rows[x.first : x.first+x.n] }

// sortedPods are the pods with containers that ran, by cluster, namespace, name and UID.
func (b *Builder) sortedPods() []*podUse {
	pods := make([]*pod, 0, len(b.pods.all))
	for _, c := range each(&b.limits, slices.All(b.pods.order)) {
		if len(c.segments) > 0 {
			pods = append(pods, c.pod)
		}
	}
	slices.SortFunc(pods, comparePods)
	return b.podUses(slices.Compact(pods))
}

func comparePods(x, y *pod) int {
	if x.objectKey == y.objectKey {
		return signals.Compare(x.uid, y.uid)
	}
	return compareObjects(x.objectKey, y.objectKey)
}

func compareObjects(x, y objectKey) int {
	if x.cluster == y.cluster && x.namespace == y.namespace {
		return signals.Compare(x.name, y.name)
	}
	return cmp.Or(signals.Compare(x.cluster, y.cluster), signals.Compare(x.namespace, y.namespace))
}

// sortedObjects are the keys of m by cluster, namespace and name.
func sortedObjects[V any](m map[objectKey]V) []objectKey {
	return slices.SortedFunc(maps.Keys(m), compareObjects)
}

// lifeOf is when an asset of a cluster existed, by when it was seen. Gaps are bridged like those of nodes. If the window ends in a gap
// that may still be bridged, the asset lives as long as the cluster's nodes.
func (b *Builder) lifeOf(cluster signals.Symbol, seen timeline.Steps) timeline.Intervals {
	seen = timeline.Ones(seen)
	watch := &b.absentIn(cluster).nodes
	for _, gap := range watch.Absent {
		if n := len(seen); n > 0 && gap.To >= b.sampling.End && seen[n-1].To >= max(gap.From, gap.To-b.evidence.most) && seen[n-1].To < gap.To {
			if last := b.nodes.ended[cluster]; last > seen[n-1].To {
				seen = append(seen, timeline.Step{From: seen[n-1].To, To: last, V: 1})
			}
		}
	}
	runs := b.sampling.Runs(&timeline.Presence{Seen: b.sampling.SightsOf(seen)}, watch)
	return runs.Intervals().Clip(b.sampling.Start, b.sampling.End)
}

// eachSet calls f for every set that a life reaches into, with the life's part in it. It first draws memory for an asset.
func (b *Builder) eachSet(life timeline.Intervals, f func(set int, part timeline.Intervals)) {
	for i := range each(&b.limits, slices.All(b.sets)) {
		if part := life.Clip(b.borders[i], b.borders[i+1]); len(part) > 0 {
			if b.draw(allocation.AssetBytes); b.stopped != nil {
				return
			}
			f(i, part)
		}
	}
}

// setAt is the set to which the time just before to belongs.
func (b *Builder) setAt(to int64) int32 {
	i, _ := slices.BinarySearch(b.borders, to)
	return int32(i - 1)
}
