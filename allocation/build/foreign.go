package build

import (
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/elsewhere"
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// foreign reports whether a node is another shard's.
func (b *Builder) foreign(n *node) bool { return !b.shard.Has(n.cluster.Value(), n.name.Value()) }

// Sharded reports whether the builder makes only one shard of the sets: then it is told first where nodes are, and what else is not about
// one pod; after PlaceOthers where pods are, twice if PlaceTwins says so; after LeaveOthers when containers ran; after Recall both of
// these again, as far as that says; and after Placed the rest.
func (b *Builder) Sharded() bool { return !b.shard.Whole() }

// elsewhere is the pod as elsewhere.Pods knows it.
func (k podKey) elsewhere() elsewhere.Pod {
	return elsewhere.Pod{Cluster: k.cluster.Value(), Namespace: k.namespace.Value(), Name: k.name.Value(), UID: k.uid.Value()}
}

func (k objectKey) elsewhere() elsewhere.Pod { return podKey{k, none, 0}.elsewhere() }

// PlaceOthers lets Grade tell which pods only other shards need. Call it before pods are added, once nodes, services and volumes were.
func (b *Builder) PlaceOthers() {
	lives, nodes, needed := b.watched(), map[elsewhere.Node]bool{}, map[elsewhere.Pod]bool{}
	for n := range b.everyNode() {
		if lives[n.cluster] && b.foreign(n) {
			nodes[elsewhere.Node{Cluster: n.cluster.Value(), Name: n.name.Value()}] = true
		}
	}
	for key := range b.pods.byName {
		needed[key.elsewhere()] = true
	}
	for key := range b.selecting() {
		needed[key.elsewhere()] = true
	}
	b.services.behind.EachMember(b.isBalancer, func(pod services.Object) { needed[objectKey{pod.Cluster, pod.Namespace, pod.Name}.elsewhere()] = true })
	b.pods.others.Place(nodes, needed)
}

// Grade says how much is wanted of a series about a pod, by the texts of its key: all of it; only when it has samples, if id is not 0,
// which is to be Points.Series then, whatever the key but for its cluster; or nothing, as of traffic that names only pods that were left out.
func (b *Builder) Grade(series signals.Series, key []string) (id uint64, nothing bool) {
	p := elsewhere.Pod{Cluster: key[0], Namespace: key[1], Name: key[2], UID: key[3]}
	switch {
	case series.Signal == signals.PodInfo:
		return b.pods.others.At(p, key[4], key[5])
	case series.Signal.IsTraffic():
		return 0, p.UID == "" && b.pods.others.HasAll(p)
	}
	return b.pods.others.Container(p, key[4]), false
}

// PlaceTwins reports whether the places of pods must be added once more, as some that PlaceOthers left out have the names of others.
func (b *Builder) PlaceTwins() bool {
	twins := map[elsewhere.Pod]bool{}
	for key := range b.pods.byName {
		if p := key.elsewhere(); b.pods.others.Has(p) {
			twins[p] = true
		}
	}
	b.pods.others.Again(twins)
	return len(twins) > 0
}

// LeaveOthers leaves out further pods that only other shards need, now that it is known where pods are.
func (b *Builder) LeaveOthers() {
	b.pods.others.Placed()
	lives, selecting := b.watched(), b.selecting()
	balanced, mounting := b.balancedPods(), b.mountingPods()
	needed := func(p *pod) bool {
		return !lives[p.cluster] || b.concernsShard(p) || selecting[objectKey{p.cluster, p.namespace, none}]
	}
	shares := func(p *pod) bool {
		return balanced(p) || mounting(p) || slices.ContainsFunc(p.containers, func(c *container) bool { return c.devices != nil })
	}
	for key, pods := range each(b, maps.All(b.pods.byName)) {
		others := !slices.ContainsFunc(pods, func(p *pod) bool { return needed(p) || shares(p) })
		for _, p := range pods {
			if p.shares = !needed(p); others {
				b.pods.others.Add(p.elsewhere())
				sightedIn(b.outages.others, p.cluster).addPod(p.seen)
				b.replace(p)
			}
		}
		if others {
			delete(b.pods.byName, key)
		}
	}
	b.pods.all = slices.DeleteFunc(b.pods.all, func(p *pod) bool { return p.replaced })
	b.Placed()
}

// Recall returns the names of pods that are left out no longer, sorted, now that it is known when containers ran. Where they are and when
// their containers ran has to be added again for them, or for all pods.
func (b *Builder) Recall() (names []string, all bool) {
	lives, wanted := b.watched(), map[elsewhere.Pod]bool{}
	for key := range b.pods.recalled {
		wanted[key.elsewhere()] = true
		names = append(names, key.name.Value())
	}
	for n := range b.everyNode() {
		all = all || !lives[n.cluster] && b.pods.others.InCluster(n.cluster.Value())
	}
	for p := range b.everyPod() {
		p.shares = p.shares && lives[p.cluster] && !b.pods.recalled[p.objectKey]
	}
	if b.pods.others.Again(wanted); all {
		b.pods.others.Clear()
	}
	slices.Sort(names)
	return names, all
}

// Placed ends adding where pods are.
func (b *Builder) Placed() {
	b.pods.others.Placed()
	for p := range b.everyPod() {
		b.pods.others.Keep(p.elsewhere(), p.shares) // two clusters may have the same pod
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

// seeOthers takes sights of a container if its pod was left out. Only when containers of the cluster were seen matters then.
func (b *Builder) seeOthers(s *seen, steps timeline.Steps) bool {
	id := s.p.Series()
	if !b.Sharded() || id == 0 && len(b.pods.byName[s.object()]) > 0 {
		return false
	}
	p, others := s.pod().elsewhere(), b.pods.others
	if id == 0 {
		id = others.Container(p, s.key[4].Value())
	}
	switch best := s.Rank == 0 && len(steps) > 0; {
	case id != 0 && best:
		others.See(id)
	case id != 0:
	case !others.Has(s.object().elsewhere()):
		return false
	case s.key[3] != none:
		b.pods.recalled[s.object()] = b.pods.recalled[s.object()] || s.Rank == 0 // there are more pods of that name
		return false
	case best:
		others.SeeNameless(p, s.key[4].Value())
	}
	sightedIn(b.outages.others, s.key[0]).add(s.Rank, steps, b.sampling)
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

// mayBeOfOthers reports whether s may belong to a container that the best running signal has, of a pod that was left out.
func (b *Builder) mayBeOfOthers(s *seen) bool {
	others, id := b.pods.others, s.p.Series()
	if id != 0 || b.shard.Whole() || len(b.pods.byName[s.object()]) > 0 {
		return id != 0 && others.Saw(id)
	}
	p, container := s.pod().elsewhere(), s.key[4].Value()
	if s.key[3] == none {
		return others.SawNamed(p, container)
	}
	return others.Saw(others.Container(p, container))
}

// BlindElsewhere returns those of the spans of Blind, whose alternatives of the running signal were added for the pods of this shard, for
// which they are needed for all pods: no container of a cluster is seen for a time, but one of another shard may have been.
func (b *Builder) BlindElsewhere(blind []Span) (out []Span) {
	if b.pods.others.Len() == 0 {
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

// FillsBlind reports whether a series of an alternative may show a container where BlindElsewhere knew of none.
func (b *Builder) FillsBlind(series signals.Series, p *timeline.Points) bool {
	return b.samplingOf(&seen{Series: series}).SeenIn(p, b.outages.unseen)
}

// LeavesOut reports whether the pod with a UID was left out, or all but when it ran, as it only shares costs with pods of this shard.
func (b *Builder) LeavesOut(uid string) (all, butRuns bool) {
	return b.pods.others.Left(uid)
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

// balancedPods returns whether a pod may be behind a load balancer whose cost it shares with one of this shard, or whose cost without pods
// is charged here.
func (b *Builder) balancedPods() func(p *pod) bool {
	own := map[services.Object]bool{}
	mayBeBehind := func(p *pod, some func(services.Object) bool) bool {
		return b.services.behind.MayBeBehind(&services.Pod{Object: p.named(), Address: p.address}, some)
	}
	for p := range b.everyPod() {
		if b.concernsShard(p) {
			mayBeBehind(p, func(x services.Object) bool { own[x] = true; return false })
		}
	}
	return func(p *pod) bool {
		return mayBeBehind(p, func(x services.Object) bool { return b.isBalancer(x) && (own[x] || b.shard.Has(x.Cluster.Value(), "")) })
	}
}

// isBalancer reports whether a service has a load balancer.
func (b *Builder) isBalancer(x services.Object) bool {
	_, ok := b.services.balancers[objectKey{x.Cluster, x.Namespace, x.Name}]
	return ok
}

// Foreign reports whether a series need not be added: what exporters say of nodes of other shards, details of pods that were left out,
// those of the pods with shared costs that do not show when they ran, and, after Resolve, usage and traffic that belong only to nodes of
// other shards.
func (b *Builder) Foreign(series signals.Series, key []signals.Symbol) bool {
	if b.shard.Whole() || len(key) < len(series.Signal.Key()) || series.Signal == signals.ClaimUsed {
		return false
	}
	s := seen{Series: series, key: key}
	switch series.Signal {
	case signals.NodeTime, signals.NodeMemoryTotal, signals.NodeMemoryAvailable, signals.NodeMemoryBuffers, signals.NodeMemoryCached, signals.NodeDiskUsed:
		nodes := b.nodesAt(&s)
		return len(nodes) > 0 && b.foreign(nodes[0])
	default:
	}
	if b.phase == gathering && !series.Signal.IsDetail() {
		return false
	}
	of := s.pod()
	p := b.pods.find(&of)
	switch {
	case p == nil:
	case b.phase == gathering:
		return p.shares && !series.Signal.MayShowRuns()
	case series.Signal.IsTraffic():
		return b.moveElsewhere([]*pod{p})
	case p.container(key[4]) != nil:
		return b.runsElsewhere(p.container(key[4]))
	}
	named := b.pods.byName[of.objectKey]
	switch {
	case p == nil && (of.uid != none || len(named) == 0) && b.pods.others.Has(of.elsewhere()):
		return b.phase == gathering || of.uid != none || series.Signal.IsTraffic() || b.pods.others.SawNamed(of.elsewhere(), key[4].Value())
	case b.phase == gathering:
		return false
	case series.Signal.IsTraffic():
		return b.moveElsewhere(named) || len(named) == 0 && b.pods.others.Has(of.objectKey.elsewhere())
	case len(named) == 0:
		return b.pods.others.SawNamed(of.elsewhere(), key[4].Value())
	}
	known := false
	for _, p := range named {
		c := p.container(key[4])
		if c != nil && !b.runsElsewhere(c) {
			return false
		}
		known = known || c != nil
	}
	return known
}

// runsElsewhere reports whether a container runs on a node of another shard.
func (b *Builder) runsElsewhere(c *container) bool { return c.node != nil && b.foreign(c.node) }

// moveElsewhere reports whether the traffic of pods is only that of other shards.
func (b *Builder) moveElsewhere(pods []*pod) bool {
	for _, p := range pods {
		ownOrUnknown := len(p.containers) == 0 || slices.ContainsFunc(p.containers, func(c *container) bool { return !b.runsElsewhere(c) })
		if ownOrUnknown {
			return false
		}
	}
	return len(pods) > 0
}
