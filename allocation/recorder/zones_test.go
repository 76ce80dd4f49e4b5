package recorder_test

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
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

func TestDaysOfZones(t *testing.T) {
	for _, tc := range []struct {
		zone, now, from, to string // the day, in UTC
		hours               int
		days                []string
	}{
		{"Europe/Berlin", "2026-03-31T12:00", "2026-03-28T23:00", "2026-03-29T22:00", 23, []string{"28T23:00 23h0m0s"}},
		{"Europe/Berlin", "2026-10-27T12:00", "2026-10-24T22:00", "2026-10-25T23:00", 25, []string{"24T22:00 25h0m0s"}},
		{"Asia/Kolkata", "2026-03-31T12:00", "2026-03-28T18:30", "2026-03-29T18:30", 24, []string{"28T18:30 24h0m0s"}},
		// Clocks are set by half an hour at 02:00: the second half of an hour is in no hour, but in the day.
		{"Australia/Lord_Howe", "2026-10-07T12:00", "2026-10-03T13:30", "2026-10-04T13:00", 23, []string{"03T13:30 23h30m0s"}},
		{"Australia/Lord_Howe", "2026-04-08T12:00", "2026-04-04T13:00", "2026-04-05T13:30", 24, []string{"04T13:00 24h30m0s"}},
	} {
		t.Run(tc.zone+tc.from, func(t *testing.T) {
			r := ledgertest.NewRig(t, tc.now, ledgertest.Options{Ledger: ledger.Options{Zone: ledgertest.Zone(t, tc.zone)}, Recorder: recorder.Options{Backfill: -1}})
			w := ledgertest.Between(t, tc.from, tc.to)
			if err := r.Fill(t.Context(), w, 1, nil); err != nil {
				t.Fatal(err)
			}
			if n := len(r.Kept(t, ledger.Hours)); n != tc.hours {
				t.Errorf("%d hours, want %d", n, tc.hours)
			}
			if diff := cmp.Diff(tc.days, r.Kept(t, ledger.Days)); diff != "" {
				t.Errorf("days (-want +got):\n%s", diff)
			}
			r.Model.Asked()
			for _, q := range []allocation.Query{
				{Window: w, Stored: true}, {Window: w, Step: w.Duration(), Stored: true}, {Window: w, Resolution: allocation.AutoResolution},
			} {
				ledgertest.Same(t, "day", ledgertest.Sums(t, r.Ask(t, q)...), ledgertest.Sums(t, r.Exactly(w)))
			}
			if asked := r.Model.Asked(); len(asked) > 0 {
				t.Errorf("a kept day is computed: %v", asked)
			}
		})
	}
}

func TestTheTimeZoneChanges(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-02T12:20", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	utc := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-02T00:00")
	ledgertest.Same(t, "UTC", ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: utc, Stored: true})...), ledgertest.Sums(t, r.Exactly(utc)))
	for _, tc := range []struct{ zone, from, to string }{
		{"Europe/Berlin", "2026-02-28T23:00", "2026-03-01T23:00"}, // rolls other days up of the same hours
		{"Asia/Kolkata", "2026-02-28T18:30", "2026-03-01T18:30"},  // other hours
		{"UTC", "2026-03-01T00:00", "2026-03-02T00:00"},
	} {
		r.Model.Asked()
		r.Opts.Ledger.Zone = ledgertest.Zone(t, tc.zone)
		r.StopAndRestart(t)
		day := ledgertest.Between(t, tc.from, tc.to)
		ledgertest.Same(t, tc.zone+" at once", ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: day, Stored: true})...), ledgertest.Sums(t, r.Exactly(day)))
		r.Start(t)
		hours := 0
		for _, q := range r.Model.Queries {
			hours += int(q.Window.Duration() / time.Hour)
		}
		if most := map[string]int{"Europe/Berlin": 1 + 1, "Asia/Kolkata": 42, "UTC": 0}[tc.zone]; hours > most {
			t.Errorf("%s: %d hours were computed, want at most %d: %v", tc.zone, hours, most, r.Model.Asked())
		}
		r.Model.Asked()
		ledgertest.Same(t, tc.zone, ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: day, Stored: true})...), ledgertest.Sums(t, r.Exactly(day)))
		if asked := r.Model.Asked(); len(asked) > 0 {
			t.Errorf("%s: the day is computed: %v", tc.zone, asked)
		}
		days, err := r.History.List(t.Context(), ledger.Days, day)
		found := false
		for _, d := range days {
			found = found || d.Window.Start.Equal(day.Start) && d.Window.End.Equal(day.End)
		}
		if err != nil || !found {
			t.Errorf("%s: the day is not kept: %v, %v", tc.zone, days, err)
		}
	}
}

// Two ledgers on one history: each does half of the work or none, and both say the same.
func TestTwoLedgersOnOneHistory(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-02T12:20", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}})
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-02T00:00")
	var ledgers []ledgertest.Recorded
	for range 2 {
		ledgers = append(ledgers, r.Open(r.Model, r.OpenHistory()))
	}
	var wg sync.WaitGroup
	for _, l := range ledgers {
		wg.Go(func() {
			if err := l.Fill(t.Context(), w, 2, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for name := range r.Bucket.Objects() {
		if !strings.Contains(name, ".g1.") {
			t.Errorf("%s: what both computed is not the same", name)
		}
	}
	r.Model.Asked()
	for _, l := range ledgers {
		sets, err := ledgertest.Collect(t.Context(), l.Ledger, allocation.Query{Window: w, Stored: true})
		if err != nil {
			t.Fatal(err)
		}
		ledgertest.Same(t, "either", ledgertest.Sums(t, sets...), ledgertest.Sums(t, r.Exactly(w)))
	}
	if asked := r.Model.Asked(); len(asked) > 0 {
		t.Errorf("computed again: %v", asked)
	}
}

func TestReaders(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-02T12:20", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	want, files := ledgertest.CountersText(r.Accrued()), len(r.Bucket.Objects())
	r.Model.Err = allocation.ErrNoData
	r.Model.Asked()
	r.Opts.Ledger.ReadOnly = true
	r.StopAndRestart(t)
	r.Start(t)
	if diff := cmp.Diff(want, ledgertest.CountersText(r.Accrued())); diff != "" {
		t.Errorf("counters of a reader (-want +got):\n%s", diff)
	}
	if set, _, err := r.Latest(); err != nil || !set.Window.End.Equal(ledgertest.ParseTime(t, "2026-03-02T12:00")) || r.Ready() != nil {
		t.Errorf("latest %v, %v, %v", set, err, r.Ready())
	}
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-02T12:19")
	sets := r.Ask(t, allocation.Query{Window: w, Stored: true})
	w.End = ledgertest.ParseTime(t, "2026-03-02T12:00")
	ledgertest.Same(t, "what is kept", ledgertest.Sums(t, sets...), ledgertest.Sums(t, r.Exactly(w)))
	if n := len(r.Bucket.Objects()); n != files {
		t.Errorf("%d files, %d before", n, files)
	}
}

// A reader is ready over a history that has ended, once it has looked.
func TestReaderOfAnArchive(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-02T12:20", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	r.Opts.Ledger.ReadOnly = true
	r.StopAndRestart(t)
	r.SetTime(ledgertest.ParseTime(t, "2026-04-02T12:20"))
	if r.Ready() == nil {
		t.Error("ready before anything was read")
	}
	r.Start(t)
	if set, _, err := r.Latest(); set != nil || !errors.Is(err, allocation.ErrNoData) || r.Ready() != nil {
		t.Errorf("latest %v, %v, %v", set, err, r.Ready())
	}
	if s := r.Store(); s.Lag != 31*24*time.Hour || r.Behind() == nil {
		t.Errorf("its lag is %s, and it is behind with %v", s.Lag, r.Behind())
	}
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-02T12:00")
	ledgertest.Same(t, "what is kept", ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: w, Stored: true})...), ledgertest.Sums(t, r.Exactly(w)))
}

func TestFillGoesOnWhereItEnded(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-09T12:20", ledgertest.Options{})
	r.Model.From = ledgertest.ParseTime(t, "2026-03-02T10:00")
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-05T00:00")
	ctx, cancel := context.WithCancel(t.Context())
	var told []recorder.Progress
	err := r.Fill(ctx, w, 1, func(p recorder.Progress) {
		if told = append(told, p); p.Written > 20 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("it ended well although it was ended")
	}
	if n := len(r.Kept(t, ledger.Hours)); n != told[len(told)-1].Written {
		t.Errorf("%d hours are kept, told of %+v", n, told)
	}
	missing, err := r.Missing(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var last recorder.Progress
	if err := r.Fill(t.Context(), w, 3, func(p recorder.Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if want := (recorder.Progress{Hours: 96, Kept: 96 - len(missing), Written: 62 - (96 - len(missing)), Empty: 34}); last != want {
		t.Errorf("told of %+v, want %+v", last, want)
	}
	if diff := cmp.Diff([]string{"02T00:00 24h0m0s incomplete", "03T00:00 24h0m0s", "04T00:00 24h0m0s"}, r.Kept(t, ledger.Days)); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

// TestShardOfNothing has a shard with no node keep its hours and days, which are empty: they are not missing.
func TestShardOfNothing(t *testing.T) {
	shard := allocation.Shard{Index: 1, Of: 20}
	for has := true; has; shard.Index++ {
		has = false
		for i := range ledgertest.Nodes {
			has = has || (allocation.Shard{Index: shard.Index + 1, Of: shard.Of}).Has("c1", fmt.Sprint("node-", i))
		}
	}
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	r.Model.Shard = shard
	w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-04T00:00")
	var done recorder.Progress
	if err := r.Fill(t.Context(), w, 1, func(p recorder.Progress) { done = p }); err != nil || done.Written != 24 || done.Empty != 0 {
		t.Errorf("filled %+v, %v", done, err)
	}
	if missing, err := r.Missing(t.Context(), w); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
	if days := r.Kept(t, ledger.Days); len(days) != 1 {
		t.Errorf("days %v, want one", days)
	}
	r.Model.Asked()
	if sets := r.Ask(t, allocation.Query{Window: w, Stored: true}); len(sets) != 1 || !sets[0].Empty() || len(r.Model.Asked()) > 0 {
		t.Errorf("got %d sets, or they were computed again", len(sets))
	}
}
