package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/reconcile"
)

// wide is a ledger with the same containers on one node at all times. seen is called between its sets.
type wide struct {
	rows int
	seen func(of *allocation.Set)
}

func (l *wide) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range windows {
			s := l.set(w)
			if !yield(s, nil) {
				return
			}
			l.seen(s)
		}
	}
}

func (l *wide) set(w allocation.Window) *allocation.Set {
	s := allocation.NewSet(w, allocation.NewDict())
	n := allocation.Node{Cluster: "east", Name: "node", ProviderID: "aws:///a/i-1", Start: w.Start, End: w.End}
	for i := range l.rows {
		r := allocation.Row{Start: w.Start, End: w.End}
		r.Text[allocation.Cluster], r.Text[allocation.NodeName], r.Text[allocation.ProviderID] = n.Cluster, n.Name, n.ProviderID
		r.Text[allocation.Pod] = fmt.Sprint("pod-", i)
		r.Values[allocation.Cost.Of(allocation.CPU)] = w.Duration().Hours()
		n.Cost[allocation.CPU] += w.Duration().Hours()
		s.Append(&r)
	}
	s.Nodes = []allocation.Node{n}
	return s
}

// billed is a window of days, and what reconciles it with a bill that has a line of 4800 a day.
func (l *wide) billed(days int, kept *reconcile.Days) (allocation.Window, *reconcile.Reconciler) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	w := allocation.Window{Start: start, End: start.AddDate(0, 0, days)}
	bill, item := &biller{}, account("aws", "AWS", "payer", "222", "USD")
	item.Resource.ID = "i-1"
	for day := range days {
		bill.add(item, allocation.Window{Start: start.AddDate(0, 0, day), End: start.AddDate(0, 0, day+1)}, 4800)
	}
	now := w.End.AddDate(0, 0, 3)
	book := billing.FromLines(billing.Options{Bills: []billing.Bill{{Name: "aws", Rates: billing.Rates{Currency: "USD"}}}, Zone: time.UTC, Now: now}, bill.lines)
	return w, reconcile.New(l, books{book}, reconcile.Options{Now: func() time.Time { return now }, Days: kept})
}

// TestKeptDaysGiveWay verifies that days that are kept between questions take a part of the process' memory, and that a question
// that needs it gets it.
func TestKeptDaysGiveWay(t *testing.T) {
	budget := memory.New(1 << 20)
	w, r := (&wide{rows: 1, seen: func(*allocation.Set) {}}).billed(60, reconcile.NewDays(budget))
	for _, err := range r.Sets(t.Context(), allocation.Query{Window: w, Bills: allocation.Billed{Adjustments: true}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if kept := budget.Stats().Kept; kept == 0 || kept > budget.Limit()/16 {
		t.Errorf("%d bytes are kept of %d", kept, budget.Limit())
	}
	question := budget.Open("ask for less")
	defer question.Close()
	if err := question.Draw(budget.Most()); err != nil {
		t.Error(err)
	}
	if kept := budget.Stats().Kept; kept != 0 {
		t.Errorf("%d bytes are kept beside a question that takes all", kept)
	}
}

// TestLongWindowsInLittleMemory asks for many billed days in one set: few of them are in memory at a time, they are drawn from
// the question's account, and what does not fit is refused.
func TestLongWindowsInLittleMemory(t *testing.T) {
	const days = 60
	l := &wide{rows: 100}
	w, r := l.billed(days, nil)
	one := allocation.SetsBytes([]*allocation.Set{l.set(w)})
	for _, tt := range []struct {
		name   string
		query  allocation.Query
		limit  int64
		fails  bool
		most   int64 // sets at a time
		retain int64 // sets at the end
	}{
		{"one set", allocation.Query{Window: w}, 40 * one, false, 9, 1},
		{"sets of a stream", allocation.Query{Window: w, Step: 10 * 24 * time.Hour, Stream: true}, 40 * one, false, 9, 0},
		{"sets of a caller that holds them", allocation.Query{Window: w, Step: 10 * 24 * time.Hour}, 40 * one, false, 15, 6},
		{"too much", allocation.Query{Window: w}, 5 * one, true, 5, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			account := memory.New(tt.limit).Open("ask for less")
			defer account.Close()
			most := int64(0)
			l.seen = func(*allocation.Set) { most = max(most, account.Held()) }
			tt.query.Bills = allocation.Billed{Adjustments: true}
			var err error
			cost := 0.0
			for set, failed := range r.Sets(memory.With(t.Context(), account), tt.query) {
				if err = failed; err == nil {
					for row := range set.Len() {
						cost += set.TotalCost(row)
					}
				}
			}
			if errors.Is(err, allocation.ErrTooMuch) != tt.fails || !tt.fails && (err != nil || !near(cost, 4800*days, 0)) {
				t.Fatalf("cost %v: %v", cost, err)
			}
			const slack = 1.2 // dictionaries and assets
			if held := account.Held(); float64(most) > slack*float64(tt.most*one) || float64(held) > slack*float64(tt.retain*one) {
				t.Errorf("at most %.1f sets, at the end %.1f: want %d and %d", float64(most)/float64(one), float64(held)/float64(one), tt.most, tt.retain)
			}
		})
	}
}
