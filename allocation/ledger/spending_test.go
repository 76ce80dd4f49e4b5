package ledger_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/ledger"
)

// budgeting is a metering of budgets: of everything in a month, and of a namespace in a week, a day and a year.
func budgeting(t *testing.T) *allocation.Metering {
	t.Helper()
	everything, err := allocation.ParseKeys("all", nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := filter.Parse(`namespace:"ns-1"`)
	if err != nil {
		t.Fatal(err)
	}
	budgets := []allocation.Budget{{Name: "all", Amount: 1000, Period: allocation.BudgetMonth, Options: allocation.Options{Aggregate: everything, Idle: true}}}
	for _, p := range []allocation.BudgetPeriod{allocation.BudgetWeek, allocation.BudgetDay, allocation.BudgetYear} {
		budgets = append(budgets, allocation.Budget{Name: string(p), Amount: 10, Period: p, Options: allocation.Options{Aggregate: everything, Filter: one}})
	}
	m, err := allocation.NewMetering(allocation.MeteringOptions{Budgets: budgets})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// costOf is what the model says of a budget.
func (r *rig) costOf(t *testing.T, b *allocation.Budget, from, to time.Time) float64 {
	t.Helper()
	cost, err := b.Cost(r.exactly(allocation.Window{Start: from, End: to}))
	if err != nil {
		t.Fatal(err)
	}
	return cost
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

func TestSpending(t *testing.T) {
	m := budgeting(t)
	start := at(t, "2026-03-06T00:00")
	r := live(t, "2026-03-13T05:30", ledger.Options{Backfill: -1, Metering: func() *allocation.Metering { return m }}, func(r *rig) { r.model.from = start })
	for _, now := range []string{"2026-03-06T01:10", "2026-03-08T13:15", "2026-03-09T00:15", "2026-03-12T05:30", "2026-03-13T05:30"} {
		got, err := r.SpendingAt(t.Context(), at(t, now))
		if err != nil {
			t.Fatal(err)
		}
		end := at(t, now).Add(-10 * time.Minute).Truncate(time.Hour)
		for _, s := range got.States {
			period := s.Budget.Period.At(end, time.UTC)
			from := period.Start
			if from.Before(start) {
				from = start // nothing was before
			}
			if want := r.costOf(t, s.Budget, from, end); !near(s.Spent, want) {
				t.Errorf("%s: %s has spent %v, want %v", now, s.Budget.Name, s.Spent, want)
			}
			want := s.Spent + s.Spent/end.Sub(from).Hours()*period.End.Sub(end).Hours()
			if !end.Add(-7 * 24 * time.Hour).Before(start) {
				want = s.Spent
				for h := end; h.Before(period.End); h = h.Add(time.Hour) {
					then := h
					for !then.Before(end) {
						then = then.Add(-7 * 24 * time.Hour)
					}
					want += r.costOf(t, s.Budget, then, then.Add(time.Hour))
				}
			}
			if !near(s.Forecast, want) {
				t.Errorf("%s: %s will have spent %v, want %v", now, s.Budget.Name, s.Forecast, want)
			}
		}
	}
}

// A restart, and one that only reads, tell the same.
func TestSpendingSurvivesRestarts(t *testing.T) {
	m := budgeting(t)
	o := ledger.Options{Backfill: -1, Metering: func() *allocation.Metering { return m }}
	r := live(t, "2026-03-03T05:30", o, func(r *rig) { r.model.from = at(t, "2026-03-01T00:00") })
	before := r.Spending()
	if before == nil || !before.End.Equal(at(t, "2026-03-03T05:00")) {
		t.Fatalf("budgets stand as %v", before)
	}
	for _, readOnly := range []bool{false, true} {
		r.opts.ReadOnly = readOnly
		r.again(t)
		if r.Spending() != nil {
			t.Error("it knows how budgets stand before it has read anything")
		}
		r.run(t)
		if diff := cmp.Diff(before, r.Spending(), cmpopts.IgnoreFields(allocation.BudgetState{}, "Budget")); diff != "" {
			t.Errorf("read only %v: -before +after:\n%s", readOnly, diff)
		}
	}
	r.pass(time.Hour)
	if now := r.Spending(); !now.End.Equal(at(t, "2026-03-03T05:00")) { // it computes nothing
		t.Errorf("budgets stand as of %s", now.End)
	}
}

func TestSpendingFollowsTheConfig(t *testing.T) {
	none, m := allocation.DefaultMetering(), budgeting(t)
	current := none
	o := ledger.Options{Backfill: -1, Metering: func() *allocation.Metering { return current }}
	r := live(t, "2026-03-02T05:30", o, func(r *rig) { r.model.from = at(t, "2026-03-01T00:00") })
	if s := r.Spending(); s != nil {
		t.Errorf("there are no budgets, but %v", s)
	}
	for _, tt := range []struct {
		metering *allocation.Metering
		want     int
	}{{m, 4}, {none, 0}} {
		r.stop()
		current = tt.metering
		r.run(t)
		n := 0
		if s := r.Spending(); s != nil {
			n = len(s.States)
		}
		if n != tt.want || r.Accrued().Metering() != current {
			t.Errorf("%d budgets, want %d", n, tt.want)
		}
	}
}

// Many instants of one listing are told what each is told alone.
func TestSpendingsIn(t *testing.T) {
	m := budgeting(t)
	r := live(t, "2026-03-04T05:30", ledger.Options{Backfill: -1, Metering: func() *allocation.Metering { return m }}, func(r *rig) { r.model.from = at(t, "2026-03-01T00:00") })
	w := allocation.Window{Start: at(t, "2026-03-01T00:20"), End: at(t, "2026-03-04T05:30")}
	tell, err := r.SpendingsIn(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for now := w.Start; !now.After(w.End); now = now.Add(5 * time.Hour) {
		want, err := r.SpendingAt(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tell(t.Context(), now)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(allocation.BudgetState{}, "Budget")); err != nil || diff != "" {
			t.Errorf("%s: %v (-alone +of many):\n%s", now, err, diff)
		}
	}
}

// While the history is filled, budgets are not shown: what is not there yet has not cost nothing.
func TestSpendingIsShownOnceWhole(t *testing.T) {
	m := budgeting(t)
	var r *rig
	var shown []*allocation.Spending
	o := ledger.Options{Backfill: -1, Metering: func() *allocation.Metering { return m }, Changed: func() {
		if s := r.Spending(); s != nil {
			shown = append(shown, s)
		}
	}}
	live(t, "2026-03-03T05:30", o, func(made *rig) {
		r = made
		r.model.from = at(t, "2026-03-01T00:00")
	})
	r.stop()
	if len(shown) == 0 {
		t.Fatal("budgets were not shown")
	}
	for _, s := range shown {
		if diff := cmp.Diff(r.Spending(), s, cmpopts.IgnoreFields(allocation.BudgetState{}, "Budget"), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("-in the end +at first:\n%s", diff)
		}
	}
	before, err := r.SpendingAt(t.Context(), at(t, "2026-02-20T05:30"))
	if err != nil || len(before.States) > 0 {
		t.Errorf("before there was anything: %v, %v", before, err)
	}
}
