package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestPathsAreCleaned holds that a path with empty or relative parts is redirected to the one without, escaped as it was.
func TestPathsAreCleaned(t *testing.T) {
	f := parseWeb(t, "--web.route-prefix=/cost")
	if err := f.validate(); err != nil {
		t.Fatal(err)
	}
	h, err := f.handler(pages{metrics: text("metrics"), api: text("api"), promql: text("promql"), dashboards: text("dashboards"), assistants: text("mcp"), missing: f.missing()})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{ // "" where it is answered
		"/api/v1//label/a%20b/values":            "/api/v1/label/a%20b/values",
		"/cost/api/v1//label/a%20b/values?x=%20": "/cost/api/v1/label/a%20b/values?x=%20",
		"/api/v1/label/a%2Fb%3F/./values":        "/api/v1/label/a%2Fb%3F/values",
		"/api/v1/label/../labels":                "/api/v1/labels",
		"//example.com/x":                        "/example.com/x",
		"/\\example.com//x":                      "/%5Cexample.com/x",
		"/dashboards//":                          "/dashboards/",
		"/api/v1/label/a%20b/values":             "",
		"/api/v1/label/..%2F/values":             "",
	} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://promcost"+path, nil))
		if got := rec.Header().Get("Location"); got != want || want != "" && rec.Code != http.StatusTemporaryRedirect {
			t.Errorf("%s: %d to %q, want %q", path, rec.Code, got, want)
		}
	}
}
