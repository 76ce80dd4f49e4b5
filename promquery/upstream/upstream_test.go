package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/upstream"
)

// owned are the names of cost series in these tests.
var owned = []string{"promcost_namespace_cost_total", "promcost_namespace_hourly_cost"}

// shared are the names of cost series that others have, too, in these tests.
var shared = []string{"kube_namespace_labels", "node_cpu_hourly_cost"}

// always is a function of a source that always says the same.
func always[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

// upstreamOf is the upstream at a URL.
func upstreamOf(t testing.TB, base string, streams bool, external map[string]string) *upstream.Server {
	t.Helper()
	return upstreamWith(t, base, streams, external, upstream.Limits{})
}

// upstreamWith is the upstream at a URL of which limits allow a part.
func upstreamWith(t testing.TB, base string, streams bool, external map[string]string, limits upstream.Limits) *upstream.Server {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return upstream.New(upstream.Config{
		URL: u, Owned: owned, Shared: shared, Limits: limits, Streams: always(streams), Timeout: 10 * time.Second, MaxBytes: 1 << 20,
		External: func(context.Context) (map[string]string, error) {
			return maps.Clone(external), nil // it is the caller's
		},
	})
}

// clusterBlocks are blocks of the costs of a cluster, and of everything that a Prometheus has of it, with or without the costs
// that it scraped.
func clusterBlocks(t testing.TB) (costs, cluster, both string) {
	t.Helper()
	first, last := int64(apitest.Epoch*1000), int64(apitest.Epoch+3*3600)*1000
	series := func(f func(t int64) float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: labels, Samples: promtest.Regular(first, last, 60_000, f)}
	}
	rising := func(t int64) float64 { return 1 + float64(t-first)/7e6 }
	count := func(t int64) float64 { return float64((t - first) / 60_000) } // VictoriaMetrics rounds others
	cost := []promtest.Series{
		series(rising, "__name__", owned[1], "cluster", "prod", "namespace", "web", "resource", "cpu"),
		series(rising, "__name__", owned[1], "cluster", "prod", "namespace", "db", "resource", "cpu"),
		series(rising, "__name__", owned[0], "cluster", "prod", "namespace", "web", "resource", "cpu"),
	}
	ended := series(count, "__name__", "kube_pod_info", "namespace", "web", "pod", "c")
	ended.Samples = append(append(ended.Samples[:40:40], promtest.Stale(ended.Samples[40].T)), ended.Samples[100:]...)
	lost := series(count, "__name__", "kube_pod_info", "namespace", "web", "pod", "d")
	lost.Samples = append(lost.Samples[:40:40], lost.Samples[100:]...)
	others := []promtest.Series{
		series(func(int64) float64 { return 1 }, "__name__", "kube_pod_info", "namespace", "web", "pod", "a"),
		series(func(int64) float64 { return 1 }, "__name__", "kube_pod_info", "namespace", "db", "pod", "b"),
		series(func(t int64) float64 { return float64(t-first) / 1e3 }, "__name__", "promcost_http_requests_total", "code", "200"),
		lost,
	}
	scraped := series(func(int64) float64 { return 1e6 }, "__name__", owned[1], "cluster", "prod", "namespace", "web", "resource", "cpu", "job", "promcost")
	costs, cluster, both = t.TempDir(), t.TempDir(), t.TempDir()
	promtest.WriteBlocks(t, costs, 24*time.Hour, cost...)
	promtest.WriteBlocks(t, cluster, 24*time.Hour, append(others, scraped, ended)...)
	promtest.WriteBlocks(t, both, 24*time.Hour, append(append(others, cost...), ended)...)
	return costs, cluster, both
}

// joins are expressions over costs and other series.
var joins = []string{
	"promcost_namespace_hourly_cost / on (namespace) group_left count by (namespace) (kube_pod_info)",
	"sum by (namespace) (promcost_namespace_hourly_cost) * on (namespace) group_right kube_pod_info", `{__name__=~"promcost_.+"}`, `count by (__name__) ({__name__=~".+"})`,
	`{__name__=~"kube.*|promcost_namespace.*",namespace="web"}`, "kube_pod_info", "count(kube_pod_info offset 20m)", "sum(rate(promcost_http_requests_total[20m]))", `kube_pod_info{cluster=""}`,
	"count_over_time(kube_pod_info[30m])", "max_over_time(count(kube_pod_info)[1h:10m])", "nope or promcost_namespace_hourly_cost", `{namespace="db"}`, `sum({cluster=""})`, "kube_pod_info @ start()",
}

// TestJoin asks for costs and other series in one expression, of servers that stream remote read and that do not, and
// compares the answers with those of a Prometheus that has both. The engine looks back for hours, which other series are not
// seen by.
func TestJoin(t *testing.T) {
	costs, cluster, both := clusterBlocks(t)
	external := map[string]string{"cluster": "prod", "replica": "a"}
	prometheus := promtest.Start(t, cluster, promtest.Config{External: external})
	want := promtest.Start(t, both, promtest.Config{})
	for _, tt := range []struct {
		name    string
		up      *upstream.Server
		markers bool // of staleness are there
	}{
		{"remote read", upstreamOf(t, prometheus, true, external), true},
		{"query API", upstreamOf(t, prometheus, false, nil), false},
		{"VictoriaMetrics", upstreamOf(t, promtest.StartVictoria(t, cluster, true), false, nil), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{Upstream: tt.up, Lookback: 130 * time.Minute})
			for _, expr := range joins {
				if !tt.markers && !strings.Contains(expr, "over_time(kube") {
					expr = strings.ReplaceAll(expr, "kube_pod_info", `kube_pod_info{pod!="c"}`)
					expr = strings.ReplaceAll(expr, "{namespace=", `{pod!="c",namespace=`)
					expr = strings.ReplaceAll(expr, `".+"}`, `".+",pod!="c"}`)
					expr = strings.ReplaceAll(expr, `,namespace="web"}`, `,namespace="web",pod!="c"}`)
					expr = strings.ReplaceAll(expr, `sum({`, `sum({pod!="c",`)
					expr = strings.ReplaceAll(expr, `}{cluster=""}`, `,cluster=""}`)
				}
				q := fmt.Sprintf("query=%s&start=%d&end=%d&step=97", url.QueryEscape(expr), apitest.Epoch+600, apitest.Epoch+3*3600-600)
				got, want := apitest.Ask(t, http.MethodPost, ours, "/api/v1/query_range", q), apitest.Ask(t, http.MethodPost, want, "/api/v1/query_range", q)
				if diff := cmp.Diff(want.Without("infos"), got.Without("infos")); diff != "" {
					t.Errorf("%s (-Prometheus with both +joined):\n%s", expr, diff)
				}
			}
			q := fmt.Sprintf("query=%s&time=%d&lookback_delta=1h", url.QueryEscape(`kube_pod_info{pod="d"}`), apitest.Epoch+4000)
			got, want := apitest.Ask(t, http.MethodGet, ours, "/api/v1/query", q), apitest.Ask(t, http.MethodGet, want, "/api/v1/query", q)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("with a lookback of its own (-Prometheus with both +joined):\n%s", diff)
			}
		})
	}
}

// TestSharedNames asks for metrics that promcost and others expose: all series are there, the upstream's where labels are equal, and none that
// was scraped from a promcost unless its job is named.
func TestSharedNames(t *testing.T) {
	first, last := int64(apitest.Epoch*1000), int64(apitest.Epoch+3600)*1000
	series := func(v float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: append([]string{"__name__"}, labels...), Samples: promtest.Regular(first, last, 60_000, func(int64) float64 { return v })}
	}
	costs, cluster := t.TempDir(), t.TempDir()
	promtest.WriteBlocks(t, costs, 24*time.Hour, series(1, shared[0], "namespace", "web"), series(2, shared[1], "node", "n1"), series(3, shared[1], "node", "n2"))
	promtest.WriteBlocks(t, cluster, 24*time.Hour,
		series(1, shared[0], "namespace", "web", "job", "kube-state-metrics", "label_team", "a"), series(7, shared[1], "node", "n1"),
		series(2, shared[1], "node", "n1", "job", "promcost"), series(1, "promcost_build_info", "job", "promcost"), series(5, "other", "job", "promcost"))
	prometheus := promtest.Start(t, cluster, promtest.Config{})
	for _, streams := range []bool{true, false} {
		ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{Upstream: upstreamOf(t, prometheus, streams, nil), Lookback: 130 * time.Minute})
		for expr, want := range map[string]string{
			"kube_namespace_labels":                            `{__name__="kube_namespace_labels", job="kube-state-metrics", label_team="a", namespace="web"}=1 {__name__="kube_namespace_labels", namespace="web"}=1 and both`,
			`kube_namespace_labels{job="kube-state-metrics"}`:  `{__name__="kube_namespace_labels", job="kube-state-metrics", label_team="a", namespace="web"}=1`,
			`kube_namespace_labels{job=""}`:                    `{__name__="kube_namespace_labels", namespace="web"}=1`,
			`kube_namespace_labels{job!=""}`:                   `{__name__="kube_namespace_labels", job="kube-state-metrics", label_team="a", namespace="web"}=1`,
			"node_cpu_hourly_cost":                             `{__name__="node_cpu_hourly_cost", node="n1"}=7 {__name__="node_cpu_hourly_cost", node="n2"}=3 and an info`,
			`node_cpu_hourly_cost{job="promcost"}`:             `{__name__="node_cpu_hourly_cost", job="promcost", node="n1"}=2`,
			`count by (__name__) ({__name__=~"node.*|other"})`: `{__name__="node_cpu_hourly_cost"}=2 {__name__="other"}=1 and an info`,
		} {
			var answer struct {
				Infos []string
				Data  struct {
					Result []struct {
						Metric labels.Labels
						Value  [2]any
					}
				}
			}
			text, err := json.Marshal(apitest.Ask(t, http.MethodGet, ours, "/api/v1/query", fmt.Sprintf("query=%s&time=%d", url.QueryEscape(expr), apitest.Epoch+1800)).Body)
			if err != nil || json.Unmarshal(text, &answer) != nil {
				t.Fatalf("%s: %v: %s", expr, err, text)
			}
			var got []string
			for _, r := range answer.Data.Result {
				got = append(got, fmt.Sprintf("%s=%v", r.Metric, r.Value[1]))
			}
			slices.Sort(got)
			for _, info := range answer.Infos {
				switch {
				case strings.Contains(info, "1 series of the Prometheus stand in place of promcost's"):
					got = append(got, "and an info")
				case strings.Contains(info, "1 series of kube_namespace_labels are promcost's, and 1 with other labels the Prometheus'"):
					got = append(got, "and both")
				}
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("streams %v: %s is %s, want %s", streams, expr, text, want)
			}
		}
		got := apitest.Ask(t, http.MethodGet, ours, "/api/v1/series", fmt.Sprintf("match[]=node_cpu_hourly_cost&start=%d&end=%d", apitest.Epoch, apitest.Epoch+3600))
		if text, _ := json.Marshal(got.Body); strings.Count(string(text), `"node":`) != 2 || strings.Contains(string(text), `"job"`) {
			t.Errorf("streams %v: series %s", streams, text)
		}
	}
}

// TestJoinedNames compares the names of joined series with those of a Prometheus that has both.
func TestJoinedNames(t *testing.T) {
	costs, cluster, both := clusterBlocks(t)
	external := map[string]string{"cluster": "prod", "replica": "a"}
	ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{Upstream: upstreamOf(t, promtest.Start(t, cluster, promtest.Config{External: external}), true, external)})
	theirs := promtest.Start(t, both, promtest.Config{})
	window := fmt.Sprintf("start=%d&end=%d", apitest.Epoch, apitest.Epoch+3*3600)
	for _, q := range []struct{ path, query string }{
		{"/api/v1/labels", "match[]=kube_pod_info"},
		{"/api/v1/labels", "match[]=promcost_namespace_hourly_cost"},
		{"/api/v1/labels", "match[]={__name__=~%22.%2B%22}"},
		{"/api/v1/label/__name__/values", ""},
		{"/api/v1/label/__name__/values", "match[]={namespace=%22web%22}"},
		{"/api/v1/label/__name__/values", "limit=2"},
		{"/api/v1/label/pod/values", ""},
		{"/api/v1/label/namespace/values", "match[]=kube_pod_info"},
		{"/api/v1/label/namespace/values", "match[]=promcost_namespace_cost_total"},
		{"/api/v1/series", "match[]=kube_pod_info"},
		{"/api/v1/series", "match[]={__name__=~%22.%2B%22}"},
		{"/api/v1/series", "match[]=kube_pod_info&match[]=promcost_namespace_hourly_cost"},
		{"/api/v1/series", "match[]=nope"},
	} {
		got, want := apitest.Ask(t, http.MethodGet, ours, q.path, window+"&"+q.query), apitest.Ask(t, http.MethodGet, theirs, q.path, window+"&"+q.query)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s?%s (-Prometheus with both +joined):\n%s", q.path, q.query, diff)
		}
	}
}

// TestJoinedMetadata joins what is known of metrics.
func TestJoinedMetadata(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/sub/api/v1/metadata" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		fmt.Fprintf(w, `{"status":"success","data":{"up":[{"type":"gauge","help":"Up.","unit":""}],%q:[{"type":"gauge","help":"Theirs.","unit":""}]}}`, owned[1])
	}))
	t.Cleanup(up.Close)
	costs, _, _ := clusterBlocks(t)
	ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{
		Upstream: upstreamOf(t, up.URL+"/sub/", true, nil), Metadata: []upstream.Metadata{{Name: owned[0], Type: "counter", Help: "Cost."}},
	})
	for query, want := range map[string]string{
		"":        `{"promcost_namespace_cost_total":[{"help":"Cost.","type":"counter","unit":""}],"up":[{"help":"Up.","type":"gauge","unit":""}]}`,
		"limit=1": `{"promcost_namespace_cost_total":[{"help":"Cost.","type":"counter","unit":""}]}`,
	} {
		body, _ := apitest.Ask(t, http.MethodGet, ours, "/api/v1/metadata", query).Body.(map[string]any)
		if got, err := json.Marshal(body["data"]); err != nil || string(got) != want {
			t.Errorf("metadata?%s: %s, want %s", query, got, want)
		}
	}
}

// TestUpstreamFails has an upstream fail in many ways: cost series answer, and a warning says why nothing else does.
func TestUpstreamFails(t *testing.T) {
	costs, _, _ := clusterBlocks(t)
	db := apitest.Open(t, costs)
	for name, handler := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", http.StatusInternalServerError) },
		"503 JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"status":"error","error":"boom"}`)
		},
		"HTML":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>boom</html>") },
		"no result": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"success","data":7}`) },
		"cut off":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x20\x00\x00") },
		"silent": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the end of a request is seen once its body was read
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			up := httptest.NewServer(handler)
			t.Cleanup(up.Close)
			base, err := url.Parse("http://user:s3cret@" + strings.TrimPrefix(up.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			for _, streams := range []bool{true, false} {
				ours := apitest.Serve(t, db, promapi.Options{Upstream: upstream.New(upstream.Config{
					URL: base, Owned: owned, Streams: always(streams), External: always(map[string]string{}), Timeout: 200 * time.Millisecond,
				})})
				at := fmt.Sprintf("&time=%d&start=%d&end=%d", apitest.Epoch+3600, apitest.Epoch, apitest.Epoch+3600)
				for _, q := range []struct{ path, query string }{
					{"/api/v1/query", "query=" + url.QueryEscape("promcost_namespace_hourly_cost or kube_pod_info")},
					{"/api/v1/query", "query=" + url.QueryEscape(`{__name__=~".+"}`)},
					{"/api/v1/series", "match[]={__name__=~%22.%2B%22}"},
					{"/api/v1/labels", ""},
					{"/api/v1/label/namespace/values", ""},
				} {
					r := apitest.Ask(t, http.MethodGet, ours, q.path, q.query+at)
					text, _ := json.Marshal(r.Body)
					if r.Code != http.StatusOK || !strings.Contains(string(text), "which is left out of the answer") || !strings.Contains(string(text), "namespace") && !strings.Contains(string(text), `"web"`) || strings.Contains(string(text), "s3cret") {
						t.Errorf("%s?%s: %d %.1000s", q.path, q.query, r.Code, text)
					}
				}
				r := apitest.Ask(t, http.MethodGet, ours, "/api/v1/query", "query=promcost_namespace_hourly_cost"+at)
				if body, _ := r.Body.(map[string]any); r.Code != http.StatusOK || body["warnings"] != nil {
					t.Errorf("of costs alone: %+v", r)
				}
			}
		})
	}
}

// TestUpstreamIsTooMuch refuses answers that are longer than they may be, rather than leaving them out.
func TestUpstreamIsTooMuch(t *testing.T) {
	costs, _, _ := clusterBlocks(t)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 << 10 {
			fmt.Fprint(w, strings.Repeat(" ", 1<<10))
		}
	}))
	t.Cleanup(up.Close)
	for want, limit := range map[string]int64{"ask for fewer of its series": 0, "--query.max-memory": 1 << 20} {
		ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{Upstream: upstreamOf(t, up.URL, false, nil), Memory: memory.New(limit)})
		for _, q := range []struct{ path, query string }{{"/api/v1/query", "query=up&"}, {"/api/v1/series", "match[]=up&match[]=x&"}} {
			r := apitest.Ask(t, http.MethodGet, ours, q.path, fmt.Sprintf("%stime=%d", q.query, apitest.Epoch))
			if body, _ := r.Body.(map[string]any); r.Code != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(body["error"]), want) {
				t.Errorf("%s: %+v, want %s", q.path, r, want)
			}
		}
	}
}

// TestUpstreamIsLeft ends what is read of the upstream with the request.
func TestUpstreamIsLeft(t *testing.T) {
	costs, _, _ := clusterBlocks(t)
	begun, ended := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // the end of a request is seen once its body was read
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(up.Close)
	ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{Upstream: upstreamOf(t, up.URL, false, nil)})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ours+"/api/v1/query?query=up", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begun
		cancel()
	}()
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("it answers")
	}
	<-ended // it is asked no more
}

// TestUpstreamIsAskedOnce asks the upstream for all selectors in one request.
func TestUpstreamIsAskedOnce(t *testing.T) {
	asked := make(chan []string, 10)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked <- r.Form["match[]"]
		fmt.Fprint(w, `{"status":"success","data":[{"__name__":"up","job":"a"}]}`)
	}))
	t.Cleanup(up.Close)
	costs, _, _ := clusterBlocks(t)
	ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{Upstream: upstreamOf(t, up.URL, true, nil)})
	query := url.Values{"match[]": {"up", `{job="a"}`, "promcost_namespace_cost_total", "kube_pod_info"}}.Encode()
	for path, want := range map[string]string{"/api/v1/series": `{"__name__":"up","job":"a"}`, "/api/v1/labels": `"job"`, "/api/v1/label/__name__/values": `"up"`} {
		body, _ := apitest.Ask(t, http.MethodGet, ours, path, query).Body.(map[string]any)
		if text, err := json.Marshal(body["data"]); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, want %s", path, text, want)
		}
		if n := len(asked); n != 1 {
			t.Fatalf("%s: %d requests", path, n)
		}
		if list := <-asked; len(list) != 3 || strings.Contains(list[0]+list[2], "promcost_namespace_cost_total") {
			t.Errorf("%s: match[]=%q", path, list)
		}
	}
}
