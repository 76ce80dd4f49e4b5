package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// BarePods returns the names, ascending, of pods that ran for longer than a lookback while no usage of a container of theirs was seen: that of the
// pod as a whole should be added next. Call it once, after usage of containers was added. Sandboxes such as Kata's, and some runtimes, show only
// cgroups of pods.
func (ch *Charger) BarePods() (names []string) {
	ch.measureRestarted()
	for p := range ch.EveryPod() {
		if !slices.ContainsFunc(p.Containers, ch.Measures) {
			continue
		}
		var bare [allocation.NumResources]timeline.Intervals
		for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} {
			bare[r] = ch.bareTime(p, r)
		}
		if len(bare[allocation.CPU])+len(bare[allocation.RAM]) > 0 {
			ch.podUse(p).bare, names = &bare, append(names, p.Name.Value())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// bareTime is when a pod ran for longer than a lookback and none of its containers had usage of a resource.
func (ch *Charger) bareTime(p *observe.Pod, r allocation.Resource) timeline.Intervals {
	var ran, seen timeline.Intervals
	for _, c := range p.Containers {
		ran = append(ran, c.Runs...)
		for _, f := range ch.containerUse(c).covered[r] {
			seen = append(seen, timeline.Interval{From: f.From, To: f.To})
		}
	}
	return slices.DeleteFunc(timeline.Union(ran).Without(timeline.Union(seen)), func(x timeline.Interval) bool { return x.To-x.From <= timeline.Lookback })
}

// addPodUsage integrates a usage series of a pod for the pod with the UID in its key, else for those with its name.
func (l *integrator) addPodUsage(s *observe.Incoming) error {
	of := s.Pod()
	pods := l.ch.Pods.ByName[of.ObjectKey]
	if p := l.ch.Pods.Find(&of); p != nil {
		pods = []*observe.Pod{p}
	}
	for _, p := range pods {
		if use := l.ch.podUse(p); use.bare != nil && len(p.Containers) > 0 {
			l.measurePod(use, s)
		}
	}
	return nil
}

// measurePod divides a usage series of a pod among the containers that run, by request, else evenly, while none has usage of its own.
func (l *integrator) measurePod(p *podUse, s *observe.Incoming) {
	sampling, first := l.ch.SamplingOf(s), p.Containers[0]
	if s.Signal == signals.PodUse {
		l.cells = sampling.Counter(l.cells[:0], s.Points)
	} else {
		l.cells = sampling.Gauge(l.cells[:0], s.Points)
	}
	cells := l.ch.dropUnknown(l.begin(first, nil, s, l.cells))
	if s.Points.Sampled() {
		for i := timeline.HeldTail(cells, l.ch.Sampling.Lookback); i < len(cells); i++ {
			cells[i].Held = true
		}
	}
	edges := p.bare[s.Resource].Edges(nil)
	for _, c := range p.Containers {
		for _, x := range c.Sections {
			edges = append(edges, x.From, x.To)
		}
	}
	edges = timeline.SortedEdges(edges)
	for i := 1; i < len(edges); i++ {
		from, to := edges[i-1], edges[i]
		if _, bare := p.bare[s.Resource].Find(to); !bare {
			continue
		}
		running, requested := p.runningAt(to, s.Resource)
		for _, c := range running {
			share := 1 / float64(len(running))
			if requested > 0 {
				share = sectionAt(c, to).Request[s.Resource] / requested
			}
			part, parts := *s, shareOf(cells, from, to, share)
			part.ID ^= uint64(i) // a part never goes on in another
			l.coverAll(c, l.ch.coverage(c, s.Resource), &part, parts, len(parts))
		}
	}
}

// runningAt returns the containers of a pod that run just before t, and the sum of what they request of a resource.
func (p *podUse) runningAt(t int64, r allocation.Resource) (running []*observe.Container, requested float64) {
	for _, c := range p.Containers {
		if s := sectionAt(c, t); s != nil {
			running, requested = append(running, c), requested+s.Request[r]
		}
	}
	return running, requested
}

// shareOf returns the parts of cells within (from, to], with a share of their amounts.
func shareOf(cells []timeline.Cell, from, to int64, share float64) (out []timeline.Cell) {
	for _, x := range cells {
		if lo, hi := max(x.From, from), min(x.To, to); lo < hi {
			out = append(out, timeline.Cell{From: lo, To: hi, Amount: share * x.Amount * float64(hi-lo) / float64(x.To-x.From), Held: x.Held})
		}
	}
	return out
}
