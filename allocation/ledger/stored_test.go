package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

func TestStoredQueriesFillTheHistory(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	w := between(t, "2026-03-03T00:00", "2026-03-05T00:00")
	q := allocation.Query{Window: w, Step: 24 * time.Hour, Resolution: time.Minute, Stored: true}
	first := r.ask(t, q)
	if diff := cmp.Diff([]string{"03T00:00 04T00:00 1h0m0s", "04T00:00 05T00:00 1h0m0s"}, r.model.asked()); diff != "" {
		t.Errorf("computed first (-want +got):\n%s", diff)
	}
	want := sums(t, r.exactly(w))
	same(t, "first", sums(t, first...), want)
	for range 2 { // from hours, then from days
		second := r.ask(t, q)
		if asked := r.model.asked(); len(asked) > 0 {
			t.Errorf("computed again: %v", asked)
		}
		same(t, "again", sums(t, second...), want)
		if err := r.Fill(t.Context(), w, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if days, err := r.keeper.List(t.Context(), ledger.Days, w); err != nil || len(days) != 2 || !days[0].Complete {
		t.Errorf("days %v, %v", days, err)
	}
}

func TestTheRunningHourIsComputedEachTime(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	w := between(t, "2026-03-05T00:00", "2026-03-05T12:29")
	q := allocation.Query{Window: w, Resolution: time.Minute, Stored: true}
	want := sums(t, r.exactly(w))
	same(t, "first", sums(t, r.ask(t, q)...), want)
	if diff := cmp.Diff([]string{"05T00:00 05T12:00 1h0m0s", "05T12:00 05T12:29"}, r.model.asked()); diff != "" {
		t.Errorf("computed first (-want +got):\n%s", diff)
	}
	same(t, "second", sums(t, r.ask(t, q)...), want)
	if diff := cmp.Diff([]string{"05T12:00 05T12:29"}, r.model.asked()); diff != "" {
		t.Errorf("computed second (-want +got):\n%s", diff)
	}
	r.set(at(t, "2026-03-05T12:05")) // in the grace period the hour is not closed
	r.ask(t, allocation.Query{Window: between(t, "2026-03-05T11:00", "2026-03-05T12:00"), Stored: true})
	r.set(at(t, "2026-03-05T13:05"))
	r.ask(t, allocation.Query{Window: between(t, "2026-03-05T12:00", "2026-03-05T13:00"), Stored: true})
	if hours, _ := r.keeper.List(t.Context(), ledger.Hours, allocation.Window{}); len(hours) != 12 {
		t.Errorf("%d hours are kept, want 12", len(hours))
	}
}

func TestComputedQueriesTakeWhatFits(t *testing.T) {
	filled := map[time.Duration]*rig{} // by resolution
	for _, resolution := range []time.Duration{0, 5 * time.Minute} {
		r := newRig(t, "2026-03-05T12:30", ledger.Options{Resolution: resolution})
		if err := r.Fill(t.Context(), between(t, "2026-03-03T00:00", "2026-03-05T00:00"), 2, nil); err != nil {
			t.Fatal(err)
		}
		filled[resolution] = r
	}
	for _, tc := range []struct {
		name       string
		kept       time.Duration // resolution of what is kept
		from, to   string
		step       time.Duration
		resolution time.Duration
		want       []string
	}{
		{"within", 0, "2026-03-04T00:00", "2026-03-04T12:00", 0, allocation.AutoResolution, nil},
		{"edges", 0, "2026-03-04T00:20", "2026-03-04T12:40", 0, 0, []string{"04T00:20 04T01:00", "04T12:00 04T12:40"}},
		{"exact hours are of another resolution", 0, "2026-03-04T00:00", "2026-03-04T12:00", 0, time.Minute, []string{"04T00:00 04T12:00"}},
		{"hours of a grid are not exact", 5 * time.Minute, "2026-03-04T00:00", "2026-03-04T12:00", 0, allocation.AutoResolution, []string{"04T00:00 04T12:00"}},
		{"of another resolution", 5 * time.Minute, "2026-03-04T00:00", "2026-03-04T12:00", 0, time.Minute, []string{"04T00:00 04T12:00"}},
		{"of its resolution", 5 * time.Minute, "2026-03-04T00:00", "2026-03-04T12:00", 0, 5 * time.Minute, nil},
		{"hardly any", 0, "2026-03-01T00:00", "2026-03-03T02:00", 0, 0, []string{"01T00:00 03T02:00"}},
		{"steps on hours", 0, "2026-03-04T00:00", "2026-03-04T12:00", 2 * time.Hour, 0, nil},
		{"steps between hours", 0, "2026-03-04T00:00", "2026-03-04T12:00", 90 * time.Minute, 0, []string{"04T00:00 04T12:00 1h30m0s"}},
		{"days", 0, "2026-03-03T00:00", "2026-03-05T00:00", 24 * time.Hour, 0, nil},
		{"a step before", 0, "2026-03-02T00:00", "2026-03-05T00:00", 24 * time.Hour, 0, []string{"02T00:00 03T00:00"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := filled[tc.kept]
			r.model.asked()
			w := between(t, tc.from, tc.to)
			got := r.ask(t, allocation.Query{Window: w, Step: tc.step, Resolution: tc.resolution})
			if diff := cmp.Diff(tc.want, r.model.asked()); diff != "" {
				t.Errorf("computed (-want +got):\n%s", diff)
			}
			same(t, tc.name, sums(t, got...), sums(t, r.exactly(w)))
		})
	}
}

func TestTooLongRunsAreHalved(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	r.model.tooMuch = 7 * time.Hour
	w := between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	same(t, "day", sums(t, r.ask(t, allocation.Query{Window: w, Stored: true})...), sums(t, r.exactly(w)))
	if n := len(r.model.asked()); n != 7 {
		t.Errorf("%d computations, want 1 of 24h, 2 of 12h, 4 of 6h", n)
	}
}

func TestHoursAreComputedOnce(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{MaxConcurrency: 4})
	r.model.slow = func(context.Context) { time.Sleep(20 * time.Millisecond) }
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { // windows that overlap
			w := allocation.Window{Start: at(t, "2026-03-04T00:00").Add(time.Duration(i) * time.Hour), End: at(t, "2026-03-04T20:00")}
			sets, err := collect(t.Context(), r.Ledger, allocation.Query{Window: w, Stored: true})
			if err != nil {
				t.Error(err)
				return
			}
			same(t, "overlap", sums(t, sets...), sums(t, r.exactly(w)))
		})
	}
	wg.Wait()
	hours := 0
	for _, q := range r.model.queries {
		hours += int(q.Window.Duration() / time.Hour)
	}
	if hours != 20 {
		t.Errorf("%d hours were computed, want 20", hours)
	}
}

func TestWhatIsMissingIsAWarning(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	r.model.from = at(t, "2026-03-04T10:00")
	w := between(t, "2026-03-01T00:00", "2026-03-05T00:00")
	q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}
	sets := r.ask(t, q)
	same(t, "day", sums(t, sets[3]), sums(t, r.exactly(w)))
	if sets[0].Len() != 0 || !strings.Contains(strings.Join(sets[0].Warnings, ""), "no costs from 2026-03-01T00:00:00Z to 2026-03-02T00:00:00Z: ") {
		t.Errorf("before all data: %d rows, %v", sets[0].Len(), sets[0].Warnings)
	}
	if len(sets[3].Warnings) != 1 || !sets[3].Incomplete {
		t.Errorf("the day of the first data: %v", sets[3].Warnings)
	}
	r.model.asked()
	r.ask(t, q)
	if asked := r.model.asked(); len(asked) > 0 {
		t.Errorf("hours without data were asked for again: %v", asked)
	}
	_, err := collect(t.Context(), r.Ledger, allocation.Query{Window: between(t, "2026-03-01T00:00", "2026-03-02T00:00"), Stored: true})
	if !errors.Is(err, allocation.ErrNoData) {
		t.Errorf("nothing at all: %v", err)
	}
	r.set(at(t, "2026-03-05T12:45"))
	r.ask(t, q)
	if asked := r.model.asked(); len(asked) == 0 {
		t.Error("hours without data were never asked for again")
	}
}

func TestPrometheusGone(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	w := between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	r.ask(t, allocation.Query{Window: w, Stored: true})
	r.model.err = allocation.ErrUpstream
	longer := allocation.Window{Start: w.Start, End: at(t, "2026-03-05T12:29")}
	sets := r.ask(t, allocation.Query{Window: longer, Stored: true})
	same(t, "what is kept", sums(t, sets...), sums(t, r.exactly(w)))
	if len(sets[0].Warnings) == 0 || !strings.Contains(sets[0].Warnings[0], "no costs from ") {
		t.Errorf("warnings %v", sets[0].Warnings)
	}
	_, err := collect(t.Context(), r.Ledger, allocation.Query{Window: between(t, "2026-03-05T01:00", "2026-03-05T03:00"), Stored: true})
	if !errors.Is(err, allocation.ErrUpstream) {
		t.Errorf("where nothing is kept: %v", err)
	}
}

func TestHistoryFails(t *testing.T) {
	for _, what := range []string{"list", "read", "write"} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "2026-03-05T12:30", ledger.Options{})
			w := between(t, "2026-03-04T00:00", "2026-03-05T00:00")
			q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}
			if what != "write" {
				r.ask(t, q)
			}
			broken := errors.New("the disk is full")
			r.keeper.fail = func(of string) error {
				if of == what {
					return broken
				}
				return nil
			}
			sets := r.ask(t, q)
			same(t, "without history", sums(t, sets...), sums(t, r.exactly(w)))
			if warned := strings.Contains(strings.Join(sets[0].Warnings, ""), "the disk is full"); warned != (what != "write") {
				t.Errorf("warnings %v", sets[0].Warnings)
			}
			if s := r.Store(); !errors.Is(s.Err, broken) {
				t.Errorf("store says %v", s.Err)
			}
			r.keeper.fail = nil
			if sets = r.ask(t, q); len(sets[0].Warnings) > 0 {
				t.Errorf("once it works again: %v", sets[0].Warnings)
			}
		})
	}
}

// copy gives the history all that another one has.
func (r *rig) copy(t *testing.T, from *rig) {
	t.Helper()
	for name, data := range from.bucket.Objects() {
		if err := r.bucket.Upload(t.Context(), name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
}

// damage flips a bit of every file below a folder of the history.
func (r *rig) damage(t *testing.T, folder string) (n int) {
	t.Helper()
	for name, data := range r.bucket.Objects() {
		if strings.HasPrefix(name, folder+"/") {
			damaged := bytes.Clone(data)
			damaged[len(data)/2] ^= 4
			if err := r.bucket.Upload(t.Context(), name, bytes.NewReader(damaged)); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	return n
}

// remove removes all files below a folder of the history.
func (r *rig) remove(t *testing.T, folder string) {
	t.Helper()
	for name := range r.bucket.Objects() {
		if strings.HasPrefix(name, folder+"/") {
			if err := r.bucket.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDamageIsComputedAgain(t *testing.T) {
	w := between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	sound := newRig(t, "2026-03-05T12:30", ledger.Options{})
	if err := sound.Fill(t.Context(), w, 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"allocations_hourly", "assets_hourly", "sets_hourly", "allocations_daily", "sets_daily"} {
		t.Run(folder, func(t *testing.T) {
			r := newRig(t, "2026-03-05T12:30", ledger.Options{})
			r.copy(t, sound)
			hourly := strings.HasSuffix(folder, "hourly")
			if hourly { // else days hide them
				r.remove(t, "sets_daily")
			}
			if r.damage(t, folder) == 0 {
				t.Fatal("nothing to damage")
			}
			r.restart(t)
			r.model.asked()
			q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}
			same(t, "damaged", sums(t, r.ask(t, q)...), sums(t, r.exactly(w)))
			if asked := r.model.asked(); (len(asked) > 0) != hourly {
				t.Errorf("computed %v", asked)
			}
			if err := r.Fill(t.Context(), w, 1, nil); err != nil {
				t.Fatal(err)
			}
			r.restart(t)
			same(t, "mended", sums(t, r.ask(t, q)...), sums(t, r.exactly(w)))
			if asked := r.model.asked(); len(asked) > 0 {
				t.Errorf("it stays damaged: %v", asked)
			}
		})
	}
}

// TestClose gives up a question whose hours go on, and closes the ledger: it waits for them, and nothing begins after it.
func TestClose(t *testing.T) {
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	began, ended := make(chan struct{}, 1), make(chan struct{})
	r.model.slow = func(ctx context.Context) {
		began <- struct{}{}
		<-ctx.Done()
		close(ended)
	}
	q := allocation.Query{Window: between(t, "2026-03-04T00:00", "2026-03-04T01:00"), Stored: true}
	ctx, leave := context.WithCancel(t.Context())
	asked := make(chan error)
	go func() {
		_, err := collect(ctx, r.Ledger, q)
		asked <- err
	}()
	<-began
	leave()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("a question that was given up: %v", err)
	}
	select {
	case <-ended:
		t.Error("the hour ended with the question")
	default:
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	default:
		t.Error("closed while an hour was computed")
	}
	if _, err := collect(t.Context(), r.Ledger, q); !errors.Is(err, context.Canceled) {
		t.Errorf("asked after Close: %v", err)
	}
	if n := len(r.model.asked()); n != 1 {
		t.Errorf("%d computations, want 1", n)
	}
}
