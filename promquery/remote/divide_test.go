package remote_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

const (
	minuteMs = int64(60_000)
	hourMs   = 60 * minuteMs
)

// limited is a server of the query API that evaluates selectors over series that have a sample at each full minute, and
// refuses what exceeds a number of samples.
type limited struct {
	t      *testing.T
	series []labels.Labels
	limit  int
	refuse http.HandlerFunc // the refusal
	knows  bool             // how many samples there are
	most   int              // samples of the largest good answer
}

// ms is a parameter, a time in seconds, in milliseconds.
func (l *limited) ms(r *http.Request, name string) int64 {
	f, err := strconv.ParseFloat(r.FormValue(name), 64)
	if err != nil {
		l.t.Errorf("parameter %s: %v", name, err)
	}
	return int64(math.Round(f * 1000))
}

// estimates reports whether a request asks how many samples there are.
func estimates(r *http.Request) bool {
	return strings.HasPrefix(r.FormValue("query"), "label_replace(")
}

// match returns the series of a selector, and the width of its range, 0 if it has none.
func (l *limited) match(query string) (series []labels.Labels, width int64) {
	selector, rest, ranged := strings.Cut(query, "}[")
	if ranged {
		var err error
		if width, err = strconv.ParseInt(strings.TrimSuffix(rest, "ms]"), 10, 64); err != nil {
			l.t.Errorf("range of %s: %v", query, err)
		}
		selector += "}"
	}
	ms, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
	if err != nil {
		l.t.Errorf("parse %s: %v", selector, err)
	}
	for _, lset := range l.series {
		if !slices.ContainsFunc(ms, func(m *labels.Matcher) bool { return !m.Matches(lset.Get(m.Name)) }) {
			series = append(series, lset)
		}
	}
	return series, width
}

// query answers /api/v1/query and /api/v1/query_range.
func (l *limited) query(w http.ResponseWriter, r *http.Request) {
	if query := r.FormValue("query"); query == "1" || strings.HasPrefix(query, "count(") { // probes
		newFake().handlers["/api/v1/query"](w, r)
		return
	}
	if estimates(r) {
		l.estimate(w, r)
		return
	}
	series, width := l.match(r.FormValue("query"))
	var points []string
	at, end, step := int64(0), int64(0), minuteMs
	if width > 0 {
		end = l.ms(r, "time")
		at = (end-width)/minuteMs*minuteMs + minuteMs // the range is open at its start
	} else {
		at, end, step = l.ms(r, "start"), l.ms(r, "end"), l.ms(r, "step")
	}
	for ; at <= end; at += step {
		points = append(points, fmt.Sprintf(`[%d.%03d,"1"]`, at/1000, at%1000))
	}
	n := len(points) * len(series)
	if n > l.limit {
		l.refuse(w, r)
		return
	}
	l.most = max(l.most, n)
	var list []string
	for _, lset := range series {
		if len(points) > 0 {
			list = append(list, fmt.Sprintf(`{"metric":%s,"values":[%s]}`, must(lset.MarshalJSON()), strings.Join(points, ",")))
		}
	}
	matrix(strings.Join(list, ","))(w, r)
}

// estimate answers how many samples there are.
func (l *limited) estimate(w http.ResponseWriter, r *http.Request) {
	if !l.knows {
		matrix("")(w, r)
		return
	}
	n := len(l.series)
	if strings.Contains(r.FormValue("query"), "count_over_time") {
		n *= 5
	}
	counting(l.t, map[string]int{"m": n})(w, r)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// values answers /api/v1/label/…/values.
func (l *limited) values(label string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		series, _ := l.match(r.FormValue("match[]"))
		var names []string
		for _, lset := range series {
			v := lset.Get(label)
			if quoted := string(must(json.Marshal(v))); v != "" && !slices.Contains(names, quoted) {
				names = append(names, quoted)
			}
		}
		text("application/json", `{"status":"success","data":[`+strings.Join(names, ",")+`]}`)(w, r)
	}
}

// handle lets a fake answer as the server.
func (l *limited) handle(f *fake) {
	f.handle("/api/v1/query", l.query)
	f.handle(rangePath, l.query)
	for _, label := range []string{"namespace", "exported_namespace"} {
		f.handle("/api/v1/label/"+label+"/values", l.values(label))
	}
}

// serve returns a source over the server.
func (l *limited) serve(t *testing.T, cfg remote.Config) *remote.Source {
	f := newFake()
	l.handle(f)
	cfg.Mode = remote.ModeQuery
	return f.source(t, cfg)
}

// tooMany is how Prometheus refuses.
var tooMany = status(422, "application/json", `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`)

// inNamespaces returns series of metric m, perNamespace in each namespace ("" is none).
func inNamespaces(label string, perNamespace int, namespaces ...string) []labels.Labels {
	var list []labels.Labels
	for _, ns := range namespaces {
		for i := range perNamespace {
			b := labels.NewScratchBuilder(4)
			b.Add("__name__", "m")
			if ns != "" {
				b.Add(label, ns)
			}
			b.Add("pod", fmt.Sprintf("p%d", i))
			b.Sort()
			list = append(list, b.Labels())
		}
	}
	return list
}

// oddNames are namespaces that are hard to separate.
var oddNames = []string{"", "a", "aa", "ab", "a-b", "a.b", "b", "team-1", "team-10", "team-2", "z", "ü", "üb", "\U0010ffff", "\U0010ffffa", "日本", "[x]"}

// TestDivide has everything refused that exceeds some number of samples: each sample comes once all the same.
func TestDivide(t *testing.T) {
	for _, step := range []int64{0, minuteMs, 90 * minuteMs} {
		for _, tc := range []struct {
			name   string
			series []labels.Labels
			limit  int
		}{
			{"nothing refused", inNamespaces("namespace", 3, oddNames...), math.MaxInt},
			{"days refused", inNamespaces("namespace", 1, "a", "b", ""), 3 * 3 * 59},
			{"all but hours refused", inNamespaces("namespace", 1, "a", "b", ""), 3*60 + 2},
			{"hours refused", inNamespaces("namespace", 3, oddNames...), 1000},
			{"all but namespaces refused", inNamespaces("namespace", 3, oddNames...), 3 * 61},
			{"namespaces renamed", inNamespaces("exported_namespace", 2, oddNames...), 2 * 61},
			{"one namespace and none", inNamespaces("namespace", 2, "a", ""), 2 * 61},
		} {
			t.Run(fmt.Sprintf("%s/step %d", tc.name, step/minuteMs), func(t *testing.T) {
				l := &limited{t: t, series: tc.series, limit: tc.limit, refuse: tooMany}
				sel := promquery.Request{Metric: "m", Keep: promquery.Labels("namespace", "exported_namespace", "pod"), Start: 1, End: 3 * hourMs, Grid: promquery.Grid{Step: step}}
				got, stats, err := collect(t, l.serve(t, remote.Config{}), sel)
				if err != nil {
					t.Fatal(err)
				}
				checkWhole(t, got, tc.series, sel)
				if stats.Series != int64(len(tc.series)) {
					t.Errorf("counted %d series, want %d", stats.Series, len(tc.series))
				}
			})
		}
	}
}

// checkWhole checks that each series has each of its samples, once and in order.
func checkWhole(t *testing.T, got map[string][]string, series []labels.Labels, sel promquery.Request) {
	t.Helper()
	step := sel.Grid.Step
	if step == 0 {
		step = minuteMs
	}
	var samples []string
	for at := sel.End - (sel.End-sel.Start)/step*step; at <= sel.End; at += step {
		samples = append(samples, fmt.Sprintf("%d=1", at))
	}
	want := map[string][]string{}
	for _, lset := range series {
		want[fmt.Sprintf("0:%s|%s|%s", lset.Get("namespace"), lset.Get("exported_namespace"), lset.Get("pod"))] = samples
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%.2000s", diff)
	}
}

// TestDivideRandom does so with random limits, by the server and by Config.MaxSamples.
func TestDivideRandom(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, seed))
	for range 10 {
		var names []string
		for range 1 + r.IntN(20) {
			names = append(names, strings.Repeat(string(rune('a'+r.IntN(3))), r.IntN(4))+strconv.Itoa(r.IntN(10)))
		}
		names = slices.Compact(slices.Sorted(slices.Values(append(names, ""))))
		l := &limited{t: t, series: inNamespaces("namespace", 1+r.IntN(3), names...), refuse: tooMany}
		l.limit = 3*61 + r.IntN(10_000)
		cfg := remote.Config{MaxSamples: int64(3*61 + r.IntN(10_000)), MaxConcurrency: 1}
		sel := promquery.Request{Metric: "m", Keep: promquery.Labels("namespace", "exported_namespace", "pod"), Start: 1, End: int64(1+r.IntN(7)) * hourMs, Grid: promquery.Grid{Step: int64(r.IntN(3)) * minuteMs}}
		got, _, err := collect(t, l.serve(t, cfg), sel)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkWhole(t, got, l.series, sel)
		if t.Failed() {
			t.Fatalf("seed %d: %d series, limits %d and %d", seed, len(l.series), l.limit, cfg.MaxSamples)
		}
	}
}

// TestRefused sees to it that what cannot be divided further is an error that names metric, time, namespace and limit.
func TestRefused(t *testing.T) {
	const from, to = "from 1970-01-01T00:00:01Z", "to 1970-01-01T01:00:00Z"
	refusal := func(code int, message string) http.HandlerFunc {
		return status(code, "application/json", fmt.Sprintf(`{"status":"error","error":%q}`, message))
	}
	for _, tc := range []struct {
		name   string
		series []labels.Labels
		refuse http.HandlerFunc
		cfg    remote.Config
		want   []string
	}{
		{"a namespace", inNamespaces("namespace", 1, "shop"), tooMany, remote.Config{}, []string{"namespace shop", "too many samples", "--query.max-samples of Prometheus"}},
		{"of several", inNamespaces("namespace", 1, "pay", "shop"), tooMany, remote.Config{}, []string{"namespace pay"}},
		{"without namespaces", inNamespaces("node", 2, "n1", "n2"), tooMany, remote.Config{}, []string{"--query.max-samples of Prometheus"}},
		{"some without", inNamespaces("namespace", 1, "", "shop"), tooMany, remote.Config{}, []string{"series without namespace"}},
		{"VictoriaMetrics", inNamespaces("namespace", 1, "shop"), refusal(422, "cannot select more than -search.maxSamplesPerQuery=10 samples"), remote.Config{}, []string{"namespace shop", "raise the limit that it names"}},
		{"too large", inNamespaces("namespace", 1, "shop"), status(413, "text/plain", ""), remote.Config{}, []string{"413", "namespace shop"}},
		{"Mimir", inNamespaces("namespace", 1, "shop"), refusal(400, "the query exceeded the maximum number of chunks"), remote.Config{}, []string{"namespace shop", "-querier.max-samples"}},
		{"slow", inNamespaces("namespace", 1, "shop"), refusal(503, "query timed out in expression evaluation"), remote.Config{}, []string{"namespace shop", "--query.timeout of Prometheus"}},
		{"busy", inNamespaces("namespace", 1, "shop"), status(503, "text/plain", ""), remote.Config{}, []string{"namespace shop", "6 tries", "answers small questions"}},
		{"gateway's timeout", inNamespaces("namespace", 1, "shop"), status(504, "text/html", html), remote.Config{}, []string{"namespace shop", "504"}},
		{"our own limit", inNamespaces("namespace", 1, "shop"), nil, remote.Config{MaxSamples: 10}, []string{"namespace shop", "raise --query.max-samples"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &limited{t: t, series: tc.series, limit: 0, refuse: tc.refuse}
			if tc.refuse == nil {
				l.limit = math.MaxInt
			}
			sel := promquery.Request{Metric: "m", Start: 1000, End: 5 * hourMs, Grid: promquery.Grid{Step: 1000}}
			sel.End -= sel.End % sel.Grid.Step
			_, _, err := collect(t, l.serve(t, tc.cfg), sel)
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range append(tc.want, "metric m", from, to, "http://prometheus.test") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q: %v", want, err)
				}
			}
		})
	}
}

// TestNotDivided sees to it that other failures are not met by more requests. The first one asks how many samples there are.
func TestNotDivided(t *testing.T) {
	for _, tc := range []struct {
		name     string
		refuse   http.HandlerFunc
		requests int64
		want     string
	}{
		{"bad request", status(400, "text/plain", "parse error"), 2, "parse error"},
		{"unauthorized", status(401, "text/plain", "limited to users"), 2, "--prometheus.http-config"},
		{"internal error", status(500, "text/plain", "boom"), 4, "boom"},
		{"rate limit", status(429, "text/plain", "the tenant exceeded the request rate limit"), 7, "rate limit"},
		{"HTML", text("text/html", html), 2, "HTML"},
		{"no limit", status(422, "application/json", `{"status":"error","error":"expanding series: block is corrupt"}`), 2, "was refused: 422 Unprocessable Entity: expanding series: block is corrupt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &limited{t: t, series: inNamespaces("namespace", 1, "a", "b"), refuse: tc.refuse}
			_, stats, err := collect(t, l.serve(t, remote.Config{}), promquery.Request{Metric: "m", End: 24 * hourMs, Grid: promquery.Grid{Step: minuteMs}})
			if err == nil || !strings.Contains(err.Error(), tc.want) || stats.Requests != tc.requests {
				t.Errorf("got %d requests and %v, want %d and %q", stats.Requests, err, tc.requests, tc.want)
			}
		})
	}
}

// TestDivideLearns sees to it that what was refused once is not tried for each later piece.
func TestDivideLearns(t *testing.T) {
	names := make([]string, 64)
	for i := range names {
		names[i] = fmt.Sprintf("team-%02d", i)
	}
	l := &limited{t: t, series: inNamespaces("namespace", 1, names...), limit: 600, refuse: tooMany}
	_, stats, err := collect(t, l.serve(t, remote.Config{}), promquery.Request{Metric: "m", Keep: promquery.Labels("namespace"), Start: 1, End: 6 * hourMs, Grid: promquery.Grid{Step: minuteMs}})
	if err != nil {
		t.Fatal(err)
	}
	// 64 × 60 samples an hour need at least 7 requests, by halving 8. To find that out takes some once.
	if stats.Requests > 6*8+30 {
		t.Errorf("took %d requests", stats.Requests)
	}
}

func FuzzAtLeast(f *testing.F) {
	for i, s := range oddNames {
		f.Add(oddNames[(i+1)%len(oddNames)], s)
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		if s == "" || len(s) > 253 || !utf8.ValidString(s) || !utf8.ValidString(other) {
			return
		}
		re, err := regexp.Compile("^(?:" + remote.AtLeast(s) + ")$")
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		for _, x := range []string{other, s, s + other, s[:len(s)-1], ""} {
			if utf8.ValidString(x) && re.MatchString(x) != (x >= s) {
				t.Errorf("at least %q: %q matches %t", s, x, x < s)
			}
		}
	})
}
