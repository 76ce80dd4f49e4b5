// Package democluster is a deterministic, realistic Kubernetes cluster as Prometheus would have
// scraped it from kube-state-metrics, kubelets with cAdvisor, node exporters, DCGM exporters, network-costs
// daemons and OpenCost, together with the exact costs it must yield.
//
// A [Cluster] is a plan of everything that happens: nodes, pods, containers, prices, outages. It writes the
// scraped samples as TSDB blocks, appends them to a live head, and computes the [Truth] analytically from
// the same plan, never by promcost's engine. Same [Config], same bytes. The plan goes on beyond its end for
// as long as samples are asked for, so that a demo lives while it runs.
package democluster

import (
	"errors"
	"fmt"
	"time"
)

// Limits of what Config.Validate accepts.
const (
	minNodes       = 4
	maxPodsPerNode = 100
	minWorkload    = 25 // pods beside the daemon sets'
	daemonsPerNode = 3
	minDuration    = time.Hour
	minInterval    = 5 * time.Second
	maxInterval    = 5 * time.Minute
)

// Config says how large the cluster is and how long it has been scraped. The zero value of each field
// stands for its default.
type Config struct {
	// Nodes is the number of nodes at any time, one GPU node in 50 and one spot node in 20 among them. Default 10, at least 4.
	Nodes int
	// Pods is about how many pods run at a time, daemon sets included. Default 150, at most 100 a node.
	Pods int
	// Duration is the length of the history that ends at End. Default 72h, at least 1h. What happens only
	// once (a node joins, a price changes, a scrape fails) happens at fixed fractions of it.
	Duration time.Duration
	// End is the end of the history. Default: the time of New, truncated to the minute.
	End time.Time
	// ScrapeInterval is the interval of all scrape targets. Default 30s, from 5s to 5m.
	ScrapeInterval time.Duration
	// Seed chooses one of many similar clusters. Default 1.
	Seed int64
	// JobsPerHour is about how many Jobs are started an hour, where the workloads would start more: they then start theirs less often.
	// Default 0: as often as they are meant to, some 19 for 110 pods.
	JobsPerHour int
	// Changes is when what ChangeTruth explains begins to happen: within two hours from then on. By default it happens at fixed
	// fractions of the duration, as all else.
	Changes time.Time
	// Requests replace what containers request, and nothing else: all of them run where, when and with the usage that they have without.
	Requests map[ContainerOf]Requested
	// Pressure adds what cAdvisor tells of throttling, of waiting for CPU and of processes that were killed for memory, though it is little.
	Pressure bool
	// NoOpenCost leaves out what OpenCost exports, all prices among it.
	NoOpenCost bool
}

// WithDefaults returns the configuration with every zero field replaced by its default; now is the default End.
func (c Config) WithDefaults(now time.Time) Config {
	if c.Nodes == 0 {
		c.Nodes = 10
	}
	if c.Pods == 0 {
		c.Pods = 150
	}
	if c.Duration == 0 {
		c.Duration = 72 * time.Hour
	}
	if c.End.IsZero() {
		c.End = now.Truncate(time.Minute)
	}
	if c.ScrapeInterval == 0 {
		c.ScrapeInterval = 30 * time.Second
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	return c
}

// Validate reports every field that has no sensible meaning, with its remedy. It expects defaults to be filled in.
func (c Config) Validate() error {
	var errs []error
	refuse := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("validate demo %s: %s", field, fmt.Sprintf(format, args...)))
	}
	if c.Nodes < minNodes {
		refuse("nodes", "%d is too few, give at least %d", c.Nodes, minNodes)
	}
	if least := daemonsPerNode*c.Nodes + minWorkload; c.Pods < least {
		refuse("pods", "%d is too few for %d nodes, give at least %d (%d on each node are daemons)", c.Pods, c.Nodes, least, daemonsPerNode)
	}
	if c.Nodes >= minNodes && c.Pods > maxPodsPerNode*c.Nodes {
		refuse("pods", "%d do not fit on %d nodes, give at most %d pods or more nodes", c.Pods, c.Nodes, maxPodsPerNode*c.Nodes)
	}
	if c.Duration < minDuration {
		refuse("duration", "%s is too short, give at least %s", c.Duration, minDuration)
	}
	if c.ScrapeInterval < minInterval || c.ScrapeInterval > maxInterval {
		refuse("scrape interval", "%s is out of range, give %s to %s", c.ScrapeInterval, minInterval, maxInterval)
	}
	if c.JobsPerHour < 0 {
		refuse("jobs", "%d an hour are too few, give at least 1, or 0 for the default", c.JobsPerHour)
	}
	if start := c.End.Add(-c.Duration); !c.Changes.IsZero() && (c.Changes.Before(start) || c.Changes.Add(changesLast).After(c.End)) {
		refuse("changes", "%s is not within the history, give a time from %s on, and %s before its end", c.Changes.Format(time.RFC3339), start.Format(time.RFC3339), changesLast)
	}
	if c.ScrapeInterval%time.Millisecond != 0 {
		refuse("scrape interval", "%s is not a whole number of milliseconds", c.ScrapeInterval)
	}
	if y := c.End.Year(); y < 2000 || y > 2200 {
		refuse("end", "%s is not a time of this age, give an RFC 3339 time", c.End.Format(time.RFC3339))
	}
	return errors.Join(errs...)
}
