package promapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/upstream"
)

// TestPromtool compares what promtool prints about promcost with what it prints about a real Prometheus.
func TestPromtool(t *testing.T) {
	promtool, dir := promtest.Promtool(t), apitest.Blocks(t)
	ours, theirs := apitest.Serve(t, apitest.Open(t, dir), promapi.Options{}), promtest.Start(t, dir, promtest.Config{})
	start, end := fmt.Sprintf("--start=%d", apitest.Epoch), fmt.Sprintf("--end=%d", apitest.Epoch+7200)
	for _, args := range [][]string{
		{"instant", fmt.Sprintf("--time=%d", apitest.Epoch+7200), "URL", "promcost_namespace_hourly_cost"},
		{"instant", "-o", "json", fmt.Sprintf("--time=%d", apitest.Epoch+7200), "URL", "sum by (namespace) (promcost_namespace_hourly_cost)"},
		{"instant", "URL", "sum("},
		{"range", start, end, "--step=10m", "URL", "odd"},
		{"range", start, end, "--step=100ms", "URL", "odd"},
		{"series", start, end, "--match=odd", "--match=gap", "URL"},
		{"series", start, end, "--match={", "URL"},
		{"labels", start, end, "URL", "namespace"},
		{"labels", "--match=odd", start, end, "URL", "kind"},
	} {
		said := func(base string) string {
			args := slices.Clone(args)
			args[slices.Index(args, "URL")] = base
			cmd := exec.CommandContext(t.Context(), promtool, append([]string{"query"}, args...)...)
			out, err := cmd.CombinedOutput()
			return fmt.Sprintf("%s%v", out, err)
		}
		got, want := said(ours), said(theirs)
		if got != want || got == "<nil>" {
			t.Errorf("promtool query %q:\n%s, of Prometheus:\n%s", args, got, want)
		}
	}
}

// clientOf is client_golang's client of a server.
func clientOf(t *testing.T, base string) v1.API {
	t.Helper()
	c, err := api.NewClient(api.Config{Address: base})
	if err != nil {
		t.Fatal(err)
	}
	return v1.NewAPI(c)
}

// TestClientGolang makes every call of client_golang's API that reads, of promcost and of Prometheus.
func TestClientGolang(t *testing.T) {
	dir := apitest.Blocks(t)
	meta := []upstream.Metadata{{Name: "promcost_namespace_hourly_cost", Type: "gauge", Help: "Cost."}}
	ours := clientOf(t, apitest.Serve(t, apitest.Open(t, dir), promapi.Options{Metadata: meta}))
	theirs := clientOf(t, promtest.Start(t, dir, promtest.Config{}))
	start, end := time.Unix(apitest.Epoch, 0), time.Unix(apitest.Epoch+7200, 0)
	for name, call := range map[string]func(v1.API) []any{
		"query": func(c v1.API) []any {
			return list(c.Query(t.Context(), "odd", end, v1.WithTimeout(time.Minute), v1.WithLimit(3), v1.WithLookbackDelta(time.Hour)))
		},
		"bad query": func(c v1.API) []any { return list(c.Query(t.Context(), "odd{", end)) },
		"query range": func(c v1.API) []any {
			return list(c.QueryRange(t.Context(), "rate(promcost_namespace_cost_total[5m])", v1.Range{Start: start, End: end, Step: time.Minute}))
		},
		"series":       func(c v1.API) []any { return list(c.Series(t.Context(), []string{"odd", "gap"}, start, end)) },
		"label names":  func(c v1.API) []any { return list(c.LabelNames(t.Context(), nil, start, end)) },
		"label values": func(c v1.API) []any { return list(c.LabelValues(t.Context(), "kind", []string{"odd"}, start, end)) },
		"exemplars":    func(c v1.API) []any { return pair(c.QueryExemplars(t.Context(), "odd", start, end)) },
		"format":       func(c v1.API) []any { return pair(c.FormatQuery(t.Context(), "sum(odd)by(kind)")) },
		"alerts":       func(c v1.API) []any { return pair(c.Alerts(t.Context())) },
		"managers":     func(c v1.API) []any { return pair(c.AlertManagers(t.Context())) },
		"rules":        func(c v1.API) []any { return pair(c.Rules(t.Context(), nil)) },
		"targets":      func(c v1.API) []any { return pair(c.Targets(t.Context())) },
		"target data":  func(c v1.API) []any { return pair(c.TargetsMetadata(t.Context(), "", "", "")) },
	} {
		got, want := call(ours), call(theirs)
		if diff := cmp.Diff(fmt.Sprintf("%T %+v", want[0], want), fmt.Sprintf("%T %+v", got[0], got)); diff != "" {
			t.Errorf("%s (-Prometheus +promcost):\n%s", name, diff)
		}
	}
	if got, err := ours.Metadata(t.Context(), "", ""); err != nil || got["promcost_namespace_hourly_cost"][0].Help != "Cost." {
		t.Errorf("metadata %v, %v", got, err)
	}
	if got, err := ours.Buildinfo(t.Context()); err != nil || got.Version == "" {
		t.Errorf("buildinfo %v, %v", got, err)
	}
	if got, err := ours.Runtimeinfo(t.Context()); err != nil || got.GoroutineCount == 0 {
		t.Errorf("runtimeinfo %v, %v", got, err)
	}
	if _, err := ours.Config(t.Context()); err != nil {
		t.Errorf("config: %v", err)
	}
	if _, err := ours.Flags(t.Context()); err != nil {
		t.Errorf("flags: %v", err)
	}
	// What would change something is not there at all.
	if err := ours.DeleteSeries(t.Context(), []string{"odd"}, start, end); err == nil {
		t.Error("series are deleted")
	}
	if _, err := ours.Snapshot(t.Context(), false); err == nil {
		t.Error("a snapshot is made")
	}
}

func list[A, B, C any](v A, warnings B, infos C, err error) []any {
	return []any{v, warnings, infos, err}
}

func pair[A any](v A, err error) []any { return []any{v, err} }

// eventually waits until cond holds.
func eventually(t *testing.T, complaint string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(complaint)
		}
	}
}

// TestPrometheusReads has a real Prometheus read costs by remote read, and compares its answers with those of promcost. A
// Prometheus with external labels must be configured not to match them, as for any remote read.
func TestPrometheusReads(t *testing.T) {
	ours := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{})
	yaml := "remote_read: [{url: " + ours + "/api/v1/read, read_recent: true, filter_external_labels: false}]\n"
	theirs := promtest.Start(t, "", promtest.Config{YAML: yaml, External: map[string]string{"from": "reader"}})
	for _, expr := range []string{"promcost_namespace_hourly_cost", "sum by (namespace) (promcost_namespace_hourly_cost)", "rate(promcost_namespace_cost_total[30m])", "gap", `{kind=~"n.*"}`, "nope"} {
		q := fmt.Sprintf("query=%s&start=%d&end=%d&step=300", url.QueryEscape(expr), apitest.Epoch, apitest.Epoch+3*3600)
		got, want := apitest.Ask(t, http.MethodGet, theirs, "/api/v1/query_range", q), apitest.Ask(t, http.MethodGet, ours, "/api/v1/query_range", q)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-promcost +Prometheus that reads from it):\n%s", expr, diff)
		}
	}
}

// TestPrometheusFederates has a real Prometheus scrape /federate, and ask for what it got.
func TestPrometheusFederates(t *testing.T) {
	now := time.Unix(apitest.Epoch+2*3600+90, 0)
	ours := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{Now: func() time.Time { return now }})
	yaml := `scrape_configs:
  - job_name: costs
    scrape_interval: 1s
    scrape_timeout: 1s
    honor_labels: true
    metrics_path: /federate
    params: {"match[]": ['{__name__=~"promcost_.*"}', '{kind="nan"}', 'nope']}
    static_configs: [{targets: ["` + strings.TrimPrefix(ours, "http://") + `"]}]
`
	theirs := promtest.Start(t, "", promtest.Config{YAML: yaml})
	values := func(base, at string) map[string]string {
		var data struct {
			Data struct {
				Result []struct {
					Metric model.Metric
					Value  [2]any
				}
			}
		}
		r := apitest.Ask(t, http.MethodGet, base, "/api/v1/query", "query="+url.QueryEscape(`{__name__=~"promcost_.*|odd",kind=~"nan|"}`)+at)
		text, err := json.Marshal(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &data)
		}
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, s := range data.Data.Result {
			delete(s.Metric, "job")
			found[s.Metric.String()] = fmt.Sprint(s.Value[1])
		}
		return found
	}
	want := values(ours, "")
	if len(want) != 4 {
		t.Fatalf("promcost itself has %v", want)
	}
	var got map[string]string
	eventually(t, "it does not get what promcost has", func() bool { got = values(theirs, ""); return len(got) == len(want) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-promcost +Prometheus that federates):\n%s", diff)
	}
	if r := apitest.Ask(t, http.MethodGet, ours, "/federate", "match[]=odd{"); r.Code != http.StatusBadRequest {
		t.Errorf("bad selector: %+v", r)
	}
	if r := apitest.Ask(t, http.MethodGet, ours, "/federate", ""); r.Code != http.StatusOK || r.Body != "" {
		t.Errorf("no selector: %+v", r)
	}
}

// TestGrafana replays what Grafana asks a data source: its health check, its query builder, its variables.
func TestGrafana(t *testing.T) {
	ours := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{
		Now: func() time.Time { return time.Unix(apitest.Epoch+3600, 0) }, Metadata: []upstream.Metadata{{Name: "promcost_namespace_hourly_cost", Type: "gauge", Help: "Cost."}},
	})
	window := fmt.Sprintf("start=%d&end=%d", apitest.Epoch, apitest.Epoch+3600)
	for _, step := range []struct {
		method, path, query string
		code                int
		data                any // a part of it, nil for any
	}{
		{"POST", "/api/v1/query", "query=1%2B1&time=4", 200, map[string]any{"resultType": "scalar", "result": []any{4.0, "2"}}},
		{"GET", "/api/v1/status/buildinfo", "", 200, nil},
		{"GET", "/api/v1/rules", "", 200, map[string]any{"groups": []any{}}},
		{"GET", "/api/v1/rules/test/test", "", 404, nil}, // else it would be a Mimir
		{"GET", "/api/v1/metadata", "limit=40000", 200, map[string]any{"promcost_namespace_hourly_cost": []any{map[string]any{"type": "gauge", "help": "Cost.", "unit": ""}}}},
		{"GET", "/api/v1/label/__name__/values", window, 200, []any{"gap", "odd", "promcost_namespace_cost_total", "promcost_namespace_hourly_cost"}},
		{"GET", "/api/v1/label/namespace/values", window + "&match[]=" + url.QueryEscape(`promcost_namespace_hourly_cost{cluster=~"prod"}`), 200, []any{`<a href="x">&Ω\`, "web"}},
		{"POST", "/api/v1/labels", window + "&match[]=promcost_namespace_cost_total", 200, []any{"__name__", "cluster", "namespace", "resource"}},
		{"GET", "/api/v1/series", window + "&match[]=promcost_namespace_cost_total", 200, []any{map[string]any{"__name__": "promcost_namespace_cost_total", "cluster": "prod", "namespace": "web", "resource": "cpu"}}},
		{"POST", "/api/v1/query_range", window + "&step=15&query=sum(promcost_namespace_cost_total)", 200, nil},
		{"GET", "/api/v1/query_exemplars", window + "&query=promcost_namespace_cost_total", 200, []any{}},
		{"POST", "/api/v1/query", "query=sum(promcost_namespace_cost_total)", 200, map[string]any{"resultType": "vector", "result": []any{map[string]any{"metric": map[string]any{}, "value": []any{apitest.Epoch + 3600.0, "3600"}}}}},
	} {
		r := apitest.Ask(t, step.method, ours, step.path, step.query)
		body, _ := r.Body.(map[string]any)
		if r.Code != step.code || body == nil {
			t.Errorf("%s %s?%s: %+v", step.method, step.path, step.query, r)
			continue
		}
		if diff := cmp.Diff(step.data, body["data"]); step.data != nil && diff != "" {
			t.Errorf("%s %s?%s (-want +got):\n%s", step.method, step.path, step.query, diff)
		}
	}
}
