package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// What a source has nothing of is known once it has loaded all of its history; until then it is missing, and what there is may
// not be all.
func TestHoursOfASourceThatLoads(t *testing.T) {
	settled := false
	r := newRig(t, "2026-03-03T05:30", ledger.Options{Settled: func() bool { return settled }})
	r.model.from = at(t, "2026-03-03T03:00")
	for _, settled = range []bool{false, true} {
		had, lacking := 0, 0
		for set, err := range r.Hours(t.Context(), allocation.Window{Start: at(t, "2026-03-03T00:00"), End: at(t, "2026-03-03T05:00")}, nil) {
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

// A clock that stands still, as a demo's that has ended, keeps no history from being filled once the source has all of its own.
func TestHistoryIsFilledThoughTheClockStandsStill(t *testing.T) {
	settled, sleeps := false, 0
	r := newRig(t, "2026-03-03T05:30", ledger.Options{Settled: func() bool { return settled }, Backfill: 4 * time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	r.opts.Sleep = func(context.Context, time.Duration) bool {
		if sleeps++; sleeps > 3 {
			cancel()
		}
		settled = true
		return true
	}
	r.restart(t)
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
	kept, err := r.keeper.List(t.Context(), ledger.Hours, allocation.Window{Start: at(t, "2026-03-03T00:00"), End: at(t, "2026-03-03T06:00")})
	if err != nil || len(kept) < 4 {
		t.Errorf("%d hours are kept, %v", len(kept), err)
	}
}
