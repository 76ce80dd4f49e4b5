package promapi

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/features"
)

// Defaults of EngineOptions. Cost has a sample an hour: the lookback bridges one that is late or missing.
const (
	DefaultLookback   = 2*time.Hour + 10*time.Minute
	DefaultTimeout    = 2 * time.Minute
	DefaultMaxSamples = 50_000_000
)

// EngineOptions configure the engine. Zero fields take the defaults.
type EngineOptions struct {
	// Lookback is how long a sample is the value of its series.
	Lookback time.Duration
	// Timeout bounds a query.
	Timeout time.Duration
	// MaxSamples bounds the samples that a query may have in memory.
	MaxSamples int
	// Registerer gets the engine's own metrics; nil drops them.
	Registerer prometheus.Registerer
	// Features collects what the engine can do; nil drops that.
	Features features.Collector
}

// subqueryInterval is the default step of subqueries. Cost series have one sample an hour.
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
