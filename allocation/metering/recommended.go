package metering

import (
	"math"

	"github.com/promcost/promcost/allocation"
)

// RecommendedName is the name of the subject whose totals are Recommended: it takes more than one set.
const RecommendedName = "recommended"

// RecommendedRequest is what a container should request: cores and bytes; NaN is unknown.
type RecommendedRequest struct {
	Cluster, Namespace, ControllerKind, Controller, Container string
	CPU, RAM                                                  float64
}

// Recommended are the requests that are recommended for containers.
type Recommended struct {
	totals  *Totals
	dropped int // series
}

// NewRecommended returns the totals of recommended requests, of at most so many series: the first ones.
func NewRecommended(list []RecommendedRequest, mostSeries int) *Recommended {
	r := &Recommended{totals: &Totals{hours: 1}}
	series := 0
	for _, x := range list {
		row := subjectTotal{labels: assetLabels(x.Cluster, x.Namespace, x.ControllerKind, x.Controller, x.Container)}
		n := 0
		for of, v := range [...]float64{allocation.CPU: x.CPU, allocation.RAM: x.RAM} {
			if !math.IsNaN(v) {
				row.has |= 1 << of
				row.figures[of] = v
				n++
			}
		}
		if series+n > mostSeries {
			r.dropped += n
			continue
		}
		series += n
		r.totals.rows = append(r.totals.rows, row)
	}
	r.totals.rows = mergeTotals(r.totals.rows)
	return r
}

// Totals returns the totals, none of nil, and how many series were left out because there are too many.
func (r *Recommended) Totals() (t *Totals, dropped int) {
	if r == nil {
		return &Totals{hours: 1}, 0
	}
	return r.totals, r.dropped
}

// recommendedTotals returns nothing: recommendations need more than one set.
func recommendedTotals(*Subject, *allocation.Set) []subjectTotal { return nil }
