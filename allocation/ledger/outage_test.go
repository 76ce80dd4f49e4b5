package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

// lacking counts the hours that failed. All of them must say why.
func lacking(t *testing.T, list []string) (n int) {
	t.Helper()
	for _, text := range list {
		if !strings.Contains(text, " ") {
			continue
		}
		if n++; !strings.Contains(text, "connection refused") {
			t.Errorf("%q does not say why", text)
		}
	}
	return n
}

// A source that is down is asked once per query, and not again for a while by other queries. Stored sets are returned all the
// same.
func TestHoursWhileTheSourceIsDown(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	if err := r.Fill(t.Context(), ledgertest.Between(t, "2026-03-03T00:00", "2026-03-03T06:00"), 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Model.Asked()
	r.Model.Err = ledgertest.ErrRefused
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-05T12:00")
	list, _ := hoursOf(t, r.Hours(t.Context(), w, nil))
	if n := lacking(t, list); len(list) != 108 || n != 102 {
		t.Errorf("%d hours, of which %d are lacking: %v", len(list), n, list)
	}
	if diff := cmp.Diff([]string{"01T00:00 02T00:00 1h0m0s"}, r.Model.Asked()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, hours := range [][]string{first(hoursOf(t, r.Hours(t.Context(), w, nil))), first(hoursOf(t, r.Counted(t.Context(), w, nil)))} {
				if n := lacking(t, hours); n != 102 || !slices.Contains(hours, "03T05:00") {
					t.Errorf("%d are lacking: %v", n, hours)
				}
			}
		})
	}
	wg.Wait()
	if sets, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}); err != nil || len(sets) != 5 || sets[2].Empty() || !strings.Contains(strings.Join(sets[2].Warnings, " "), "connection refused") {
		t.Errorf("sets: %v, %v", sets, err)
	}
	if asked := r.Model.Asked(); len(asked) > 0 {
		t.Errorf("asked again for %v", asked)
	}
	r.SetTime(ledgertest.ParseTime(t, "2026-03-05T12:30").Add(20 * time.Second))
	r.Model.Err = nil
	if list, _ = hoursOf(t, r.Hours(t.Context(), w, nil)); lacking(t, list) != 0 || len(list) != 108 {
		t.Errorf("once it is up: %v", list)
	}
}

func first(list []string, _ []*allocation.Set) []string { return list }

// TestQuestionsWhileTheSourceIsDown asks for days of which some hours are kept. Once the source has failed, a question asks it for no
// further hours, nor for the running one, however long it takes to read what is kept.
func TestQuestionsWhileTheSourceIsDown(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	var midnights []time.Time
	for day := range 4 {
		noon := ledgertest.ParseTime(t, "2026-03-01T12:00").AddDate(0, 0, day)
		midnights = append(midnights, noon.Add(12*time.Hour))
		if err := r.Fill(t.Context(), allocation.Window{Start: noon, End: noon.Add(time.Hour)}, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.Model.Asked()
	r.Model.Err = ledgertest.ErrRefused
	now := ledgertest.ParseTime(t, "2026-03-05T12:30")
	r.History.FailWith(func(string) error {
		now = now.Add(time.Minute)
		r.SetTime(now)
		return nil
	})
	sets := r.Ask(t, allocation.Query{Window: ledgertest.Between(t, "2026-03-01T00:00", "2026-03-05T12:30"), Borders: midnights, Stored: true})
	if diff := cmp.Diff([]string{"01T00:00 01T12:00 1h0m0s"}, r.Model.Asked()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	for i, s := range sets {
		if !strings.Contains(strings.Join(s.Warnings, " "), "connection refused") || !s.Incomplete || s.Empty() != (i == 4) {
			t.Errorf("day %d: empty is %v, incomplete is %v, warnings %q", i+1, s.Empty(), s.Incomplete, s.Warnings)
		}
	}
}

// TestDamageIsNoOutage has a source that cannot read most of a day of its own. It is asked for the days after it all the same.
func TestDamageIsNoOutage(t *testing.T) {
	damaged := ledgertest.Between(t, "2026-03-02T06:00", "2026-03-03T00:00")
	inIt := func(w allocation.Window) bool { return damaged.Start.Before(w.End) && w.Start.Before(damaged.End) }
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-05T00:00")
	newRig := func() *ledgertest.Rig {
		r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
		r.Model.Without, r.Model.Incomplete = inIt, inIt
		return r
	}
	for i, s := range newRig().Ask(t, allocation.Query{Window: w, Step: 24 * time.Hour, Stored: true}) {
		if s.Empty() || s.Incomplete != (i == 1) {
			t.Errorf("day %d: empty is %v, incomplete is %v, warnings %q", i+1, s.Empty(), s.Incomplete, s.Warnings)
		}
	}
	r := newRig()
	for s, err := range r.Hours(t.Context(), w, nil) {
		if (err != nil) != inIt(s.Window) {
			t.Errorf("hour %s: %v", s.Window.Start, err)
		}
	}
}

// Where nothing is kept it is the same; and any answer of the source ends it.
func TestOutageOfALedgerThatKeepsNothing(t *testing.T) {
	m := &ledgertest.Model{Rate: ledgertest.DefaultRate, TooMuch: 10 * time.Hour, Err: ledgertest.ErrRefused}
	now := ledgertest.ParseTime(t, "2026-03-05T12:30")
	l := ledger.New(m, log.NewNopLogger(), ledger.Options{Now: func() time.Time { return now }})
	w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-05T12:00")
	for range 3 {
		if list, _ := hoursOf(t, l.Hours(t.Context(), w, nil)); lacking(t, list) != 60 {
			t.Errorf("%v", list)
		}
	}
	if asked := m.Asked(); len(asked) != 1 {
		t.Errorf("asked for %v", asked)
	}
	m.Err = nil
	if _, err := ledgertest.Collect(t.Context(), l, allocation.Query{Window: ledgertest.Between(t, "2026-03-05T12:00", "2026-03-05T12:20")}); err != nil {
		t.Fatal(err)
	}
	if list, _ := hoursOf(t, l.Hours(t.Context(), w, nil)); lacking(t, list) != 0 {
		t.Errorf("once it has answered: %v", list)
	}
}

// Where the ledger's clock stands still, as that of blocks does, the source is asked again all the same; and a query that
// runs out of time says what the source failed in.
func TestOutageByAClockThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &ledgertest.Model{Rate: ledgertest.DefaultRate, Err: ledgertest.ErrRefused}
		now := ledgertest.ParseTime(t, "2026-03-05T12:30")
		l := ledger.New(m, log.NewNopLogger(), ledger.Options{Now: func() time.Time { return now }})
		w := ledgertest.Between(t, "2026-03-05T00:00", "2026-03-05T12:00")
		hoursOf(t, l.Hours(t.Context(), w, nil))
		time.Sleep(16 * time.Second)
		m.Slow = func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var last error
		for _, err := range l.Hours(ctx, w, nil) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || !strings.Contains(last.Error(), "connection refused") {
			t.Errorf("late: %v", last)
		}
		if n := len(m.Asked()); n != 2 {
			t.Errorf("asked %d times, want 2", n)
		}
	})
}
