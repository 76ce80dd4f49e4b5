package metering_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
)

func TestBudgetPeriods(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		period metering.BudgetPeriod
		at     string
		zone   *time.Location
		want   string
	}{
		{metering.BudgetDay, "2026-03-29T12:00:00Z", berlin, "2026-03-28T23:00:00Z 2026-03-29T22:00:00Z"}, // 23 hours
		{metering.BudgetDay, "2026-03-10T00:00:00Z", time.UTC, "2026-03-09T00:00:00Z 2026-03-10T00:00:00Z"},
		{metering.BudgetDay, "2026-03-10T01:00:00Z", time.UTC, "2026-03-10T00:00:00Z 2026-03-11T00:00:00Z"},
		{metering.BudgetWeek, "2026-11-21T12:00:00Z", time.UTC, "2026-11-15T00:00:00Z 2026-11-22T00:00:00Z"},
		{metering.BudgetMonth, "2026-12-01T00:00:00Z", time.UTC, "2026-11-01T00:00:00Z 2026-12-01T00:00:00Z"},
		{metering.BudgetQuarter, "2026-11-21T12:00:00Z", time.UTC, "2026-10-01T00:00:00Z 2027-01-01T00:00:00Z"},
		{metering.BudgetYear, "2026-12-31T23:30:00Z", berlin, "2026-12-31T23:00:00Z 2027-12-31T23:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		w := tt.period.Window(at, tt.zone)
		if got := w.Start.UTC().Format(time.RFC3339) + " " + w.End.UTC().Format(time.RFC3339); got != tt.want {
			t.Errorf("%s of %s is %s, want %s", tt.period, tt.at, got, tt.want)
		}
	}
}

// TestBudgetCosts checks that costs are those of each set, whatever the budget's options accumulate, and what the projection reads.
func TestBudgetCosts(t *testing.T) {
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	dict := allocation.NewDict()
	var sets []*allocation.Set
	for h := range 2 {
		s := allocation.NewSet(allocation.Window{Start: start.Add(time.Duration(h) * time.Hour), End: start.Add(time.Duration(h+1) * time.Hour)}, dict)
		for range 2 {
			s.Append(&allocation.Row{Start: s.Window.Start, End: s.Window.End, Values: [allocation.NumColumns]float64{allocation.PVCost: float64(3 + h)}})
		}
		sets = append(sets, s)
	}
	all := metering.Budget{Name: "all", Options: passes.Options{Accumulate: allocation.All}}
	if got, err := all.Costs(sets); err != nil || !cmp.Equal(got, []float64{6, 8}) {
		t.Errorf("it costs %v, want 6 and 8 (%v)", got, err)
	}
	billed := metering.Budget{Name: "billed", Options: passes.Options{External: true}}
	for _, tt := range []struct {
		name    string
		budgets []metering.Budget
		columns bool // no more are read
	}{
		{"costs", []metering.Budget{all}, true},
		{"bills, which may touch everything", []metering.Budget{all, billed}, false},
	} {
		m, err := metering.New(metering.Options{Enabled: []string{"budget"}, Budgets: tt.budgets})
		if err != nil {
			t.Fatal(err)
		}
		if p := m.BudgetProjection(); (p != nil) != tt.columns || p != nil && (!slices.Contains(p.Columns, allocation.PVCost) || slices.Contains(p.Columns, allocation.NetworkReceiveBytes)) {
			t.Errorf("%s: %v is read", tt.name, p)
		}
		if got := m.Budgets(); len(got) != len(tt.budgets) {
			t.Errorf("%s: there are %d budgets", tt.name, len(got))
		}
	}
}

func TestForecast(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, tt := range []struct {
		name         string
		spent        float64
		known, rest  time.Duration
		week, part   float64
		wantForecast float64
	}{
		{"the period is over", 5, week, 0, 70, 0, 5},
		{"as last week", 5, time.Hour, 2*week + 24*time.Hour, 70, 3, 5 + 140 + 3},
		{"as on average", 10, 5 * time.Hour, 10 * time.Hour, -1, -1, 30},
		{"nothing is known", 0, 0, 10 * time.Hour, -1, -1, -1},
	} {
		if got := metering.Forecast(tt.spent, tt.known, tt.rest, tt.week, tt.part); got != tt.wantForecast {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.wantForecast)
		}
	}
}

func TestFamiliesOfBudgets(t *testing.T) {
	s := subjectNamed(t, "budget")
	spending := &metering.Spending{States: []metering.BudgetState{
		{Budget: &metering.Budget{Name: "web", Period: metering.BudgetWeek, Amount: 10}, Spent: 2, Forecast: -1},
		{Budget: &metering.Budget{Name: "all", Period: metering.BudgetMonth, Amount: 100}, Spent: 30, Forecast: 90},
	}}
	want := []string{
		"budget_limit{all,month} 100", "budget_limit{web,week} 10", "budget_spent{all,month} 30", "budget_spent{web,week} 2", "budget_forecast{all,month} 90",
	}
	if diff := cmp.Diff(want, familyLines(s, spending.Totals())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var none *metering.Spending
	if n := none.Totals().Len() + s.Totals(newFamilySet()).Len(); n != 0 {
		t.Errorf("%d budgets of nothing", n)
	}
}
