package ledger_test

import (
	"context"
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

// TestMergedBy checks that sets without the labels of merged rows answer only who merges by the same keys, and are never put together with
// stored ones or stored. Sets with all of assets and with few are computed apart, too.
func TestMergedBy(t *testing.T) {
	keysOf := func(t *testing.T, by string) []allocation.Key {
		t.Helper()
		keys, err := allocation.ParseKeys(by, nil)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	t.Run("computations", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int32
			l := ledger.New(ledgertest.Computer(func(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
				calls.Add(1)
				time.Sleep(time.Second)
				return ledgertest.Empty(q)
			}), log.NewNopLogger(), ledger.Options{MaxConcurrency: 8})
			var wg sync.WaitGroup
			for _, by := range []string{"", "namespace", "cluster,namespace", "namespace", "node", "", "cluster,namespace"} {
				q := ledgertest.Hour(0)
				q.MergedBy = keysOf(t, by)
				wg.Go(func() {
					if _, err := ledgertest.Collect(t.Context(), l, q); err != nil {
						t.Error(err)
					}
				})
			}
			for range 2 {
				q := ledgertest.Hour(0)
				q.Only = &allocation.Projection{FewOfAssets: true}
				wg.Go(func() {
					if _, err := ledgertest.Collect(t.Context(), l, q); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if n := calls.Load(); n != 5 {
				t.Errorf("%d computations, want 5", n)
			}
		})
	})
	t.Run("stored hours", func(t *testing.T) {
		r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Resolution: time.Minute}})
		stored := ledgertest.Between(t, "2026-03-05T00:00", "2026-03-05T10:00")
		var mu sync.Mutex
		var merged []bool
		over := r.Open(ledgertest.Computer(func(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
			mu.Lock()
			defer mu.Unlock()
			merged = append(merged, len(q.MergedBy) > 0)
			return r.Model.Compute(ctx, q)
		}), r.History)
		for _, tt := range []struct {
			name string
			q    allocation.Query
			want bool
		}{
			{"hours to be stored", allocation.Query{Window: stored, Stored: true}, false},
			{"stored hours and the rest of a window", allocation.Query{Window: ledgertest.Between(t, "2026-03-05T00:00", "2026-03-05T11:00"), Resolution: time.Minute}, false},
			{"a window without stored hours", allocation.Query{Window: ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T11:00"), Resolution: time.Minute}, true},
		} {
			merged, tt.q.MergedBy = nil, keysOf(t, "namespace")
			if _, err := ledgertest.Collect(t.Context(), over.Ledger, tt.q); err != nil {
				t.Fatal(err)
			}
			if len(merged) == 0 {
				t.Errorf("%s: nothing was computed", tt.name)
			}
			for _, is := range merged {
				if is != tt.want {
					t.Errorf("%s: computed for merging %t, want %t", tt.name, is, tt.want)
				}
			}
		}
	})
}
