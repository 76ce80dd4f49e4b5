package change

import (
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// Amounts are what a row had in a window, on average over the hours that have data.
type Amounts struct {
	Replicas  float64                          // containers at a time
	Allocated [allocation.NumResources]float64 // cores, bytes and devices that were paid for: the larger of request and usage
	Prices    [allocation.NumResources]float64 // of a core, a GiB and a device for an hour, without idle; NaN where there was none
}

// ran is what Amounts follow from.
type ran struct {
	replicas         float64
	allocated        [allocation.NumResources]float64
	hours, resources [allocation.NumResources]float64 // amount × hours, and their cost
}

// addInstance adds what an instance ran, in a window with so many hours that have data.
func (r *ran) addInstance(x *instance, hours float64) {
	r.replicas += x.value(allocation.RunningSeconds) / 3600 / hours
	for k := range allocation.NumResources {
		priced := x.value(allocation.Hours.Of(k))
		r.allocated[k] += priced / hours
		r.hours[k] += priced
		r.resources[k] += x.cost(k)
	}
}

func (r *ran) add(other *ran) {
	r.replicas += other.replicas
	for k := range allocation.NumResources {
		r.allocated[k] += other.allocated[k]
		r.hours[k] += other.hours[k]
		r.resources[k] += other.resources[k]
	}
}

func (r *ran) amounts() Amounts {
	a := Amounts{Replicas: r.replicas, Allocated: r.allocated}
	for k := range allocation.NumResources {
		a.Prices[k] = math.NaN()
		if r.hours[k] > 0 {
			a.Prices[k] = r.resources[k] / r.hours[k] * k.PerPriceUnit()
		}
	}
	return a
}

// leading is the value of what an owner key says of instances that has most of their cost in the current window, or in the baseline where none
// ran since; "" where none has a value.
func leading(list []instance, of func(*instance) string) string {
	costs := [2]map[string]float64{{}, {}}
	for i := range list {
		if text := of(&list[i]); text != "" && text != allocation.UnallocatedName {
			costs[list[i].side][text] += list[i].set.TotalCost(list[i].at)
		}
	}
	found := costs[1]
	if len(found) == 0 {
		found = costs[0]
	}
	name, most := "", math.Inf(-1)
	for text, cost := range found {
		if cost > most || cost == most && text < name {
			name, most = text, cost
		}
	}
	return name
}

// atLevel is by how much of the new level a cost may be off and still be at it.
const atLevel = 0.25

// Since returns the first of some steps, the oldest first, from which on all costs of an hour stay within a quarter of the new level: of their
// mean in the last quarter of the steps from the one on with which the current window begins. NaN is the cost of a step without data, which says
// nothing. ok is false where the last step is at another level, where all steps are at the new one, or where the first of them is nearer to the step before it:
// then costs came to their level bit by bit, or rose again later by less than a quarter.
func Since(rates []float64, window int) (first int, ok bool) {
	var known []float64 // of the current window, the newest first
	for _, rate := range slices.Backward(rates[window:]) {
		if !math.IsNaN(rate) {
			known = append(known, rate)
		}
	}
	if len(known) == 0 {
		return 0, false
	}
	level := 0.0
	known = known[:max(1, len(known)/4)]
	for _, rate := range known {
		level += rate / float64(len(known))
	}
	const slack = 1e-9 // of sums of costs that are 0
	first = len(rates)
	for i, rate := range slices.Backward(rates) {
		switch {
		case math.IsNaN(rate):
		case math.Abs(rate-level) > atLevel*math.Abs(level)+slack:
			return first, first < len(rates) && math.Abs(rates[first]-level) <= math.Abs(rates[first]-rate)
		default:
			first = i
		}
	}
	return 0, false
}

// Named takes the name of a result apart that is merged by the keys of rows and parts, with the separator of Options: into the names of its row and its part.
func (l Levels) Named(name string) (row, part string) {
	values := strings.Split(name, string(rune(separator)))
	if n := len(l.Keys); len(values) == n+len(l.Parts) {
		return strings.Join(values[:n], "/"), strings.Join(values[n:], "/")
	}
	return name, ""
}
