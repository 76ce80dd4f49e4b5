package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// before is in front of a Prometheus and answers what instead says, or leaves it to the Prometheus where that is nil.
func before(t *testing.T, prometheus string, instead http.HandlerFunc) string {
	t.Helper()
	target, err := url.Parse(prometheus)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if instead != nil && (strings.HasPrefix(r.URL.Path, "/api/v1/query") || strings.HasPrefix(r.URL.Path, "/api/v1/read")) {
			instead(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// emptyMonth is a month before the demo.
const emptyMonth = "2026-01-01T00:00:00Z,2026-02-01T00:00:00Z"

// TestNoDataHTTP asks for a time without data in a Prometheus: while it answers, while it replays its WAL, and while a proxy
// before it says that a part of it does not answer. Only the first gives empty sets, and nothing is cached of the others.
func TestNoDataHTTP(t *testing.T) {
	t.Parallel()
	prometheus := promtest.Start(t, writeSmallDemo(t), promtest.Config{})
	for _, tc := range []struct {
		name    string
		instead http.HandlerFunc
		status  int
		want    string // in each answer
	}{
		{"it answers", nil, http.StatusOK, "no data from "},
		{"it replays its WAL", func(w http.ResponseWriter, _ *http.Request) { // in the words of Prometheus
			http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		}, http.StatusBadGateway, "503 Service Unavailable"},
		{"a store is down", func(w http.ResponseWriter, _ *http.Request) { // in the words of Thanos
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"matrix","result":[]},"warnings":["No StoreAPIs matched for this query"]}`)
		}, http.StatusBadGateway, "No StoreAPIs matched"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			base := spawn(t, "serve", "--prometheus.url="+before(t, prometheus, tc.instead), "--source=query", "--storage.path="+dir, "--storage.retention=12h")
			const window, month = "?window=2026-02-01T22:00:00Z,2026-02-02T02:00:00Z", "?window=" + emptyMonth
			paths := []string{
				"/model/allocation" + window + "&accumulate=true&aggregate=cluster,namespace&includeIdle=true&idle=true&filterNamespaces=",
				"/model/allocation/compute" + window + "&step=1h", "/model/allocation/summary" + window,
				"/model/allocation/summary/topline" + window, "/model/allocation/trends" + window + "&names=x", "/model/assets" + window, "/model/assets/topline" + window,
				"/allocation/compute" + month + "&aggregate=namespace&accumulate=true", "/allocation/summary" + window, "/assets" + window + "&aggregate=assetType", "/v2/allocation" + month,
				"/model/allocation/autocomplete" + window + "&field=namespace",
			}
			if tc.instead != nil {
				paths = paths[:1] // a failure is tried for some seconds; what it becomes is the same for all
			}
			for _, path := range paths {
				if code, body := get(t, base+path); code != tc.status || !strings.Contains(body, tc.want) {
					t.Errorf("%s: %d %.500s", path, code, body)
				}
			}
			if files := historyFiles(t, dir); tc.instead != nil && len(files) > 0 {
				t.Errorf("it is kept: %v", files)
			}
			if tc.instead == nil {
				checkKubectlEmpty(t, base)
			}
		})
	}
}

// checkKubectlEmpty holds what kubectl-cost panics without: a set, though it is empty.
func checkKubectlEmpty(t *testing.T, base string) {
	t.Helper()
	for path, window := range map[string]string{"/model/allocation": "2026-02-01T22:00:00Z,2026-02-02T02:00:00Z", "/allocation/compute": emptyMonth} {
		_, body := get(t, base+path+"?window="+window+"&accumulate=true&aggregate=cluster,namespace&includeIdle=true&idle=true&filterNamespaces=")
		var answer struct {
			Data     []map[string]any
			Warnings []string
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data) != 1 || answer.Data[0] == nil || len(answer.Data[0]) != 0 || len(answer.Warnings) == 0 {
			t.Errorf("%s: %v: %.300s", path, err, body)
		}
	}
}
