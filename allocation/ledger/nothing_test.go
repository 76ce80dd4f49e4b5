package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

// TestNothingOfAPartialAnswer holds that an hour without anything is not taken for empty where the source's answer was partial, though
// others that were computed with it have something.
func TestNothingOfAPartialAnswer(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	r.Model.Without = func(w allocation.Window) bool { return w.Start.Before(ledgertest.ParseTime(t, "2026-03-02T02:00")) }
	r.Model.Incomplete = func(w allocation.Window) bool { return w.Start.Equal(ledgertest.ParseTime(t, "2026-03-02T01:00")) }
	if _, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: ledgertest.Between(t, "2026-03-02T00:00", "2026-03-03T00:00"), Stored: true}); err != nil {
		t.Fatal(err)
	}
	for hour, nothing := range map[string]bool{"2026-03-02T00:00": true, "2026-03-02T01:00": false} {
		start := ledgertest.ParseTime(t, hour)
		_, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Hour)}, Stored: true})
		if allocation.HasNothing(err) != nothing || !errors.Is(err, allocation.ErrNoData) {
			t.Errorf("%s: %v", hour, err)
		}
	}
	if kept, err := r.History.List(t.Context(), ledger.Hours, allocation.Window{}); err != nil || len(kept) != 22 {
		t.Errorf("%d hours are kept, %v", len(kept), err)
	}
}

// TestNothingOrUnknown checks that the answer is "nothing" only if the source answered completely for the whole time. Unknown
// time is never stored as empty.
func TestNothingOrUnknown(t *testing.T) {
	w := ledgertest.Between(t, "2026-03-02T00:00", "2026-03-04T00:00")
	for _, tc := range []struct {
		name    string
		prepare func(m *ledgertest.Model)
		options ledgertest.Options
		nothing bool
	}{
		{"nothing", func(*ledgertest.Model) {}, ledgertest.Options{}, true},
		{"the source fails", func(m *ledgertest.Model) { m.Err = ledgertest.ErrRefused }, ledgertest.Options{}, false},
		{"the source still loads", func(*ledgertest.Model) {}, ledgertest.Options{Ledger: ledger.Options{Loaded: func() bool { return false }}}, false},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				r := ledgertest.NewRig(t, "2026-03-05T12:30", tc.options)
				r.Model.From = ledgertest.ParseTime(t, "2026-03-04T00:00")
				tc.prepare(r.Model)
				q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true, Stream: stream}
				_, err := ledgertest.Collect(t.Context(), r.Ledger, q)
				if allocation.HasNothing(err) != tc.nothing || !tc.nothing && !errors.Is(err, allocation.ErrUpstream) {
					t.Errorf("%v", err)
				}
				if kept, err := r.History.List(t.Context(), ledger.Hours, allocation.Window{}); err != nil || len(kept) > 0 {
					t.Errorf("%d hours are kept, %v", len(kept), err)
				}
			})
		}
	}
}
