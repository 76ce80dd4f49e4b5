package resolve

import (
	"math"
	"regexp"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// The bytes that a node's own disk may have. Smaller devices are partitions to boot from.
const (
	leastDisk = 1 << 30
	mostDisk  = 1 << 50
)

// diskByCapacity is the rank of the size of a node's own disk that the node itself gives, as its ephemeral storage. Others are of devices.
const diskByCapacity = 0

// device is a file system that a node's kubelet sees, and its size at one time.
type device struct {
	name   signals.Symbol
	disk   string // which it is a partition of, "" if it lies on other devices
	sizes  timeline.Steps
	size   float64        // now; 0 if that is not known
	counts bool           // now
	other  timeline.Steps // 0 while it counts, else 1
}

// partition reads the disk in the name of a device.
var partition = regexp.MustCompile(`^(?:/dev/)?((?:sd|vd|xvd)[a-z]+|nvme\d+n\d+|mmcblk\d+)(?:p?\d+)?$`)

// placeDisks finds the nodes of disks, which series may name by their addresses.
func (rs *Resolver) placeDisks() {
	for _, key := range observe.Each(&rs.Limits, slices.All(observe.SortedNodeKeys(rs.Nodes.Disks))) {
		nodes := rs.Nodes.ByName[observe.NodeKey{Cluster: key.Cluster, Name: rs.NodeAt(key.Cluster, key.Name)}]
		if len(nodes) == 0 {
			continue
		}
		disks := nodes[0].Reported.Disks
		if disks == nil {
			disks = timeline.RankedBy[signals.Symbol]{}
			nodes[0].Reported.Disks = disks
		}
		for name, ranked := range rs.Nodes.Disks[key] {
			for rank, steps := range ranked {
				disks.Add(name, rank, steps)
			}
		}
	}
}

// findDisks finds the sizes of the nodes' own disks.
func (rs *Resolver) findDisks() {
	var excessive []string
	for _, n := range observe.Each(&rs.Limits, slices.All(rs.SortedNodes())) {
		if rs.findDisk(n) {
			excessive = append(excessive, rs.Placed(n.Cluster, n.Name.Value()))
		}
	}
	rs.Count(notices.ExcessiveDisks, excessive)
}

// diskDevices returns what a node gives as its ephemeral storage, and the file systems that its kubelet sees, by name.
func (rs *Resolver) diskDevices(n *observe.Node) (capacity timeline.Steps, devices []device) {
	for name, ranked := range n.Reported.Disks {
		for rank, steps := range ranked {
			switch {
			case rank == diskByCapacity:
				capacity = timeline.Max(capacity, rs.FillGaps(steps))
			case len(steps) > 0:
				x := device{name: name, sizes: steps}
				if of := partition.FindStringSubmatch(name.Value()); of != nil {
					x.disk = of[1]
				}
				devices = append(devices, x)
			}
		}
	}
	slices.SortFunc(devices, func(x, y device) int { return signals.Compare(x.name, y.name) })
	return capacity, devices
}

// findDisk finds the size of a node's own disk, and which devices are no part of it when. It reports whether a size within the window is left out.
func (rs *Resolver) findDisk(n *observe.Node) (excessive bool) {
	capacity, devices := rs.diskDevices(n)
	edges := capacity.Edges(nil)
	for k := range devices {
		edges = devices[k].sizes.Edges(edges)
	}
	edges = timeline.SortedEdges(edges)
	for i := 1; i < len(edges); i++ {
		now := timeline.Interval{From: edges[i-1], To: edges[i]}
		known := func(size float64) float64 {
			if size > mostDisk {
				excessive = excessive || len(rs.Asked(n.Life.Clip(now.From, now.To))) > 0
				return 0
			}
			return max(0, size)
		}
		size := known(capacity.Value(now.To))
		for k := range devices {
			devices[k].size, devices[k].counts = known(devices[k].sizes.Value(now.To)), false
		}
		if size > 0 {
			countNearest(devices, size)
		} else {
			size = countDistinct(devices)
		}
		if size > 0 {
			n.Disk = append(n.Disk, timeline.Step{From: now.From, To: now.To, V: size})
		}
		for k := range devices {
			x := timeline.Step{From: now.From, To: now.To, V: 1}
			if devices[k].counts {
				x.V = 0
			}
			if _, told := devices[k].sizes.At(now.To); told {
				devices[k].other = append(devices[k].other, x)
			}
		}
	}
	n.Disk = rs.FillGaps(n.Disk)
	n.OtherDisks = make(map[signals.Symbol]timeline.Intervals, len(devices))
	for _, x := range devices {
		n.OtherDisks[x.name] = timeline.Union(timeline.AppendIntervals(nil, rs.FillGaps(x.other).Positive()))
	}
	return excessive
}

// countNearest counts the device that is nearest to a size in its own, of those of one size the first.
func countNearest(devices []device, size float64) {
	nearest := -1
	distance := func(k int) float64 { return math.Abs(devices[k].size - size) }
	for k := range devices {
		if devices[k].size > 0 && (nearest < 0 || distance(k) < distance(nearest)) {
			nearest = k
		}
	}
	if nearest >= 0 {
		devices[nearest].counts = true
	}
}

// countDistinct counts the largest partition of each disk, and of the devices that lie on others, such as those of LVM, those whose size no
// other has: the devices of a stack have one size. It returns the sum of their sizes.
func countDistinct(devices []device) (sum float64) {
	largest := map[string]int{}
	sizes := map[float64]bool{}
	for k, x := range devices {
		if x.disk == "" || x.size < leastDisk {
			continue
		}
		if was, ok := largest[x.disk]; !ok || devices[was].size < x.size {
			largest[x.disk] = k
		}
		sizes[x.size] = true
	}
	for k := range devices {
		x := &devices[k]
		if x.size < leastDisk {
			continue
		}
		if x.disk != "" {
			x.counts = largest[x.disk] == k
		} else {
			x.counts = !sizes[x.size]
			sizes[x.size] = true
		}
		if x.counts {
			sum += x.size
		}
	}
	return sum
}
