package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// computer calls a function.
type computer func(ctx context.Context, q allocation.Query) ([]*allocation.Set, error)

func (c computer) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	return c(ctx, q)
}

// empty makes the empty sets of a query.
func empty(q allocation.Query) ([]*allocation.Set, error) {
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	var sets []*allocation.Set
	for _, w := range windows {
		sets = append(sets, allocation.NewSet(w, allocation.NewDict()))
	}
	return sets, nil
}

// query is the i-th hour of 2026.
func query(i int) allocation.Query {
	start := time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
	return allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Hour)}}
}

// collect gathers the sets of a query, or its error.
func collect(ctx context.Context, l *ledger.Ledger, q allocation.Query) (sets []*allocation.Set, err error) {
	for s, err := range l.Sets(ctx, q) {
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

func TestSetsInOrder(t *testing.T) {
	l := ledger.New(computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) { return empty(q) }), log.NewNopLogger(), ledger.Options{})
	q := query(0)
	q.Step = 20 * time.Minute
	sets, err := collect(t.Context(), l, q)
	if err != nil || len(sets) != 3 || !sets[0].Window.Start.Equal(q.Window.Start) {
		t.Errorf("got %d sets, %v", len(sets), err)
	}
	for s, err := range l.Sets(t.Context(), q) {
		if err != nil || s != nil {
			break // leaving early must not panic
		}
	}
	if s := l.Stats(); s.Computations != 2 || s.Errors != 0 || s.Running != 0 || s.Waiting != 0 || s.LastSuccess.IsZero() {
		t.Errorf("stats %+v", s)
	}
}

func TestEqualQueriesShareOneComputation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		l := ledger.New(computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return empty(q)
		}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 8})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				q := query(i % 2)
				q.Window.Start = q.Window.Start.In(time.FixedZone("", 3600*(i%3))) // the same instant
				if _, err := collect(t.Context(), l, q); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d computations, want 2", n)
		}
	})
}

func TestLeavingWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canceled := make(chan struct{}, 1)
		l := ledger.New(computer(func(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
			select {
			case <-time.After(time.Minute):
				return empty(q)
			case <-ctx.Done():
				canceled <- struct{}{}
				return nil, ctx.Err()
			}
		}), log.NewNopLogger(), ledger.Options{})

		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		errs := make(chan error, 3)
		ask := func(ctx context.Context) { _, err := collect(ctx, l, query(0)); errs <- err }
		go ask(first)
		go ask(second)
		synctest.Wait()
		leaveFirst()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that left got %v", err)
		}
		synctest.Wait()
		if len(canceled) > 0 {
			t.Fatal("canceled while another one waits")
		}
		leaveSecond()
		<-canceled
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("the last one that left got %v", err)
		}

		go ask(t.Context()) // does not join what was canceled
		if err := <-errs; err != nil {
			t.Errorf("after the cancellation: %v", err)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger.New(computer(func(ctx context.Context, _ allocation.Query) ([]*allocation.Set, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("ask Prometheus: %w: %w", allocation.ErrUpstream, ctx.Err())
		}), log.NewNopLogger(), ledger.Options{Timeout: 5 * time.Second})
		_, err := collect(t.Context(), l, query(0))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, allocation.ErrUpstream) || !strings.Contains(err.Error(), "longer than 5s (ask Prometheus") {
			t.Errorf("error %v", err)
		}
		if s := l.Stats(); s.Errors != 1 || s.Computations != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestConcurrencyAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		l := ledger.New(computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return empty(q)
		}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 2, MaxQueue: 3})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if _, err := collect(t.Context(), l, large(i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if s := l.Stats(); s.Running != 2 || s.Waiting != 3 {
			t.Errorf("stats %+v", s)
		}
		if _, err := collect(t.Context(), l, large(9)); !errors.Is(err, allocation.ErrBusy) || !strings.Contains(err.Error(), "try again") {
			t.Errorf("beyond the queue: %v", err)
		}
		wg.Wait()
		if most.Load() != 2 {
			t.Errorf("%d ran at once, want 2", most.Load())
		}
	})
}

// large is a query of two hours, and is not small.
func large(i int) allocation.Query {
	q := query(i)
	q.Window.End = q.Window.End.Add(time.Hour)
	return q
}

// TestSmallQuestionsHaveAPlace holds that questions about an hour are answered while larger ones take all places and the queue.
func TestSmallQuestionsHaveAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		l := ledger.New(computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			if q.Window.Duration() > time.Hour {
				<-end
			}
			return empty(q)
		}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 2, MaxQueue: 1})
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if _, err := collect(t.Context(), l, large(i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for i := range 3 {
			if _, err := collect(t.Context(), l, query(i)); err != nil {
				t.Errorf("a small question: %v", err)
			}
		}
		if s := l.Stats(); s.Running != 2 || s.Waiting != 1 || s.Computations != 3 {
			t.Errorf("stats %+v", s)
		}
		close(end)
		wg.Wait()
	})
}

func TestPanicBecomesAnError(t *testing.T) {
	var logged strings.Builder
	l := ledger.New(computer(func(context.Context, allocation.Query) ([]*allocation.Set, error) { panic("oops") }), log.NewLogfmtLogger(&logged), ledger.Options{})
	_, err := collect(t.Context(), l, query(0))
	if err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(logged.String(), "ledger_test.go") {
		t.Errorf("log %q has no stack", logged.String())
	}
}

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
				l := ledger.New(computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
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
					return empty(q)
				}), log.NewNopLogger(), ledger.Options{Zone: zone, Now: now, Grace: tc.grace})
				if err := l.Run(ctx); err != nil {
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
		l := ledger.New(computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			calls.Add(1)
			if fail.Load() {
				return nil, allocation.ErrUpstream
			}
			return empty(q)
		}), log.NewNopLogger(), ledger.Options{})
		if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "not done yet") {
			t.Errorf("before the first computation: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- l.Run(ctx) }()
		synctest.Wait()
		if err := l.Ready(); !errors.Is(err, allocation.ErrUpstream) {
			t.Errorf("after the first failure: %v", err)
		}
		time.Sleep(29 * time.Second)
		if calls.Load() != 1 {
			t.Errorf("%d tries within 29s", calls.Load())
		}
		fail.Store(false)
		time.Sleep(2 * time.Second)
		if err := l.Ready(); err != nil {
			t.Errorf("after a success: %v", err)
		}
		set, at, err := l.Latest()
		if set == nil || at.IsZero() || err != nil {
			t.Errorf("latest %v, %v, %v", set, at, err)
		}

		fail.Store(true)
		time.Sleep(2 * time.Hour)
		kept, keptAt, err := l.Latest()
		if kept != set || !keptAt.Equal(at) || !errors.Is(err, allocation.ErrUpstream) {
			t.Errorf("after a later failure: %v, %v, %v", kept, keptAt, err)
		}
		if err := l.Ready(); err != nil {
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
