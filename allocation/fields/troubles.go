package fields

import (
	"math"
	"slices"
	"sync"

	"github.com/promcost/promcost/allocation"
)

// OnDemand are the numbers that an allocation is served with only where they are named, in the order they are sent: Quantiles, how many containers ran, and what
// went wrong with them. Every call returns the same slice, which must not be changed.
func OnDemand() []Field { return onDemand() }

var onDemand = sync.OnceValue(func() []Field {
	containers := average("containers", "containers", "Containers that ran at a time, on average over the row's minutes.", allocation.RunningSeconds)
	value, values := containers.Value, containers.values
	containers.Value = func(s *allocation.Set, row int) float64 { return value(s, row) / 3600 }
	containers.values = func(s *allocation.Set, rows []int, dst []float64) {
		values(s, rows, dst)
		for i := range rows {
			dst[i] /= 3600
		}
	}
	return append(slices.Clone(Quantiles()), containers,
		nullable("cpuThrottledShare", "ratio", "Of the scheduler's periods in which a container with a CPU limit ran, the part in which it was throttled; null where nothing tells.",
			allocation.OfRows(nil, allocation.CPUPeriods, allocation.ThrottledPeriods), throttled),
		sum("oomKills", "kills", "How often the kernel killed a process of it for its memory; 0 where nothing tells, too.", allocation.OOMKills))
})

// throttled is the part of the scheduler's periods in which a row was throttled, NaN where it had none.
func throttled(s *allocation.Set, row int) float64 {
	if periods := s.Value(allocation.CPUPeriods, row); periods > 0 {
		return s.Value(allocation.ThrottledPeriods, row) / periods
	}
	return math.NaN()
}
