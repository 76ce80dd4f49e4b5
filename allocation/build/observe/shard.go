package observe

import (
	"slices"

	"github.com/promcost/promcost/allocation/signals"
)

// Owns reports whether a node is one of this shard.
func (ob *Observer) Owns(n *Node) bool { return ob.Shard.Has(n.Cluster.Value(), n.Name.Value()) }

// HasRows reports whether this shard has the rows of a pod. The answer may change once the pod's node is known.
func (ob *Observer) HasRows(p *Pod) bool {
	return ob.Shard.Has(p.Cluster.Value(), p.Node.Value.Value())
}

// Measures reports whether this shard adds the usage of a container: it does if the container is on one of its nodes, or on no known node.
func (ob *Observer) Measures(c *Container) bool { return c.Node == nil || ob.Owns(c.Node) }

// Skips reports whether a series need not be added, because it is usage or traffic of nodes of other shards only. Everything else is
// added by all shards.
func (ob *Observer) Skips(series signals.Series, key []signals.Symbol) bool {
	if ob.Shard.Whole() || len(key) < len(series.Signal.Key()) {
		return false // Add refuses keys that are too short
	}
	s := Incoming{Key: key}
	switch series.Signal {
	case signals.NodeTime, signals.NodeDiskUsed:
		nodes := ob.NodesAt(&s)
		return len(nodes) > 0 && !ob.Owns(nodes[0])
	case signals.ContainerUse, signals.ContainerLevel, signals.ContainerPeriods, signals.ContainerThrottled, signals.ContainerOOMKills, signals.ContainerWaiting, signals.ContainerKilled:
		return ob.skipsContainer(&s)
	case signals.PodTransmitted, signals.PodReceived, signals.PodEgress, signals.PodUse, signals.PodLevel:
		return ob.skipsPod(&s)
	default:
		return false
	}
}

// skipsContainer reports whether all containers that a series of usage may be of are on nodes of other shards.
func (ob *Observer) skipsContainer(s *Incoming) bool {
	if c := ob.PodByUID(s).Container(s.Key[4]); c != nil {
		return !ob.Measures(c) // mostly
	}
	known := false
	for c := range ob.Named(s.Object(), s.Key[4]) {
		if known = true; ob.Measures(c) {
			return false
		}
	}
	return known
}

// skipsPod reports whether all pods that a series of traffic may be of ran on nodes of other shards only.
func (ob *Observer) skipsPod(s *Incoming) bool {
	pods := ob.Pods.ByName[s.Object()]
	if p := ob.PodByUID(s); p != nil {
		pods = []*Pod{p}
	}
	mayBeOurs := func(p *Pod) bool { return len(p.Containers) == 0 || slices.ContainsFunc(p.Containers, ob.Measures) }
	return len(pods) > 0 && !slices.ContainsFunc(pods, mayBeOurs)
}
