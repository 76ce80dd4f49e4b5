package build

import (
	"cmp"
	"math"
	"net"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// machine is what node_exporter reports about the use of a node's CPU and memory.
type machine struct {
	times       []map[signals.Symbol]float64 // CPU seconds by mode, since the node started, at each border of a set; nil where unknown
	first, last reading                      // the first and the last reading between the borders
	memory      [numMemory]levelSum
}

// reading has CPU seconds by mode at an instant.
type reading struct {
	at    int64
	times map[signals.Symbol]float64 // nil where there is none
}

// add takes the seconds of one core. A better instant replaces the reading of another instant.
func (x *reading) add(at int64, mode signals.Symbol, seconds float64, better bool) {
	if x.times == nil || better {
		*x = reading{at, map[signals.Symbol]float64{}}
	}
	if x.at == at {
		x.times[mode] += seconds
	}
}

// memoryKind is a figure about a node's memory.
type memoryKind uint8

const (
	memoryTotal memoryKind = iota
	memoryAvailable
	memoryBuffers
	memoryCached
	numMemory
)

// levelSum has, for each set, the integral of a gauge and the seconds in which its value is known.
type levelSum []struct{ sum, seconds float64 }

func (a levelSum) inSet(set int) (float64, bool) {
	if a == nil || a[set].seconds == 0 {
		return 0, false
	}
	return a[set].sum / a[set].seconds, true
}

func (b *Builder) machineOf(s *incoming) *machine {
	key := nodeKey{s.key[0], s.key[1]}
	m, ok := b.nodes.machines[key]
	if !ok {
		m = &machine{times: make([]map[signals.Symbol]float64, len(b.borders))}
		b.nodes.machines[key] = m
	}
	return m
}

// mostBorders limits at how many borders of sets within the window, and in how many stretches between them, nodes' counters are read.
const mostBorders = 26

// reads reports whether nodes' counters are read at a border: at all borders, or only at the first and the last if there are many.
func (b *Builder) reads(border int) bool {
	return border == b.first || border == b.last || b.last-b.first < mostBorders && border > b.first && border < b.last
}

// borderSpans returns when counters of nodes are needed: in the lookback before each border of a set (or before the first and the
// last one if there are many), and between borders where nodes join or leave. Of the spans in last only the last value is needed, of
// those in whole all values.
func (b *Builder) borderSpans() (last, whole []Span) {
	var before timeline.Intervals
	for border := b.first; border <= b.last; border++ {
		if !b.reads(border) {
			continue
		}
		at := b.borders[border]
		before = append(before, timeline.Interval{From: at - b.sampling.Lookback, To: at + 1})
		if x := (Span{at - b.sampling.Lookback + 1, at}); b.leavesIn(x) {
			whole = append(whole, x) // a node has no value at its end
		} else {
			last = append(last, x)
		}
	}
	between := timeline.Union(append(b.firstSights(), b.lastSights()...))
	for _, x := range between.Joined(mostBorders).Without(before) {
		whole = append(whole, Span{x.From, x.To})
	}
	return last, whole
}

// leavesIn reports whether some node is last seen within x.
func (b *Builder) leavesIn(x Span) bool {
	for n := range b.everyNode() {
		if seen := n.lastSeen(); x.Start <= seen && seen < x.End {
			return true
		}
	}
	return false
}

// lastSeen is when the node is last seen, 0 if never.
func (n *node) lastSeen() (last int64) {
	for _, steps := range [...]timeline.Steps{n.reported.seen, n.reported.capacity[allocation.CPU].Best()} {
		if len(steps) > 0 {
			last = max(last, steps[len(steps)-1].To)
		}
	}
	return last
}

// firstSights are the spans in which nodes are first seen that existed before the window. They leave out the lookbacks before
// borders of sets.
func (b *Builder) firstSights() (all timeline.Intervals) {
	borders, lookback := b.borders[b.first:b.last+1], b.sampling.Lookback
	start := borders[0]
	for n := range b.everyNode() {
		seen := n.firstSeen()
		if seen <= start-lookback || n.joined(seen, start) {
			continue
		}
		next, _ := slices.BinarySearch(borders, max(seen, start+1))
		if next == len(borders) {
			continue
		}
		x := timeline.Interval{From: max(seen, start+1), To: min(seen+lookback, borders[next]-lookback)}
		if x.From < x.To {
			all = append(all, x)
		}
	}
	return all
}

// lastSights are the lookbacks before nodes are last seen. They leave out the lookbacks before borders that are read.
func (b *Builder) lastSights() (all timeline.Intervals) {
	for n := range b.everyNode() {
		seen := n.lastSeen()
		set := int(b.setAt(seen))
		if set < b.first || set >= b.last || b.reads(set+1) && seen > b.borders[set+1]-b.sampling.Lookback {
			continue
		}
		all = append(all, timeline.Interval{From: max(seen-b.sampling.Lookback, b.borders[set]) + 1, To: seen})
	}
	return all
}

// firstSeen is when the node is first seen, math.MaxInt64 if never.
func (n *node) firstSeen() int64 {
	first := int64(math.MaxInt64)
	for _, steps := range [...]timeline.Steps{n.reported.seen, n.reported.capacity[allocation.CPU].Best()} {
		if len(steps) > 0 {
			first = min(first, steps[0].From)
		}
	}
	return first
}

// joined reports whether a node that is first seen at seen did not exist before start. Its creation time decides; without one, it
// did not exist before it was seen.
func (n *node) joined(seen, start int64) bool {
	if len(n.reported.created) == 0 {
		return seen > start
	}
	return n.reported.created[0].V*1000 > float64(start)
}

// addNodeTime takes the CPU time of one mode and core: its value at the border after the samples if that is read, else at the first and
// the last sample.
func (b *Builder) addNodeTime(s *incoming) error {
	v, ok := s.p.LastUsable()
	border := int(b.setAt(s.p.Last()) + 1)
	if !ok || border < b.first || border > b.last {
		return nil
	}
	m, mode, last := b.machineOf(s), s.key[2], s.p.Last()
	if b.reads(border) && last > b.borders[border]-b.sampling.Lookback {
		if m.times[border] == nil {
			m.times[border] = map[signals.Symbol]float64{}
		}
		m.times[border][mode] += v
		return nil
	}
	first := s.p.First()
	if !b.sampling.Exact() {
		first = b.sampling.Align(first-1) + b.sampling.Cell()
	}
	value, _ := b.sampling.SeenAt(s.p, first)
	m.first.add(first, mode, value, first < m.first.at)
	m.last.add(last, mode, v, last > m.last.at)
	return nil
}

func (b *Builder) addMemoryTotal(s *incoming) error     { return b.addNodeMemory(s, memoryTotal) }
func (b *Builder) addMemoryAvailable(s *incoming) error { return b.addNodeMemory(s, memoryAvailable) }
func (b *Builder) addMemoryBuffers(s *incoming) error   { return b.addNodeMemory(s, memoryBuffers) }
func (b *Builder) addMemoryCached(s *incoming) error    { return b.addNodeMemory(s, memoryCached) }

func (b *Builder) addNodeMemory(s *incoming, kind memoryKind) error {
	m := b.machineOf(s)
	if m.memory[kind] == nil {
		m.memory[kind] = make(levelSum, len(b.windows))
	}
	b.cells = b.sampling.Gauge(b.cells[:0], s.p)
	for _, x := range b.cells {
		b.eachPart(x.From, x.To, func(set int32, from, to int64) {
			at := &m.memory[kind][set]
			at.sum += timeline.Part{From: x.From, To: x.To, Amount: x.Amount}.Clip(from, to).Amount
			at.seconds += float64(to-from) / 1000
		})
	}
	return nil
}

func (b *Builder) addNodeAddress(s *incoming) error {
	if s.key[2] != none {
		b.nodes.addresses[nodeKey{s.key[0], s.key[2]}] = s.key[1]
	}
	return nil
}

// findMachines assigns each machine to its node: by name, else by the address that the exporter is scraped at.
func (b *Builder) findMachines() {
	for key, m := range b.nodes.machines {
		for _, n := range b.nodes.byName[key] {
			b.nodeUse(n).machine = m
		}
	}
	for _, key := range each(&b.limits, slices.All(sortedNodeKeys(b.nodes.machines))) {
		m := b.nodes.machines[key]
		if b.nodes.byName[key] != nil {
			continue
		}
		host, _, err := net.SplitHostPort(key.name.Value())
		if err != nil {
			host = key.name.Value()
		}
		name := b.symbols.Of(host)
		if at, ok := b.nodes.addresses[nodeKey{key.cluster, name}]; ok {
			name = at
		}
		for _, n := range b.nodes.byName[nodeKey{key.cluster, name}] {
			if use := b.nodeUse(n); use.machine == nil {
				use.machine = m
			}
		}
	}
}

// sortedNodeKeys are the keys of m by cluster and name.
func sortedNodeKeys[V any](m map[nodeKey]V) []nodeKey {
	keys := make([]nodeKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y nodeKey) int {
		return cmp.Or(signals.Compare(x.cluster, y.cluster), signals.Compare(x.name, y.name))
	})
	return keys
}

// cpuModes says where each mode of node_exporter is counted. All other modes are Other.
var cpuModes = map[string]func(*allocation.Breakdown) *float64{
	"idle":    func(b *allocation.Breakdown) *float64 { return &b.Idle },
	"user":    func(b *allocation.Breakdown) *float64 { return &b.User },
	"nice":    func(b *allocation.Breakdown) *float64 { return &b.User },
	"system":  func(b *allocation.Breakdown) *float64 { return &b.System },
	"irq":     func(b *allocation.Breakdown) *float64 { return &b.System },
	"softirq": func(b *allocation.Breakdown) *float64 { return &b.System },
}

// cpuOf returns what CPU time was used for in a set, as fractions. A node that joined has counted from 0; one that left counts until
// its last reading. The result is zero, which means unknown, if the counters at the start are not known, and for margins.
func (b *Builder) cpuOf(m *machine, set int, joined bool) (out allocation.Breakdown) {
	from, to := m.times[set], m.times[set+1]
	if to == nil && int(b.setAt(m.last.at)) == set {
		to = m.last.times
	}
	if from == nil || to == nil { // use those of the whole window
		if from, to = m.times[b.first], m.times[b.last]; to == nil {
			to = m.last.times
		}
	}
	if from == nil && !joined {
		if from = m.first.times; from == nil {
			return allocation.Breakdown{}
		}
	}
	total := 0.0
	for _, mode := range sortedSymbols(to) {
		d := to[mode] - from[mode]
		if d < 0 {
			d = to[mode] // the node restarted
		}
		part := &out.Other
		if f := cpuModes[mode.Value()]; f != nil {
			part = f(&out)
		}
		*part += d
		total += d
	}
	return fractions(out, total)
}

// fractions divides b by a total. It is unknown for a total of 0.
func fractions(b allocation.Breakdown, total float64) allocation.Breakdown {
	if total <= 0 {
		return allocation.Breakdown{}
	}
	return allocation.Breakdown{Idle: b.Idle / total, Other: b.Other / total, System: b.System / total, User: b.User / total}
}

// ram returns what memory was used for in a set, as fractions: memory of processes is User, buffers and caches that can be
// reclaimed are Other.
func (m *machine) ram(set int) allocation.Breakdown {
	total, known := m.memory[memoryTotal].inSet(set)
	available, there := m.memory[memoryAvailable].inSet(set)
	if !known || !there {
		return allocation.Breakdown{}
	}
	available = min(available, total)
	buffers, _ := m.memory[memoryBuffers].inSet(set)
	cached, _ := m.memory[memoryCached].inSet(set)
	other := min(buffers+cached, available)
	return fractions(allocation.Breakdown{Idle: available - other, Other: other, User: total - available}, total)
}

// breakDown fills in what a node's capacity was used for, and the share of it that is not allocatable at t.
func (b *Builder) breakDown(n *nodeUse, asset *allocation.Node, set int, t int64) {
	if n.machine != nil {
		joined := n.joined(n.firstSeen(), b.start())
		asset.CPUBreakdown, asset.RAMBreakdown = b.cpuOf(n.machine, set, joined), n.machine.ram(set)
	}
	for r, allocatable := range n.allocatable {
		if capacity := n.amount[r].Value(t); capacity > 0 && len(allocatable) > 0 {
			asset.Overhead[r] = min(1, max(0, 1-allocatable.Value(t)/capacity))
		}
	}
}
