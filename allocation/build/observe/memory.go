package observe

import (
	"sort"
	"unsafe"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// diskMemory is the memory for the file systems of nodes: each has a timeline.Level for every set.
func (ob *Observer) diskMemory() int64 {
	n := 0
	for _, devices := range ob.Nodes.Disks {
		n += len(devices)
	}
	return int64(n) * (objectMemory + int64(len(ob.Windows))*int64(unsafe.Sizeof(timeline.Level{})))
}

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
	int64(unsafe.Sizeof(Section{})+unsafe.Sizeof(RowRef{})) + shiftMemory

// shiftMemory is the memory for the time in which the containers of a pod share its traffic.
const shiftMemory = 64

// Memory estimates, from what was added so far, how many bytes the process needs for the sets and their sources.
func (ob *Observer) Memory() int64 {
	n := ob.Dict.Memory() + int64(len(ob.Windows))*allocation.SetBytes + ob.diskMemory()
	for c := range ob.Every() {
		n += containerMemory + ob.rowsOf(c)*rowMemory + timeline.StepBytes(c.Started, c.Created, c.Ended, c.Restarts)
		n += c.Running.Bytes()
		for r := range allocation.NumResources {
			n += c.Request[r].Bytes() + c.Limit[r].Bytes()
		}
	}
	for p := range ob.EveryPod() {
		n += podMemory + timeline.StepBytes(p.Seen, p.Active, p.Pending, p.Born, p.Completed, p.Deleted, p.final)
		for i := range p.Placements {
			n += objectMemory + timeline.StepBytes(p.Placements[i].Seen)
		}
	}
	others := len(ob.Nodes.ByName) + len(ob.Pods.Namespaces) + len(ob.Pods.Owners) + len(ob.Services.Balancers) + len(ob.Services.Others) + len(ob.Services.Labels) + len(ob.Nodes.Machines) + len(ob.Nodes.Addresses)
	return withGarbage(n + int64(others)*objectMemory)
}

// withGarbage is the memory that a process needs to hold so many bytes, garbage included. The factor was measured with clusters of 300 and
// 3,000 pods, over a day in sets of a day, an hour and ten minutes.
func withGarbage(held int64) int64 { return held * 17 / 10 }

// rowsOf is the number of sets that a container is in.
func (ob *Observer) rowsOf(c *Container) int64 {
	first, last := ob.SetsOf(c)
	return int64(last - first)
}

// SetsOf are the sets [first, last) that were asked for and that a container is seen in. There are none if its rows are of another shard.
func (ob *Observer) SetsOf(c *Container) (first, last int) {
	begun := func(t int64) int { // how many sets have begun by t
		return sort.Search(len(ob.Borders), func(i int) bool { return ob.Borders[i] >= t })
	}
	from, to := int64(-1), int64(-1)
	for _, steps := range c.Running {
		if n := len(steps); n > 0 {
			if first := steps[0].From; from < 0 || first < from {
				from = first
			}
			to = max(to, steps[n-1].To)
		}
	}
	if from < 0 || !ob.HasRows(c.Pod) {
		return 0, 0
	}
	first = min(max(1, begun(from+1)), len(ob.Windows)) - 1
	last = min(max(first+1, begun(to)), ob.Last)
	first = max(first, ob.First)
	return first, max(first, last)
}
