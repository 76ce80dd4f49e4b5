package build

import (
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
)

// foreign reports whether a node is another shard's.
func (b *Builder) foreign(n *node) bool { return !b.shard.Has(n.cluster.Value(), n.name.Value()) }

// Sharded reports whether the builder makes only one shard of the sets.
func (b *Builder) Sharded() bool { return !b.shard.Whole() }

// LeaveOthers leaves out the pods that only other shards need, whose details need not be added. Call it once it is known where pods
// are, and add details afterwards. It leaves none out where the costs of this shard may depend on when containers of others ran:
// where nothing is seen at an end of the window, or no node of a cluster for a time.
func (b *Builder) LeaveOthers() {
	b.findAbsence()
	if b.unseenBefore() || b.last < len(b.windows) && b.unseenAfter() {
		return
	}
	lives := map[signals.Symbol]bool{} // whether a node of the cluster lived throughout the window
	for n := range b.everyNode() {
		lives[n.cluster] = lives[n.cluster] || b.livesThroughout(n)
	}
	balanced, mounting := b.balancedPods(), b.mountingPods()
	for _, pods := range each(b, maps.All(b.pods.byName)) {
		others := !slices.ContainsFunc(pods, func(p *pod) bool { return !lives[p.cluster] || b.concernsShard(p) || balanced(p) || mounting(p) })
		for _, p := range pods {
			p.foreign = others
		}
	}
}

// livesThroughout reports whether a node was seen throughout the window, so that it lived then whatever ran on it.
func (b *Builder) livesThroughout(n *node) bool {
	if len(n.lifespans()) > 1 {
		return false
	}
	runs := b.nodeRuns(n, n.reported.seen)
	return runs.Intervals().Clip(b.start(), b.end()).Length() == b.end()-b.start()
}

// concernsShard reports whether this shard has the rows of a pod, or may have them: it is not known which node the pod is on.
func (b *Builder) concernsShard(p *pod) bool {
	nodes := b.nodes.byName[nodeKey{p.cluster, p.node.Value}]
	return p.uid == none || !p.node.Known() || len(nodes) == 0 || !b.foreign(nodes[0])
}

// mountingPods returns whether a pod shares a volume with one of this shard, or its time decides when nobody mounts the volume, which
// is charged here.
func (b *Builder) mountingPods() func(p *pod) bool {
	own := map[objectKey]bool{} // claims
	for p := range b.everyPod() {
		for _, claim := range p.mounts {
			key := objectKey{p.cluster, p.namespace, claim}
			own[key] = own[key] || b.shard.Has(p.cluster.Value(), "") || b.concernsShard(p)
		}
	}
	return func(p *pod) bool {
		return slices.ContainsFunc(p.mounts, func(claim signals.Symbol) bool { return own[objectKey{p.cluster, p.namespace, claim}] })
	}
}

// balancedPods returns whether a pod may be behind a load balancer, whose cost it shares with others.
func (b *Builder) balancedPods() func(p *pod) bool {
	selecting := map[objectKey]bool{} // namespaces where pods are selected by their labels, which are details
	for key := range b.services.balancers {
		if b.services.behind.Selects(key.named()) {
			selecting[objectKey{key.cluster, key.namespace, none}] = true
		}
	}
	isBalancer := func(x services.Object) bool {
		_, ok := b.services.balancers[objectKey{x.Cluster, x.Namespace, x.Name}]
		return ok
	}
	return func(p *pod) bool {
		return selecting[objectKey{p.cluster, p.namespace, none}] || b.services.behind.MayBeBehind(&services.Pod{Object: p.named(), Address: p.address}, isBalancer)
	}
}

// Foreign reports whether a series need not be added: details of pods that LeaveOthers left out and, after Resolve, usage and traffic
// that belong only to nodes of other shards.
func (b *Builder) Foreign(series signals.Series, key []signals.Symbol) bool {
	if b.shard.Whole() || len(key) < len(series.Signal.Key()) || series.Signal == signals.ClaimUsed {
		return false
	}
	s := seen{key: key}
	if b.phase == gathering {
		if !series.Signal.IsDetail() {
			return false
		}
		p := b.pods.byKey[s.pod()]
		return p != nil && p.foreign
	}
	if series.Signal == signals.NodeDiskUsed {
		nodes := b.nodesAt(&s)
		return len(nodes) > 0 && b.foreign(nodes[0])
	}
	var of []*container
	if series.Signal.IsTraffic() {
		pods := b.pods.byName[s.object()]
		if p, ok := b.pods.byKey[s.pod()]; ok {
			pods = []*pod{p}
		}
		for _, p := range pods {
			if len(p.containers) == 0 && !p.foreign {
				return false
			}
			of = append(of, p.containers...)
		}
	} else if c := b.pods.byKey[s.pod()].container(key[4]); c != nil {
		of = []*container{c}
	} else {
		of = slices.Collect(b.named(s.object(), key[4]))
	}
	for _, c := range of {
		if !c.pod.foreign && (c.node == nil || !b.foreign(c.node)) {
			return false
		}
	}
	return len(of) > 0
}
