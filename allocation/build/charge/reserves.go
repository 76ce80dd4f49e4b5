package charge

import (
	"slices"
	"sort"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// reserve is a part of a pod's running time in which the pod reserves more than its containers request, with what these are allocated. Within
// it, neither changes.
type reserve struct {
	timeline.Interval
	timeline.Slots
	amount     float64
	containers []*observe.Container // that run
	// allocated is what these are allocated in each slot, in amount × seconds. Charger.chargeReserves replaces it by what is left of the reserve.
	allocated []float64
}

// layReserves makes the reserves of pods that reserve more than their containers request.
func (ch *Charger) layReserves() {
	for p := range ch.EveryPod() {
		if p.Reserve == nil || !slices.ContainsFunc(p.Containers, ch.Measures) {
			continue
		}
		for r := range allocation.NumResources {
			if of := &p.Reserve[r]; len(of.Inits)+len(of.Mains) > 0 {
				ch.podUse(p).reserves[r] = ch.reservesOf(p, r, of)
			}
		}
	}
}

// reservesOf returns the reserves of a pod, ascending.
func (ch *Charger) reservesOf(p *observe.Pod, r allocation.Resource, of *observe.Reserve) (out []reserve) {
	edges, mains := of.Mains.Edges(of.Inits.Edges(nil)), int64(timeline.Forever)
	for _, c := range p.Containers {
		for _, s := range c.Sections {
			edges = append(edges, s.From, s.To)
		}
		if len(c.Sections) > 0 && !c.Init {
			mains = min(mains, c.Sections[0].From)
		}
	}
	edges = timeline.SortedEdges(append(edges, mains))
	for i := 1; i < len(edges); i++ {
		x := reserve{Interval: timeline.Interval{From: edges[i-1], To: edges[i]}}
		steps := of.Mains
		if x.To <= mains {
			steps = of.Inits
		}
		running, requested := ch.podUse(p).runningAt(x.To, r)
		x.containers = running
		if x.amount = steps.Value(x.To); len(x.containers) == 0 || x.amount <= requested*(1+overcommitSlack) {
			continue
		}
		slots, n := ch.Sampling.Slots(timeline.Intervals{x.Interval})
		if ch.Draw(n * loadBytes); ch.Stopped != nil {
			return nil
		}
		x.Slots, x.allocated = slots, make([]float64, n)
		out = append(out, x)
	}
	return out
}

// sectionAt returns the section of a container's running time that ends at t or goes on over it, nil if the container does not run then.
func sectionAt(c *observe.Container, t int64) *observe.Section {
	i := sort.Search(len(c.Sections), func(i int) bool { return c.Sections[i].To >= t })
	if i == len(c.Sections) || c.Sections[i].From >= t {
		return nil
	}
	return &c.Sections[i]
}

// use adds what a container is allocated to the reserves of its pod: max(request, usage) over each part, or takes it back if sign is -1.
func (t *tally) use(reserves []reserve, parts []timeline.Part) {
	for k := range parts {
		x := &parts[k]
		i := sort.Search(len(reserves), func(i int) bool { return reserves[i].To > x.From })
		for ; i < len(reserves) && reserves[i].From < x.To; i++ {
			from, to := max(x.From, reserves[i].From), min(x.To, reserves[i].To)
			share := float64(to-from) / float64(x.To-x.From)
			reserves[i].Spread(reserves[i].allocated, from, to, t.sign*share*max(x.Amount, t.request*float64(x.To-x.From)))
		}
	}
}

// chargeReserves charges what is left of reserves, evenly to the containers that run.
func (ch *Charger) chargeReserves() {
	ch.eachReserve(func(r allocation.Resource, x *reserve) {
		for i := range x.allocated {
			cell := x.cell(i)
			left := max(0, x.amount*float64(cell.To-cell.From)/1000-x.allocated[i])
			if x.allocated[i] = left; left == 0 {
				continue
			}
			for _, c := range x.containers {
				s, share := sectionAt(c, x.To), left/float64(len(x.containers))
				cost := share / 3600 * s.Price[r] / r.PerPriceUnit()
				ch.AddTo(s.Ref, allocation.Hours.Of(r), share/3600)
				ch.AddTo(s.Ref, allocation.Cost.Of(r), cost)
				if !s.Inside[r] {
					ch.addNodeless(c.Node, c.Pod.Cluster, s.Ref.Set, r, cost)
				}
			}
		}
	})
}

// correctReserves takes off what was charged of reserves beyond the capacity of their nodes: they count like requests.
func (ch *Charger) correctReserves() {
	ch.eachReserve(func(r allocation.Resource, x *reserve) {
		for _, c := range x.containers {
			s := sectionAt(c, x.To)
			if c.Node == nil || !s.Inside[r] {
				continue
			}
			n := ch.nodeUse(c.Node)
			l, off := n.load[r], 0.0
			if l == nil || len(l.scaled) == 0 {
				continue
			}
			for i, left := range x.allocated {
				cell := x.cell(i)
				l.Each(cell.From, cell.To, func(k int, share float64) { off += share * left / float64(len(x.containers)) * (1 - l.requests[k]) })
			}
			n.takeOff(ch, s, r, off)
		}
	})
}

// addReserves adds what is left of the reserves of c's pod to the requests of each cell of the node's load, if c is the first container that they
// are divided among.
func (l *load) addReserves(reserves []reserve, c *observe.Container, r allocation.Resource, requests []float64) {
	for k := range reserves {
		x := &reserves[k]
		if x.containers[0] != c || !sectionAt(c, x.To).Inside[r] {
			continue
		}
		for i, left := range x.allocated {
			cell := x.cell(i)
			l.Spread(requests, cell.From, cell.To, left)
		}
	}
}

// cell is the part of a reserve in a slot.
func (x *reserve) cell(slot int) timeline.Interval {
	from := x.Origin + int64(slot)*x.Width
	return timeline.Interval{From: max(x.From, from), To: min(x.To, from+x.Width)}
}

// eachReserve calls f with every reserve of a pod that this shard measures.
func (ch *Charger) eachReserve(f func(allocation.Resource, *reserve)) {
	for _, p := range observe.Each(&ch.Limits, slices.All(ch.uses.pods)) {
		if p == nil {
			continue
		}
		for r := range p.reserves {
			for i := range p.reserves[r] {
				f(allocation.Resource(r), &p.reserves[r][i])
			}
		}
	}
}
