package remote_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// counting answers how many samples there are of metrics by name: on a grid the number of series, otherwise that of samples in
// five minutes. It answers other questions with an empty result.
func counting(t *testing.T, counts map[string]int) http.HandlerFunc {
	term := regexp.MustCompile(`label_replace\((?:count|sum\(count_over_time)\(\{__name__="([a-z]+)"[^}]*\}(?:\[300000ms\]\))?\),"g","([0-9]+)","g",""\)`)
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.FormValue("query")
		if !estimates(r) {
			if query == "1" {
				newFake().handlers["/api/v1/query"](w, r)
				return
			}
			matrix("")(w, r)
			return
		}
		var list []string
		terms := strings.SplitSeq(query, " or ")
		for text := range terms {
			m := term.FindStringSubmatch(text)
			if m == nil {
				t.Errorf("it does not understand %s", text)
				continue
			}
			if n := counts[m[1]]; n > 0 {
				list = append(list, fmt.Sprintf(`{"metric":{"g":"%s"},"value":[0,"%d"]}`, m[2], n))
			}
		}
		text("application/json", `{"status":"success","data":{"resultType":"vector","result":[`+strings.Join(list, ",")+`]}}`)(w, r)
	}
}

// ofScrapes reports whether a query asks when targets were scraped.
func ofScrapes(query string) bool { return strings.HasPrefix(query, `{__name__="up"}`) }

// TestEstimates looks at what is asked of a server that says how many samples it has: answers are to be of one size.
func TestEstimates(t *testing.T) {
	day := func(step int64, atOnce map[string]int) (sels []promquery.Request) {
		for _, name := range []string{"big", "half", "few", "none", "rest"} {
			sels = append(sels, promquery.Request{Metric: name, AtOnce: max(12, atOnce[name]), Start: 1, End: 24 * hourMs, Grid: promquery.Grid{Step: step}})
		}
		return sels
	}
	for _, tc := range []struct {
		name       string
		step       int64
		minutes    int64 // 0 is a day
		counts     map[string]int
		maxSamples int64
		want       map[string]int // requests by selector
	}{
		{"small ones with small ones", minuteMs, 0, map[string]int{"big": 1000, "half": 500, "few": 10, "rest": 600}, 0, map[string]int{`="big"`: 2, `=~"half|few|none"`: 1, `="rest"`: 1}},
		{"all small", minuteMs, 0, map[string]int{"big": 40, "half": 40, "few": 40, "rest": 40}, 0, map[string]int{`=~"big|half|few|none|rest"`: 1}},
		{"larger than is fair", minuteMs, 0, map[string]int{"big": 10_000, "half": 1000, "few": 100, "rest": 2000}, 0, map[string]int{`="big"`: 16, `="half"`: 2, `=~"few|none"`: 1, `="rest"`: 4}},
		{"hours are too large", minuteMs, 0, map[string]int{"big": 100_000, "half": 20_000}, 0, map[string]int{`="big"`: 24, `="half"`: 24, `=~"few|none|rest"`: 1}},
		{"more than is allowed", minuteMs, 0, map[string]int{"big": 1000, "half": 900}, 100_000, map[string]int{`="big"`: 20, `="half"`: 18, `=~"few|none|rest"`: 1}},
		{"raw", 0, 0, map[string]int{"big": 100_000, "half": 10_000, "few": 8000}, 0, map[string]int{`="big"`: 24, `="half"`: 4, `="few"`: 3, `=~"none|rest"`: 1}},
		{"nothing there", minuteMs, 0, nil, 0, map[string]int{`=~"big|half|few|none|rest"`: 1}},
		{"too short to ask", minuteMs, 59, map[string]int{"big": 1_000_000}, 0, map[string]int{`=~"big|half|few|none|rest"`: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			h := counting(t, tc.counts)
			f.handle(rangePath, h)
			f.handle("/api/v1/query", h)
			sels := day(tc.step, nil)
			for i := range sels {
				if tc.minutes > 0 {
					sels[i].End = tc.minutes * minuteMs
				}
			}
			_, stats, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery, MaxSamples: tc.maxSamples, MaxConcurrency: 1}), sels...)
			if err != nil {
				t.Fatal(err)
			}
			got, all := map[string]int{}, int64(0)
			for _, r := range f.asked {
				query := r.FormValue("query")
				switch {
				case estimates(r), strings.HasPrefix(r.URL.Path, "/api/v1/label/"):
					all++
				case ofScrapes(query):
					all++
				case strings.HasPrefix(query, "{__name__"):
					query, _, _ = strings.Cut(strings.TrimPrefix(query, "{__name__"), "}")
					got[query]++
					all++
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || stats.Requests != all {
				t.Errorf("%d requests, counted as %d (-want +got):\n%s", all, stats.Requests, diff)
			}
		})
	}
}

// TestNoEstimates asks servers that do not say how many samples they have, or answer nonsense: then the selectors decide what is
// asked for at once, first for an hour, and for longer where there was little.
func TestNoEstimates(t *testing.T) {
	for _, tc := range []struct {
		name string
		h    http.HandlerFunc
	}{
		{"refused", status(422, "text/plain", "no")},
		{"failing", status(500, "text/plain", "no")},
		{"busy", status(503, "text/plain", "no")},
		{"not JSON", text("text/plain", "no")},
		{"of another type", text("application/json", `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`)},
		{"odd", text("application/json", `{"status":"success","data":{"result":[{"metric":{"g":"x"},"value":[0,"1"]},{"metric":{"g":"-1"},"value":[0,"1"]},{"metric":{"g":"77"},"value":[0,"1"]},{"metric":{"g":"0"},"value":[0,"NaN"]},{"metric":{"g":"1"},"value":[0,1]},{"metric":{"g":"1"},"value":[0,"-5"]},{"metric":{"g":"1"},"value":[0,"+Inf"]}]}}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			probe := f.handlers["/api/v1/query"]
			f.handle("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
				if estimates(r) {
					tc.h(w, r)
					return
				}
				probe(w, r)
			})
			f.handle(rangePath, matrix(""))
			var sels []promquery.Request
			for _, name := range []string{"a", "b", "c"} {
				sels = append(sels, promquery.Request{Metric: name, AtOnce: 12, Start: 1, End: 24 * hourMs, Grid: promquery.Grid{Step: minuteMs}})
			}
			_, _, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), sels...)
			var asked []string
			for _, r := range f.asked {
				if r.URL.Path == rangePath {
					asked = append(asked, r.FormValue("query")+" "+r.FormValue("start")+" "+r.FormValue("end"))
				}
			}
			want := []string{
				`{__name__=~"a|b|c"} 60.000 3600.000`, `{__name__=~"a|b|c"} 3660.000 17400.000`, `{__name__=~"a|b|c"} 17460.000 51900.000`,
				`{__name__=~"a|b|c"} 51960.000 86400.000`,
			}
			if !slices.Equal(asked, want) || err != nil {
				t.Errorf("asked %q, %v", asked, err)
			}
		})
	}
}
