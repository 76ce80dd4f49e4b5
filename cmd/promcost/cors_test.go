package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/promquery/promtest"
)

// corsOf are the headers of an answer that a browser goes by, and its status.
func corsOf(t *testing.T, method, url, origin string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	headers := map[string]string{"status": resp.Status}
	for name, values := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			headers[name] = strings.Join(values, ", ")
		}
	}
	if strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Origin") {
		headers["Vary"] = "Origin"
	}
	return headers
}

// TestCORS compares the headers for pages of other origins with those of a real Prometheus under the same flag, and checks that
// all paths of the APIs have them. Without the flag, a Prometheus lets all origins read, and promcost none.
func TestCORS(t *testing.T) {
	t.Parallel()
	blocks := writeSmallDemo(t)
	for _, flag := range []string{"", ".*", `https?://(one|two)\.example\.com`} {
		var flags []string
		if flag != "" {
			flags = []string{"--web.cors.origin=" + flag}
		}
		prometheus := promtest.Start(t, "", promtest.Config{Flags: flags})
		base := spawn(t, append([]string{"serve", "--source=blocks", "--tsdb.path=" + blocks, "--storage.path=", "--web.route-prefix=/cost"}, flags...)...)
		for _, origin := range []string{"", "http://one.example.com", "https://two.example.com", "https://two.example.com.evil.org", "null"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
				const path = "/api/v1/query?query=1"
				want := corsOf(t, method, prometheus+path, origin)
				if flag == "" {
					delete(want, "Access-Control-Allow-Origin")
				}
				if diff := cmp.Diff(want, corsOf(t, method, base+path, origin)); diff != "" {
					t.Errorf("%s %q from %q (-Prometheus +promcost):\n%s", method, flag, origin, diff)
				}
				if method == http.MethodPost {
					continue
				}
				for _, path := range append([]string{"/federate", "/cost/model/assets", "/no/such/path", "/api/v1/nothing"}, costapi.Paths()...) {
					got := corsOf(t, method, base+path, origin)
					if method == http.MethodGet {
						got["status"] = want["status"]
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s %s %q from %q (-Prometheus +promcost):\n%s", method, path, flag, origin, diff)
					}
				}
			}
		}
	}
}

func TestCORSFlag(t *testing.T) {
	p := start(t, "serve", "--source=none", "--web.cors.origin=http://(")
	if code := <-p.code; code != exitUsage || !strings.Contains(p.err.String(), `--web.cors.origin="http://("`) {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
}
