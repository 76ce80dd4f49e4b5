package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/promquery/promapi"
)

// hostileEnd is the end of the data that hostile requests are about, and hostileStart its beginning.
const (
	hostileStart = "2026-01-31T04:00:00Z"
	hostileEnd   = "2026-01-31T12:00:00Z"
)

// hostileRequest is a request that is meant to do harm.
type hostileRequest struct {
	path      string // of the table; "" where the path itself is the attack
	attack    string // the kind of the harm
	parameter string // that is attacked, "" for none
	method    string
	query     url.Values
	rawQuery  string // beside query
	header    http.Header
	body      func() io.Reader // nil for none
	wire      string           // the bytes to send, instead of everything else
}

// String names the request.
func (r *hostileRequest) String() string {
	return fmt.Sprintf("%s %s: %s %s", r.method, r.path, r.parameter, r.attack)
}

// hostileParameter is a parameter of a path.
type hostileParameter struct{ name, kind string }

// promqlParameters are the parameters of Prometheus' API.
var promqlParameters = map[string][]hostileParameter{
	"/api/v1/alertmanagers":       nil,
	"/api/v1/alerts":              nil,
	"/api/v1/features":            nil,
	"/api/v1/format_query":        {{"query", "promql"}},
	"/api/v1/label/{name}/values": {{"match[]", "series"}, {"start", "time"}, {"end", "time"}, {"limit", "number"}},
	"/api/v1/labels":              {{"match[]", "series"}, {"start", "time"}, {"end", "time"}, {"limit", "number"}},
	"/api/v1/metadata":            {{"limit", "number"}, {"limit_per_metric", "number"}, {"metric", "text"}},
	"/api/v1/parse_query":         {{"query", "promql"}},
	"/api/v1/query":               {{"query", "promql"}, {"time", "time"}, {"timeout", "duration"}, {"limit", "number"}, {"lookback_delta", "duration"}, {"stats", "text"}},
	"/api/v1/query_exemplars":     {{"query", "promql"}, {"start", "time"}, {"end", "time"}},
	"/api/v1/query_range":         {{"query", "promql"}, {"start", "time"}, {"end", "time"}, {"step", "duration"}, {"timeout", "duration"}, {"limit", "number"}, {"lookback_delta", "duration"}, {"stats", "text"}},
	"/api/v1/read":                nil,
	"/api/v1/rules":               {{"type", "alert|record"}, {"match[]", "series"}},
	"/api/v1/scrape_pools":        nil,
	"/api/v1/series":              {{"match[]", "series"}, {"start", "time"}, {"end", "time"}, {"limit", "number"}},
	"/api/v1/status/buildinfo":    nil,
	"/api/v1/status/config":       nil,
	"/api/v1/status/flags":        nil,
	"/api/v1/status/runtimeinfo":  nil,
	"/api/v1/targets":             {{"state", "text"}, {"scrapePool", "text"}},
	"/api/v1/targets/metadata":    {{"limit", "number"}, {"metric", "text"}, {"match_target", "series"}},
	"/federate":                   {{"match[]", "series"}},
}

// operationPaths are the paths that the program itself answers.
var operationPaths = map[string][]hostileParameter{
	"/": nil, "/metrics": {{"name[]", "text"}}, "/-/healthy": nil, "/-/ready": nil, "/-/reload": nil, "/dashboards/": nil, "/nosuch": nil, "/model/assets/diff": nil,
	"/debug/pprof/": nil, "/debug/pprof/heap": {{"seconds", "number"}, {"debug", "number"}, {"gc", "number"}}, "/debug/pprof/profile": {{"seconds", "number"}}, "/debug/pprof/trace": {{"seconds", "number"}},
}

// hostilePaths are all paths and their parameters.
func hostilePaths(t *testing.T) map[string][]hostileParameter {
	t.Helper()
	paths := maps.Clone(operationPaths)
	for _, path := range costapi.Paths() {
		paths[path] = nil
		for _, p := range costapi.Parameters(path) {
			for _, name := range append([]string{p.Name}, p.Aliases...) {
				if p.Ignored {
					p.Type = anyType
				}
				paths[path] = append(paths[path], hostileParameter{name, p.Type})
			}
		}
	}
	for _, path := range promapi.Paths() {
		parameters, ok := promqlParameters[path]
		if !ok {
			t.Fatalf("%s has no row in promqlParameters", path)
		}
		paths[path] = parameters
	}
	return paths
}

// wellFormed are values that the other parameters of a request have, by their names.
var wellFormed = map[string]string{
	"window": "2026-01-31T09:00:00Z," + hostileEnd, "after": "2026-01-31T09:00:00Z," + hostileEnd, "names": "kube-system", "field": "cluster", "query": `{__name__=~"promcost_namespace_.+"}`,
	"seconds": "1", "time": hostileEnd, "start": "2026-01-31T09:00:00Z", "end": hostileEnd, "step": "1m", "match[]": `{__name__=~"promcost_namespace_.+"}`,
}

// hostileRequests are all attacks on all paths.
func hostileRequests(t *testing.T) []hostileRequest {
	t.Helper()
	var list []hostileRequest
	paths, values := hostilePaths(t), hostileValues()
	headers, bodies, queries := hostileHeaders(), hostileBodies(), hostileRawQueries()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		base := url.Values{}
		for _, p := range paths[path] {
			if text, ok := wellFormed[p.name]; ok && (p.name != "step" || strings.HasPrefix(path, "/api/")) { // sets have none by default
				base.Set(p.name, text)
			}
		}
		if strings.HasPrefix(path, "/v2/") { // which has whole days
			base.Set("window", "2026-01-31T00:00:00Z,2026-02-01T00:00:00Z")
		}
		for _, p := range paths[path] {
			list = append(list, attacksOn(t, path, p, base, values)...)
		}
		list = append(list, attacksWithout(path, base, headers, bodies, queries)...)
	}
	list = append(list, attacksWithout(mcpPath, nil, headers, bodies, queries)...)
	list = append(list, assistantAttacks(values)...)
	return append(list, wireAttacks()...)
}

// attacksOn are the attacks on a parameter.
func attacksOn(t *testing.T, path string, p hostileParameter, base url.Values, values map[string][]hostileValue) []hostileRequest {
	t.Helper()
	var list []hostileRequest
	kinds := []string{anyType}
	for kind := range strings.SplitSeq(p.kind, "|") {
		switch {
		case values[kind] != nil:
		case strings.Contains(p.kind, "|") || kind == "json":
			kind = wordType
		default:
			t.Fatalf("there are no hostile values of type %q, which %s of %s has", kind, p.name, path)
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		for _, v := range values[kind] {
			if p.name == "seconds" && strings.TrimSpace(v.values[0]) == "" {
				continue // a profile takes half a minute then
			}
			query := maps.Clone(base)
			query[p.name] = v.values
			r := hostileRequest{path: path, attack: kind + ": " + v.name, parameter: p.name, method: http.MethodGet, query: query}
			if path == predictionPath { // which wants manifests
				r.method, r.body = http.MethodPost, func() io.Reader { return strings.NewReader(predictedFront("cpu: 1")) }
			}
			if size := len(strings.Join(v.values, "")); size > 300_000 { // more than headers may have once it is escaped
				r = r.posted()
			}
			list = append(list, r)
		}
	}
	return list
}

// posted is the request as a form.
func (r hostileRequest) posted() hostileRequest {
	form := r.query
	r.method, r.query, r.header = http.MethodPost, nil, http.Header{"Content-Type": {formType}}
	r.body = func() io.Reader { return strings.NewReader(form.Encode()) }
	return r
}

const formType = "application/x-www-form-urlencoded"

// attacksWithout are attacks on a path that need no parameter: methods, headers and bodies.
func attacksWithout(path string, base url.Values, headers map[string]http.Header, bodies map[string]hostileBody, queries map[string]string) []hostileRequest {
	var list []hostileRequest
	add := func(attack, method string, header http.Header, body func() io.Reader) {
		list = append(list, hostileRequest{path: path, attack: attack, method: method, query: base, header: header, body: body})
	}
	for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodTrace, "PROPFIND", strings.Repeat("A", 1000)} {
		add("method "+method[:min(len(method), 20)], method, nil, nil)
	}
	for name, header := range headers {
		add(name, http.MethodGet, header, nil)
	}
	for name, b := range bodies {
		add(name, http.MethodPost, b.header, b.body)
	}
	for name, query := range queries {
		list = append(list, hostileRequest{path: path, attack: name, method: http.MethodGet, query: base, rawQuery: query})
	}
	slices.SortFunc(list, func(a, b hostileRequest) int { return strings.Compare(a.attack, b.attack) })
	return list
}

// hostileRawQueries are queries of URLs by what is wrong with them.
func hostileRawQueries() map[string]string {
	return map[string]string{
		"malformed query": "%zz", "semicolons": "a;b;c", "nameless": "=&=&=", "10^5 names": numbered("n%d=1", "&", 60_000), "long name": strings.Repeat("n", long) + "=1",
		"9,000 names": numbered("n%d=1", "&", 9_000),
		"misspelled":  "windo=1h&aggregat=pod", "invalid name": "%ff%00=1", "array": "window[]=1h&window[0]=1h",
	}
}

// hostileHeaders are headers by what is wrong with them.
func hostileHeaders() map[string]http.Header {
	flood := http.Header{}
	for i := range 5000 {
		flood.Set(fmt.Sprintf("X-Flood-%d", i), "1")
	}
	return map[string]http.Header{
		"many headers": flood, "long header": {"X-Long": {strings.Repeat("x", 900_000)}}, "too long header": {"X-Long": {strings.Repeat("x", 3_000_000)}},
		"encodings": {"Accept-Encoding": {strings.Repeat("gzip;q=0.5,", 10_000)}}, "odd encodings": {"Accept-Encoding": {"gzip;q=NaN, zstd;q=1e309, *;q=-1"}},
		"formats": {"Accept": {strings.Repeat("application/openmetrics-text;version=1.0.0,", 10_000)}}, "odd formats": {"Accept": {"application/vnd.google.protobuf;proto=x;encoding=\x80,*/*;q=\"1\""}},
		"ranges": {"Range": {"bytes=" + numbered("%d-", ",", 10_000)}}, "origin": {"Origin": {"http://evil.example"}, "Access-Control-Request-Method": {"DELETE"}},
		"other host": {"Host": {"evil.example"}}, "other site": {"Host": {"evil.example:80"}, "Origin": {"http://evil.example"}, "Sec-Fetch-Site": {"cross-site"}, "Accept": {"text/html"}},
		"upgrade": {"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, "forwarded": {"X-Forwarded-For": {"127.0.0.1"}, "X-Original-URL": {"/-/reload"}, "X-Http-Method-Override": {"DELETE"}},
		"conditions": {"If-None-Match": {"*"}, "If-Modified-Since": {"Sat, 01 Jan 9999 00:00:00 GMT"}}, "authorization": {"Authorization": {"Basic " + strings.Repeat("A", 100_000)}},
	}
}

// hostileBody is a body and its headers.
type hostileBody struct {
	header http.Header
	body   func() io.Reader
}

// hostileBodies are bodies by what is wrong with them.
func hostileBodies() map[string]hostileBody {
	text := func(kind, body string) hostileBody {
		return hostileBody{http.Header{"Content-Type": {kind}}, func() io.Reader { return strings.NewReader(body) }}
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := io.Copy(z, zeros(100_000_000)); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	read := func(text []byte) hostileBody {
		return hostileBody{http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}, "X-Prometheus-Remote-Read-Version": {"0.1.0"}}, func() io.Reader { return bytes.NewReader(text) }}
	}
	queries := prompb.ReadRequest{}
	for range 900 {
		queries.Queries = append(queries.Queries, &prompb.Query{EndTimestampMs: 1 << 62, Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "__name__", Value: ".+"}}})
	}
	many, err := queries.Marshal()
	if err != nil {
		panic(err)
	}
	return map[string]hostileBody{
		"form of 100 MB":     {http.Header{"Content-Type": {formType}}, func() io.Reader { return zeros(100_000_000) }},
		"JSON":               text("application/json", `{"window":"1h"}`),
		"XML":                text("text/xml", `<!DOCTYPE a [<!ENTITY a "a">]><a>&a;</a>`),
		"odd content type":   text("application/x-www-form-urlencoded; charset=\x80; a=b; a=c", "window=1h"),
		"multipart":          text("multipart/form-data; boundary=a", strings.Repeat("--a\r\nContent-Disposition: form-data; name=\"window\"\r\n\r\n1h\r\n", 10_000)),
		"multipart of files": text("multipart/form-data; boundary=a", strings.Repeat("--a\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nx\r\n", 10_000)+"--a--"),
		"multipart unended":  text("multipart/form-data", "--a"),
		"malformed form":     text(formType, "window=%zz&a;b"),
		"names in a form":    text(formType, numbered("n%d=1", "&", 80_000)),
		"bomb":               {http.Header{"Content-Type": {formType}, "Content-Encoding": {"gzip"}}, func() io.Reader { return bytes.NewReader(bomb.Bytes()) }},
		"read of nothing":    read(nil),
		"broken read":        read([]byte("\xff\xff\xff\xff\xff\xff")),
		"read of 4 GB":       read([]byte("\xff\xff\xff\xff\x0f\x00")),
		"read bomb":          read(snappy.Encode(nil, make([]byte, 100_000_000))),
		"read of a bad size": read(append(snappy.Encode(nil, []byte("\x0a\xff\xff\xff\xff\x7f")), 0)),
		"900 reads":          read(snappy.Encode(nil, many)),
		"read of text":       read([]byte(strings.Repeat("a", 10_000))),
		"10^5 documents":     text("application/yaml", strings.Repeat("kind: ConfigMap\n---\n", 100_000)),
		"10^6 values":        text("application/yaml", "a: ["+strings.Repeat("1,", 1_000_000)+"]"),
		"nested YAML":        text("application/yaml", strings.Repeat("[", 100_000)),
		"nested JSON":        text("application/json", strings.Repeat(`{"a":`, 100_000)),
		"YAML bomb":          text("application/yaml", yamlBomb()),
		"JSON of lists":      text("application/json", strings.Repeat(`{"kind":"List","items":[`, 5_000)),
		"odd manifests":      text("application/yaml", predictedFront("cpu: 1e400, memory: \xff")),
	}
}

// yamlBomb is a manifest whose anchors stand for 9^9 objects.
func yamlBomb() string {
	var b strings.Builder
	last := "a"
	b.WriteString("a: &a {x: y}\n")
	for name := range strings.SplitSeq("bcdefghij", "") {
		fmt.Fprintf(&b, "%[1]s: &%[1]s {<<: [%[2]s]}\n", name, strings.TrimSuffix(strings.Repeat("*"+last+",", 9), ","))
		last = name
	}
	return b.String() + "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {<<: *j}\n"
}

// zeros are so many zeros.
func zeros(n int) io.Reader { return io.LimitReader(zeroReader{}, int64(n)) }

// zeroReader is zeros without end.
type zeroReader struct{}

// Read implements io.Reader.
func (zeroReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// wireAttacks are requests that no client would send.
func wireAttacks() []hostileRequest {
	targets := map[string]string{
		"dots":             "/model/../../../../etc/passwd",
		"coded dots":       "/model/%2e%2e/%2e%2e/etc/passwd",
		"NUL":              "/model/%00",
		"double slashes":   "//model//allocation",
		"slashes":          "/" + strings.Repeat("/", 10_000),
		"long path":        "/" + strings.Repeat("a", long),
		"long PromQL path": "/api/v1/" + strings.Repeat("a", long),
		"invalid path":     "/%ff%fe",
		"markup":           "/<script>alert(1)</script>",
		"star":             "*",
		"another host":     "http://evil.example/model/allocation",
		"malformed path":   "/%zz",
		"label NUL":        "/api/v1/label/%00/values",
		"long label":       "/api/v1/label/" + strings.Repeat("a", long) + "/values",
		"no label":         "/api/v1/label//values",
		"odd label":        "/api/v1/label/U__" + strings.Repeat("_", 1000) + "/values",
		"dashboards":       "/dashboards/../../etc/passwd",
		"coded dashboards": "/dashboards/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
		"deep path":        strings.Repeat("/a", 50_000),
		"backslashes":      `/\..\..\windows`,
		"new line":         "/model/%0d%0aSet-Cookie:%20a=b",
		"fragment":         "/#" + strings.Repeat("a", 1000),
	}
	var requests []hostileRequest
	for name, target := range targets {
		requests = append(requests, hostileRequest{attack: "path: " + name, method: http.MethodGet, wire: "GET " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"})
	}
	const head, form = "POST /model/allocation HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"
	for name, text := range map[string]string{
		"chunked":              head + form + "Transfer-Encoding: chunked\r\n\r\n9\r\nwindow=1h\r\n0\r\n\r\n",
		"broken chunks":        head + form + "Transfer-Encoding: chunked\r\n\r\nzzzz\r\nwindow",
		"huge chunk":           head + form + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"two lengths":          head + form + "Content-Length: 9\r\nContent-Length: 10\r\n\r\nwindow=1h",
		"length and chunks":    head + form + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"negative length":      head + form + "Content-Length: -1\r\n\r\n",
		"unknown coding":       head + form + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"no host":              "GET /model/allocation HTTP/1.1\r\nConnection: close\r\n\r\n",
		"odd host":             "GET /model/allocation HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n",
		"HTTP/1.0":             "GET /model/allocation?window=1h HTTP/1.0\r\n\r\n",
		"HTTP/9.9":             "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
		"no HTTP":              "hello\r\n\r\n",
		"TLS":                  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"broken header":        "GET / HTTP/1.1\r\nHost: a\r\nBroken\r\n\r\n",
		"folded header":        "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\nConnection: close\r\n\r\n",
		"header with a NUL":    "GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
		"expects":              head + form + "Expect: nonsense\r\nContent-Length: 9\r\n\r\nwindow=1h",
		"CONNECT":              "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n",
		"pipelined":            strings.Repeat("GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n", 100),
		"body of a GET":        "GET /model/allocation HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\na=b",
		"form that ends early": head + form + "Content-Length: 1000\r\n\r\nwindow=1h",
	} {
		requests = append(requests, hostileRequest{attack: "wire: " + name, method: http.MethodGet, wire: text})
	}
	slices.SortFunc(requests, func(a, b hostileRequest) int { return strings.Compare(a.attack, b.attack) })
	return requests
}
