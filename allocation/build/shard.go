package build

import (
	"iter"
	"slices"

	"github.com/promcost/promcost/allocation/signals"
)

// owns reports whether a node is one of this shard.
func (b *Builder) owns(n *node) bool { return b.shard.Has(n.cluster.Value(), n.name.Value()) }

// hasRows reports whether this shard has the rows of a pod. The answer may change once the pod's node is known.
func (b *Builder) hasRows(p *pod) bool { return b.shard.Has(p.cluster.Value(), p.node.Value.Value()) }

// measures reports whether this shard adds the usage of a container: it does if the container is on one of its nodes, or on no known node.
func (b *Builder) measures(c *container) bool { return c.node == nil || b.owns(c.node) }

// measuredContainers yields the containers whose usage this shard adds.
func (b *Builder) measuredContainers() iter.Seq[*container] {
	return func(yield func(*container) bool) {
		for _, c := range each(&b.limits, slices.All(b.pods.order)) {
			if b.measures(c) && !yield(c) {
				return
			}
		}
	}
}

// Skips reports whether a series need not be added, because it is usage or traffic of nodes of other shards only. Everything else is
// added by all shards.
func (b *Builder) Skips(series signals.Series, key []signals.Symbol) bool {
	if b.shard.Whole() || len(key) < len(series.Signal.Key()) {
		return false // Add refuses keys that are too short
	}
	s := incoming{key: key}
	switch series.Signal {
	case signals.NodeTime, signals.NodeDiskUsed:
		nodes := b.nodesAt(&s)
		return len(nodes) > 0 && !b.owns(nodes[0])
	case signals.ContainerUse, signals.ContainerLevel:
		return b.skipsContainer(&s)
	case signals.PodTransmitted, signals.PodReceived, signals.PodEgress:
		return b.skipsPod(&s)
	default:
		return false
	}
}

// skipsContainer reports whether all containers that a series of usage may be of are on nodes of other shards.
func (b *Builder) skipsContainer(s *incoming) bool {
	of := s.pod()
	if c := b.pods.find(&of).container(s.key[4]); c != nil {
		return !b.measures(c) // mostly
	}
	known := false
	for c := range b.named(s.object(), s.key[4]) {
		if known = true; b.measures(c) {
			return false
		}
	}
	return known
}

// skipsPod reports whether all pods that a series of traffic may be of ran on nodes of other shards only.
func (b *Builder) skipsPod(s *incoming) bool {
	of := s.pod()
	pods := b.pods.byName[s.object()]
	if p := b.pods.find(&of); p != nil {
		pods = []*pod{p}
	}
	mayBeOurs := func(p *pod) bool { return len(p.containers) == 0 || slices.ContainsFunc(p.containers, b.measures) }
	return len(pods) > 0 && !slices.ContainsFunc(pods, mayBeOurs)
}
