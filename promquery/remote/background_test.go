package remote_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// TestBackground sees to it that what nobody waits for leaves a request to those who do.
func TestBackground(t *testing.T) {
	f := newFake()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	var held atomic.Int64
	whole := frames()
	f.handle("/api/v1/read", probed(func(w http.ResponseWriter, r *http.Request) {
		if held.Add(1) == 1 {
			asked <- struct{}{}
			<-release
		}
		whole(w, r)
	}))
	src := f.source(t, remote.Config{MaxConcurrency: 2})
	done := make(chan error)
	go func() {
		_, err := src.Select(promquery.Background(t.Context()), []promquery.Selector{selector, selector, selector}, nil)
		done <- err
	}()
	<-asked
	time.Sleep(10 * time.Millisecond) // for a second request, were there one
	if n := held.Load(); n != 1 {
		t.Errorf("the background sent %d requests at a time", n)
	}
	if _, _, err := collect(t, src, selector, selector); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
