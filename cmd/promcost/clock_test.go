package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// serveByClock serves a history of blocks by a clock of the test, and returns its URL and what ends it.
func serveByClock(t *testing.T, blocks, dir string, clock func() time.Time) (url string, end func()) {
	t.Helper()
	_, url, end = serveArgsByClock(t, clock, "--source=blocks", "--tsdb.path="+blocks, "--storage.path="+dir, "--history.grace=0s")
	return url, end
}

// serveArgsByClock serves what flags say by a clock of the test.
func serveArgsByClock(t testing.TB, clock func() time.Time, args ...string) (svc *service, url string, end func()) {
	t.Helper()
	app := kingpin.New("promcost", "")
	clause := app.Command("serve", "")
	c := newServeCommand(clause)
	source, cost, flags, storage := c.source, c.cost, c.serve, c.storage
	if _, err := app.Parse(append([]string{"serve"}, args...)); err != nil {
		t.Fatal(err)
	}
	l, err := newLoggers(&lockedBuffer{}, &logFlags{level: "error", format: "logfmt"})
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.open()
	if err != nil {
		t.Fatal(err)
	}
	svc, err = newService(src, cost, l, serviceOptions{
		now: clock, ledgerNow: clock, stored: *flags.stored, meter: flags.meter, resolution: c.hours, keep: func() (keeping, error) { return storage.open(l.kit, false) },
	})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := (&server{service: svc, source: source, flags: flags, logs: l, ready: svc.recorder.Ready}).handler()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- svc.recorder.Run(ctx) }()
	return svc, web.URL, func() {
		cancel()
		web.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestClockSetBackHTTP sets the clock back by hours, while promcost serves and before it starts: answers stay, no hour is lost
// or written again, and once the clock is right counters are what they were.
func TestClockSetBackHTTP(t *testing.T) {
	t.Parallel()
	blocks, _ := writeTruth(t, "--demo.end=2026-03-02T06:20:00Z", "--demo.duration=8h", "--demo.nodes=4", "--demo.pods=40", "--demo.scrape-interval=1m")
	dir, right := t.TempDir(), time.Date(2026, 3, 2, 6, 15, 0, 0, time.UTC)
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(now.Load(), 0).UTC() }
	set := func(to time.Time) { now.Store(to.Unix()) }
	whole := func(url string) func() bool {
		return func() bool {
			code, _ := get(t, url+"/-/ready")
			return code == http.StatusOK && metric(t, url, `promcost_store_sets\{length="hour"\}`) == "8" && len(counterLines(t, url)) > 0
		}
	}
	const query = "/model/allocation?" + faultyWindow

	set(right)
	url, end := serveByClock(t, blocks, dir, clock)
	eventually(t, "it does not keep its hours", whole(url))
	want, counters, files := totals(t, url+query), counterLines(t, url), historyFiles(t, dir)

	set(right.Add(-3 * time.Hour))
	sameTotals(t, want, url+query)
	if diff := cmp.Diff(counters, counterLines(t, url)); diff != "" {
		t.Errorf("counters of one that serves (-before +after):\n%s", diff)
	}
	if code, body := get(t, url+"/-/ready"); code != http.StatusOK {
		t.Errorf("ready: %d %s", code, body)
	}
	end()

	url, end = serveByClock(t, blocks, dir, clock)
	eventually(t, "it does not start while the clock is behind", whole(url))
	sameTotals(t, want, url+query)
	end()

	set(right)
	url, end = serveByClock(t, blocks, dir, clock)
	eventually(t, "it does not start again", whole(url))
	sameTotals(t, want, url+query)
	if diff := cmp.Diff(counters, counterLines(t, url)); diff != "" {
		t.Errorf("counters once the clock is right (-before +after):\n%s", diff)
	}
	end()
	if diff := cmp.Diff(files, historyFiles(t, dir)); diff != "" {
		t.Errorf("the history (-before +after):\n%s", diff)
	}
}
