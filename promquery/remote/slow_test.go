package remote_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestSlowReader sees to it that the time that yield takes does not count as the server's.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	var body []byte
	const series = 60
	for i := range series { // more than is read at a time
		body = append(body, frame(t, 0, "pod="+strings.Repeat("x", 4096+i), chunk(t, chunkenc.EncXOR, 0, 1))...)
	}
	f := newFake()
	f.handle("/api/v1/read", probed(text(streamed, string(body))))
	src := listen(t, f).source(t, remote.Config{Timeout: 2 * time.Second})
	seen := 0
	stats, err := promtest.Select(t.Context(), src, []promquery.Request{selector}, func(int, []promquery.Symbol, *timeline.Points) error {
		if seen++; seen == 1 {
			time.Sleep(3 * time.Second)
		}
		return nil
	})
	if err != nil || stats.Requests != 1 || stats.Series != series {
		t.Errorf("got %d series after %d requests, and %v", stats.Series, stats.Requests, err)
	}
}

// TestDripping meets a server that sends byte after byte, each in time, but no answer that would end.
func TestDripping(t *testing.T) {
	t.Parallel()
	body, _ := stream(t)
	f := newFake()
	src := listen(t, f).source(t, remote.Config{Mode: remote.ModeRemoteRead, MaxConcurrency: 1, Timeout: 500 * time.Millisecond, Backoff: time.Millisecond})
	if _, err := src.Mode(t.Context()); err != nil {
		t.Fatal(err)
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", streamed)
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := w.Write(body[i%len(body) : i%len(body)+1]); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	f.handle("/api/v1/read", sequence(drip, frames(body)))
	got, stats, err := collect(t, src, selector, selector)
	if err != nil || len(got) != 4 || stats.Requests != 2 {
		t.Errorf("got %d series after %d requests, and %v", len(got), stats.Requests, err)
	}
}
