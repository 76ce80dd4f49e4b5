package promquery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
)

// A server that answers on a grid shows the last sample of a series for a lookback, unless a staleness marker ends it. A failed scrape leaves
// markers, but a Prometheus that is down leaves none. Of raw samples, the last one before that counts for two scrape intervals (SEMANTICS,
// Gaps and outages). So that answers count alike, what a server shows later of an outage is left out.

// shown is what a server shows of the samples of a cluster at one point of a grid.
type shown struct {
	at, newest int64 // the point, and when the newest sample that it sees was taken, in Unix milliseconds
}

// findOutages finds out, for each window, at which points of its grid what the server shows of a cluster was taken before an outage: longer ago
// than two scrape intervals.
func (c *computation) findOutages(ctx context.Context) error {
	var asking []*asker
	seen := make([]map[Symbol][]shown, len(c.windows))
	for i, w := range c.windows {
		s := w.Sampling()
		if w.raw || s.Exact() {
			continue
		}
		beyond := (time.Hour.Milliseconds()/s.Step + 1) * s.Step // as far as windows look for evidence
		seen[i] = map[Symbol][]shown{}
		asking = append(asking, &asker{
			window: w,
			requests: []Request{{
				Metric: nodeProbes[0].metric, Keep: Labels(c.cfg.Clusters.Labels...), Start: s.LoadStart() - beyond, End: s.End + beyond,
				Grid: Grid{Step: s.Step, Times: true}, Input: inputInterval,
			}},
			use: func(series Series) error {
				if !series.Points.Sampled() {
					return nil
				}
				cluster := c.symbols.Of(c.cfg.Clusters.Default)
				if k := slices.IndexFunc(series.Key, func(s Symbol) bool { return s != none }); k >= 0 {
					cluster = series.Key[k]
				}
				for t, v := range series.Points.All() {
					seen[i][cluster] = append(seen[i][cluster], shown{t, int64(v * 1000)})
				}
				return nil
			},
		})
	}
	if len(asking) == 0 {
		return nil
	}
	if _, err := c.fetch(ctx, inputInterval, asking); err != nil {
		return fmt.Errorf("find outages: %w", err)
	}
	c.stats.Warnings, c.stats.Losses = nil, nil // those of the computation repeat them
	for i, w := range c.windows {
		for cluster, points := range seen[i] {
			if late := outdated(points, w.Sampling()); len(late) > 0 {
				w.outdated[cluster] = late
			}
		}
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
func (w *window) current(cluster Symbol, p *timeline.Points) *timeline.Points {
	late := w.outdated[cluster]
	if !p.Sampled() || len(late) == 0 {
		return p
	}
	return p.Outside(&w.points, late)
}
