package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// largestMachine is more than any machine has: a node above it is virtual.
var largestMachine = [allocation.NumResources]float64{allocation.CPU: 2000, allocation.RAM: 64 << 40}

// findMarks finds whether labels or taints mark a node as virtual, and as one of AWS Fargate.
func findMarks(n *observe.Node) {
	n.ByPods, n.Fargate = labelnames.IsVirtual(n.LabelMap), labelnames.IsFargate(n.LabelMap)
	for _, x := range n.Reported.Taints {
		virtual, fargate := labelnames.IsVirtualTaint(x.Value.Key.Value(), x.Value.Value.Value())
		n.ByPods, n.Fargate = n.ByPods || virtual, n.Fargate || fargate
	}
}

// findBilling finds the nodes that are billed by their pods: those that are marked as virtual, those that the price sheet names, and those that are larger than
// any machine. They have no capacity of their own.
func (rs *Resolver) findBilling() {
	var large []string
	for _, n := range observe.Each(&rs.Limits, slices.All(rs.SortedNodes())) {
		n.ByPods = n.ByPods || n.RateAt(rs.End()).ByPods
		for r, most := range largestMachine {
			if most > 0 && !n.ByPods && slices.ContainsFunc(n.Amount[r], func(x timeline.Step) bool { return x.V > most }) {
				n.ByPods = true
				large = append(large, rs.Placed(n.Cluster, n.Name.Value()))
			}
		}
		if n.ByPods {
			n.Amount, n.Allocatable, n.Disk = [allocation.NumResources]timeline.Steps{}, [allocation.NumResources]timeline.Steps{}, nil
		}
	}
	rs.Count(notices.LargeNodes, large)
}

// size is what is billed for a pod of a resource, nothing where that is what its containers are allocated: the capacity that its provider says that it has, else on
// Fargate what that rounds its requests up to.
func (rs *Resolver) size(p *observe.Pod, r allocation.Resource) timeline.Steps {
	nodes := rs.Nodes.ByName[observe.NodeKey{Cluster: p.Cluster, Name: p.Node.Value}]
	if len(nodes) == 0 || !nodes[len(nodes)-1].ByPods {
		return nil
	}
	told := rs.FillGaps(p.Provisioned[r])
	if !nodes[len(nodes)-1].Fargate || r == allocation.GPU {
		return told
	}
	cores, bytes := rs.largestRequest(p, allocation.CPU), rs.largestRequest(p, allocation.RAM)
	edges := timeline.SortedEdges(bytes.Edges(cores.Edges(p.Seen.Edges(nil))))
	var rounded timeline.Steps
	for i := 1; i < len(edges); i++ {
		of := [allocation.NumResources]float64{}
		of[allocation.CPU], of[allocation.RAM] = fargateSize(cores.Value(edges[i]), bytes.Value(edges[i]))
		rounded = append(rounded, timeline.Step{From: edges[i-1], To: edges[i], V: of[r]})
	}
	return timeline.Overlay(told, rs.FillGaps(rounded))
}

// largestRequest is what the containers of a pod request that run at once, or its largest init container if that is more.
func (rs *Resolver) largestRequest(p *observe.Pod, r allocation.Resource) timeline.Steps {
	var sum, largest timeline.Steps
	for _, c := range p.Containers {
		request := rs.FillGaps(c.Request[r].Best())
		if !c.Init || rs.besideOthers(c, c.Running.Best()) {
			sum = timeline.Sum(sum, request)
		} else {
			largest = timeline.Max(largest, request)
		}
	}
	return timeline.Max(sum, largest)
}

// fargateSizes are the sizes of pods on Fargate: cores, and the GiB that they come with, from the least to the most in steps.
var fargateSizes = []struct{ cores, least, most, step float64 }{
	{0.25, 0.5, 0.5, 0.5}, {0.25, 1, 2, 1}, {0.5, 1, 4, 1}, {1, 2, 8, 1}, {2, 4, 16, 1}, {4, 8, 30, 1}, {8, 16, 60, 4}, {16, 32, 120, 8},
}

// fargateSize is the smallest size that holds requests, and the 256 MiB that Fargate adds for its own programs.
func fargateSize(cores, bytes float64) (sizeCores, sizeBytes float64) {
	const gib, own = 1 << 30, 256 << 20
	for _, x := range fargateSizes {
		if x.cores < cores {
			continue
		}
		for size := x.least; size <= x.most; size += x.step {
			if size*gib >= bytes+own {
				return x.cores, size * gib
			}
		}
	}
	return cores, bytes + own
}
