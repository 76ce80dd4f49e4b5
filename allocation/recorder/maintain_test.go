package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

func TestLoopKeepsTheHistory(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-03T02:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) { r.Model.From = ledgertest.ParseTime(t, "2026-03-01T22:00") })
	if set, _, err := r.Latest(); err != nil || !set.Window.End.Equal(ledgertest.ParseTime(t, "2026-03-03T02:00")) {
		t.Fatalf("latest %v, %v", set, err)
	}
	asked := r.Model.Queries
	if len(asked) == 0 || !asked[0].Window.Start.Equal(ledgertest.ParseTime(t, "2026-03-03T01:00")) || asked[0].Window.Duration() != time.Hour {
		t.Errorf("the latest hour is not the first: %v", asked)
	}
	if diff := cmp.Diff([]string{"01T00:00 02T00:00 1h0m0s", "02T00:00 03T00:00 1h0m0s", "03T00:00 03T01:00 1h0m0s", "03T01:00 03T02:00 1h0m0s"}, r.Model.Asked()); diff != "" {
		t.Errorf("computed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"01T00:00 24h0m0s incomplete", "02T00:00 24h0m0s"}, r.Kept(t, ledger.Days)); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if n := len(r.Kept(t, ledger.Hours)); n != 28 {
		t.Errorf("%d hours, want 28", n)
	}
	if diff := cmp.Diff([]string{"01T00:00 22h0m0s"}, r.Kept(t, ledger.Counted)); diff != "" {
		t.Errorf("counted without data (-want +got):\n%s", diff)
	}
	if s := r.Store(); s.Hours != 28 || s.Days != 2 || s.Bytes == 0 || s.Lag != 0 || s.Missing != 0 || s.Err != nil || r.Behind() != nil {
		t.Errorf("store %+v, %v", s, r.Behind())
	}
	r.Pass(45 * time.Minute) // 03:15
	if asked := r.Model.Asked(); !strings.Contains(fmt.Sprint(asked), "03T02:00 03T03:00") {
		t.Errorf("computed in the next hour: %v", asked)
	}
	before := ledgertest.CountersText(r.Accrued())
	if !strings.HasPrefix(before, "01T00:00 03T03:00\n") {
		t.Errorf("counters %s", before)
	}
	again, err := r.AccruedAt(t.Context(), ledgertest.ParseTime(t, "2026-03-03T03:12"))
	if err != nil || ledgertest.CountersText(again) != before {
		t.Errorf("counters at an instant: %v, %s", err, cmp.Diff(before, ledgertest.CountersText(again)))
	}
}

func TestCountersSurviveRestarts(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-02T02:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	before := ledgertest.CountersText(r.Accrued())
	if !strings.HasPrefix(before, "01T00:00 02T02:00\n") {
		t.Fatalf("counters %s", before)
	}
	r.Model.Asked()
	r.StopAndRestart(t)
	if r.Accrued() != nil {
		t.Error("counters before they were counted")
	}
	r.Start(t)
	if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	if asked := r.Model.Asked(); len(asked) > 0 {
		t.Errorf("a restart computes again: %v", asked)
	}
	if set, _, _ := r.Latest(); set == nil || !set.Window.End.Equal(ledgertest.ParseTime(t, "2026-03-02T02:00")) {
		t.Errorf("latest after a restart: %v", set)
	}
}

// TestDamageDoesNotHoldUpCounting damages the hours while nothing runs: the loop computes them again at once, and counts on.
func TestDamageDoesNotHoldUpCounting(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-01T06:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	before := ledgertest.CountersText(r.Accrued())
	r.StopAndRestart(t)
	if r.Damage(t, "allocations_hourly") == 0 {
		t.Fatal("nothing to damage")
	}
	r.Start(t)
	if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("counters without any time to try again (-want +got):\n%s", diff)
	}
}

// TestVanishedInputs checks that an hour that lacks an input which the hours before and after it have is incomplete, says so, and is computed
// again until it has it, or as often as any incomplete hour.
func TestVanishedInputs(t *testing.T) {
	const from, metric = "2026-03-02T01:00", "node_cpu_hourly_cost"
	for _, comesBack := range []bool{true, false} {
		var vanished atomic.Bool
		vanished.Store(true)
		prepare := func(r *ledgertest.Rig) {
			r.Model.Priced = func(w allocation.Window) string {
				if vanished.Load() && w.Start.Equal(ledgertest.ParseTime(t, from)) {
					return "built-in defaults"
				}
				return metric
			}
		}
		r := ledgertest.Live(t, "2026-03-02T02:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, prepare)
		if hours := r.Kept(t, ledger.Hours); hours[25] != "02T01:00" {
			t.Fatalf("before the hour after it is there: %v", hours)
		}
		r.Pass(45 * time.Minute) // 03:15
		if hours := r.Kept(t, ledger.Hours); hours[25] != "02T01:00 incomplete" {
			t.Fatalf("once the hour after it is there: %v", hours)
		}
		kept, err := r.History.List(t.Context(), ledger.Hours, ledgertest.Between(t, from, "2026-03-02T02:00"))
		if err != nil {
			t.Fatal(err)
		}
		sets, err := r.History.Read(t.Context(), kept, nil)
		if err != nil || len(sets) != 1 || !strings.Contains(strings.Join(sets[0].Warnings, " "), metric+" of cluster c1") {
			t.Fatalf("the hour does not say what it lacks: %v", err)
		}
		r.Pass(30 * time.Minute)
		if hours := r.Kept(t, ledger.Hours); hours[25] != "02T01:00 incomplete" {
			t.Errorf("computed again without it: %v", hours)
		}
		vanished.Store(!comesBack)
		pass := 2 * time.Hour
		if !comesBack {
			pass = 40 * time.Hour // after the last try
		}
		r.Pass(pass)
		if hours := r.Kept(t, ledger.Hours); hours[25] != "02T01:00" {
			t.Errorf("comes back %t: %v", comesBack, hours[25])
		}
	}
}

func TestIncompleteHoursAreComputedAgain(t *testing.T) {
	var lacking sync.Map
	lacking.Store(ledgertest.ParseTime(t, "2026-03-02T01:00").Unix(), 0.5)
	prepare := func(r *ledgertest.Rig) {
		r.Model.Incomplete = func(w allocation.Window) bool { _, ok := lacking.Load(w.Start.Unix()); return ok }
		r.Model.Rate = func(c, hour int) float64 {
			if part, ok := lacking.Load(int64(hour) * 3600); ok {
				return ledgertest.DefaultRate(c, hour) * part.(float64)
			}
			return ledgertest.DefaultRate(c, hour)
		}
	}
	r := ledgertest.Live(t, "2026-03-02T02:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, prepare)
	if hours := r.Kept(t, ledger.Hours); hours[25] != "02T01:00 incomplete" {
		t.Fatalf("hours %v", hours)
	}
	before := ledgertest.CountersText(r.Accrued())
	r.Pass(15 * time.Minute)
	if hours := r.Kept(t, ledger.Hours); hours[25] != "02T01:00 incomplete" {
		t.Errorf("while it is incomplete: %v", hours[25])
	}
	lacking.Clear()
	r.Pass(90 * time.Minute) // 04:15
	if hours := r.Kept(t, ledger.Hours); hours[25] != "02T01:00" || len(hours) != 28 {
		t.Errorf("once it is complete: %v", hours)
	}
	w := ledgertest.Between(t, "2026-03-02T01:00", "2026-03-02T02:00")
	ledgertest.Same(t, "mended", ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: w, Stored: true})...), ledgertest.Sums(t, r.Exactly(w)))
	then, err := r.AccruedAt(t.Context(), ledgertest.ParseTime(t, "2026-03-02T02:30"))
	if err != nil || ledgertest.CountersText(then) != before {
		t.Errorf("a correction changes counters: %v %s", err, cmp.Diff(before, ledgertest.CountersText(then)))
	}
	now := ledgertest.CountersText(r.Accrued())
	if !strings.HasPrefix(now, "01T00:00 02T04:00\n") {
		t.Errorf("counters %s", now)
	}
	r.StopAndRestart(t)
	r.Start(t)
	if diff := cmp.Diff(now, ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
}

func TestLateDataStayOutOfCounters(t *testing.T) {
	var hidden sync.Map
	for i := 5; i < 9; i++ {
		hidden.Store(ledgertest.ParseTime(t, "2026-03-01T00:00").Add(time.Duration(i)*time.Hour).Unix(), true)
	}
	prepare := func(r *ledgertest.Rig) {
		r.Model.Without = func(w allocation.Window) bool { _, ok := hidden.Load(w.Start.Unix()); return ok }
	}
	r := ledgertest.Live(t, "2026-03-01T12:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, prepare)
	before := ledgertest.CountersText(r.Accrued())
	if diff := cmp.Diff([]string{"01T05:00 4h0m0s"}, r.Kept(t, ledger.Counted)); diff != "" || !strings.HasPrefix(before, "01T00:00 01T12:00\n") {
		t.Fatalf("counters %s\n%s", before, diff)
	}
	hidden.Clear()
	if err := r.Fill(t.Context(), ledgertest.Between(t, "2026-03-01T00:00", "2026-03-02T00:00"), 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Pass(15 * time.Minute) // until the source is asked again
	if n := len(r.Kept(t, ledger.Hours)); n != 12 {
		t.Errorf("%d hours, want 12", n)
	}
	if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("counters changed (-before +after):\n%s", diff)
	}
	r.StopAndRestart(t)
	r.Start(t)
	if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("counters changed by a restart (-before +after):\n%s", diff)
	}
}

func TestCountersBeginAnewEachMonth(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-31T22:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) { r.Model.From = ledgertest.ParseTime(t, "2026-03-31T20:00") })
	for _, want := range []string{"01T00:00 31T22:00", "01T00:00 31T23:00", "01T00:00 01T00:00", "01T00:00 01T01:00", "01T00:00 01T02:00"} {
		if got, _, _ := strings.Cut(ledgertest.CountersText(r.Accrued()), "\n"); got != want {
			t.Errorf("counters of %s, want %s", got, want)
		}
		r.Pass(time.Hour)
	}
}

func TestLoopRetries(t *testing.T) {
	broken := errors.New("the disk is full")
	for _, what := range []string{"source", "list", "write"} {
		t.Run(what, func(t *testing.T) {
			prepare := func(r *ledgertest.Rig) {
				if what == "source" {
					r.Model.Err = allocation.ErrUpstream
				}
				r.History.Fail = func(of string) error {
					if of == what {
						return broken
					}
					return nil
				}
			}
			r := ledgertest.Live(t, "2026-03-01T12:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, prepare)
			r.Pass(2 * time.Hour)
			if n := len(r.Model.Asked()); n == 0 || n > 60 {
				t.Errorf("%d computations within two hours", n)
			}
			set, _, err := r.Latest()
			if (set == nil) != (what == "source") || (err == nil) != (what != "source") {
				t.Errorf("latest %v, %v", set, err)
			}
			if r.Behind() == nil && what != "source" || what == "source" && r.Ready() == nil {
				t.Error("it says that all is well")
			}
			r.Model.Lock()
			r.Model.Err = nil
			r.Model.Unlock()
			r.History.Mend()
			r.Pass(15 * time.Minute)
			if n := len(r.Kept(t, ledger.Hours)); n != 14 || r.Behind() != nil {
				t.Errorf("%d hours, want 14: %v", n, r.Behind())
			}
		})
	}
}

func TestClockSetBack(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-02T02:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	before, last := ledgertest.CountersText(r.Accrued()), r.Kept(t, ledger.Hours)
	r.Model.Asked()
	r.ShiftClock(-28 * 24 * time.Hour) // early in the month before, of which little is to be computed
	r.Pass(time.Hour)
	if set, _, _ := r.Latest(); !set.Window.End.Equal(ledgertest.ParseTime(t, "2026-03-02T02:00")) {
		t.Errorf("latest fell back to %v", set.Window)
	}
	if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("counters:\n%s", diff)
	}
	r.ShiftClock(0)
	r.Pass(30 * time.Minute)
	hours := r.Kept(t, ledger.Hours)
	if set, _, _ := r.Latest(); !set.Window.End.Equal(ledgertest.ParseTime(t, "2026-03-02T03:00")) || hours[len(hours)-1] != "02T03:00" && hours[len(hours)-1] != "02T02:00" || len(last) == 0 {
		t.Errorf("latest %v, last hour %v", set.Window, hours[len(hours)-1])
	}
}

// A clock that stands still, as a demo's that has ended, keeps no history from being filled once the source has all of its own.
func TestHistoryIsFilledThoughTheClockStandsStill(t *testing.T) {
	loaded, sleeps := false, 0
	r := ledgertest.NewRig(t, "2026-03-03T05:30", ledgertest.Options{Ledger: ledger.Options{Loaded: func() bool { return loaded }}, Recorder: recorder.Options{Backfill: 4 * time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	r.Opts.Recorder.Sleep = func(context.Context, time.Duration) bool {
		if sleeps++; sleeps > 3 {
			cancel()
		}
		loaded = true
		return true
	}
	r.Restart(t)
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
	kept, err := r.History.List(t.Context(), ledger.Hours, allocation.Window{Start: ledgertest.ParseTime(t, "2026-03-03T00:00"), End: ledgertest.ParseTime(t, "2026-03-03T06:00")})
	if err != nil || len(kept) < 4 {
		t.Errorf("%d hours are kept, %v", len(kept), err)
	}
}
