package recorder_test

import (
	"context"
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

// TestRefresh checks that Run computes its hour again after a Refresh, whatever it was doing, and that nobody gets a result
// whose computation began before.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var price, calls atomic.Int32
		price.Store(1)
		l := ledger.New(ledgertest.Computer(func(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
			calls.Add(1)
			at := price.Load()
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Minute):
			}
			sets, err := ledgertest.Empty(q)
			for _, s := range sets {
				s.Residuals = []allocation.Residual{{Cost: float64(at)}}
			}
			return sets, err
		}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 4})
		r := recorder.New(l, log.NewNopLogger(), recorder.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		refresh := func(to int32) {
			price.Store(to)
			r.Refresh()
		}
		check := func(want float64, wantCalls int32) {
			t.Helper()
			set, _, err := r.Latest()
			if err != nil || set == nil || set.Residuals[0].Cost != want {
				t.Errorf("latest is %v, %v, want the one of price %v", set, err, want)
			}
			if got := calls.Load(); got != wantCalls {
				t.Errorf("%d computations, want %d", got, wantCalls)
			}
		}
		time.Sleep(90 * time.Second)
		check(1, 1)
		refresh(2) // while it waits for the next hour
		time.Sleep(90 * time.Second)
		check(2, 2)
		refresh(3)
		time.Sleep(30 * time.Second)
		refresh(4) // while it computes
		time.Sleep(2 * time.Minute)
		check(4, 4)

		ask := func(asked chan<- float64) {
			sets, err := ledgertest.Collect(t.Context(), l, ledgertest.Hour(1))
			if err != nil {
				t.Error(err)
			}
			asked <- sets[0].Residuals[0].Cost
		}
		before, after := make(chan float64), make(chan float64)
		go ask(before)
		synctest.Wait()
		refresh(5)
		go ask(after)
		if first, second := <-before, <-after; first != 4 || second != 5 {
			t.Errorf("asked before and after the refresh: %v and %v, want 4 and 5", first, second)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
