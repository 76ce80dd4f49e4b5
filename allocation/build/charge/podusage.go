package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// BarePods returns the names, ascending, of pods with bareTime: usage of the pod as a whole should be added next. Call it once, after usage of containers
// was added. Sandboxes such as Kata's, and some runtimes, show only cgroups of pods.
func (ch *Charger) BarePods() (names []string) {
	ch.measureRestarted()
	for p := range ch.EveryPod() {
		if !slices.ContainsFunc(p.Containers, ch.Measures) {
			continue
		}
		bare := [allocation.NumResources]bareTime{allocation.CPU: ch.bareTime(p, allocation.CPU), allocation.RAM: ch.bareTime(p, allocation.RAM)}
		if len(bare[allocation.CPU].Intervals)+len(bare[allocation.RAM].Intervals) > 0 {
			ch.podUse(p).bare, names = &bare, append(names, p.Name.Value())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// bareTime is when a pod ran and none of its containers had usage of a resource: for longer than a lookback where some had at another time, else so long
// that a scrape should have seen some.
type bareTime struct {
	timeline.Intervals
	seen bool // at another time, some had
}

// seenUse returns when a container had usage of a resource, and shortly before and after, for series of one target have times of their own.
func (ch *Charger) seenUse(c *observe.Container, r allocation.Resource) (out timeline.Intervals) {
	apart := 2 * ch.Sampling.Cell()
	for _, f := range ch.containerUse(c).covered[r] {
		out = append(out, timeline.Interval{From: f.From - apart, To: f.To + apart})
	}
	return out
}

// bareTime returns that of a pod. While all of its cluster was unseen, as over an outage of Prometheus, its cgroup was, too.
func (ch *Charger) bareTime(p *observe.Pod, r allocation.Resource) (bare bareTime) {
	var ran, seen timeline.Intervals
	for _, c := range p.Containers {
		ran, seen = append(ran, c.Runs...), append(seen, ch.seenUse(c, r)...)
	}
	bare.Intervals, bare.seen = timeline.Union(ran).Without(timeline.Union(seen)), len(seen) > 0
	least := ch.Sampling.Cell()
	if bare.seen {
		bare.Intervals, least = bare.Without(ch.AbsentIn(p.Cluster).Containers.Down), timeline.Lookback
	}
	bare.Intervals = slices.DeleteFunc(bare.Intervals, func(x timeline.Interval) bool { return x.To-x.From <= least })
	bare.Intervals = bare.Clip(ch.Start(), ch.End()) // usage is read of the window
	return bare
}

// addPodUsage integrates a usage series of a pod for the pod with the UID in its key, else for those with its name.
func (l *integrator) addPodUsage(s *observe.Incoming) error {
	pods := l.ch.Pods.ByName[s.Object()]
	if p := l.ch.PodByUID(s); p != nil {
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
	bare := &p.bare[s.Resource]
	if bare.seen { // what is not seen of the pod may be of its containers
		cells = slices.DeleteFunc(cells, func(x timeline.Cell) bool { return x.Held })
	}
	edges := bare.Edges(nil)
	for _, c := range p.Containers {
		for _, x := range c.Sections {
			edges = append(edges, x.From, x.To)
		}
	}
	edges = timeline.SortedEdges(edges)
	for i := 1; i < len(edges); i++ {
		from, to := edges[i-1], edges[i]
		if _, ok := bare.Find(to); !ok {
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
