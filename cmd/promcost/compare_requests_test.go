package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// comparedRequest is a request that two servers are to answer alike.
type comparedRequest struct {
	path   string // of the table
	used   []string
	header http.Header
	query  url.Values
	form   bool
	body   []byte // of remote read, or manifests
	source int    // of sources
}

// relativeHours are how long windows are that end a number of hours before now.
const relativeHours = "3h"

// target is the path and the query. A window that is relative to now names the same time whenever it is asked.
func (r *comparedRequest) target(now, end time.Time) string {
	if r.query.Get("window") == relativeHours {
		query := maps.Clone(r.query)
		query.Set("window", fmt.Sprintf("%s offset %dh", relativeHours, now.Truncate(time.Hour).Sub(end.Truncate(time.Hour))/time.Hour))
		return r.filledPath() + "?" + query.Encode()
	}
	return r.filledPath() + "?" + r.query.Encode()
}

// filledPath is the path with the name of a label in its place.
func (r *comparedRequest) filledPath() string {
	return strings.ReplaceAll(r.path, "{name}", "namespace")
}

// http is the request to a server.
func (r *comparedRequest) http(base string, end time.Time) (*http.Request, error) {
	target := r.target(time.Now(), end)
	method, body := http.MethodGet, r.body
	header := maps.Clone(r.header)
	if header == nil {
		header = http.Header{}
	}
	switch path, query, _ := strings.Cut(target, "?"); {
	case r.form:
		method, target, body = http.MethodPost, path, []byte(query)
		header.Set("Content-Type", formType)
	case body != nil:
		method = http.MethodPost
	}
	req, err := http.NewRequest(method, base+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	return req, nil
}

// curl is the request as a command.
func (r *comparedRequest) curl(base string, end time.Time) string {
	var headers strings.Builder
	for name, values := range r.header {
		fmt.Fprintf(&headers, " -H '%s: %s'", name, values[0])
	}
	target := r.target(time.Now(), end)
	path, query, _ := strings.Cut(target, "?")
	switch {
	case r.body != nil:
		return fmt.Sprintf("echo %s | base64 -d | curl -s%s --data-binary @- '%s%s'", base64.StdEncoding.EncodeToString(r.body), headers.String(), base, path)
	case r.form:
		return fmt.Sprintf("curl -s%s -d '%s' '%s%s'", headers.String(), query, base, path)
	}
	return fmt.Sprintf("curl -s%s '%s%s'", headers.String(), base, target)
}

// compareGenerator makes requests with values that have a meaning.
type compareGenerator struct {
	rng        *rand.Rand
	start, end time.Time // of the data
	zone       *time.Location
	words      map[string][]string // that the data has, by field
	parameters map[string][]hostileParameter
	paths      map[string][]string // by class
}

// newCompareGenerator asks the server for the words of its data.
func newCompareGenerator(t *testing.T, seed uint64, base string, start, end time.Time, zone *time.Location) *compareGenerator {
	t.Helper()
	g := &compareGenerator{rng: rand.New(rand.NewPCG(seed, 18)), start: start, end: end, zone: zone, words: comparedWords(t, base, start, end), parameters: hostilePaths(t), paths: map[string][]string{}}
	for path := range operationPaths {
		if path != "/metrics" {
			delete(g.parameters, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(g.parameters)) {
		class := compareClass(path)
		if compareWeights[class] == 0 {
			t.Fatalf("class %s of %s has no weight", class, path)
		}
		g.paths[class] = append(g.paths[class], path)
	}
	return g
}

// compareWeights say how many of a hundred random requests are of each class of paths.
var compareWeights = map[string]int{
	"compute": 18, "savings": 2, "history": 16, "cloud costs": 4, "summary": 10, "topline": 4, "trends": 3, "values": 6, "assets": 10, "asset map": 3, "asset topline": 2, "bills": 5, "promql": 12, "metrics": 2, "facts": 3,
}

// compareClass is the class of a path.
func compareClass(path string) string {
	has := func(part string) bool { return strings.Contains(path, part) }
	switch {
	case strings.HasPrefix(path, "/api/v1/"), path == "/federate":
		return "promql"
	case path == "/metrics":
		return "metrics"
	case has("autocomplete"):
		return "values"
	case has("trends"):
		return "trends"
	case has("assets/topline"):
		return "asset topline"
	case has("topline"):
		return "topline"
	case has("summary"):
		return "summary"
	case path == "/assets":
		return "asset map"
	case has("assets"):
		return "assets"
	case has("/cloudCost"), has("/customCost"):
		return "cloud costs"
	case has("/savings/"), has("/prediction/"):
		return "savings"
	case path == "/v2/allocation":
		return "bills"
	case path == "/model/allocation":
		return "history"
	case has("allocation"):
		return "compute"
	}
	return "facts"
}

// requests are n requests: first every parameter once, then every parameter of every path, then at random.
func (g *compareGenerator) requests(n int) []comparedRequest {
	type use struct{ path, name string }
	var once, rest []use
	seen := map[string]bool{}
	var all []use
	for _, path := range slices.Sorted(maps.Keys(g.parameters)) {
		for _, p := range append(g.parameters[path], hostileParameter{}) { // and each path without one
			all = append(all, use{path, p.name})
		}
	}
	g.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, u := range all {
		if u.name != "" && !seen[u.name] {
			seen[u.name] = true
			once = append(once, u)
		} else {
			rest = append(rest, u)
		}
	}
	var list []comparedRequest
	for _, u := range append(once, rest...) {
		if len(list) < max(n, len(once)) {
			list = append(list, g.request(u.path, u.name))
		}
	}
	for len(list) < n {
		list = append(list, g.request(g.randomPath(), ""))
	}
	return list
}

// randomPath is a path of a class that is chosen by its weight.
func (g *compareGenerator) randomPath() string {
	var classes []string
	for _, class := range slices.Sorted(maps.Keys(g.paths)) {
		classes = append(classes, slices.Repeat([]string{class}, compareWeights[class])...)
	}
	return g.pick(g.paths[g.pick(classes...)]...)
}

// required are the parameters without which a path does not answer. The API has step by default.
func required(path, name string) bool {
	return wellFormed[name] != "" && (name != "step" || strings.HasPrefix(path, "/api/"))
}

// request is a request of path that has the parameter, what is required, and some others.
func (g *compareGenerator) request(path, parameter string) comparedRequest {
	r := comparedRequest{path: path, query: url.Values{}, form: path != "/federate" && path != "/metrics" && g.one(12)}
	for _, p := range g.parameters[path] {
		if required(path, p.name) || p.name == parameter || g.one(len(g.parameters[path])/3+2) {
			r.query.Set(p.name, g.value(path, p))
		}
	}
	g.agree(path, parameter, r.query)
	r.used = slices.Collect(maps.Keys(r.query))
	switch {
	case path == "/metrics" && g.one(2):
		r.header = http.Header{"Accept": {"application/openmetrics-text;version=1.0.0"}}
	case path == predictionPath:
		r.form, r.body, r.header = false, []byte(predictedFront("cpu: 1")), http.Header{"Content-Type": {"application/yaml"}}
	case path == "/api/v1/read":
		read := g.readRequest()
		r.form, r.body, r.header = false, read.body, read.header
	}
	if class := compareClass(path); class != "history" && class != "bills" && class != "metrics" && class != "facts" && g.one(5) {
		r.source = 1
	}
	return r
}

// disagreements are parameters that a request does not have together; a name may have a value.
var disagreements = [][2]string{
	{"maxError", "resolution"},
	{"format=csv", "explain"},
	{"format=csv", "usageQuantiles"},
	{"format=csv", "fields"},
	{"format=csv", "jmespath"},
	{"format=arrow", "explain"},
	{"format=arrow", "usageQuantiles"},
	{"format=arrow", "fields"},
	{"format=arrow", "jmespath"},
	{"format=arrow", "costMetric"},
	{"format=arrow", "costUnit"},
	{"format=parquet", "explain"},
	{"format=parquet", "usageQuantiles"},
	{"format=parquet", "fields"},
	{"format=parquet", "jmespath"},
	{"format=parquet", "costMetric"},
	{"format=parquet", "costUnit"},
	{"format=parquet", "offset"},
	{"format=parquet", "limit"},
	{"format=parquet", "sortBy"},
	{"fields", "jmespath"},
	{"idle", "includeIdle"},
	{"costMetric", "costUnit"},
	{"idle=false", "includeProportionalAssetResourceCosts"},
	{"includeIdle=false", "includeProportionalAssetResourceCosts"},
}

// agree mends what the parameters of a request are together. The given one stays.
func (g *compareGenerator) agree(path, parameter string, query url.Values) {
	for _, pair := range disagreements {
		name, value, valued := strings.Cut(pair[0], "=")
		if !query.Has(name) || !query.Has(pair[1]) || valued && query.Get(name) != value {
			continue
		}
		if pair[1] == parameter {
			query.Del(name)
		} else {
			query.Del(pair[1])
		}
	}
	if compareClass(path) == "trends" {
		query.Set("aggregate", "namespace") // names are aggregated by it
	}
	if query.Has("start") && query.Has("end") {
		end := g.instant()
		query.Set("end", end.Format(time.RFC3339))
		query.Set("start", end.Add(-time.Duration(5+g.rng.IntN(300))*time.Minute).Format(time.RFC3339))
	}
	if query.Get("window") == relativeHours {
		query.Del("maxError")
		query.Set("resolution", "1h") // so that it ends at an hour
	}
}

// readRequest is a request of remote read.
func (g *compareGenerator) readRequest() comparedRequest {
	end := g.instant()
	query := prompb.Query{
		StartTimestampMs: end.Add(-time.Duration(1+g.rng.IntN(120)) * time.Minute).UnixMilli(), EndTimestampMs: end.UnixMilli(),
		Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_EQ, Name: "__name__", Value: g.family()}},
	}
	text, err := (&prompb.ReadRequest{Queries: []*prompb.Query{&query}}).Marshal()
	if err != nil {
		panic(err)
	}
	header := http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}, "X-Prometheus-Remote-Read-Version": {"0.1.0"}}
	return comparedRequest{path: "/api/v1/read", header: header, body: snappy.Encode(nil, text)}
}

// one is true once in n times.
func (g *compareGenerator) one(n int) bool { return g.rng.IntN(n) == 0 }

// pick is one of the list.
func (g *compareGenerator) pick(list ...string) string { return list[g.rng.IntN(len(list))] }

// some are one to most different ones of a list, separated by commas.
func (g *compareGenerator) some(most int, list ...string) string {
	chosen := make([]string, 0, most)
	for range 1 + g.rng.IntN(most) {
		if text := g.pick(list...); !slices.Contains(chosen, text) {
			chosen = append(chosen, text)
		}
	}
	return strings.Join(chosen, ",")
}
