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
	loaded := false
	r := ledgertest.NewRig(t, "2026-03-03T05:30", ledgertest.Options{Ledger: ledger.Options{Loaded: func() bool { return loaded }}})
	r.Model.From = ledgertest.ParseTime(t, "2026-03-03T03:00")
	for _, loaded = range []bool{false, true} {
		had, lacking := 0, 0
		for set, err := range r.Hours(t.Context(), allocation.Window{Start: ledgertest.ParseTime(t, "2026-03-03T00:00"), End: ledgertest.ParseTime(t, "2026-03-03T05:00")}, nil) {
			switch {
			case err == nil && set.Incomplete != loaded:
				had++
			case errors.Is(err, allocation.ErrNoData) == loaded && strings.Contains(err.Error(), "not loaded all of its history yet") != loaded:
				lacking++
			default:
				t.Errorf("loaded %v: %v, incomplete %v", loaded, err, set.Incomplete)
			}
		}
		if had != 2 || lacking != 3 {
			t.Errorf("loaded %v: %d hours and %d that failed, want 2 and 3", loaded, had, lacking)
		}
	}
}
