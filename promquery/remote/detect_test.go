package remote_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// hanging answers the first request when its client leaves, at last, and the others as h does. It tells of both.
func hanging(h http.HandlerFunc) (handler http.HandlerFunc, arrived, left chan struct{}) {
	arrived, left = make(chan struct{}), make(chan struct{})
	return sequence(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	}, h), arrived, left
}

// TestDetectCancel cancels Selects that wait for detection. Each leaves when its context ends, whoever sent the request. The
// request ends with the last of them, and the next Select sends it again.
func TestDetectCancel(t *testing.T) {
	// Leaving takes some 100 µs; the bound leaves room for a machine under load.
	const soon = 100 * time.Millisecond
	f := newFake()
	h, arrived, left := hanging(f.handlers["/api/v1/query"])
	f.handle("/api/v1/query", h)
	src := listen(t, f).source(t, remote.Config{})

	first, cancelFirst := context.WithCancel(t.Context())
	second, cancelSecond := context.WithCancel(t.Context())
	defer cancelFirst()
	defer cancelSecond()
	ends := make(chan error)
	for _, ctx := range []context.Context{first, second} {
		go func() {
			_, err := src.Mode(ctx)
			ends <- err
		}()
	}
	<-arrived
	for remote.Waiting(src) < 2 {
		time.Sleep(time.Millisecond)
	}
	for _, cancel := range []func(){cancelFirst, cancelSecond} {
		select {
		case <-left:
			t.Error("the request ended while somebody waited")
		default:
		}
		at := time.Now()
		cancel()
		if err := <-ends; !errors.Is(err, context.Canceled) || soak.On() && time.Since(at) > soon {
			t.Errorf("got %v after %v", err, time.Since(at))
		}
	}
	<-left // the request ends, for nobody waits
	if mode, err := src.Mode(t.Context()); mode != remote.ModeRemoteRead || err != nil {
		t.Errorf("got %q and %v from the next attempt", mode, err)
	}
}

// TestDetectTogether has many wait for one detection.
func TestDetectTogether(t *testing.T) {
	f := newFake()
	good := f.handlers["/api/v1/query"]
	var asked atomic.Int64
	release := make(chan struct{})
	f.handle("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-release
		good(w, r)
	})
	src := f.source(t, remote.Config{})
	ends := make(chan error)
	const many = 20
	for range many {
		go func() {
			_, err := src.Mode(t.Context())
			ends <- err
		}()
	}
	close(release)
	for range many {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times, want once for all", n)
	}
}

// TestDetectAfterFailure meets a server that fails at first: that is not what it can.
func TestDetectAfterFailure(t *testing.T) {
	f, starting := newFake(), status(500, "text/plain", "starting")
	f.handle("/api/v1/read", sequence(starting, starting, starting, frames()))
	src := f.source(t, remote.Config{Mode: remote.ModeRemoteRead})
	if mode, err := src.Mode(t.Context()); err == nil {
		t.Errorf("got %q without an error", mode)
	}
	for range 2 {
		if mode, err := src.Mode(t.Context()); mode != remote.ModeRemoteRead || err != nil {
			t.Errorf("got %q and %v", mode, err)
		}
	}
	if n := f.count("/api/v1/read"); n != 4 {
		t.Errorf("asked %d times, want thrice and once", n)
	}
}
