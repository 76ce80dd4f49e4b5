package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// aWeek is what forecasts look back on.
const aWeek = 7 * 24 * time.Hour

// Spending is how the budgets stood when the last closed hour was counted; nil where there are none, or nothing is known.
func (l *Ledger) Spending() *allocation.Spending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spending
}

// SpendingAt is how the budgets stood at t, nil where there are none: at the end of the last hour that was closed by then,
// grace period included, and is kept. Closed days are taken as they are kept, the day that
// was not over by its hours; hours that are not kept are not in it. What idle and shared costs add is of each day as a
// whole.
func (l *Ledger) SpendingAt(ctx context.Context, t time.Time) (*allocation.Spending, error) {
	metering := l.opts.Metering()
	budgets := metering.Budgets()
	if len(budgets) == 0 {
		return nil, nil
	}
	if l.history == nil {
		return nil, fmt.Errorf("%w: there is no history to tell spending from", allocation.ErrNoData)
	}
	end := l.floor(t.Add(-l.opts.Grace))
	recent, err := l.usable(ctx, Hours, allocation.Window{Start: end.Add(-readOnlyPast), End: end}, &allocation.Query{Stored: true})
	if err != nil {
		return nil, fmt.Errorf("find the last hour of budgets: %w", err)
	}
	for _, k := range slices.Backward(recent.sets) {
		if !k.Window.End.After(end) {
			end = k.Window.End.In(l.opts.Zone)
			break
		}
	}
	s := &allocation.Spending{End: end, States: make([]allocation.BudgetState, len(budgets))}
	for i := range budgets {
		if err := l.spend(ctx, metering, i, end, &s.States[i]); err != nil {
			return nil, fmt.Errorf("spending of budget %q: %w", budgets[i].Name, err)
		}
	}
	return s, nil
}

// spend is how the i-th budget stands at the end of a closed hour.
func (l *Ledger) spend(ctx context.Context, m *allocation.Metering, i int, end time.Time, state *allocation.BudgetState) error {
	b := &m.Budgets()[i]
	period := b.Period.At(end, l.opts.Zone)
	spent, known, err := l.costOf(ctx, m, i, allocation.Window{Start: period.Start, End: end})
	if err != nil {
		return err
	}
	rest := period.End.Sub(end)
	week, part, err := l.lastWeek(ctx, m, i, end, rest%aWeek)
	if err != nil {
		return err
	}
	*state = allocation.BudgetState{
		Budget: b, Window: allocation.Window{Start: period.Start, End: end}, Spent: spent,
		Forecast: allocation.Forecast(spent, known, rest, week, part),
	}
	return nil
}

// lastWeek is what a budget cost in the week before end and in the beginning of it that is so long; negative where
// the whole week is not known.
func (l *Ledger) lastWeek(ctx context.Context, m *allocation.Metering, i int, end time.Time, length time.Duration) (week, part float64, err error) {
	from := end.Add(-aWeek)
	part, some, err := l.costOf(ctx, m, i, allocation.Window{Start: from, End: from.Add(length)})
	if err != nil {
		return 0, 0, err
	}
	rest, others, err := l.costOf(ctx, m, i, allocation.Window{Start: from.Add(length), End: end})
	if err != nil || some+others < aWeek {
		return -1, -1, err
	}
	return part + rest, part, nil
}

// costOf is what counts for a budget in what is kept of w, and for how long something is: of whole days, else of hours.
func (l *Ledger) costOf(ctx context.Context, m *allocation.Metering, budget int, w allocation.Window) (cost float64, known time.Duration, err error) {
	all := &allocation.Query{Stored: true}
	days, err := l.usable(ctx, Days, w, all)
	if err != nil {
		return 0, 0, err
	}
	hours, err := l.usable(ctx, Hours, w, all)
	if err != nil {
		return 0, 0, err
	}
	for at := w.Start; at.Before(w.End); {
		rest := allocation.Window{Start: at, End: w.End}
		kind, k := Days, days.at(at, rest)
		if k == nil || !k.Window.End.Equal(allocation.Day.Round(allocation.Window{Start: at, End: at.Add(1)}, l.opts.Zone).End) {
			kind, k = Hours, hours.at(at, rest)
		}
		if k == nil || !k.Window.End.After(at) {
			at = l.hourAt(at).End
			continue
		}
		costs, err := l.budgetCosts(ctx, m, kind, k)
		if err != nil {
			return 0, 0, err
		}
		cost, known, at = cost+costs[budget], known+k.Window.Duration(), k.Window.End
	}
	return cost, known, nil
}

// keptKey is a kept set as it is.
type keptKey struct {
	setKey
	generation int
}

// budgetCache is what sets cost that were asked for.
type budgetCache struct {
	metering *allocation.Metering
	known    map[keptKey][]float64
}

// maxBudgetCosts bounds the sets whose costs are remembered: two years of days, and more hours than are asked for at once.
const maxBudgetCosts = 4096

// budgetCosts is what counts for each budget in a kept set.
func (l *Ledger) budgetCosts(ctx context.Context, m *allocation.Metering, kind Kind, k *Kept) ([]float64, error) {
	key := keptKey{setKey{kind, k.Window.Start.Unix(), k.Window.End.Unix()}, k.Generation}
	l.mu.Lock()
	if l.budgets.metering != m || len(l.budgets.known) >= maxBudgetCosts {
		l.budgets = budgetCache{metering: m, known: map[keptKey][]float64{}}
	}
	costs := l.budgets.known[key]
	l.mu.Unlock()
	if costs != nil {
		return costs, nil
	}
	sets, err := l.read(ctx, []Kept{*k}, nil)
	if err != nil {
		return nil, l.seen(err)
	}
	for i := range m.Budgets() {
		cost, err := m.Budgets()[i].Cost(sets[0])
		if err != nil {
			return nil, err
		}
		costs = append(costs, cost)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.budgets.metering == m {
		l.budgets.known[key] = costs
	}
	return costs, nil
}

// budgeted reports whether it is known how the budgets stand at the end of the last closed hour.
func (l *Ledger) budgeted() bool {
	end := l.closedHour().End
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spending != nil && l.spending.End.Equal(end)
}

// budget notes how the budgets stand, if an hour has closed since, or the history has changed.
func (l *Ledger) budget(ctx context.Context) error {
	now, err := l.SpendingAt(ctx, l.opts.Now())
	if err != nil {
		return err
	}
	l.mu.Lock()
	was := l.spending
	changed := (was == nil) != (now == nil) || was != nil && (!was.End.Equal(now.End) || !slices.Equal(was.States, now.States))
	if changed {
		l.spending = now
	}
	l.mu.Unlock()
	if changed {
		l.opts.Changed()
	}
	return nil
}
