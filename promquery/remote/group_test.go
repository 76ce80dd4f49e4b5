package remote_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// equals and excludes are matchers.
func equals(name, value string) promquery.Matcher { return promquery.Matcher{Name: name, Value: value} }

func excludes(name, value string) promquery.Matcher {
	return promquery.Matcher{Name: name, Type: promquery.MatchNotEqual, Value: value}
}

func regex(name, re string) promquery.Matcher {
	return promquery.Matcher{Name: name, Type: promquery.MatchRegexp, Value: re}
}

// TestGroups looks at which selectors are asked for together.
func TestGroups(t *testing.T) {
	sel := func(metric string, atOnce int, matchers ...promquery.Matcher) promquery.Request {
		return promquery.Request{Metric: metric, AtOnce: atOnce, Matchers: matchers, Start: 1, End: hourMs, Grid: promquery.Grid{Step: minuteMs}}
	}
	with := func(s promquery.Request, change func(*promquery.Request)) promquery.Request {
		change(&s)
		return s
	}
	for _, tc := range []struct {
		name string
		sels []promquery.Request
		want []string
	}{
		{"many series", []promquery.Request{sel("a", 1), sel("b", 1), sel("c", 9)}, []string{`{__name__="a"}`, `{__name__="b"}`, `{__name__="c"}`}},
		{"few series", []promquery.Request{sel("a", 9), sel("b", 1), sel("c.d", 9)}, []string{`{__name__=~"a|c\\.d"}`, `{__name__="b"}`}},
		{"two at once", []promquery.Request{sel("a", 2), sel("b", 2), sel("c", 9), sel("d", 2)}, []string{`{__name__=~"a|b"}`, `{__name__="c"}`, `{__name__="d"}`}},
		{"the same twice", []promquery.Request{sel("a", 1, excludes("x", "")), sel("a", 1, excludes("x", ""))}, []string{`{__name__="a",x!=""}`}},
		{
			"values of a label",
			[]promquery.Request{sel("a", 1, equals("r", "cpu")), sel("a", 1, equals("r", "m.m")), sel("a", 9, regex("r", "gpu|x"))},
			[]string{`{__name__="a",r=~"cpu|m\\.m|(?:gpu|x)"}`},
		},
		{
			"values of several metrics",
			[]promquery.Request{sel("a", 9, equals("r", "cpu")), sel("b", 9, equals("r", "mem")), sel("c", 9, equals("s", "mem"))},
			[]string{`{__name__=~"a|b",r=~"cpu|mem"}`, `{__name__="c",s="mem"}`},
		},
		{
			"what is excluded",
			[]promquery.Request{sel("a", 9, excludes("x", "")), sel("a", 9, excludes("x", "y")), sel("b", 9, excludes("x", "y")), sel("b", 9)},
			[]string{`{__name__="a",x!=""}`, `{__name__=~"a|b",x!="y"}`, `{__name__="b"}`},
		},
		{
			"two labels that select",
			[]promquery.Request{sel("a", 9, equals("x", "1"), equals("y", "1")), sel("a", 9, equals("x", "1"), equals("y", "2")), sel("b", 9, equals("x", "1"), equals("y", "1"))},
			[]string{`{__name__=~"a|b",x="1",y="1"}`, `{__name__="a",x="1",y="2"}`},
		},
		{
			"other times and grids",
			[]promquery.Request{
				sel("a", 9), with(sel("b", 9), func(s *promquery.Request) { s.Start++ }), with(sel("c", 9), func(s *promquery.Request) { s.End -= minuteMs }),
				with(sel("d", 9), func(s *promquery.Request) { s.Grid.Step = hourMs }), with(sel("e", 9), func(s *promquery.Request) { s.Grid.Lookback = 7 }),
			},
			[]string{`last_over_time({__name__="e"}[7ms])`, `{__name__="a"}`, `{__name__="b"}`, `{__name__="c"}`, `{__name__="d"}`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle(rangePath, matrix(""))
			if _, _, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), tc.sels...); err != nil {
				t.Fatal(err)
			}
			var asked []string
			for _, r := range f.asked {
				if r.URL.Path == rangePath {
					asked = append(asked, r.FormValue("query"))
				}
			}
			slices.Sort(asked)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// fewOf are selectors of metrics, with and without values of a label, and series of them.
func fewOf(r *rand.Rand, metrics int) (sels []promquery.Request, series []labels.Labels) {
	resources := []string{"cpu", "memory", "gpu/0"}
	for i := range metrics {
		name := fmt.Sprintf("m%d", i)
		sels = append(sels, promquery.Request{Metric: name, Keep: promquery.Labels("namespace", "resource", "pod"), AtOnce: []int{0, 1, 2, 12}[r.IntN(4)]})
		for _, resource := range resources[:r.IntN(3)] {
			sels = append(sels, promquery.Request{Metric: name, Keep: promquery.Labels("pod"), AtOnce: 12, Matchers: []promquery.Matcher{equals("resource", resource)}})
		}
		for k := range r.IntN(20) {
			series = append(series, labels.FromStrings("__name__", name, "resource", resources[r.IntN(3)], "namespace", fmt.Sprintf("n%d", r.IntN(5)), "pod", fmt.Sprintf("p%d", k)))
		}
	}
	return sels, series
}

// TestGroupsInParts has a server, and Config.MaxSamples, refuse all but small answers. Groups are split, and each selector gets
// what it gets by itself from a server that refuses nothing.
func TestGroupsInParts(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, seed))
	for range 8 {
		sels, series := fewOf(r, 1+r.IntN(30))
		hours, step := int64(1+r.IntN(30)), int64(r.IntN(2))*minuteMs
		for i := range sels {
			sels[i].Start, sels[i].End, sels[i].Grid.Step = 1, hours*hourMs, step
		}
		l := &limited{t: t, series: series, limit: 20*61 + r.IntN(50_000), refuse: tooMany}
		got, stats, err := collect(t, l.serve(t, remote.Config{MaxSamples: int64(20*61 + r.IntN(50_000)), MaxConcurrency: 1}), sels...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, all := map[string][]string{}, int64(0)
		free := &limited{t: t, series: series, limit: 1 << 30}
		for i, sel := range sels {
			alone, of, err := collect(t, free.serve(t, remote.Config{}), sel)
			if err != nil {
				t.Fatal(err)
			}
			for key, samples := range alone {
				want[strconv.Itoa(i)+key[1:]] = samples
			}
			all += of.Series
		}
		if diff := cmp.Diff(want, got); diff != "" || stats.Series != all {
			t.Fatalf("seed %d: %d series, want %d; samples (-alone +together):\n%.2000s", seed, stats.Series, all, diff)
		}
	}
}

// TestGroupsNamed sees to it that warnings name what was asked for, and that errors name what could not be answered.
func TestGroupsNamed(t *testing.T) {
	sels := []promquery.Request{{Metric: "a", AtOnce: 12, End: hourMs, Grid: promquery.Grid{Step: minuteMs}}, {Metric: "b", AtOnce: 12, End: hourMs, Grid: promquery.Grid{Step: minuteMs}}}
	f := newFake()
	f.handle(rangePath, text("application/json", `{"status":"success","data":{"result":[]},"warnings":["store down"]}`))
	_, stats, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), sels...)
	if diff := cmp.Diff([]string{"metrics a, b: the server warns: store down"}, stats.Warnings); diff != "" || err != nil {
		t.Errorf("warnings (-want +got):\n%s%v", diff, err)
	}
	for _, tc := range []struct {
		refuse http.HandlerFunc
		want   string
	}{
		{status(400, "text/plain", "parse error"), "metrics a, b: read from http://prometheus.test: /api/v1/query_range was refused: 400 Bad Request: parse error"},
		{tooMany, "read metric a from 1970-01-01T00:00:00Z to 1970-01-01T00:59:00Z: even this is too much for the server"},
	} {
		l := &limited{t: t, series: []labels.Labels{labels.FromStrings("__name__", "a")}, refuse: tc.refuse, limit: 1}
		_, _, err := collect(t, l.serve(t, remote.Config{}), sels...)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("got %v, want %s…", err, tc.want)
		}
	}
}

// TestRequestsOfADay counts what computing a day asks a real Prometheus.
func TestRequestsOfADay(t *testing.T) {
	_, dir := promtest.WriteDemo(t, democluster.New, democluster.Config{End: fixed, Duration: 25 * time.Hour, Nodes: 5, Pods: 60, Seed: 2})
	url := promtest.Start(t, dir, promtest.Config{})
	for mode, most := range map[remote.Mode]int64{remote.ModeQuery: 61, remote.ModeRemoteRead: 15} {
		src, err := remote.New(remote.Config{URL: url, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		for _, resolution := range soak.Of(resolutions[1:2], resolutions) {
			stats := computeDay(t, src, day(), resolution)
			t.Logf("%s, resolution %v: %d requests, %d samples", mode, resolution, stats.Requests, stats.Samples)
			if stats.Requests > most || stats.Samples == 0 {
				t.Errorf("%s, resolution %v: %d requests for %d samples, want at most %d", mode, resolution, stats.Requests, stats.Samples, most)
			}
		}
	}
}
