package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCompareSeesDifferences compares two servers, one with a price that is larger by the last bit. Every format shows it, and
// within a tolerance it is only a difference of rounding.
func TestCompareSeesDifferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blocks, end := filepath.Join(dir, "blocks"), compareEnd
	mustRun(t, "demo", "--write="+blocks, "--demo.end="+end.Format(time.RFC3339), "--demo.nodes=4", "--demo.pods=40", "--demo.duration=4h", "--demo.scrape-interval=1m")
	price := 0.04
	var servers [2]string
	for i := range servers {
		config := filepath.Join(dir, "config.yaml") // its name is in the metrics
		if err := os.WriteFile(config, fmt.Appendf(nil, "prices: {defaults: {loadBalancerPerHour: %v, storagePerGiBHour: %v}}\n", price, price/1000), 0o600); err != nil {
			t.Fatal(err)
		}
		servers[i] = spawn(t, "serve", "--source=blocks", "--tsdb.path="+blocks, "--storage.path=", "--config.file="+config)
		eventually(t, "there are no costs in the metrics", func() bool {
			_, text := get(t, servers[i]+"/metrics")
			return strings.Contains(text, "promcost_loadbalancer_hourly_cost")
		})
		price = math.Nextafter(price, 1)
	}
	window, at := "2026-02-03T05:00:00Z,2026-02-03T06:00:00Z", "2026-02-03T06:00:00Z"
	compute := func(format string) url.Values { return url.Values{"window": {window}, "format": {format}} }
	series := `{__name__=~"promcost_(loadbalancer|persistentvolume)_hourly_cost"}`
	g := &compareGenerator{rng: rand.New(rand.NewPCG(1, 1)), start: end.Add(-2 * time.Hour), end: end, words: map[string][]string{"family": {"promcost_loadbalancer_hourly_cost"}}}
	for name, r := range map[string]comparedRequest{
		"JSON":              {path: "/model/allocation/compute", query: compute("json")},
		"CSV":               {path: "/model/allocation/compute", query: url.Values{"window": {window}, "format": {"csv"}, "csvColumns": {"full"}}},
		"Arrow":             {path: "/model/allocation/compute", query: compute("arrow")},
		"Parquet":           {path: "/model/allocation/compute", query: compute("parquet")},
		"summary":           {path: "/model/allocation/summary", query: url.Values{"window": {window}}},
		"assets":            {path: "/model/assets", query: url.Values{"window": {window}}},
		"Parquet of assets": {path: "/model/assets", query: compute("parquet")},
		"form":              {path: "/model/assets", query: url.Values{"window": {window}}, form: true},
		"metrics":           {path: "/metrics"},
		"OpenMetrics":       {path: "/metrics", header: http.Header{"Accept": {"application/openmetrics-text;version=1.0.0"}}},
		"PromQL":            {path: "/api/v1/query", query: url.Values{"query": {series}, "time": {at}}},
		"range":             {path: "/api/v1/query_range", query: url.Values{"query": {series}, "start": {"2026-02-03T05:00:00Z"}, "end": {at}, "step": {"10m"}}},
		"remote read":       g.readRequest(),
	} {
		t.Run(name, func(t *testing.T) {
			var answers [2]*comparedAnswer
			for i, base := range servers {
				var err error
				if answers[i], err = r.send(base, end); err != nil {
					t.Fatal(err)
				}
			}
			if list, rows := answerDifferences(r.path, answers[0], answers[0], 0); !rows || len(list) > 0 {
				t.Fatalf("with rows: %v; it differs from itself: %v: %.300s", rows, list, answers[0].body)
			}
			for tolerance, want := range map[float64]string{0: numberKind, 1e-12: roundingKind} {
				list, _ := answerDifferences(r.path, answers[0], answers[1], tolerance)
				if len(list) == 0 {
					t.Fatalf("it does not show: %.300s", answers[0].body)
				}
				for _, d := range list {
					if d.kind != want {
						t.Errorf("within %g: %s", tolerance, d)
					}
				}
			}
		})
	}
}

// TestCompareAnswers has two answers and the difference between them.
func TestCompareAnswers(t *testing.T) {
	text := func(status int, kind, body string) *comparedAnswer {
		return &comparedAnswer{status, http.Header{"Content-Type": {kind}}, []byte(body)}
	}
	json := func(body string) *comparedAnswer { return text(200, "application/json", body) }
	plain := func(body string) *comparedAnswer { return text(200, "text/plain; version=0.0.4", body) }
	for name, tc := range map[string]struct {
		path string
		a, b *comparedAnswer
		want string // of all differences
		rows bool
	}{
		"equal":             {"", json(`{"data":[{"a":{"cost":1.50}}]}`), json(`{"data": [{"a":{"cost":15e-1}}]}`), "[]", true},
		"status":            {"", json(`{"data":[1]}`), text(400, "application/json", `{}`), `[status: : base 200 {"data":[1]}, changed 400 {}]`, false},
		"type":              {"", json(`{}`), text(200, "text/csv", ``), "[type: : base application/json, changed text/csv]", false},
		"broken":            {"", json(`{}`), json(`{`), "[not readable: : base , changed EOF]", false},
		"missing":           {"", json(`{"data":[{"a":1,"b":2}]}`), json(`{"data":[{"b":2}]}`), "[missing: .data[0].a: base 1, changed ]", true},
		"extra":             {"", json(`{"data":[{}]}`), json(`{"data":[{"a":null}]}`), "[missing: .data[0]: base {}, changed  extra: .data[0].a: base , changed null]", false},
		"order":             {"", json(`{"data":{"a":1,"b":2}}`), json(`{"data":{"b":2,"a":1}}`), "[order: .data.a: base number 0, changed .data.b]", true},
		"null":              {"", json(`{"data":{"a":null}}`), json(`{"data":{"a":0}}`), "[text: .data.a: base null, changed 0]", false},
		"number":            {"", json(`{"data":{"a":"1"}}`), json(`{"data":{"a":"2"}}`), `[number: .data.a: base "1", changed "2" (relative 0.5)]`, true},
		"sign of zero":      {"", json(`{"data":{"a":0}}`), json(`{"data":{"a":-0}}`), "[number: .data.a: base 0, changed -0 (relative NaN)]", true},
		"texts":             {"", json(`{"message":"a","warnings":["b"]}`), json(`{"message":"b","warnings":["c"]}`), "[]", false},
		"warnings":          {"", json(`{"warnings":["b"]}`), json(`{"warnings":["b","c"]}`), "[extra: .warnings[1]: base , changed (text)]", false},
		"explain":           {"", json(`{"data":[],"explain":{"seconds":1}}`), json(`{"data":[]}`), "[]", false},
		"metrics":           {"/metrics", plain("# TYPE a counter\na{b=\"}\"} 1\ngo_x 1\n"), plain("# TYPE a gauge\na{b=\"}\"} 1\ngo_x 2\n"), "[text: TYPE a: base counter, changed gauge]", true},
		"series":            {"/metrics", plain("a 1\n"), plain("a 1\nb 2\n"), "[extra: b: base , changed 2]", true},
		"CSV":               {"", text(200, "text/csv", "a,b\n1,2\n"), text(200, "text/csv", "a,b\n1,3\n"), "[number: row[0].b: base 2, changed 3 (relative 0.33)]", true},
		"CSV without a row": {"", text(200, "text/csv", "a,b\n"), text(200, "text/csv", "a,b\n"), "[]", false},
	} {
		t.Run(name, func(t *testing.T) {
			list, rows := answerDifferences(tc.path, tc.a, tc.b, 1e-12)
			if got := fmt.Sprint(list); got != tc.want || rows != tc.rows {
				t.Errorf("got %s with rows %v, want %s with %v", got, rows, tc.want, tc.rows)
			}
		})
	}
}
