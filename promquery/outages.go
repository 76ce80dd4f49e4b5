package promquery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// A server that answers on a grid shows the last sample of a series for a lookback, unless a staleness marker ends it. A failed scrape leaves
// markers, but a Prometheus that is down leaves none. Of raw samples, the last one before that counts for two scrape intervals (SEMANTICS,
// Gaps and outages). So that answers count alike, what a server shows later of an outage is left out.

// shown is what a server shows of the samples of a cluster at one point of a grid.
type shown struct {
	at, newest int64 // the point, and when the newest sample that it sees was taken, in Unix milliseconds
}

// outages are what a window learns of them.
type outages struct {
	asked    build.Span                    // the time that was asked for
	shown    map[Symbol][]shown            // by cluster
	outdated map[Symbol]timeline.Intervals // by cluster: when a server shows samples from before an outage
	points   timeline.Points               // scratch of current
}

// findOutages finds out, for each window, at which points of its grid what the server shows of a cluster was taken before an outage: longer ago
// than two scrape intervals. It asks for the time that the windows ask for next, as far as it did not before.
func (c *computation) findOutages(ctx context.Context) error {
	var asking []*asker
	for _, w := range c.windows {
		if w.step == nil || w.raw || w.Sampling().Exact() {
			continue
		}
		a := &asker{window: w, use: func(s Series) error { return w.outages.add(c, s) }}
		for _, span := range w.outages.lacks(w.step.Asks) {
			a.requests = append(a.requests, Request{
				Metric: nodeProbes[0].metric, Keep: Labels(c.cfg.Clusters.Labels...), Start: span.Start, End: span.End,
				Grid: Grid{Step: w.Sampling().Step, Times: true}, Input: inputInterval,
			})
		}
		if len(a.requests) > 0 {
			asking = append(asking, a)
		}
	}
	if len(asking) == 0 {
		return nil
	}
	warnings, losses := c.stats.Warnings, c.stats.Losses
	if _, err := c.fetch(ctx, inputInterval, asking); err != nil {
		return fmt.Errorf("find outages: %w", err)
	}
	c.stats.Warnings, c.stats.Losses = warnings, losses // what follows asks for the same time, and repeats them
	for _, a := range asking {
		of := &a.window.outages
		for cluster, points := range of.shown {
			of.outdated[cluster] = outdated(points, a.window.Sampling())
		}
	}
	return nil
}

// lacks returns the spans of asks for all of a window's inputs that reach beyond what was asked for, and takes these for asked.
func (o *outages) lacks(asks []build.Ask) (spans []build.Span) {
	for i := range asks {
		if !slices.Contains(asks[i].Signals, signals.NodeInfo) {
			continue
		}
		for _, span := range asks[i].Spans {
			switch {
			case o.asked == build.Span{}:
				o.asked = span
			case span.Start < o.asked.Start:
				o.asked.Start = span.Start
			case span.End > o.asked.End:
				o.asked.End = span.End
			default:
				continue
			}
			spans = append(spans, span)
		}
	}
	return spans
}

// add adds what the server shows of a cluster.
func (o *outages) add(c *computation, s Series) error {
	if !s.Points.Sampled() {
		return nil
	}
	cluster := c.clusterOf(s.Key)
	for t, v := range s.Points.All() {
		o.shown[cluster] = append(o.shown[cluster], shown{t, int64(v * 1000)})
	}
	return nil
}

// outdated returns the points of a grid at which the newest sample was taken before an outage, and longer ago than two scrape intervals, as
// intervals that begin just before the first of the points. Samples that are further apart than two of the cluster's scrapes are an outage.
func outdated(points []shown, s timeline.Sampling) (out timeline.Intervals) {
	slices.SortFunc(points, func(a, b shown) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.newest, a.newest)) })
	points = slices.CompactFunc(points, func(a, b shown) bool { return a.at == b.at }) // of replicas, the newest
	shortest := int64(0)
	for i := range points[1:] {
		if d := points[i+1].newest - points[i].newest; d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	valid, apart, end := 2*s.Interval, 2*max(s.Interval, shortest), int64(timeline.Forever)
	if shortest > s.Step { // this cluster is scraped more rarely than others
		valid = apart
	}
	for i := range slices.Backward(points) {
		x := &points[i]
		if i+1 < len(points) && points[i+1].newest != x.newest {
			end = points[i+1].newest
		}
		if end-x.newest > apart && x.at-x.newest >= valid {
			out = append(out, timeline.Interval{From: x.at - 1, To: x.at})
		}
	}
	return timeline.Union(out)
}

// current returns the samples of a cluster's series but for those that were taken before an outage. They are valid until the next call.
func (o *outages) current(of signals.Signal, cluster Symbol, p *timeline.Points) *timeline.Points {
	late := o.outdated[cluster]
	if !p.Sampled() || len(late) == 0 || of.IsMeasured() {
		return p
	}
	return p.Outside(&o.points, late)
}
