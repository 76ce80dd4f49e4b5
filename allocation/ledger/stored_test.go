package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

func TestStoredQueriesFillTheHistory(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-05T00:00")
	q := allocation.Query{Window: w, Step: 24 * time.Hour, Resolution: time.Minute, Stored: true}
	first := r.Ask(t, q)
	if diff := cmp.Diff([]string{"03T00:00 04T00:00 1h0m0s", "04T00:00 05T00:00 1h0m0s"}, r.Model.Asked()); diff != "" {
		t.Errorf("computed first (-want +got):\n%s", diff)
	}
	want := ledgertest.Sums(t, r.Exactly(w))
	ledgertest.Same(t, "first", ledgertest.Sums(t, first...), want)
	for range 2 { // from hours, then from days
		second := r.Ask(t, q)
		if asked := r.Model.Asked(); len(asked) > 0 {
			t.Errorf("computed again: %v", asked)
		}
		ledgertest.Same(t, "again", ledgertest.Sums(t, second...), want)
		if err := r.Fill(t.Context(), w, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if days, err := r.History.List(t.Context(), ledger.Days, w); err != nil || len(days) != 2 || !days[0].Complete {
		t.Errorf("days %v, %v", days, err)
	}
}

func TestTheRunningHourIsComputedEachTime(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	w := ledgertest.Between(t, "2026-03-05T00:00", "2026-03-05T12:29")
	q := allocation.Query{Window: w, Resolution: time.Minute, Stored: true}
	want := ledgertest.Sums(t, r.Exactly(w))
	ledgertest.Same(t, "first", ledgertest.Sums(t, r.Ask(t, q)...), want)
	if diff := cmp.Diff([]string{"05T00:00 05T12:00 1h0m0s", "05T12:00 05T12:29"}, r.Model.Asked()); diff != "" {
		t.Errorf("computed first (-want +got):\n%s", diff)
	}
	ledgertest.Same(t, "second", ledgertest.Sums(t, r.Ask(t, q)...), want)
	if diff := cmp.Diff([]string{"05T12:00 05T12:29"}, r.Model.Asked()); diff != "" {
		t.Errorf("computed second (-want +got):\n%s", diff)
	}
	r.SetTime(ledgertest.ParseTime(t, "2026-03-05T12:05")) // in the grace period the hour is not closed
	r.Ask(t, allocation.Query{Window: ledgertest.Between(t, "2026-03-05T11:00", "2026-03-05T12:00"), Stored: true})
	r.SetTime(ledgertest.ParseTime(t, "2026-03-05T13:05"))
	r.Ask(t, allocation.Query{Window: ledgertest.Between(t, "2026-03-05T12:00", "2026-03-05T13:00"), Stored: true})
	if hours, _ := r.History.List(t.Context(), ledger.Hours, allocation.Window{}); len(hours) != 12 {
		t.Errorf("%d hours are kept, want 12", len(hours))
	}
}

func TestComputedQueriesTakeWhatFits(t *testing.T) {
	filled := map[time.Duration]*ledgertest.Rig{} // by resolution
	for _, resolution := range []time.Duration{0, 5 * time.Minute} {
		r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Resolution: resolution}})
		if err := r.Fill(t.Context(), ledgertest.Between(t, "2026-03-03T00:00", "2026-03-05T00:00"), 2, nil); err != nil {
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
			r.Model.Asked()
			w := ledgertest.Between(t, tc.from, tc.to)
			got := r.Ask(t, allocation.Query{Window: w, Step: tc.step, Resolution: tc.resolution})
			if diff := cmp.Diff(tc.want, r.Model.Asked()); diff != "" {
				t.Errorf("computed (-want +got):\n%s", diff)
			}
			ledgertest.Same(t, tc.name, ledgertest.Sums(t, got...), ledgertest.Sums(t, r.Exactly(w)))
		})
	}
}

// TestResolutionOfHours asks for stored hours at a resolution and less than an hour beside them, with a history and without: all of it
// is computed at that resolution.
func TestResolutionOfHours(t *testing.T) {
	o := ledger.Options{Resolution: 5 * time.Minute, ExactBelow: true}
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: o})
	q := allocation.Query{Window: ledgertest.Between(t, "2026-03-05T08:20", "2026-03-05T12:25"), Stored: true, Resolution: allocation.AutoResolution}
	r.Ask(t, q)
	if _, err := ledgertest.Collect(t.Context(), ledger.New(r.Model, log.NewNopLogger(), o), q); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Model.Queries); n < 3 {
		t.Errorf("%d computations, want those of the hours, of their edges and one without a history", n)
	}
	for _, q := range r.Model.Queries {
		if q.Resolution != o.Resolution || !q.ExactBelow {
			t.Errorf("%s was computed at %s, exact below the scrape interval: %v", q.Window, q.Resolution, q.ExactBelow)
		}
	}
	if hours, _ := r.History.List(t.Context(), ledger.Hours, allocation.Window{}); len(hours) != 3 || hours[0].Resolution != o.Resolution {
		t.Errorf("hours %v are kept, want 3 of %s", hours, o.Resolution)
	}
}

func TestTooLongRunsAreHalved(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	r.Model.TooMuch = 7 * time.Hour
	w := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	ledgertest.Same(t, "day", ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: w, Stored: true})...), ledgertest.Sums(t, r.Exactly(w)))
	if n := len(r.Model.Asked()); n != 7 {
		t.Errorf("%d computations, want 1 of 24h, 2 of 12h, 4 of 6h", n)
	}
}

func TestHoursAreComputedOnce(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{MaxConcurrency: 4}})
	r.Model.Slow = func(context.Context) { time.Sleep(20 * time.Millisecond) }
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { // windows that overlap
			w := allocation.Window{Start: ledgertest.ParseTime(t, "2026-03-04T00:00").Add(time.Duration(i) * time.Hour), End: ledgertest.ParseTime(t, "2026-03-04T20:00")}
			sets, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: w, Stored: true})
			if err != nil {
				t.Error(err)
				return
			}
			ledgertest.Same(t, "overlap", ledgertest.Sums(t, sets...), ledgertest.Sums(t, r.Exactly(w)))
		})
	}
	wg.Wait()
	hours := 0
	for _, q := range r.Model.Queries {
		hours += int(q.Window.Duration() / time.Hour)
	}
	if hours != 20 {
		t.Errorf("%d hours were computed, want 20", hours)
	}
}

func TestWhatIsMissingIsAWarning(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	r.Model.From = ledgertest.ParseTime(t, "2026-03-04T10:00")
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-05T00:00")
	q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}
	sets := r.Ask(t, q)
	ledgertest.Same(t, "day", ledgertest.Sums(t, sets[3]), ledgertest.Sums(t, r.Exactly(w)))
	if sets[0].Len() != 0 || !strings.Contains(strings.Join(sets[0].Warnings, ""), "no costs from 2026-03-01T00:00:00Z to 2026-03-02T00:00:00Z: ") {
		t.Errorf("before all data: %d rows, %v", sets[0].Len(), sets[0].Warnings)
	}
	if len(sets[3].Warnings) != 1 || !sets[3].Incomplete {
		t.Errorf("the day of the first data: %v", sets[3].Warnings)
	}
	r.Model.Asked()
	r.Ask(t, q)
	if asked := r.Model.Asked(); len(asked) > 0 {
		t.Errorf("hours without data were asked for again: %v", asked)
	}
	_, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: ledgertest.Between(t, "2026-03-01T00:00", "2026-03-02T00:00"), Stored: true})
	if !errors.Is(err, allocation.ErrNoData) {
		t.Errorf("nothing at all: %v", err)
	}
	r.SetTime(ledgertest.ParseTime(t, "2026-03-05T12:45"))
	r.Ask(t, q)
	if asked := r.Model.Asked(); len(asked) == 0 {
		t.Error("hours without data were never asked for again")
	}
}

func TestPrometheusGone(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	w := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	r.Ask(t, allocation.Query{Window: w, Stored: true})
	r.Model.Err = allocation.ErrUpstream
	longer := allocation.Window{Start: w.Start, End: ledgertest.ParseTime(t, "2026-03-05T12:29")}
	sets := r.Ask(t, allocation.Query{Window: longer, Stored: true})
	ledgertest.Same(t, "what is kept", ledgertest.Sums(t, sets...), ledgertest.Sums(t, r.Exactly(w)))
	if len(sets[0].Warnings) == 0 || !strings.Contains(sets[0].Warnings[0], "no costs from ") {
		t.Errorf("warnings %v", sets[0].Warnings)
	}
	_, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: ledgertest.Between(t, "2026-03-05T01:00", "2026-03-05T03:00"), Stored: true})
	if !errors.Is(err, allocation.ErrUpstream) {
		t.Errorf("where nothing is kept: %v", err)
	}
}

func TestHistoryFails(t *testing.T) {
	for _, what := range []string{"list", "read", "write"} {
		t.Run(what, func(t *testing.T) {
			r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
			w := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00")
			q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}
			if what != "write" {
				r.Ask(t, q)
			}
			broken := errors.New("the disk is full")
			r.History.Fail = func(of string) error {
				if of == what {
					return broken
				}
				return nil
			}
			sets := r.Ask(t, q)
			ledgertest.Same(t, "without history", ledgertest.Sums(t, sets...), ledgertest.Sums(t, r.Exactly(w)))
			if warned := strings.Contains(strings.Join(sets[0].Warnings, ""), "the disk is full"); warned != (what != "write") {
				t.Errorf("warnings %v", sets[0].Warnings)
			}
			if s := r.Store(); !errors.Is(s.Err, broken) {
				t.Errorf("store says %v", s.Err)
			}
			r.History.Fail = nil
			if sets = r.Ask(t, q); len(sets[0].Warnings) > 0 {
				t.Errorf("once it works again: %v", sets[0].Warnings)
			}
		})
	}
}

// TestUnwritable asks for hours of a history that nothing can be stored in: those that it has are read, the others computed once and kept in
// memory, until the source answers otherwise.
func TestUnwritable(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	if err := r.Fill(t.Context(), ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T10:00"), 1, nil); err != nil {
		t.Fatal(err)
	}
	before := r.Kept(t, ledger.Hours)
	r.Opts.Ledger.Unwritable = errors.New("the disk is read-only")
	r.Restart(t)
	w := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	want := ledgertest.Sums(t, r.Exactly(w))
	for i, computed := range [][]string{{"04T10:00 05T00:00 1h0m0s"}, nil, {"04T10:00 05T00:00 1h0m0s"}} {
		r.Model.Asked()
		if i == 2 {
			r.Ledger.Refresh()
		}
		sets := r.Ask(t, allocation.Query{Window: w, Step: time.Hour, Stored: true})
		ledgertest.Same(t, "answer", ledgertest.Sums(t, sets...), want)
		if diff := cmp.Diff(computed, r.Model.Asked()); diff != "" {
			t.Errorf("question %d computed (-want +got):\n%s", i, diff)
		}
	}
	hours := 0
	for s, err := range r.Hours(t.Context(), w, nil) {
		if hours++; err != nil || s.Len() == 0 {
			t.Errorf("hour %s has %d rows: %v", s.Window, s.Len(), err)
		}
	}
	if asked := r.Model.Asked(); hours != 24 || len(asked) > 0 {
		t.Errorf("%d hours were read and %q computed again", hours, asked)
	}
	if diff := cmp.Diff(before, r.Kept(t, ledger.Hours)); diff != "" || !errors.Is(r.Store().Err, r.Opts.Ledger.Unwritable) {
		t.Errorf("the state is %v, and these were kept (-before +after):\n%s", r.Store().Err, diff)
	}
}

func TestDamageIsComputedAgain(t *testing.T) {
	w := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	sound := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	if err := sound.Fill(t.Context(), w, 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"allocations_hourly", "assets_hourly", "sets_hourly", "allocations_daily", "sets_daily"} {
		t.Run(folder, func(t *testing.T) {
			r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
			r.CopyFrom(t, sound)
			hourly := strings.HasSuffix(folder, "hourly")
			if hourly { // else days hide them
				r.Remove(t, "sets_daily")
			}
			if r.Damage(t, folder) == 0 {
				t.Fatal("nothing to damage")
			}
			r.Restart(t)
			r.Model.Asked()
			q := allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}
			ledgertest.Same(t, "damaged", ledgertest.Sums(t, r.Ask(t, q)...), ledgertest.Sums(t, r.Exactly(w)))
			if asked := r.Model.Asked(); (len(asked) > 0) != hourly {
				t.Errorf("computed %v", asked)
			}
			if err := r.Fill(t.Context(), w, 1, nil); err != nil {
				t.Fatal(err)
			}
			r.Restart(t)
			ledgertest.Same(t, "mended", ledgertest.Sums(t, r.Ask(t, q)...), ledgertest.Sums(t, r.Exactly(w)))
			if asked := r.Model.Asked(); len(asked) > 0 {
				t.Errorf("it stays damaged: %v", asked)
			}
		})
	}
}

// TestClose gives up a question whose hours go on, and closes the ledger: it waits for them, and nothing begins after it.
func TestClose(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	began, ended := make(chan struct{}, 1), make(chan struct{})
	r.Model.Slow = func(ctx context.Context) {
		began <- struct{}{}
		<-ctx.Done()
		close(ended)
	}
	q := allocation.Query{Window: ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T01:00"), Stored: true}
	ctx, leave := context.WithCancel(t.Context())
	asked := make(chan error)
	go func() {
		_, err := ledgertest.Collect(ctx, r.Ledger, q)
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
	if _, err := ledgertest.Collect(t.Context(), r.Ledger, q); !errors.Is(err, context.Canceled) {
		t.Errorf("asked after Close: %v", err)
	}
	if n := len(r.Model.Asked()); n != 1 {
		t.Errorf("%d computations, want 1", n)
	}
}
