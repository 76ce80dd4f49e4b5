package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

// What a source has nothing of is known once it has loaded all of its history; until then it is missing, and what there is may
// not be all.
func TestHoursOfASourceThatLoads(t *testing.T) {
	settled := false
	r := ledgertest.NewRig(t, "2026-03-03T05:30", ledgertest.Options{Ledger: ledger.Options{Settled: func() bool { return settled }}})
	r.Model.From = ledgertest.At(t, "2026-03-03T03:00")
	for _, settled = range []bool{false, true} {
		had, lacking := 0, 0
		for set, err := range r.Hours(t.Context(), allocation.Window{Start: ledgertest.At(t, "2026-03-03T00:00"), End: ledgertest.At(t, "2026-03-03T05:00")}, nil) {
			switch {
			case err == nil && set.Incomplete != settled:
				had++
			case errors.Is(err, allocation.ErrNoData) == settled && strings.Contains(err.Error(), "not loaded all of its history yet") != settled:
				lacking++
			default:
				t.Errorf("settled %v: %v, incomplete %v", settled, err, set.Incomplete)
			}
		}
		if had != 2 || lacking != 3 {
			t.Errorf("settled %v: %d hours and %d that cannot be had, want 2 and 3", settled, had, lacking)
		}
	}
}
