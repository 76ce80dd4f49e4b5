package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/windows"
)

// resolutionFlags say how finely the hours of the history are sampled, which metrics are exposed of. Nil leaves that to the source.
type resolutionFlags struct {
	resolution      time.Duration
	resolutionGiven bool
	most            float64 // error of the running time; 0 for the resolution as it is given
	shortest        time.Duration
	shortestGiven   bool
}

func addResolutionFlags(g flagGroup) *resolutionFlags {
	f := &resolutionFlags{}
	addFlag(g, "compute.resolution", "How finely to sample for exposed metrics and the history: a divisor of an hour such as 5m, which spares a server that has only the query API, exact for every sample there is, or auto: exact where blocks, streamed remote read or VictoriaMetrics' exports serve the whole hour, else 1m or the scrape interval. Stored hours keep theirs.", f.parse).
		Default("auto").IsSetByUser(&f.resolutionGiven)
	addFlag(g, "compute.max-error", "In place of --compute.resolution: how far the running time of a container may be off, such as 0.5. The resolution is then the longest divisor of an hour that keeps to it, and exact where that is below the scrape interval.", func(text string) (err error) {
		if f.most, err = strconv.ParseFloat(text, 64); err != nil || !(f.most > 0 && f.most <= 1) {
			return errors.New("it must be a fraction above 0, at most 1")
		}
		return nil
	}).PlaceHolder("FRACTION")
	durationOf(g, "compute.min-duration", "How long a container has to run for --compute.max-error to hold for it.", &f.shortest, time.Second).
		Default("10m").IsSetByUser(&f.shortestGiven)
	return f
}

// parse reads a resolution.
func (f *resolutionFlags) parse(text string) error {
	switch text {
	case "auto":
		f.resolution = allocation.AutoResolution
		return nil
	case "exact":
		f.resolution = 0
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d%time.Second != 0 || time.Hour%d != 0 {
		return errors.New("it must be whole seconds that divide an hour, such as 5m, or exact, or auto")
	}
	f.resolution = d
	return nil
}

// validate checks the flags against each other.
func (f *resolutionFlags) validate(source *sourceFlags) error {
	given := f.resolutionGiven || f.most > 0
	switch {
	case source.kind == sourceNone && given:
		return usageErrorf("--compute.resolution and --compute.max-error have no effect with --source=none, which computes nothing: leave them out")
	case f.resolutionGiven && f.most > 0:
		return usageErrorf("--compute.max-error chooses the resolution: leave it or --compute.resolution out")
	case f.shortestGiven && f.most == 0:
		return usageErrorf("--compute.min-duration has no effect without --compute.max-error")
	}
	return nil
}

// apply sets the resolution of stored hours.
func (f *resolutionFlags) apply(o *ledger.Options) {
	switch {
	case f == nil:
		o.Resolution = allocation.AutoResolution
	case f.most > 0:
		o.Resolution = windows.ResolutionFor(f.most, f.shortest, time.Hour)
		o.ExactBelow = o.Resolution > 0
	default:
		o.Resolution = f.resolution
	}
}
