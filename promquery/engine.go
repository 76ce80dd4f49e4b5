package promquery

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/rates"
)

// DefaultScrapeInterval is the scrape interval if the source has too few samples to show one.
const DefaultScrapeInterval = time.Minute

// Config configures an Engine.
type Config struct {
	Clusters Clusters
	Rates    rates.Rates
	// Exclude are matchers of series that are never inputs. A series that matches one of them is left out.
	Exclude []Matcher
	// GPUResources are names of extended resources, as Kubernetes writes them, that are GPUs besides those of NVIDIA and AMD. In them, * stands for
	// any text.
	GPUResources []string
	// Priced says that this promcost exposes prices, too. Then prices with an unknown target are compared with what it exposed,
	// unless Exclude says which series are its own.
	Priced bool
	// Exposed returns what this promcost exposed in a window; nil if that is not known.
	Exposed func(ctx context.Context, w allocation.Window) ([]metering.Exposure, error)
	// Sheet names the price sheet in what Diagnose says; "" is none.
	Sheet string
	// MaxSamples bounds the samples that one computation may read; 0 is no bound. A computation that would exceed it fails with
	// allocation.ErrTooMuch.
	MaxSamples int64
	// Memory is the budget that computations draw from, each from the account of its context if that has one. The default has no
	// bound.
	Memory *memory.Budget
	// Warnings are added to every set.
	Warnings []string
	// Progress, if not nil, is called with the number of samples of each stretch of a series that was read.
	Progress func(samples int64)
	// Observe, if not nil, is called with what each computation took.
	Observe func(Observation)

	layouts []layout // for Clusters
}

func (c Config) withDefaults() Config {
	if c.Progress == nil {
		c.Progress = func(int64) {}
	}
	if c.Memory == nil {
		c.Memory = memory.New(0)
	}
	if c.Observe == nil {
		c.Observe = func(Observation) {}
	}
	c.layouts = newLayouts(c.Clusters.Labels, gpuPattern(c.GPUResources))
	return c
}

// Observation is what a computation took.
type Observation struct {
	Query    allocation.Query
	Stats    Stats
	Duration time.Duration
	Reading  *allocation.Reading // nil if it failed before it read
	Err      error
}

// Engine computes sets from the samples of a source.
type Engine struct {
	src        Source
	cfg        Config
	windowRows atomic.Int64 // the most rows of a window that was computed by itself, of those computed last; 0 before there are any
}

// NewEngine returns an engine over src.
func NewEngine(src Source, cfg Config) *Engine { return &Engine{src: src, cfg: cfg.withDefaults()} }

// Compute returns the sets of q, oldest first. They share their Reading and Dict, unless Query.Alone is set. If ctx has an
// account, that holds the memory of the sets. It fails with allocation.ErrNoData if the source has no data in the window, with
// allocation.ErrTooMuch or ErrBusy if the computation exceeds its bounds, and with allocation.ErrUpstream if the source does not
// answer.
func (e *Engine) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	ctx, _, done := e.cfg.Memory.Within(ctx, remedy)
	defer done()
	if q.Alone {
		windows, err := q.Windows()
		if err != nil {
			return nil, err
		}
		if len(windows) > 1 {
			return e.computeAlone(ctx, q, windows)
		}
	}
	results, err := e.compute(ctx, q, []allocation.Query{q})
	if err != nil {
		return nil, err
	}
	if q.Alone {
		e.recordRows(results[0].sets, q.Shard)
	}
	return results[0].sets, nil
}

// result is the sets of one of several windows, or the error that there is no data for it.
type result struct {
	sets []*allocation.Set
	err  error
}

// compute computes the sets of queries from one reading of the source, and reports what it took. q is all of them.
func (e *Engine) compute(ctx context.Context, q allocation.Query, queries []allocation.Query) (out []result, err error) {
	began := time.Now()
	o := Observation{Query: q}
	c, err := e.run(ctx, func(c *computation) error { return c.compute(ctx, queries) })
	if c != nil {
		o.Stats, o.Reading = c.stats, c.reading()
		o.Stats.Add(c.past)
		o.Reading.Window, o.Reading.Total = q.Window, time.Since(began)
		for _, w := range c.windows {
			out = append(out, result{w.sets, w.err})
			for _, s := range w.sets {
				s.Reading = o.Reading
			}
		}
		if err != nil {
			c.release()
		}
	}
	err = blame(ctx, err)
	o.Duration, o.Err = time.Since(began), err
	if errors.Is(err, errMissing) {
		o.Err = nil // the windows are computed each by itself
	}
	e.cfg.Observe(o)
	return out, err
}

// blame wraps an error as one of the source unless it is known to have another cause.
func blame(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, own := range [...]error{allocation.ErrNoData, allocation.ErrTooMuch, allocation.ErrBusy, allocation.ErrTooFine, errMissing} {
		if errors.Is(err, own) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", allocation.ErrUpstream, err)
}
