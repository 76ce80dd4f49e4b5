package promquery

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// probeLength is how much of the window is read to find the scrape interval: enough for three samples of a series at the longest
// common intervals. containerProbe is the same for series of containers, of which there are many: enough for two samples.
const (
	probeLength    = 20 * time.Minute
	containerProbe = 6 * time.Minute
)

// probe is a series that every node has, or every pod, from kube-state-metrics or cAdvisor, or from the receiver of OpenTelemetry in their place.
type probe struct {
	metric   string
	matchers []Matcher
	of       Receiver
	dialect  dialect
}

// nodeProbes are cheap to read. Some installations drop cAdvisor's series of whole nodes.
var nodeProbes = append([]probe{
	{metric: "kube_node_info"},
	{metric: "container_memory_working_set_bytes", matchers: []Matcher{equal("id", "/")}, of: KubeletReceiver},
	{metric: "machine_memory_bytes", of: KubeletReceiver},
}, otelProbes(nodeReady, nodeTime)...)

// containerProbes are read if there are no series of nodes, or none of programs that tell the same as OpenTelemetry's receivers.
var containerProbes = append([]probe{
	{metric: "kube_pod_info"},
	{metric: "container_memory_working_set_bytes", matchers: []Matcher{notEqual("container", ""), notEqual("container", "POD")}, of: KubeletReceiver},
}, otelProbes(podPhase, containerTime)...)

// otelProbes are metrics of OpenTelemetry's receivers in all spellings.
func otelProbes(list ...Alternative) (probes []probe) {
	for i := range list {
		for d := underscores; d < numDialects; d++ {
			for _, name := range list[i].spellings(d) {
				probes = append(probes, probe{metric: name, of: list[i].OTel.Receiver, dialect: d})
			}
		}
	}
	return probes
}

// intervals are the distances in milliseconds between the samples of each series of the probes that shows one, and the scrape intervals
// that they show, by receiver: of other programs, and of OpenTelemetry.
type intervals struct {
	now   [numReceivers][2][]int64
	found [numReceivers][2]time.Duration
	otel  *otel
}

// lacks reports whether no interval is known of what a receiver tells.
func (x *intervals) lacks(r Receiver) bool { return x.found[r][0] == 0 && x.found[r][1] == 0 }

// instants are where in a window probes are read, in this order.
var instants = []func(w allocation.Window) time.Time{
	func(w allocation.Window) time.Time { return w.End },
	func(w allocation.Window) time.Time { return w.Start.Add(probeLength) },
	func(w allocation.Window) time.Time { return w.Start.Add(w.Duration() / 2) },
	func(w allocation.Window) time.Time { return w.Start },
	func(w allocation.Window) time.Time { return w.Start.Add(-probeLength) },
	func(w allocation.Window) time.Time { return w.Start.Add(-2 * probeLength) },
}

// findScrapeIntervals finds, for each window, the scrape intervals of kube-state-metrics and cAdvisor, or else of OpenTelemetry's receivers, and takes the longer
// one. It looks at the end of the window first, then at its beginning, where the dialect may have been another, and at its middle. A window may lie within an
// outage, so it looks in the hour before it, too. If it finds nothing, it takes the default.
func (c *computation) findScrapeIntervals(ctx context.Context) error {
	found := make([]intervals, len(c.windows))
	for i, w := range c.windows {
		found[i].otel = &w.otel
	}
	for at := range instants {
		for i := range found {
			found[i].now = [numReceivers][2][]int64{}
		}
		err := c.probe(ctx, found, at, probeLength, nodeProbes, func(x *intervals, p *probe) bool {
			return x.lacks(ClusterReceiver) || x.lacks(KubeletReceiver) || at < 3 && x.otel.speaking() || at == 1 && p.dialect != classic
		})
		if err == nil {
			err = c.probe(ctx, found, at, containerProbe, containerProbes, func(x *intervals, p *probe) bool {
				none := x.lacks(p.of) && len(x.now[p.of][0]) == 0 && len(x.now[p.of][1]) == 0
				return none || p.dialect == classic && x.otel.alone(p.of, 1<<at)
			})
		}
		if err != nil {
			return err
		}
		for i := range found {
			x := &found[i]
			for r := range x.now {
				for k := range x.now[r] {
					x.found[r][k] = cmp.Or(x.found[r][k], configured(median(x.now[r][k])))
				}
			}
		}
	}
	for i, w := range c.windows {
		for _, of := range found[i].found {
			w.scrape = max(w.scrape, cmp.Or(of[0], of[1]))
		}
		w.scrape = cmp.Or(w.scrape, DefaultScrapeInterval)
	}
	return nil
}

// configured is the configured interval behind a measured one. Measured intervals jitter, cAdvisor's by up to a second, but
// configured ones are round: a multiple of 5 s if that is within a twentieth, else whole seconds. So all windows find the same
// one.
func configured(measured time.Duration) time.Duration {
	round := measured.Round(5 * time.Second)
	switch {
	case (round-measured).Abs()*20 <= measured:
		return round
	case measured < time.Second:
		return measured
	}
	return measured.Round(time.Second)
}

// probe reads probes that end at an instant of each window of which they are wanted.
func (c *computation) probe(ctx context.Context, found []intervals, at int, length time.Duration, probes []probe, wants func(*intervals, *probe) bool) error {
	var asking []*asker
	keep := Labels(slices.Concat(c.cfg.Clusters.Labels, nodeLabels)...)
	for k, w := range c.windows {
		end := instants[at](w.query.Window)
		var asked []*probe
		a := &asker{window: w, use: func(s Series) error {
			n := len(s.Key) - len(nodeLabels)
			found[k].add(asked[s.Request], c.clusterOf(s.Key[:n]), uint8(1)<<at, slices.ContainsFunc(s.Key[n:], func(s Symbol) bool { return s != none }), s.Points.Interval())
			return nil
		}}
		for i := range probes {
			if p := &probes[i]; wants(&found[k], p) {
				asked = append(asked, p)
				a.requests = append(a.requests, Request{
					Metric: p.metric, Matchers: p.matchers, Start: end.Add(-length).UnixMilli(), End: end.UnixMilli(),
					Keep: keep, Input: inputInterval, AtOnce: manyAtOnce,
				})
			}
		}
		if len(asked) > 0 {
			asking = append(asking, a)
		}
	}
	if len(asking) == 0 {
		return nil
	}
	_, err := c.fetch(ctx, inputInterval, asking)
	c.stats.Warnings, c.stats.Losses = nil, nil // those of the computation repeat them
	return err
}

// nodeLabels are how series of OpenTelemetry name nodes.
var nodeLabels = []string{underscores.spell("k8s.node.name"), dots.spell("k8s.node.name"), underscores.spell("k8s.pod.name"), dots.spell("k8s.pod.name")}

// add adds a series, which names its node or pod or does not, and the distance between its samples.
func (x *intervals) add(of *probe, cluster Symbol, instant uint8, named bool, d int64) {
	x.otel.see(of, cluster, instant, named)
	if d > 0 && d <= timeline.Lookback { // else it was an outage
		k := min(int(of.dialect), 1)
		x.now[of.of][k] = append(x.now[of.of][k], d)
	}
}
