package metering

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// SetFamily is a gauge about a whole Set, on /metrics and in PromQL.
type SetFamily struct {
	Name   string
	Help   string
	Labels []string
	// Emit calls emit for each series with the values of Labels. bounds returns the error bounds of a running time d that is counted
	// on a grid of that resolution, or if it is 0, with every sample of a scrape interval. A nil bounds leaves these series out.
	Emit func(s *allocation.Set, bounds func(d, resolution, scrape time.Duration) (lower, upper float64), emit func(labels []string, value float64))
}

// SetFamilies returns the gauges about a whole Set.
func SetFamilies() []SetFamily {
	type boundsFunc = func(d, resolution, scrape time.Duration) (lower, upper float64)
	type emitter = func(labels []string, value float64)
	return []SetFamily{
		{
			Name: "promcost_last_complete_set_timestamp_seconds",
			Help: "End of the last closed hour whose costs are exported, in Unix seconds.",
			Emit: func(s *allocation.Set, _ boundsFunc, emit emitter) { emit(nil, float64(s.Window.End.UnixMilli())/1e3) },
		},
		{
			Name: "promcost_resolution_seconds",
			Help: "Distance of the grid that the exported costs were sampled on; 0 if every sample was used.",
			Emit: func(s *allocation.Set, _ boundsFunc, emit emitter) { emit(nil, s.Resolution.Seconds()) },
		},
		{
			Name: "promcost_error_bound_ratio", Labels: []string{"running", "bound"},
			Help: "Bounds of the running time counted in the exported costs, on their grid or with every sample, as a ratio of the true one, for what ran so long and nothing reports the start and end of; a lower bound of -1 says that it may be missed.",
			Emit: func(s *allocation.Set, bounds boundsFunc, emit emitter) {
				if bounds == nil || s.Resolution <= 0 && s.ScrapeInterval <= 0 {
					return
				}
				for _, running := range [...]struct {
					label    string
					duration time.Duration
				}{{"5m", 5 * time.Minute}, {"1h", time.Hour}, {"1d", 24 * time.Hour}} {
					lower, upper := bounds(running.duration, s.Resolution, s.ScrapeInterval)
					emit([]string{running.label, "lower"}, lower)
					emit([]string{running.label, "upper"}, upper)
				}
			},
		},
	}
}
