package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hostsHandler serves pages under flags.
func hostsHandler(t *testing.T, flags ...string) (h http.Handler, reloads *int) {
	t.Helper()
	f := parseWeb(t, flags...)
	if err := f.validate(); err != nil {
		t.Fatal(err)
	}
	reloads = new(int)
	h, err := f.handler(pages{
		metrics: text("metrics"), api: text("api"), promql: text("promql"), dashboards: text("dashboards"), assistants: text("mcp"), missing: text("missing"),
		ready: func() error { return nil }, behind: func() error { return nil }, reload: func() error { *reloads++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, reloads
}

// TestAllowedHosts asks every page by many host names. A page whose own name leads to promcost (DNS rebinding) gets nothing but
// health and metrics.
func TestAllowedHosts(t *testing.T) {
	flags := []string{"--web.route-prefix=/cost", "--web.enable-pprof", "--web.enable-lifecycle"}
	closed := []string{"/", "/ui/", "/ui/links", "/model/allocation/compute", "/allocation", "/api/v1/query", "/federate", "/mcp", "/-/reload", "/dashboards/", "/favicon.ico", "/debug/pprof/", "/no/such/path", "/openapi.json"}
	for _, tt := range []struct {
		host  string
		flags []string
		want  bool
	}{
		{host: "localhost:9003", want: true},
		{host: "LocalHost.", want: true},
		{host: "costs.localhost:9003", want: true},
		{host: "127.0.0.1:9003", want: true},
		{host: "[::1]:9003", want: true},
		{host: "[::1]", want: true},
		{host: "[fe80::1%25eth0]:9003", want: true},
		{host: "10.1.2.3", want: true},
		{host: "promcost", want: true},
		{host: "promcost:9003", want: true},
		{host: "", want: true}, // HTTP/1.0
		{host: "promcost.costs.svc:9003", want: true},
		{host: "promcost.costs.svc.cluster.local", want: true},
		{host: "PROMCOST.costs.SVC.cluster.local.:9003", want: true},
		{host: "evil.invalid"},
		{host: "evil.invalid:9003"},
		{host: "127.0.0.1.evil.invalid"},
		{host: "localhost.evil.invalid"},
		{host: "x.svc.evil.invalid"},
		{host: "xsvc.invalid"},
		{host: "promcost.costs"},
		{host: "notexample.invalid", flags: []string{"--web.allowed-hosts=example.invalid"}},
		{host: "costs.example.invalid", flags: []string{"--web.allowed-hosts=example.invalid"}},
		{host: "Example.invalid:443", flags: []string{"--web.allowed-hosts=a.invalid, example.invalid"}, want: true},
		{host: "costs.example.invalid", flags: []string{"--web.allowed-hosts=a.invalid", "--web.allowed-hosts=*.example.invalid"}, want: true},
		{host: "example.invalid", flags: []string{"--web.allowed-hosts=*.example.invalid"}},
		{host: "evil.invalid", flags: []string{"--web.allowed-hosts=*"}, want: true},
		{host: "costs.example.invalid", flags: []string{"--web.external-url=https://Costs.example.invalid/cost/"}, want: true},
		{host: "evil.invalid", flags: []string{"--web.external-url=https://costs.example.invalid/"}},
		{host: "node1.example.invalid:9003", flags: []string{"--web.listen-address=node1.example.invalid:9003"}, want: true},
		{host: "evil.invalid", flags: []string{"--web.listen-address=:9003"}},
	} {
		h, reloads := hostsHandler(t, append(tt.flags, flags...)...)
		code := func(method, path string) int {
			r := httptest.NewRequest(method, path, nil)
			r.Host = tt.host
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			if refused := rec.Code == http.StatusMisdirectedRequest; refused && !strings.Contains(rec.Body.String(), "--web.allowed-hosts=") {
				t.Errorf("%s of %q: %s; it has no remedy", path, tt.host, rec.Body)
			}
			return rec.Code
		}
		for _, prefix := range []string{"", "/cost"} {
			for _, path := range closed {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
					if got := code(method, prefix+path) != http.StatusMisdirectedRequest; got != tt.want {
						t.Errorf("%s %s of %q under %q: answered %v, want %v", method, prefix+path, tt.host, tt.flags, got, tt.want)
					}
				}
			}
			for _, path := range []string{"/-/healthy", "/-/ready", "/metrics"} {
				if got := code(http.MethodGet, prefix+path); got != http.StatusOK {
					t.Errorf("%s%s of %q: %d; health and metrics are for everybody", prefix, path, tt.host, got)
				}
			}
		}
		if got := *reloads > 0; got != tt.want {
			t.Errorf("POST /-/reload of %q: read again %d times", tt.host, *reloads)
		}
	}
}

func TestAllowedHostsMistakes(t *testing.T) {
	for _, flag := range []string{"--web.allowed-hosts=https://a.example", "--web.allowed-hosts=a.example:9003", "--web.allowed-hosts=", "--web.allowed-hosts=a,*b", "--web.external-url=costs.example", "--web.external-url=ftp://a"} {
		p := start(t, "serve", "--source=none", flag)
		name, _, _ := strings.Cut(flag, "=")
		if code := <-p.code; code != exitUsage || !strings.Contains(p.err.String(), name) || !strings.Contains(p.err.String(), "give a ") {
			t.Errorf("%s: exit %d: %s", flag, code, p.err.String())
		}
	}
}

// TestOtherOrigins asks assistants' and reload's paths as pages do: those of other origins are refused.
func TestOtherOrigins(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header http.Header
		want   bool
	}{
		{"no page", nil, true},
		{"own page", http.Header{"Origin": {"http://promcost:9003"}, "Sec-Fetch-Site": {"same-origin"}}, true},
		{"own page without Sec-Fetch-Site", http.Header{"Origin": {"http://promcost:9003"}}, true},
		{"other port", http.Header{"Origin": {"http://promcost:3000"}}, false},
		{"other host", http.Header{"Origin": {"http://evil.invalid"}}, false},
		{"address", http.Header{"Origin": {"http://192.0.2.1:9003"}}, false},
		{"sandbox", http.Header{"Origin": {"null"}}, false},
		{"no URL", http.Header{"Origin": {"http://%"}}, false},
		{"cross-site", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		{"same-site", http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
		{"cross-site of own origin", http.Header{"Origin": {"http://promcost:9003"}, "Sec-Fetch-Site": {"cross-site"}}, false},
		{"page behind a proxy", http.Header{"Origin": {"https://costs.example.invalid"}, "Sec-Fetch-Site": {"same-origin"}}, true},
	} {
		h, reloads := hostsHandler(t, "--web.enable-lifecycle", "--web.allowed-hosts=costs.example.invalid,*")
		for _, path := range []string{"/mcp", "/-/reload"} {
			for _, method := range []string{http.MethodPost, http.MethodPut} {
				r := httptest.NewRequest(method, path, nil)
				r.Host = "promcost:9003"
				r.Header = tt.header.Clone()
				if r.Header == nil {
					r.Header = http.Header{}
				}
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, r)
				if got := rec.Code == http.StatusOK; got != tt.want || !got && rec.Code != http.StatusForbidden {
					t.Errorf("%s: %s %s: %d %s", tt.name, method, path, rec.Code, rec.Body)
				}
			}
		}
		if got := *reloads == 2; got != tt.want {
			t.Errorf("%s: %d reloads", tt.name, *reloads)
		}
	}
}

// TestReloadOfOtherSites asks to read the configuration again as pages of hosts that were added do: what browsers call another site or origin
// is refused.
func TestReloadOfOtherSites(t *testing.T) {
	for _, tt := range []struct {
		name string
		site []string
		want bool
	}{
		{"none is said", nil, true},
		{"same origin", []string{"same-origin"}, true},
		{"a person's click", []string{"none"}, true},
		{"same site", []string{"same-site"}, false},
		{"cross-site", []string{"cross-site"}, false},
		{"unknown", []string{"Cross-Site"}, false},
		{"empty", []string{""}, false},
		{"twice", []string{"same-origin", "cross-site"}, false},
	} {
		h, reloads := hostsHandler(t, "--web.enable-lifecycle", "--web.allowed-hosts=costs.example.invalid")
		for _, method := range []string{http.MethodPost, http.MethodPut} {
			r := httptest.NewRequest(method, "/-/reload", nil)
			r.Host = "promcost:9003"
			r.Header = http.Header{"Origin": {"https://costs.example.invalid"}, "Sec-Fetch-Site": tt.site}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			if got := rec.Code == http.StatusOK; got != tt.want || !got && rec.Code != http.StatusForbidden {
				t.Errorf("%s: %s: %d %s", tt.name, method, rec.Code, rec.Body)
			}
		}
		if got := *reloads == 2; got != tt.want {
			t.Errorf("%s: %d reloads", tt.name, *reloads)
		}
	}
}
