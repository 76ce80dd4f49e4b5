package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// shift is a part of a pod's running time, within one set, in which the same containers run.
type shift struct {
	from, to int64
	set      int32
	first, n int32                       // the rows of its containers, in podUse.rows
	free     [observe.EgressZone]float64 // bytes of the kinds of traffic that cost nothing
	paid     *[observe.NumTraffic]moved  // of the other kinds; nil for no traffic of these
}

// moved is what of one kind a pod sent or received in some time.
type moved struct{ bytes, cost float64 }

// traffic is what was moved of a kind.
func (x *shift) traffic(kind observe.TrafficKind) moved {
	switch {
	case kind < observe.EgressZone:
		return moved{bytes: x.free[kind]}
	case x.paid == nil:
		return moved{}
	}
	return x.paid[kind]
}

// add adds a share of what was moved of a kind.
func (x *shift) add(kind observe.TrafficKind, m moved, share float64) {
	if kind < observe.EgressZone {
		x.free[kind] += m.bytes * share
		return
	}
	if x.paid == nil {
		x.paid = &[observe.NumTraffic]moved{}
	}
	x.paid[kind].bytes += m.bytes * share
	x.paid[kind].cost += m.cost * share
}

// running are the shifts of a pod's running time, ascending. The rows of a shift share evenly what the pod costs as a whole. Call it
// after all containers are resolved. If another container is discovered, new shifts take the traffic of the old ones.
func (p *podUse) running() []shift {
	sections := 0
	for _, c := range p.Containers {
		sections += len(c.Sections)
	}
	if p.sections == sections {
		return p.shifts
	}
	before := p.shifts
	p.sections = sections
	p.shifts, p.rows = layShifts(p.Containers)
	for i := range before {
		x := &before[i]
		for kind := range observe.NumTraffic {
			if m := x.traffic(kind); m != (moved{}) {
				spread(nearestShifts(nil, []*podUse{p}, x.from, x.to), x.from, x.to, timeline.Forever/2, kind, m)
			}
		}
	}
	return p.shifts
}

func layShifts(containers []*observe.Container) ([]shift, []int32) {
	var few [32]int64
	edges := few[:0]
	eachRun := func(f func(x observe.Section)) { // whatever its terms
		for _, c := range containers {
			for i := 0; i < len(c.Sections); {
				x := c.Sections[i]
				for i++; i < len(c.Sections) && c.Sections[i].From == x.To && c.Sections[i].Ref == x.Ref; i++ {
					x.To = c.Sections[i].To
				}
				f(x)
			}
		}
	}
	eachRun(func(s observe.Section) { edges = append(edges, s.From, s.To) })
	edges = timeline.SortedEdges(edges)
	if len(edges) == 0 {
		return nil, nil
	}
	pieces := make([]shift, len(edges)-1)
	eachPiece := func(f func(*shift, observe.Section)) {
		eachRun(func(s observe.Section) {
			i, _ := slices.BinarySearch(edges, s.From)
			for ; edges[i] < s.To; i++ {
				f(&pieces[i], s)
			}
		})
	}
	total := int32(0)
	eachPiece(func(x *shift, s observe.Section) {
		x.set = s.Ref.Set
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
	eachPiece(func(x *shift, s observe.Section) {
		rows[x.first+x.n] = s.Ref.Row
		x.n++
	})
	return slices.DeleteFunc(pieces, func(x shift) bool { return x.n == 0 }), rows
}

// rowsOf returns the rows of the containers that run in x.
func (p *podUse) rowsOf(x *shift) []int32 { return p.rows[x.first : x.first+x.n] }

// sortedPods are the pods with containers that ran, by cluster, namespace, name and UID.
func (ch *Charger) sortedPods() []*podUse {
	pods := make([]*observe.Pod, 0, len(ch.Pods.All))
	for _, c := range observe.Each(&ch.Limits, slices.All(ch.Pods.Order)) {
		if len(c.Sections) > 0 {
			pods = append(pods, c.Pod)
		}
	}
	slices.SortFunc(pods, observe.ComparePods)
	return ch.podUses(slices.Compact(pods))
}

// eachSet calls f for every set that a life reaches into, with the life's part in it. It first draws memory for an asset.
func (ch *Charger) eachSet(life timeline.Intervals, f func(set int, part timeline.Intervals)) {
	for i := range observe.Each(&ch.Limits, slices.All(ch.Sets)) {
		if part := life.Clip(ch.Borders[i], ch.Borders[i+1]); len(part) > 0 {
			if ch.Draw(allocation.AssetBytes); ch.Stopped != nil {
				return
			}
			f(i, part)
		}
	}
}
