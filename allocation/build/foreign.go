package build

import (
	"slices"

	"github.com/promcost/promcost/allocation/signals"
)

// foreign reports whether a node is another shard's.
func (b *Builder) foreign(n *node) bool { return !b.shard.Has(n.cluster.Value(), n.name.Value()) }

// Sharded reports whether the builder makes only one shard of the sets.
func (b *Builder) Sharded() bool { return !b.shard.Whole() }

// Foreign reports whether a series of usage or traffic belongs only to nodes of other shards, and need not be added. Call it after
// Resolve.
func (b *Builder) Foreign(series signals.Series, key []signals.Symbol) bool {
	if b.shard.Whole() || len(key) < len(series.Signal.Key()) || series.Signal == signals.ClaimUsed {
		return false
	}
	s := seen{key: key}
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
			of = append(of, p.containers...)
		}
	} else if c := b.pods.byKey[s.pod()].container(key[4]); c != nil {
		of = []*container{c}
	} else {
		of = slices.Collect(b.named(s.object(), key[4]))
	}
	for _, c := range of {
		if c.node == nil || !b.foreign(c.node) {
			return false
		}
	}
	return len(of) > 0
}
