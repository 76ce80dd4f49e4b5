package promquery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// DefaultScrapeInterval is assumed where the source shows too few samples to tell.
const DefaultScrapeInterval = time.Minute

// Config is what an Engine needs to know besides its source.
type Config struct {
	Clusters Clusters
	Rates    allocation.Rates
	// Observe, where not nil, is told what each computation took of the source.
	Observe func(Observation)
}

// Observation is what a computation took.
type Observation struct {
	Query    allocation.Query
	Stats    Stats
	Duration time.Duration
	Err      error
}

// Engine computes sets from the samples of a source.
type Engine struct {
	src Source
	cfg Config
}

// NewEngine returns an engine over src.
func NewEngine(src Source, cfg Config) *Engine {
	if cfg.Observe == nil {
		cfg.Observe = func(Observation) {}
	}
	return &Engine{src: src, cfg: cfg}
}

// Compute returns the sets of q, oldest first. It fails with allocation.ErrNoData where the source has nothing for the
// window, and with allocation.ErrUpstream where it does not answer.
func (e *Engine) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	began := time.Now()
	sets, stats, err := e.compute(ctx, q)
	if err != nil && ctx.Err() == nil && !errors.Is(err, allocation.ErrNoData) {
		err = fmt.Errorf("%w: %w", allocation.ErrUpstream, err)
	}
	e.cfg.Observe(Observation{Query: q, Stats: stats, Duration: time.Since(began), Err: err})
	return sets, err
}

func (e *Engine) compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, Stats, error) {
	scrape, stats, err := scrapeInterval(ctx, e.src, q.Window)
	if err != nil {
		return nil, stats, fmt.Errorf("find the scrape interval: %w", err)
	}
	b, err := allocation.NewBuilder(q, scrape, e.cfg.Rates)
	if err != nil {
		return nil, stats, err
	}
	loaded, err := Load(ctx, e.src, e.cfg.Clusters, b)
	stats.Add(loaded)
	if err != nil {
		return nil, stats, err
	}
	sets, err := b.Sets()
	return sets, stats, err
}

// probeLength is how much of the window is looked at to find the scrape interval: enough for three samples a series at
// the longest usual intervals.
const probeLength = 20 * time.Minute

// scrapeInterval is the median scrape interval of nodes' series at the end of the window, else at its beginning or
// middle, else the default.
func scrapeInterval(ctx context.Context, src Source, w allocation.Window) (time.Duration, Stats, error) {
	var stats Stats
	middle := w.Start.Add(w.Duration() / 2)
	for _, end := range []time.Time{w.End, w.Start.Add(probeLength), middle} {
		var found []int64
		at := Selector{Start: end.Add(-probeLength).UnixMilli(), End: end.UnixMilli(), Keep: []string{"node"}}
		sels := []Selector{at, at}
		sels[0].Metric, sels[1].Metric = "kube_node_info", "kube_node_created"
		got, err := src.Select(ctx, sels, func(_ int, _ []Symbol, p *timeline.Points) error {
			if d := p.Interval(); d > 0 {
				found = append(found, d)
			}
			return nil
		})
		got.Warnings = nil // the same as those of the computation
		stats.Add(got)
		if err != nil {
			return 0, stats, err
		}
		if len(found) > 0 {
			slices.Sort(found)
			return time.Duration(found[len(found)/2]) * time.Millisecond, stats, nil
		}
	}
	return DefaultScrapeInterval, stats, nil
}
