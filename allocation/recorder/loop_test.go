package recorder_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name, zone, start string
		grace             time.Duration
		want              []string // ends of the hours of the first three computations
		at                []string // when they are made
	}{
		{
			"in the hour", "UTC", "2026-05-05T10:30:00Z", 0,
			[]string{"2026-05-05T10:00:00Z", "2026-05-05T11:00:00Z", "2026-05-05T12:00:00Z"},
			[]string{"2026-05-05T10:30:00Z", "2026-05-05T11:10:00Z", "2026-05-05T12:10:00Z"},
		},
		{
			"in the grace period", "UTC", "2026-05-05T10:03:00Z", 0,
			[]string{"2026-05-05T09:00:00Z", "2026-05-05T10:00:00Z", "2026-05-05T11:00:00Z"},
			[]string{"2026-05-05T10:03:00Z", "2026-05-05T10:10:00Z", "2026-05-05T11:10:00Z"},
		},
		{
			"no grace", "UTC", "2026-05-05T10:03:00Z", -1,
			[]string{"2026-05-05T10:00:00Z", "2026-05-05T11:00:00Z", "2026-05-05T12:00:00Z"},
			[]string{"2026-05-05T10:03:00Z", "2026-05-05T11:00:00Z", "2026-05-05T12:00:00Z"},
		},
		{
			"hours of Kolkata begin at :30", "Asia/Kolkata", "2026-05-05T10:03:00Z", 0,
			[]string{"2026-05-05T09:30:00Z", "2026-05-05T10:30:00Z", "2026-05-05T11:30:00Z"},
			[]string{"2026-05-05T10:03:00Z", "2026-05-05T10:40:00Z", "2026-05-05T11:40:00Z"},
		},
		{
			"the repeated hour of autumn is computed twice", "Europe/Berlin", "2026-10-25T00:20:00Z", 0,
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
			[]string{"2026-10-25T00:20:00Z", "2026-10-25T01:10:00Z", "2026-10-25T02:10:00Z"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			zone, err := time.LoadLocation(tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			start, err := time.Parse(time.RFC3339, tc.start)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				shift := time.Until(start)
				now := func() time.Time { return time.Now().Add(shift) }
				ctx, cancel := context.WithCancel(t.Context())
				n := 0
				l := ledger.New(ledgertest.Computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
					if got := q.Window.End.UTC().Format(time.RFC3339); got != tc.want[n] {
						t.Errorf("computation %d ends at %s, want %s", n, got, tc.want[n])
					}
					if q.Window.Duration() != time.Hour {
						t.Errorf("hour of %s", q.Window.Duration())
					}
					if got := now().UTC().Format(time.RFC3339); got != tc.at[n] {
						t.Errorf("computation %d at %s, want %s", n, got, tc.at[n])
					}
					if n++; n == len(tc.want) {
						cancel()
					}
					return ledgertest.Empty(q)
				}), log.NewNopLogger(), ledger.Options{Zone: zone, Now: now, Grace: tc.grace})
				if err := recorder.New(l, log.NewNopLogger(), recorder.Options{}).Run(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestFailuresKeepTheLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		fail.Store(true)
		var calls atomic.Int32
		l := ledger.New(ledgertest.Computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			calls.Add(1)
			if fail.Load() {
				return nil, allocation.ErrUpstream
			}
			return ledgertest.Empty(q)
		}), log.NewNopLogger(), ledger.Options{})
		r := recorder.New(l, log.NewNopLogger(), recorder.Options{})
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "not done yet") {
			t.Errorf("before the first computation: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		if err := r.Ready(); !errors.Is(err, allocation.ErrUpstream) {
			t.Errorf("after the first failure: %v", err)
		}
		time.Sleep(29 * time.Second)
		if calls.Load() != 1 {
			t.Errorf("%d tries within 29s", calls.Load())
		}
		fail.Store(false)
		time.Sleep(2 * time.Second)
		if err := r.Ready(); err != nil {
			t.Errorf("after a success: %v", err)
		}
		set, at, err := r.Latest()
		if set == nil || at.IsZero() || err != nil {
			t.Errorf("latest %v, %v, %v", set, at, err)
		}

		fail.Store(true)
		time.Sleep(2 * time.Hour)
		kept, keptAt, err := r.Latest()
		if kept != set || !keptAt.Equal(at) || !errors.Is(err, allocation.ErrUpstream) {
			t.Errorf("after a later failure: %v, %v, %v", kept, keptAt, err)
		}
		if err := r.Ready(); err != nil {
			t.Errorf("not ready after a later failure: %v", err)
		}
		if s := l.Stats(); s.Errors < 4 || s.Errors > 20 {
			t.Errorf("%d errors in two hours", s.Errors)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// After a restart while the source is down the newest hour that is kept is shown, as if there had been no restart, and it is
// said why it is none newer.
func TestRestartWhileTheSourceIsDown(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-05T12:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(*ledgertest.Rig) {})
	before, _, _ := r.Latest()
	for _, tc := range []struct {
		name, now string
		want      string // the hour that is shown
	}{
		{"some hours later", "2026-03-05T15:30", "05T11:00"},
		{"long after", "2026-03-07T15:30", "none"},
	} {
		r.StopAndRestart(t)
		r.SetTime(ledgertest.ParseTime(t, tc.now))
		r.Model.Err = ledgertest.ErrRefused
		r.Start(t)
		got := "none"
		set, _, err := r.Latest()
		if set != nil {
			got = set.Window.Start.UTC().Format("02T15:04")
			ledgertest.Same(t, tc.name, ledgertest.Sums(t, set), ledgertest.Sums(t, before))
		}
		if got != tc.want || !errors.Is(err, allocation.ErrUpstream) {
			t.Errorf("%s: %s, %v, want %s", tc.name, got, err, tc.want)
		}
		why := r.Behind()
		if tc.want == "none" {
			why = r.Ready()
		} else if err := r.Ready(); err != nil {
			t.Errorf("%s: not ready: %v", tc.name, err)
		}
		if why == nil || !strings.Contains(why.Error(), "connection refused") {
			t.Errorf("%s: it says %v", tc.name, why)
		}
	}
	r.Model.Err = nil
	r.Pass(time.Hour)
	if set, _, err := r.Latest(); err != nil || set.Window.Start.Before(ledgertest.ParseTime(t, "2026-03-07T14:00")) || r.Ready() != nil {
		t.Errorf("once it is up: %v, %v, %v", set, err, r.Ready())
	}
}

// An hour that closes is shown once, with the counters that have it, so that metrics are not made twice.
func TestAnHourIsShownOnce(t *testing.T) {
	var r *ledgertest.Rig
	var shown []string
	o := ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Changed: func() {
		latest, _, _ := r.Latest()
		text := "latest " + latest.Window.End.Format("15:04")
		if a := r.Accrued(); a != nil {
			text += ", counted " + a.Window.End.Format("15:04")
		}
		shown = append(shown, text)
	}}}
	ledgertest.Live(t, "2026-03-01T03:30", o, func(made *ledgertest.Rig) { r = made })
	shown = nil
	r.Pass(2 * time.Hour)
	r.Stop()
	if want := []string{"latest 04:00, counted 04:00", "latest 05:00, counted 05:00"}; !slices.Equal(want, shown) {
		t.Errorf("shown: %q, want %q", shown, want)
	}
}
