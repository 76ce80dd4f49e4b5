package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/recorder"
)

// hoursOf are hours as they are yielded, and their sets.
func hoursOf(t *testing.T, hours iter.Seq2[*allocation.Set, error]) (list []string, sets []*allocation.Set) {
	t.Helper()
	for s, err := range hours {
		switch {
		case s == nil:
			list = append(list, "end: "+err.Error())
		case err != nil:
			list = append(list, s.Window.Start.UTC().Format("02T15:04 ")+err.Error())
		default:
			text := s.Window.Start.UTC().Format("02T15:04")
			if s.Len() == 0 {
				text += " empty"
			}
			list, sets = append(list, text), append(sets, s)
		}
	}
	return list, sets
}

// clockHours are hours from a start on.
func clockHours(t *testing.T, from string, n int) (list []string) {
	for i := range n {
		list = append(list, ledgertest.ParseTime(t, from).Add(time.Duration(i)*time.Hour).UTC().Format("02T15:04"))
	}
	return list
}

func TestHours(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Resolution: time.Minute}})
	if err := r.Fill(t.Context(), ledgertest.Between(t, "2026-03-03T04:00", "2026-03-04T05:00"), 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Model.Asked()
	// From the middle of an hour to that of one which is not closed.
	w := ledgertest.Between(t, "2026-03-02T22:30", "2026-03-05T12:29")
	list, sets := hoursOf(t, r.Hours(t.Context(), w, nil))
	if diff := cmp.Diff(clockHours(t, "2026-03-02T23:00", 61), list); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, s := range sets {
		ledgertest.Same(t, s.Window.Start.String(), ledgertest.Sums(t, s), ledgertest.Sums(t, r.Exactly(s.Window)))
	}
	if diff := cmp.Diff([]string{
		"02T23:00 03T00:00 1h0m0s", "03T00:00 03T04:00 1h0m0s", "04T05:00 05T00:00 1h0m0s", "05T00:00 05T12:00 1h0m0s",
	}, r.Model.Asked()); diff != "" {
		t.Errorf("computed (-want +got):\n%s", diff)
	}
	_, again := hoursOf(t, r.Hours(t.Context(), w, nil))
	if asked := r.Model.Asked(); len(asked) > 0 {
		t.Errorf("computed again: %v", asked)
	}
	for i := range sets {
		if diff := cmp.Diff(rowsOf(sets[i]), rowsOf(again[i])); diff != "" {
			t.Fatalf("rows of what was computed and what is read (-want +got):\n%s", diff)
		}
	}
	for _, err := range r.Hours(t.Context(), w, nil) {
		if err != nil {
			t.Error(err)
		}
		break // whoever reads ahead ends
	}
}

// rowsOf are the rows of a set in their order.
func rowsOf(s *allocation.Set) (list []string) {
	for row := range s.Len() {
		list = append(list, fmt.Sprint(s.Name(row), s.Value(allocation.Cost.Of(allocation.CPU), row)))
	}
	return list
}

func TestHoursThatCannotBeHad(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	r.Model.From = ledgertest.ParseTime(t, "2026-03-05T02:00")
	r.Model.Without = func(w allocation.Window) bool { return w.Start.Hour() == 5 }
	w := ledgertest.Between(t, "2026-03-04T23:00", "2026-03-05T08:00")
	list, _ := hoursOf(t, r.Hours(t.Context(), w, nil))
	for i, text := range list {
		if strings.Contains(text, "no data") {
			list[i] = text[:len("04T23")]
		}
	}
	if diff := cmp.Diff([]string{"04T23", "05T00", "05T01", "05T02:00", "05T03:00", "05T04:00", "05T05", "05T06:00", "05T07:00"}, list); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.Model.Err = fmt.Errorf("%w: refused", allocation.ErrUpstream)
	list, _ = hoursOf(t, r.Hours(t.Context(), ledgertest.Between(t, "2026-03-05T06:00", "2026-03-05T10:00"), nil))
	for i, text := range list {
		list[i], _, _ = strings.Cut(text, " compute")
	}
	if diff := cmp.Diff(clockHours(t, "2026-03-05T06:00", 4), list); diff != "" {
		t.Errorf("kept ones beside what the source refuses (-want +got):\n%s", diff)
	}
}

func TestHoursOfDamagedAndBrokenHistories(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	w := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00")
	if err := r.Fill(t.Context(), w, 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Damage(t, "allocations_hourly")
	r.Restart(t)
	list, sets := hoursOf(t, r.Hours(t.Context(), w, nil))
	if diff := cmp.Diff(clockHours(t, "2026-03-04T00:00", 24), list); diff != "" {
		t.Errorf("damaged (-want +got):\n%s", diff)
	}
	ledgertest.Same(t, "damaged", ledgertest.Sums(t, sets...), ledgertest.Sums(t, r.Exactly(w)))
	broken := errors.New("the disk is gone")
	for _, what := range []string{"read", "list"} {
		r.History.Fail = func(of string) error {
			if of == what {
				return broken
			}
			return nil
		}
		list, _ = hoursOf(t, r.Hours(t.Context(), w, nil))
		want := 24 // an error each
		if what == "list" {
			want = 1 // nothing at all
		}
		if len(list) != want || !strings.Contains(list[0], "the disk is gone") || strings.HasPrefix(list[0], "end: upstream failure") != (what == "list") {
			t.Errorf("%s: %v", what, list)
		}
		r.History.Mend()
	}
}

func TestHoursOfALedgerThatKeepsNothing(t *testing.T) {
	m := &ledgertest.Model{Rate: ledgertest.DefaultRate, TooMuch: 10 * time.Hour}
	now := ledgertest.ParseTime(t, "2026-03-05T12:30")
	l := ledger.New(m, log.NewNopLogger(), ledger.Options{Now: func() time.Time { return now }})
	w := ledgertest.Between(t, "2026-03-04T20:00", "2026-03-05T13:00")
	list, _ := hoursOf(t, l.Hours(t.Context(), w, &allocation.Projection{}))
	if diff := cmp.Diff(clockHours(t, "2026-03-04T20:00", 16), list); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.Asked()
	now = now.Add(time.Hour)
	if list, _ = hoursOf(t, l.Counted(t.Context(), w, nil)); len(list) != 17 {
		t.Errorf("%v", list)
	}
	if diff := cmp.Diff([]string{"05T12:00 05T13:00 1h0m0s"}, m.Asked()); diff != "" {
		t.Errorf("an hour later (-want +got):\n%s", diff)
	}
}

// Hours as they were counted add up to what counters show, to the last bit, whatever came later.
func TestCountedHours(t *testing.T) {
	hidden := map[int64]bool{}
	for i := 5; i < 9; i++ {
		hidden[ledgertest.ParseTime(t, "2026-03-01T00:00").Add(time.Duration(i)*time.Hour).Unix()] = true
	}
	r := ledgertest.Live(t, "2026-03-01T12:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) {
		r.Model.Without = func(w allocation.Window) bool { return hidden[w.Start.Unix()] }
	})
	r.Model.Lock()
	clear(hidden)
	r.Model.Unlock()
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-01T12:00")
	if err := r.Fill(t.Context(), w, 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Pass(15 * time.Minute)
	want := clockHours(t, "2026-03-01T00:00", 12)
	list, _ := hoursOf(t, r.Hours(t.Context(), w, nil))
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("hours (-want +got):\n%s", diff)
	}
	list, sets := hoursOf(t, r.Counted(t.Context(), w, nil))
	for i := 5; i < 9; i++ {
		want[i] += " empty"
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("counted hours (-want +got):\n%s", diff)
	}
	sum := metering.NewAccrued(w.Start, nil)
	for _, s := range sets {
		sum = sum.Add(s)
	}
	if diff := cmp.Diff(ledgertest.CountersText(r.Accrued()), ledgertest.CountersText(sum)); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

func TestHoursOfZones(t *testing.T) {
	for _, tc := range []struct {
		zone, now, from, to, first string
		n                          int
	}{
		{"Asia/Kolkata", "2026-03-31T12:00", "2026-03-28T18:00", "2026-03-29T18:30", "2026-03-28T18:30", 24},
		{"Europe/Berlin", "2026-03-31T12:00", "2026-03-28T23:00", "2026-03-29T22:00", "2026-03-28T23:00", 23},
		{"Europe/Berlin", "2026-10-27T12:00", "2026-10-24T22:00", "2026-10-25T23:00", "2026-10-24T22:00", 25},
	} {
		r := ledgertest.NewRig(t, tc.now, ledgertest.Options{Ledger: ledger.Options{Zone: ledgertest.Zone(t, tc.zone)}})
		list, _ := hoursOf(t, r.Hours(t.Context(), ledgertest.Between(t, tc.from, tc.to), nil))
		if diff := cmp.Diff(clockHours(t, tc.first, tc.n), list); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tc.zone, tc.from, diff)
		}
	}
}

func TestHoursAreCancelled(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	w := ledgertest.Between(t, "2026-03-01T00:00", "2026-03-05T00:00")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	list, n := []string(nil), 0
	for s, err := range r.Hours(ctx, w, nil) {
		if n++; n == 30 {
			cancel()
		}
		if s == nil {
			list = append(list, err.Error())
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
	if len(list) != 1 || n == 97 || !slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "hours") }) {
		t.Errorf("%d hours, %v", n, list)
	}
}

// TestHoursOfNobody verifies that a question which ends while the history is listed does not make the history fail.
func TestHoursOfNobody(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Resolution: time.Minute}})
	ctx, cancel := context.WithCancel(t.Context())
	r.History.Fail = func(string) error {
		cancel()
		return ctx.Err()
	}
	if list, _ := hoursOf(t, r.Hours(ctx, ledgertest.Between(t, "2026-03-05T02:00", "2026-03-05T04:00"), nil)); len(list) != 1 || !strings.Contains(list[0], "context canceled") {
		t.Errorf("got %q", list)
	}
	if err := r.Store().Err; err != nil {
		t.Errorf("the history fails: %v", err)
	}
}
