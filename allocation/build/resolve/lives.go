package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// nodeIdentity identifies the node with a name over an interval: by a provider id, or by a creation time in Unix seconds.
type nodeIdentity struct {
	timeline.Interval
	providerID signals.Symbol
	created    float64
}

// splitNodes splits the nodes of one name by provider ids and creation times that follow each other: a node that is created again is
// another node, unless pods on it ran on.
func (rs *Resolver) splitNodes() {
	on := rs.podsByNode()
	for key, nodes := range observe.Each(&rs.Limits, maps.All(rs.Nodes.ByName)) {
		nodes[0].Away = awayTimes(nodes[0], on[key])
		if spans := rs.lifespans(nodes[0], on[key]); len(spans) > 1 {
			rs.Nodes.ByName[key] = nodes[0].Split(spans)
		}
	}
}

// lifespans are the lifespans of the nodes of a name. Two provider ids that are seen at the same time for long belong to two nodes with
// the same name, which cannot be distinguished.
func (rs *Resolver) lifespans(n *observe.Node, pods []*observe.Pod) []observe.Lifespan {
	spans := []observe.Lifespan{{From: timeline.Unborn, Until: timeline.Forever, Earliest: timeline.Unborn}}
	was := nodeIdentity{providerID: observe.None}
	for _, x := range identities(n) {
		anew := was.created > 0 && x.created > was.created && !rs.remains(n, was.providerID, x.From, pods) ||
			x.providerID != observe.None && was.providerID != observe.None && !isOneID(x.providerID, was.providerID) && was.To <= x.From+timeline.Lookback
		if anew {
			if last := &spans[len(spans)-1]; last.From < x.From {
				last.Until = x.From
				spans = append(spans, observe.Lifespan{From: x.From, Until: timeline.Forever, Earliest: min(was.To, x.From)})
			}
			was.created = 0
			if x.providerID != observe.None || was.To <= x.From {
				was.providerID = observe.None
			}
		}
		if x.providerID != observe.None && (was.providerID == observe.None || isOneID(x.providerID, was.providerID)) {
			was.providerID, was.To = x.providerID, max(was.To, x.To)
		}
		was.created = max(was.created, x.created)
	}
	return spans
}

// identities are all identities that series report, in the order of time.
func identities(n *observe.Node) []nodeIdentity {
	var out []nodeIdentity
	for _, x := range n.Reported.ProviderID {
		out = append(out, nodeIdentity{Interval: x.Interval, providerID: x.Value})
	}
	for _, x := range n.Reported.Created {
		out = append(out, nodeIdentity{timeline.Interval{From: x.From, To: x.To}, observe.None, x.V})
	}
	slices.SortStableFunc(out, func(x, y nodeIdentity) int {
		return cmp.Or(cmp.Compare(x.From, y.From), signals.Compare(x.providerID, y.providerID), cmp.Compare(x.created, y.created))
	})
	return out
}

// endLives ends the life of each node where that of the next node with its name begins, and notes when the last of a cluster ends.
func (rs *Resolver) endLives() {
	for _, nodes := range observe.Each(&rs.Limits, maps.All(rs.Nodes.ByName)) {
		for i := 1; i < len(nodes); i++ {
			was, n := nodes[i-1], nodes[i]
			if len(n.Life) > 0 {
				was.Life = was.Life.Clip(timeline.Unborn, n.Life[0].From)
			}
			if k := len(was.Life); k > 0 {
				n.After = was.Life[k-1].To
			}
		}
		for _, n := range nodes {
			if k := len(n.Life); k > 0 {
				rs.Nodes.Ended[n.Cluster] = max(rs.Nodes.Ended[n.Cluster], n.Life[k-1].To)
			}
		}
	}
}

// nodeRunning is the node that a container ran on. Of the nodes with the name of its pod's node, it is the last that existed when the pod
// (else the container) started, or that was seen for more than a lookback while the container ran.
func (rs *Resolver) nodeRunning(c *observe.Container, runs *timeline.Runs) *observe.Node {
	nodes := rs.Nodes.ByName[observe.NodeKey{Cluster: c.Pod.Cluster, Name: c.Pod.Node.Value}]
	if len(nodes) == 0 {
		return nil
	}
	started := int64(timeline.Unborn)
	if c.Pod.Started.Known() && c.Pod.Started.Value > 0 {
		started = int64(c.Pod.Started.Value * 1000)
	} else if len(runs.All) > 0 {
		started = runs.All[0].Start.Latest
	}
	ended := int64(timeline.Unborn)
	if k := len(runs.All); k > 0 {
		ended = runs.All[k-1].End.At
	}
	for _, n := range slices.Backward(nodes) {
		if n.BornAt() <= started || len(n.Life) > 0 && n.Life[0].From+timeline.Lookback < ended {
			return n
		}
	}
	return nodes[0]
}

// LifeOf is when an asset of a cluster existed, by when it was seen, and when it was seen not to be there. Gaps are bridged like those of nodes. If the window ends in a gap
// that may still be bridged, the asset lives as long as the cluster's nodes.
func (rs *Resolver) LifeOf(cluster signals.Symbol, seen, gone timeline.Steps) timeline.Intervals {
	seen = timeline.Ones(seen)
	watch := &rs.AbsentIn(cluster).Nodes
	for _, gap := range watch.Absent {
		if n := len(seen); n > 0 && gap.To >= rs.Sampling.End && seen[n-1].To >= max(gap.From, gap.To-rs.Evidence.Most) && seen[n-1].To < gap.To {
			if last := rs.Nodes.Ended[cluster]; last > seen[n-1].To {
				seen = append(seen, timeline.Step{From: seen[n-1].To, To: last, V: 1})
			}
		}
	}
	sights := timeline.Overlay(rs.Sampling.SightsOf(seen), timeline.Scaled(rs.Sampling.SightsOf(gone), 0))
	runs := rs.Sampling.Runs(&timeline.Presence{Seen: sights}, watch)
	return runs.Intervals().Clip(rs.Sampling.Start, rs.Sampling.End)
}

// findLocations finds the location of each cluster: the provider and the region of most of its nodes, the first by name in a tie.
// A cluster has a zone only if all its nodes are in it.
func (rs *Resolver) findLocations() {
	type votes struct{ provider, region, zone map[string]int }
	of := map[signals.Symbol]*votes{}
	for n := range rs.EveryNode() {
		if len(n.Life) == 0 {
			continue
		}
		v := of[n.Cluster]
		if v == nil {
			v = &votes{map[string]int{}, map[string]int{}, map[string]int{}}
			of[n.Cluster] = v
		}
		a := n.Asset(rs.Sampling.End)
		v.provider[rates.Provider(a.ProviderID)]++
		v.region[a.Region]++
		v.zone[a.Zone]++
	}
	rs.Prices.Locations = make(map[signals.Symbol]observe.Location, len(of))
	for cluster, v := range of {
		p := observe.Location{Provider: rates.MostNamed(v.provider), Region: rates.MostNamed(v.region)}
		if len(v.zone) == 1 {
			p.Zone = rates.MostNamed(v.zone)
		}
		rs.Prices.Locations[cluster] = p
	}
}
