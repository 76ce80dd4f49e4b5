package prices

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// Exported are prices of a machine that an exporter gives besides those of node_*_hourly_cost.
type Exported struct {
	Source   string                                  // the exporter, for people
	Currency string                                  // ISO code
	Whole    [2]timeline.Steps                       // of the whole machine an hour: on demand and spot
	Unit     [allocation.NumResources]timeline.Steps // of a core, a GiB and a device an hour
}

// at is what the exporter says for the stretch that ends at t.
func (e *Exported) at(t int64, spot bool) (m rates.Machine, known bool) {
	kind := 0
	if spot {
		kind = 1
	}
	m = rates.Machine{Source: e.Source, PerHour: e.Whole[kind].Value(t)}
	known = m.PerHour > 0
	for r, steps := range e.Unit {
		m.Unit[r] = steps.Value(t)
		known = known || m.Unit[r] > 0
	}
	return m, known
}

// edges appends the instants at which the prices change.
func (e *Exported) edges(dst []int64) []int64 {
	for _, steps := range e.Whole {
		dst = steps.Edges(dst)
	}
	for _, steps := range e.Unit {
		dst = steps.Edges(dst)
	}
	return dst
}

// exportedAt is what the first exporter says that has a price in the currency for the stretch that ends at t.
func exportedAt(list []Exported, currency string, t int64, spot bool) rates.Machine {
	for i := range list {
		if m, known := list[i].at(t, spot); known && list[i].Currency == currency {
			return m
		}
	}
	return rates.Machine{}
}

// WithoutDefaults leaves out the prices of a node that are those that OpenCost exports where it knows none: while CPU and memory have its defaults, and then those
// of GPUs as well. SEMANTICS §12.
func WithoutDefaults(price [allocation.NumResources]timeline.Steps) [allocation.NumResources]timeline.Steps {
	defaults := func(r allocation.Resource) timeline.Steps {
		return timeline.Ones(slices.DeleteFunc(slices.Clone(price[r]), func(x timeline.Step) bool { return !rates.IsOpenCostDefault(r, x.V) }))
	}
	unknown := timeline.Within(defaults(allocation.CPU), defaults(allocation.RAM))
	if len(unknown) == 0 {
		return price
	}
	for r := range price {
		price[r] = timeline.Without(price[r], unknown)
	}
	return price
}
