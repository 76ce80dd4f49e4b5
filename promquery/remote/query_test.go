package remote_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

const rangePath = "/api/v1/query_range"

// matrix is an answer with the given series.
func matrix(series string) http.HandlerFunc {
	return text("application/json", `{"status":"success","data":{"resultType":"matrix","result":[`+series+`]}}`)
}

// grid answers a range query with 1 at each step, and refuses more than limit points.
func grid(t *testing.T, limit int) http.HandlerFunc {
	ms := func(r *http.Request, name string) int64 {
		f, err := strconv.ParseFloat(r.FormValue(name), 64)
		if err != nil {
			t.Errorf("parameter %s: %v", name, err)
		}
		return int64(math.Round(f * 1000))
	}
	return func(w http.ResponseWriter, r *http.Request) {
		var points []string
		step := ms(r, "step")
		for at := ms(r, "start"); at <= ms(r, "end"); at += step {
			points = append(points, fmt.Sprintf(`[%d.%03d,"1"]`, at/1000, at%1000))
		}
		if len(points) > limit {
			status(422, "application/json", `{"status":"error","error":"query processing would load too many samples into memory in query execution"}`)(w, r)
			return
		}
		matrix(`{"metric":{"__name__":"m","pod":"a"},"values":[`+strings.Join(points, ",")+`]}`)(w, r)
	}
}

// TestGrid sees to it that the points asked for are one grid, anchored at the end, however it is divided.
func TestGrid(t *testing.T) {
	for _, tc := range []struct {
		name             string
		start, end, step int64
		limit, points    int
		requests         int
	}{
		{"one request", 1, 600_000, 60_000, 11_000, 10, 1},
		{"start on the grid", 0, 600_000, 60_000, 11_000, 11, 1},
		{"one point", 599_999, 600_000, 60_000, 11_000, 1, 1},
		{"nothing", 600_001, 600_000, 60_000, 11_000, 0, 0},
		{"as many as a request takes", 1, 11_000 * 1000, 1000, 11_000, 11_000, 1},
		{"one more", 0, 11_000 * 1000, 1000, 11_000, 11_001, 2},
		{"odd step", 5, 100_000_007, 7_001, 11_000, 14_284, 2},
		{"too many samples", 1, 4 * 3_600_000, 1000, 4000, 14_400, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/query", counting(t, nil))
			f.handle(rangePath, grid(t, tc.limit))
			sel := promquery.Request{Metric: "m", Start: tc.start, End: tc.end, Grid: promquery.Grid{Step: tc.step}}
			want, got := tc.end-int64(tc.points-1)*tc.step, 0
			_, err := promtest.Select(t.Context(), f.source(t, remote.Config{Mode: remote.ModeQuery}), []promquery.Request{sel}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
				if !p.Sampled() {
					t.Error("points are not marked as sampled")
				}
				for at := range p.All() {
					if at != want {
						t.Fatalf("point %d is at %d, want %d", got, at, want)
					}
					want, got = want+tc.step, got+1
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if n := f.count(rangePath); got != tc.points || n != tc.requests {
				t.Errorf("got %d points from %d requests, want %d from %d", got, n, tc.points, tc.requests)
			}
		})
	}
}

// TestRawRequests sees to it that raw samples are asked for in adjacent pieces, oldest first, longer ones where there are few.
func TestRawRequests(t *testing.T) {
	f := newFake()
	src := f.source(t, remote.Config{Mode: remote.ModeQuery})
	if _, err := src.Mode(t.Context()); err != nil {
		t.Fatal(err)
	}
	var asked []string
	f.handle("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case estimates(r):
			status(422, "text/plain", "no")(w, r)
			return
		case ofScrapes(r.FormValue("query")):
			matrix("")(w, r)
			return
		}
		asked = append(asked, r.FormValue("time")+" "+r.FormValue("query")+" nocache="+r.FormValue("nocache"))
		matrix("")(w, r)
	})
	const hour = int64(3_600_000)
	sel := promquery.Request{Metric: "m", Matchers: []promquery.Matcher{{Name: "a", Type: promquery.MatchRegexp, Value: `x\.y"`}}, Start: 1000, End: 13 * hour}
	if _, _, err := collect(t, src, sel); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`3600.923 {__name__="m",a=~"x\\.y\""}[3599924ms] nocache=1`,
		`18000.616 {__name__="m",a=~"x\\.y\""}[14399693ms] nocache=1`,
		`46800.000 {__name__="m",a=~"x\\.y\""}[28799384ms] nocache=1`,
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestSelectorText parses the text with Prometheus' parser and compares the matchers.
func TestSelectorText(t *testing.T) {
	f := newFake()
	src := f.source(t, remote.Config{Mode: remote.ModeQuery})
	if _, err := src.Mode(t.Context()); err != nil {
		t.Fatal(err)
	}
	var query string
	f.handle(rangePath, func(w http.ResponseWriter, r *http.Request) {
		query = r.FormValue("query")
		matrix("")(w, r)
	})
	values := []string{"", "plain", `quote"back\slash`, "line\nfeed\ttab", "ü→\u2028", "\x00\x7f", "{}[]()'`", strings.Repeat("long", 1000)}
	for _, v := range values {
		sel := promquery.Request{Metric: "m:" + v, Start: 0, End: 1, Grid: promquery.Grid{Step: 1}, Matchers: []promquery.Matcher{
			{Name: "eq", Type: promquery.MatchEqual, Value: v},
			{Name: "ne", Type: promquery.MatchNotEqual, Value: v},
			{Name: "re", Type: promquery.MatchRegexp, Value: "a|b.*"},
			{Name: "nre", Type: promquery.MatchNotRegexp, Value: `\d+`},
			{Name: "with.dots", Type: promquery.MatchEqual, Value: v},
		}}
		if _, _, err := collect(t, src, sel); err != nil {
			t.Fatal(err)
		}
		ms, err := parser.NewParser(parser.Options{}).ParseMetricSelector(query)
		if err != nil {
			t.Errorf("parse %s: %v", query, err)
			continue
		}
		want := []string{"__name__=m:" + v, "eq=" + v, "ne!=" + v, "re=~a|b.*", `nre!~\d+`, "with.dots=" + v}
		var got []string
		for _, m := range ms {
			got = append(got, m.Name+m.Type.String()+m.Value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("matchers (-want +got):\n%s", diff)
		}
	}
	post := 0
	for _, r := range f.asked {
		if r.Method == http.MethodPost {
			post++
		}
	}
	if post != 1 {
		t.Errorf("%d requests were POSTs, want just the long one", post)
	}
}

// TestAnswers reads what servers answer, and what they should not.
func TestAnswers(t *testing.T) {
	const one = `{"metric":{"__name__":"m","pod":"a"},"values":[[0.01,"1"],[0.02,"2.5"]]}`
	a := map[string][]string{"0:a": {"10=1", "20=2.5"}}
	long := `"` + strings.Repeat("x", 2<<20) + `"`
	for _, tc := range []struct {
		name, body string
		want       map[string][]string
		warning    string
		err        string
	}{
		{"one series", `{"status":"success","data":{"resultType":"matrix","result":[` + one + `]}}`, a, "", ""},
		{"spaces", strings.ReplaceAll(`{ "status" : "success" , "data" : { "result" : [ `+one+` ] } }`, " ", " \r\n\t"), a, "", ""},
		{"unknown keys", `{"x":[1,{"y":null}],"status":"success","data":{"stats":{"a":[[]]},"result":[{"z":true,` + one[1:] + `]},"traceID":"q"}`, a, "", ""},
		{"values before labels", `{"status":"success","data":{"result":[{"values":[[0.01,"1"]],"metric":{"pod":"b"}}]}}`, map[string][]string{"0:b": {"10=1"}}, "", ""},
		{"escapes", `{"status":"success","data":{"result":[{"metric":{"p\u006fd":"\"\\\/\b\f\n\r\t\u00fc\ud83d\ude00"},"values":[[0.01,"1"]]}]}}`, map[string][]string{"0:\"\\/\b\f\n\r\tü😀": {"10=1"}}, "", ""},
		{"odd numbers", `{"status":"success","data":{"result":[{"metric":{"pod":"a"},"values":[[1e-2,"+Inf"],[0.02,"-Inf"],[0.03,"NaN"],[0.04,"-0"],[1,"-12.5e3"],[2.0004,"0.1234567890123456789"],[3,"9007199254740993"]]}]}}`, map[string][]string{"0:a": {"10=+Inf", "20=-Inf", "30=NaN", "40=-0", "1000=-12500", "2000=0.12345678901234568", "3000=9.007199254740992e+15"}}, "", ""},
		{"histograms", `{"status":"success","data":{"result":[{"metric":{"pod":"a"},"histograms":[[0.01,{"count":"1","buckets":[[0,"1","2","3"]]}]]}]}}`, map[string][]string{}, "metric m: native histograms are left out: cost is computed from float samples; record it as such", ""},
		{"warnings", `{"status":"success","data":{"result":[` + one + `]},"warnings":["store down"]}`, a, "metric m: the server warns: store down", ""},
		{"partial", `{"status":"success","isPartial":true,"data":{"result":[` + one + `]}}`, a, "metric m: the server warns: the answer is partial", ""},
		{"empty", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, map[string][]string{}, "", ""},

		{"null", `{"status":"success","data":null}`, nil, "", "it says success, but has no result"},
		{"no data", `{"status":"success"}`, nil, "", "it says success, but has no result"},
		{"a list", `{"status":"success","data":[]}`, nil, "", "it says success, but has no result"},
		{"no result", `{"status":"success","data":{"resultType":"matrix"}}`, nil, "", "it says success, but has no result"},
		{"no series", `{"status":"success","data":{"resultType":"matrix","result":null}}`, nil, "", "it says success, but has no result"},
		{"status error", `{"status":"error","errorType":"x","error":"bad thing"}`, nil, "", `status "error": bad thing`},
		{"other type", `{"status":"success","data":{"resultType":"vector","result":[]}}`, nil, "", "matrix"},
		{"HTML", html, nil, "", "HTML"},
		{"cut", `{"status":"success","data":{"result":[`, nil, "", "cut off"},
		{"cut in a string", `{"status":"succ`, nil, "", "cut off"},
		{"no quotes", `{"status":"success","data":{"result":[{"metric":{"pod":"a"},"values":[[0.01,1]]}]}}`, nil, "", "malformed JSON"},
		{"no number", `{"status":"success","data":{"result":[{"metric":{"pod":"a"},"values":[["x","1"]]}]}}`, nil, "", "malformed JSON"},
		{"no value", `{"status":"success","data":{"result":[{"metric":{"pod":"a"},"values":[[0.01,"one"]]}]}}`, nil, "", "malformed JSON"},
		{"bad escape", `{"status":"succ\x"}`, nil, "", "malformed JSON"},
		{"half a surrogate pair", `{"status":"\ud83dx"}`, nil, "", "malformed JSON"},
		{"deep", `{"x":` + strings.Repeat("[", 1000), nil, "", "less nesting"},
		{"long", `{"x":` + long + `}`, nil, "", "shorter string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			contentType := "application/json"
			if tc.body == html {
				contentType = "text/html"
			}
			f.handle(rangePath, text(contentType, tc.body))
			sel := selector
			sel.Grid.Step = 10
			sel.End = 100_000
			got, stats, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), sel)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "metric m") {
					t.Errorf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("series (-want +got):\n%s%v", diff, err)
			}
			if warning := strings.Join(stats.Warnings, "|"); warning != tc.warning {
				t.Errorf("got warnings %q, want %q", warning, tc.warning)
			}
		})
	}
}
