package fields_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

// TestTroubles derives what went wrong with the containers of a namespace: three that ran for two hours, one of which was throttled in 30 of 120 periods and killed twice; and
// with one of which nothing tells.
func TestTroubles(t *testing.T) {
	start := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(2 * time.Hour)}, allocation.NewDict())
	for i, namespace := range []string{"known", "known", "known", "unknown"} {
		row := allocation.Row{Start: start, End: start.Add(2 * time.Hour)}
		row.Text[allocation.Namespace], row.Text[allocation.Pod], row.Text[allocation.PodUID] = namespace, fmt.Sprint("p", i), fmt.Sprint("u", i)
		row.Values[allocation.RunningSeconds] = 7200
		if i == 0 {
			row.Values[allocation.CPUPeriods], row.Values[allocation.ThrottledPeriods], row.Values[allocation.OOMKills] = 120, 30, 2
		}
		s.Append(&row)
	}
	keys, err := allocation.ParseKeys("namespace", nil)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := passes.Apply([]*allocation.Set{s}, passes.Options{Aggregate: keys})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]float64{
		"containers": {"known": 3, "unknown": 1}, "cpuThrottledShare": {"known": 0.25, "unknown": math.NaN()}, "oomKills": {"known": 2, "unknown": 0},
	}
	for _, f := range fields.OnDemand() {
		for row := range merged[0].Len() {
			of, ok := want[f.Name][merged[0].Name(row)]
			all := make([]float64, 1)
			f.Values(merged[0], []int{row}, all)
			for _, got := range [...]float64{f.Value(merged[0], row), all[0]} {
				if ok && got != of && !(math.IsNaN(got) && math.IsNaN(of)) {
					t.Errorf("%s of %s is %v, want %v", f.Name, merged[0].Name(row), got, of)
				}
			}
		}
		delete(want, f.Name)
	}
	for name := range want {
		t.Errorf("there is no field %s", name)
	}
}
