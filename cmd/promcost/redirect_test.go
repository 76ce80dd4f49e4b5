package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// secrets are kinds of credentials; every value that must stay with the first server contains the word sesame.
var secrets = map[string]string{
	"basic auth":      "basic_auth: {username: sesame-user, password: sesame}",
	"password file":   "basic_auth: {username: ann, password_file: DIR/sesame}",
	"authorization":   "authorization: {type: Token, credentials: sesame}",
	"bearer":          "bearer_token: sesame",
	"bearer file":     "authorization: {credentials_file: DIR/sesame}",
	"OAuth2":          "oauth2: {client_id: promcost, client_secret: sesame, token_url: URL/token, tls_config: {insecure_skip_verify: true}}",
	"secret header":   "http_headers: {X-Api-Key: {secrets: [sesame]}}",
	"header of files": "http_headers: {X-Api-Key: {files: [DIR/sesame]}}",
	"plain header":    "http_headers: {X-Api-Key: {values: [sesame]}}",
	"cookie":          "http_headers: {Cookie: {values: [id=sesame]}}",
}

// witness is a server that keeps the requests it gets, and where allowed lets them through to next.
type witness struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

// newWitness starts a server that answers with next, by TLS where tls is set.
func newWitness(t *testing.T, tls bool, next http.HandlerFunc) *witness {
	t.Helper()
	w := &witness{}
	h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, `{"access_token":"sesame","token_type":"Bearer","expires_in":3600}`)
			return
		}
		dump, err := httputil.DumpRequest(r, false)
		if err != nil {
			t.Error(err)
		}
		user, password, _ := r.BasicAuth()
		w.mu.Lock()
		w.seen = append(w.seen, string(dump)+user+" "+password)
		w.mu.Unlock()
		next(rw, r)
	})
	if tls {
		w.Server = httptest.NewTLSServer(h)
	} else {
		w.Server = httptest.NewServer(h)
	}
	t.Cleanup(w.Close)
	return w
}

// requests are those seen so far.
func (w *witness) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// client is the client that a file with the text makes; DIR has a file sesame, URL is the server's.
func client(t *testing.T, text, url string) *http.Client {
	t.Helper()
	dir := t.TempDir()
	text = strings.NewReplacer("DIR", dir, "URL", url).Replace(text) + "\ntls_config: {insecure_skip_verify: true}\n"
	file := filepath.Join(dir, "http.yml")
	for name, content := range map[string]string{file: text, filepath.Join(dir, "sesame"): "sesame\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := httpclient.ReadConfig("--prometheus.http-config", file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := httpclient.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCredentialsStay redirects requests of every kind of credentials. Another host, port or scheme is asked without them.
func TestCredentialsStay(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	for _, hop := range []struct {
		name     string
		from, to bool // by TLS
		host     string
		follow   bool // the credentials do
	}{
		{"another path", false, false, "", true},
		{"another port", false, false, "127.0.0.1", false},
		{"another host", false, false, "localhost", false},
		{"another scheme", false, true, "127.0.0.1", false},
		{"down to plain HTTP", true, false, "127.0.0.1", false},
	} {
		for kind, config := range secrets {
			for method, code := range map[string]int{http.MethodGet: http.StatusFound, http.MethodPost: http.StatusTemporaryRedirect} {
				t.Run(hop.name+"/"+kind+"/"+method, func(t *testing.T) {
					to := newWitness(t, hop.to, ok)
					from := newWitness(t, hop.from, func(w http.ResponseWriter, r *http.Request) {
						target := strings.Replace(to.URL, "127.0.0.1", hop.host, 1) + "/moved"
						switch {
						case hop.follow && r.URL.Path == "/moved":
							return
						case hop.follow:
							target = "/moved"
						}
						http.Redirect(w, r, target, code)
					})
					req, err := http.NewRequestWithContext(t.Context(), method, from.URL+"/?token=sesame", strings.NewReader("{}"))
					if err != nil {
						t.Fatal(err)
					}
					resp, err := client(t, config, from.URL).Do(req)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					first, last := from.requests(), to.requests()
					if hop.follow {
						last = first[1:]
					}
					if len(last) != 1 || !strings.Contains(last[0], "/moved") {
						t.Fatalf("redirected requests %q, want one", last)
					}
					if !strings.Contains(strings.TrimPrefix(first[0], method+" /?token=sesame"), "sesame") {
						t.Errorf("the first request has no credentials: %q", first[0])
					}
					if got := strings.Contains(last[0], "sesame"); got != hop.follow {
						t.Errorf("the redirected request has credentials: %v, want %v: %q", got, hop.follow, last[0])
					}
				})
			}
		}
	}
}

// TestCredentialsStayAway gives a server that a request comes back to no credentials: another one chose the address.
func TestCredentialsStayAway(t *testing.T) {
	var away *witness
	home := newWitness(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, away.URL, http.StatusFound)
		}
	})
	away = newWitness(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, home.URL+"/back", http.StatusFound)
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client(t, secrets["secret header"], home.URL).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if seen := home.requests(); len(seen) != 2 || strings.Contains(seen[1], "sesame") {
		t.Errorf("requests %q, want a second one without credentials", seen)
	}
}

// TestSourcesKeepCredentials redirects the requests of each client of the source. The error says where to, and which flag to
// change.
func TestSourcesKeepCredentials(t *testing.T) {
	away := newWitness(t, false, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) })
	home := newWitness(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, away.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	file := filepath.Join(t.TempDir(), "http.yml")
	if err := os.WriteFile(file, []byte(secrets["basic auth"]+"\n"+secrets["secret header"]), 0o600); err != nil {
		t.Fatal(err)
	}
	withUser := strings.Replace(home.URL, "://", "://sesame-user:sesame@", 1)
	for _, tt := range []struct{ name, kind, url, config string }{
		{"auto", sourceAuto, home.URL, file},
		{"query API", sourceQuery, home.URL, file},
		{"remote read", sourceRemoteRead, home.URL, file},
		{"credentials in the URL", sourceQuery, withUser, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &sourceFlags{kind: tt.kind, prometheus: serverFlag{name: prometheusURL, url: tt.url}, httpConfig: tt.config, dedup: asServer, partial: asServer}
			o, err := f.open()
			if err != nil {
				t.Fatal(err)
			}
			sel := promquery.Request{Metric: "up", Start: 0, End: 1}
			_, err = promtest.Select(t.Context(), o, []promquery.Request{sel}, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "redirects to "+away.URL) || !strings.Contains(err.Error(), "--prometheus.url") || strings.Contains(err.Error(), "sesame") {
				t.Errorf("error %v, want one that says where the redirect leads", err)
			}
		})
	}
	if len(away.requests()) == 0 {
		t.Error("no redirect was followed")
	}
	for _, seen := range away.requests() {
		if strings.Contains(seen, "sesame") {
			t.Errorf("credentials went to another server: %q", seen)
		}
	}
}

// TestServerKeepsCredentials redirects what the query command asks a promcost.
func TestServerKeepsCredentials(t *testing.T) {
	away := newWitness(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	home := newWitness(t, false, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, away.URL, http.StatusFound) })
	t.Setenv("PROMCOST_SERVER", strings.Replace(home.URL, "://", "://ann:sesame@", 1))
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"query", "allocation"}, &out, &stderr); code != exitError || strings.Contains(stderr.String(), "sesame") {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	if seen := home.requests(); len(seen) != 1 || !strings.Contains(seen[0], "ann sesame") {
		t.Errorf("the server was asked %q, want its credentials", seen)
	}
	if seen := away.requests(); len(seen) != 1 || strings.Contains(seen[0], "sesame") {
		t.Errorf("the other server was asked %q, want no credentials", seen)
	}
}
