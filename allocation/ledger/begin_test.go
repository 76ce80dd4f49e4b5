package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

// TestMonthsWithoutData asks for months of which the source and the history have days: the source is not asked for every day of
// them where it says when its data begin, and the answer is the same.
func TestMonthsWithoutData(t *testing.T) {
	first := ledgertest.ParseTime(t, "2026-03-08T05:00")
	q := allocation.Query{Window: ledgertest.Between(t, "2025-10-01T00:00", "2026-03-10T00:00"), Step: 24 * time.Hour, Stored: true}
	var answers [2][]*allocation.Set
	var computed [2]int
	for i, begin := range []time.Time{{}, first} {
		r := ledgertest.NewRig(t, "2026-03-10T08:30", ledgertest.Options{Ledger: ledger.Options{Begin: func(context.Context, allocation.Window) (time.Time, error) { return begin, nil }}})
		r.Model.From = first
		answers[i], computed[i] = r.Ask(t, q), len(r.Model.Asked())
	}
	if computed[1] > 4 || computed[0] < 150 {
		t.Errorf("the source is asked %d times, and %d times where it says when its data begin", computed[0], computed[1])
	}
	for i, want := range answers[0] {
		got := answers[1][i]
		if diff := cmp.Diff(ledgertest.Sums(t, want), ledgertest.Sums(t, got)); diff != "" || got.Incomplete != want.Incomplete || !slices.Equal(got.Warnings, want.Warnings) {
			t.Fatalf("%v: %s, warnings %q, want %q", want.Window, diff, got.Warnings, want.Warnings)
		}
	}
}
