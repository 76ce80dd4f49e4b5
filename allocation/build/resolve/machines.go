package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// longestAway is for how long a node may be away and still be the machine that it was: as long as an outage, in milliseconds.
const longestAway = 60 * 60 * 1000

// podsByNode are the pods on each node.
func (rs *Resolver) podsByNode() map[observe.NodeKey][]*observe.Pod {
	on := map[observe.NodeKey][]*observe.Pod{}
	for p := range rs.EveryPod() {
		if p.Node.Known() {
			key := observe.NodeKey{Cluster: p.Cluster, Name: p.Node.Value}
			on[key] = append(on[key], p)
		}
	}
	return on
}

// isOneID reports whether two provider ids are the same. Azure spells its own in any case.
func isOneID(a, b signals.Symbol) bool { return a == b || strings.EqualFold(a.Value(), b.Value()) }

// ranOn reports whether the machine with a provider id ran on between two times: one of the pods on it is seen at both. Where the machine has no provider id, as on bare
// metal, a pod has to have a UID: another pod of the same name may run on another machine.
func ranOn(id signals.Symbol, pods []*observe.Pod, at, later int64) bool {
	return slices.ContainsFunc(pods, func(p *observe.Pod) bool {
		_, before := p.Seen.At(at)
		_, after := p.Seen.At(later)
		return before && after && (id != observe.None || p.UID != observe.None)
	})
}

// awayTimes are the gaps in which a Node object was away, though its machine ran on: a pod on it is seen over the gap, and the provider id is the same before
// and after, or there is none.
func awayTimes(n *observe.Node, pods []*observe.Pod) (away timeline.Intervals) {
	seen, ids := n.Reported.Seen, n.Reported.ProviderID
	for i := 1; i < len(seen); i++ {
		gap := timeline.Interval{From: seen[i-1].To, To: seen[i].From}
		id := ids.At(gap.From)
		if gap.From < gap.To && gap.To-gap.From <= longestAway && isOneID(id, ids.At(gap.To+1)) && ranOn(id, pods, gap.From, gap.To+1) {
			away = append(away, gap)
		}
	}
	return away
}

// remains reports whether a node that is reported at a time to have been created later than before is still the machine with the provider id: a pod on it is seen
// before and after.
func (rs *Resolver) remains(n *observe.Node, id signals.Symbol, at int64, pods []*observe.Pod) bool {
	if !isOneID(id, n.Reported.ProviderID.At(at+1)) {
		return false
	}
	i := slices.IndexFunc(n.Away, func(gap timeline.Interval) bool { return gap.From <= at && at <= gap.To+timeline.Lookback })
	return i >= 0 || ranOn(id, pods, at, at+rs.Sampling.Cell()+1)
}

// joinMachines lets only one of the Node objects of a cluster with one provider id live at a time, for they are one machine: the one with running pods, of
// several with or without pods the newest. Pods on the others cost nothing meanwhile. Virtual nodes are no machines.
func (rs *Resolver) joinMachines() {
	type machine struct{ cluster, id string }
	same := map[machine][]*observe.Node{}
	for _, n := range observe.Each(&rs.Limits, slices.All(rs.SortedNodes())) {
		if id := n.ProviderID(); id != "" && len(n.Life) > 0 && !n.ByPods { // several virtual nodes may name one provider
			key := machine{n.Cluster.Value(), strings.ToLower(id)} // see isOneID
			same[key] = append(same[key], n)
		}
	}
	maps.DeleteFunc(same, func(_ machine, nodes []*observe.Node) bool {
		return !slices.ContainsFunc(nodes, func(n *observe.Node) bool { return n.Name != nodes[0].Name })
	})
	if len(same) == 0 {
		return
	}
	var ghosts []string
	on := rs.podsByNode()
	for _, nodes := range same {
		for _, n := range rs.joinNodes(nodes, on) {
			ghosts = append(ghosts, rs.Placed(n.Cluster, n.Name.Value()))
		}
	}
	slices.Sort(ghosts)
	rs.Count(notices.GhostNodes, ghosts)
}

// joinNodes joins the Node objects of one machine. It returns those that are not charged for some time within the window.
func (rs *Resolver) joinNodes(nodes []*observe.Node, on map[observe.NodeKey][]*observe.Pod) (ghosts []*observe.Node) {
	slices.SortStableFunc(nodes, func(x, y *observe.Node) int {
		return cmp.Or(cmp.Compare(x.BornAt(), y.BornAt()), cmp.Compare(x.Life[0].From, y.Life[0].From))
	})
	var edges []int64
	occupied, lives := make([]timeline.Intervals, len(nodes)), make([]timeline.Intervals, len(nodes))
	for k, n := range nodes {
		occupied[k] = rs.occupied(n.Cluster, on[n.NodeKey])
		edges = occupied[k].Edges(n.Life.Edges(edges))
	}
	edges = timeline.SortedEdges(edges)
	for i := 1; i < len(edges); i++ {
		charged, withPods := -1, false
		for k, n := range nodes { // the newest last
			_, alive := n.Life.Find(edges[i])
			_, pods := occupied[k].Find(edges[i])
			if alive && (pods || !withPods) {
				charged, withPods = k, pods
			}
		}
		if charged >= 0 {
			lives[charged] = append(lives[charged], timeline.Interval{From: edges[i-1], To: edges[i]})
		}
	}
	for k, n := range nodes {
		life := timeline.Union(lives[k])
		if len(timeline.Outside(rs.Asked(n.Life), life)) > 0 {
			ghosts = append(ghosts, n)
		}
		n.Life, n.Twinned = life, true
	}
	return ghosts
}

// occupied is when pods of a cluster run, taken to go on while no container of the cluster is seen.
func (rs *Resolver) occupied(cluster signals.Symbol, pods []*observe.Pod) (all timeline.Intervals) {
	var held timeline.Steps
	for _, p := range pods {
		for _, c := range p.Containers {
			for _, steps := range c.Running {
				held = rs.Sampling.Holding(held, steps)
				all = timeline.AppendIntervals(all, held.Positive())
			}
		}
	}
	all = timeline.Union(all)
	for _, gap := range rs.AbsentIn(cluster).Containers.Absent {
		if _, before := all.Find(gap.From); before {
			all = all.With(gap)
		}
	}
	return all
}

// nodeAway reports whether a container runs at t on a node that is not seen then, though others of its cluster are. Pods without a UID do not
// count: what is one of them now may have been another on another node.
func (rs *Resolver) nodeAway(t int64) bool {
	near := 2 * rs.Sampling.Cell()
	for c := range rs.Every() {
		nodes := rs.Nodes.ByName[observe.NodeKey{Cluster: c.Pod.Cluster, Name: c.Pod.Node.Value}]
		if _, seen := c.Pod.Seen.At(t); !seen || len(nodes) == 0 || c.Pod.UID == observe.None {
			continue
		}
		_, shown := nodes[0].Reported.Shown.At(t)
		_, silent := rs.AbsentIn(c.Pod.Cluster).Nodes.Absent.Find(t)
		if !shown && !silent && slices.ContainsFunc(c.Running, func(steps timeline.Steps) bool { return steps.LengthWithin(t-near, t+near) > 0 }) {
			return true
		}
	}
	return false
}

// isLost reports whether a container's node is none of those that its cluster has.
func (rs *Resolver) isLost(c *observe.Container) bool {
	_, some := rs.Nodes.Ended[c.Pod.Cluster]
	return some && c.Node == nil && c.Pod.Node.Known()
}

// noteNodeless records the pod of a container that ran for more than a lookback without its node, which costs nothing.
func (rs *Resolver) noteNodeless(c *observe.Container, lost bool, inside timeline.Intervals) {
	var life timeline.Intervals
	if n := c.Node; n != nil {
		if life = n.Life; n.Twinned || len(life) == 0 {
			return
		}
	}
	if (c.Node == nil && !lost) || len(timeline.Outside(rs.Asked(inside), life)) == 0 {
		return
	}
	p := c.Pod
	name := rs.Placed(p.Cluster, p.Namespace.Value()+"/"+p.Name.Value())
	if all := rs.Report.Nodeless; len(all) == 0 || all[len(all)-1] != name { // the containers of a pod follow each other
		rs.Report.Nodeless = append(all, name)
	}
}
