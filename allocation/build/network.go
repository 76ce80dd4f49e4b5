package build

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// trafficKind is a kind of traffic of a pod.
type trafficKind uint8

const (
	transmitted trafficKind = iota
	received
	egressZone // sent to other zones; this kind and those below cost
	egressRegion
	egressInternet
	numTraffic
)

// flow is one counter of a pod's bytes. Another series of the same flow is a later stretch of it, or the same counter scraped by
// another replica: time counts once.
type flow struct {
	key     flowKey
	counted timeline.Intervals
	to      int64   // end of what was counted
	value   float64 // of the counter at to
	until   int64   // how long its last sample is seen if no other comes
	rate    float64 // bytes a millisecond before to
	next    *flow   // of the pod
}

// flowKey identifies a counter of a pod: by a hash of the labels other than pod and namespace, with the kind in its lowest bits.
type flowKey uint64

const kindBits = 3

func (k flowKey) kind() trafficKind { return trafficKind(k & (1<<kindBits - 1)) }

// seed is for the hashes of labels.
var seed = maphash.MakeSeed()

func (l *integrator) addTransmitted(s *incoming) error { return l.addTraffic(s, transmitted) }
func (l *integrator) addReceived(s *incoming) error    { return l.addTraffic(s, received) }

// addEgress takes bytes that a pod sent. Traffic within the zone is free.
func (l *integrator) addEgress(s *incoming) error {
	internet, zone, region := s.key[4].Value(), s.key[5].Value(), s.key[6].Value()
	switch {
	case internet == "true":
		return l.addTraffic(s, egressInternet)
	case region == "false":
		return l.addTraffic(s, egressRegion)
	case zone == "false":
		return l.addTraffic(s, egressZone)
	}
	return nil
}

// addTraffic integrates a counter of bytes for the pod with the UID in its key, else for the pods with its name, each for the
// time it ran.
func (l *integrator) addTraffic(s *incoming, kind trafficKind) error {
	var labels maphash.Hash
	labels.SetSeed(seed)
	rest := s.key[signals.PodKey:]
	if s.Signal.HasSeriesKey() {
		rest = rest[:len(rest)-1]
		maphash.WriteComparable(&labels, s.series)
	}
	for _, label := range rest {
		_, _ = labels.WriteString(label.Value()) // never fails; the text, for symbols can be reused
		_ = labels.WriteByte(0xff)
	}
	key := flowKey(labels.Sum64()<<kindBits) | flowKey(kind)
	of := s.pod()
	if p := l.b.pods.find(&of); p != nil {
		l.move([]*podUse{l.b.podUse(p)}, key, s)
	} else {
		l.move(l.b.podUses(l.b.pods.byName[s.object()]), key, s)
	}
	return nil
}

// move adds the increases of a counter to pods of one name, which run one after the other.
func (l *integrator) move(pods []*podUse, key flowKey, s *incoming) {
	ran := false
	for _, p := range pods {
		ran = len(p.running()) > 0 || ran
	}
	if !ran {
		return
	}
	price := l.trafficPrice(pods[0].cluster, key.kind())
	l.cells = l.increases(pods, key, s, price)
	if len(l.cells) == 0 {
		for f := pods[0].flows; f != nil; f = f.next {
			if f.key == key {
				f.until = min(f.until, s.p.First()) // a marker
			}
		}
		return
	}
	last := l.cells[len(l.cells)-1]
	f, cells := l.flowOf(pods, key, s, l.cells)
	end, drop := flowEnd{key.kind(), f.to, f.rate}, false
	for i := range cells {
		x := &cells[i]
		if l.b.unknown(x) {
			if end.rate > 0 {
				pods[0].ended = append(pods[0].ended, end)
			}
			value, _ := l.b.samplingOf(s).SeenAt(s.p, x.To)
			*x, end.rate = l.b.beginAgain(pods, *x, value), 0
			drop = drop || l.b.unknown(x)
		}
		if !l.b.unknown(x) && (x.Amount > 0 || !x.Held) {
			end.to, end.rate = x.To, x.Rate()
		}
	}
	if drop {
		cells = l.b.dropUnknown(cells)
	}
	timeline.EachFresh(&f.counted, cells, func(x timeline.Cell) { l.b.moveCell(pods, key.kind(), price, x) })
	if last.To > f.to {
		f.to, f.rate = last.To, end.rate
		f.value, f.until = l.b.samplingOf(s).SeenAt(s.p, last.To)
	}
}

// increases are the cells of a counter of bytes. Those within one shift of the only pod that have one price are joined: their sum does
// not depend on how they are cut. Cells of time that is counted already are left alone.
func (l *integrator) increases(pods []*podUse, key flowKey, s *incoming, t *prices.Item) []timeline.Cell {
	if len(pods) != 1 {
		return l.b.samplingOf(s).Counter(l.cells[:0], s.p)
	}
	counted := l.b.sampling.Start
	for f := pods[0].flows; f != nil; f = f.next {
		if f.key == key && len(f.counted) > 0 {
			counted = max(counted, f.counted[len(f.counted)-1].To)
		}
	}
	l.moving.pod, l.moving.price, l.moving.counted = pods[0], t, counted
	l.joiner.Keep, l.joiner.Limit, l.joiner.Until = false, 0, l.moving.until
	return l.joiner.Counter(l.b.samplingOf(s), l.cells[:0], s.p)
}

// moving is the traffic at hand of a pod.
type moving struct {
	pod     *podUse
	price   *prices.Item
	counted int64                      // the end of what was counted of it before
	until   func(from, to int64) int64 // integrator.sameUntil, made once
}

// sameUntil is until when bytes count for the same shift at the same price as those of (from, to]. It is before to if that is not
// within one shift, or was counted before.
func (l *integrator) sameUntil(from, to int64) int64 {
	at := l.moving.pod.shiftOver(from, to)
	if at == nil || from < l.moving.counted {
		return math.MinInt64
	}
	return min(at.to, l.b.sampling.End, l.moving.price.Until(from))
}

// flowOf returns the flow of a counter, and its cells with a beginning for the first one: the end of an earlier stretch, else the
// start of the pod if the counter is new. Without a beginning, the first cell is dropped. The first of several pods keeps the flow.
func (l *integrator) flowOf(pods []*podUse, key flowKey, s *incoming, cells []timeline.Cell) (*flow, []timeline.Cell) {
	b, first, p := l.b, &cells[0], pods[0]
	at := &p.flows
	for ; *at != nil; at = &(*at).next {
		f := *at
		if f.key != key {
			continue
		}
		if first.To <= f.to {
			return f, cells[1:]
		}
		return f, b.samplingOf(s).GoOn(cells, s.p, f.to, f.until, f.value)
	}
	f := l.newFlow(key)
	*at = f
	start, known := b.lastStart(pods, first.To)
	if !known || !b.isFirst(p.pod, s, start.at) {
		if first.To-s.p.First() > b.evidence.most { // the first sample lies before a gap and not on the grid
			first.From, first.Held = s.p.First(), true
			return f, cells
		}
		return f, cells[1:]
	}
	if start.seen <= b.sampling.Start {
		start.seen = start.at
	}
	x, ok := b.movedSince(start, first.To, first.Amount)
	if !ok || b.unknown(&x) {
		return f, cells[1:]
	}
	*first = x
	return f, cells
}

// newFlow makes one of many flows.
func (l *integrator) newFlow(key flowKey) *flow {
	const atOnce = 64
	if len(l.flows) == cap(l.flows) {
		l.flows = make([]flow, 0, atOnce)
	}
	l.flows = append(l.flows, flow{key: key})
	return &l.flows[len(l.flows)-1]
}

// movedSince is the cell of a counter's first sample after the start of its pods, which says value at t. A pod that ran for long before
// it was seen moved most of the value then, and that part is left out. ok is false if there is no such cell.
func (b *Builder) movedSince(start podStart, t int64, value float64) (x timeline.Cell, ok bool) {
	x = timeline.Cell{From: start.at, To: t, Amount: value}
	if at := start.seen; at-start.at > b.sampling.Lookback {
		x.From, x.Amount = at, value*float64(t-at)/float64(t-start.at)
	}
	x.Held = x.To-x.From > b.sampling.Lookback
	return x, x.From < x.To
}

// beginAgain is the cell of a counter after a gap that is too long to bridge. If the gap is an outage, the cell has what was moved since
// the pod was seen again, like the first cell of a counter. Else it is x.
func (b *Builder) beginAgain(pods []*podUse, x timeline.Cell, value float64) timeline.Cell {
	start, known := b.lastStart(pods, x.To)
	if known && start.seen > max(x.From, b.sampling.Start) && b.afterOutage(pods[0].cluster, start.seen) {
		if again, ok := b.movedSince(start, x.To, value); ok {
			return again
		}
	}
	return x
}

// afterOutage reports whether t is at most a lookback after an absence of a cluster that is longer than a lookback.
func (b *Builder) afterOutage(cluster signals.Symbol, t int64) bool {
	return slices.ContainsFunc(b.absentIn(cluster).containers.Absent, func(gap timeline.Interval) bool {
		return gap.From < t && t <= gap.To+timeline.Lookback && gap.To-gap.From > b.sampling.Lookback
	})
}

// podStart is when a pod started, and since when it was seen to run. Gaps that can be bridged do not count.
type podStart struct{ at, seen int64 }

// lastStart returns the last start of any of the pods before t, and whether one is known.
func (b *Builder) lastStart(pods []*podUse, t int64) (start podStart, known bool) {
	for _, p := range pods {
		if len(p.shifts) == 0 {
			continue
		}
		if at, ok := b.startBefore(p, t); ok && (!known || at > start.at) {
			start, known = podStart{at, p.seenSince(t)}, true
		}
	}
	return start, known
}

// seenSince is since when a pod that runs at t was seen to run, or when it was first seen after t. Gaps that can be bridged do not count.
func (p *podUse) seenSince(t int64) int64 {
	from := p.shifts[0].from
	for i := 1; i < len(p.shifts) && p.shifts[i].from < t; i++ {
		if p.shifts[i].from-p.shifts[i-1].to > allocation.Evidence.Milliseconds() {
			from = p.shifts[i].from
		}
	}
	return from
}

// startBefore is when a pod started before t. It is the first start of a container, as reported or, for an init container, as seen just
// before t, unless a container has restarted. Else it is the reported start of the pod, else when the pod was first seen to run. It does
// not depend on when the window begins.
func (b *Builder) startBefore(p *podUse, t int64) (at int64, known bool) {
	at, again, begins := math.MaxInt64, p.restarted, true
	for _, c := range p.containers {
		for i, x := range c.reportedStarts(t) {
			v := int64(x.V * 1000)
			if i == 0 {
				at = min(at, v)
			}
			again = again || v < t && x.V != c.started[0].V
		}
		if len(c.runs) == 0 {
			continue
		}
		seen := !b.beginsWithSignals(&c.runs[0]) && !b.afterOutage(p.cluster, c.runs[0].From)
		begins = begins && seen
		if c.init && seen && t-c.runs[0].From <= b.sampling.Lookback {
			at = min(at, c.runs[0].From)
		}
	}
	switch {
	case at < t && !again:
	case p.started.Known() && p.started.At >= t-allocation.Evidence.Milliseconds():
		at = int64(p.started.Value * 1000)
	case begins:
		at = p.shifts[0].from
	}
	return at, at < t
}

// moveCell spreads the bytes of a cell evenly over its time, and adds them to the pods that ran then. Bytes moved while none of their
// containers was seen belong to the nearest time at which one was, if that is close.
func (b *Builder) moveCell(pods []*podUse, kind trafficKind, t *prices.Item, x timeline.Cell) {
	from, to := max(x.From, b.sampling.Start), min(x.To, b.sampling.End)
	if from >= to || x.Amount <= 0 {
		return
	}
	var buffer [4]*shift
	near := append(buffer[:0], pods[0].shiftOver(from, to))
	if len(pods) > 1 || near[0] == nil { // mostly there is one shift
		near = nearestShifts(buffer[:0], pods, from, to)
	}
	t.Each(from, to, func(from, to int64, price float64) {
		bytes := x.Amount * (float64(to-from) / float64(x.To-x.From))
		spread(near, from, to, b.closeBy(), kind, moved{bytes, bytes / allocation.RAM.PerPriceUnit() * price})
	})
}

// shiftOver is the shift that holds all of (from, to], nil if there is none. It first tries the shift that it found last.
func (p *podUse) shiftOver(from, to int64) *shift {
	at := p.last
	if at >= len(p.shifts) || p.shifts[at].to <= from || p.shifts[at].from > from {
		at = sort.Search(len(p.shifts), func(i int) bool { return p.shifts[i].to > from })
		p.last = at
	}
	if at == len(p.shifts) {
		return nil
	}
	if x := &p.shifts[at]; x.from <= from && to <= x.to {
		return x
	}
	return nil
}

// nearestShifts appends to near the shifts of pods that are nearest to any time in (from, to], ascending.
func nearestShifts(near []*shift, pods []*podUse, from, to int64) []*shift {
	for _, p := range pods {
		i := sort.Search(len(p.shifts), func(i int) bool { return p.shifts[i].to > from })
		for k := max(0, i-1); k < len(p.shifts) && (k <= i || p.shifts[k-1].from < to); k++ {
			near = append(near, &p.shifts[k])
		}
	}
	if len(pods) > 1 {
		slices.SortFunc(near, func(x, y *shift) int { return cmp.Compare(x.from, y.from) })
	}
	return near
}

// closeBy is how close running time must be to take bytes that were moved outside of it. It is short enough that every window sees the same
// nearest running time.
func (b *Builder) closeBy() int64 { return max(0, b.margin()/2-b.sampling.Interval) }

// spread adds m of a kind, evenly over (from, to], to the shift that is nearest at each time, if that is within reach. Of two it takes the later.
func spread(near []*shift, from, to, reach int64, kind trafficKind, m moved) {
	at, ended := from, int64(timeline.Unborn)
	for i, x := range near {
		ended = max(ended, x.to)
		until := min(to, ended+reach)
		if i+1 < len(near) {
			next := near[i+1]
			until = min(until, next.from-max(0, next.from-x.to)/2)
		}
		if at = max(at, x.from-reach); at < until {
			x.add(kind, m, float64(until-at)/float64(to-from))
			at = until
		}
	}
}

// trafficColumns has the columns for the bytes and the cost of each kind of traffic.
var trafficColumns = [numTraffic]struct{ bytes, cost allocation.Column }{
	transmitted:    {allocation.NetworkTransferBytes, allocation.NumColumns},
	received:       {allocation.NetworkReceiveBytes, allocation.NumColumns},
	egressZone:     {allocation.NetworkEgressBytes, allocation.NetworkCrossZoneCost},
	egressRegion:   {allocation.NetworkEgressBytes, allocation.NetworkCrossRegionCost},
	egressInternet: {allocation.NetworkEgressBytes, allocation.NetworkInternetCost},
}

// chargeTraffic divides what each pod moved among its containers, and makes the network assets.
func (b *Builder) chargeTraffic(pods []*podUse) {
	for _, p := range each(&b.limits, slices.All(pods)) {
		b.holdTraffic(p) // for all pods before any is charged: it may add to another pod of the name
	}
	for _, p := range each(&b.limits, slices.All(pods)) {
		for i := range p.shifts {
			x := &p.shifts[i]
			for _, row := range p.rowsOf(x) {
				for k, to := range trafficColumns {
					m := x.traffic(trafficKind(k))
					b.add(rowRef{x.set, row}, to.bytes, m.bytes/float64(x.n))
					if m.cost != 0 {
						b.add(rowRef{x.set, row}, to.cost, m.cost/float64(x.n))
					}
				}
			}
		}
	}
	for i := range each(&b.limits, slices.All(b.sets[b.first:b.last])) {
		s := b.sets[b.first+i]
		s.Networks = b.networks(b.rows[b.first+i])
		b.priceNetworks(s)
	}
	b.warnDefaultEgress()
}

// networks returns an asset for the traffic of each cluster. A cluster with bytes but no cost has one, too, because a bill may give it a
// cost.
func (b *Builder) networks(rows *allocation.Rows) []allocation.Network {
	of := map[allocation.ID]*allocation.Network{}
	for row, cluster := range rows.IDs(allocation.Cluster) {
		zone, region, internet := rows.Value(allocation.NetworkCrossZoneCost, row), rows.Value(allocation.NetworkCrossRegionCost, row), rows.Value(allocation.NetworkInternetCost, row)
		if zone+region+internet+rows.Value(allocation.NetworkTransferBytes, row)+rows.Value(allocation.NetworkReceiveBytes, row) == 0 {
			continue
		}
		ran := rows.Window(row)
		n, ok := of[cluster]
		if !ok {
			n = &allocation.Network{Cluster: b.dict.Text(cluster), Start: ran.Start, End: ran.End}
			of[cluster] = n
		}
		if ran.Start.Before(n.Start) {
			n.Start = ran.Start
		}
		if ran.End.After(n.End) {
			n.End = ran.End
		}
		n.CrossZone, n.CrossRegion, n.Internet = n.CrossZone+zone, n.CrossRegion+region, n.Internet+internet
	}
	var list []allocation.Network
	for _, n := range of {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(x, y allocation.Network) int { return strings.Compare(x.Cluster, y.Cluster) })
	return list
}
