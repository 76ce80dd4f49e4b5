package democluster

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

const metricName = "__name__"

// series is one time series in a window of time: its labels and a closed form of its samples.
type series struct {
	labels labels.Labels
	target *target
	runs   []run

	// Of a series with a curve, divisor gives the unit, and key the jitter of samples that come with times of their own.
	curve   curve
	divisor float64
	jitters bool
	key     uint64
}

// collector gathers the series that have a sample in a window.
type collector struct {
	c       *Cluster
	w       span
	list    []series
	scratch labels.ScratchBuilder
}

// collect returns all series with a sample in w, in the order of their labels. The plan must reach beyond w.
func (c *Cluster) collect(w span) []series {
	b := &collector{c: c, w: w, scratch: labels.NewScratchBuilder(24)}
	b.targets()
	b.clusterObjects()
	// A pod that has just gone still has its staleness markers to come.
	late := span{w.from - 2*c.cfg.ScrapeInterval.Milliseconds(), w.to}
	for _, p := range c.pods {
		if late.overlaps(span{p.created, p.listed}) {
			b.pod(p)
		}
	}
	for _, n := range c.nodes {
		if late.overlaps(n.life) {
			b.node(n)
		}
	}
	slices.SortFunc(b.list, func(x, y series) int { return labels.Compare(x.labels, y.labels) })
	return b.list
}

// steps adds a series of a target given by its changes; the rest are label names and values in turn. Empty
// values are left out, and instance, if given, is the exporter's own, which wins as with honor_labels.
func (b *collector) steps(g *target, steps []step, name string, kv ...string) {
	if runs := g.runsOf(steps, g.first(b.w.from), g.first(b.w.to)); len(runs) > 0 {
		b.list = append(b.list, series{labels: b.labels(g, name, kv), target: g, runs: runs})
	}
}

// ksm adds a series of kube-state-metrics.
func (b *collector) ksm(steps []step, name string, kv ...string) {
	b.steps(b.c.kubeState, steps, name, kv...)
}

// sampled adds a series of a cgroup that exists during life, whose samples are taken up to a second before the scrape. For
// that cAdvisor sends times of its own, and Prometheus writes no staleness markers for samples that came with theirs.
func (b *collector) sampled(g *target, life span, cv curve, key uint64, divisor float64, name string, kv ...string) {
	all := g.alive(run{from: g.firstTaken(key, life.from), to: g.endTaken(key, life.to)}, nil)
	runs := g.markEnds(all, g.firstTaken(key, b.w.from), g.firstTaken(key, b.w.to))
	runs = slices.DeleteFunc(runs, func(r run) bool { return r.marker })
	if len(runs) == 0 {
		return
	}
	b.list = append(b.list, series{labels: b.labels(g, name, kv), target: g, runs: runs, curve: cv, divisor: divisor, jitters: true, key: key})
}

// scraped adds a series with a curve that exists during life, whose samples have the scrape's time.
func (b *collector) scraped(g *target, life span, cv curve, divisor float64, name string, kv ...string) {
	if runs := g.runsOf(constant(life, 0), g.first(b.w.from), g.first(b.w.to)); len(runs) > 0 {
		b.list = append(b.list, series{labels: b.labels(g, name, kv), target: g, runs: runs, curve: cv, divisor: divisor})
	}
}

// endTaken is firstTaken for the end of a cgroup's life, which may be never.
func (g *target) endTaken(key uint64, t int64) int64 {
	if t >= never {
		return never
	}
	return g.firstTaken(key, t)
}

func (b *collector) labels(g *target, name string, kv []string) labels.Labels {
	b.scratch.Reset()
	b.scratch.Add(metricName, name)
	b.scratch.Add("job", g.job)
	own := false
	for i := 0; i < len(kv); i += 2 {
		if kv[i+1] != "" {
			b.scratch.Add(kv[i], kv[i+1])
		}
		own = own || kv[i] == "instance"
	}
	if !own {
		b.scratch.Add("instance", g.instance)
	}
	b.scratch.Sort()
	return b.scratch.Labels()
}
