package recorder_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

var errDamaged = errors.New("its checksum differs")

// refresh has the loop compute its hour again, and waits until it has nothing more to do.
func refresh(r *ledgertest.Rig) {
	r.Model.Asked()
	r.Recorder.Refresh()
	for len(r.Model.Asked()) == 0 {
		time.Sleep(time.Millisecond)
	}
	r.Pass(0)
}

// TestRefreshChangesNoCounter has the last hour computed again by other prices after it was counted: counters stay as they
// were, also after a restart, and go on by the new prices.
func TestRefreshChangesNoCounter(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-01T06:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	before := ledgertest.CountersText(r.Accrued())
	r.Model.Lock()
	r.Model.Rate = func(c, hour int) float64 { return ledgertest.DefaultRate(c, hour) / 2 }
	r.Model.Unlock()
	refresh(r)
	last := ledgertest.Between(t, "2026-03-01T05:00", "2026-03-01T06:00")
	ledgertest.Same(t, "the hour by its new prices", ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: last, Stored: true})...), ledgertest.Sums(t, r.Exactly(last)))
	for range 2 {
		if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
			t.Errorf("counters changed (-before +after):\n%s", diff)
		}
		r.StopAndRestart(t)
		r.Start(t)
	}
}

// TestDamagedCountedHours damages counted hours: another process repairs them, and the counting process goes on from its own
// counts.
func TestDamagedCountedHours(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-01T06:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	before := r.Accrued()
	r.Model.Lock()
	r.Model.Rate = func(c, hour int) float64 { return ledgertest.DefaultRate(c, hour) * 2 }
	r.Model.Unlock()
	refresh(r) // the last hour is kept as it was counted, too
	if diff := cmp.Diff([]string{"01T05:00"}, r.Kept(t, ledger.Counted)); diff != "" {
		t.Fatalf("counted (-want +got):\n%s", diff)
	}
	if r.Damage(t, "allocations_counted") == 0 {
		t.Fatal("nothing to damage")
	}
	last := ledgertest.Between(t, "2026-03-01T05:00", "2026-03-01T06:00")
	other := r.Open(r.Model, r.History)
	other.Archive().Distrust(&ledger.DamagedError{Kind: ledger.Counted, Window: last, Err: errDamaged})
	if err := other.Fill(t.Context(), ledgertest.Between(t, "2026-03-01T00:00", "2026-03-01T06:00"), 1, nil); err != nil {
		t.Fatal(err)
	}
	kept, err := r.History.List(t.Context(), ledger.Counted, last)
	if err != nil || len(kept) != 1 || kept[0].Generation != 2 {
		t.Fatalf("counted hours %+v, %v", kept, err)
	}
	if _, err := r.History.Read(t.Context(), kept, nil); err != nil {
		t.Error(err)
	}
	r.Pass(time.Minute)
	if diff := cmp.Diff(ledgertest.CountersText(before), ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("counters changed (-before +after):\n%s", diff)
	}
	r.Pass(time.Hour)
	if now := ledgertest.CountersText(r.Accrued()); !strings.HasPrefix(now, "01T00:00 01T07:00\n") {
		t.Errorf("counters %s", now)
	}
}

// TestLoopMendsCountedHours lets the loop find the damage itself when it counts after a restart.
func TestLoopMendsCountedHours(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-01T06:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	refresh(r)
	before := ledgertest.CountersText(r.Accrued())
	if r.Damage(t, "allocations_counted") == 0 {
		t.Fatal("nothing to damage")
	}
	for range 2 {
		r.StopAndRestart(t)
		r.Start(t)
		if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
			t.Errorf("counters changed (-before +after):\n%s", diff)
		}
	}
	kept, err := r.History.List(t.Context(), ledger.Counted, allocation.Window{})
	if err != nil || len(kept) != 1 || kept[0].Generation != 2 {
		t.Errorf("counted hours %+v, %v", kept, err)
	}
}
