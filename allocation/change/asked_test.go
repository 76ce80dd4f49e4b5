package change_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/passes"
)

// nearly takes numbers for equal that rounding tells apart, and unknown ones.
var nearly = cmp.Options{cmpopts.EquateApprox(1e-12, 1e-12), cmpopts.EquateNaNs()}

// TestAmounts compares what ran with what was counted by hand: a container of a core at 0.05 and 2 GiB at 0.01 for a day, then two of 2 cores at 0.10, one of which runs
// for half of the day and uses 3 cores, and belongs to another team. No effect changes because rows say whose they are.
func TestAmounts(t *testing.T) {
	const gib = 1 << 30
	memory := func(r *run) { r.request[allocation.RAM], r.price[allocation.RAM] = 2*gib, 0.01/gib }
	large := func(r *run) {
		memory(r)
		r.request[allocation.CPU], r.price[allocation.CPU] = 2, 0.1
	}
	dict := allocation.NewDict()
	sides := [2]*allocation.Set{
		set(dict, start.Add(-24*time.Hour), 24*time.Hour, []run{web(memory)}),
		set(dict, start, 24*time.Hour, []run{web(large), web(func(r *run) {
			large(r)
			twin(r)
			r.team, r.hours, r.use[allocation.CPU] = "b", 12, 3
		})}),
	}
	l := change.Levels{Keys: keys(t, "namespace"), Parts: keys(t, "pod")}
	rows, total := explain(t, passes.Options{}, l, sides)
	if rows[0].Owner != "" || rows[0].Team != "" {
		t.Errorf("without keys of owners, the row is %+v", rows[0])
	}
	effects := total.Effects
	l.Owners = keys(t, "label:owner,team")
	rows, total = explain(t, passes.Options{}, l, sides)
	before := change.Amounts{Replicas: 1, Allocated: [...]float64{1, 2 * gib, 0}, Prices: [...]float64{0.05, 0.01, math.NaN()}}
	after := change.Amounts{Replicas: 1.5, Allocated: [...]float64{3.5, 3 * gib, 0}, Prices: [...]float64{0.1, 0.01, math.NaN()}}
	for _, r := range []change.Row{rows[0], total} {
		for i, want := range [...]change.Amounts{before, after} {
			if diff := cmp.Diff(want, [...]change.Amounts{r.Before, r.After}[i], nearly); diff != "" {
				t.Errorf("%q, side %d: -want +got\n%s", r.Name, i, diff)
			}
		}
	}
	if diff := cmp.Diff(effects, total.Effects, nearly); diff != "" {
		t.Errorf("effects with owners: -without +with\n%s", diff)
	}
	if rows[0].Owner != "" || rows[0].Team != "a" {
		t.Errorf("the row is of owner %q and team %q, want none and a, whose pod costs more", rows[0].Owner, rows[0].Team)
	}
	for _, part := range rows[0].Parts {
		if want := map[string]string{"web-1": "a", "web-2": "b"}[part.Name]; part.Team != want {
			t.Errorf("pod %s is of team %q, want %q", part.Name, part.Team, want)
		}
	}
}

// TestGone says whose a row was that did not run since.
func TestGone(t *testing.T) {
	dict := allocation.NewDict()
	sides := [2]*allocation.Set{set(dict, start.Add(-24*time.Hour), 24*time.Hour, []run{web(nil)}), set(dict, start, 24*time.Hour, nil)}
	rows, _ := explain(t, passes.Options{}, change.Levels{Keys: keys(t, "controller"), Owners: keys(t, "label:owner,team")}, sides)
	if len(rows) != 1 || rows[0].Team != "a" || rows[0].After.Replicas != 0 || rows[0].Before.Replicas != 1 {
		t.Errorf("%+v", rows)
	}
}

func TestSince(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name   string
		rates  []float64
		window int // index of the first step of the current window
		want   int // -1 for none
	}{
		{"with the window", []float64{1, 1, 2, 2}, 2, 2},
		{"in the middle of the window", []float64{1, 1, 1, 1, 1, 1, 2, 2}, 4, 6},
		{"before the window", []float64{1, 2, 2, 2, 2, 2}, 3, 1},
		{"not since", []float64{1, 1, 1, 1}, 2, -1},
		{"within a quarter all the time", []float64{0.9, 1.1, 1, 1.2}, 2, -1},
		{"a level that is the mean of a quarter", []float64{1, 1, 3, 3, 3, 3, 3, 3, 2.5, 3.5}, 2, 2},
		{"the last step is no level", []float64{1, 1, 3, 3, 3, 3, 3, 3, 2, 4}, 2, -1},
		{"gone", []float64{1, 1, 0, 0}, 2, 2},
		{"new", []float64{0, 0, 0, 5}, 2, 3},
		{"a credit", []float64{1, 1, -2, -2}, 2, 2},
		{"a rise of less than a quarter", []float64{1, 1.4, 1.7, 1.75, 1.75, 1.8, 1.8, 1.8, 2.2, 2.2}, 3, -1},
		{"bit by bit", []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7}, 4, -1},
		{"steps without data say nothing", []float64{1, nan, 2, nan, 2, nan}, 2, 2},
		{"no data", []float64{1, 1, nan, nan}, 2, -1},
		{"nothing before", []float64{2, 2}, 0, -1},
		{"no steps", nil, 0, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := change.Since(tt.rates, tt.window)
			if !ok {
				got = -1
			}
			if got != tt.want {
				t.Errorf("since %d, want %d", got, tt.want)
			}
		})
	}
}
