package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

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
			r := newRig(t, tc.now, ledger.Options{Zone: zone(t, tc.zone), Backfill: -1})
			w := between(t, tc.from, tc.to)
			if err := r.Fill(t.Context(), w, 1, nil); err != nil {
				t.Fatal(err)
			}
			if n := len(r.kept(t, ledger.Hours)); n != tc.hours {
				t.Errorf("%d hours, want %d", n, tc.hours)
			}
			if diff := cmp.Diff(tc.days, r.kept(t, ledger.Days)); diff != "" {
				t.Errorf("days (-want +got):\n%s", diff)
			}
			r.model.asked()
			for _, q := range []allocation.Query{
				{Window: w, Stored: true}, {Window: w, Step: w.Duration(), Stored: true}, {Window: w, Resolution: allocation.AutoResolution},
			} {
				same(t, "day", sums(t, r.ask(t, q)...), sums(t, r.exactly(w)))
			}
			if asked := r.model.asked(); len(asked) > 0 {
				t.Errorf("a kept day is computed: %v", asked)
			}
		})
	}
}

func TestTheTimeZoneChanges(t *testing.T) {
	r := live(t, "2026-03-02T12:20", ledger.Options{Backfill: -1}, func(*rig) {})
	utc := between(t, "2026-03-01T00:00", "2026-03-02T00:00")
	same(t, "UTC", sums(t, r.ask(t, allocation.Query{Window: utc, Stored: true})...), sums(t, r.exactly(utc)))
	for _, tc := range []struct{ zone, from, to string }{
		{"Europe/Berlin", "2026-02-28T23:00", "2026-03-01T23:00"}, // rolls other days up of the same hours
		{"Asia/Kolkata", "2026-02-28T18:30", "2026-03-01T18:30"},  // other hours
		{"UTC", "2026-03-01T00:00", "2026-03-02T00:00"},
	} {
		r.model.asked()
		r.opts.Zone = zone(t, tc.zone)
		r.again(t)
		day := between(t, tc.from, tc.to)
		same(t, tc.zone+" at once", sums(t, r.ask(t, allocation.Query{Window: day, Stored: true})...), sums(t, r.exactly(day)))
		r.run(t)
		hours := 0
		for _, q := range r.model.queries {
			hours += int(q.Window.Duration() / time.Hour)
		}
		if most := map[string]int{"Europe/Berlin": 1 + 1, "Asia/Kolkata": 42, "UTC": 0}[tc.zone]; hours > most {
			t.Errorf("%s: %d hours were computed, want at most %d: %v", tc.zone, hours, most, r.model.asked())
		}
		r.model.asked()
		same(t, tc.zone, sums(t, r.ask(t, allocation.Query{Window: day, Stored: true})...), sums(t, r.exactly(day)))
		if asked := r.model.asked(); len(asked) > 0 {
			t.Errorf("%s: the day is computed: %v", tc.zone, asked)
		}
		days, err := r.keeper.List(t.Context(), ledger.Days, day)
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
	r := newRig(t, "2026-03-02T12:20", ledger.Options{Backfill: -1})
	w := between(t, "2026-03-01T00:00", "2026-03-02T00:00")
	var ledgers []*ledger.Ledger
	for range 2 {
		k := &keeper{History: ledgertest.History{Store: history.New(history.NewBucket(r.bucket, history.BucketOptions{}), history.Options{Now: r.opts.Now})}}
		ledgers = append(ledgers, ledger.NewKeeping(r.model, k, log.NewNopLogger(), r.opts))
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
	for name := range r.bucket.Objects() {
		if !strings.Contains(name, ".g1.") {
			t.Errorf("%s: what both computed is not the same", name)
		}
	}
	r.model.asked()
	for _, l := range ledgers {
		sets, err := collect(t.Context(), l, allocation.Query{Window: w, Stored: true})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "either", sums(t, sets...), sums(t, r.exactly(w)))
	}
	if asked := r.model.asked(); len(asked) > 0 {
		t.Errorf("computed again: %v", asked)
	}
}

func TestReaders(t *testing.T) {
	r := live(t, "2026-03-02T12:20", ledger.Options{Backfill: -1}, func(*rig) {})
	want, files := counted(r.Accrued()), len(r.bucket.Objects())
	r.model.err = allocation.ErrNoData
	r.model.asked()
	r.opts.ReadOnly = true
	r.again(t)
	r.run(t)
	if diff := cmp.Diff(want, counted(r.Accrued())); diff != "" {
		t.Errorf("counters of a reader (-want +got):\n%s", diff)
	}
	if set, _, err := r.Latest(); err != nil || !set.Window.End.Equal(at(t, "2026-03-02T12:00")) || r.Ready() != nil {
		t.Errorf("latest %v, %v, %v", set, err, r.Ready())
	}
	w := between(t, "2026-03-01T00:00", "2026-03-02T12:19")
	sets := r.ask(t, allocation.Query{Window: w, Stored: true})
	w.End = at(t, "2026-03-02T12:00")
	same(t, "what is kept", sums(t, sets...), sums(t, r.exactly(w)))
	if n := len(r.bucket.Objects()); n != files {
		t.Errorf("%d files, %d before", n, files)
	}
}

// A reader is ready over a history that has ended, once it has looked.
func TestReaderOfAnArchive(t *testing.T) {
	r := live(t, "2026-03-02T12:20", ledger.Options{Backfill: -1}, func(*rig) {})
	r.opts.ReadOnly = true
	r.again(t)
	r.set(at(t, "2026-04-02T12:20"))
	if r.Ready() == nil {
		t.Error("ready before anything was read")
	}
	r.run(t)
	if set, _, err := r.Latest(); set != nil || !errors.Is(err, allocation.ErrNoData) || r.Ready() != nil {
		t.Errorf("latest %v, %v, %v", set, err, r.Ready())
	}
	if s := r.Store(); s.Lag != 31*24*time.Hour || r.Behind() == nil {
		t.Errorf("its lag is %s, and it is behind with %v", s.Lag, r.Behind())
	}
	w := between(t, "2026-03-01T00:00", "2026-03-02T12:00")
	same(t, "what is kept", sums(t, r.ask(t, allocation.Query{Window: w, Stored: true})...), sums(t, r.exactly(w)))
}

func TestFillGoesOnWhereItEnded(t *testing.T) {
	r := newRig(t, "2026-03-09T12:20", ledger.Options{})
	r.model.from = at(t, "2026-03-02T10:00")
	w := between(t, "2026-03-01T00:00", "2026-03-05T00:00")
	ctx, cancel := context.WithCancel(t.Context())
	var told []ledger.Progress
	err := r.Fill(ctx, w, 1, func(p ledger.Progress) {
		if told = append(told, p); p.Written > 20 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("it ended well although it was ended")
	}
	if n := len(r.kept(t, ledger.Hours)); n != told[len(told)-1].Written {
		t.Errorf("%d hours are kept, told of %+v", n, told)
	}
	missing, err := r.Missing(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var last ledger.Progress
	if err := r.Fill(t.Context(), w, 3, func(p ledger.Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if want := (ledger.Progress{Hours: 96, Kept: 96 - len(missing), Written: 62 - (96 - len(missing)), Empty: 34}); last != want {
		t.Errorf("told of %+v, want %+v", last, want)
	}
	if diff := cmp.Diff([]string{"02T00:00 24h0m0s incomplete", "03T00:00 24h0m0s", "04T00:00 24h0m0s"}, r.kept(t, ledger.Days)); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

// TestShardOfNothing has a shard with no node keep its hours and days, which are empty: they are not missing.
func TestShardOfNothing(t *testing.T) {
	shard := allocation.Shard{Index: 1, Of: 20}
	for has := true; has; shard.Index++ {
		has = false
		for i := range nodes {
			has = has || (allocation.Shard{Index: shard.Index + 1, Of: shard.Of}).Has("c1", fmt.Sprint("node-", i))
		}
	}
	r := newRig(t, "2026-03-05T12:30", ledger.Options{})
	r.model.shard = shard
	w := between(t, "2026-03-03T00:00", "2026-03-04T00:00")
	var done ledger.Progress
	if err := r.Fill(t.Context(), w, 1, func(p ledger.Progress) { done = p }); err != nil || done.Written != 24 || done.Empty != 0 {
		t.Errorf("filled %+v, %v", done, err)
	}
	if missing, err := r.Missing(t.Context(), w); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
	if days := r.kept(t, ledger.Days); len(days) != 1 {
		t.Errorf("days %v, want one", days)
	}
	r.model.asked()
	if sets := r.ask(t, allocation.Query{Window: w, Stored: true}); len(sets) != 1 || !sets[0].Empty() || len(r.model.asked()) > 0 {
		t.Errorf("got %d sets, or they were computed again", len(sets))
	}
}
