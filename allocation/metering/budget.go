package metering

import (
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// Budget is how much something may cost in a period.
type Budget struct {
	Name   string
	Amount float64
	Period BudgetPeriod
	// Billed says that costs are by bill, as far as bills reach, and at list price after that. Otherwise they are at list price.
	Billed bool
	// Options select what counts, and say how it takes part in idle and shared costs.
	Options passes.Options
}

// BudgetPeriod is the period of a budget.
type BudgetPeriod string

// The periods of budgets. Weeks begin on Sunday.
const (
	BudgetDay     BudgetPeriod = "day"
	BudgetWeek    BudgetPeriod = "week"
	BudgetMonth   BudgetPeriod = "month"
	BudgetQuarter BudgetPeriod = "quarter"
	BudgetYear    BudgetPeriod = "year"
)

// Window returns the period of the instant before t, on the clock of the zone: an hour that ends with a period belongs to it.
func (p BudgetPeriod) Window(t time.Time, zone *time.Location) allocation.Window {
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

// Costs returns what counts for the budget in each set. They must be base sets over one Dict, and need only the budget's Projection.
// For a budget that is billed they must have the adjustments of bills.
func (b *Budget) Costs(sets []*allocation.Set) ([]float64, error) {
	o := b.Options
	o.Accumulate = allocation.NoPeriod
	sets, err := passes.Apply(sets, o)
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

// Projection returns what Costs needs of sets; nil stands for everything.
func (b *Budget) Projection() *allocation.Projection {
	if b.Options.External {
		return nil
	}
	p := b.Options.Needs().Now()
	if b.Billed {
		p = p.Union(passes.ReconcileNeeds())
	}
	return p
}

// BudgetState is the state of a budget at the end of a closed hour.
type BudgetState struct {
	Budget *Budget
	Window allocation.Window // the period so far
	// Known is for how long of the window costs are kept: Spent has them, and nothing of the rest.
	Known time.Duration
	Spent float64
	// BilledUntil is until when bills reach, and SpentUnbilled what was spent after that, as bills let one estimate. Of a budget that is not billed
	// both are zero.
	BilledUntil   time.Time
	SpentUnbilled float64
	// Forecast is what will be spent by the end of the period, negative if that is not known.
	Forecast float64
}

// Forecast returns what will be spent of a budget by the end of its period. spent is the cost of its known hours, rest the time that
// remains. If the last week is known, every hour of the rest costs what that hour of the week did; else it costs the average of the
// known hours. week is the cost of the last week. part is the cost of the beginning of that week, as long as the rest beyond whole
// weeks. Both are negative if they are not known. The result is negative if nothing is known.
func Forecast(spent float64, known, rest time.Duration, week, beginning float64) float64 {
	const aWeek = 7 * 24 * time.Hour
	switch {
	case rest <= 0:
		return spent
	case week >= 0 && beginning >= 0:
		return spent + float64(rest/aWeek)*week + beginning
	case known > 0:
		return spent + spent/known.Hours()*rest.Hours()
	}
	return -1
}

// Spending is the state of the budgets at the end of a closed hour. It is immutable.
type Spending struct {
	End    time.Time
	States []BudgetState
	// Unknown are the names of budgets that are not in States because hours of their period have yet to be computed.
	Unknown []string
	// Rules are the versions of the rules by which the hours of the budgets' periods were computed.
	Rules allocation.RulesMix
}

// Totals returns the totals for the families of budgets.
func (s *Spending) Totals() *Totals {
	t := &Totals{hours: 1, noResource: true}
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
		if !x.BilledUntil.IsZero() {
			row.has |= 1 << budgetBilledUntil
			row.figures[budgetBilledUntil] = float64(x.BilledUntil.Unix())
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
	budgetBilledUntil
	numBudgetFigures
)

// budgetTotals returns nothing: budgets need more than one set.
func budgetTotals(*Subject, *allocation.Set) []subjectTotal { return nil }
