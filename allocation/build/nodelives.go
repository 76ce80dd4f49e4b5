package build

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// lifespan is the time (from, until] in which a node's name means one node, which did not exist before earliest. The zero value is all
// time.
type lifespan struct{ from, until, earliest int64 }

// nodeIdentity identifies the node with a name over an interval: by a provider id, or by a creation time in Unix seconds.
type nodeIdentity struct {
	timeline.Interval
	providerID signals.Symbol
	created    float64
}

// splitNodes splits the nodes of one name by provider ids and creation times that follow each other: a node that is created again is
// another node.
func (b *Builder) splitNodes() {
	for key, nodes := range each(&b.limits, maps.All(b.nodes.byName)) {
		if spans := nodes[0].lifespans(); len(spans) > 1 {
			b.nodes.byName[key] = nodes[0].split(spans)
		}
	}
}

// lifespans are the lifespans of the nodes of a name. Two provider ids that are seen at the same time for long belong to two nodes with
// the same name, which cannot be distinguished.
func (n *node) lifespans() []lifespan {
	spans := []lifespan{{timeline.Unborn, timeline.Forever, timeline.Unborn}}
	was := nodeIdentity{providerID: none}
	for _, x := range n.identities() {
		anew := was.created > 0 && x.created > was.created ||
			x.providerID != none && was.providerID != none && x.providerID != was.providerID && was.To <= x.From+timeline.Lookback
		if anew {
			if last := &spans[len(spans)-1]; last.from < x.From {
				last.until = x.From
				spans = append(spans, lifespan{x.From, timeline.Forever, min(was.To, x.From)})
			}
			was.created = 0
			if x.providerID != none || was.To <= x.From {
				was.providerID = none
			}
		}
		if x.providerID != none && (was.providerID == none || x.providerID == was.providerID) {
			was.providerID, was.To = x.providerID, max(was.To, x.To)
		}
		was.created = max(was.created, x.created)
	}
	return spans
}

// identities are all identities that series report, in the order of time.
func (n *node) identities() []nodeIdentity {
	var out []nodeIdentity
	for _, x := range n.reported.providerID {
		out = append(out, nodeIdentity{Interval: x.Interval, providerID: x.Value})
	}
	for _, x := range n.reported.created {
		out = append(out, nodeIdentity{timeline.Interval{From: x.From, To: x.To}, none, x.V})
	}
	slices.SortStableFunc(out, func(x, y nodeIdentity) int {
		return cmp.Or(cmp.Compare(x.From, y.From), signals.Compare(x.providerID, y.providerID), cmp.Compare(x.created, y.created))
	})
	return out
}

// split returns a node for each lifespan, with the reports of n within it.
func (n *node) split(spans []lifespan) []*node {
	nodes := make([]*node, len(spans))
	for i, x := range spans {
		nodes[i] = &node{nodeKey: n.nodeKey, lifespan: x, reported: n.reported.within(x)}
	}
	return nodes
}

// within returns the reports within a lifespan.
func (r *nodeReports) within(x lifespan) nodeReports {
	out := nodeReports{
		seen: x.clip(r.seen), shown: x.clip(r.shown), created: x.steps(r.created), spot: x.steps(r.spot),
		providerID: r.providerID.Within(x.from, x.until), priceLabels: r.priceLabels.Within(x.from, x.until), labels: r.labels.Within(x.from, x.until),
		devices: x.byName(r.devices), disks: x.byName(r.disks),
	}
	for resource := range allocation.NumResources {
		out.capacity[resource] = x.ranked(r.capacity[resource])
		out.priced[resource] = prices.ByMetric{Original: x.steps(r.priced[resource].Original), Repeated: x.steps(r.priced[resource].Repeated)}
	}
	return out
}

// steps are the values of s that belong to the node. A value from before its lifespan does not if another value follows within a lookback.
func (x lifespan) steps(s timeline.Steps) timeline.Steps {
	out := x.clip(s)
	if i := slices.IndexFunc(s, func(step timeline.Step) bool { return step.To > x.from }); len(out) > 1 && s[i].From < x.from && out[1].From <= x.from+timeline.Lookback {
		return out[1:]
	}
	return out
}

// clip is the part of s within the lifespan.
func (x lifespan) clip(s timeline.Steps) timeline.Steps {
	if x == (lifespan{}) {
		return s
	}
	return timeline.Within(s, timeline.Steps{{From: x.from, To: x.until, V: 1}})
}

func (x lifespan) ranked(r timeline.Ranked) timeline.Ranked {
	out := make(timeline.Ranked, len(r))
	for rank, s := range r {
		out[rank] = x.steps(s)
	}
	return out
}

func (x lifespan) byName(m timeline.RankedBy[signals.Symbol]) timeline.RankedBy[signals.Symbol] {
	out := make(timeline.RankedBy[signals.Symbol], len(m))
	for name, r := range m {
		if of := x.ranked(r); slices.ContainsFunc(of, func(s timeline.Steps) bool { return len(s) > 0 }) {
			out[name] = of
		}
	}
	return out
}

// createdAt is when the node was created, in Unix milliseconds, 0 if that is not known.
func (n *node) createdAt() int64 {
	if len(n.reported.created) == 0 {
		return 0
	}
	return int64(n.reported.created[0].V * 1000)
}

// bornAt is the earliest time at which the node can have run anything.
func (n *node) bornAt() int64 { return cmp.Or(n.createdAt(), n.earliest) }

// endLives ends the life of each node where that of the next node with its name begins, and notes when the last of a cluster ends.
func (b *Builder) endLives() {
	for _, nodes := range each(&b.limits, maps.All(b.nodes.byName)) {
		for i := 1; i < len(nodes); i++ {
			was, n := nodes[i-1], nodes[i]
			if len(n.life) > 0 {
				was.life = was.life.Clip(timeline.Unborn, n.life[0].From)
			}
			if k := len(was.life); k > 0 {
				n.after = was.life[k-1].To
			}
		}
		for _, n := range nodes {
			if k := len(n.life); k > 0 {
				b.nodes.ended[n.cluster] = max(b.nodes.ended[n.cluster], n.life[k-1].To)
			}
		}
	}
}

// nodeRunning is the node that a container ran on. Of the nodes with the name of its pod's node, it is the last that existed when the pod
// (else the container) started, or that was seen for more than a lookback while the container ran.
func (b *Builder) nodeRunning(c *container, runs *timeline.Runs) *node {
	nodes := b.nodes.byName[nodeKey{c.pod.cluster, c.pod.node.Value}]
	if len(nodes) == 0 {
		return nil
	}
	started := int64(timeline.Unborn)
	if c.pod.started.Known() && c.pod.started.Value > 0 {
		started = int64(c.pod.started.Value * 1000)
	} else if len(runs.All) > 0 {
		started = runs.All[0].Start.Latest
	}
	ended := int64(timeline.Unborn)
	if k := len(runs.All); k > 0 {
		ended = runs.All[k-1].End.At
	}
	for _, n := range slices.Backward(nodes) {
		if n.bornAt() <= started || len(n.life) > 0 && n.life[0].From+timeline.Lookback < ended {
			return n
		}
	}
	return nodes[0]
}

// everyNode yields all nodes, in no order.
func (b *Builder) everyNode() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, nodes := range each(&b.limits, maps.All(b.nodes.byName)) {
			for _, n := range nodes {
				if !yield(n) {
					return
				}
			}
		}
	}
}
