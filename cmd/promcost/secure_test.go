package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
)

// TestSecurityHeaders checks that every page, answer and error has headers that fix its type and let it run nothing.
func TestSecurityHeaders(t *testing.T) {
	h, err := parseWeb(t, "--web.enable-pprof", "--web.route-prefix=/cost").handler(pages{
		metrics: text("metrics"), api: http.NotFoundHandler(), promql: text("promql"), dashboards: text("dashboards"), assistants: text("mcp"), missing: http.NotFoundHandler(),
		ready: func() error { return http.ErrServerClosed }, behind: func() error { return nil }, reload: func() error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(webserver.New(h, webserver.NewConnections(webserver.DefaultConnections, memory.New(0))).Handler)
	defer server.Close()
	for _, tt := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/", 200},
		{"GET", "/cost/", 200},
		{"GET", "/metrics", 200},
		{"POST", "/metrics", 404},
		{"GET", "/nope", 404},
		{"GET", "/cost", 200},
		{"GET", "/api/v1/query", 200},
		{"GET", "/federate", 200},
		{"GET", "/dashboards/", 200},
		{"GET", "/-/healthy", 200},
		{"GET", "/-/ready", 503},
		{"GET", "/-/reload", 405},
		{"POST", "/-/reload", 403},
		{"GET", "/debug/pprof/", 200},
		{"GET", "/a//b", 404},
		{"OPTIONS", "/api/v1/query", 204},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+tt.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.code {
			t.Errorf("%s %s: %s, want %d", tt.method, tt.path, resp.Status, tt.code)
		}
		if got := resp.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s %s: X-Content-Type-Options is %q", tt.method, tt.path, got)
		}
		if got := resp.Header.Values("Content-Security-Policy"); len(got) != 1 || !strings.Contains(got[0], "default-src 'none'") {
			t.Errorf("%s %s: Content-Security-Policy is %q", tt.method, tt.path, got)
		}
	}
}
