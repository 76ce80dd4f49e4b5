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
// was not over by its hours; hours that are not kept are not in it, nor a budget of whose period none is. What idle and shared costs add is of each day as a
// whole.
func (l *Ledger) SpendingAt(ctx context.Context, t time.Time) (*allocation.Spending, error) {
	at, err := l.SpendingsIn(ctx, allocation.Window{Start: t, End: t})
	if err != nil {
		return nil, err
	}
	return at(ctx, t)
}

// SpendingsIn is SpendingAt for many instants within w: what is kept is listed once for all of them.
func (l *Ledger) SpendingsIn(ctx context.Context, w allocation.Window) (at func(context.Context, time.Time) (*allocation.Spending, error), err error) {
	metering := l.opts.Metering()
	if len(metering.Budgets()) == 0 {
		return func(context.Context, time.Time) (*allocation.Spending, error) { return nil, nil }, nil
	}
	if l.history == nil {
		return nil, fmt.Errorf("%w: there is no history to tell spending from", allocation.ErrNoData)
	}
	first := l.floor(w.Start.Add(-l.opts.Grace)).Add(-readOnlyPast) // that an hour may end which stands for w.Start
	listed := allocation.Window{Start: first.Add(-aWeek), End: w.End}
	for i := range metering.Budgets() {
		if begin := metering.Budgets()[i].Period.At(first, l.opts.Zone).Start; begin.Before(listed.Start) {
			listed.Start = begin
		}
	}
	s := &spender{Ledger: l, metering: metering}
	all := &allocation.Query{Stored: true}
	if s.days, err = l.usable(ctx, Days, listed, all); err != nil {
		return nil, fmt.Errorf("find the days of budgets: %w", err)
	}
	if s.hours, err = l.usable(ctx, Hours, listed, all); err != nil {
		return nil, fmt.Errorf("find the hours of budgets: %w", err)
	}
	return s.at, nil
}

// spender tells how budgets stand from what was found to be kept.
type spender struct {
	*Ledger
	metering    *allocation.Metering
	days, hours *shelf
}

// at is how the budgets stood at t.
func (s *spender) at(ctx context.Context, t time.Time) (*allocation.Spending, error) {
	end := s.floor(t.Add(-s.opts.Grace))
	if last := s.lastHour(end); !last.IsZero() {
		end = last
	}
	budgets := s.metering.Budgets()
	spending := &allocation.Spending{End: end, States: make([]allocation.BudgetState, 0, len(budgets))}
	for i := range budgets {
		state, known, err := s.spend(ctx, i, end)
		if err != nil {
			return nil, fmt.Errorf("spending of budget %q: %w", budgets[i].Name, err)
		}
		if known {
			spending.States = append(spending.States, state)
		}
	}
	return spending, nil
}

// lastHour is the end of the last hour that is kept and ends by then, not long before; zero where there is none.
func (s *spender) lastHour(end time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(s.hours.sets, end, func(k Kept, t time.Time) int { return k.Window.Start.Compare(t) })
	for _, k := range slices.Backward(s.hours.sets[:i]) {
		switch {
		case k.Window.Start.Before(end.Add(-readOnlyPast)):
			return time.Time{}
		case !k.Window.End.After(end):
			return k.Window.End.In(s.opts.Zone)
		}
	}
	return time.Time{}
}

// spend is how the i-th budget stands at the end of a closed hour, which is not known where nothing of its period is kept.
func (s *spender) spend(ctx context.Context, i int, end time.Time) (state allocation.BudgetState, some bool, err error) {
	b := &s.metering.Budgets()[i]
	period := b.Period.At(end, s.opts.Zone)
	spent, known, err := s.costOf(ctx, i, allocation.Window{Start: period.Start, End: end})
	if err != nil || known == 0 {
		return allocation.BudgetState{}, false, err
	}
	rest := period.End.Sub(end)
	week, part, err := s.lastWeek(ctx, i, end, rest%aWeek)
	if err != nil {
		return allocation.BudgetState{}, false, err
	}
	return allocation.BudgetState{
		Budget: b, Window: allocation.Window{Start: period.Start, End: end}, Spent: spent,
		Forecast: allocation.Forecast(spent, known, rest, week, part),
	}, true, nil
}

// lastWeek is what a budget cost in the week before end and in the beginning of it that is so long; negative where
// the whole week is not known.
func (s *spender) lastWeek(ctx context.Context, i int, end time.Time, length time.Duration) (week, part float64, err error) {
	from := end.Add(-aWeek)
	part, some, err := s.costOf(ctx, i, allocation.Window{Start: from, End: from.Add(length)})
	if err != nil {
		return 0, 0, err
	}
	rest, others, err := s.costOf(ctx, i, allocation.Window{Start: from.Add(length), End: end})
	if err != nil || some+others < aWeek {
		return -1, -1, err
	}
	return part + rest, part, nil
}

// costOf is what counts for a budget in what is kept of w, and for how long something is: of whole days, else of hours.
func (s *spender) costOf(ctx context.Context, budget int, w allocation.Window) (cost float64, known time.Duration, err error) {
	for at := w.Start; at.Before(w.End); {
		rest := allocation.Window{Start: at, End: w.End}
		kind, k := Days, s.days.at(at, rest)
		if k == nil || !k.Window.End.Equal(allocation.Day.Round(allocation.Window{Start: at, End: at.Add(1)}, s.opts.Zone).End) {
			kind, k = Hours, s.hours.at(at, rest)
		}
		if k == nil || !k.Window.End.After(at) {
			at = s.hourAt(at).End
			continue
		}
		costs, err := s.budgetCosts(ctx, s.metering, kind, k)
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

// budgetWhole notes how the budgets stand unless it did since the last hour closed: once no hour is missing any more, so that
// what is not there yet is not taken for nothing.
func (l *Ledger) budgetWhole(ctx context.Context, _ allocation.Window) (more bool, err error) {
	if l.budgeted() {
		return false, nil
	}
	return false, l.budget(ctx)
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
