package reconcile_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/reconcile"
)

// hoursOf yields the whole hours within a window.
func hoursOf(set func(allocation.Window) (*allocation.Set, error)) reconcile.Hours {
	return func(_ context.Context, w allocation.Window, _ *allocation.Projection) iter.Seq2[*allocation.Set, error] {
		return func(yield func(*allocation.Set, error) bool) {
			for from := w.Start; !from.Add(time.Hour).After(w.End); from = from.Add(time.Hour) {
				if !yield(set(allocation.Window{Start: from, End: from.Add(time.Hour)})) {
					return
				}
			}
		}
	}
}

// TestBilledHours verifies that hours cost what the reconciled sets of hours do, up to the bills' reach, and that an empty hour follows.
func TestBilledHours(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(t, seed)
		want := w.sets(t, allocation.Query{Window: w.window, Step: time.Hour, Bills: allocation.Billed{Adjustments: true}})
		var got []*allocation.Set
		beyond := allocation.Window{Start: w.window.Start, End: w.window.End.Add(5 * time.Hour)}
		for set, err := range w.r.BilledHours(t.Context(), hoursOf(w.set), beyond, nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, set)
		}
		if len(got) != len(want)+1 {
			t.Fatalf("seed %d: %d hours, want %d and an empty one", seed, len(got), len(want))
		}
		for i, set := range want {
			compareAmounts(t, set.Window.Start.String(), amounts(set), amounts(got[i]))
			if !got[i].BilledUntil.Equal(w.window.End) {
				t.Errorf("seed %d: billed until %s, want %s", seed, got[i].BilledUntil, w.window.End)
			}
		}
		last := got[len(want)]
		if last.Len() > 0 || len(last.Nodes) > 0 || !last.Window.Start.Equal(w.window.End) || !last.BilledUntil.Equal(w.window.End) {
			t.Errorf("seed %d: the last hour %s is not the empty one after the reach", seed, last.Window)
		}
		for set, err := range w.r.BilledHours(t.Context(), hoursOf(w.set), allocation.Window{Start: w.window.End.Add(2 * time.Hour), End: beyond.End}, nil) {
			t.Errorf("seed %d: beyond the reach there are %v %v", seed, set, err)
		}
	}
}

// revised are books whose lines change.
type revised struct {
	lines []billing.Line
	err   error
}

func (b *revised) Book(context.Context) (*billing.Book, error) {
	day := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	return billing.FromLines(billing.Options{Bills: []billing.Bill{{Name: "aws", Rates: billing.Rates{Currency: "USD"}}}, Zone: time.UTC, Now: day}, b.lines), b.err
}

// TestBilledHoursAreRevised verifies that hours follow the bills, and that without bills there is an error rather than list prices.
func TestBilledHoursAreRevised(t *testing.T) {
	start := time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC)
	w := allocation.Window{Start: start, End: start.Add(time.Hour)}
	l := &ledger{start: start}
	for i := range 48 {
		s := allocation.NewSet(allocation.Window{Start: start.Add(time.Duration(i) * slot), End: start.Add(time.Duration(i+1) * slot)}, allocation.NewDict())
		n := allocation.Node{Cluster: "c", Name: "n", ProviderID: "i-0123", Start: s.Window.Start, End: s.Window.End}
		n.Hours[allocation.CPU], n.Cost[allocation.CPU], n.Idle[allocation.CPU] = 0.5, 1, 1
		s.Nodes = append(s.Nodes, n)
		l.slots = append(l.slots, s)
	}
	b := &revised{}
	r := reconcile.New(l, b, reconcile.Options{Now: func() time.Time { return start.AddDate(0, 0, 3) }})
	for _, tc := range []struct {
		name   string
		billed []float64 // lines of the day
		err    error
		want   float64 // of the first hour; negative for none
	}{
		{"no lines", nil, nil, -1},
		{"half", []float64{24}, nil, 1},
		{"restated", []float64{24, 12}, nil, 1.5},
		{"unreadable", []float64{24}, errors.New("broken"), -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b.lines, b.err = nil, tc.err
			for _, cost := range tc.billed {
				item := &billing.Item{Bill: "aws", Account: billing.Account{Provider: "AWS", ID: "payer", PeriodStart: start, PeriodEnd: start.AddDate(0, 1, 0), Currency: "USD"}, Resource: billing.Resource{ID: "i-0123"}}
				b.lines = append(b.lines, billing.Line{Item: item, Start: start, End: start.AddDate(0, 0, 1), Costs: billing.Costs{cost}, Known: [billing.NumCosts]bool{true}})
			}
			got := -1.0
			for set, err := range r.BilledHours(t.Context(), hoursOf(l.set), w, nil) {
				if tc.err != nil {
					if set != nil || !errors.Is(err, allocation.ErrUpstream) || !strings.Contains(err.Error(), "read bills: broken") {
						t.Errorf("got %v, %v", set, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got = set.Nodes[0].TotalCost() + set.Nodes[0].Adjustment[allocation.CPU]
			}
			if got != tc.want {
				t.Errorf("the first hour costs %v, want %v", got, tc.want)
			}
		})
	}
}
