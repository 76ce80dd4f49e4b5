package promquery

import (
	"cmp"
	"context"
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

// probe is a series that every node has, from kube-state-metrics or cAdvisor.
type probe struct {
	metric   string
	matchers []Matcher
	cadvisor bool
}

// nodeProbes are cheap to read. Some installations drop cAdvisor's series of whole nodes.
var nodeProbes = []probe{
	{metric: "kube_node_info"},
	{metric: "container_memory_working_set_bytes", matchers: []Matcher{equal("id", "/")}, cadvisor: true},
	{metric: "machine_memory_bytes", cadvisor: true},
}

// containerProbes are read if cAdvisor has no series of nodes.
var containerProbes = []probe{
	{metric: "container_memory_working_set_bytes", matchers: []Matcher{notEqual("container", ""), notEqual("container", "POD")}, cadvisor: true},
}

// intervals are the distances in milliseconds between the samples of each series of the probes that shows one, and the scrape intervals
// that they show.
type intervals struct {
	ofKubeState, ofCadvisor []int64
	kubeState, cadvisor     time.Duration
}

// findScrapeIntervals finds, for each window, the scrape intervals of kube-state-metrics and cAdvisor, and takes the longer one. It looks
// at the end of the window, then at its beginning and middle, then, for a window within an outage, in the hour before it. If it finds
// neither, it takes the default.
func (c *computation) findScrapeIntervals(ctx context.Context) error {
	found := make([]intervals, len(c.windows))
	for _, end := range []func(w allocation.Window) time.Time{
		func(w allocation.Window) time.Time { return w.End },
		func(w allocation.Window) time.Time { return w.Start.Add(probeLength) },
		func(w allocation.Window) time.Time { return w.Start.Add(w.Duration() / 2) },
		func(w allocation.Window) time.Time { return w.Start },
		func(w allocation.Window) time.Time { return w.Start.Add(-probeLength) },
		func(w allocation.Window) time.Time { return w.Start.Add(-2 * probeLength) },
	} {
		for i := range found {
			found[i].ofKubeState, found[i].ofCadvisor = nil, nil
		}
		err := c.probe(ctx, found, end, probeLength, nodeProbes, func(x *intervals) bool { return x.kubeState == 0 || x.cadvisor == 0 })
		if err == nil {
			err = c.probe(ctx, found, end, containerProbe, containerProbes, func(x *intervals) bool { return x.cadvisor == 0 && len(x.ofCadvisor) == 0 })
		}
		if err != nil {
			return err
		}
		for i := range found {
			x := &found[i]
			x.kubeState, x.cadvisor = cmp.Or(x.kubeState, configured(median(x.ofKubeState))), cmp.Or(x.cadvisor, configured(median(x.ofCadvisor)))
		}
	}
	for i, w := range c.windows {
		w.scrape = cmp.Or(max(found[i].kubeState, found[i].cadvisor), DefaultScrapeInterval)
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

// probe reads probes that end at an instant of each window of which too little is found.
func (c *computation) probe(ctx context.Context, found []intervals, end func(allocation.Window) time.Time, length time.Duration, probes []probe, lacks func(*intervals) bool) error {
	var asking []*asker
	for k, w := range c.windows {
		if !lacks(&found[k]) {
			continue
		}
		at := end(w.query.Window)
		a := &asker{window: w, use: func(s Series) error {
			found[k].add(&probes[s.Request], s.Points.Interval())
			return nil
		}}
		for _, p := range probes {
			a.requests = append(a.requests, Request{
				Metric: p.metric, Matchers: p.matchers, Start: at.Add(-length).UnixMilli(), End: at.UnixMilli(),
				Keep: Labels("node"), Input: inputInterval, AtOnce: manyAtOnce,
			})
		}
		asking = append(asking, a)
	}
	if len(asking) == 0 {
		return nil
	}
	_, err := c.fetch(ctx, inputInterval, asking)
	c.stats.Warnings, c.stats.Losses = nil, nil // those of the computation repeat them
	return err
}

// add adds the distance between samples of a series.
func (x *intervals) add(of *probe, d int64) {
	switch {
	case d <= 0 || d > timeline.Lookback: // an outage
	case of.cadvisor:
		x.ofCadvisor = append(x.ofCadvisor, d)
	default:
		x.ofKubeState = append(x.ofKubeState, d)
	}
}
