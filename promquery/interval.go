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

// findScrapeInterval finds the scrape intervals of kube-state-metrics and cAdvisor and takes the longer one. It looks at the end
// of the window, then at its beginning and middle, then, for a window within an outage, in the hour before it. If it finds
// neither, it takes the default.
func (c *computation) findScrapeInterval(ctx context.Context, w allocation.Window) error {
	middle := w.Start.Add(w.Duration() / 2)
	var kubeState, cadvisor time.Duration
	for _, end := range []time.Time{w.End, w.Start.Add(probeLength), middle, w.Start, w.Start.Add(-probeLength), w.Start.Add(-2 * probeLength)} {
		ofKubeState, ofCadvisor, err := c.intervals(ctx, end, probeLength, nodeProbes)
		if err == nil && len(ofCadvisor) == 0 && cadvisor == 0 {
			_, ofCadvisor, err = c.intervals(ctx, end, containerProbe, containerProbes)
		}
		if err != nil {
			return err
		}
		kubeState, cadvisor = cmp.Or(kubeState, configured(median(ofKubeState))), cmp.Or(cadvisor, configured(median(ofCadvisor)))
		if kubeState > 0 && cadvisor > 0 {
			break
		}
	}
	c.scrape = cmp.Or(max(kubeState, cadvisor), DefaultScrapeInterval)
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

// intervals are the distances in milliseconds between the samples of each series of the probes that shows one.
func (c *computation) intervals(ctx context.Context, end time.Time, length time.Duration, probes []probe) (kubeState, cadvisor []int64, err error) {
	sels := make([]Selector, len(probes))
	for i, p := range probes {
		sels[i] = Selector{
			Metric: p.metric, Matchers: p.matchers, Start: end.Add(-length).UnixMilli(), End: end.UnixMilli(),
			Keep: []string{"node"}, Input: inputInterval, AtOnce: manyAtOnce,
		}
	}
	_, err = c.ask(ctx, askInterval, sels, OneWorker(func(i int, _ []Symbol, p *timeline.Points) error {
		switch d := p.Interval(); {
		case d <= 0 || d > timeline.Lookback: // an outage
		case probes[i].cadvisor:
			cadvisor = append(cadvisor, d)
		default:
			kubeState = append(kubeState, d)
		}
		return nil
	}))
	c.stats.Warnings, c.stats.Losses = nil, nil // those of the computation repeat them
	return kubeState, cadvisor, err
}
