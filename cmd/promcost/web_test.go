package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/dashboards"
)

// parseWeb parses web flags as a subcommand would.
func parseWeb(t *testing.T, args ...string) *webFlags {
	t.Helper()
	app := kingpin.New("test", "").Terminate(nil)
	f := addWebFlags(app.Command("serve", ""), ":9003")
	if _, err := app.Parse(append([]string{"serve", "--web.allowed-hosts=example.com"}, args...)); err != nil { // which httptest asks
		t.Fatal(err)
	}
	return f
}

// text answers with a fixed text.
func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, s+" "+r.URL.Path) })
}

// TestLifecycle allows reloads only if they are switched on, and otherwise answers as Prometheus does.
func TestLifecycle(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		flags        []string
		path         string
		code         int
		body         string
		reloads      int
	}{
		{"off", http.MethodPost, nil, "/-/reload", 403, "Lifecycle API is not enabled.", 0},
		{"off, PUT", http.MethodPut, nil, "/-/reload", 403, "Lifecycle API is not enabled.", 0},
		{"off, GET", http.MethodGet, nil, "/-/reload", 405, "Only POST or PUT requests allowed", 0},
		{"on", http.MethodPost, []string{"--web.enable-lifecycle"}, "/-/reload", 200, "promcost has reloaded its configuration.", 1},
		{"on, PUT", http.MethodPut, []string{"--web.enable-lifecycle"}, "/-/reload", 200, "promcost has reloaded its configuration.", 1},
		{"on, GET", http.MethodGet, []string{"--web.enable-lifecycle"}, "/-/reload", 405, "Only POST or PUT requests allowed", 0},
		{"on, DELETE", http.MethodDelete, []string{"--web.enable-lifecycle"}, "/-/reload", 405, "Only POST or PUT requests allowed", 0},
		{"off below the prefix", http.MethodPost, []string{"--web.route-prefix=/cost"}, "/cost/-/reload", 403, "Lifecycle API is not enabled.", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reloads := 0
			h, err := parseWeb(t, tt.flags...).handler(pages{
				metrics: text("metrics"), api: text("api"), promql: text("promql"), dashboards: text("dashboards"), assistants: text("mcp"),
				reload: func() error { reloads++; return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(tt.method, tt.path, nil))
			if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.body) || reloads != tt.reloads {
				t.Errorf("%s %s: %d %s, %d reloads; want %d, %q and %d", tt.method, tt.path, rec.Code, rec.Body, reloads, tt.code, tt.body, tt.reloads)
			}
		})
	}
}

func TestPages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
		ready error
		path  string
		code  int
		body  string // part of the answer
	}{
		{"landing page", nil, nil, "/", 200, `href="./model/allocation/compute?window=24h`},
		{"landing page beside the explorer", nil, nil, "/ui/links", 200, `href="../model/allocation/compute?window=24h`},
		{"explorer", nil, nil, "/ui/", 200, `<script type="module" src="app.js">`},
		{"a module of the explorer", nil, nil, "/ui/views/why.js", 200, "export async function show("},
		{"no such module", nil, nil, "/ui/nothing.js", 404, `unknown path \"/ui/nothing.js\"`},
		{"metrics", nil, nil, "/metrics", 200, "metrics /metrics"},
		{"api", nil, nil, "/model/allocation/compute", 200, "api /model/allocation/compute"},
		{"what the api plans is its own", nil, nil, "/model/assets/diff", 200, "api /model/assets/diff"},
		{"icon", nil, nil, "/favicon.ico", 200, "PNG"},
		{"landing page has the icon", nil, nil, "/", 200, `<link rel="icon" href="./favicon.ico">`},
		{"list of dashboards", nil, nil, "/dashboards/", 200, `href="promcost-overview.json"`},
		{"a dashboard in the currency of costs", nil, nil, "/dashboards/promcost-overview.json", 200, `"unit": "currencyEUR"`},
		{"rules", nil, nil, "/dashboards/rules/costs.yaml", 200, "alert: PromcostIdleShare"},
		{"manifests", nil, nil, "/dashboards/manifests.yaml", 200, "kind: PrometheusRule"},
		{"no such dashboard", nil, nil, "/dashboards/x", 404, `unknown dashboard \"x\": /dashboards/ lists them`},
		{"landing page links the dashboards", nil, nil, "/", 200, `href="./dashboards/"`},
		{"healthy", nil, errors.New("no data yet"), "/-/healthy", 200, "promcost is healthy."},
		{"ready", nil, nil, "/-/ready", 200, "promcost is ready."},
		{"not ready says why", nil, errors.New("no data yet"), "/-/ready", 503, "not ready: no data yet"},
		{"landing page says that it is ready", nil, nil, "/", 200, "<p>promcost is ready.</p>"},
		{"landing page says why it is not", nil, errors.New("<nothing> yet"), "/", 200, "<p>promcost is not ready: &lt;nothing&gt; yet</p>"},
		{"landing page says what the history lacks", nil, nil, "/?behind", 200, "<p>promcost is ready, but behind: 3 closed hours are not in the history yet</p>"},
		{"profiles are off", nil, nil, "/debug/pprof/", 404, "--web.enable-pprof"},
		{"profiles", []string{"--web.enable-pprof"}, nil, "/debug/pprof/", 200, "Types of profiles available"},
		{"a profile without end", []string{"--web.enable-pprof"}, nil, "/debug/pprof/profile?seconds=1e9", 400, `parameter seconds="1e9": give a number above 0, at most 300`},
		{"a trace of no time", []string{"--web.enable-pprof"}, nil, "/debug/pprof/trace?seconds=NaN", 400, "parameter seconds"},
		{"below the prefix", []string{"--web.route-prefix=/cost/"}, nil, "/cost/metrics", 200, "metrics /metrics"},
		{"api below the prefix", []string{"--web.route-prefix=cost"}, nil, "/cost/assets", 200, "api /assets"},
		{"dashboards below the prefix", []string{"--web.route-prefix=cost"}, nil, "/cost/dashboards/", 200, `href="rules/costs.yaml"`},
		{"icon below the prefix", []string{"--web.route-prefix=cost"}, nil, "/cost/ui/links", 200, `href="../favicon.ico"`},
		{"landing page below the prefix", []string{"--web.route-prefix=cost"}, nil, "/cost/", 200, `href="./model/`},
		{"beside the prefix", []string{"--web.route-prefix=/cost"}, nil, "/metrics", 200, "metrics /metrics"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := parseWeb(t, tt.flags...)
			if err := f.validate(); err != nil {
				t.Fatal(err)
			}
			h, err := f.handler(pages{metrics: text("metrics"), api: text("api"), promql: text("promql"), dashboards: dashboardsHandler(func(*http.Request) dashboards.Settings { return dashboards.Settings{Currency: "EUR"} }), assistants: text("mcp"), missing: f.missing(), ready: func() error { return tt.ready }, behind: func() error {
				if strings.HasSuffix(tt.path, "?behind") {
					return errors.New("3 closed hours are not in the history yet")
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, tt.path, nil))
			if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.body) {
				t.Errorf("GET %s: %d %s; want %d and %q", tt.path, rec.Code, rec.Body, tt.code, tt.body)
			}
		})
	}
}

// TestRedirectsStayBelowThePrefix asks for directories without their slash, and for paths that are not clean.
func TestRedirectsStayBelowThePrefix(t *testing.T) {
	f := parseWeb(t, "--web.route-prefix=/cost", "--web.enable-pprof")
	if err := f.validate(); err != nil {
		t.Fatal(err)
	}
	h, err := f.handler(pages{metrics: text("metrics"), api: text("api"), promql: text("promql"), dashboards: text("dashboards"), assistants: text("mcp")})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/cost": "/cost/", "/cost/dashboards": "/cost/dashboards/", "/cost/api/v1": "/cost/api/v1/", "/cost/debug/pprof": "/cost/debug/pprof/",
		"/cost//metrics": "/cost/metrics", "/cost/x/../metrics": "/cost/metrics", "/dashboards": "/dashboards/", "//metrics": "/metrics",
	} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		if got := rec.Header().Get("Location"); rec.Code != http.StatusTemporaryRedirect || got != want {
			t.Errorf("GET %s: %d to %q, want %q", path, rec.Code, got, want)
		}
	}
}

func TestPrefixMustBeAPath(t *testing.T) {
	f := parseWeb(t, "--web.route-prefix=/a?b")
	if err := f.validate(); err == nil || !strings.Contains(err.Error(), "--web.route-prefix") {
		t.Errorf("got %v", err)
	}
}

func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	f := parseWeb(t, "--web.listen-address=127.0.0.1:0", "--web.listen-address="+taken.Addr().String())
	_, err = f.listen()
	if err == nil {
		t.Fatal("listened on an address that is taken")
	}
	for _, part := range []string{taken.Addr().String(), "address already in use", "--web.listen-address"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestURLs(t *testing.T) {
	withTLS := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(withTLS, []byte("tls_server_config:\n  cert_file: a.pem\n  key_file: b.pem\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		ip   string
		want string
	}{
		{"loopback", nil, "127.0.0.1", "http://127.0.0.1:9003"},
		{"all addresses", nil, "0.0.0.0", "http://localhost:9003"},
		{"all IPv6 addresses", nil, "::", "http://localhost:9003"},
		{"IPv6", nil, "::1", "http://[::1]:9003"},
		{"TLS", []string{"--web.config.file=" + withTLS}, "127.0.0.1", "https://127.0.0.1:9003"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := parseWeb(t, tt.args...)
			if got := f.url(&net.TCPAddr{IP: net.ParseIP(tt.ip), Port: 9003}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestPageOfDashboards: links of the dashboards lead to where clients are, unless the flags name a proxy.
func TestPageOfDashboards(t *testing.T) {
	for _, tt := range []struct {
		name, url, want string
		flags           []string
	}{
		{"as it was asked", "http://costs.svc:9003/dashboards/", "http://costs.svc:9003", nil},
		{"by TLS", "https://costs.svc:9003/dashboards/", "https://costs.svc:9003", nil},
		{"under a prefix", "http://costs.svc/dashboards/", "http://costs.svc/cost", []string{"--web.route-prefix=cost"}},
		{"behind a proxy", "http://10.1.2.3:9003/dashboards/", "https://costs.example.com/", []string{"--web.external-url=https://costs.example.com/", "--web.external-url=http://other.example.com"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := parseWeb(t, tt.flags...)
			if err := f.validate(); err != nil {
				t.Fatal(err)
			}
			if got := f.page(httptest.NewRequest(http.MethodGet, tt.url, nil)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
