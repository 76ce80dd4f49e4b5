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
}

// has reports whether a promcost exposed a series of a node. Clusters that are named must be the same. With honor_labels the
// instance of a series may be the node's and says nothing of the target: then the job decides, if it has no other targets,
// for leaving out what others expose would be worse.
func (o *ownTargets) has(cluster, job, instance, node Symbol) bool {
	if len(o.clusters) == 0 {
		return false
	}
	clusters, ok := o.clusters[target{job, instance}]
	if !ok {
		return instance == node && o.jobs[job]
	}
	return cluster == none || slices.Contains(clusters, none) || slices.Contains(clusters, cluster)
}

// findOwn finds the promcosts in a window and the hour before it.
func (c *computation) findOwn(ctx context.Context, w allocation.Window) error {
	c.own = ownTargets{clusters: map[target][]Symbol{}, jobs: map[Symbol]bool{}}
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
	if c.dropped > 0 {
		b.Warn(fmt.Sprintf("%d series of prices were left out, for a promcost exposes them: what it computes is no input", c.dropped))
	}
}
