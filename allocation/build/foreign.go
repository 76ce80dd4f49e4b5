package build

import (
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// foreignPod marks a pod whose rows other shards have.
type foreignPod struct {
	shares   bool             // the costs of this shard depend on when it ran
	statuses []signals.Symbol // else the containers that the best running signal has
}

// has reports whether the best running signal has a container of the pod. A nil pod is not foreign.
func (p *foreignPod) has(container signals.Symbol) bool {
	return p != nil && slices.Contains(p.statuses, container)
}

// isForeign reports whether only other shards need a pod.
func (p *pod) isForeign() bool { return p.foreign != nil && !p.foreign.shares }

// onlyShares reports whether other shards have the rows of a pod, and this one needs to know when it ran.
func (p *pod) onlyShares() bool { return p.foreign != nil && p.foreign.shares }

// foreign reports whether a node is another shard's.
func (b *Builder) foreign(n *node) bool { return !b.shard.Has(n.cluster.Value(), n.name.Value()) }

// Sharded reports whether the builder makes only one shard of the sets.
func (b *Builder) Sharded() bool { return !b.shard.Whole() }

// LeaveOthers leaves out the pods that only other shards need, whose details need not be added. Call it once it is known where pods
// are. Then add when containers ran, and details after Recall.
func (b *Builder) LeaveOthers() {
	lives := b.watched()
	selecting := b.selecting()
	balanced, mounting := b.balancedPods(), b.mountingPods()
	needed := func(p *pod) bool {
		return !lives[p.cluster] || b.concernsShard(p) || selecting[objectKey{p.cluster, p.namespace, none}]
	}
	for _, pods := range each(b, maps.All(b.pods.byName)) {
		others := !slices.ContainsFunc(pods, func(p *pod) bool { return needed(p) || balanced(p) || mounting(p) })
		for _, p := range pods {
			if others {
				p.foreign = &foreignPod{}
				sightedIn(b.outages.others, p.cluster).addPod(p.seen)
			} else if !needed(p) {
				p.foreign = &foreignPod{shares: true}
			}
			uid := p.uid.Value()
			before, known := b.pods.leftOut[uid]
			b.pods.leftOut[uid] = others && (before || !known) // two clusters may have the same pod
		}
	}
}

// watched returns the clusters with a node that lived throughout the window. It returns none where the costs of this shard may depend
// on when each container of the others ran: where nothing of a cluster is seen at an end of the window.
func (b *Builder) watched() map[signals.Symbol]bool {
	b.findAbsence()
	lives := map[signals.Symbol]bool{}
	if b.unseenBefore() || b.last < len(b.windows) && b.unseenAfter() {
		return lives
	}
	for n := range b.everyNode() {
		lives[n.cluster] = lives[n.cluster] || b.livesThroughout(n)
	}
	return lives
}

// Recall returns the names of pods that are left out no longer, sorted, now that it is known when containers ran. That has to be added
// again for them.
func (b *Builder) Recall() []string {
	lives := b.watched()
	names := map[string]bool{}
	for key, pods := range each(b, maps.All(b.pods.byName)) {
		if !b.pods.recalled[key] && (lives[key.cluster] || !slices.ContainsFunc(pods, func(p *pod) bool { return p.foreign != nil })) {
			continue
		}
		names[key.name.Value()] = true
		for _, p := range pods {
			p.foreign = nil
			b.pods.leftOut[p.uid.Value()] = false
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// seeOthers takes sights of a container if LeaveOthers left its pod out. Only when containers of the cluster were seen matters then.
func (b *Builder) seeOthers(s *seen, steps timeline.Steps) bool {
	pods := b.pods.byName[s.object()]
	if len(pods) == 0 || !pods[0].isForeign() {
		return false
	}
	switch p := b.pods.byKey[s.pod()]; {
	case p != nil && !p.isForeign():
		return false
	case p != nil:
		pods = []*pod{p}
	case s.Rank == 0:
		b.pods.recalled[s.object()] = true // there are more pods of that name
		return false
	case s.key[3] != none:
		return false
	}
	for _, p := range pods {
		seen := steps
		if len(pods) > 1 {
			seen = timeline.Within(steps, p.seen)
		}
		all := sightedIn(b.outages.others, p.cluster)
		all.add(s.Rank, seen, b.sampling)
		if s.Rank == 0 && len(seen) > 0 && !p.foreign.has(s.key[4]) {
			p.foreign.statuses = append(p.foreign.statuses, s.key[4])
		}
		if c := p.container(s.key[4]); c != nil { // it uses devices
			c.running.Add(s.Rank, seen)
		}
	}
	return true
}

// othersReported reports whether the running signal has containers of pods that LeaveOthers left out.
func (b *Builder) othersReported() bool {
	for _, s := range b.outages.others {
		if s.hasContainers {
			return true
		}
	}
	return false
}

// mayBeOfOthers reports whether s may belong to a container that the best running signal has, of a pod that LeaveOthers left out.
func (b *Builder) mayBeOfOthers(s *seen) bool {
	return slices.ContainsFunc(b.pods.byName[s.object()], func(p *pod) bool {
		return p.foreign.has(s.key[4]) && (p.uid == s.pod().uid || s.pod().uid == none)
	})
}

// BlindElsewhere returns those of the spans of Blind, whose alternatives of the running signal were added for the pods of this shard, for
// which they are needed for all pods: no container of a cluster is seen for a time, but one of another shard may have been.
func (b *Builder) BlindElsewhere(blind []Span) (out []Span) {
	if !slices.Contains(slices.Collect(maps.Values(b.pods.leftOut)), true) {
		return nil
	}
	b.findAbsence()
	b.outages.unseen = nil
	for _, span := range blind {
		n := len(b.outages.unseen)
		for _, a := range b.outages.absent {
			b.outages.unseen = append(b.outages.unseen, a.containers.Absent.Clip(span.Start, span.End)...)
			if newest := max(a.containers.Newest, span.Start); newest < span.End {
				b.outages.unseen = append(b.outages.unseen, timeline.Interval{From: newest, To: span.End})
			}
		}
		if len(b.outages.unseen) > n {
			out = append(out, span)
		}
	}
	return out
}

// FillsBlind reports whether sights from first to last may show a container where BlindElsewhere knew of none. Each holds until the next.
func (b *Builder) FillsBlind(first, last int64) bool {
	longest := timeline.Lookback + b.sampling.Interval
	return slices.ContainsFunc(b.outages.unseen, func(x timeline.Interval) bool { return first <= x.To+1 && last >= x.From-longest })
}

// LeavesOut reports whether LeaveOthers left out the pod with a UID. Foreign reports so for its details, its usage and its traffic.
func (b *Builder) LeavesOut(uid string) bool { return b.pods.leftOut[uid] }

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

// selecting are the namespaces where load balancers select pods by their labels, which are details.
func (b *Builder) selecting() map[objectKey]bool {
	in := map[objectKey]bool{}
	for key := range b.services.balancers {
		if b.services.behind.Selects(key.named()) {
			in[objectKey{key.cluster, key.namespace, none}] = true
		}
	}
	return in
}

// balancedPods returns whether a pod may be behind a load balancer, whose cost it shares with others.
func (b *Builder) balancedPods() func(p *pod) bool {
	isBalancer := func(x services.Object) bool {
		_, ok := b.services.balancers[objectKey{x.Cluster, x.Namespace, x.Name}]
		return ok
	}
	return func(p *pod) bool {
		return b.services.behind.MayBeBehind(&services.Pod{Object: p.named(), Address: p.address}, isBalancer)
	}
}

// Foreign reports whether a series need not be added: what exporters say of nodes of other shards, details of pods that LeaveOthers left
// out, those of the pods with shared costs that do not show when they ran, and, after Resolve, usage and traffic that belong only to nodes
// of other shards.
func (b *Builder) Foreign(series signals.Series, key []signals.Symbol) bool {
	if b.shard.Whole() || len(key) < len(series.Signal.Key()) || series.Signal == signals.ClaimUsed {
		return false
	}
	s := seen{key: key}
	switch series.Signal {
	case signals.NodeTime, signals.NodeMemoryTotal, signals.NodeMemoryAvailable, signals.NodeMemoryBuffers, signals.NodeMemoryCached, signals.NodeDiskUsed:
		nodes := b.nodesAt(&s)
		return len(nodes) > 0 && b.foreign(nodes[0])
	default:
	}
	if b.phase == gathering {
		if !series.Signal.IsDetail() {
			return false
		}
		p := b.pods.byKey[s.pod()]
		return p != nil && (p.isForeign() || p.onlyShares() && !mayShowRuns(series.Signal))
	}
	p := b.pods.byKey[s.pod()]
	if p != nil && p.isForeign() {
		return true
	}
	if series.Signal.IsTraffic() {
		if p != nil {
			return b.moveElsewhere([]*pod{p})
		}
		return b.moveElsewhere(b.pods.byName[s.object()])
	}
	if c := p.container(key[4]); c != nil {
		return b.runsElsewhere(c)
	}
	known := false
	for _, p := range b.pods.byName[s.object()] {
		c := p.container(key[4])
		if c != nil && !b.runsElsewhere(c) {
			return false
		}
		known = known || c != nil || p.foreign.has(key[4])
	}
	return known
}

// mayShowRuns reports whether a detail may show when a pod's containers ran, or divides the time in which they did.
func mayShowRuns(s signals.Signal) bool {
	switch s {
	case signals.ContainerLimit, signals.PodOwner, signals.PodLabels, signals.PodAnnotations:
		return false
	default:
		return true
	}
}

// runsElsewhere reports whether a container runs on a node of another shard.
func (b *Builder) runsElsewhere(c *container) bool {
	return c.pod.isForeign() || c.node != nil && b.foreign(c.node)
}

// moveElsewhere reports whether the traffic of pods is only that of other shards.
func (b *Builder) moveElsewhere(pods []*pod) bool {
	for _, p := range pods {
		ownOrUnknown := len(p.containers) == 0 || slices.ContainsFunc(p.containers, func(c *container) bool { return !b.runsElsewhere(c) })
		if !p.isForeign() && ownOrUnknown {
			return false
		}
	}
	return len(pods) > 0
}
