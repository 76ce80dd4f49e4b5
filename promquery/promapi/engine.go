package promapi

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/features"
)

// Defaults of EngineOptions. Cost is one sample an hour: with the lookback, a late or missing one hides nothing.
const (
	DefaultLookback   = 2*time.Hour + 10*time.Minute
	DefaultTimeout    = 2 * time.Minute
	DefaultMaxSamples = 50_000_000
)

// EngineOptions are what of the engine is configured. Zero fields take the defaults.
type EngineOptions struct {
	// Lookback is how old the last sample of a series may be for it to have a value.
	Lookback time.Duration
	// Timeout bounds a query.
	Timeout time.Duration
	// MaxSamples bounds the samples that a query may have in memory.
	MaxSamples int
	// Registerer is where the engine's own metrics go; nil is nowhere.
	Registerer prometheus.Registerer
	// Features is told what the engine can do; nil is nobody.
	Features features.Collector
}

// subqueryInterval is the step of a subquery that names none: an hour, for there is nothing in between.
const subqueryInterval = time.Hour

// NewEngine returns Prometheus' engine as Prometheus 3 sets it up, but for the lookback and the step of subqueries.
func NewEngine(o EngineOptions) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Reg:                      o.Registerer,
		FeatureRegistry:          o.Features,
		MaxSamples:               cmp.Or(o.MaxSamples, DefaultMaxSamples),
		Timeout:                  cmp.Or(o.Timeout, DefaultTimeout),
		LookbackDelta:            cmp.Or(o.Lookback, DefaultLookback),
		NoStepSubqueryIntervalFn: func(int64) int64 { return subqueryInterval.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnablePerStepStats:       true,
	})
}
