package resolve

import (
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// sighted is when the objects of a cluster were seen.
type sighted struct {
	hasContainers bool
	containers    [2]timeline.Sightings // by their best signal, and by others
	inits         timeline.Sightings    // of init containers
	pods, nodes   timeline.Sightings
	newest        int64 // last sight of a container
}

// sightedIn is what m has of a cluster. It makes it if it is new.
func sightedIn(m map[signals.Symbol]*sighted, cluster signals.Symbol) *sighted {
	s := m[cluster]
	if s == nil {
		s = &sighted{}
		m[cluster] = s
	}
	return s
}

// add adds sights of a container by a signal.
func (x *sighted) add(init bool, rank int, steps timeline.Steps, s timeline.Sampling) {
	all := &x.containers[min(rank, 1)]
	if init && rank == 0 {
		all = &x.inits
	}
	if all.Lacks(steps) {
		all.Join(s.Holding(nil, steps))
		x.newest = max(x.newest, steps[len(steps)-1].To)
	}
}

// bestSights are when containers were seen by the best signal. Init containers have a metric of their own, which may be there while that of the
// others is missing: between sights of the others, theirs do not count.
func (x *sighted) bestSights() timeline.Intervals {
	mains := x.containers[0].Intervals
	if len(mains) == 0 {
		return x.inits.Intervals
	}
	from, to := mains.Bounds()
	return timeline.Union(slices.Concat(mains, x.inits.Clip(timeline.Unborn, from), x.inits.Clip(to, timeline.Forever)))
}

// findAbsence finds out, for each cluster, when no container and when no node was seen.
func (rs *Resolver) findAbsence() {
	clear(rs.Outages.Absent)
	seen := map[signals.Symbol]*sighted{}
	for c := range rs.Every() {
		if c.IsInitWithoutStatus() {
			continue // alternatives of the signal may not have been read for other containers
		}
		s := sightedIn(seen, c.Pod.Cluster)
		s.hasContainers = true
		for rank, steps := range c.Running {
			s.add(c.Init, rank, steps, rs.Sampling)
		}
	}
	for p := range rs.EveryPod() {
		if s := seen[p.Cluster]; s != nil && s.pods.Lacks(p.Seen) {
			s.pods.Join(p.Seen)
		}
	}
	for n := range rs.EveryNode() {
		sightedIn(seen, n.Cluster).nodes.Join(n.Reported.Shown)
	}
	from, to := rs.LoadedFrom, rs.Sampling.End
	for cluster, s := range seen {
		a := &observe.Absence{}
		best, nodes, pods := s.bestSights(), s.nodes.Intervals, s.pods.Intervals
		if !s.hasContainers {
			pods = nil
		}
		containers, targets := timeline.Union(slices.Concat(best, s.containers[1].Intervals)), timeline.Union(slices.Concat(best, pods, nodes))
		newest := func(of timeline.Intervals) int64 {
			if len(of) == 0 {
				return 0
			}
			return rs.Sampling.LastSight(of[len(of)-1].To)
		}
		a.Pods = pods
		a.Nodes.Newest = newest(nodes)
		a.Containers.Newest = max(s.newest, newest(targets)) // one target shows all
		a.Containers.Absent, a.Nodes.Absent = timeline.Complement(containers, from, to), timeline.Complement(nodes, from, to)
		a.Containers.Down = timeline.Complement(targets, from, to)
		a.Nodes.Down = a.Containers.Down
		rs.Outages.Absent[cluster] = a
	}
}

// WithoutInfos reports whether kube-state-metrics was down in all of the spans in which no container was seen running, so that it has no
// infos of containers there: no pod was seen, either. Nothing is known of spans that reach beyond the window.
func (rs *Resolver) WithoutInfos(spans []observe.Span) bool {
	for _, a := range rs.Outages.Absent {
		for _, x := range spans {
			gaps := slices.DeleteFunc(slices.Clone(a.Containers.Absent), func(gap timeline.Interval) bool { return gap.To <= x.Start || gap.From >= x.End })
			down := !slices.ContainsFunc(gaps, func(gap timeline.Interval) bool { return a.Pods.Clip(gap.From, gap.To).Length() > 0 })
			if x.Start < rs.Start() || x.End > rs.End() || len(a.Pods) == 0 || len(gaps) == 0 || !down {
				return false
			}
		}
	}
	return len(rs.Outages.Absent) > 0
}

// silences are the stretches within the window, longer than a lookback, in which no container of a cluster was seen.
func (rs *Resolver) silences(cluster signals.Symbol) timeline.Intervals {
	var out timeline.Intervals
	for _, gap := range rs.AbsentIn(cluster).Containers.Absent {
		if gap.To-gap.From > rs.Sampling.Lookback {
			out = append(out, timeline.Intervals{gap}.Clip(rs.Sampling.Start, rs.Sampling.End)...)
		}
	}
	return out
}

// SilentSpans returns the stretches for which the alternatives of the running signal should be read, too: those in which no container of
// a cluster was seen running. From then on, alternatives count for containers that have a status at another time, and for all containers
// if none has a status. Other containers in the alternatives are known only by their usage.
func (rs *Resolver) SilentSpans() []observe.Span {
	if !slices.ContainsFunc(rs.Pods.All, func(p *observe.Pod) bool { return !p.Replaced && len(p.Containers) > 0 }) {
		return []observe.Span{{Start: rs.Sampling.LoadStart(), End: rs.Sampling.End}}
	}
	rs.TakesAlternative = func(s *observe.Incoming) bool { return rs.MayBeOf(s, (*observe.Container).HasStatus) }
	rs.Outages.WithoutStatus = map[observe.ObjectKey]bool{}
	for p := range rs.EveryPod() {
		if p.Node.Known() && !slices.ContainsFunc(rs.Pods.ByName[p.ObjectKey], (*observe.Pod).Reported) {
			rs.Outages.WithoutStatus[p.ObjectKey] = true
		}
	}
	rs.findAbsence()
	var gaps timeline.Intervals
	for _, cluster := range observe.SortedSymbols(rs.Outages.Absent) {
		rs.Outages.Silent[cluster] = rs.silences(cluster)
		gaps = append(gaps, rs.Outages.Silent[cluster]...)
	}
	var out []observe.Span
	for _, gap := range timeline.Union(gaps) {
		out = append(out, observe.Span{Start: rs.Sampling.Align(gap.From), End: min(rs.Sampling.Align(gap.To+rs.Sampling.Cell()), rs.Sampling.End)})
	}
	return out
}

// PodsWithoutStatus returns the names of the pods on a node none of whose containers has a status. The alternatives of the running signal
// should be read for them, and count only for them from now on.
func (rs *Resolver) PodsWithoutStatus() []string {
	rs.TakesAlternative = func(s *observe.Incoming) bool { return rs.Outages.WithoutStatus[s.Object()] }
	names := map[string]bool{}
	for p := range rs.Outages.WithoutStatus {
		names[p.Name.Value()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// nodeSights are the times at which only containers show that a node was there, because no node of the cluster was seen.
func (rs *Resolver) nodeSights() map[observe.NodeKey]timeline.Steps {
	sights := map[observe.NodeKey]timeline.Intervals{}
	var held timeline.Steps
	for c := range rs.Every() {
		down := rs.AbsentIn(c.Pod.Cluster).Nodes.Absent
		if len(down) == 0 || !c.Pod.Node.Known() {
			continue
		}
		key := observe.NodeKey{Cluster: c.Pod.Cluster, Name: c.Pod.Node.Value}
		for _, steps := range c.Running {
			held = rs.Sampling.Holding(held, steps)
			for _, x := range held {
				for _, gap := range down {
					if from, to := max(x.From, gap.From), min(x.To, gap.To); from < to {
						sights[key] = sights[key].With(timeline.Interval{From: from, To: to})
					}
				}
			}
		}
	}
	out := map[observe.NodeKey]timeline.Steps{}
	for key, all := range sights {
		out[key] = timeline.Mask(all)
	}
	return out
}

// warnGaps warns about gaps that were bridged.
func (rs *Resolver) warnGaps() {
	var outages timeline.Intervals
	for _, cluster := range observe.SortedSymbols(rs.Outages.Absent) {
		for _, gap := range rs.Outages.Silent[cluster] {
			if rs.concerns(gap) {
				rs.warnSilence(cluster, gap)
			}
		}
		outages = append(outages, rs.Outages.Silent[cluster]...)
	}
	outages = timeline.Union(outages)
	var nodes observe.Gaps
	for _, n := range observe.Each(&rs.Limits, slices.All(rs.SortedNodes())) {
		nodes.Add(rs.Placed(n.Cluster, n.Name.Value()), timeline.Outside(rs.Asked(n.Bridged), outages))
	}
	rs.Count(notices.UnseenNodes, nodes.Names, notices.Clocks(nodes.When))
	rs.Outages.Bridged.When = timeline.Outside(rs.Outages.Bridged.When, outages)
	if len(rs.Outages.Bridged.When) > 0 {
		rs.Count(notices.UnseenContainers, rs.Outages.Bridged.Names, notices.Clocks(rs.Outages.Bridged.When))
	}
}

// concerns reports whether a silence matters for the window: more than a lookback of it lies there, or both of its ends are known.
func (rs *Resolver) concerns(gap timeline.Interval) bool {
	within := rs.Asked(timeline.Intervals{gap})
	return within.Length() > rs.Sampling.Lookback || len(within) > 0 && gap.From > rs.Sampling.Start && gap.To < rs.Sampling.End
}

// warnSilence warns that no container of a cluster was seen in a gap.
func (rs *Resolver) warnSilence(cluster signals.Symbol, gap timeline.Interval) {
	const metric = "kube_pod_container_status_running"
	slack := rs.Sampling.Cell() + timeline.Lookback // around the samples that are not seen
	lost := slices.ContainsFunc(rs.Outages.Lost, func(x timeline.Interval) bool { return x.From-slack <= gap.From && gap.To <= x.To+slack })
	cause := func(question string) string {
		if lost {
			return "it could not be read, as another warning says."
		}
		return question
	}
	switch {
	case gap.From <= rs.Start() && gap.To >= rs.End():
		newest, question := rs.lastSeen(cluster), "did its data end, or is kube-state-metrics down?"
		if newest == "" {
			question = "has it no data of that time, or was kube-state-metrics down?"
		}
		rs.Warnf("cluster %s: no sample of %s %s%s: %s", cluster.Name(), metric, notices.Clock(timeline.Interval{From: rs.Start(), To: rs.End()}), newest, cause(question))
	case gap.From <= rs.Sampling.Start:
		rs.Warnf("cluster %s: no sample of %s before %s: %s Earlier costs are included only where samples of cAdvisor, or a gap of up to an hour, support them", cluster.Name(), metric, notices.Instant(gap.To), cause("do its data begin there?"))
	case gap.To >= rs.Sampling.End:
		rs.Warnf("cluster %s: no sample of %s after %s: %s", cluster.Name(), metric, notices.Instant(gap.From), cause("is kube-state-metrics down?"))
	default:
		rs.Warnf("cluster %s: no sample of %s %s: %s What ran before and after is taken to have run on", cluster.Name(), metric, notices.Clock(gap), cause("was kube-state-metrics down?"))
	}
}

// lastSeen says when containers of a cluster were last seen before the window, "" if that is not known.
func (rs *Resolver) lastSeen(cluster signals.Symbol) string {
	gap, ok := rs.AbsentIn(cluster).Containers.Absent.Find(rs.Start())
	if !ok || gap.From <= rs.LoadedFrom {
		return ""
	}
	return ", the newest is of about " + notices.Instant(gap.From)
}
