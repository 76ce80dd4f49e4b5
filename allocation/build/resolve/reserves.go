package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// findReserves finds what pods reserve beyond what their containers request: pod-level resources and overhead (SEMANTICS §3).
func (rs *Resolver) findReserves() {
	for p := range rs.EveryPod() {
		var found [allocation.NumResources]observe.Reserve
		for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} {
			found[r] = rs.reserve(p, r)
		}
		claimed := rs.claimed(p)
		found[allocation.GPU] = observe.Reserve{Inits: claimed, Mains: claimed}
		if slices.ContainsFunc(found[:], func(x observe.Reserve) bool { return len(x.Inits)+len(x.Mains) > 0 }) {
			p.Reserve = &found
		}
	}
}

// reserve is what a pod reserves of a resource: what the scheduler says, else what its containers request and its overhead.
func (rs *Resolver) reserve(p *observe.Pod, r allocation.Resource) observe.Reserve {
	if size := rs.size(p, r); len(size) > 0 {
		return observe.Reserve{Inits: size, Mains: size}
	}
	told := rs.scheduled(p, r)
	if len(told) == 0 && len(p.Overhead[r]) == 0 {
		return observe.Reserve{}
	}
	var base, sidecars, peak timeline.Steps // what the containers request that may run at once; the sidecars; the largest of an init container
	var asked timeline.Steps                // what the former ask for, if that is more: a resize may wait
	for _, c := range p.Containers {
		request := rs.FillGaps(c.Request[r].Best())
		switch {
		case !c.Init:
			base, asked = timeline.Sum(base, request), timeline.Sum(asked, rs.FillGaps(c.Request[r].Largest()))
		case rs.besideOthers(c, c.Running.Best()):
			base, sidecars = timeline.Sum(base, request), timeline.Sum(sidecars, request)
			asked = timeline.Sum(asked, rs.FillGaps(c.Request[r].Largest()))
		default:
			peak = timeline.Max(peak, request)
		}
	}
	overhead := rs.FillGaps(p.Overhead[r])
	whole := timeline.Sum(base, overhead)
	least := timeline.Within(whole, timeline.Ones(overhead))
	// Schedulers report what is asked for. Where that is no more than what the containers ask for, what is allocated counts.
	told = timeline.Overlay(timeline.Above(told, timeline.Sum(asked, overhead)), timeline.Within(whole, timeline.Ones(told)))
	out := observe.Reserve{Inits: timeline.Overlay(told, least), Mains: timeline.Overlay(told, least)}
	if len(peak) > 0 { // what only an init container explains is free again once the init containers have ended
		explained := timeline.Sum(timeline.Sum(peak, sidecars), overhead)
		out.Mains = timeline.Overlay(timeline.Above(out.Mains, explained), least)
	}
	return out
}

// claimed is how many devices the claims of a pod hold, one each, while no exporter on its node says which, and the node has GPUs.
func (rs *Resolver) claimed(p *observe.Pod) (sum timeline.Steps) {
	if len(p.Claims) == 0 {
		return nil
	}
	node := observe.NodeKey{Cluster: p.Cluster, Name: p.Node.Value}
	gpus := slices.ContainsFunc(rs.Nodes.ByName[node], func(n *observe.Node) bool { return !n.Amount[allocation.GPU].IsZero() })
	if !gpus {
		return nil
	}
	for _, claim := range p.Claims {
		sum = timeline.Sum(sum, rs.FillGaps(claim.Steps))
	}
	if rs.Pods.ClaimsByDevice[p.Cluster] {
		var told timeline.Steps
		for _, device := range rs.Nodes.Devices[node] {
			told = timeline.Max(told, rs.FillGaps(device))
		}
		sum = timeline.Without(sum, told)
	}
	return sum
}

// scheduled is what schedulers reserve for a pod on its node.
func (rs *Resolver) scheduled(p *observe.Pod, r allocation.Resource) (out timeline.Steps) {
	for _, x := range rs.Pods.Reserved[p.ObjectKey] {
		if x.Resource == r && (x.Node == p.Node.Value || x.Node == observe.None || !p.Node.Known()) {
			out = timeline.Max(out, rs.FillGaps(x.Steps))
		}
	}
	return out
}
