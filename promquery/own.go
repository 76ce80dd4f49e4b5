package promquery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// buildInfo is what every promcost exposes, and nothing else does.
const buildInfo = "promcost_build_info"

// target is what a series was scraped from; without an instance, any of the job.
type target struct{ cluster, job, instance Symbol }

// ownTargets are the promcosts that the source has series of. What they expose is made of prices, and never an input.
type ownTargets map[target]bool

// has reports whether a promcost exposed a series of a node. With honor_labels its instance is the node's and says nothing of
// the target: then the job decides.
func (o ownTargets) has(cluster, job, instance, node Symbol) bool {
	if len(o) == 0 {
		return false
	}
	return o[target{cluster, job, instance}] || instance == node && o[target{cluster, job, none}]
}

// findOwn finds the promcosts in a window and the hour before it.
func (c *computation) findOwn(ctx context.Context, w allocation.Window) error {
	sel := Selector{
		Metric: buildInfo, Keep: append(slices.Clone(c.cfg.Clusters.Labels), "job", "instance"),
		Start: w.Start.Add(-time.Hour).UnixMilli(), End: w.End.UnixMilli(), Step: timeline.Lookback,
	}
	c.own = ownTargets{}
	_, err := c.ask(ctx, "series of promcost", []Selector{sel}, OneLane(func(_ int, key []Symbol, _ *timeline.Points) error {
		n := len(key) - 2
		cluster := allocation.Sym(c.cfg.Clusters.Default)
		if i := slices.IndexFunc(key[:n], func(s Symbol) bool { return s != none }); i >= 0 {
			cluster = key[i]
		}
		if job, instance := key[n], key[n+1]; job != none || instance != none {
			c.own[target{cluster, job, instance}] = true
			c.own[target{cluster, job, none}] = true
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("find series of promcost: %w", err)
	}
	return nil
}
