package costseries_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promtest"
)

// epoch is when the samples of the tests begin, in seconds.
const epoch = 1_767_571_200

// litter writes blocks with three hours of costs, with a gap and an end, and what shows how JSON is written.
func litter(t testing.TB, start int64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	first, last := start*1000, (start+3*3600)*1000
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

// openTSDB opens a copy of blocks.
func openTSDB(t testing.TB, dir string) *tsdb.DB {
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

// serve serves the API over series with Prometheus' own lookback.
func serve(t testing.TB, own storage.SampleAndChunkQueryable, o costseries.APIOptions) (base string) {
	t.Helper()
	if o.Lookback == 0 {
		o.Lookback = 5 * time.Minute
	}
	engine := costseries.NewEngine(costseries.EngineOptions{Lookback: o.Lookback, MaxSamples: 1_000_000})
	srv := httptest.NewServer(costseries.NewAPI(own, engine, o))
	t.Cleanup(srv.Close)
	return srv.URL
}

// reply is what a server answers.
type reply struct {
	Code int
	Type string
	Body any // of JSON, else the text
}

// ask sends a request whose parameters are those of query, in the URL of a GET or in the body of a POST.
func ask(t testing.TB, method, base, path, query string) reply {
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
	r := reply{Code: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Body: string(text)}
	var data map[string]any
	if json.Unmarshal(text, &data) == nil {
		r.Body = data
	}
	return r
}

// without drops what two servers need not agree on.
func (r reply) without(members ...string) reply {
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

// question is a request that is compared with what Prometheus answers.
type question struct{ path, query string }

// questions are requests of all kinds, good and bad.
func questions() (list []question) {
	at := fmt.Sprintf("&time=%d", epoch+7200)
	window := fmt.Sprintf("&start=%d&end=%d", epoch, epoch+7200)
	for _, expr := range []string{
		"1", "1+1", `"text"`, "time()", "promcost_namespace_hourly_cost", "odd", "gap", "gap offset 1h", "odd > 0", "sum by (namespace) (promcost_namespace_hourly_cost)",
		"rate(promcost_namespace_cost_total[30m])", "promcost_namespace_cost_total[5m]", `{__name__=~"promcost_.*",resource!="ram"}`, "nope", `odd{kind="nope"}`, "absent(nope)",
		"topk(2, odd)", "sum(odd) by (nope)", "quantile(2, odd)", "rate(promcost_namespace_hourly_cost[30m])", "histogram_quantile(0.9, odd)", `odd{"utf8.label"="x"}`, "last_over_time(odd[1h])[1h:10m]",
		"", "sum(", "odd{", `odd{kind=~"("}`, "nope(odd)", "odd + on(kind) group_left() promcost_namespace_hourly_cost", "promcost_namespace_hourly_cost * on(cluster) promcost_namespace_hourly_cost",
	} {
		e := "query=" + url.QueryEscape(expr)
		list = append(list, question{"/api/v1/query", e + at}, question{"/api/v1/query_range", e + window + "&step=600"},
			question{"/api/v1/format_query", e}, question{"/api/v1/parse_query", e}, question{"/api/v1/query_exemplars", e + window})
	}
	for _, more := range []string{
		"&limit=1", "&limit=-1", "&limit=x", "&stats=true", "&stats=all", "&stats=odd", "&timeout=1s", "&timeout=x", "&lookback_delta=1h", "&lookback_delta=x", "&nonsense=1", "&time=x",
		"&start=x", "&end=x", "&end=1", "&step=0", "&step=-1", "&step=x", "&step=0.1", "&step=1h", "&step=1e300", "&dedup=true",
	} {
		name, _, _ := strings.Cut(more[1:], "=")
		kept := url.Values{"start": {strconv.Itoa(epoch)}, "end": {strconv.Itoa(epoch + 7200)}, "step": {"600"}, "time": {strconv.Itoa(epoch + 7200)}, "query": {"odd"}}
		kept.Del(name)
		list = append(list, question{"/api/v1/query", kept.Encode() + more}, question{"/api/v1/query_range", kept.Encode() + more})
	}
	for _, q := range []string{
		"", "match[]=odd", "match[]=odd&match[]=gap", "match[]=odd&limit=2", "match[]={}", "match[]={a=~%22.*%22}", "match[]=odd{", "match[]=nope", "limit=1", "limit=x", "start=x", "end=x",
		fmt.Sprintf("start=%d&end=%d", epoch, epoch+60), fmt.Sprintf("match[]=odd&start=%d", epoch+100*86400), fmt.Sprintf("match[]=odd&end=%d", epoch-100*86400),
	} {
		for _, path := range []string{"/api/v1/series", "/api/v1/labels", "/api/v1/label/kind/values", "/api/v1/label/__name__/values", "/api/v1/label/U__utf8_2e_label/values", "/api/v1/label/nope/values"} {
			list = append(list, question{path, q})
		}
	}
	return append(list, question{"/api/v1/alerts", ""}, question{"/api/v1/rules", ""}, question{"/api/v1/rules", "type=alert"}, question{"/api/v1/rules", "type=x"},
		question{"/api/v1/targets", ""}, question{"/api/v1/targets", "state=active"}, question{"/api/v1/targets/metadata", ""}, question{"/api/v1/metadata", ""}, question{"/api/v1/metadata", "limit=x"},
		question{"/api/v1/metadata", "limit_per_metric=x"}, question{"/api/v1/metadata", "limit=0"}, question{"/api/v1/alertmanagers", ""}, question{"/api/v1/scrape_pools", ""})
}

// TestAPIAgreesWithPrometheus compares answers with those of a real Prometheus over the same samples, field by field.
func TestAPIAgreesWithPrometheus(t *testing.T) {
	dir := litter(t, epoch)
	ours, theirs := serve(t, openTSDB(t, dir), costseries.APIOptions{}), promtest.Start(t, dir, promtest.Config{Flags: []string{"--enable-feature=promql-per-step-stats"}})
	asked := 0
	for _, q := range questions() {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			got, want := ask(t, method, ours, q.path, q.query), ask(t, method, theirs, q.path, q.query)
			if want.Code == http.StatusMethodNotAllowed {
				got.Body, want.Body, got.Type, want.Type = nil, nil, "", "" // plain text there
			}
			if diff := cmp.Diff(want.without("timings"), got.without("timings")); diff != "" {
				t.Errorf("%s %s?%s (-Prometheus +promcost):\n%s", method, q.path, q.query, diff)
			}
			asked++
		}
	}
	t.Logf("%d requests compared", asked)
}

// TestBuildInfo looks to Grafana like the Prometheus whose API it is.
func TestBuildInfo(t *testing.T) {
	dir := litter(t, epoch)
	ours, theirs := serve(t, openTSDB(t, dir), costseries.APIOptions{}), promtest.Start(t, dir, promtest.Config{})
	for _, path := range []string{"/api/v1/status/buildinfo", "/api/v1/status/runtimeinfo", "/api/v1/status/config", "/api/v1/status/flags"} {
		got, want := ask(t, http.MethodGet, ours, path, ""), ask(t, http.MethodGet, theirs, path, "")
		if got.Code != want.Code || got.Type != want.Type {
			t.Errorf("%s: %d %s, Prometheus %d %s", path, got.Code, got.Type, want.Code, want.Type)
		}
		if path == "/api/v1/status/flags" {
			continue
		}
		if diff := cmp.Diff(kinds(want.Body), kinds(got.Body)); diff != "" {
			t.Errorf("%s: members (-Prometheus +promcost):\n%s", path, diff)
		}
	}
	info := ask(t, http.MethodGet, ours, "/api/v1/status/buildinfo", "").Body.(map[string]any)["data"].(map[string]any)
	if v, _ := info["version"].(string); !strings.HasPrefix(v, "3.") {
		t.Errorf("version %q", v)
	}
}

// TestFeatures tells of PromQL what a Prometheus tells, but for what is set up otherwise, and of the rest nothing that Prometheus has
// no name for.
func TestFeatures(t *testing.T) {
	const path = "/api/v1/features"
	ours, theirs := serve(t, openTSDB(t, litter(t, epoch)), costseries.APIOptions{Flags: map[string]string{"web.enable-lifecycle": "true"}}), promtest.Start(t, "", promtest.Config{Flags: []string{"--web.enable-lifecycle"}})
	features := func(url string) map[string]map[string]any {
		a := ask(t, http.MethodGet, url, path, "")
		if a.Code != http.StatusOK || a.Type != "application/json" {
			t.Fatalf("%d %s", a.Code, a.Type)
		}
		all := map[string]map[string]any{}
		for category, names := range a.Body.(map[string]any)["data"].(map[string]any) {
			all[category] = names.(map[string]any)
		}
		return all
	}
	got, want := features(ours), features(theirs)
	want["promql"]["per_step_stats"] = true // which takes a flag there
	want["promql"]["duration_expr"] = false
	for category, names := range got {
		if strings.HasPrefix(category, "promql") {
			if diff := cmp.Diff(want[category], names); diff != "" {
				t.Errorf("%s (-Prometheus +promcost):\n%s", category, diff)
			}
			continue
		}
		for name := range names {
			if _, ok := want[category][name]; !ok {
				t.Errorf("Prometheus knows no %s of %s", name, category)
			}
		}
	}
	if len(got["promql"]) == 0 || len(got["promql_functions"]) == 0 || len(got["promql_operators"]) == 0 || got["api"]["lifecycle"] != true || got["api"]["admin"] != false {
		t.Errorf("got %v", got)
	}
}

// kinds is a JSON value with the types of its members in place of their values.
func kinds(v any) any {
	if m, ok := v.(map[string]any); ok {
		out := map[string]any{}
		for name, child := range m {
			out[name] = kinds(child)
		}
		return out
	}
	return fmt.Sprintf("%T", v)
}
