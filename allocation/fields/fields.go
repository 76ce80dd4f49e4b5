package fields

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Field is a number that an allocation is served with, derived from the stored columns.
type Field struct {
	Name string // as in the API, e.g. cpuCoreHours
	Unit string // what it counts: cores, core-hours, bytes, byte-hours, devices, minutes, currency, ratio
	Help string // one sentence
	// Value returns the field of a row. It is NaN where unknown, which only Nullable fields may be, and never infinite.
	Value func(s *allocation.Set, row int) float64
	// made are columns: if all of them are 0, the field is 0. made is empty if columns alone cannot tell.
	made []allocation.Column
	// needs is what the field is computed from besides made.
	needs *allocation.Projection
	// values does the same as Values where column by column is faster.
	values func(s *allocation.Set, rows []int, dst []float64)
	// Nullable means that the field may be unknown for some rows, because it is about usage.
	Nullable bool
}

// Needs is what the field is made of.
func (f *Field) Needs() *allocation.Projection {
	return allocation.Union(f.needs, allocation.OfRows(nil, f.made...))
}

// Values fills dst with the field of rows, as Value does. It panics where something that the field Needs was not read.
func (f *Field) Values(s *allocation.Set, rows []int, dst []float64) {
	if f.values != nil {
		f.values(s, rows, dst)
		return
	}
	for i, row := range rows {
		dst[i] = f.Value(s, row)
	}
}

// Zero reports whether the field is known to be 0 in all rows of a set.
func (f *Field) Zero(s *allocation.Set) bool {
	for _, c := range f.made {
		if !s.AllZero(c) && slices.ContainsFunc(values(s, c), func(v float64) bool { return v != 0 }) {
			return false
		}
	}
	return len(f.made) > 0
}

// All are the derived, served numbers of an allocation, in the order they are documented and sent. Averages are over
// the row's Minutes. They are 0 where the Minutes are 0. Every call returns the same slice, which must not be changed.
func All() []Field { return all() }

// all makes the fields once, because a request needs them for each member of its answer.
var all = sync.OnceValue(func() []Field {
	fields := []Field{{"minutes", "minutes", "Minutes running; of several containers, the minutes from the first start to the last end.", (*allocation.Set).Minutes, nil, allocation.MinutesNeeds(), nil, false}}
	fields = append(fields, resourceFields(allocation.CPU, [...]string{"cpuCores", "cpuCoreHours", "cpuCoreRequestAverage", "cpuCoreUsageAverage", "cpuCoreLimitAverage"}, "cores", "core-hours")...)
	fields = append(fields, resourceFields(allocation.GPU, [...]string{"gpuCount", "gpuHours", "gpuRequestAverage", "gpuUsageAverage", "gpuLimitAverage"}, "devices", "device-hours")...)
	fields = append(fields, networkFields()...)
	fields = append(fields, storageFields()...)
	fields = append(fields, resourceFields(allocation.RAM, [...]string{"ramBytes", "ramByteHours", "ramByteRequestAverage", "ramByteUsageAverage", "ramByteLimitAverage"}, "bytes", "byte-hours")...)
	return append(fields, totalFields()...)
})

// resourceFields returns the fields of a resource. names are the names of the amount, its hours, and the averages requested,
// used and allowed.
func resourceFields(r allocation.Resource, names [5]string, unit, hours string) []Field {
	name := r.String()
	fields := []Field{
		average(names[0], unit, "Average "+unit+" allocated while running.", allocation.Hours.Of(r)),
		average(names[2], unit, "Average "+unit+" requested while running.", allocation.RequestHours.Of(r)),
		usage(r, names[3], unit),
		average(names[4], unit, "Average limit in "+unit+" while running.", allocation.LimitHours.Of(r)),
		whole(sum(names[1], hours, "Cumulative "+hours+" allocated.", allocation.Hours.Of(r))),
		sum(name+"Cost", "currency", "Cumulative cost of the "+hours+" allocated.", allocation.Cost.Of(r)),
		sum(name+"CostAdjustment", "currency", "What reconciliation with the bill adds to "+name+"Cost.", allocation.Adjustment.Of(r)),
		sum(name+"CostIdle", "currency", "The part of "+name+"Cost that shared idle put there.", allocation.CostIdle.Of(r)),
		nullable(name+"Efficiency", "ratio", "What was used of what was requested; may exceed 1. 0, or null with nulls=true, where nothing is known of usage.",
			efficiencyNeeds(r), func(s *allocation.Set, row int) float64 { return efficiency(s, r, row) }),
	}
	if r == allocation.GPU { // has no limit other than its request
		fields = append(fields[:3], fields[4:]...)
	}
	return fields
}

func networkFields() []Field {
	return []Field{
		sum("networkTransferBytes", "bytes", "Bytes sent.", allocation.NetworkTransferBytes),
		sum("networkReceiveBytes", "bytes", "Bytes received.", allocation.NetworkReceiveBytes),
		sum("networkCost", "currency", "Cumulative cost of network usage: that between zones, between regions and to the internet.", allocation.SharedNetwork.ListColumns()...),
		sum("networkCrossZoneCost", "currency", "Cumulative cost of traffic to other zones.", allocation.NetworkCrossZoneCost),
		sum("networkCrossRegionCost", "currency", "Cumulative cost of traffic to other regions.", allocation.NetworkCrossRegionCost),
		sum("networkInternetCost", "currency", "Cumulative cost of traffic to the internet.", allocation.NetworkInternetCost),
		sum("networkCostAdjustment", "currency", "What reconciliation with the bill adds to networkCost.", allocation.NetworkCostAdjustment),
	}
}

func storageFields() []Field {
	return []Field{
		sum("loadBalancerCost", "currency", "Cumulative cost of load balancers.", allocation.LoadBalancerCost),
		sum("loadBalancerCostAdjustment", "currency", "What reconciliation with the bill adds to loadBalancerCost.", allocation.LoadBalancerCostAdjustment),
		average("pvBytes", "bytes", "Average bytes of persistent volumes allocated while running.", allocation.PVByteHours),
		sum("pvByteHours", "byte-hours", "Cumulative byte-hours of persistent volumes allocated.", allocation.PVByteHours),
		sum("pvCost", "currency", "Cumulative cost of persistent volumes.", allocation.PVCost),
		sum("pvCostAdjustment", "currency", "What reconciliation with the bill adds to pvCost.", allocation.PVCostAdjustment),
	}
}

func totalFields() []Field {
	return []Field{
		sum("sharedCost", "currency", "Cumulative cost of shared resources.", allocation.SharedCost),
		sum("externalCost", "currency", "Cumulative cost of external resources.", allocation.ExternalCost),
		{"totalCost", "currency", "All costs and adjustments.", func(s *allocation.Set, row int) float64 { return finite(s.TotalCost(row)) }, nil, allocation.OfRows(nil, allocation.MoneyColumns()...), totalCosts, false},
		nullable("totalEfficiency", "ratio", "Mean of cpuEfficiency and ramEfficiency, as far as they are known, weighted by their costs.", allocation.Union(efficiencyNeeds(allocation.CPU), efficiencyNeeds(allocation.RAM)), TotalEfficiency),
	}
}

// sum is a field that adds up columns.
func sum(name, unit, help string, columns ...allocation.Column) Field {
	f := Field{name, unit, help, nil, columns, allocation.OfRows(nil), func(s *allocation.Set, rows []int, dst []float64) { addUp(s, columns, rows, dst) }, false}
	if len(columns) == 1 {
		c := columns[0]
		f.Value = func(s *allocation.Set, row int) float64 { return finite(s.Value(c, row)) }
		return f
	}
	f.Value = func(s *allocation.Set, row int) float64 {
		total := 0.0
		for _, c := range columns {
			total += s.Value(c, row)
		}
		return finite(total)
	}
	return f
}

// addUp fills dst with the sums of columns in rows.
func addUp(s *allocation.Set, columns []allocation.Column, rows []int, dst []float64) {
	clear(dst)
	for _, c := range columns {
		if s.AllZero(c) {
			continue
		}
		column := values(s, c)
		for i, row := range rows {
			dst[i] += column[row]
		}
	}
	for i, v := range dst {
		dst[i] = finite(v)
	}
}

// values returns a column, which must have been read.
func values(s *allocation.Set, c allocation.Column) []float64 {
	column, err := s.Column(c)
	if err != nil {
		panic(err)
	}
	return column
}

// totalCosts are the total costs of rows.
func totalCosts(s *allocation.Set, rows []int, dst []float64) {
	addUp(s, allocation.MoneyColumns(), rows, dst)
}

// whole is a field whose values are rounded to a whole number where they differ from it only by rounding errors.
func whole(f Field) Field {
	value, all := f.Value, f.values
	f.Value = func(s *allocation.Set, row int) float64 { return Whole(value(s, row)) }
	f.values = func(s *allocation.Set, rows []int, dst []float64) {
		all(s, rows, dst)
		for i := range rows {
			dst[i] = Whole(dst[i])
		}
	}
	return f
}

// average is a field that divides a column of amount × hours by the hours of the row.
func average(name, unit, help string, c allocation.Column) Field {
	value := func(s *allocation.Set, row int) float64 { return averageOver(s.Value(c, row), s.Minutes(row)) }
	all := func(s *allocation.Set, rows []int, dst []float64) {
		column := values(s, c)
		for i, row := range rows {
			dst[i] = averageOver(column[row], s.Minutes(row))
		}
	}
	return Field{name, unit, help, value, []allocation.Column{c}, allocation.MinutesNeeds(), all, false}
}

// nullable returns a field about usage.
func nullable(name, unit, help string, needs *allocation.Projection, value func(s *allocation.Set, row int) float64) Field {
	return Field{name, unit, help, value, nil, needs, nil, true}
}

// UsageNeeds returns the columns that tell whether usage of a resource is known, and how much it is.
func UsageNeeds(r allocation.Resource) *allocation.Projection {
	return allocation.OfRows(nil, allocation.UsageHours.Of(r), allocation.RequestHours.Of(r), allocation.UnknownRequestHours.Of(r), allocation.UnknownSeconds.Of(r), allocation.RunningSeconds)
}

// efficiencyNeeds returns the columns for the efficiency of a resource, and for its weight.
func efficiencyNeeds(r allocation.Resource) *allocation.Projection {
	return allocation.Union(UsageNeeds(r), allocation.OfRows(nil, allocation.Cost.Of(r), allocation.Adjustment.Of(r)))
}

// ErrorBoundsNeeds returns the columns that ErrorBounds reads.
func ErrorBoundsNeeds() *allocation.Projection {
	return allocation.Union(allocation.MinutesNeeds(), allocation.OfRows(nil, allocation.LeastSeconds, allocation.MostSeconds))
}

// usage is the field of the average use of a resource.
func usage(r allocation.Resource, name, unit string) Field {
	return nullable(name, unit, "Average "+unit+" used while running and known. 0, or null with nulls=true, where nothing is known of usage.", allocation.Union(allocation.MinutesNeeds(), UsageNeeds(r)), func(s *allocation.Set, row int) float64 {
		if !UsageKnown(s, r, row) {
			return math.NaN()
		}
		average, running := averageOver(s.Value(allocation.UsageHours.Of(r), row), s.Minutes(row)), s.Value(allocation.RunningSeconds, row)
		if known := Measured(running, s.Value(allocation.UnknownSeconds.Of(r), row)); known > 0 {
			return finite(average * running / known)
		}
		return average
	})
}

// averageOver returns the average amount for a sum of amount × hours.
func averageOver(sum, minutes float64) float64 {
	if minutes <= 0 {
		return 0
	}
	return Whole(finite(sum / (minutes / 60)))
}

// Whole returns v, or the whole number that differs from v only by rounding: a device that was there all the time is one
// device.
func Whole(v float64) float64 {
	const slack = 1e-12
	if whole := math.Round(v); math.Abs(v-whole) <= slack*math.Abs(whole) {
		return whole
	}
	return v
}

// finite returns v, or 0 if it is not a finite number.
func finite(v float64) float64 {
	if v-v != 0 {
		return 0
	}
	return v
}

// Measured returns the part of a sum with known usage. A remainder that can be a rounding error is 0.
func Measured(sum, unknown float64) float64 {
	const rounding = 1e-9
	if left := sum - unknown; left > rounding*sum {
		return left
	}
	return 0
}

// UsageKnown reports whether any usage of a resource by a row is known: for some of its request, or for some of its running
// time if it requests nothing. A container that requests no GPU uses none.
func UsageKnown(s *allocation.Set, r allocation.Resource, row int) bool {
	if s.Value(allocation.UsageHours.Of(r), row) > 0 {
		return true
	}
	if request := s.Value(allocation.RequestHours.Of(r), row); request > 0 {
		return Measured(request, s.Value(allocation.UnknownRequestHours.Of(r), row)) > 0
	}
	return Measured(s.Value(allocation.RunningSeconds, row), s.Value(allocation.UnknownSeconds.Of(r), row)) > 0
}

// efficiency is usage over request of a resource in a row, over the time in which the usage is known. It is NaN where the usage is never known.
// Without a request it is 1 where something was used and cost something, else 0.
func efficiency(s *allocation.Set, r allocation.Resource, row int) float64 {
	request, usage := Measured(s.Value(allocation.RequestHours.Of(r), row), s.Value(allocation.UnknownRequestHours.Of(r), row)), s.Value(allocation.UsageHours.Of(r), row)
	switch {
	case !UsageKnown(s, r, row):
		return math.NaN()
	case request > 0:
		return finite(usage / request)
	case usage > 0 && adjusted(s, r, row) > 0:
		return 1
	}
	return 0
}

// TotalEfficiency is the mean of the efficiencies of CPU and RAM in a row as far as they are known, weighted by their costs
// including adjustments. It is 0 where the costs are 0, and NaN where neither efficiency is known.
func TotalEfficiency(s *allocation.Set, row int) float64 {
	used, cost, known := 0.0, 0.0, false
	for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} {
		if e := efficiency(s, r, row); !math.IsNaN(e) {
			known = true
			used += e * adjusted(s, r, row)
			cost += adjusted(s, r, row)
		}
	}
	switch {
	case !known:
		return math.NaN()
	case cost <= 0:
		return 0
	}
	return finite(used / cost)
}

// adjusted is the cost of a resource in a row, adjustment included.
func adjusted(s *allocation.Set, r allocation.Resource, row int) float64 {
	return s.Value(allocation.Cost.Of(r), row) + s.Value(allocation.Adjustment.Of(r), row)
}

// ErrorBounds returns the factors between which the counted running time and request cost of a row lie relative to the true
// ones, rounded outwards to three decimals: the counted time divided by the longest and by the shortest true running time
// that the data allow. lower is -1 if the row could have been missed altogether, and upper is NaN if the shortest time is 0.
// ok is false for rows without counted running time, which have no bounds: idle, volumes that nothing mounts, load balancers
// without endpoints, shared and external costs belong to assets, which exist for hours and days.
//
// The error of idle is that of the containers on its nodes, with the opposite sign. But their bounds give none for idle: they
// bound time and requests, while idle also excludes usage beyond requests, and includes containers that ran too briefly to be
// seen on the grid, which no row shows.
func ErrorBounds(s *allocation.Set, row int) (lower, upper float64, ok bool) {
	return Bounds(s.Value(allocation.RunningSeconds, row), s.Value(allocation.LeastSeconds, row), MostSeconds(s, row), s.Resolution)
}

// MostSeconds returns the longest running time of a row that the data allow. What a set keeps reaches beyond it, so that sets add
// up; one container does not run for longer than its window.
func MostSeconds(s *allocation.Set, row int) float64 {
	most := s.Value(allocation.MostSeconds, row)
	if !s.Several(row) {
		most = min(most, s.Window.Duration().Seconds())
	}
	return most
}

// Bounds returns what ErrorBounds returns for a row with these running times in seconds, on a grid of that resolution.
func Bounds(running, least, most float64, resolution time.Duration) (lower, upper float64, ok bool) {
	if running <= 0 {
		return 0, math.NaN(), false
	}
	const slack = 1e-9 // of sums in another order
	lower, upper = -1, math.NaN()
	if least > resolution.Seconds() || least >= most*(1-slack) && most > 0 {
		lower = math.Floor((running/most+slack)*1000) / 1000
	}
	if least > 0 {
		upper = math.Ceil((running/least-slack)*1000) / 1000
	}
	return lower, upper, true
}
