package remote_test

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/places"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestTurns checks that background requests reserve one request for others, and large ones reserve one for small ones.
func TestTurns(t *testing.T) {
	for name, tt := range map[string]struct {
		first  func(context.Context) context.Context
		most   int64 // requests of the first at a time
		second func(context.Context) context.Context
	}{
		"background": {promquery.Background, 1, func(ctx context.Context) context.Context { return ctx }},
		"large": {
			func(ctx context.Context) context.Context { return places.About(ctx, 24*time.Hour) }, 2,
			func(ctx context.Context) context.Context { return places.About(ctx, time.Hour) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			asked, release := make(chan struct{}, 10), make(chan struct{})
			var held atomic.Int64
			whole := frames()
			f.handle("/api/v1/read", probed(func(w http.ResponseWriter, r *http.Request) {
				if held.Add(1) <= tt.most {
					asked <- struct{}{}
					<-release
				}
				whole(w, r)
			}))
			src := f.source(t, remote.Config{MaxConcurrency: 2})
			done := make(chan error)
			go func() {
				_, err := promtest.Select(tt.first(t.Context()), src, slices.Repeat([]promquery.Request{selector}, 5), nil)
				done <- err
			}()
			for range tt.most {
				<-asked
			}
			time.Sleep(10 * time.Millisecond) // time for one request too many
			if n := held.Load(); n != tt.most {
				t.Errorf("%d requests were sent at a time, want %d", n, tt.most)
			}
			if _, err := promtest.Select(tt.second(t.Context()), src, []promquery.Request{selector, selector}, nil); err != nil {
				t.Error(err)
			}
			close(release)
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
