package fields

import (
	"fmt"
	"sync"

	"github.com/promcost/promcost/allocation"
)

// shownQuantiles are the quantiles that allocations may be served with, in percent.
var shownQuantiles = [...]int{50, 95, 99}

// Quantiles are the quantiles of usage that an allocation is served with on demand, in the order they are sent. Of several containers, they are those of the
// usage of one. SEMANTICS §10. Every call returns the same slice, which must not be changed.
func Quantiles() []Field { return quantiles() }

var quantiles = sync.OnceValue(func() (list []Field) {
	for _, of := range [...]struct {
		r          allocation.Resource
		name, unit string
	}{{allocation.CPU, "cpuCoreUsage", "cores"}, {allocation.RAM, "ramByteUsage", "bytes"}} {
		for _, percent := range shownQuantiles {
			needs := allocation.OfRows(nil, allocation.UsageMax.Of(of.r))
			needs.Levels = true
			list = append(list, nullable(fmt.Sprintf("%sP%d", of.name, percent), of.unit,
				fmt.Sprintf("What a container used at most in %d %% of the time in which its usage is known, within 4.5 %%; null where there are no levels of it.", percent), needs,
				func(s *allocation.Set, row int) float64 { return quantile(s, of.r, row, float64(percent)/100) }))
		}
	}
	return list
})

// quantile is a quantile of the usage of a row, NaN where it is not known. What stands for a bucket may be above the highest usage in it.
func quantile(s *allocation.Set, r allocation.Resource, row int, q float64) float64 {
	v := allocation.Quantile(s.Levels(r, row), q)
	if most := s.Value(allocation.UsageMax.Of(r), row); most > 0 {
		return min(v, most)
	}
	return v
}
