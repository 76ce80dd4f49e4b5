package recorder

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
)

// aWeek is the time that forecasts are based on.
const aWeek = 7 * 24 * time.Hour

// budgets computes what budgets have spent.
type budgets struct {
	*records

	mu       sync.Mutex
	costs    budgetCosts
	spending *metering.Spending // as it was found last; nil before
}

// Spending is how the budgets stood when the last closed hour was counted; nil where there are none, or nothing is known.
func (b *budgets) Spending() *metering.Spending {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spending
}

// SpendingAt is how the budgets stood at t, nil where there are none: at the end of the last hour that was closed by then,
// grace period included, and is kept. Closed days are taken as they are kept, the day that was not over by its hours. What idle
// and shared costs add is of each day as a whole. A budget of whose period nothing is kept is not in it; nor is one, as long as
// hours of its period have yet to be computed: what they cost is not known, rather than nothing.
func (b *budgets) SpendingAt(ctx context.Context, t time.Time) (*metering.Spending, error) {
	spendingAt, err := b.SpendingsIn(ctx, allocation.Window{Start: t, End: t})
	if err != nil {
		return nil, err
	}
	return spendingAt(ctx, t)
}

// SpendingsIn is SpendingAt for many instants within w. It lists the stored sets once for all of them.
func (b *budgets) SpendingsIn(ctx context.Context, w allocation.Window) (spendingAt func(context.Context, time.Time) (*metering.Spending, error), err error) {
	meter := b.opts.Metering()
	if len(meter.Budgets()) == 0 {
		return func(context.Context, time.Time) (*metering.Spending, error) { return nil, nil }, nil
	}
	if b.archive == nil {
		return nil, fmt.Errorf("%w: there is no history to tell spending from", allocation.ErrNoData)
	}
	first := b.clock.ClosedAt(w.Start).Add(-latestPast) // the last hour that ended by w.Start may have ended then
	listed := allocation.Window{Start: first.Add(-aWeek), End: w.End}
	for i := range meter.Budgets() {
		if begin := meter.Budgets()[i].Period.Window(first, b.clock.Zone).Start; begin.Before(listed.Start) {
			listed.Start = begin
		}
	}
	s := &spender{budgets: b, metering: meter}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if s.days, err = b.archive.List(ctx, ledger.Days, listed); err != nil {
		return nil, fmt.Errorf("find the days of budgets: %w", err)
	}
	if s.hours, err = b.archive.List(ctx, ledger.Hours, listed); err != nil {
		return nil, fmt.Errorf("find the hours of budgets: %w", err)
	}
	s.awaited = s.await(listed)
	return s.assess, nil
}

// open finds what bills say, if a budget is billed.
func (s *spender) open(ctx context.Context) (err error) {
	if !slices.ContainsFunc(s.metering.Budgets(), func(b metering.Budget) bool { return b.Billed }) {
		return nil
	}
	if s.bills, err = s.opts.Bills(ctx); err != nil {
		return fmt.Errorf("find the bills of budgets: %w", err)
	}
	if s.bills != nil {
		s.version = s.bills.Version()
	}
	return nil
}

// await returns the hours within w that the loop still has to compute, without hours for which the source has nothing.
func (s *spender) await(w allocation.Window) (list []allocation.Window) {
	if !s.stores {
		return nil // the recorder that writes the history knows of them
	}
	if from := s.horizon().Start; from.After(w.Start) {
		w.Start = from
	}
	for _, h := range s.clock.ClosedHours(w) {
		if !s.hours.Has(h) && !s.days.Covers(h) && !s.isEmpty(h) {
			list = append(list, h)
		}
	}
	return list
}

// awaits reports whether hours within w have yet to be computed.
func (s *spender) awaits(w allocation.Window) bool {
	i, _ := slices.BinarySearchFunc(s.awaited, w.Start, func(h allocation.Window, t time.Time) int { return h.Start.Compare(t) })
	return i < len(s.awaited) && s.awaited[i].Start.Before(w.End)
}

// spender computes the state of budgets from the stored sets that were found.
type spender struct {
	*budgets
	metering    *metering.Metering
	bills       Bills  // nil if no budget is billed, or there are no bills
	version     string // of the bills
	days, hours *ledger.Listing
	awaited     []allocation.Window // hours that have yet to be computed, by start
}

// assess returns how the budgets stood at t.
func (s *spender) assess(ctx context.Context, t time.Time) (*metering.Spending, error) {
	end := s.clock.ClosedAt(t)
	if last := s.lastHour(end); !last.IsZero() {
		end = last
	}
	budgets := s.metering.Budgets()
	spending := &metering.Spending{End: end, States: make([]metering.BudgetState, 0, len(budgets))}
	for i := range budgets {
		if period := budgets[i].Period.Window(end, s.clock.Zone); s.awaits(allocation.Window{Start: period.Start, End: end}) {
			spending.Unknown = append(spending.Unknown, budgets[i].Name)
			continue
		}
		state, known, err := s.spend(ctx, i, end)
		if err != nil {
			return nil, fmt.Errorf("spending of budget %q: %w", budgets[i].Name, err)
		}
		if known {
			spending.States = append(spending.States, state)
			for _, k := range s.within(state.Window) {
				spending.Rules.Add(k.Window, k.Rules)
			}
		}
	}
	return spending, nil
}

// lastHour is the end of the last hour that is kept and ends by then, not long before; zero where there is none.
func (s *spender) lastHour(end time.Time) time.Time {
	if k := s.hours.Last(end.Add(-latestPast), end); k != nil {
		return k.Window.End.In(s.clock.Zone)
	}
	return time.Time{}
}

// spend is how the i-th budget stands at the end of a closed hour, which is not known where nothing of its period is kept.
func (s *spender) spend(ctx context.Context, i int, end time.Time) (state metering.BudgetState, some bool, err error) {
	b := &s.metering.Budgets()[i]
	period := b.Period.Window(end, s.clock.Zone)
	spent, known, err := s.costOf(ctx, i, allocation.Window{Start: period.Start, End: end})
	if err != nil || known == 0 {
		return metering.BudgetState{}, false, err
	}
	state = metering.BudgetState{Budget: b, Window: allocation.Window{Start: period.Start, End: end}, Known: known, Spent: spent, Forecast: -1}
	if err := s.addReach(ctx, i, &state); err != nil {
		return metering.BudgetState{}, false, err
	}
	if s.awaits(allocation.Window{Start: end.Add(-aWeek), End: end}) {
		return state, true, nil
	}
	rest := period.End.Sub(end)
	week, part, err := s.lastWeek(ctx, i, end, rest%aWeek)
	if err != nil {
		return metering.BudgetState{}, false, err
	}
	state.Forecast = metering.Forecast(spent, known, rest, week, part)
	return state, true, nil
}

// addReach adds to the state of the i-th budget until when it is by bill, and what was spent since.
func (s *spender) addReach(ctx context.Context, i int, state *metering.BudgetState) (err error) {
	if s.bills == nil || !state.Budget.Billed {
		return nil
	}
	state.BilledUntil = s.bills.Until().UTC()
	since := state.Window
	if state.BilledUntil.After(since.Start) {
		since.Start = state.BilledUntil
	}
	if since.Start.Before(since.End) {
		state.SpentUnbilled, _, err = s.costOf(ctx, i, since)
	}
	return err
}

// lastWeek is what a budget cost in the week before end and in the beginning of it that is so long; negative where
// the whole week is not known.
func (s *spender) lastWeek(ctx context.Context, i int, end time.Time, length time.Duration) (week, beginning float64, err error) {
	from := end.Add(-aWeek)
	beginning, some, err := s.costOf(ctx, i, allocation.Window{Start: from, End: from.Add(length)})
	if err != nil {
		return 0, 0, err
	}
	rest, others, err := s.costOf(ctx, i, allocation.Window{Start: from.Add(length), End: end})
	if err != nil || some+others < aWeek {
		return -1, -1, err
	}
	return beginning + rest, beginning, nil
}

// costOf returns what counts for a budget in the stored sets of w, and for how long there are any: whole days, or else hours.
func (s *spender) costOf(ctx context.Context, budget int, w allocation.Window) (cost float64, known time.Duration, err error) {
	kept := s.within(w)
	costs, err := s.budgetCosts(ctx, kept)
	if err != nil {
		return 0, 0, err
	}
	for i := range kept {
		cost, known = cost+costs[i][budget], known+kept[i].Window.Duration()
	}
	return cost, known, nil
}

// within returns the stored sets of w: whole days, or else hours.
func (s *spender) within(w allocation.Window) (list []keptSet) {
	for at := w.Start; at.Before(w.End); {
		rest := allocation.Window{Start: at, End: w.End}
		kind, k := ledger.Days, s.days.Longest(at, rest)
		if k == nil || !k.Window.End.Equal(s.clock.Day(at).End) {
			kind, k = ledger.Hours, s.hours.Longest(at, rest)
		}
		if k == nil || !k.Window.End.After(at) {
			at = s.clock.HourFrom(at).End
			continue
		}
		list = append(list, keptSet{kind, k})
		at = k.Window.End
	}
	return list
}

// budgetsKnown reports whether it is known how the budgets stand at the end of the last closed hour.
func (b *budgets) budgetsKnown() bool {
	end := b.clock.LastHour().End
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spending != nil && b.spending.End.Equal(end)
}

// update finds how the budgets stand, if an hour has closed since, or the history has changed.
func (b *budgets) update(ctx context.Context) error {
	now, err := b.SpendingAt(ctx, b.clock.Now())
	if err != nil {
		return err
	}
	b.mu.Lock()
	was := b.spending
	changed := (was == nil) != (now == nil) || was != nil && (!was.End.Equal(now.End) || !slices.Equal(was.States, now.States))
	if changed {
		b.spending = now
	}
	b.mu.Unlock()
	if changed {
		b.opts.Changed()
	}
	return nil
}
