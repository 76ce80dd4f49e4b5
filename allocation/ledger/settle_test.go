package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

var errDamaged = errors.New("its checksum differs")

// refresh has the loop compute its hour again, and waits until it has nothing more to do.
func (r *rig) refresh() {
	r.model.asked()
	r.Refresh()
	for len(r.model.asked()) == 0 {
		time.Sleep(time.Millisecond)
	}
	r.pass(0)
}

// TestRefreshChangesNoCounter has the last hour computed again by other prices after it was counted: counters stay as they
// were, also after a restart, and go on by the new prices.
func TestRefreshChangesNoCounter(t *testing.T) {
	r := live(t, "2026-03-01T06:30", ledger.Options{Backfill: -1}, func(*rig) {})
	before := counted(r.Accrued())
	r.model.mu.Lock()
	r.model.rate = func(c, hour int) float64 { return defaultRate(c, hour) / 2 }
	r.model.mu.Unlock()
	r.refresh()
	last := between(t, "2026-03-01T05:00", "2026-03-01T06:00")
	same(t, "the hour by its new prices", sums(t, r.ask(t, allocation.Query{Window: last, Stored: true})...), sums(t, r.exactly(last)))
	for range 2 {
		if diff := cmp.Diff(before, counted(r.Accrued())); diff != "" {
			t.Errorf("counters changed (-before +after):\n%s", diff)
		}
		r.again(t)
		r.run(t)
	}
}

// TestDamagedCountedHours damages what is kept of how hours were counted: another process mends it, and the one that counts
// goes on from what it has.
func TestDamagedCountedHours(t *testing.T) {
	r := live(t, "2026-03-01T06:30", ledger.Options{Backfill: -1}, func(*rig) {})
	before := r.Accrued()
	r.model.mu.Lock()
	r.model.rate = func(c, hour int) float64 { return defaultRate(c, hour) * 2 }
	r.model.mu.Unlock()
	r.refresh() // the last hour is kept as it was counted, too
	if diff := cmp.Diff([]string{"01T05:00"}, r.kept(t, ledger.Counted)); diff != "" {
		t.Fatalf("counted (-want +got):\n%s", diff)
	}
	if r.damage(t, "allocations_counted") == 0 {
		t.Fatal("nothing to damage")
	}
	last := between(t, "2026-03-01T05:00", "2026-03-01T06:00")
	other := ledger.NewKeeping(r.model, r.keeper, log.NewNopLogger(), r.opts)
	other.Distrust(&ledger.DamagedError{Kind: ledger.Counted, Window: last, Err: errDamaged})
	if err := other.Fill(t.Context(), between(t, "2026-03-01T00:00", "2026-03-01T06:00"), 1, nil); err != nil {
		t.Fatal(err)
	}
	kept, err := r.keeper.List(t.Context(), ledger.Counted, last)
	if err != nil || len(kept) != 1 || kept[0].Generation != 2 {
		t.Fatalf("counted hours %+v, %v", kept, err)
	}
	if _, err := r.keeper.Read(t.Context(), kept, nil); err != nil {
		t.Error(err)
	}
	r.pass(time.Minute)
	if diff := cmp.Diff(counted(before), counted(r.Accrued())); diff != "" {
		t.Errorf("counters changed (-before +after):\n%s", diff)
	}
	r.pass(time.Hour)
	if now := counted(r.Accrued()); !strings.HasPrefix(now, "01T00:00 01T07:00\n") {
		t.Errorf("counters %s", now)
	}
}

// TestLoopMendsCountedHours has the loop come upon the damage itself, when it counts after a restart.
func TestLoopMendsCountedHours(t *testing.T) {
	r := live(t, "2026-03-01T06:30", ledger.Options{Backfill: -1}, func(*rig) {})
	r.refresh()
	before := counted(r.Accrued())
	if r.damage(t, "allocations_counted") == 0 {
		t.Fatal("nothing to damage")
	}
	for range 2 {
		r.again(t)
		r.run(t)
		if diff := cmp.Diff(before, counted(r.Accrued())); diff != "" {
			t.Errorf("counters changed (-before +after):\n%s", diff)
		}
	}
	kept, err := r.keeper.List(t.Context(), ledger.Counted, allocation.Window{})
	if err != nil || len(kept) != 1 || kept[0].Generation != 2 {
		t.Errorf("counted hours %+v, %v", kept, err)
	}
}
