package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promtest"
)

// vector is the result of an instant query, by the labels of its series as JSON.
func vector(t *testing.T, base, expr string) (values map[string]string, warnings []string) {
	t.Helper()
	code, body := get(t, base+"/api/v1/query?query="+url.QueryEscape(expr))
	var answer struct {
		Data struct {
			Result []struct {
				Metric json.RawMessage
				Value  [2]any
			}
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("%s: %d %s", expr, code, body)
	}
	values = map[string]string{}
	for _, s := range answer.Data.Result {
		values[string(s.Metric)] = fmt.Sprint(s.Value[1])
	}
	return values, answer.Warnings
}

// exposed is a series of the namespace's cost on /metrics.
var exposed = regexp.MustCompile(`(?m)^promcost_namespace_hourly_cost\{cluster="(\w+)",namespace="([^"]*)",resource="(\w+)"\} (\S+)$`)

// TestPromQL serves costs by PromQL as /metrics does, and joins them with the series of the Prometheus where it may.
func TestPromQL(t *testing.T) {
	t.Parallel()
	dir := writeSmallDemo(t)
	prometheus := promtest.Start(t, dir, promtest.Config{External: map[string]string{"cluster": "prod", "replica": "a"}})
	args := []string{"serve", "--prometheus.url=" + prometheus, "--storage.path=", "--web.listen-address=127.0.0.1:0", "--web.route-prefix=/cost"}
	for _, passthrough := range []bool{false, true} {
		if passthrough {
			args = append(args, "--promql.passthrough")
		}
		p := start(t, args...)
		base := p.url(t) + "/cost"
		eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == 200 })
		agree(t, "/metrics and PromQL", func() (page, got map[string]string) {
			return exposedCosts(t, base), namespaceCosts(t, base, "promcost_namespace_hourly_cost")
		})
		pods, _ := vector(t, base, "sum by (namespace) (promcost_namespace_hourly_cost) / on (namespace) count by (namespace) (kube_pod_info)")
		if passthrough != (len(pods) > 0) {
			t.Errorf("passthrough %t: cost of pods %v", passthrough, pods)
		}
		if _, page := get(t, base+"/metrics"); !strings.Contains(page, `promcost_http_requests_total{code="200",handler="/api/v1/query",`) {
			t.Error("requests are not counted by path")
		}
		if passthrough {
			testPromtool(t, base)
		} else {
			testPrometheus(t, base)
		}
		p.end(t)
	}
}

// agree waits until two views of the costs are the same and not empty: an hour may be closed between the two looks, or not be scraped yet.
func agree(t *testing.T, views string, look func() (want, got map[string]string)) {
	t.Helper()
	diff := ""
	defer func() {
		if diff != "" {
			t.Logf("%s differ (-want +got):\n%s", views, diff)
		}
	}()
	eventually(t, views+" do not agree", func() bool {
		want, got := look()
		diff = cmp.Diff(want, got)
		return diff == "" && len(want) > 0
	})
}

// namespaceCosts are the values that an instant query gives, by labels without the name.
func namespaceCosts(t *testing.T, base, expr string) map[string]string {
	t.Helper()
	costs := map[string]string{}
	values, _ := vector(t, base, expr)
	for labels, v := range values {
		costs[strings.Replace(labels, `"__name__":"promcost_namespace_hourly_cost",`, "", 1)] = v
	}
	return costs
}

// exposedCosts are the namespaces' costs on /metrics, like namespaceCosts.
func exposedCosts(t *testing.T, base string) map[string]string {
	t.Helper()
	costs := map[string]string{}
	_, page := get(t, base+"/metrics")
	for _, s := range exposed.FindAllStringSubmatch(page, -1) {
		v, err := strconv.ParseFloat(s[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		costs[fmt.Sprintf(`{"cluster":%q,"namespace":%q,"resource":%q}`, s[1], s[2], s[3])] = strconv.FormatFloat(v, 'f', -1, 64) // as PromQL writes it
	}
	return costs
}

// testPromtool has promtool ask what is served.
func testPromtool(t *testing.T, base string) {
	t.Helper()
	for _, args := range [][]string{{"instant", base, "sum(promcost_namespace_hourly_cost)"}, {"labels", base, "namespace"}, {"series", "--match=promcost_node_hourly_cost", base}} {
		out, err := exec.CommandContext(t.Context(), promtest.Promtool(t), append([]string{"query"}, args...)...).CombinedOutput()
		if err != nil || len(out) == 0 {
			t.Errorf("promtool query %q: %v: %s", args, err, out)
		}
	}
}

// testPrometheus has real Prometheuses get costs: one by remote read, one by federation.
func testPrometheus(t *testing.T, base string) {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	read := fmt.Sprintf("remote_read: [{url: %s/api/v1/read, read_recent: true}]\n", base)
	federate := fmt.Sprintf("scrape_configs: [{job_name: costs, scrape_interval: 1s, honor_labels: true, metrics_path: %s/federate, params: {'match[]': [promcost_namespace_hourly_cost]}, static_configs: [{targets: [%q]}]}]\n", target.Path, target.Host)
	for name, tt := range map[string]struct{ yaml, expr string }{
		"remote read": {read, "last_over_time(promcost_namespace_hourly_cost[2h])"}, // it looks back for minutes
		"federation":  {federate, `sum without (job) (promcost_namespace_hourly_cost)`},
	} {
		prometheus := promtest.Start(t, "", promtest.Config{YAML: tt.yaml})
		agree(t, "promcost and a Prometheus by "+name, func() (want, got map[string]string) {
			return namespaceCosts(t, base, "promcost_namespace_hourly_cost"), namespaceCosts(t, prometheus, tt.expr)
		})
	}
}

// TestPromQLOfAHistory serves a history without any source. A shard, which has a share of the truth only, serves none.
func TestPromQLOfAHistory(t *testing.T) {
	t.Parallel()
	kept, blocks := writeHistoryOf(t)
	reading := spawn(t, "serve", "--storage.path="+kept, "--source=none", "--history.grace=0s")
	at := "&time=2026-01-31T03:00:00Z"
	if code, body := get(t, reading+"/api/v1/query?query=count(promcost_namespace_hourly_cost)"+at); code != http.StatusOK || !strings.Contains(body, `"metric":{}`) {
		t.Errorf("of the history: %d %s", code, body)
	}
	if code, body := get(t, reading+"/api/v1/query?query=promcost_namespace_hourly_cost&time=2020-01-01T00:00:00Z"); code != http.StatusOK || !strings.Contains(body, `"result":[]`) || !strings.Contains(body, `"infos":[`) {
		t.Errorf("before the history: %d %s", code, body)
	}
	shard := spawn(t, "serve", "--storage.path="+t.TempDir(), "--source=blocks", "--tsdb.path="+blocks, "--shard=1/2")
	for _, path := range []string{"/api/v1/query?query=1", "/federate?match[]=x", "/api/v1/read"} {
		if code, body := get(t, shard+path); code != http.StatusNotImplemented || !strings.Contains(body, "--source=none") {
			t.Errorf("shard, %s: %d %s", path, code, body)
		}
	}
}

// TestPromQLWithoutUpstream checks that without the Prometheus only costs are answered, with a warning about the rest.
func TestPromQLWithoutUpstream(t *testing.T) {
	p := start(t, "serve", "--storage.path=", "--web.listen-address=127.0.0.1:0", "--prometheus.url=http://127.0.0.1:1", "--promql.passthrough", "--promql.timeout=3s")
	base := p.url(t)
	if code, body := get(t, base+"/api/v1/query?query=up"); code != http.StatusOK || !strings.Contains(body, "127.0.0.1:1") {
		t.Errorf("%d %s", code, body)
	}
	if values, warnings := vector(t, base, "promcost_build_info"); len(values) > 0 || len(warnings) == 0 {
		t.Errorf("what promcost says of itself is not the upstream's: %v, warnings %v", values, warnings)
	}
	if code, body := get(t, base+"/api/v1/query?query=1%2B1"); code != http.StatusOK {
		t.Errorf("1+1: %d %s", code, body)
	}
	p.end(t)
}

// TestPromQLOfTheDemo serves it packed as the client likes it, without time as of the demo's end, and refuses what the flags
// do not allow.
func TestPromQLOfTheDemo(t *testing.T) {
	t.Parallel()
	p := start(t, append([]string{"demo", "--web.listen-address=127.0.0.1:0", "--demo.end=2026-03-04T05:06:07Z", "--promql.max-samples=1000"}, smallDemo...)...)
	base := p.url(t)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == 200 })
	if values, _ := vector(t, base, "count(promcost_cluster_hourly_cost or promcost_node_hourly_cost)"); len(values) != 1 {
		t.Errorf("nodes: %v", values)
	}
	if code, body := get(t, base+"/api/v1/query?query=sum_over_time(promcost_namespace_hourly_cost[6h:1s])"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "too many samples") {
		t.Errorf("more samples than may be: %d %s", code, body)
	}
	if code, body := get(t, base+"/api/v1/status/config"); code != http.StatusOK || !strings.Contains(body, "currency: USD") {
		t.Errorf("configuration: %d %s", code, body)
	}
	for encoding, unpack := range map[string]func(io.Reader) (io.Reader, error){
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/labels", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		r, err := unpack(resp.Body)
		if err != nil {
			t.Fatalf("%s: %v", encoding, err)
		}
		if text, err := io.ReadAll(r); err != nil || !strings.Contains(string(text), `"namespace"`) || resp.Header.Get("Content-Encoding") != encoding {
			t.Errorf("%s: %v %s", encoding, err, text)
		}
	}
	p.end(t)
}

// TestPassthroughLimits has passthrough leave out what --prometheus.exclude names and --promql.passthrough.match does not, on every path.
func TestPassthroughLimits(t *testing.T) {
	t.Parallel()
	now := time.Now().UnixMilli()
	series := func(name string, labels ...string) promtest.Series {
		return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: promtest.Regular(now-3600_000, now, 60_000, func(int64) float64 { return 1 })}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series("up", "job", "web"), series("up", "job", "private", "s3cret", "x"), series("s3cret_total", "job", "web"), series("requests_total", "job", "web"))
	prometheus := promtest.Start(t, dir, promtest.Config{})
	base := spawn(t, "serve", "--prometheus.url="+prometheus, "--storage.path=", "--promql.passthrough", `--prometheus.exclude=job="private"`, "--promql.passthrough.match=up", "--promql.passthrough.match=requests_total")
	window := fmt.Sprintf("start=%d&end=%d&time=%d&step=60&", now/1000-3600, now/1000, now/1000)
	for _, path := range promapi.Paths() {
		path = strings.Replace(path, "{name}", "__name__", 1)
		for _, expr := range []string{`{__name__=~".+"}`, `{s3cret!=""}`} {
			for _, query := range []string{"", url.Values{"query": {expr}, "match[]": {expr}, "metric": {""}}.Encode()} {
				if code, body := get(t, base+path+"?"+window+query); strings.Contains(strings.ReplaceAll(body, expr, ""), "s3cret") && !strings.Contains(path, "_query") {
					t.Errorf("%s?%s: %d %s", path, query, code, body)
				}
			}
		}
	}
	for expr, want := range map[string]int{"up": 1, "requests_total": 1, "s3cret_total": 0, `{job=~".+"}`: 2} {
		if got, _ := vector(t, base, expr); len(got) != want {
			t.Errorf("%s: %v, want %d", expr, got, want)
		}
	}
	reader := promtest.Start(t, "", promtest.Config{YAML: fmt.Sprintf("remote_read: [{url: %s/api/v1/read, read_recent: true}]\n", base)})
	if got, _ := vector(t, reader, `count_over_time({job=~".+"}[2h])`); len(got) > 0 {
		t.Errorf("by remote read: %v", got)
	}
}

// TestPromQLFlags refuses flags that contradict each other, and selectors that select nothing in particular.
func TestPromQLFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--source=none", "--promql.passthrough"}, "--promql.passthrough has no Prometheus"},
		{[]string{"--prometheus.url=http://127.0.0.1:1", "--promql.passthrough.match=up"}, "--promql.passthrough.match limits --promql.passthrough, which is off"},
		{[]string{"--prometheus.url=http://127.0.0.1:1", "--promql.passthrough", "--promql.passthrough.match={}"}, "it selects all series"},
		{[]string{"--prometheus.url=http://127.0.0.1:1", "--promql.passthrough", "--promql.passthrough.match=up or down"}, "it is no selector of series"},
	} {
		p := start(t, append([]string{"serve"}, tt.args...)...)
		if code := <-p.code; code == exitOK || !strings.Contains(p.err.String(), tt.want) {
			t.Errorf("%q: %d %s", tt.args, code, p.err.String())
		}
	}
}
