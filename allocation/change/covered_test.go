package change_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/passes"
)

// TestHoursWithoutData compares a day with one of which some hours have data (SEMANTICS §9): that hours are missing is the effect window, and
// nothing changed for an hour that has data. With too few of them, nothing is compared.
func TestHoursWithoutData(t *testing.T) {
	const volumes = 0.24
	disk := func(hours float64) func(r *run) {
		return func(r *run) {
			r.hours = hours
			r.other = map[allocation.Column]float64{allocation.PVCost: volumes * hours / 24}
		}
	}
	for _, tt := range []struct {
		name       string
		hours      float64 // of the baseline that have data
		more       bool    // twice as many replicas in the current window
		comparable string  // "" where it is
	}{
		{name: "half", hours: 12},
		{name: "half, and more replicas", hours: 12, more: true},
		{name: "just enough", hours: 5},
		{name: "too few", hours: 4, comparable: "4 of 24 h have data"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := change.Levels{Keys: keys(t, "namespace")}
			dict := allocation.NewDict()
			sets := [2]*allocation.Set{set(dict, start.Add(-24*time.Hour), 24*time.Hour, []run{web(disk(tt.hours))}), set(dict, start, 24*time.Hour, []run{web(disk(24))})}
			if tt.more {
				sets[1] = set(dict, start, 24*time.Hour, []run{web(disk(24)), web(twin)})
			}
			var sides [2]change.Side
			for i, hours := range [...]float64{tt.hours, 24} {
				out, err := passes.Apply([]*allocation.Set{sets[i]}, l.Options(passes.Options{}))
				if err != nil {
					t.Fatal(err)
				}
				w := sets[i].Window
				sides[i] = change.Side{Set: out[0], Covered: coverage.Measure(w, []allocation.Covered{{Cluster: "c", Start: w.End.Add(-time.Duration(hours * float64(time.Hour))), End: w.End}}, time.Time{})}
			}
			rows, total, err := change.Explain(sides[0], sides[1], l)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			got, sum := effectsOf(&total.Effects), 0.0
			for _, v := range total.Effects {
				sum += v
			}
			if math.Abs(sum-total.Change()) > 1e-9 {
				t.Errorf("effects sum to %v, want %v", sum, total.Change())
			}
			_, replicas := got["replicas"]
			if _, lack := got["window"]; !lack || replicas != tt.more || len(got) > 2 {
				t.Errorf("effects %v", got)
			}
			if diff := cmp.Diff(rows[0].Effects, total.Effects); diff != "" {
				t.Error(diff)
			}
			text, ok := change.Comparable(sides[0], sides[1])
			ratio, known := total.Relative(sides[0], sides[1])
			want := 0.0
			if tt.more {
				want = 1.2 / (1.2 + volumes)
			}
			switch {
			case text != tt.comparable, ok != (tt.comparable == ""), known != ok:
				t.Errorf("comparable %t, %q; relative known %t", ok, text, known)
			case known && math.Abs(ratio-want) > 1e-9:
				t.Errorf("relative change %v, want %v", ratio, want)
			}
		})
	}
}
