package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

const valuesPath = "/api/v1/label/namespace/values"

// TestRestartWhileDividing restarts the server while it is asked for the namespaces to divide a request by.
func TestRestartWhileDividing(t *testing.T) {
	f := newFake()
	n := listen(t, f)
	l := &limited{t: t, series: inNamespaces("namespace", 1, "a", "b", "c"), limit: 60, refuse: tooMany}
	l.handle(f)
	starting := status(503, "text/plain", "Service Unavailable")
	f.handle(valuesPath, sequence(func(http.ResponseWriter, *http.Request) {
		back := make(chan struct{})
		go func() {
			defer close(back)
			n.stop()
			time.Sleep(30 * time.Millisecond) // refused for a while
			n.start()
		}()
		<-back
		panic(http.ErrAbortHandler)
	}, starting, starting, l.values("namespace")))
	src := n.source(t, remote.Config{Mode: remote.ModeQuery, MaxConcurrency: 1})
	sel := promquery.Request{Metric: "m", Keep: promquery.Labels("namespace", "pod"), Start: minuteMs, End: 2 * hourMs, Grid: promquery.Grid{Step: minuteMs}}
	got, _, err := collect(t, src, sel)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"a", "b", "c"} {
		if n := len(got["0:"+namespace+"|p0"]); n != 120 {
			t.Errorf("got %d samples of namespace %s, want 120", n, namespace)
		}
	}
}

// TestDownWhileDividing meets a server that goes down for good in the midst of a division: that is said, and not that it has
// too much to do.
func TestDownWhileDividing(t *testing.T) {
	for _, code := range []int{429, 502, 503} {
		f := newFake()
		l := &limited{t: t, series: inNamespaces("namespace", 1, "a", "b", "c"), limit: 60, refuse: tooMany}
		l.handle(f)
		f.handle(valuesPath, status(code, "text/plain", ""))
		_, _, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), promquery.Request{Metric: "m", Start: minuteMs, End: 2 * hourMs, Grid: promquery.Grid{Step: minuteMs}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("metric m: read from http://prometheus.test: %s (6 tries): %d", valuesPath, code)) || strings.Contains(err.Error(), "divided") {
			t.Errorf("got %v", err)
		}
	}
}

// TestNotReady meets a server that is not ready for long: nothing is divided.
func TestNotReady(t *testing.T) {
	f := newFake()
	src := f.source(t, remote.Config{Mode: remote.ModeQuery})
	if _, err := src.Mode(t.Context()); err != nil {
		t.Fatal(err)
	}
	starting := status(503, "text/plain", "Service Unavailable")
	f.handle("/api/v1/query", starting)
	f.handle(rangePath, starting)
	_, stats, err := collect(t, src, promquery.Request{Metric: "m", End: 24 * hourMs, Grid: promquery.Grid{Step: minuteMs}})
	if err == nil || !strings.Contains(err.Error(), "the server is not ready") || strings.Contains(err.Error(), "too much") {
		t.Errorf("got %v", err)
	}
	if stats.Requests != 8 {
		t.Errorf("took %d requests, want six, one for how many samples there are and one that asks whether there is an answer to anything", stats.Requests)
	}
}

// TestFirstContact meets a server that is down for some ten times the first wait when it is first asked, as one is that
// restarts.
func TestFirstContact(t *testing.T) {
	f := newFake()
	n := listen(t, f)
	n.stop()
	time.AfterFunc(200*time.Millisecond, n.start)
	if mode, err := n.source(t, remote.Config{}).Mode(t.Context()); err != nil || mode != remote.ModeRemoteRead {
		t.Errorf("got %q, %v", mode, err)
	}
}

// failing is a transport that fails some times before it asks.
type failing struct {
	http.RoundTripper
	times atomic.Int64
	err   error
}

// RoundTrip implements http.RoundTripper.
func (f *failing) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.times.Add(-1) >= 0 {
		return nil, f.err
	}
	return f.RoundTripper.RoundTrip(req)
}

// TestPassing sees to it that a request is sent again where a connection fails as it may for a moment.
func TestPassing(t *testing.T) {
	for _, tc := range []struct {
		name  string
		err   error
		fails bool
	}{
		{"unknown name", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "prometheus", IsNotFound: true}}, false},
		{"no route", &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, false},
		{"HTTP/2 server that goes away", errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1"), false},
		{"cut", io.ErrUnexpectedEOF, false},
		{"certificate", errors.New("tls: failed to verify certificate"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			transport := &failing{RoundTripper: newFake(), err: tc.err}
			transport.times.Store(2)
			src, err := remote.New(remote.Config{URL: "http://prometheus.test", Client: &http.Client{Transport: transport}, Backoff: time.Microsecond})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := src.Mode(t.Context()); (err != nil) != tc.fails {
				t.Errorf("got %v, failure %t", err, tc.fails)
			}
		})
	}
}

// TestRetryAfterTooLong checks that nothing waits if there is less time than the server asks for.
func TestRetryAfterTooLong(t *testing.T) {
	f := newFake()
	f.handle("/api/v1/read", probed(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "600")
		status(429, "text/plain", "slow down")(w, r)
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := promtest.Select(ctx, f.source(t, remote.Config{}), []promquery.Request{selector}, nil)
	if err == nil || !strings.Contains(err.Error(), "slow down (it asks to be left alone for 10m0s") {
		t.Errorf("got %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, header string
		want         time.Duration
	}{
		{"absent", "", 0},
		{"seconds", "7", 7 * time.Second},
		{"none", "0", 0},
		{"minutes", "600", 10 * time.Minute},
		{"too many seconds", "36000", time.Hour},
		{"more than fit", "99999999999999999999", 0},
		{"negative", "-5", 0},
		{"date", now.Add(12 * time.Second).Format(http.TimeFormat), 12 * time.Second},
		{"date in an older format", now.Add(12 * time.Second).Format(time.RFC850), 12 * time.Second},
		{"date that is past", now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"date too far", now.Add(24 * time.Hour).Format(http.TimeFormat), time.Hour},
		{"garbage", "soon", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := remote.RetryAfter(tc.header, now); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestRetryAfterHeeded waits as long as the server asks instead of the back-off, which is not to be lived through.
func TestRetryAfterHeeded(t *testing.T) {
	body, _ := stream(t)
	f := newFake()
	n := listen(t, f)
	src := n.source(t, remote.Config{Backoff: 24 * time.Hour, MaxConcurrency: 1})
	if _, err := src.Mode(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.handle("/api/v1/read", sequence(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		status(429, "text/plain", "")(w, r)
	}, frames(body)))
	began := time.Now()
	if _, _, err := collect(t, src, selector, selector); err != nil || time.Since(began) < time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
}
