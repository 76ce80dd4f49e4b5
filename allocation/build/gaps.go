package build

import (
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// sighted is when the objects of a cluster were seen.
type sighted struct {
	hasContainers bool
	containers    [2]timeline.Sightings // by their best signal, and by others
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
func (x *sighted) add(rank int, steps timeline.Steps, s timeline.Sampling) {
	if all := &x.containers[min(rank, 1)]; all.Lacks(steps) {
		all.Join(s.Holding(nil, steps))
		x.newest = max(x.newest, steps[len(steps)-1].To)
	}
}

// findAbsence finds out, for each cluster, when no container and when no node was seen.
func (b *Builder) findAbsence() {
	clear(b.outages.absent)
	seen := map[signals.Symbol]*sighted{}
	for c := range b.every() {
		if c.isInitWithoutStatus() {
			continue // alternatives of the signal may not have been read for other containers
		}
		s := sightedIn(seen, c.pod.cluster)
		s.hasContainers = true
		for rank, steps := range c.running {
			s.add(rank, steps, b.sampling)
		}
	}
	for p := range b.everyPod() {
		if s := seen[p.cluster]; s != nil && s.pods.Lacks(p.seen) {
			s.pods.Join(p.seen)
		}
	}
	for n := range b.everyNode() {
		sightedIn(seen, n.cluster).nodes.Join(n.reported.shown)
	}
	from, to := b.loadedFrom, b.sampling.End
	for cluster, s := range seen {
		a := &absence{}
		best, nodes, pods := s.containers[0].Intervals, s.nodes.Intervals, s.pods.Intervals
		if !s.hasContainers {
			pods = nil
		}
		containers, targets := timeline.Union(slices.Concat(best, s.containers[1].Intervals)), timeline.Union(slices.Concat(best, pods, nodes))
		newest := func(of timeline.Intervals) int64 {
			if len(of) == 0 {
				return 0
			}
			return b.sampling.LastSight(of[len(of)-1].To)
		}
		a.pods = pods
		a.nodes.Newest = newest(nodes)
		a.containers.Newest = max(s.newest, newest(targets)) // one target shows all
		a.containers.Absent, a.nodes.Absent = timeline.Complement(containers, from, to), timeline.Complement(nodes, from, to)
		a.containers.Down = timeline.Complement(targets, from, to)
		a.nodes.Down = a.containers.Down
		b.outages.absent[cluster] = a
	}
}

// withoutInfos reports whether kube-state-metrics was down in all of the spans in which no container was seen running, so that it has no
// infos of containers there: no pod was seen, either. Nothing is known of spans that reach beyond the window.
func (b *Builder) withoutInfos(spans []Span) bool {
	for _, a := range b.outages.absent {
		for _, x := range spans {
			gaps := slices.DeleteFunc(slices.Clone(a.containers.Absent), func(gap timeline.Interval) bool { return gap.To <= x.Start || gap.From >= x.End })
			down := !slices.ContainsFunc(gaps, func(gap timeline.Interval) bool { return a.pods.Clip(gap.From, gap.To).Length() > 0 })
			if x.Start < b.start() || x.End > b.end() || len(a.pods) == 0 || len(gaps) == 0 || !down {
				return false
			}
		}
	}
	return len(b.outages.absent) > 0
}

// silences are the stretches within the window, longer than a lookback, in which no container of a cluster was seen.
func (b *Builder) silences(cluster signals.Symbol) timeline.Intervals {
	var out timeline.Intervals
	for _, gap := range b.absentIn(cluster).containers.Absent {
		if gap.To-gap.From > b.sampling.Lookback {
			out = append(out, timeline.Intervals{gap}.Clip(b.sampling.Start, b.sampling.End)...)
		}
	}
	return out
}

// silentSpans returns the stretches for which the alternatives of the running signal should be read, too: those in which no container of
// a cluster was seen running. From then on, alternatives count for containers that have a status at another time, and for all containers
// if none has a status. Other containers in the alternatives are known only by their usage.
func (b *Builder) silentSpans() []Span {
	if !slices.ContainsFunc(b.pods.all, func(p *pod) bool { return !p.replaced && len(p.containers) > 0 }) {
		return []Span{{b.sampling.LoadStart(), b.sampling.End}}
	}
	b.takesAlternative = func(s *incoming) bool { return b.mayBeOf(s, (*container).hasStatus) }
	b.outages.withoutStatus = map[objectKey]bool{}
	for p := range b.everyPod() {
		if p.node.Known() && !slices.ContainsFunc(b.pods.byName[p.objectKey], (*pod).reported) {
			b.outages.withoutStatus[p.objectKey] = true
		}
	}
	b.findAbsence()
	var gaps timeline.Intervals
	for _, cluster := range sortedSymbols(b.outages.absent) {
		b.outages.silent[cluster] = b.silences(cluster)
		gaps = append(gaps, b.outages.silent[cluster]...)
	}
	var out []Span
	for _, gap := range timeline.Union(gaps) {
		out = append(out, Span{b.sampling.Align(gap.From), min(b.sampling.Align(gap.To+b.sampling.Cell()), b.sampling.End)})
	}
	return out
}

// reported reports whether a signal says of a container of p when it ran.
func (p *pod) reported() bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool { return len(c.running) > 0 })
}

// podsWithoutStatus returns the names of the pods on a node none of whose containers has a status. The alternatives of the running signal
// should be read for them, and count only for them from now on.
func (b *Builder) podsWithoutStatus() []string {
	b.takesAlternative = func(s *incoming) bool { return b.outages.withoutStatus[s.object()] }
	names := map[string]bool{}
	for p := range b.outages.withoutStatus {
		names[p.name.Value()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// nodeSights are the times at which only containers show that a node was there, because no node of the cluster was seen.
func (b *Builder) nodeSights() map[nodeKey]timeline.Steps {
	sights := map[nodeKey]timeline.Intervals{}
	var held timeline.Steps
	for c := range b.every() {
		down := b.absentIn(c.pod.cluster).nodes.Absent
		if len(down) == 0 || !c.pod.node.Known() {
			continue
		}
		key := nodeKey{c.pod.cluster, c.pod.node.Value}
		for _, steps := range c.running {
			held = b.sampling.Holding(held, steps)
			for _, x := range held {
				for _, gap := range down {
					if from, to := max(x.From, gap.From), min(x.To, gap.To); from < to {
						sights[key] = sights[key].With(timeline.Interval{From: from, To: to})
					}
				}
			}
		}
	}
	out := map[nodeKey]timeline.Steps{}
	for key, all := range sights {
		out[key] = timeline.Mask(all)
	}
	return out
}

// gaps collects the objects of one kind that were not seen for a time, and when.
type gaps struct {
	names []string
	when  timeline.Intervals
}

// add records the gaps of one object.
func (g *gaps) add(name string, when timeline.Intervals) {
	if len(when) > 0 {
		g.names, g.when = append(g.names, name), append(g.when, when...)
	}
}

// warnGaps warns about gaps that were bridged.
func (b *Builder) warnGaps() {
	var outages timeline.Intervals
	for _, cluster := range sortedSymbols(b.outages.absent) {
		for _, gap := range b.outages.silent[cluster] {
			if b.concerns(gap) {
				b.warnSilence(cluster, gap)
			}
		}
		outages = append(outages, b.outages.silent[cluster]...)
	}
	outages = timeline.Union(outages)
	var nodes gaps
	for _, n := range each(&b.limits, slices.All(b.sortedNodes())) {
		nodes.add(b.placed(n.cluster, n.name.Value()), timeline.Outside(b.asked(n.bridged), outages))
	}
	b.count(notices.UnseenNodes, nodes.names, notices.Clocks(nodes.when))
	b.outages.bridged.when = timeline.Outside(b.outages.bridged.when, outages)
	if len(b.outages.bridged.when) > 0 {
		b.count(notices.UnseenContainers, b.outages.bridged.names, notices.Clocks(b.outages.bridged.when))
	}
}

// concerns reports whether a silence matters for the window: more than a lookback of it lies there, or both of its ends are known.
func (b *Builder) concerns(gap timeline.Interval) bool {
	within := b.asked(timeline.Intervals{gap})
	return within.Length() > b.sampling.Lookback || len(within) > 0 && gap.From > b.sampling.Start && gap.To < b.sampling.End
}

// Lose marks a span for which the source could not return samples of running containers. Warnings do not call kube-state-metrics down then.
func (b *Builder) Lose(span Span) {
	b.outages.lost = timeline.Union(append(b.outages.lost, timeline.Interval{From: span.Start, To: span.End}))
}

// warnSilence warns that no container of a cluster was seen in a gap.
func (b *Builder) warnSilence(cluster signals.Symbol, gap timeline.Interval) {
	const metric = "kube_pod_container_status_running"
	slack := b.sampling.Cell() + timeline.Lookback // around the samples that are not seen
	lost := slices.ContainsFunc(b.outages.lost, func(x timeline.Interval) bool { return x.From-slack <= gap.From && gap.To <= x.To+slack })
	cause := func(question string) string {
		if lost {
			return "it could not be read, as another warning says."
		}
		return question
	}
	switch {
	case gap.From <= b.start() && gap.To >= b.end():
		newest, question := b.lastSeen(cluster), "did its data end, or is kube-state-metrics down?"
		if newest == "" {
			question = "has it no data of that time, or was kube-state-metrics down?"
		}
		b.warn("cluster %s: no sample of %s %s%s: %s", cluster.Value(), metric, notices.Clock(timeline.Interval{From: b.start(), To: b.end()}), newest, cause(question))
	case gap.From <= b.sampling.Start:
		b.warn("cluster %s: no sample of %s before %s: %s Earlier time is charged only as far as an outage of an hour, or cAdvisor, explains it", cluster.Value(), metric, notices.Instant(gap.To), cause("do its data begin there?"))
	case gap.To >= b.sampling.End:
		b.warn("cluster %s: no sample of %s after %s: %s", cluster.Value(), metric, notices.Instant(gap.From), cause("is kube-state-metrics down?"))
	default:
		b.warn("cluster %s: no sample of %s %s: %s What ran before and after is taken to have run on", cluster.Value(), metric, notices.Clock(gap), cause("was kube-state-metrics down?"))
	}
}

// lastSeen says when containers of a cluster were last seen before the window, "" if that is not known.
func (b *Builder) lastSeen(cluster signals.Symbol) string {
	gap, ok := b.absentIn(cluster).containers.Absent.Find(b.start())
	if !ok || gap.From <= b.loadedFrom {
		return ""
	}
	return ", the newest is of about " + notices.Instant(gap.From)
}

// appendSpread appends when a container ran and its usage was counted, but not seen, for more than a lookback.
func (c *containerUse) appendSpread(dst timeline.Intervals, s timeline.Sampling) timeline.Intervals {
	for r := range allocation.NumResources {
		for _, f := range c.covered[r] {
			if f.Soft && f.To-f.From > timeline.Lookback {
				dst = append(dst, c.runs.Clip(max(f.From, s.Start), min(f.To, s.End))...)
			}
		}
	}
	return dst
}
