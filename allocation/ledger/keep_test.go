package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// live is a rig whose loop runs, from an instant on.
func live(t *testing.T, now string, o ledger.Options, prepare func(*rig)) *rig {
	t.Helper()
	r := newRig(t, now, o)
	prepare(r)
	r.run(t)
	return r
}

// run runs the loop until the test ends or the rig is restarted, and waits until it has nothing more to do.
func (r *rig) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	l := r.Ledger
	go func() { ended <- l.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	r.pass(0)
}

// again is a restart while the loop runs.
func (r *rig) again(t *testing.T) {
	t.Helper()
	r.stop()
	r.restart(t)
}

// counted are the counters of namespaces, to the last bit, and how far they go.
func counted(a *allocation.Accrued) string {
	if a == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintln(&b, a.Window.Start.UTC().Format("02T15:04"), a.Window.End.UTC().Format("02T15:04"))
	s := allocation.Subjects()[0]
	totals := a.Totals(&s)
	for i := range totals.Len() {
		fmt.Fprintln(&b, totals.Labels(i)[1], totals.Cost(i))
	}
	return b.String()
}

// kept are the sets that are kept.
func (r *rig) kept(t *testing.T, kind ledger.Kind) (list []string) {
	t.Helper()
	sets, err := r.keeper.List(t.Context(), kind, allocation.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		text := s.Window.Start.UTC().Format("02T15:04")
		if s.Window.Duration() != time.Hour {
			text += " " + s.Window.Duration().String()
		}
		if !s.Complete {
			text += " incomplete"
		}
		list = append(list, text)
	}
	return list
}

func TestLoopKeepsTheHistory(t *testing.T) {
	r := live(t, "2026-03-03T02:30", ledger.Options{Backfill: -1}, func(r *rig) { r.model.from = at(t, "2026-03-01T22:00") })
	if set, _, err := r.Latest(); err != nil || !set.Window.End.Equal(at(t, "2026-03-03T02:00")) {
		t.Fatalf("latest %v, %v", set, err)
	}
	asked := r.model.queries
	if len(asked) == 0 || !asked[0].Window.Start.Equal(at(t, "2026-03-03T01:00")) || asked[0].Window.Duration() != time.Hour {
		t.Errorf("the latest hour is not the first: %v", asked)
	}
	if diff := cmp.Diff([]string{"01T00:00 02T00:00 1h0m0s", "02T00:00 03T00:00 1h0m0s", "03T00:00 03T01:00 1h0m0s", "03T01:00 03T02:00 1h0m0s"}, r.model.asked()); diff != "" {
		t.Errorf("computed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"01T00:00 24h0m0s incomplete", "02T00:00 24h0m0s"}, r.kept(t, ledger.Days)); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if n := len(r.kept(t, ledger.Hours)); n != 28 {
		t.Errorf("%d hours, want 28", n)
	}
	if diff := cmp.Diff([]string{"01T00:00 22h0m0s"}, r.kept(t, ledger.Counted)); diff != "" {
		t.Errorf("counted without data (-want +got):\n%s", diff)
	}
	if s := r.Store(); s.Hours != 28 || s.Days != 2 || s.Bytes == 0 || s.Lag != 0 || s.Missing != 0 || s.Err != nil || r.Behind() != nil {
		t.Errorf("store %+v, %v", s, r.Behind())
	}
	r.pass(45 * time.Minute) // 03:15
	if asked := r.model.asked(); !strings.Contains(fmt.Sprint(asked), "03T02:00 03T03:00") {
		t.Errorf("computed in the next hour: %v", asked)
	}
	before := counted(r.Accrued())
	if !strings.HasPrefix(before, "01T00:00 03T03:00\n") {
		t.Errorf("counters %s", before)
	}
	again, err := r.AccruedAt(t.Context(), at(t, "2026-03-03T03:12"))
	if err != nil || counted(again) != before {
		t.Errorf("counters at an instant: %v, %s", err, cmp.Diff(before, counted(again)))
	}
}

func TestCountersSurviveRestarts(t *testing.T) {
	r := live(t, "2026-03-02T02:30", ledger.Options{Backfill: -1}, func(*rig) {})
	before := counted(r.Accrued())
	if !strings.HasPrefix(before, "01T00:00 02T02:00\n") {
		t.Fatalf("counters %s", before)
	}
	r.model.asked()
	r.again(t)
	if r.Accrued() != nil {
		t.Error("counters before they were counted")
	}
	r.run(t)
	if diff := cmp.Diff(before, counted(r.Accrued())); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	if asked := r.model.asked(); len(asked) > 0 {
		t.Errorf("a restart computes again: %v", asked)
	}
	if set, _, _ := r.Latest(); set == nil || !set.Window.End.Equal(at(t, "2026-03-02T02:00")) {
		t.Errorf("latest after a restart: %v", set)
	}
}

// TestDamageDoesNotHoldUpCounting damages the hours while nothing runs: the loop computes them again at once, and counts on.
func TestDamageDoesNotHoldUpCounting(t *testing.T) {
	r := live(t, "2026-03-01T06:30", ledger.Options{Backfill: -1}, func(*rig) {})
	before := counted(r.Accrued())
	r.again(t)
	if r.damage(t, "allocations_hourly") == 0 {
		t.Fatal("nothing to damage")
	}
	r.run(t)
	if diff := cmp.Diff(before, counted(r.Accrued())); diff != "" {
		t.Errorf("counters without any time to try again (-want +got):\n%s", diff)
	}
}

func TestIncompleteHoursAreComputedAgain(t *testing.T) {
	var lacking sync.Map
	lacking.Store(at(t, "2026-03-02T01:00").Unix(), 0.5)
	prepare := func(r *rig) {
		r.model.incomplete = func(w allocation.Window) bool { _, ok := lacking.Load(w.Start.Unix()); return ok }
		r.model.rate = func(c, hour int) float64 {
			if part, ok := lacking.Load(int64(hour) * 3600); ok {
				return defaultRate(c, hour) * part.(float64)
			}
			return defaultRate(c, hour)
		}
	}
	r := live(t, "2026-03-02T02:30", ledger.Options{Backfill: -1}, prepare)
	if hours := r.kept(t, ledger.Hours); hours[25] != "02T01:00 incomplete" {
		t.Fatalf("hours %v", hours)
	}
	before := counted(r.Accrued())
	r.pass(15 * time.Minute)
	if hours := r.kept(t, ledger.Hours); hours[25] != "02T01:00 incomplete" {
		t.Errorf("while it is incomplete: %v", hours[25])
	}
	lacking.Clear()
	r.pass(90 * time.Minute) // 04:15
	if hours := r.kept(t, ledger.Hours); hours[25] != "02T01:00" || len(hours) != 28 {
		t.Errorf("once it is complete: %v", hours)
	}
	w := between(t, "2026-03-02T01:00", "2026-03-02T02:00")
	same(t, "mended", sums(t, r.ask(t, allocation.Query{Window: w, Stored: true})...), sums(t, r.exactly(w)))
	then, err := r.AccruedAt(t.Context(), at(t, "2026-03-02T02:30"))
	if err != nil || counted(then) != before {
		t.Errorf("a correction changes counters: %v %s", err, cmp.Diff(before, counted(then)))
	}
	now := counted(r.Accrued())
	if !strings.HasPrefix(now, "01T00:00 02T04:00\n") {
		t.Errorf("counters %s", now)
	}
	r.again(t)
	r.run(t)
	if diff := cmp.Diff(now, counted(r.Accrued())); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
}

func TestLateDataStayOutOfCounters(t *testing.T) {
	var hidden sync.Map
	for i := 5; i < 9; i++ {
		hidden.Store(at(t, "2026-03-01T00:00").Add(time.Duration(i)*time.Hour).Unix(), true)
	}
	prepare := func(r *rig) {
		r.model.without = func(w allocation.Window) bool { _, ok := hidden.Load(w.Start.Unix()); return ok }
	}
	r := live(t, "2026-03-01T12:30", ledger.Options{Backfill: -1}, prepare)
	before := counted(r.Accrued())
	if diff := cmp.Diff([]string{"01T05:00 4h0m0s"}, r.kept(t, ledger.Counted)); diff != "" || !strings.HasPrefix(before, "01T00:00 01T12:00\n") {
		t.Fatalf("counters %s\n%s", before, diff)
	}
	hidden.Clear()
	if err := r.Fill(t.Context(), between(t, "2026-03-01T00:00", "2026-03-02T00:00"), 1, nil); err != nil {
		t.Fatal(err)
	}
	r.pass(15 * time.Minute) // until the source is asked again
	if n := len(r.kept(t, ledger.Hours)); n != 12 {
		t.Errorf("%d hours, want 12", n)
	}
	if diff := cmp.Diff(before, counted(r.Accrued())); diff != "" {
		t.Errorf("counters changed (-before +after):\n%s", diff)
	}
	r.again(t)
	r.run(t)
	if diff := cmp.Diff(before, counted(r.Accrued())); diff != "" {
		t.Errorf("counters changed by a restart (-before +after):\n%s", diff)
	}
}

func TestCountersBeginAnewEachMonth(t *testing.T) {
	r := live(t, "2026-03-31T22:30", ledger.Options{Backfill: -1}, func(r *rig) { r.model.from = at(t, "2026-03-31T20:00") })
	for _, want := range []string{"01T00:00 31T22:00", "01T00:00 31T23:00", "01T00:00 01T00:00", "01T00:00 01T01:00", "01T00:00 01T02:00"} {
		if got, _, _ := strings.Cut(counted(r.Accrued()), "\n"); got != want {
			t.Errorf("counters of %s, want %s", got, want)
		}
		r.pass(time.Hour)
	}
}

func TestLoopRetries(t *testing.T) {
	broken := errors.New("the disk is full")
	for _, what := range []string{"source", "list", "write"} {
		t.Run(what, func(t *testing.T) {
			prepare := func(r *rig) {
				if what == "source" {
					r.model.err = allocation.ErrUpstream
				}
				r.keeper.fail = func(of string) error {
					if of == what {
						return broken
					}
					return nil
				}
			}
			r := live(t, "2026-03-01T12:30", ledger.Options{Backfill: -1}, prepare)
			r.pass(2 * time.Hour)
			if n := len(r.model.asked()); n == 0 || n > 60 {
				t.Errorf("%d computations within two hours", n)
			}
			set, _, err := r.Latest()
			if (set == nil) != (what == "source") || (err == nil) != (what != "source") {
				t.Errorf("latest %v, %v", set, err)
			}
			if r.Behind() == nil && what != "source" || what == "source" && r.Ready() == nil {
				t.Error("it says that all is well")
			}
			r.model.mu.Lock()
			r.model.err = nil
			r.model.mu.Unlock()
			r.keeper.mend()
			r.pass(15 * time.Minute)
			if n := len(r.kept(t, ledger.Hours)); n != 14 || r.Behind() != nil {
				t.Errorf("%d hours, want 14: %v", n, r.Behind())
			}
		})
	}
}

func TestClockSetBack(t *testing.T) {
	r := live(t, "2026-03-02T02:30", ledger.Options{Backfill: -1}, func(*rig) {})
	before, last := counted(r.Accrued()), r.kept(t, ledger.Hours)
	r.model.asked()
	r.back(-28 * 24 * time.Hour) // early in the month before, of which little is to be computed
	r.pass(time.Hour)
	if set, _, _ := r.Latest(); !set.Window.End.Equal(at(t, "2026-03-02T02:00")) {
		t.Errorf("latest fell back to %v", set.Window)
	}
	if diff := cmp.Diff(before, counted(r.Accrued())); diff != "" {
		t.Errorf("counters:\n%s", diff)
	}
	r.back(0)
	r.pass(30 * time.Minute)
	hours := r.kept(t, ledger.Hours)
	if set, _, _ := r.Latest(); !set.Window.End.Equal(at(t, "2026-03-02T03:00")) || hours[len(hours)-1] != "02T03:00" && hours[len(hours)-1] != "02T02:00" || len(last) == 0 {
		t.Errorf("latest %v, last hour %v", set.Window, hours[len(hours)-1])
	}
}
