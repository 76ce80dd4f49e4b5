package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// TestNothingOfAPartialAnswer holds that an hour without anything is not taken for empty where the source's answer was partial, though
// others that were computed with it have something.
func TestNothingOfAPartialAnswer(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	r.model.without = func(w allocation.Window) bool { return w.Start.Before(at(t, "2026-03-02T02:00")) }
	r.model.incomplete = func(w allocation.Window) bool { return w.Start.Equal(at(t, "2026-03-02T01:00")) }
	if _, err := collect(t.Context(), r.Ledger, allocation.Query{Window: between(t, "2026-03-02T00:00", "2026-03-03T00:00"), Stored: true}); err != nil {
		t.Fatal(err)
	}
	for hour, nothing := range map[string]bool{"2026-03-02T00:00": true, "2026-03-02T01:00": false} {
		start := at(t, hour)
		_, err := collect(t.Context(), r.Ledger, allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Hour)}, Stored: true})
		if allocation.HasNothing(err) != nothing || !errors.Is(err, allocation.ErrNoData) {
			t.Errorf("%s: %v", hour, err)
		}
	}
	if kept, err := r.keeper.List(t.Context(), ledger.Hours, allocation.Window{}); err != nil || len(kept) != 22 {
		t.Errorf("%d hours are kept, %v", len(kept), err)
	}
}

// TestNothingOrUnknown holds that a query of a time is nothing only where the source answered in whole for all of it. What is not
// known to be nothing is never kept.
func TestNothingOrUnknown(t *testing.T) {
	w := between(t, "2026-03-02T00:00", "2026-03-04T00:00")
	for _, tc := range []struct {
		name    string
		prepare func(m *model)
		options ledger.Options
		nothing bool
	}{
		{"nothing", func(*model) {}, ledger.Options{}, true},
		{"the source fails", func(m *model) { m.err = errRefused }, ledger.Options{}, false},
		{"the source still loads", func(*model) {}, ledger.Options{Settled: func() bool { return false }}, false},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				r := newRig(t, "2026-03-05T12:30", tc.options)
				r.model.from = at(t, "2026-03-04T00:00")
				tc.prepare(r.model)
				q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true, Stream: stream}
				_, err := collect(t.Context(), r.Ledger, q)
				if allocation.HasNothing(err) != tc.nothing || !tc.nothing && !errors.Is(err, allocation.ErrUpstream) {
					t.Errorf("%v", err)
				}
				if kept, err := r.keeper.List(t.Context(), ledger.Hours, allocation.Window{}); err != nil || len(kept) > 0 {
					t.Errorf("%d hours are kept, %v", len(kept), err)
				}
			})
		}
	}
}
