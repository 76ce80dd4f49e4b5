package metering

import (
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Budget is what something may cost in a period.
type Budget struct {
	Name   string
	Amount float64
	Period BudgetPeriod
	// Options say what counts: who is selected, and what of idle and shared costs they bear. Everything is one row.
	Options allocation.Options
}

// BudgetPeriod is what a budget is for.
type BudgetPeriod string

// The periods of budgets. Weeks begin on Sunday.
const (
	BudgetDay     BudgetPeriod = "day"
	BudgetWeek    BudgetPeriod = "week"
	BudgetMonth   BudgetPeriod = "month"
	BudgetQuarter BudgetPeriod = "quarter"
	BudgetYear    BudgetPeriod = "year"
)

// At is the period that the instant before t is in, on the clock of the zone: an hour that ends with a period is of it.
func (p BudgetPeriod) At(t time.Time, zone *time.Location) allocation.Window {
	instant := allocation.Window{Start: t.Add(-time.Second), End: t}
	switch p {
	case BudgetDay:
		return allocation.Day.Round(instant, zone)
	case BudgetWeek:
		return allocation.Week.Round(instant, zone)
	case BudgetQuarter:
		return allocation.Quarter.Round(instant, zone)
	case BudgetYear:
		year := instant.Start.In(zone).Year()
		return allocation.Window{Start: allocation.StartOfDay(year, time.January, 1, zone), End: allocation.StartOfDay(year+1, time.January, 1, zone)}
	case BudgetMonth:
	}
	return allocation.Month.Round(instant, zone)
}

// Costs are what counts for the budget in each of base sets over one Dict, which need no more than its Projection.
func (b *Budget) Costs(sets []*allocation.Set) ([]float64, error) {
	o := b.Options
	o.Accumulate = allocation.NoPeriod
	sets, err := allocation.Apply(sets, o)
	if err != nil {
		return nil, fmt.Errorf("cost of budget %q: %w", b.Name, err)
	}
	costs := make([]float64, len(sets))
	for i, set := range sets {
		for row := range set.Len() {
			costs[i] += set.TotalCost(row)
		}
	}
	return costs, nil
}

// Projection is what Costs need of sets, nil for all of them.
func (b *Budget) Projection() *allocation.Projection {
	if b.Options.Reconcile || b.Options.External {
		return nil
	}
	return b.Options.Needs().Now()
}

// BudgetState is how a budget stands at the end of a closed hour.
type BudgetState struct {
	Budget *Budget
	Window allocation.Window // the period so far
	Spent  float64
	// Forecast is what will be spent at the end of the period, negative where nothing says so.
	Forecast float64
}

// Forecast is what a budget will come to of which so much was spent in the hours that are known, if it goes on as it did:
// of the rest of the period, every hour costs what that hour of the week did last week, where the whole week is known;
// else what those known cost on average. Week is what the budget cost in the last week, part what it cost in as much of
// its beginning as remains beside whole weeks; negative where they are not known.
func Forecast(spent float64, known, rest time.Duration, week, part float64) float64 {
	const aWeek = 7 * 24 * time.Hour
	switch {
	case rest <= 0:
		return spent
	case week >= 0 && part >= 0:
		return spent + float64(rest/aWeek)*week + part
	case known > 0:
		return spent + spent/known.Hours()*rest.Hours()
	}
	return -1
}

// Spending is how the budgets stand at the end of a closed hour. It is not changed once made.
type Spending struct {
	End    time.Time
	States []BudgetState
	// Unknown are the names of budgets that are not in States because hours of their period have yet to be computed.
	Unknown []string
	// Rules are those that what is kept of the budgets' periods was computed by.
	Rules allocation.RulesMix
}

// Totals are what the families of budgets are made of.
func (s *Spending) Totals() *Totals {
	t := &Totals{hours: 1, plain: true}
	if s == nil {
		return t
	}
	for i := range s.States {
		x := &s.States[i]
		row := subjectTotal{labels: []string{validLabel(x.Budget.Name), string(x.Budget.Period)}, has: 1<<budgetLimit | 1<<budgetSpent}
		row.figures[budgetLimit], row.figures[budgetSpent] = x.Budget.Amount, x.Spent
		if x.Forecast >= 0 {
			row.has |= 1 << budgetForecast
			row.figures[budgetForecast] = x.Forecast
		}
		t.rows = append(t.rows, row)
	}
	t.rows = mergeTotals(t.rows)
	return t
}

// The figures of a budget in a subjectTotal.
const (
	budgetLimit familyResource = iota
	budgetSpent
	budgetForecast
)

// budgetTotals has none: they take more than one set.
func budgetTotals(*Subject, *allocation.Set) []subjectTotal { return nil }
