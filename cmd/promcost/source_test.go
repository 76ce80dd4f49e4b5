package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// TestQueryFlags sends what the flags say with every query.
func TestQueryFlags(t *testing.T) {
	queries := make(chan url.Values, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ParseForm() == nil && r.URL.Path == "/api/v1/query_range" {
			queries <- r.Form
		}
		_, _ = fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
	}))
	t.Cleanup(server.Close)
	p := start(t, "query", "allocation", "--prometheus.url="+server.URL, "--source=query", "--window=2026-01-01T00:00:00Z,2026-01-01T01:00:00Z",
		"--prometheus.dedup=false", "--prometheus.partial-response=true", "--prometheus.query-param=max_source_resolution=5m", "--prometheus.lookback=2m")
	select {
	case <-p.code:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if len(queries) == 0 {
		t.Fatalf("nothing was asked: %s", p.err.String())
	}
	for len(queries) > 0 {
		q := <-queries
		if q.Get("dedup") != "false" || q.Get("partial_response") != "true" || q.Get("max_source_resolution") != "5m" || q.Get("lookback_delta") == "" {
			t.Fatalf("asked with %v", q)
		}
	}
}
