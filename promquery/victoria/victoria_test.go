package victoria_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
	"github.com/promcost/promcost/promquery/victoria"
)

const (
	minute = int64(60_000)
	hour   = 60 * minute
	begin  = int64(1_767_571_200_000) // 2026-01-05T00:00:00Z
	end    = begin + 6*hour
)

// odd are series whose values or names are hard to store.
func odd() []promtest.Series {
	every := func(f func(k float64) float64) []promtest.Sample {
		return promtest.Regular(begin, end, minute, func(t int64) float64 { return f(float64(t-begin) / float64(minute)) })
	}
	named := func(shape string, samples []promtest.Sample) promtest.Series {
		return promtest.Series{Labels: []string{"__name__", "odd", "shape", shape}, Samples: samples}
	}
	jitter := every(func(k float64) float64 { return k })
	for i := range jitter {
		jitter[i].T += int64(i*7919%1000) - 500
	}
	unsteady := every(func(float64) float64 { return 3 })
	for i := range unsteady {
		unsteady[i].T += int64(i * 104729 % 300)
	}
	stales := every(func(k float64) float64 { return k })
	for i := range stales {
		if i%50 == 49 {
			stales[i] = promtest.Stale(stales[i].T)
		}
	}
	return []promtest.Series{
		named("zero", every(func(float64) float64 { return 0 })),
		named("one", every(func(float64) float64 { return 1 })),
		named("constant", every(func(float64) float64 { return 0.0416 })),
		named("counter", every(func(k float64) float64 { return math.Floor(k * 31.7) })),
		named("fractions", every(func(k float64) float64 { return math.Sqrt(k) })),
		named("negative", every(func(k float64) float64 { return -k*k - 1 })),
		named("tiny", every(func(k float64) float64 { return (k + 1) * 1e-200 })),
		named("huge", every(func(k float64) float64 { return (k + 1) * 1e200 })),
		named("bytes", every(func(k float64) float64 { return 64<<30 + math.Floor(k)*4096 })),
		named("infinite", every(func(k float64) float64 { return math.Inf(int(k)%2*2 - 1) })),
		named("mixed", every(func(k float64) float64 { return []float64{1e-9, 1e9, math.Inf(1), -3, 0}[int(k)%5] })),
		named("once", []promtest.Sample{{T: begin + 90*minute, V: 7}}),
		named("jitter", jitter), named("unsteady", unsteady), named("stales", stales),
		named("quotes \"\\\n' ü", every(func(k float64) float64 { return k })),
		{Labels: []string{"__name__", "odd", "shape", "bytes in names", "odd", "a\x01b\x02c"}, Samples: every(func(k float64) float64 { return k })},
		{Labels: []string{"__name__", "other", "shape", "other"}, Samples: every(func(k float64) float64 { return k })},
	}
}

// server is a real VictoriaMetrics with the odd series.
func server(t testing.TB, series ...promtest.Series) string {
	t.Helper()
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return promtest.StartVictoria(t, dir, true)
}

// over is a source over a server.
func over(t testing.TB, base string, cfg victoria.Config) *victoria.Source {
	t.Helper()
	src, err := remote.New(remote.Config{URL: base, Backoff: time.Millisecond, ReplicaLabels: cfg.ReplicaLabels})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Server = src
	return victoria.New(cfg)
}

// meddler is a server that answers one path of another one in its own way.
func meddler(t testing.TB, base, path string, meddle func(w http.ResponseWriter, whole []byte)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, code, body := forward(t, base, r)
		w.Header().Set("Content-Type", kind)
		isProbe := strings.HasSuffix(path, "native") && len(body) <= 16
		if r.URL.Path == path && !isProbe {
			meddle(w, body)
			return
		}
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// forward asks another server in place of the one that was asked.
func forward(t testing.TB, base string, r *http.Request) (kind string, code int, body []byte) {
	form, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	out, err := http.NewRequestWithContext(context.Background(), r.Method, base+r.URL.RequestURI(), bytes.NewReader(form))
	if err != nil {
		t.Error(err)
	}
	out.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(out)
	if err != nil {
		t.Error(err)
		return "", http.StatusBadGateway, nil
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
	return resp.Header.Get("Content-Type"), resp.StatusCode, body
}

const (
	nativePath = "/api/v1/export/native"
	linesPath  = "/api/v1/export"
)

// odds asks for all odd series in a window.
func odds(from, to int64) promquery.Request {
	return promquery.Request{Metric: "odd", Keep: promquery.Labels("shape", "odd"), Start: from, End: to}
}

// ask joins the stretches of each series, by its key.
func ask(t testing.TB, src promquery.Source, rs ...promquery.Request) (map[string][]string, promquery.Stats) {
	t.Helper()
	got := map[string][]string{}
	stats, err := promtest.Select(t.Context(), src, rs, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		var parts []string
		for _, s := range key {
			parts = append(parts, s.Value())
		}
		name := fmt.Sprint(i, " ", strings.Join(parts, "|"))
		for at, v := range p.All() {
			got[name] = append(got[name], word(at, v))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, stats
}

// word is a sample with as many digits as VictoriaMetrics keeps.
func word(at int64, v float64) string {
	if timeline.IsStale(v) {
		return fmt.Sprintf("%d=stale", at-begin)
	}
	return fmt.Sprintf("%d=%.9g", at-begin, v)
}

// want are the samples of the odd series in a window.
func want(from, to int64) map[string][]string {
	out := map[string][]string{}
	for _, s := range odd() {
		if s.Labels[1] != "odd" {
			continue
		}
		key := "0 " + s.Labels[3] + "|"
		if len(s.Labels) > 4 {
			key += s.Labels[5]
		}
		for _, p := range s.Samples {
			if from <= p.T && p.T <= to {
				out[key] = append(out[key], word(p.T, p.V))
			}
		}
	}
	return out
}

// TestExports asks a real VictoriaMetrics, by both of its exports.
func TestExports(t *testing.T) {
	t.Parallel()
	base := server(t, odd()...)
	noNative := meddler(t, base, nativePath, func(w http.ResponseWriter, whole []byte) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(whole)
	})
	for _, tc := range []struct {
		name     string
		base     string
		from, to int64
		paths    int // requests
		warning  string
	}{
		{"blocks", base, begin - hour, end + hour, 1, ""},
		{"parts of blocks", base, begin + 7*minute + 1, end - 11*minute - 1, 1, ""},
		{"lines", base, begin + 30*minute, begin + 89*minute, 1, ""},
		{"one instant", base, begin + 30*minute, begin + 30*minute, 1, ""},
		{"lines in place of blocks", noNative, begin, end, 1 + 7, `/api/v1/export/native of the server is not as promcost knows it, and its lines of JSON were read in its place, which costs it more: `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := over(t, tc.base, victoria.Config{})
			got, stats := ask(t, src, odds(tc.from, tc.to))
			expected := want(tc.from, tc.to)
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			samples := 0
			for _, s := range expected {
				samples += len(s)
			}
			if stats.Series != int64(len(expected)) || stats.Samples != int64(samples) || stats.Requests != int64(tc.paths) || stats.Bytes == 0 {
				t.Errorf("%+v, want %d series, %d samples and %d requests", stats, len(expected), samples, tc.paths)
			}
			if text := strings.Join(stats.Warnings, "\n"); !strings.HasPrefix(text, tc.warning) || tc.warning == "" && text != "" {
				t.Errorf("warnings %q, want %q", text, tc.warning)
			}
			if name := src.Name(t.Context()); name != victoria.Name || !src.Raw(t.Context(), tc.from, tc.to) {
				t.Errorf("the source is named %s", name)
			}
		})
	}
}

// TestTwice merges samples that are stored twice, as two replicas of a Prometheus write them.
func TestTwice(t *testing.T) {
	t.Parallel()
	series := func(replica string, from int64) promtest.Series {
		return promtest.Series{
			Labels:  []string{"__name__", "odd", "shape", "twice", "replica", replica},
			Samples: promtest.Regular(from, end, minute, func(t int64) float64 { return float64(t - begin) }),
		}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series("a", begin), series("b", begin+20_000))
	base := promtest.StartVictoria(t, dir, true)
	promtest.Push(t, base+"/api/v1/write", dir, true)
	if _, err := http.Get(base + "/internal/force_flush"); err != nil { //nolint:bodyclose // of a test
		t.Fatal(err)
	}
	got, stats := ask(t, over(t, base, victoria.Config{ReplicaLabels: []string{"replica"}}), promquery.Request{Metric: "odd", Start: begin, End: end})
	if len(got) != 1 || stats.Series != 2 {
		t.Fatalf("%d keys of %d series, want one of both replicas", len(got), stats.Series)
	}
	for key, samples := range got {
		if slices.Sort(samples); len(samples) != 721 || len(slices.Compact(samples)) != 721 || key != "0 shape|twice" {
			t.Errorf("%s: %d samples, want 361 and 360, each once", key, len(samples))
		}
	}
}

// TestOthers reads servers without exports by what they have, and says so where exports are insisted on.
func TestOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, odd()...)
	prometheus := promtest.Start(t, dir, promtest.Config{})
	queryOnly := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/read" || r.URL.Path == nativePath {
			http.NotFound(w, r)
			return
		}
		kind, code, body := forward(t, prometheus, r)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(queryOnly.Close)
	for _, tc := range []struct {
		base, name string
		raw        bool
	}{{prometheus, "remote-read", true}, {queryOnly.URL, "query", false}} {
		src := over(t, tc.base, victoria.Config{})
		if got, _ := ask(t, src, odds(begin, begin+hour)); len(got) == 0 {
			t.Errorf("%s: no series", tc.name)
		}
		if name := src.Name(t.Context()); name != tc.name || src.Raw(t.Context(), begin, end) != tc.raw {
			t.Errorf("the source is named %s, want %s", name, tc.name)
		}
		_, err := promtest.Select(t.Context(), over(t, tc.base, victoria.Config{Insist: true}), []promquery.Request{odds(begin, end)}, nil)
		if err == nil || !strings.Contains(err.Error(), "the server has no /api/v1/export/native, as VictoriaMetrics does") {
			t.Errorf("insisting on exports: %v", err)
		}
	}
}
