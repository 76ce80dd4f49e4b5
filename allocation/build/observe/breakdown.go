package observe

import (
	"math"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Machine is what node_exporter reports about the use of a node's CPU and memory.
type Machine struct {
	Times       []map[signals.Symbol]float64 // CPU seconds by mode, since the node started, at each border of a set; nil where unknown
	First, Last reading                      // the first and the last reading between the borders
	Memory      [numMemory]levelSum
}

// reading has CPU seconds by mode at an instant.
type reading struct {
	At    int64
	Times map[signals.Symbol]float64 // nil where there is none
}

// add takes the seconds of one core. A better instant replaces the reading of another instant.
func (x *reading) add(at int64, mode signals.Symbol, seconds float64, better bool) {
	if x.Times == nil || better {
		*x = reading{at, map[signals.Symbol]float64{}}
	}
	if x.At == at {
		x.Times[mode] += seconds
	}
}

// memoryKind is a figure about a node's memory.
type memoryKind uint8

// Figures about memory of node_exporter.
const (
	MemoryTotal memoryKind = iota
	MemoryAvailable
	MemoryBuffers
	MemoryCached
	numMemory
)

// levelSum has, for each set, the integral of a gauge and the seconds in which its value is known.
type levelSum []struct{ sum, seconds float64 }

// InSet is the mean of the gauge in a set. The second result says whether it is known.
func (a levelSum) InSet(set int) (float64, bool) {
	if a == nil || a[set].seconds == 0 {
		return 0, false
	}
	return a[set].sum / a[set].seconds, true
}

func (ob *Observer) machineOf(s *Incoming) *Machine {
	key := NodeKey{s.Key[0], s.Key[1]}
	m, ok := ob.Nodes.Machines[key]
	if !ok {
		m = &Machine{Times: make([]map[signals.Symbol]float64, len(ob.Borders))}
		ob.Nodes.Machines[key] = m
	}
	return m
}

// MostBorders limits at how many borders of sets within the window, and in how many stretches between them, nodes' counters are read.
const MostBorders = 26

// Reads reports whether nodes' counters are read at a border: at all borders, or only at the first and the last if there are many.
func (ob *Observer) Reads(border int) bool {
	return border == ob.First || border == ob.Last || ob.Last-ob.First < MostBorders && border > ob.First && border < ob.Last
}

// LastSeen is when the node is last seen, 0 if never.
func (n *Node) LastSeen() (last int64) {
	for _, steps := range [...]timeline.Steps{n.Reported.Seen, n.Reported.Capacity[allocation.CPU].Best()} {
		if len(steps) > 0 {
			last = max(last, steps[len(steps)-1].To)
		}
	}
	return last
}

// FirstSeen is when the node is first seen, math.MaxInt64 if never.
func (n *Node) FirstSeen() int64 {
	first := int64(math.MaxInt64)
	for _, steps := range [...]timeline.Steps{n.Reported.Seen, n.Reported.Capacity[allocation.CPU].Best()} {
		if len(steps) > 0 {
			first = min(first, steps[0].From)
		}
	}
	return first
}

// Joined reports whether a node that is first seen at seen did not exist before start. Its creation time decides; without one, it
// did not exist before it was seen.
func (n *Node) Joined(seen, start int64) bool {
	if len(n.Reported.Created) == 0 {
		return seen > start
	}
	return n.Reported.Created[0].V*1000 > float64(start)
}

// addNodeTime takes the CPU time of one mode and core: its value at the border after the samples if that is read, else at the first and
// the last sample.
func (ob *Observer) addNodeTime(s *Incoming) error {
	v, ok := s.Points.LastUsable()
	border := int(ob.SetAt(s.Points.Last()) + 1)
	if !ok || border < ob.First || border > ob.Last {
		return nil
	}
	m, mode, last := ob.machineOf(s), s.Key[2], s.Points.Last()
	if ob.Reads(border) && last > ob.Borders[border]-ob.Sampling.Lookback {
		if m.Times[border] == nil {
			m.Times[border] = map[signals.Symbol]float64{}
		}
		m.Times[border][mode] += v
		return nil
	}
	first := s.Points.First()
	if !ob.Sampling.Exact() {
		first = ob.Sampling.Align(first-1) + ob.Sampling.Cell()
	}
	value, _ := ob.Sampling.SeenAt(s.Points, first)
	m.First.add(first, mode, value, first < m.First.At)
	m.Last.add(last, mode, v, last > m.Last.At)
	return nil
}

func (ob *Observer) addMemoryTotal(s *Incoming) error { return ob.addNodeMemory(s, MemoryTotal) }

func (ob *Observer) addMemoryAvailable(s *Incoming) error {
	return ob.addNodeMemory(s, MemoryAvailable)
}

func (ob *Observer) addMemoryBuffers(s *Incoming) error { return ob.addNodeMemory(s, MemoryBuffers) }

func (ob *Observer) addMemoryCached(s *Incoming) error { return ob.addNodeMemory(s, MemoryCached) }

func (ob *Observer) addNodeMemory(s *Incoming, kind memoryKind) error {
	m := ob.machineOf(s)
	if m.Memory[kind] == nil {
		m.Memory[kind] = make(levelSum, len(ob.Windows))
	}
	ob.cells = ob.Sampling.Gauge(ob.cells[:0], s.Points)
	for _, x := range ob.cells {
		ob.EachPart(x.From, x.To, func(set int32, from, to int64) {
			at := &m.Memory[kind][set]
			at.sum += timeline.Part{From: x.From, To: x.To, Amount: x.Amount}.Clip(from, to).Amount
			at.seconds += float64(to-from) / 1000
		})
	}
	return nil
}

func (ob *Observer) addNodeAddress(s *Incoming) error {
	if s.Key[2] != None {
		ob.Nodes.Addresses[NodeKey{s.Key[0], s.Key[2]}] = s.Key[1]
	}
	return nil
}
