package promapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
	"github.com/promcost/promcost/promquery/promtest"
)

// question is a request that is compared with what Prometheus answers.
type question struct{ path, query string }

// questions are requests of all kinds, good and bad.
func questions() (list []question) {
	at := fmt.Sprintf("&time=%d", apitest.Epoch+7200)
	window := fmt.Sprintf("&start=%d&end=%d", apitest.Epoch, apitest.Epoch+7200)
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
		kept := url.Values{"start": {strconv.Itoa(apitest.Epoch)}, "end": {strconv.Itoa(apitest.Epoch + 7200)}, "step": {"600"}, "time": {strconv.Itoa(apitest.Epoch + 7200)}, "query": {"odd"}}
		kept.Del(name)
		list = append(list, question{"/api/v1/query", kept.Encode() + more}, question{"/api/v1/query_range", kept.Encode() + more})
	}
	for _, q := range []string{
		"", "match[]=odd", "match[]=odd&match[]=gap", "match[]=odd&limit=2", "match[]={}", "match[]={a=~%22.*%22}", "match[]=odd{", "match[]=nope", "limit=1", "limit=x", "start=x", "end=x",
		fmt.Sprintf("start=%d&end=%d", apitest.Epoch, apitest.Epoch+60), fmt.Sprintf("match[]=odd&start=%d", apitest.Epoch+100*86400), fmt.Sprintf("match[]=odd&end=%d", apitest.Epoch-100*86400),
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
	dir := apitest.Blocks(t)
	ours, theirs := apitest.Serve(t, apitest.Open(t, dir), promapi.Options{}), promtest.Start(t, dir, promtest.Config{Flags: []string{"--enable-feature=promql-per-step-stats"}})
	asked := 0
	for _, q := range questions() {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			got, want := apitest.Ask(t, method, ours, q.path, q.query), apitest.Ask(t, method, theirs, q.path, q.query)
			if want.Code == http.StatusMethodNotAllowed {
				got.Body, want.Body, got.Type, want.Type = nil, nil, "", "" // plain text there
			}
			if diff := cmp.Diff(want.Without("timings"), got.Without("timings")); diff != "" {
				t.Errorf("%s %s?%s (-Prometheus +promcost):\n%s", method, q.path, q.query, diff)
			}
			asked++
		}
	}
	t.Logf("%d requests compared", asked)
}

// TestBuildInfo looks to Grafana like the Prometheus whose API it is.
func TestBuildInfo(t *testing.T) {
	dir := apitest.Blocks(t)
	ours, theirs := apitest.Serve(t, apitest.Open(t, dir), promapi.Options{}), promtest.Start(t, dir, promtest.Config{})
	for _, path := range []string{"/api/v1/status/buildinfo", "/api/v1/status/runtimeinfo", "/api/v1/status/config", "/api/v1/status/flags"} {
		got, want := apitest.Ask(t, http.MethodGet, ours, path, ""), apitest.Ask(t, http.MethodGet, theirs, path, "")
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
	info := apitest.Ask(t, http.MethodGet, ours, "/api/v1/status/buildinfo", "").Body.(map[string]any)["data"].(map[string]any)
	if v, _ := info["version"].(string); !strings.HasPrefix(v, "3.") {
		t.Errorf("version %q", v)
	}
}

// TestFeatures compares the features of PromQL with those that a Prometheus lists, except for what is configured differently, and
// checks that all others have a name in Prometheus.
func TestFeatures(t *testing.T) {
	const path = "/api/v1/features"
	ours, theirs := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{Flags: map[string]string{"web.enable-lifecycle": "true"}}), promtest.Start(t, "", promtest.Config{Flags: []string{"--web.enable-lifecycle"}})
	features := func(url string) map[string]map[string]any {
		a := apitest.Ask(t, http.MethodGet, url, path, "")
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
