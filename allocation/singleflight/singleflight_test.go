package singleflight_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/promcost/promcost/allocation/singleflight"
)

// TestDo has callers come one second apart to a computation that takes five. Each waits for as long as its row says.
func TestDo(t *testing.T) {
	failure := errors.New("down")
	for _, tt := range []struct {
		name    string
		patient []time.Duration // of each caller
		fails   error
		want    []error       // of each caller
		runs    int           // computations
		ended   time.Duration // when the first computation ended
	}{
		{"all wait for one", []time.Duration{time.Hour, time.Hour, time.Hour}, nil, []error{nil, nil, nil}, 1, 5 * time.Second},
		{"all get its failure", []time.Duration{time.Hour, time.Hour}, failure, []error{failure, failure}, 1, 5 * time.Second},
		{"the first one leaves", []time.Duration{2 * time.Second, time.Hour}, nil, []error{context.DeadlineExceeded, nil}, 1, 5 * time.Second},
		{"all leave", []time.Duration{2 * time.Second, 3 * time.Second}, nil, []error{context.DeadlineExceeded, context.DeadlineExceeded}, 1, 4 * time.Second},
		{"it was given up before", []time.Duration{500 * time.Millisecond, time.Hour}, nil, []error{context.DeadlineExceeded, nil}, 2, 500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var ended []time.Duration
				runs, released, began := 0, 0, time.Now()
				group := singleflight.Group[string, int]{Release: func(int) { released++ }}
				run := func(ctx context.Context) (int, error) {
					mu.Lock()
					runs++
					value := runs
					mu.Unlock()
					select {
					case <-time.After(5 * time.Second):
					case <-ctx.Done():
					}
					mu.Lock()
					defer mu.Unlock()
					ended = append(ended, time.Since(began))
					return value, errors.Join(tt.fails, ctx.Err())
				}
				var wg sync.WaitGroup
				for i, patience := range tt.patient {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * time.Second)
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						value, leave, err := group.Do(ctx, "key", run)
						defer leave()
						if !errors.Is(err, tt.want[i]) || (tt.want[i] == nil && value != tt.runs) {
							t.Errorf("caller %d: %d, %v; want %v", i, value, err, tt.want[i])
						}
						if err == nil && released == tt.runs {
							t.Errorf("caller %d: the value was released before", i)
						}
					})
				}
				wg.Wait()
				synctest.Wait()
				if runs != tt.runs || ended[0] != tt.ended || released != runs || group.Waiting("key") != 0 {
					t.Errorf("%d runs, ended at %s, %d released; want %d at %s", runs, ended, released, tt.runs, tt.ended)
				}
			})
		})
	}
}

// TestClose has Close wait for the computation that it gives up, and nothing begin after it.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group singleflight.Group[int, string]
		over := false
		got := make(chan error)
		go func() {
			_, leave, err := group.Do(t.Context(), 1, func(ctx context.Context) (string, error) {
				<-ctx.Done()
				time.Sleep(time.Second) // to clean up
				over = true
				return "", ctx.Err()
			})
			leave()
			got <- err
		}()
		synctest.Wait()
		if n := group.Waiting(1); n != 1 {
			t.Errorf("%d wait, want 1", n)
		}
		go group.Close()
		if err := <-got; !errors.Is(err, context.Canceled) || !over {
			t.Errorf("%v, over %t", err, over)
		}
		group.Close()
		_, leave, err := group.Do(t.Context(), 2, func(context.Context) (string, error) { t.Error("it began after Close"); return "", nil })
		leave()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after Close: %v", err)
		}
	})
}
