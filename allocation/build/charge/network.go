package charge

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
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

func (k flowKey) kind() observe.TrafficKind { return observe.TrafficKind(k & (1<<kindBits - 1)) }

// seed is for the hashes of labels.
var seed = maphash.MakeSeed()

func (l *integrator) addTransmitted(s *observe.Incoming) error {
	return l.addTraffic(s, observe.Transmitted)
}

func (l *integrator) addReceived(s *observe.Incoming) error { return l.addTraffic(s, observe.Received) }

// addEgress takes bytes that a pod sent. Traffic within the zone is free.
func (l *integrator) addEgress(s *observe.Incoming) error {
	internet, zone, region := s.Key[4].Value(), s.Key[5].Value(), s.Key[6].Value()
	switch {
	case internet == "true":
		return l.addTraffic(s, observe.EgressInternet)
	case region == "false":
		return l.addTraffic(s, observe.EgressRegion)
	case zone == "false":
		return l.addTraffic(s, observe.EgressZone)
	}
	return nil
}

// addTraffic integrates a counter of bytes for the pod with the UID in its key, else for the pods with its name, each for the
// time it ran.
func (l *integrator) addTraffic(s *observe.Incoming, kind observe.TrafficKind) error {
	var labels maphash.Hash
	labels.SetSeed(seed)
	rest := s.Key[signals.PodKey:]
	if s.Signal.HasSeriesKey() {
		rest = rest[:len(rest)-1]
		maphash.WriteComparable(&labels, s.ID)
	}
	for _, label := range rest {
		_, _ = labels.WriteString(label.Value()) // never fails; the text, for symbols can be reused
		_ = labels.WriteByte(0xff)
	}
	key := flowKey(labels.Sum64()<<kindBits) | flowKey(kind)
	if p := l.ch.PodByUID(s); p != nil {
		l.move([]*podUse{l.ch.podUse(p)}, key, s)
	} else {
		l.move(l.ch.podUses(l.ch.Pods.ByName[s.Object()]), key, s)
	}
	return nil
}

// move adds the increases of a counter to pods of one name, which run one after the other.
func (l *integrator) move(pods []*podUse, key flowKey, s *observe.Incoming) {
	ran := false
	for _, p := range pods {
		ran = len(p.running()) > 0 || ran
	}
	if !ran {
		return
	}
	price := l.trafficPrice(pods[0].Cluster, key.kind())
	l.cells = l.increases(pods, key, s, price)
	if len(l.cells) == 0 {
		for f := pods[0].flows; f != nil; f = f.next {
			if f.key == key {
				f.until = min(f.until, s.Points.First()) // a marker
			}
		}
		return
	}
	last := l.cells[len(l.cells)-1]
	f, cells := l.flowOf(pods, key, s, l.cells)
	end, drop := flowEnd{key.kind(), f.to, f.rate}, false
	for i := range cells {
		x := &cells[i]
		if l.ch.unknown(x) {
			if end.rate > 0 {
				pods[0].ended = append(pods[0].ended, end)
			}
			value, _ := l.ch.SamplingOf(s).SeenAt(s.Points, x.To)
			*x, end.rate = l.ch.beginAgain(pods, *x, value), 0
			drop = drop || l.ch.unknown(x)
		}
		if !l.ch.unknown(x) && (x.Amount > 0 || !x.Held) {
			end.to, end.rate = x.To, x.Rate()
		}
	}
	if drop {
		cells = l.ch.dropUnknown(cells)
	}
	timeline.EachFresh(&f.counted, cells, func(x timeline.Cell) { l.ch.moveCell(pods, key.kind(), price, x) })
	if last.To > f.to {
		f.to, f.rate = last.To, end.rate
		f.value, f.until = l.ch.SamplingOf(s).SeenAt(s.Points, last.To)
	}
}

// increases are the cells of a counter of bytes. Those within one shift of the only pod that have one price are joined: their sum does
// not depend on how they are cut. Cells of time that is counted already are left alone.
func (l *integrator) increases(pods []*podUse, key flowKey, s *observe.Incoming, t *prices.Item) []timeline.Cell {
	if len(pods) != 1 {
		return l.ch.SamplingOf(s).Counter(l.cells[:0], s.Points)
	}
	counted := l.ch.Sampling.Start
	for f := pods[0].flows; f != nil; f = f.next {
		if f.key == key && len(f.counted) > 0 {
			counted = max(counted, f.counted[len(f.counted)-1].To)
		}
	}
	l.moving.pod, l.moving.price, l.moving.counted = pods[0], t, counted
	l.joiner.Keep, l.joiner.Limit, l.joiner.Until = false, 0, l.moving.until
	return l.joiner.Counter(l.ch.SamplingOf(s), l.cells[:0], s.Points)
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
	return min(at.to, l.ch.Sampling.End, l.moving.price.Until(from))
}

// flowOf returns the flow of a counter, and its cells with a beginning for the first one: the end of an earlier stretch, else the
// start of the pod if the counter is new. Without a beginning, the first cell is dropped. The first of several pods keeps the flow.
func (l *integrator) flowOf(pods []*podUse, key flowKey, s *observe.Incoming, cells []timeline.Cell) (*flow, []timeline.Cell) {
	ch, first, p := l.ch, &cells[0], pods[0]
	at := &p.flows
	for ; *at != nil; at = &(*at).next {
		f := *at
		if f.key != key {
			continue
		}
		if first.To <= f.to {
			return f, cells[1:]
		}
		return f, ch.SamplingOf(s).GoOn(cells, s.Points, f.to, f.until, f.value)
	}
	f := l.newFlow(key)
	*at = f
	start, known := ch.lastStart(pods, first.To)
	if !known || !ch.isFirst(p.Pod, s, start.at) {
		if first.To-s.Points.First() > ch.Evidence.Most { // the first sample lies before a gap and not on the grid
			first.From, first.Held = s.Points.First(), true
			return f, cells
		}
		return f, cells[1:]
	}
	if start.seen <= ch.Sampling.Start {
		start.seen = start.at
	}
	x, ok := ch.movedSince(start, first.To, first.Amount)
	if !ok || ch.unknown(&x) {
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
func (ch *Charger) movedSince(start podStart, t int64, value float64) (x timeline.Cell, ok bool) {
	x = timeline.Cell{From: start.at, To: t, Amount: value}
	if at := start.seen; at-start.at > ch.Sampling.Lookback {
		x.From, x.Amount = at, value*float64(t-at)/float64(t-start.at)
	}
	x.Held = x.To-x.From > ch.Sampling.Lookback
	return x, x.From < x.To
}

// beginAgain is the cell of a counter after a gap that is too long to bridge. If the gap is an outage, the cell has what was moved since
// the pod was seen again, like the first cell of a counter. Else it is x.
func (ch *Charger) beginAgain(pods []*podUse, x timeline.Cell, value float64) timeline.Cell {
	start, known := ch.lastStart(pods, x.To)
	if known && start.seen > max(x.From, ch.Sampling.Start) && ch.afterOutage(pods[0].Cluster, start.seen) {
		if again, ok := ch.movedSince(start, x.To, value); ok {
			return again
		}
	}
	return x
}

// afterOutage reports whether t is at most a lookback after an absence of a cluster that is longer than a lookback.
func (ch *Charger) afterOutage(cluster signals.Symbol, t int64) bool {
	return slices.ContainsFunc(ch.AbsentIn(cluster).Containers.Absent, func(gap timeline.Interval) bool {
		return gap.From < t && t <= gap.To+timeline.Lookback && gap.To-gap.From > ch.Sampling.Lookback
	})
}

// podStart is when a pod started, and since when it was seen to run. Gaps that can be bridged do not count.
type podStart struct{ at, seen int64 }

// lastStart returns the last start of any of the pods before t, and whether one is known.
func (ch *Charger) lastStart(pods []*podUse, t int64) (start podStart, known bool) {
	for _, p := range pods {
		if len(p.shifts) == 0 {
			continue
		}
		if at, ok := ch.startBefore(p, t); ok && (!known || at > start.at) {
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
func (ch *Charger) startBefore(p *podUse, t int64) (at int64, known bool) {
	at, again, begins := math.MaxInt64, p.Restarted, true
	for _, c := range p.Containers {
		for i, x := range c.ReportedStarts(t) {
			v := int64(x.V * 1000)
			if i == 0 {
				at = min(at, v)
			}
			again = again || v < t && x.V != c.Started[0].V
		}
		if len(c.Runs) == 0 {
			continue
		}
		seen := !ch.beginsWithSignals(&c.Runs[0]) && !ch.afterOutage(p.Cluster, c.Runs[0].From)
		begins = begins && seen
		if c.Init && seen && t-c.Runs[0].From <= ch.Sampling.Lookback {
			at = min(at, c.Runs[0].From)
		}
	}
	switch {
	case at < t && !again:
	case p.Started.Known() && p.Started.At >= t-allocation.Evidence.Milliseconds():
		at = int64(p.Started.Value * 1000)
	case begins:
		at = p.shifts[0].from
	}
	return at, at < t
}

// moveCell spreads the bytes of a cell evenly over its time, and adds them to the pods that ran then. Bytes moved while none of their
// containers was seen belong to the nearest time at which one was, if that is close.
func (ch *Charger) moveCell(pods []*podUse, kind observe.TrafficKind, t *prices.Item, x timeline.Cell) {
	from, to := max(x.From, ch.Sampling.Start), min(x.To, ch.Sampling.End)
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
		spread(near, from, to, ch.closeBy(), kind, moved{bytes, bytes / allocation.RAM.PerPriceUnit() * price})
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
func (ch *Charger) closeBy() int64 { return max(0, ch.Margin()/2-ch.Sampling.Interval) }

// spread adds m of a kind, evenly over (from, to], to the shift that is nearest at each time, if that is within reach. Of two it takes the later.
func spread(near []*shift, from, to, reach int64, kind observe.TrafficKind, m moved) {
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
var trafficColumns = [observe.NumTraffic]struct{ bytes, cost allocation.Column }{
	observe.Transmitted:    {allocation.NetworkTransferBytes, allocation.NumColumns},
	observe.Received:       {allocation.NetworkReceiveBytes, allocation.NumColumns},
	observe.EgressZone:     {allocation.NetworkEgressBytes, allocation.NetworkCrossZoneCost},
	observe.EgressRegion:   {allocation.NetworkEgressBytes, allocation.NetworkCrossRegionCost},
	observe.EgressInternet: {allocation.NetworkEgressBytes, allocation.NetworkInternetCost},
}

// chargeTraffic divides what each pod moved among its containers, and makes the network assets.
func (ch *Charger) chargeTraffic(pods []*podUse) {
	for _, p := range observe.Each(&ch.Limits, slices.All(pods)) {
		ch.holdTraffic(p) // for all pods before any is charged: it may add to another pod of the name
	}
	for _, p := range observe.Each(&ch.Limits, slices.All(pods)) {
		for i := range p.shifts {
			x := &p.shifts[i]
			for _, row := range p.rowsOf(x) {
				for k, to := range trafficColumns {
					m := x.traffic(observe.TrafficKind(k))
					ch.AddTo(observe.RowRef{Set: x.set, Row: row}, to.bytes, m.bytes/float64(x.n))
					if m.cost != 0 {
						ch.AddTo(observe.RowRef{Set: x.set, Row: row}, to.cost, m.cost/float64(x.n))
					}
				}
			}
		}
	}
	for i := range observe.Each(&ch.Limits, slices.All(ch.Sets[ch.First:ch.Last])) {
		s := ch.Sets[ch.First+i]
		s.Networks = ch.networks(ch.Rows[ch.First+i])
		ch.priceNetworks(s)
	}
	ch.warnDefaultEgress()
}

// networks returns an asset for the traffic of each cluster. A cluster with bytes but no cost has one, too, because a bill may give it a
// cost.
func (ch *Charger) networks(rows *allocation.Rows) []allocation.Network {
	of := map[allocation.ID]*allocation.Network{}
	for row, cluster := range rows.IDs(allocation.Cluster) {
		zone, region, internet := rows.Value(allocation.NetworkCrossZoneCost, row), rows.Value(allocation.NetworkCrossRegionCost, row), rows.Value(allocation.NetworkInternetCost, row)
		if zone+region+internet+rows.Value(allocation.NetworkTransferBytes, row)+rows.Value(allocation.NetworkReceiveBytes, row) == 0 {
			continue
		}
		ran := rows.Window(row)
		n, ok := of[cluster]
		if !ok {
			n = &allocation.Network{Cluster: ch.Dict.Text(cluster), Start: ran.Start, End: ran.End}
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
