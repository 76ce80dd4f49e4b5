package costseries_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/costseries"
)

// quietHours are hours of nothing, one after the other.
func quietHours(start time.Time, n int) *hours {
	h := &hours{}
	for i := range n {
		at := start.Add(time.Duration(i) * time.Hour)
		h.sets = append(h.sets, allocation.NewSet(allocation.Window{Start: at, End: at.Add(time.Hour)}, allocation.NewDict()))
	}
	return h
}

// spendings is what Options want to be told by.
type spendings = func(context.Context, allocation.Window) (func(context.Context, time.Time) (*allocation.Spending, error), error)

// spendingBy tells what f does.
func spendingBy(f func(time.Time) (*allocation.Spending, error)) spendings {
	return func(_ context.Context, w allocation.Window) (func(context.Context, time.Time) (*allocation.Spending, error), error) {
		return func(_ context.Context, at time.Time) (*allocation.Spending, error) {
			if at.Before(w.Start) || at.After(w.End) {
				return nil, errors.New("it asks beyond what it said it would")
			}
			return f(at)
		}, nil
	}
}

// Budgets are what they stood at when each hour was shown, and what is not known of them is no series.
func TestBudgets(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	budgets := []allocation.Budget{{Name: "all", Amount: 10, Period: allocation.BudgetMonth}, {Name: "web", Amount: 5, Period: allocation.BudgetDay}}
	q := newQueryable(quietHours(start, 4), costseries.Options{
		Subjects: allocation.DefaultMetering().Configured,
		Spending: spendingBy(func(at time.Time) (*allocation.Spending, error) {
			spent := at.Sub(start.Add(grace)).Hours()
			return &allocation.Spending{End: at.Add(-grace), States: []allocation.BudgetState{
				{Budget: &budgets[0], Spent: spent, Forecast: 2 * spent}, {Budget: &budgets[1], Spent: spent / 2, Forecast: -1},
			}}, nil
		}),
	})
	engine := costseries.NewEngine(costseries.EngineOptions{})
	for _, tt := range []struct{ expr, want string }{
		{`promcost_budget_spent`, "{__name__=\"promcost_budget_spent\", budget=\"all\", period=\"month\"} => 3 @[1772334600000]\n{__name__=\"promcost_budget_spent\", budget=\"web\", period=\"day\"} => 1.5 @[1772334600000]"},
		{`promcost_budget_forecast`, `{__name__="promcost_budget_forecast", budget="all", period="month"} => 6 @[1772334600000]`},
		{`promcost_budget_limit{budget="web"}`, `{__name__="promcost_budget_limit", budget="web", period="day"} => 5 @[1772334600000]`},
		{`promcost_budget_spent{budget="all"} offset 1h`, `{__name__="promcost_budget_spent", budget="all", period="month"} => 2 @[1772334600000]`},
	} {
		at := start.Add(3*time.Hour + grace)
		r := resultOf(t, engine, q, tt.expr, at, at, 0)
		if diff := cmp.Diff(tt.want, r.Value.String()); r.Err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.expr, r.Err, diff)
		}
	}
	querier, err := q.Querier(0, start.Add(4*time.Hour).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := querier.LabelValues(t.Context(), "budget", nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "promcost_budget_limit"))
	if diff := cmp.Diff([]string{"all", "web"}, got); err != nil || diff != "" {
		t.Errorf("budgets: %v (-want +got):\n%s", err, diff)
	}
}

// Where the spending cannot be told, queries for it say why; others do not ask.
func TestBudgetsThatCannotBeTold(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	at := start.Add(2*time.Hour + grace)
	engine := costseries.NewEngine(costseries.EngineOptions{})
	for _, tt := range []struct {
		name, expr string
		spending   spendings
		failure    string
	}{
		{"the ledger fails", `promcost_budget_spent`, spendingBy(func(time.Time) (*allocation.Spending, error) {
			return nil, errors.New("a file is damaged")
		}), "read promcost_budget_spent: a file is damaged"},
		{"nothing is listed", `promcost_budget_spent`, func(context.Context, allocation.Window) (func(context.Context, time.Time) (*allocation.Spending, error), error) {
			return nil, errors.New("no directory")
		}, "read promcost_budget_spent: no directory"},
		{"another family", `promcost_resolution_seconds`, spendingBy(func(time.Time) (*allocation.Spending, error) {
			return nil, errors.New("a file is damaged")
		}), ""},
		{"no budgets", `promcost_budget_spent`, spendingBy(func(time.Time) (*allocation.Spending, error) { return nil, nil }), ""},
		{"no ledger", `promcost_budget_spent`, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := newQueryable(quietHours(start, 2), costseries.Options{Subjects: allocation.DefaultMetering().Configured, Spending: tt.spending})
			r := resultOf(t, engine, q, tt.expr, at, at, 0)
			if (r.Err != nil) != (tt.failure != "") || r.Err != nil && !strings.Contains(r.Err.Error(), tt.failure) {
				t.Errorf("it says %v, want %q", r.Err, tt.failure)
			}
		})
	}
}
