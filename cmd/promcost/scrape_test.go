package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestScrapesOfABlockedSource scrapes while a computation waits for a Prometheus that never answers: scrapes do not wait for
// it, and ask it nothing. No more do the pages that say how it is.
func TestScrapesOfABlockedSource(t *testing.T) {
	var asked atomic.Int64
	source := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // the end of a request is seen once its body was read
		asked.Add(1)
		<-r.Context().Done()
	}))
	t.Cleanup(source.Close)
	p := start(t, "serve", "--prometheus.url="+source.URL, "--storage.path=", "--web.listen-address=127.0.0.1:0", "--collector.container", "--promql.passthrough")
	base := p.url(t)
	eventually(t, "it asks its source nothing", func() bool { return asked.Load() > 0 })
	before := asked.Load()
	for range 20 {
		for path, want := range map[string]int{"/metrics": http.StatusOK, "/-/healthy": http.StatusOK, "/-/ready": http.StatusServiceUnavailable} {
			code, page := get(t, base+path)
			if code != want || path == "/metrics" && !strings.Contains(page, "promcost_computation_errors_total") {
				t.Errorf("%s: %d %.300s", path, code, page)
			}
		}
	}
	if n := asked.Load() - before; n > 2 { // computations that have just begun
		t.Errorf("60 requests have asked the source %d times", n)
	}
	p.end(t)
}
