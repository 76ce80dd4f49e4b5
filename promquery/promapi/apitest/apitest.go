// Package apitest is test support: it serves Prometheus' HTTP API over samples in blocks, and asks it and real servers.
package apitest

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promtest"
)

// Epoch is when the samples of Blocks begin, in Unix seconds.
const Epoch = 1_767_571_200

// Blocks writes blocks with three hours of costs, with a gap and an end, and what shows how JSON is written.
func Blocks(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	const first, last = int64(Epoch * 1000), int64((Epoch + 3*3600) * 1000)
	series := func(f func(t int64) float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: labels, Samples: promtest.Regular(first, last, 60_000, f)}
	}
	rising := func(t int64) float64 { return float64(t-first) / 7e6 }
	list := []promtest.Series{
		series(rising, "__name__", "promcost_namespace_hourly_cost", "cluster", "prod", "namespace", "web", "resource", "cpu"),
		series(rising, "__name__", "promcost_namespace_hourly_cost", "cluster", "prod", "namespace", `<a href="x">&Ω\`, "resource", "ram"),
		series(func(t int64) float64 { return float64(t-first) / 1e3 }, "__name__", "promcost_namespace_cost_total", "cluster", "prod", "namespace", "web", "resource", "cpu"),
		series(func(int64) float64 { return math.NaN() }, "__name__", "odd", "kind", "nan"),
		series(func(int64) float64 { return math.Inf(-1) }, "__name__", "odd", "kind", "inf"),
		series(func(int64) float64 { return 1.5e-9 }, "__name__", "odd", "kind", "small"),
		series(func(int64) float64 { return 1e300 }, "__name__", "odd", "kind", "large"),
		series(rising, "__name__", "odd", "kind", "fraction", "utf8.label", "x"),
	}
	gap := series(rising, "__name__", "gap", "kind", "gap")
	gap.Samples = append(append(gap.Samples[:60:60], promtest.Stale(gap.Samples[60].T)), gap.Samples[90:]...)
	promtest.WriteBlocks(t, dir, 24*time.Hour, append(list, gap)...)
	return dir
}

// Open opens a copy of blocks.
func Open(t testing.TB, dir string) *tsdb.DB {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	opts := tsdb.DefaultOptions()
	opts.RetentionDuration = math.MaxInt64 / int64(time.Millisecond)
	db, err := tsdb.Open(to, nil, nil, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Serve serves the API over series, with Prometheus' own lookback unless o names one, and returns its URL.
func Serve(t testing.TB, own storage.SampleAndChunkQueryable, o promapi.Options) (base string) {
	t.Helper()
	if o.Lookback == 0 {
		o.Lookback = 5 * time.Minute
	}
	engine := promapi.NewEngine(promapi.EngineOptions{Lookback: o.Lookback, MaxSamples: 1_000_000})
	srv := httptest.NewServer(promapi.New(own, engine, o))
	t.Cleanup(srv.Close)
	return srv.URL
}

// Reply is what a server answers.
type Reply struct {
	Code int
	Type string
	Body any // of JSON, else the text
}

// Ask sends a request whose parameters are those of query, in the URL of a GET or in the body of a POST.
func Ask(t testing.TB, method, base, path, query string) Reply {
	t.Helper()
	var body io.Reader
	target := base + path
	if method == http.MethodPost {
		body = strings.NewReader(query)
	} else {
		target += "?" + query
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := Reply{Code: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Body: string(text)}
	var data map[string]any
	if json.Unmarshal(text, &data) == nil {
		r.Body = data
	}
	return r
}

// AskLong asks by POST where a path takes a form, for parameters that are too long for a URL.
func AskLong(t testing.TB, base, path, query string) Reply {
	t.Helper()
	method := http.MethodGet
	if path == "/api/v1/series" || path == "/api/v1/labels" {
		method = http.MethodPost
	}
	return Ask(t, method, base, path, query)
}

// Without drops members of the JSON that two servers need not agree on.
func (r Reply) Without(members ...string) Reply {
	drop(r.Body, members)
	return r
}

func drop(v any, members []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, m := range members {
			delete(v, m)
		}
		for _, child := range v {
			drop(child, members)
		}
	case []any:
		for _, child := range v {
			drop(child, members)
		}
	}
}
