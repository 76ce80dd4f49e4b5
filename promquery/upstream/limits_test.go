package upstream_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/upstream"
)

// limitsOf are limits, by matchers of what is excluded and selectors of what is allowed.
func limitsOf(t testing.TB, exclude, allow []string) (l upstream.Limits) {
	t.Helper()
	for _, text := range exclude {
		m, err := promquery.ParseMatcher(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Exclude(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range allow {
		if err := l.Allow(text); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// limitedBlocks are blocks of a Prometheus that has series which may not be read, all of the namespace s3cret, and of one that has only the
// others, and costs.
func limitedBlocks(t testing.TB) (costs, cluster, visible string) {
	t.Helper()
	first, last := int64(apitest.Epoch*1000), int64(apitest.Epoch+3*3600)*1000
	series := func(name string, labels ...string) promtest.Series {
		value := func(t int64) float64 { return float64((t - first) / 60_000) }
		return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: promtest.Regular(first, last, 60_000, value)}
	}
	cost := []promtest.Series{
		series(owned[1], "cluster", "prod", "namespace", "web", "resource", "cpu"), series(owned[1], "cluster", "prod", "namespace", "s3cret", "resource", "cpu"),
		series(shared[1], "node", "n1"),
	}
	others := []promtest.Series{
		series("kube_pod_info", "namespace", "web", "pod", "a"), series("kube_pod_info", "namespace", "db", "pod", "b"),
		series("http_requests_total", "namespace", "web", "code", "200"), series(shared[1], "node", "n2", "namespace", "db"),
	}
	hidden := []promtest.Series{
		series("kube_pod_info", "namespace", "s3cret", "pod", "hidden"), series("hidden_total", "namespace", "s3cret", "hidden_label", "x"),
		series("http_requests_total", "namespace", "s3cret", "code", "200"), series(shared[1], "node", "n1", "namespace", "s3cret"),
	}
	costs, cluster, visible = t.TempDir(), t.TempDir(), t.TempDir()
	promtest.WriteBlocks(t, costs, 24*time.Hour, cost...)
	promtest.WriteBlocks(t, cluster, 24*time.Hour, append(hidden, others...)...)
	promtest.WriteBlocks(t, visible, 24*time.Hour, append(cost, others...)...)
	return costs, cluster, visible
}

// limits are ways to let the same series through.
var limits = []struct{ exclude, allow []string }{
	{exclude: []string{`namespace="s3cret"`}},
	{exclude: []string{`namespace=~"s3cr.*"`, `pod="hidden"`}},
	{exclude: []string{`namespace!~"web|db"`}},
	{allow: []string{`{namespace!="s3cret"}`}},
	{allow: []string{"kube_pod_info{namespace=~\"web|db\"}", `{__name__=~"http.*|node.*",namespace=~"web|db"}`, `{namespace="web"}`, `{pod="b"}`, "nope"}},
	{exclude: []string{`namespace=~"s3.+"`}, allow: []string{"kube_pod_info", "http_requests_total", shared[1], "hidden_total"}},
}

// intrusions ask for what may not be read, in every part of the language that selects series.
var intrusions = []string{
	"kube_pod_info", `kube_pod_info{namespace="s3cret"}`, `{namespace="s3cret"}`, `{namespace=~"s3.*",__name__!="x"}`, `{__name__=~".+"}`, `{__name__!=""}`, `{"hidden_total"}`, "hidden_total", `{hidden_label!=""}`,
	`{"hidden_label"="x"}`, `{pod=~".+",pod!~"a|b"}`, `hidden_total or kube_pod_info`, `kube_pod_info or hidden_total`, `kube_pod_info unless on (namespace) hidden_total`, "absent(hidden_total)",
	`kube_pod_info and on () hidden_total`, "hidden_total offset 20m", "hidden_total offset -20m", "hidden_total @ end()", fmt.Sprintf("hidden_total @ %d", apitest.Epoch+3600), "rate(hidden_total[20m])",
	"last_over_time({namespace!=\"\"}[1h])", `max_over_time(count by (namespace) ({namespace!=""})[1h:10m])`, `sum_over_time((hidden_total * 2)[30m:5m] @ start())`, "count by (__name__) ({__name__=~\".+\"})",
	`label_replace(hidden_total, "namespace", "web", "namespace", ".*")`, `label_replace({__name__=~"hid.*"}, "__name__", "kube_pod_info", "", "")`, `label_join({namespace=~".*s.*"}, "pod", "-", "namespace")`,
	"topk(9, {__name__!=\"\"})", `count_values("v", http_requests_total)`, "sum by (namespace) (http_requests_total) / on (namespace) group_left sum by (namespace) (promcost_namespace_hourly_cost)",
	"promcost_namespace_hourly_cost * on (namespace) group_left (hidden_label) hidden_total", "absent_over_time(hidden_total[1h])", "scalar(hidden_total)", "timestamp(hidden_total)", shared[1], "sum(" + shared[1] + ")", "vector(1) or {__name__=~\".*otal\"}",
}

// TestLimits asks in every way for series that may not be read: the answers are those of a Prometheus that does not have them.
func TestLimits(t *testing.T) {
	costs, cluster, visible := limitedBlocks(t)
	external := map[string]string{"cluster": "prod", "replica": "a"}
	prometheus, want := promtest.Start(t, cluster, promtest.Config{External: external}), promtest.Start(t, visible, promtest.Config{})
	servers := []struct {
		name, url string
		streams   bool
		external  map[string]string
	}{{"remote read", prometheus, true, external}, {"query API", prometheus, false, nil}, {"VictoriaMetrics", promtest.StartVictoria(t, cluster, true), false, nil}}
	db := apitest.Open(t, costs)
	window := fmt.Sprintf("start=%d&end=%d&", apitest.Epoch+600, apitest.Epoch+3*3600-600)
	for _, limit := range limits {
		for _, server := range servers {
			ours := apitest.Serve(t, db, promapi.Options{Upstream: upstreamWith(t, server.url, server.streams, server.external, limitsOf(t, limit.exclude, limit.allow))})
			compare := func(method, path, query string) {
				t.Helper()
				got, want := apitest.Ask(t, method, ours, path, query), apitest.Ask(t, method, want, path, query)
				if diff := cmp.Diff(want.Without("infos"), got.Without("infos")); diff != "" {
					t.Errorf("%+v, %s: %s %s?%s (-Prometheus without what may not be read +limited):\n%s", limit, server.name, method, path, query, diff)
				}
			}
			for _, expr := range intrusions {
				compare(http.MethodPost, "/api/v1/query_range", window+url.Values{"query": {expr}, "step": {"97"}}.Encode())
				compare(http.MethodGet, "/api/v1/query", url.Values{"query": {expr}, "time": {strconv.Itoa(apitest.Epoch + 5000)}}.Encode())
			}
			for _, match := range [][]string{nil, {`{namespace="s3cret"}`}, {"hidden_total"}, {`{__name__=~".+"}`}, {"kube_pod_info", "hidden_total"}, {`{hidden_label!=""}`, `{pod!=""}`}, {`{"hidden_total"}`, "nope", shared[1]}, {"{}"}, {"hidden_total offset 5m"}} {
				query := window + url.Values{"match[]": match}.Encode()
				for _, path := range []string{"/api/v1/series", "/api/v1/labels"} {
					compare(http.MethodGet, path, query)
					compare(http.MethodPost, path, query)
				}
				for _, label := range []string{"__name__", "namespace", "pod", "hidden_label", "node"} {
					compare(http.MethodGet, "/api/v1/label/"+label+"/values", query)
				}
			}
		}
	}
}

// TestLimitedMetadata describes only metrics of which some series may be read.
func TestLimitedMetadata(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/metadata" {
			fmt.Fprint(w, `{"status":"success","data":{"up":[{"type":"gauge"}],"hidden":[{"type":"gauge"}],"up_seconds":[{"type":"histogram"}],"hidden_seconds":[{"type":"summary"}]}}`)
			return
		}
		if match := r.FormValue("match[]"); r.URL.Path != "/api/v1/label/__name__/values" || match != `{job!="x",__name__!=""}` {
			t.Errorf("it asks %s of %s", r.URL.Path, match)
		}
		fmt.Fprint(w, `{"status":"success","data":["up","up_seconds_bucket","up_seconds_count"]}`)
	}))
	t.Cleanup(up.Close)
	costs, _, _ := clusterBlocks(t)
	ours := apitest.Serve(t, apitest.Open(t, costs), promapi.Options{Upstream: upstreamWith(t, up.URL, true, nil, limitsOf(t, []string{`job="x"`}, nil))})
	for query, want := range map[string]string{"": "up,up_seconds", "metric=hidden": "up,up_seconds", "limit=1": "up"} {
		body, _ := apitest.Ask(t, http.MethodGet, ours, "/api/v1/metadata", query).Body.(map[string]any)
		described, _ := body["data"].(map[string]any)
		if got := strings.Join(slices.Sorted(maps.Keys(described)), ","); got != want {
			t.Errorf("metadata?%s: %s, want %s", query, got, want)
		}
	}
}

// TestAllow refuses what selects no series, or all.
func TestAllow(t *testing.T) {
	for text, want := range map[string]string{
		"up": "", `{namespace="web"}`: "", `{namespace!="web"}`: "",
		"": "no selector", "{}": "selects all series", "up or down": "no selector", "up[5m]": "no selector", "up offset 5m": "no selector", `job="web"`: "no selector", `{a=~"("}`: "no selector",
	} {
		var l upstream.Limits
		if err := l.Allow(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var l upstream.Limits
	if err := l.Exclude(promquery.Matcher{Name: "job", Type: promquery.MatchRegexp, Value: "("}); err == nil {
		t.Error("a broken expression is no error")
	}
}
