package charge

import (
	"math"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// overcommitSlack is how far a sum may exceed capacity by rounding.
const overcommitSlack = 1e-9

// load is what a node's containers used of one resource above their requests, for each cell of the node's life, in amount ×
// seconds. Charger.findOvercommit replaces this by the factors by which requests and bursts are charged, or by nil if all
// are 1.
type load struct {
	timeline.Slots
	requests, bursts []float64
	scaled           timeline.Intervals // cells with factors below 1
}

// loadBytes is the memory for a cell of a load: bursts, requests, and the capacity to compare with.
const loadBytes = 3 * 8

func (ch *Charger) layLoads() {
	for _, n := range observe.Each(&ch.Limits, slices.All(ch.uses.nodes)) {
		ch.layLoad(n)
	}
}

// layLoad makes the loads of a node of this shard if there is memory for them. If the node's life has become longer, it makes longer ones.
func (ch *Charger) layLoad(n *nodeUse) {
	if len(n.Life) == 0 || !ch.Owns(n.Node) {
		return
	}
	from, to := n.Life.Bounds()
	cells := (to-from)/max(ch.Sampling.Cell(), 1) + 2
	for r := range allocation.NumResources {
		if len(n.Amount[r]) == 0 || n.load[r] != nil && n.load[r].Origin <= from {
			continue
		}
		if ch.Draw(cells * loadBytes); ch.Stopped != nil {
			return
		}
		was := n.load[r]
		slots, count := ch.Sampling.Slots(n.Life)
		n.load[r] = &load{Slots: slots, bursts: make([]float64, count)}
		if was != nil {
			copy(n.load[r].bursts[(was.Origin-slots.Origin)/slots.Width:], was.bursts)
		}
	}
}

// addRequests adds the requests of a container, while it ran on the node, to those of each cell.
func (l *load) addRequests(c *observe.Container, r allocation.Resource, requests []float64) {
	for i := range c.Sections {
		section := &c.Sections[i]
		if amount := section.Request[r] * float64(section.To-section.From) / 1000; amount > 0 && section.Inside[r] {
			l.Spread(requests, section.From, section.To, amount)
		}
	}
}

// findOvercommit turns loads into factors. If the allocations on a node exceed its capacity in a cell, usage above requests is
// scaled down first, then everything (SEMANTICS §5). It returns which usage must be added again to do so.
func (ch *Charger) findOvercommit() []Excess {
	var cells timeline.Intervals
	nodes := ch.uses.nodes
	on := make([][]*observe.Container, len(nodes))
	for _, c := range observe.Each(&ch.Limits, slices.All(ch.Pods.Order)) {
		if c.Node != nil {
			on[c.Node.Index] = append(on[c.Node.Index], c)
		}
	}
	var capacity, requests []float64
	for i, n := range observe.Each(&ch.Limits, slices.All(nodes)) {
		for r, l := range n.load {
			if l != nil {
				capacity = n.capacityCells(capacity, allocation.Resource(r), l)
				requests = zeros(requests, len(l.bursts))
				for _, c := range on[i] {
					l.addRequests(c, allocation.Resource(r), requests)
					l.addReserves(ch.podUse(c.Pod).reserves[r], c, allocation.Resource(r), requests)
				}
				l.scale(capacity, requests)
				cells = append(cells, ch.Asked(l.scaled)...)
			}
		}
	}
	var out []Excess
	for _, x := range observe.Each(&ch.Limits, slices.All(cells.Gathered(gatherWithin, mostSpans))) {
		out = append(out, ch.excessIn(observe.Span{Start: x.From, End: x.To}))
	}
	return out
}

// zeros returns n zeros, in the memory of s if there is enough.
func zeros(s []float64, n int) []float64 {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// scale finds the factors of a load, given the node's capacity and the requests of its containers in each cell. It turns requests into
// factors, too.
func (l *load) scale(capacity, requests []float64) {
	for i := range capacity {
		requested, bursts := requests[i], l.bursts[i]
		requests[i], l.bursts[i] = 1, 1
		if requested+bursts <= capacity[i]*(1+overcommitSlack) {
			continue
		}
		requests[i] = min(1, capacity[i]/math.Max(requested, capacity[i]))
		l.bursts[i] = 0
		if bursts > 0 {
			l.bursts[i] = max(0, capacity[i]-requested) / bursts
		}
		from := l.Origin + int64(i)*l.Width
		l.scaled = append(l.scaled, timeline.Interval{From: from, To: from + l.Width})
	}
	if l.scaled = timeline.Union(l.scaled); len(l.scaled) == 0 {
		l.bursts = nil
	} else {
		l.requests = slices.Clone(requests)
	}
}

// Excess is a stretch of time in which nodes were allocated beyond their capacity, with the resources and the names of the pods,
// ascending, whose usage makes that up.
type Excess struct {
	observe.Span
	Resources [allocation.NumResources]bool
	Pods      []string
}

func (ch *Charger) excessIn(span observe.Span) Excess {
	x := Excess{Span: span}
	over := map[*observe.Node]bool{}
	for _, n := range observe.Each(&ch.Limits, slices.All(ch.uses.nodes)) {
		for r, l := range n.load {
			if l != nil && len(l.scaled.Clip(span.Start, span.End)) > 0 {
				over[n.Node], x.Resources[r] = true, true
			}
		}
	}
	for _, c := range observe.Each(&ch.Limits, slices.All(ch.Pods.Order)) {
		if over[c.Node] && len(c.Runs.Clip(span.Start, span.End)) > 0 {
			x.Pods = ch.appendNames(x.Pods, c.Pod)
		}
	}
	slices.Sort(x.Pods)
	x.Pods = slices.Compact(x.Pods)
	return x
}

// Usage is read again in few spans: each span asks for all usage series, and chunks hold about two hours.
const (
	gatherWithin int64 = 2 * 60 * 60 * 1000
	mostSpans          = 8
)

// capacityCells is the node's capacity of a resource in each cell of its load, in amount × seconds. It overwrites out.
func (n *nodeUse) capacityCells(out []float64, r allocation.Resource, l *load) []float64 {
	out = zeros(out, len(l.bursts))
	n.EachStretch(r, l.Origin, l.Origin+int64(len(out))*l.Width, nil, func(from, to int64, amount, _ float64) {
		l.Spread(out, from, to, amount*float64(to-from)/1000)
	})
	return out
}

// correct subtracts from a row's cost what its container was allocated beyond its node's capacity.
func (ch *Charger) correct(on *observe.Node, section *observe.Section, r allocation.Resource, charges []timeline.Part, sign float64) {
	if on == nil || !section.Inside[r] {
		return
	}
	n := ch.nodeUse(on)
	l, off := n.load[r], 0.0
	if l == nil || len(l.scaled) == 0 {
		return
	}
	for _, x := range charges {
		base := section.Request[r] * float64(x.To-x.From) / 1000
		burst := max(0, x.Amount-base)
		l.Each(x.From, x.To, func(cell int, share float64) {
			off += share * (base*(1-l.requests[cell]) + burst*(1-l.bursts[cell]*l.requests[cell]))
		})
	}
	n.takeOff(ch, section, r, sign*off)
}

// takeOff takes the cost of an amount × seconds off a row, because the node was overcommitted.
func (n *nodeUse) takeOff(ch *Charger, section *observe.Section, r allocation.Resource, amount float64) {
	cost := amount / 3600 * section.Price[r] / r.PerPriceUnit()
	ch.AddTo(section.Ref, allocation.Cost.Of(r), -cost)
	n.over.At(int(section.Ref.Set))[r] += cost
}

// isFirst reports whether the first sample that was read of a pod's counter, which began at began, is its first sample at all.
func (ch *Charger) isFirst(p *observe.Pod, s *observe.Incoming, began int64) bool {
	from := ch.usageFrom(p)
	return began >= from || s.Points.First() > from+ch.Sampling.Lookback
}

// usageFrom is the time of the oldest usage of a pod that is read in this phase.
func (ch *Charger) usageFrom(p *observe.Pod) int64 {
	switch {
	case ch.Phase == observe.Correcting:
		return ch.Sampling.LoadStart() + ch.again.Start - ch.Sampling.Start
	case ch.podUse(p).from != 0:
		return ch.podUse(p).from
	}
	return ch.Sampling.LoadStart()
}
