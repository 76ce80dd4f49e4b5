package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
)

// findMachines assigns each machine to its node: by name, else by the address that the exporter is scraped at.
func (ch *Charger) findMachines() {
	for key, m := range ch.Nodes.Machines {
		for _, n := range ch.Nodes.ByName[key] {
			ch.nodeUse(n).machine = m
		}
	}
	for _, key := range observe.Each(&ch.Limits, slices.All(observe.SortedNodeKeys(ch.Nodes.Machines))) {
		if ch.Nodes.ByName[key] != nil {
			continue
		}
		for _, n := range ch.Nodes.ByName[observe.NodeKey{Cluster: key.Cluster, Name: ch.NodeAt(key.Cluster, key.Name)}] {
			if use := ch.nodeUse(n); use.machine == nil {
				use.machine = ch.Nodes.Machines[key]
			}
		}
	}
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
func (ch *Charger) cpuOf(m *observe.Machine, set int, joined bool) (out allocation.Breakdown) {
	from, to := m.Times[set], m.Times[set+1]
	if to == nil && int(ch.SetAt(m.Last.At)) == set {
		to = m.Last.Times
	}
	if from == nil || to == nil { // use those of the whole window
		if from, to = m.Times[ch.First], m.Times[ch.Last]; to == nil {
			to = m.Last.Times
		}
	}
	if from == nil && !joined {
		if from = m.First.Times; from == nil {
			return allocation.Breakdown{}
		}
	}
	total := 0.0
	for _, mode := range observe.SortedSymbols(to) {
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
func ram(m *observe.Machine, set int) allocation.Breakdown {
	total, known := m.Memory[observe.MemoryTotal].InSet(set)
	available, there := m.Memory[observe.MemoryAvailable].InSet(set)
	if !known || !there {
		return allocation.Breakdown{}
	}
	available = min(available, total)
	buffers, _ := m.Memory[observe.MemoryBuffers].InSet(set)
	cached, _ := m.Memory[observe.MemoryCached].InSet(set)
	other := min(buffers+cached, available)
	return fractions(allocation.Breakdown{Idle: available - other, Other: other, User: total - available}, total)
}

// breakDown fills in what a node's capacity was used for, and the share of it that is not allocatable at t.
func (ch *Charger) breakDown(n *nodeUse, asset *allocation.Node, set int, t int64) {
	if n.machine != nil {
		joined := n.Joined(n.FirstSeen(), ch.Start())
		asset.CPUBreakdown, asset.RAMBreakdown = ch.cpuOf(n.machine, set, joined), ram(n.machine, set)
	}
	for r, allocatable := range n.Allocatable {
		if capacity := n.Amount[r].Value(t); capacity > 0 && len(allocatable) > 0 {
			asset.Overhead[r] = min(1, max(0, 1-allocatable.Value(t)/capacity))
		}
	}
}
