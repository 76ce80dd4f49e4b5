package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

func TestAnswersAreReadOnce(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-05T00:00")
	if err := r.Fill(t.Context(), w, 1, nil); err != nil {
		t.Fatal(err)
	}
	reads := 0
	var broken error
	r.History.Fail = func(what string) error {
		if what == "read" {
			reads++
		}
		return broken
	}
	q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}
	want := ledgertest.Sums(t, r.Exactly(w))
	for range 3 {
		ledgertest.Same(t, "days", ledgertest.Sums(t, r.Ask(t, q)...), want)
	}
	if reads != 1 {
		t.Errorf("read %d times, want once", reads)
	}
	r.Ask(t, allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true, Only: &allocation.Projection{Columns: []allocation.Column{allocation.PVCost}}})
	if reads != 2 {
		t.Errorf("other columns are not read")
	}
	day := r.Exactly(ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00"))
	if err := r.History.Write(t.Context(), day, ledger.Keep{Kind: ledger.Days, Replace: true, Complete: true}); err != nil {
		t.Fatal(err)
	}
	ledgertest.Same(t, "replaced", ledgertest.Sums(t, r.Ask(t, q)...), want)
	if reads != 3 {
		t.Errorf("what was replaced is not read")
	}
	broken = errors.New("bucket gone")
	r.Model.Err = allocation.ErrUpstream
	sets := r.Ask(t, q)
	ledgertest.Same(t, "bucket and source gone", ledgertest.Sums(t, sets...), want)
	if !strings.Contains(strings.Join(sets[0].Warnings, ""), "bucket gone") {
		t.Errorf("warnings %v", sets[0].Warnings)
	}
	if _, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: w, Stored: true}); !errors.Is(err, allocation.ErrUpstream) {
		t.Errorf("what was never asked for: %v", err)
	}
}
