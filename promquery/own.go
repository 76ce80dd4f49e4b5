package promquery

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// buildInfo is what every promcost exposes, and nothing else does.
const buildInfo = "promcost_build_info"

// target is what a series was scraped from.
type target struct{ job, instance Symbol }

// ownTargets are the promcosts that the source has series of. What they expose is made of prices, and never an input.
type ownTargets struct {
	clusters map[target][]Symbol // that name themselves on the series of a target; none where they do not
	jobs     map[Symbol]bool     // all of whose targets are promcosts
	shared   map[Symbol]bool     // that have promcosts among their targets
	prices   bool                // nothing tells the prices of this promcost apart, unless its target is known
}

// has reports whether a promcost exposed a series. Clusters that are named must be the same. With honor_labels the instance
// of a series may be its node's and says nothing of the target: then the job decides, if it has no other targets, for
// leaving out what others expose would be worse. But where this promcost exposes prices, it is worse to take a price that may
// be its own.
func (o *ownTargets) has(cluster, job, instance Symbol, price bool) bool {
	doubtful := price && o.prices
	if len(o.clusters) == 0 {
		return doubtful
	}
	clusters, ok := o.clusters[target{job, instance}]
	if !ok {
		return o.jobs[job] || doubtful && (job == none || o.shared[job])
	}
	return cluster == none || slices.Contains(clusters, none) || slices.Contains(clusters, cluster)
}

// findOwn finds the promcosts in a window and the hour before it.
func (c *computation) findOwn(ctx context.Context, w allocation.Window) error {
	c.own = ownTargets{clusters: map[target][]Symbol{}, jobs: map[Symbol]bool{}, shared: map[Symbol]bool{}, prices: c.cfg.Priced && len(c.cfg.Exclude) == 0}
	sel := Selector{
		Metric: buildInfo, Keep: append([]string{"job", "instance"}, c.cfg.Clusters.Labels...),
		Start: w.Start.Add(-time.Hour).UnixMilli(), End: w.End.UnixMilli(), Step: timeline.Lookback, Input: inputOwn,
	}
	_, err := c.ask(ctx, inputOwn, []Selector{sel}, OneLane(func(_ int, key []Symbol, _ *timeline.Points) error {
		at, cluster := target{key[0], key[1]}, none
		if i := slices.IndexFunc(key[2:], func(s Symbol) bool { return s != none }); i >= 0 {
			cluster = key[2+i]
		}
		if at != (target{none, none}) {
			c.own.clusters[at] = append(c.own.clusters[at], cluster)
		}
		return nil
	}))
	if err == nil {
		err = c.findOwnJobs(ctx, sel)
	}
	if err != nil {
		return fmt.Errorf("find series of promcost: %w", err)
	}
	return nil
}

// findOwnJobs finds the jobs that have targets, all of them promcosts.
func (c *computation) findOwnJobs(ctx context.Context, sel Selector) error {
	var jobs []string
	for at := range c.own.clusters {
		if at.job != none {
			jobs = append(jobs, regexp.QuoteMeta(at.job.Value()))
			c.own.shared[at.job] = true
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	slices.Sort(jobs)
	shared := map[Symbol]bool{}
	sel.Metric, sel.Keep = "up", []string{"job", "instance"}
	sel.Matchers = []Matcher{matching("job", strings.Join(slices.Compact(jobs), "|"))}
	_, err := c.ask(ctx, askJobs, []Selector{sel}, OneLane(func(_ int, key []Symbol, _ *timeline.Points) error {
		if _, ok := c.own.clusters[target{key[0], key[1]}]; ok {
			c.own.jobs[key[0]] = true
		} else {
			shared[key[0]] = true
		}
		return nil
	}))
	for job := range shared {
		delete(c.own.jobs, job)
	}
	return err
}

// warnOwn says how many series were left out.
func (c *computation) warnOwn(b *allocation.Builder) {
	if c.dropped > 0 && c.own.prices {
		b.Warn(fmt.Sprintf("%d series were left out, for a promcost exposes them, or this one may, which exposes prices (--collector.opencost): what it computes is no input, so prices are the sheet's unless a target is known to be another's. Let Prometheus scrape promcost_build_info with them, or say with --prometheus.exclude which series are promcost's", c.dropped))
	} else if c.dropped > 0 {
		b.Warn(fmt.Sprintf("%d series of prices were left out, for a promcost exposes them: what it computes is no input", c.dropped))
	}
}
