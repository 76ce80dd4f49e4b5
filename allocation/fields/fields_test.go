package fields_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

var testStart = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// oneRow is a set of one row of an hour with the values given.
func oneRow(minutes int, values map[allocation.Column]float64) *allocation.Set {
	s := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, allocation.NewDict())
	r := allocation.Row{Start: testStart, End: testStart.Add(time.Duration(minutes) * time.Minute)}
	r.Values[allocation.RunningSeconds] = float64(minutes) * 60
	for c, v := range values {
		r.Values[c] = v
	}
	s.Append(&r)
	return s
}

func field(t *testing.T, name string) fields.Field {
	t.Helper()
	all := fields.All()
	i := slices.IndexFunc(all, func(f fields.Field) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no field %s", name)
	}
	return all[i]
}

// TestFieldNames lists all fields in their order.
func TestFieldNames(t *testing.T) {
	want := strings.Fields(`minutes
		cpuCores cpuCoreRequestAverage cpuCoreUsageAverage cpuCoreLimitAverage cpuCoreHours cpuCost cpuCostAdjustment cpuCostIdle cpuEfficiency
		gpuCount gpuRequestAverage gpuUsageAverage gpuHours gpuCost gpuCostAdjustment gpuCostIdle gpuEfficiency
		networkTransferBytes networkReceiveBytes networkCost networkCrossZoneCost networkCrossRegionCost networkInternetCost networkCostAdjustment
		loadBalancerCost loadBalancerCostAdjustment pvBytes pvByteHours pvCost pvCostAdjustment
		ramBytes ramByteRequestAverage ramByteUsageAverage ramByteLimitAverage ramByteHours ramCost ramCostAdjustment ramCostIdle ramEfficiency
		sharedCost externalCost totalCost totalEfficiency`)
	var got []string
	for _, f := range fields.All() {
		got = append(got, f.Name)
		if f.Unit == "" || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: unit %q, help %q: want a unit and a sentence", f.Name, f.Unit, f.Help)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestZeroFields checks that Zero reports only fields that are 0, whichever columns are not.
func TestZeroFields(t *testing.T) {
	for a := range allocation.NumColumns {
		for b := range allocation.NumColumns {
			s := oneRow(60, map[allocation.Column]float64{a: 2, b: 3})
			for _, f := range fields.All() {
				if v := f.Value(s, 0); v != 0 && f.Zero(s) {
					t.Errorf("%s is %v where it is said to be 0: columns %v and %v are not", f.Name, v, a, b)
				}
			}
		}
	}
	if f := field(t, "gpuCost"); !f.Zero(oneRow(60, nil)) {
		t.Error("gpuCost is 0 without GPUs, and not said to be")
	}
}

// TestFieldsOfManyRows checks that reading a field of many rows gives the same numbers as reading each row, in a set as it was built and
// in one that passes made.
func TestFieldsOfManyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	odd := []float64{0, math.Copysign(0, -1), -1.5, math.NaN(), math.Inf(1), math.MaxFloat64, 5e-324}
	built := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, allocation.NewDict())
	for i := range 40 {
		r := allocation.Row{Start: testStart, End: testStart.Add(time.Duration(rng.IntN(3)) * time.Minute)}
		r.Text[allocation.Pod] = strconv.Itoa(i / 2)
		for c := range allocation.NumColumns {
			if r.Values[c] = rng.Float64(); c%3 == 0 || rng.IntN(3) == 0 {
				r.Values[c] = odd[rng.IntN(len(odd))]
			}
			if c%5 == 0 {
				r.Values[c] = 0
			}
		}
		r.Values[allocation.RunningSeconds] = 60 * float64(rng.IntN(3)) // minutes are a field
		built.Append(&r)
	}
	keys, err := allocation.ParseKeys("pod", nil)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := passes.Apply([]*allocation.Set{built}, passes.Options{Aggregate: keys})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*allocation.Set{built, merged[0]} {
		rows := rng.Perm(s.Len())
		got := make([]float64, len(rows))
		for _, f := range fields.All() {
			f.Values(s, rows, got)
			for i, row := range rows {
				if want := f.Value(s, row); !equal(got[i], want) {
					t.Errorf("%s of row %d of %d: got %v, want %v", f.Name, row, s.Len(), got[i], want)
				}
			}
		}
	}
}

// equal reports whether two numbers are the same, or both not known.
func equal(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestFieldValues(t *testing.T) {
	const cpu, ram, gpu = allocation.CPU, allocation.RAM, allocation.GPU
	type values = map[allocation.Column]float64
	request, usage, cost := allocation.RequestHours, allocation.UsageHours, allocation.Cost
	silent, unasked := allocation.UnknownSeconds, allocation.UnknownRequestHours
	unknown := math.NaN()
	for name, tc := range map[string]struct {
		minutes int
		values  values
		field   string
		want    float64
	}{
		"average over minutes":         {30, values{allocation.Hours.Of(cpu): 1}, "cpuCores", 2},
		"average over nothing":         {0, values{allocation.Hours.Of(cpu): 1}, "cpuCores", 0},
		"sum":                          {30, values{allocation.Hours.Of(ram): 5}, "ramByteHours", 5},
		"efficiency":                   {60, values{request.Of(cpu): 2, usage.Of(cpu): 3}, "cpuEfficiency", 1.5},
		"efficiency unused":            {60, values{request.Of(cpu): 2}, "cpuEfficiency", 0},
		"efficiency without request":   {60, values{usage.Of(ram): 3, cost.Of(ram): 1}, "ramEfficiency", 1},
		"efficiency without cost":      {60, values{usage.Of(ram): 3}, "ramEfficiency", 0},
		"efficiency of a credit":       {60, values{usage.Of(gpu): 3, cost.Of(gpu): 1, allocation.Adjustment.Of(gpu): -1}, "gpuEfficiency", 0},
		"efficiency that overflows":    {60, values{request.Of(cpu): math.SmallestNonzeroFloat64, usage.Of(cpu): math.MaxFloat64}, "cpuEfficiency", 0},
		"usage is not known":           {60, values{request.Of(cpu): 2, silent.Of(cpu): 3600, unasked.Of(cpu): 2}, "cpuCoreUsageAverage", unknown},
		"usage of what never ran":      {0, values{cost.Of(cpu): 2}, "cpuCoreUsageAverage", unknown},
		"usage known half of the time": {60, values{usage.Of(cpu): 1, silent.Of(cpu): 1800}, "cpuCoreUsageAverage", 2},
		"efficiency is not known":      {60, values{request.Of(cpu): 2, silent.Of(cpu): 3600, unasked.Of(cpu): 2}, "cpuEfficiency", unknown},
		"efficiency of idle":           {0, values{cost.Of(cpu): 2}, "cpuEfficiency", unknown},
		"efficiency of the known time": {60, values{request.Of(cpu): 11, usage.Of(cpu): 0.5, silent.Of(cpu): 1800, unasked.Of(cpu): 10}, "cpuEfficiency", 0.5},
		"known usage of 0":             {60, values{request.Of(cpu): 4, silent.Of(cpu): 1800, unasked.Of(cpu): 2}, "cpuEfficiency", 0},
		"no GPU, none used":            {60, nil, "gpuUsageAverage", 0},
		"GPU that nobody measures":     {600, values{request.Of(gpu): 1, silent.Of(gpu): 3600, unasked.Of(gpu): 1}, "gpuUsageAverage", unknown},
		"GPU that is idle":             {60, values{request.Of(gpu): 1}, "gpuEfficiency", 0},
		"unknown but for rounding":     {60, values{request.Of(ram): 0.3, silent.Of(ram): 3600, unasked.Of(ram): 0.1 + 0.2 - 2e-16}, "ramEfficiency", unknown},
		"total of what is known":       {60, values{request.Of(cpu): 2, silent.Of(cpu): 3600, unasked.Of(cpu): 2, cost.Of(cpu): 9, request.Of(ram): 2, usage.Of(ram): 1, cost.Of(ram): 1}, "totalEfficiency", 0.5},
		"total if nothing is known":    {60, values{silent.Of(cpu): 3600, silent.Of(ram): 3600, cost.Of(cpu): 9}, "totalEfficiency", unknown},
		"not a number":                 {60, values{cost.Of(cpu): math.NaN()}, "cpuCost", 0},
		"network":                      {60, values{allocation.NetworkCrossZoneCost: 1, allocation.NetworkInternetCost: 2, allocation.NetworkCostAdjustment: 9}, "networkCost", 3},
		"total":                        {60, values{cost.Of(cpu): 1, allocation.Adjustment.Of(cpu): -0.5, allocation.CostIdle.Of(cpu): 0.25, allocation.SharedCost: 2}, "totalCost", 2.5},
		"total efficiency":             {60, values{request.Of(cpu): 2, usage.Of(cpu): 1, cost.Of(cpu): 3, request.Of(ram): 1, usage.Of(ram): 1, cost.Of(ram): 1}, "totalEfficiency", 0.625},
		"total efficiency of no cost":  {60, values{request.Of(cpu): 2, usage.Of(cpu): 1}, "totalEfficiency", 0},
		"total efficiency of a credit": {60, values{request.Of(cpu): 2, usage.Of(cpu): 1, allocation.Adjustment.Of(cpu): -1}, "totalEfficiency", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := field(t, tc.field).Value(oneRow(tc.minutes, tc.values), 0); !equal(got, tc.want) {
				t.Errorf("%s = %v, want %v", tc.field, got, tc.want)
			}
		})
	}
}

// TestSpecExample holds averages and efficiencies to the worked example of Kubecost's documentation, which rounds what it
// shows to six decimals: the small cost of its memory leaves five digits of the total efficiency.
func TestSpecExample(t *testing.T) {
	const hours = 10.0
	s := oneRow(600, map[allocation.Column]float64{
		allocation.Hours.Of(allocation.CPU):        2.00399,
		allocation.RequestHours.Of(allocation.CPU): 0.2 * hours,
		allocation.UsageHours.Of(allocation.CPU):   0.004317 * hours,
		allocation.Cost.Of(allocation.CPU):         0.044344,
		allocation.Hours.Of(allocation.RAM):        597910873.876871,
		allocation.RequestHours.Of(allocation.RAM): 57671680 * hours,
		allocation.UsageHours.Of(allocation.RAM):   52687168.319468 * hours,
		allocation.Cost.Of(allocation.RAM):         0.001652,
		allocation.PVByteHours:                     114532461226.66667,
		allocation.PVCost:                          0.005845,
		allocation.NetworkInternetCost:             0.000013,
	})
	for name, want := range map[string]float64{
		"minutes": 600, "cpuCores": 0.200399, "cpuEfficiency": 0.021583, "pvBytes": 11453246122.666668, "ramBytes": 59791087.387687,
		"ramEfficiency": 0.913571, "totalCost": 0.051853, "totalEfficiency": 0.053611,
	} {
		if got := field(t, name).Value(s, 0); math.Abs(got-want) > 1.1e-5*max(1, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

func TestErrorBounds(t *testing.T) {
	type values = map[allocation.Column]float64
	for name, tc := range map[string]struct {
		minutes      int
		resolution   time.Duration
		values       values
		lower, upper float64
		ok           bool
	}{
		"rounded outwards":             {1, 0, values{allocation.LeastSeconds: 49, allocation.MostSeconds: 91}, 0.659, 1.225, true},
		"no wider by rounding of sums": {1, 0, values{allocation.LeastSeconds: 60 - 1e-12, allocation.MostSeconds: 60 + 1e-12}, 1, 1, true},
		"may not have run":             {1, 0, values{allocation.MostSeconds: 90}, -1, math.NaN(), true},
		"may be missed on a grid":      {1, time.Minute, values{allocation.LeastSeconds: 29, allocation.MostSeconds: 31}, -1, 2.069, true},
		"always ran":                   {1, time.Minute, values{allocation.LeastSeconds: 60, allocation.MostSeconds: 60}, 1, 1, true},
		"not counted":                  {0, 0, nil, 0, math.NaN(), false},
	} {
		t.Run(name, func(t *testing.T) {
			set := oneRow(tc.minutes, tc.values)
			set.Resolution = tc.resolution
			lower, upper, ok := fields.ErrorBounds(set, 0)
			if lower != tc.lower || ok != tc.ok || upper != tc.upper && !(math.IsNaN(upper) && math.IsNaN(tc.upper)) {
				t.Errorf("got %v, %v, %v, want %v, %v, %v", lower, upper, ok, tc.lower, tc.upper, tc.ok)
			}
		})
	}
}

// TestWholeAverages checks that a constant whole amount has a whole average, however long it ran and of however many sets it was summed.
func TestWholeAverages(t *testing.T) {
	count, request := field(t, "gpuCount"), field(t, "gpuRequestAverage")
	random := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		s := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(24 * time.Hour)}, allocation.NewDict())
		r := allocation.Row{Start: testStart, End: testStart}
		devices := float64(1 + random.IntN(8))
		for range 1 + random.IntN(200) {
			milliseconds := 1 + random.IntN(400_000)
			r.End = r.End.Add(time.Duration(milliseconds) * time.Millisecond)
			hours := devices * float64(milliseconds) / 3.6e6
			r.Values[allocation.RunningSeconds] += float64(milliseconds) / 1000
			r.Values[allocation.Hours.Of(allocation.GPU)] += hours
			r.Values[allocation.RequestHours.Of(allocation.GPU)] += hours
		}
		s.Append(&r)
		many := make([]float64, 1)
		count.Values(s, []int{0}, many)
		if got := [...]float64{count.Value(s, 0), request.Value(s, 0), many[0]}; got != [...]float64{devices, devices, devices} {
			t.Fatalf("averages of %v devices over %v: %v", devices, r.End.Sub(r.Start), got)
		}
	}
}

// TestWholeHours checks that a constant whole amount over whole hours has whole hours, of however many sets they were summed.
func TestWholeHours(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, f := range []struct {
		name   string
		column allocation.Column
	}{
		{"gpuHours", allocation.Hours.Of(allocation.GPU)},
		{"cpuCoreHours", allocation.Hours.Of(allocation.CPU)},
		{"ramByteHours", allocation.Hours.Of(allocation.RAM)},
	} {
		for range 300 {
			amount, hours, sum := float64(1+random.IntN(8)), 1+random.IntN(24), 0.0
			for left := hours * 3_600_000; left > 0; {
				milliseconds := min(left, 1+random.IntN(400_000))
				left -= milliseconds
				sum += amount * float64(milliseconds) / 3.6e6
			}
			s := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(24 * time.Hour)}, allocation.NewDict())
			r := allocation.Row{Start: testStart, End: testStart.Add(time.Duration(hours) * time.Hour)}
			r.Values[f.column] = sum
			s.Append(&r)
			many, shown := make([]float64, 1), field(t, f.name)
			shown.Values(s, []int{0}, many)
			if got, want := [...]float64{shown.Value(s, 0), many[0]}, amount*float64(hours); got != [...]float64{want, want} {
				t.Fatalf("%s of %v over %d h: %v", f.name, amount, hours, got)
			}
		}
	}
}
