package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation/costapi"
)

func TestUnknownPaths(t *testing.T) {
	f := parseWeb(t, "--web.route-prefix=/cost", "--web.enable-pprof")
	if err := f.validate(); err != nil {
		t.Fatal(err)
	}
	h, err := f.handler(pages{metrics: text("metrics"), api: costapi.New(nil, log.NewNopLogger(), costapi.Config{}), promql: text("promql"), dashboards: text("dashboards"), assistants: text("mcp"), missing: f.missing()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path string
		code         int
		message      string
	}{
		{"GET", "/model/allocations", 404, `unknown path "/model/allocations": did you mean /model/allocation?`},
		{"GET", "/model/alocation/compute/", 404, "did you mean /model/allocation/compute?"},
		{"GET", "/cost/model/asets", 404, `unknown path "/cost/model/asets": did you mean /cost/model/assets?`},
		{"GET", "/kubecost/model/assets", 404, "did you mean /model/assets?"},
		{"GET", "/compute/summary", 404, "did you mean /allocation/compute/summary?"},
		{"GET", "/query_range", 404, "did you mean /api/v1/query_range?"},
		{"GET", "/assetz", 404, "did you mean /assets?"},
		{"GET", "/metric", 404, "did you mean /metrics?"},
		{"GET", "/-/readyz", 404, "did you mean /-/ready?"},
		{"GET", "/-/reloads", 404, "did you mean /-/reload?"},
		{"GET", "/dashboard", 404, "did you mean /dashboards/?"},
		{"GET", "/openapi.yaml", 404, "did you mean /openapi.json?"},
		{"GET", "/cost/nothing/like/it", 404, "/cost/ui/links links the pages, /cost/openapi.json has the paths"},
		{"GET", "/" + strings.Repeat("x", 5000), 404, "xxx"},
		{"GET", "/v2/alloc", 404, "did you mean /v2/allocation?"},
		{"GET", "/cloudCost/view/tabel", 404, "did you mean /cloudCost/view/table?"},
		{"POST", "/metrics", 405, "method POST is not allowed on path /metrics: use GET"},
		{"DELETE", "/cost/-/ready", 405, "method DELETE is not allowed on path /cost/-/ready: use GET"},
	} {
		t.Run(tt.method+" "+tt.path[:min(len(tt.path), 30)], func(t *testing.T) {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(tt.method, tt.path, nil))
			var got struct {
				Code    int
				Data    any
				Message string
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, rec.Body)
			}
			if rec.Code != tt.code || got.Code != tt.code || !strings.Contains(got.Message, tt.message) || len(got.Message) > 500 {
				t.Errorf("%d %+v, want %d %q", rec.Code, got, tt.code, tt.message)
			}
		})
	}
}

// TestUnknownPathsInABrowser gets a page, in which nothing of the path is HTML.
func TestUnknownPathsInABrowser(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/model/<b>assets", nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	rec := httptest.NewRecorder()
	notFound(rec, r, "", []string{"/model/b>assets"})
	body := rec.Body.String()
	if rec.Code != http.StatusNotFound || strings.Contains(body, "<b>") || !strings.Contains(body, "/model/b&gt;assets") {
		t.Errorf("%d %s", rec.Code, body)
	}
}
