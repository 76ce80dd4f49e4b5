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
// grace period included, and is kept. Closed days are taken as they are kept, the day that was not over by its hours. What idle
// and shared costs add is of each day as a whole. A budget of whose period nothing is kept is not in it; nor is one, as long as
// hours of its period have yet to be computed: what they cost is not known, rather than nothing.
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
	first := l.floor(w.Start.Add(-l.opts.Grace)).Add(-latestPast) // that an hour may end which stands for w.Start
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
	s.awaited = s.await(listed)
	return s.at, nil
}

// await finds the hours within w that the loop has yet to compute, those that the source was found to have nothing of left
// out.
func (s *spender) await(w allocation.Window) (list []allocation.Window) {
	if s.opts.ReadOnly {
		return nil // whoever writes knows of them
	}
	if from := s.horizon().Start; from.After(w.Start) {
		w.Start = from
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.ClosedHours(w) {
		if _, nothing := s.barren[h.Start.Unix()]; !nothing && !s.hours.has(h) && !s.days.covers(h) {
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

// spender tells how budgets stand from what was found to be kept.
type spender struct {
	*Ledger
	metering    *allocation.Metering
	days, hours *shelf
	awaited     []allocation.Window // hours that have yet to be computed, by start
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
		if period := budgets[i].Period.At(end, s.opts.Zone); s.awaits(allocation.Window{Start: period.Start, End: end}) {
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
	i, _ := slices.BinarySearchFunc(s.hours.sets, end, func(k Kept, t time.Time) int { return k.Window.Start.Compare(t) })
	for _, k := range slices.Backward(s.hours.sets[:i]) {
		switch {
		case k.Window.Start.Before(end.Add(-latestPast)):
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
	state = allocation.BudgetState{Budget: b, Window: allocation.Window{Start: period.Start, End: end}, Spent: spent, Forecast: -1}
	if s.awaits(allocation.Window{Start: end.Add(-aWeek), End: end}) {
		return state, true, nil
	}
	rest := period.End.Sub(end)
	week, part, err := s.lastWeek(ctx, i, end, rest%aWeek)
	if err != nil {
		return allocation.BudgetState{}, false, err
	}
	state.Forecast = allocation.Forecast(spent, known, rest, week, part)
	return state, true, nil
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
	kept := s.within(w)
	costs, err := s.budgetCosts(ctx, s.metering, kept)
	if err != nil {
		return 0, 0, err
	}
	for i := range kept {
		cost, known = cost+costs[i][budget], known+kept[i].Window.Duration()
	}
	return cost, known, nil
}

// within is what is kept of w: whole days, else hours.
func (s *spender) within(w allocation.Window) (list []keptOf) {
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
		list = append(list, keptOf{kind, k})
		at = k.Window.End
	}
	return list
}

// keptOf is a kept set and its kind.
type keptOf struct {
	kind Kind
	*Kept
}

// key is what its costs are found by.
func (k *keptOf) key() keptKey {
	return keptKey{setKey{k.kind, k.Window.Start.Unix(), k.Window.End.Unix()}, k.Generation}
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

// budgetCosts is what counts for each budget in each of kept sets. Those that nobody asked for yet are read some at a time.
func (l *Ledger) budgetCosts(ctx context.Context, m *allocation.Metering, kept []keptOf) (costs [][]float64, err error) {
	costs = l.knownCosts(m, kept)
	var batch []int
	for i := range kept {
		if costs[i] == nil {
			batch = append(batch, i)
		}
		last := i+1 == len(kept) || kept[i+1].kind != kept[i].kind
		if len(batch) < batchHours && !last || len(batch) == 0 {
			continue
		}
		sets := make([]Kept, len(batch))
		for j, at := range batch {
			sets[j] = *kept[at].Kept
		}
		read, err := l.readBudgets(ctx, m, sets)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		for j, at := range batch {
			if costs[at] = read[j]; l.budgets.metering == m {
				l.budgets.known[kept[at].key()] = read[j]
			}
		}
		l.mu.Unlock()
		batch = batch[:0]
	}
	return costs, nil
}

// knownCosts are the costs of those of kept sets whose costs are known.
func (l *Ledger) knownCosts(m *allocation.Metering, kept []keptOf) [][]float64 {
	costs := make([][]float64, len(kept))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.budgets.metering != m || len(l.budgets.known) >= maxBudgetCosts {
		l.budgets = budgetCache{metering: m, known: map[keptKey][]float64{}}
	}
	for i := range kept {
		costs[i] = l.budgets.known[kept[i].key()]
	}
	return costs
}

// readBudgets reads what counts for each budget in each of kept sets.
func (l *Ledger) readBudgets(ctx context.Context, m *allocation.Metering, kept []Kept) ([][]float64, error) {
	release, err := l.acquireRead(ctx, time.Duration(len(kept))*time.Hour)
	if err != nil {
		return nil, err
	}
	defer release()
	sets, free, err := l.read(ctx, kept, m.BudgetProjection())
	defer free()
	if err != nil {
		return nil, l.seen(err)
	}
	costs := make([][]float64, len(kept))
	for i := range m.Budgets() {
		of, err := m.Budgets()[i].Costs(sets)
		if err != nil {
			return nil, err
		}
		for j, cost := range of {
			costs[j] = append(costs[j], cost)
		}
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
