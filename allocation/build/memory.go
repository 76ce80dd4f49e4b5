package build

import (
	"slices"
	"sort"
	"unsafe"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// The memory for one object besides its samples, in bytes: its struct, its name and the indexes that find it. objectMemory is
// for the kinds with few objects.
const (
	containerMemory = 2 << 10
	podMemory       = 2 << 10
	objectMemory    = 1 << 10
)

// rowMemory is the memory for a container in one set, in bytes: its row in the columns, which grow up to a quarter beyond
// what they need, and its running time.
const rowMemory = (int64(allocation.NumColumns)*8+int64(allocation.NumProperties)*int64(unsafe.Sizeof(allocation.ID(0)))+24)*5/4 +
	int64(unsafe.Sizeof(segment{})+unsafe.Sizeof(rowRef{})) + shiftMemory

// shiftMemory is the memory for the time in which the containers of a pod share its traffic.
const shiftMemory = 64

// memory estimates, from what was added so far, how many bytes the process needs for the sets and their sources.
func (b *Builder) memory() int64 {
	n := b.dict.Memory() + int64(len(b.windows))*allocation.SetBytes
	for c := range b.every() {
		n += containerMemory + b.rowsOf(c)*rowMemory + timeline.StepBytes(c.started, c.created, c.ended, c.restarts)
		n += c.running.Bytes()
		for r := range allocation.NumResources {
			n += c.request[r].Bytes() + c.limit[r].Bytes()
		}
	}
	for p := range b.everyPod() {
		n += podMemory + timeline.StepBytes(p.seen, p.active, p.pending, p.born, p.completed, p.deleted, p.final)
		for i := range p.placements {
			n += objectMemory + timeline.StepBytes(p.placements[i].seen)
		}
	}
	for node := range b.everyNode() {
		n += b.diskMemory(node)
	}
	others := len(b.nodes.byName) + len(b.pods.namespaces) + len(b.pods.owners) + len(b.services.balancers) + len(b.services.labels) + len(b.nodes.machines) + len(b.nodes.addresses)
	return withGarbage(n + int64(others)*objectMemory)
}

// withGarbage is the memory that a process needs to hold so many bytes, garbage included. The factor was measured with clusters of 300 and
// 3,000 pods, over a day in sets of a day, an hour and ten minutes.
func withGarbage(held int64) int64 { return held * 17 / 10 }

// rowsOf is the number of sets that a container is in.
func (b *Builder) rowsOf(c *container) int64 {
	first, last := b.setsOf(c)
	return int64(last - first)
}

// reserveRows makes room for the rows of all containers in the sets that they are seen in.
func (b *Builder) reserveRows() {
	more := make([]int, len(b.sets)+1) // rows more than in the set before
	for _, c := range each(&b.limits, slices.All(b.pods.order)) {
		first, last := b.setsOf(c)
		more[first]++
		more[last]--
	}
	n := 0
	for i, rows := range each(&b.limits, slices.All(b.rows)) {
		n += more[i]
		rows.Reserve(n)
		for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} { // usage is added to these
			for _, measure := range [...]allocation.Measure{allocation.Hours, allocation.UsageHours, allocation.UsageMax, allocation.Cost} {
				rows.Column(measure.Of(r))
			}
		}
	}
}

// dropUsage drops what usage and traffic were integrated with, to free memory before sets are finished.
func (b *Builder) dropUsage() {
	b.uses.containers = nil
	for _, p := range b.uses.pods {
		if p != nil {
			p.flows, p.ended = nil, nil
		}
	}
	for c := range b.every() {
		c.devices = nil
	}
}

// setsOf are the sets [first, last) that were asked for and that a container is seen in. There are none if its rows are of another shard.
func (b *Builder) setsOf(c *container) (first, last int) {
	begun := func(t int64) int { // how many sets have begun by t
		return sort.Search(len(b.borders), func(i int) bool { return b.borders[i] >= t })
	}
	from, to := int64(-1), int64(-1)
	for _, steps := range c.running {
		if n := len(steps); n > 0 {
			if first := steps[0].From; from < 0 || first < from {
				from = first
			}
			to = max(to, steps[n-1].To)
		}
	}
	if from < 0 || !b.hasRows(c.pod) {
		return 0, 0
	}
	first = min(max(1, begun(from+1)), len(b.windows)) - 1
	last = min(max(first+1, begun(to)), b.last)
	first = max(first, b.first)
	return first, max(first, last)
}
