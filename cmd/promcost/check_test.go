package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// oldDemo writes a small demo that ended long ago, and returns its directory.
func oldDemo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "demo")
	p := start(t, append([]string{"demo", "--write=" + dir, "--demo.end=2026-01-31T12:00:00Z"}, smallDemo...)...)
	if code := <-p.code; code != exitOK {
		t.Fatalf("exit %d: %s", code, p.err.String())
	}
	return dir
}

func TestCheckSource(t *testing.T) {
	t.Parallel()
	dir := oldDemo(t)
	partial := t.TempDir()
	from, to := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	one := promtest.Regular(from, to-1, 60_000, func(int64) float64 { return 1 })
	promtest.WriteBlocks(t, partial, 2*time.Hour,
		promtest.Series{Labels: []string{"__name__", "kube_node_info", "node", "n1"}, Samples: one},
		promtest.Series{Labels: []string{"__name__", "kube_node_status_allocatable", "node", "n1", "resource", "cpu"}, Samples: one},
		promtest.Series{Labels: []string{"__name__", "kube_pod_container_status_running", "namespace", "shop", "pod", "web-0", "uid", "u", "container", "app"}, Samples: one},
	)
	closed := closedURL(t)
	checkTranscript(t, "check", place{"PARTIAL", partial}, place{"PROMETHEUS", promtest.Start(t, dir, promtest.Config{})},
		place{"DIR", dir}, place{"CLOSED", closed}, place{"ADDRESS", strings.TrimPrefix(closed, "http://")})
}

func TestCheckSourceJSON(t *testing.T) {
	p := start(t, "check", "source", "--tsdb.path="+oldDemo(t), "-o", "json")
	if code := <-p.code; code != exitOK {
		t.Fatalf("exit %d: %s", code, p.err.String())
	}
	var answer struct {
		Data struct {
			Complete bool
			Sources  []struct{ Samples int64 }
			Clusters []struct {
				Inputs []struct{ Name, State string }
			}
		}
	}
	if err := json.Unmarshal([]byte(p.out.String()), &answer); err != nil {
		t.Fatalf("%v in %s", err, p.out.String())
	}
	d := answer.Data
	if !d.Complete || len(d.Clusters) != 1 || len(d.Clusters[0].Inputs) != len(promquery.Inputs) || d.Sources[0].Samples == 0 {
		t.Errorf("got %+v", d)
	}
}

// TestServeJoined serves from blocks, and from a Prometheus for newer samples.
func TestServeJoined(t *testing.T) {
	dir := writeSmallDemo(t)
	prometheus := promtest.Start(t, dir, promtest.Config{External: map[string]string{"cluster": "prod"}})
	p := start(t, "serve", "--storage.path=", "--web.listen-address=127.0.0.1:0", "--prometheus.url="+prometheus, "--tsdb.path="+dir, "--log.slow-query=1ns")
	base := p.url(t)
	if !strings.Contains(p.err.String(), "from the Prometheus what is not in them") {
		t.Error("it does not say that it joins two sources")
	}
	code, body := get(t, base+"/model/allocation/compute?window=2h&aggregate=cluster&idle=false&explain=true&maxError=0.1")
	var answer struct {
		Resolution string
		Data       []map[string]any
		Explain    struct {
			Computations []struct {
				Sources []struct{ Name string }
				Inputs  []struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 {
		t.Fatalf("%d, %v: %.300s", code, err, body)
	}
	e := answer.Explain.Computations
	if answer.Resolution != "1m" || answer.Data[0]["prod"] == nil || len(e) != 1 || len(e[0].Inputs) < 20 || len(e[0].Sources) != 2 ||
		e[0].Sources[0].Name != "blocks" || e[0].Sources[1].Name != "remote-read" {
		t.Errorf("resolution %s, explained as %+v", answer.Resolution, e)
	}
	if code, body := get(t, base+"/model/diagnose?window=1h"); code != 200 || !strings.Contains(body, `"complete":true`) || !strings.Contains(body, `"cluster":"prod"`) {
		t.Errorf("diagnose: %d %.300s", code, body)
	}
	eventually(t, "the slow computation is not logged", func() bool {
		log := p.err.String()
		return strings.Contains(log, `msg="Slow computation"`) && strings.Contains(log, "remote-read") && strings.Contains(log, "stages=")
	})
	_, page := get(t, base+"/metrics")
	for _, source := range []string{"blocks", "remote-read"} {
		for _, want := range []string{
			`promcost_source_samples_total{input="cpu usage",source="` + source + `"} `, `promcost_source_bytes_total{input="pod labels",source="` + source + `"} `,
			`promcost_source_retries_total{input="running",source="` + source + `"} 0`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("/metrics has no %s", want)
			}
		}
		if !regexp.MustCompile(`promcost_source_request_duration_seconds_count\{input="[a-z ]+",source="` + source + `"\} [1-9]`).MatchString(page) {
			t.Errorf("no request to %s has a duration", source)
		}
	}
	p.end(t)
}

// TestQueryJoined asks once, from blocks and a Prometheus: what is said of that on standard error at the default level.
func TestQueryJoined(t *testing.T) {
	dir := writeSmallDemo(t)
	prometheus := promtest.Start(t, dir, promtest.Config{})
	p := start(t, "query", "allocation", "--prometheus.url="+prometheus, "--tsdb.path="+dir, "--window=2h", "--log.slow-query=1ns")
	select {
	case code := <-p.code:
		if code != 0 {
			t.Fatalf("it ended with %d: %s", code, p.err.String())
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	log := p.err.String()
	if !strings.Contains(log, "from the Prometheus what is not in them") {
		t.Errorf("it does not say that it joins two sources:\n%s", log)
	}
	_, slow, _ := strings.Cut(log, `msg="Slow computation"`)
	for _, want := range []string{
		`sources="blocks [^"]*: \d+ requests \(0 retries, 0 errors\), \d+ bytes, \d+ series, \d+ samples; remote-read `,
		`inputs="blocks [^"]*s: \d+ requests, \d+ bytes, \d+ samples, [^"]*; remote-read `,
	} {
		if !regexp.MustCompile(want).MatchString(slow) {
			t.Errorf("the slow computation is not logged as %s:\n%s", want, log)
		}
	}
}

func TestBudgets(t *testing.T) {
	dir := oldDemo(t)
	for _, tt := range []struct{ flag, want string }{
		{"--compute.max-samples=1000", "raise --compute.max-samples"},
		{"--query.max-memory=100KB", "raise --query.max-memory"},
	} {
		t.Run(tt.flag, func(t *testing.T) {
			p := start(t, "serve", "--storage.path=", "--web.listen-address=127.0.0.1:0", "--tsdb.path="+dir, tt.flag)
			var code int
			var body string
			eventually(t, "memory is taken by others for too long", func() bool { // the hour for /metrics is computed, too
				code, body = get(t, p.url(t)+"/model/allocation/compute?window=2026-01-31T08:00:00Z,2026-01-31T12:00:00Z&step=1m")
				return code != http.StatusServiceUnavailable
			})
			if code != http.StatusUnprocessableEntity || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s", code, body)
			}
			p.end(t)
		})
	}
}

// slow is a source that never answers. It reports when it is asked and when the caller gives up.
type slow struct{ asked, gone chan struct{} }

func (s slow) Select(ctx context.Context, _ []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(_ promquery.Yield) (promquery.Stats, error) {
		s.asked <- struct{}{}
		<-ctx.Done()
		close(s.gone)
		return promquery.Stats{}, ctx.Err()
	})
}

// TestClientThatLeaves ends the reading for a client that has gone: nobody waits for it.
func TestClientThatLeaves(t *testing.T) {
	src := slow{make(chan struct{}, 1), make(chan struct{})}
	l, err := newLoggers(&lockedBuffer{}, &logFlags{level: "error", format: "logfmt"})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := newService(&opened{Source: src}, &costFlags{Flags: config.Flags{Zone: time.UTC}, timeout: time.Hour, concurrency: 1}, l, serviceOptions{now: time.Now, ledgerNow: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := webserver.New(svc.api, webserver.NewConnections(webserver.DefaultConnections, svc.memory))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) //nolint:errcheck // it ends when it is closed
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+"/model/allocation/compute?window=1h", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		answered <- err
	}()
	<-src.asked
	left := time.Now()
	leave()
	select {
	case <-src.gone:
		if d := time.Since(left); soak.On() && d > 100*time.Millisecond { // usually a millisecond
			t.Errorf("the source knew after %s", d)
		}
	case <-time.After(patience):
		t.Fatal("the source is still being read")
	}
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
}

// TestCheckSourceInCluster looks for a Prometheus where there is one, and checks it.
func TestCheckSourceInCluster(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer closed.Close()
	prometheus := promtest.Start(t, oldDemo(t), promtest.Config{})
	for _, tt := range []struct {
		name        string
		urls, flags []string
		want, fails string
	}{
		{"found", []string{closedURL(t), closed.URL, prometheus}, []string{"--window=2026-01-31T11:00:00Z,2026-01-31T12:00:00Z"}, "--prometheus.url=" + closed.URL + " --prometheus.http-config=FILE\n--prometheus.url=" + prometheus + "\n", ""},
		{"closed", []string{closed.URL}, nil, "--prometheus.url=" + closed.URL, "wants credentials"},
		{"none", []string{closedURL(t)}, nil, "", "kubectl get services -A"},
		{"given", nil, []string{"--prometheus.url=" + prometheus}, "", "leave out --in-cluster"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			app := kingpin.New("promcost", "").Terminate(nil)
			logs := addLogFlags(app)
			f := &checkFlags{}
			check := f.define(app.Command("check", ""), streams{out: &out, err: &stderr}, logs)
			f.urls = tt.urls
			if _, err := app.Parse(append([]string{"check", "--in-cluster"}, tt.flags...)); err != nil {
				t.Fatal(err)
			}
			err := check(t.Context())
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("error %v, want %q", err, tt.fails)
			}
			if !strings.HasPrefix(stderr.String(), tt.want) || tt.fails == "" && !strings.Contains(out.String(), "kube_pod_container") {
				t.Errorf("it prints %q and %q", stderr.String(), out.String())
			}
		})
	}
}
