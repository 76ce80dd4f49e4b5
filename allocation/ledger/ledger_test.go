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
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

func TestSetsInOrder(t *testing.T) {
	l := ledger.New(ledgertest.Computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) { return ledgertest.Empty(q) }), log.NewNopLogger(), ledger.Options{})
	q := ledgertest.Hour(0)
	q.Step = 20 * time.Minute
	sets, err := ledgertest.Collect(t.Context(), l, q)
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
		l := ledger.New(ledgertest.Computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return ledgertest.Empty(q)
		}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 8})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				q := ledgertest.Hour(i % 2)
				q.Window.Start = q.Window.Start.In(time.FixedZone("", 3600*(i%3))) // the same instant
				if _, err := ledgertest.Collect(t.Context(), l, q); err != nil {
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
		l := ledger.New(ledgertest.Computer(func(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
			select {
			case <-time.After(time.Minute):
				return ledgertest.Empty(q)
			case <-ctx.Done():
				canceled <- struct{}{}
				return nil, ctx.Err()
			}
		}), log.NewNopLogger(), ledger.Options{})

		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		errs := make(chan error, 3)
		ask := func(ctx context.Context) { _, err := ledgertest.Collect(ctx, l, ledgertest.Hour(0)); errs <- err }
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
		l := ledger.New(ledgertest.Computer(func(ctx context.Context, _ allocation.Query) ([]*allocation.Set, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("ask Prometheus: %w: %w", allocation.ErrUpstream, ctx.Err())
		}), log.NewNopLogger(), ledger.Options{Timeout: 5 * time.Second})
		_, err := ledgertest.Collect(t.Context(), l, ledgertest.Hour(0))
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
		l := ledger.New(ledgertest.Computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return ledgertest.Empty(q)
		}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 2, MaxQueue: 3})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if _, err := ledgertest.Collect(t.Context(), l, large(i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if s := l.Stats(); s.Running != 2 || s.Waiting != 3 {
			t.Errorf("stats %+v", s)
		}
		if _, err := ledgertest.Collect(t.Context(), l, large(9)); !errors.Is(err, allocation.ErrBusy) || !strings.Contains(err.Error(), "try again") {
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
	q := ledgertest.Hour(i)
	q.Window.End = q.Window.End.Add(time.Hour)
	return q
}

// TestSmallQuestionsHaveAPlace holds that questions about an hour are answered while larger ones take all places and the queue.
func TestSmallQuestionsHaveAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		l := ledger.New(ledgertest.Computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
			if q.Window.Duration() > time.Hour {
				<-end
			}
			return ledgertest.Empty(q)
		}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 2, MaxQueue: 1})
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if _, err := ledgertest.Collect(t.Context(), l, large(i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for i := range 3 {
			if _, err := ledgertest.Collect(t.Context(), l, ledgertest.Hour(i)); err != nil {
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
	l := ledger.New(ledgertest.Computer(func(context.Context, allocation.Query) ([]*allocation.Set, error) { panic("oops") }), log.NewLogfmtLogger(&logged), ledger.Options{})
	_, err := ledgertest.Collect(t.Context(), l, ledgertest.Hour(0))
	if err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(logged.String(), "ledger_test.go") {
		t.Errorf("log %q has no stack", logged.String())
	}
}
