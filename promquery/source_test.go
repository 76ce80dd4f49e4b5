package promquery_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/thanos-io/objstore/providers/filesystem"
	"google.golang.org/grpc"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/chunks"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
	"github.com/promcost/promcost/promquery/thanos"
	"github.com/promcost/promcost/promquery/victoria"
)

const (
	minute = int64(60_000)
	hour   = 60 * minute
	// begin is the start of the fixture, on a border of blocks: 2026-01-05T00:00:00Z.
	begin = int64(1_767_571_200_000)
	end   = begin + 6*hour
)

// fixture is what every source must answer from.
func fixture() []promtest.Series {
	requests := func(ns, pod string) []string {
		return []string{"__name__", "requests", "namespace", ns, "pod", pod, "container", "c", "cluster", "stored", "job", "state", "instance", "a:80"}
	}
	usage := []string{"__name__", "usage", "namespace", "shop", "pod", "web-0", "container", "c"}
	constant := func(int64) float64 { return 0.25 }
	ends := promtest.Regular(begin, begin+hour, minute, constant)
	return []promtest.Series{
		{Labels: requests("shop", "web-0"), Samples: promtest.Regular(begin, end, minute, constant)},
		{Labels: requests("shop", "web-1"), Samples: append(ends, promtest.Stale(begin+hour+minute))},
		{Labels: requests("pay", "api \"quoted\\ü\nline"), Samples: promtest.Regular(begin+90*minute, end, minute, constant)},
		{Labels: []string{"__name__", "up", "job", "state", "instance", "a:80"}, Samples: promtest.Regular(begin, end, minute, func(int64) float64 { return 1 })},
		{Labels: usage, Samples: promtest.Regular(begin+7, end, 30_000, func(t int64) float64 { return math.Sqrt(float64(t - begin)) })},
		{Labels: []string{"__name__", "info", "node", "n1"}, Samples: promtest.Regular(begin, end, minute, func(int64) float64 { return 1 })},
		{Labels: []string{"__name__", "info", "node", "n2", "arch", "arm64"}, Samples: promtest.Regular(begin, end, minute, func(int64) float64 { return 1 })},
	}
}

// opened is a source under test.
type opened struct {
	promquery.Source
	sampled bool // gives no raw samples if a Step is asked for
	markers bool // shows staleness markers
	rounds  bool // keeps 12 digits of values, as VictoriaMetrics does
}

// word is a sample as the source keeps it.
func (o opened) word(t int64, v float64) string {
	if o.rounds && !timeline.IsStale(v) {
		return fmt.Sprintf("%d=%.9g", t-begin, v)
	}
	return word(t, v)
}

// sources are all there are. Each is opened over a directory of blocks.
var sources = []struct {
	name string
	open func(t *testing.T, dir string) opened
}{
	{"chunks over a TSDB", func(t *testing.T, dir string) opened {
		opts := tsdb.DefaultOptions()
		opts.RetentionDuration = math.MaxInt64 / int64(time.Millisecond)
		db, err := tsdb.Open(dir, nil, nil, opts, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return opened{chunks.New(db, chunks.Options{}), false, true, false}
	}},
	{"blocks", func(t *testing.T, dir string) opened {
		db, err := blocks.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return opened{db, false, true, false}
	}},
	{"remote read", func(t *testing.T, dir string) opened {
		return opened{openRemote(t, dir, remote.ModeRemoteRead), false, true, false}
	}},
	{"query API", func(t *testing.T, dir string) opened {
		return opened{openRemote(t, dir, remote.ModeQuery), true, true, false} // it puts the markers back
	}},
	{"VictoriaMetrics", func(t *testing.T, dir string) opened {
		server, err := remote.New(remote.Config{URL: promtest.StartVictoria(t, dir, true)})
		if err != nil {
			t.Fatal(err)
		}
		return opened{victoria.New(victoria.Config{Server: server}), false, true, true}
	}},
	{"Thanos", func(t *testing.T, dir string) opened {
		opts := tsdb.DefaultOptions()
		opts.RetentionDuration = math.MaxInt64 / int64(time.Millisecond)
		db, err := tsdb.Open(dir, nil, nil, opts, nil)
		if err != nil {
			t.Fatal(err)
		}
		src, err := thanos.New(thanos.Config{Stores: []string{promtest.ServeStore(t, func(q promtest.StoreQuestion, stream grpc.ServerStream) error {
			return promtest.SendSeries(stream, q, promtest.StoreAnswer(t, db, q))
		})}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(src.Close(), db.Close()); err != nil {
				t.Error(err)
			}
		})
		return opened{src, false, true, false}
	}},
	{"bucket", func(t *testing.T, dir string) opened {
		store, err := filesystem.NewBucket(dir)
		if err != nil {
			t.Fatal(err)
		}
		return opened{bucket.New(bucket.Config{Bucket: store}), false, true, false}
	}},
}

// openRemote starts a real Prometheus with external labels, one of which no series must show.
func openRemote(t *testing.T, dir string, mode remote.Mode) promquery.Source {
	t.Helper()
	url := promtest.Start(t, dir, promtest.Config{External: map[string]string{"cluster": "external", "replica": "a"}})
	src, err := remote.New(remote.Config{URL: url, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// series is one answered series: its key joined with "|", and its samples.
type series struct {
	Key     string
	Samples []string
}

// ask selects and joins the stretches of each series. Keys must be of the symbols that the source was given.
func ask(t *testing.T, src promquery.Source, sels ...promquery.Request) (bySelector [][]series, stats promquery.Stats) {
	t.Helper()
	type id struct {
		i   int
		key string
	}
	samples := map[id][]string{}
	last := map[id]int64{}
	write := word
	if o, ok := src.(opened); ok {
		write = o.word
	}
	symbols := signals.NewSymbols()
	stats, err := promtest.Select(promquery.WithSymbols(t.Context(), symbols), src, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		var parts []string
		for _, s := range key {
			if s != symbols.Of(s.Value()) {
				t.Errorf("the symbol of %q is of another computation", s.Value())
			}
			parts = append(parts, s.Value())
		}
		k := id{i, strings.Join(parts, "|")}
		if p.Len() == 0 {
			t.Errorf("series %v was yielded without samples", k)
		}
		for ts, v := range p.All() {
			if prev, ok := last[k]; ok && ts <= prev {
				t.Errorf("series %v: sample at %d follows one at %d", k, ts, prev)
			}
			last[k] = ts
			samples[k] = append(samples[k], write(ts, v))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("Select: %v", err)
	}
	checkSent(t, &stats, len(sels))
	bySelector = make([][]series, len(sels))
	for k, s := range samples {
		bySelector[k.i] = append(bySelector[k.i], series{k.key, s})
	}
	for _, list := range bySelector {
		slices.SortFunc(list, func(a, b series) int { return strings.Compare(a.Key, b.Key) })
	}
	return bySelector, stats
}

// word writes a sample with its time relative to begin.
func word(t int64, v float64) string {
	if timeline.IsStale(v) {
		return fmt.Sprintf("%d=stale", t-begin)
	}
	return fmt.Sprintf("%d=%v", t-begin, v)
}

// want returns the fixture's series of a metric with their samples in [start, end], by the key that keep names.
func want(src opened, metric string, start, end int64, keep []promquery.Label, match func(labels map[string]string) bool) []series {
	var list []series
	for _, s := range fixture() {
		lset := map[string]string{}
		for i := 0; i < len(s.Labels); i += 2 {
			lset[s.Labels[i]] = s.Labels[i+1]
		}
		if lset["__name__"] != metric || !match(lset) {
			continue
		}
		var parts []string
		for _, l := range keep {
			parts = append(parts, lset[l.Name])
		}
		out := series{Key: strings.Join(parts, "|")}
		for _, p := range s.Samples {
			if start <= p.T && p.T <= end && (src.markers || !timeline.IsStale(p.V)) {
				out.Samples = append(out.Samples, src.word(p.T, p.V))
			}
		}
		if len(out.Samples) > 0 {
			list = append(list, out)
		}
	}
	slices.SortFunc(list, func(a, b series) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func anything(map[string]string) bool { return true }

// rawCases are behaviors of selectors without a Step, the same for every source.
var rawCases = []struct {
	name     string
	metric   string
	matchers []promquery.Matcher
	keep     []string
	from, to int64 // relative to begin
	match    func(l map[string]string) bool
}{
	{name: "whole range", metric: "requests", keep: []string{"namespace", "pod"}, to: 6 * hour, match: anything},
	{name: "keys in the selector's order", metric: "requests", keep: []string{"pod", "namespace", "container"}, to: hour, match: anything},
	{name: "label that is absent", metric: "info", keep: []string{"arch", "node", "zone"}, to: hour, match: anything},
	{name: "stored label beside an external one", metric: "requests", keep: []string{"pod", "cluster", "replica"}, to: hour, match: anything},
	{name: "both bounds inclusive", metric: "requests", keep: []string{"pod"}, from: 10 * minute, to: 12 * minute, match: anything},
	{name: "bounds inside chunks", metric: "usage", keep: []string{"pod"}, from: 61*minute + 8, to: 3*hour + 7, match: anything},
	{name: "one instant", metric: "usage", keep: []string{"pod"}, from: 30_007, to: 30_007, match: anything},
	{name: "between two samples", metric: "usage", keep: []string{"pod"}, from: 8, to: 30_006, match: anything},
	{name: "equal", metric: "requests", matchers: []promquery.Matcher{{Name: "pod", Type: promquery.MatchEqual, Value: "web-0"}}, keep: []string{"pod"}, to: hour, match: func(l map[string]string) bool { return l["pod"] == "web-0" }},
	{name: "equal to an odd value", metric: "requests", matchers: []promquery.Matcher{{Name: "pod", Type: promquery.MatchEqual, Value: "api \"quoted\\ü\nline"}}, keep: []string{"pod"}, to: 2 * hour, match: func(l map[string]string) bool { return l["namespace"] == "pay" }},
	{name: "not equal", metric: "requests", matchers: []promquery.Matcher{{Name: "pod", Type: promquery.MatchNotEqual, Value: "web-0"}}, keep: []string{"pod"}, to: hour, match: func(l map[string]string) bool { return l["pod"] != "web-0" }},
	{name: "not empty", metric: "info", matchers: []promquery.Matcher{{Name: "arch", Type: promquery.MatchNotEqual, Value: ""}}, keep: []string{"node"}, to: hour, match: func(l map[string]string) bool { return l["arch"] != "" }},
	{name: "empty", metric: "info", matchers: []promquery.Matcher{{Name: "arch", Type: promquery.MatchEqual, Value: ""}}, keep: []string{"node"}, to: hour, match: func(l map[string]string) bool { return l["arch"] == "" }},
	{name: "regular expression is anchored", metric: "requests", matchers: []promquery.Matcher{{Name: "pod", Type: promquery.MatchRegexp, Value: "web-.|eb-0"}}, keep: []string{"pod"}, to: hour, match: func(l map[string]string) bool { return l["namespace"] == "shop" }},
	{name: "negated regular expression", metric: "requests", matchers: []promquery.Matcher{{Name: "pod", Type: promquery.MatchNotRegexp, Value: `web-\d+`}}, keep: []string{"pod"}, to: 2 * hour, match: func(l map[string]string) bool { return l["namespace"] == "pay" }},
	{name: "two matchers", metric: "requests", matchers: []promquery.Matcher{{Name: "namespace", Type: promquery.MatchEqual, Value: "shop"}, {Name: "pod", Type: promquery.MatchNotEqual, Value: "web-0"}}, keep: []string{"pod"}, to: hour, match: func(l map[string]string) bool { return l["pod"] == "web-1" }},
	{name: "absent metric", metric: "nothing", keep: []string{"pod"}, to: hour, match: anything},
	{name: "range without samples", metric: "requests", keep: []string{"pod"}, from: -3 * hour, to: -2 * hour, match: anything},
}

// TestSource is the contract of promquery.Source, held by every implementation.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, fixture()...)
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			src := s.open(t, dir)
			t.Run("raw", func(t *testing.T) { testRaw(t, src) })
			t.Run("keep nil", func(t *testing.T) { testKeepNil(t, src) })
			t.Run("several selectors", func(t *testing.T) { testSeveral(t, src) })
			t.Run("few series", func(t *testing.T) { testFew(t, src) })
			t.Run("no selector", func(t *testing.T) { ask(t, src) })
			t.Run("step", func(t *testing.T) { testStep(t, src) })
			t.Run("error of yield", func(t *testing.T) { testYieldError(t, src) })
			t.Run("cancellation", func(t *testing.T) { testCancel(t, src) })
			t.Run("bad regular expression", func(t *testing.T) { testBadRegexp(t, src) })
		})
	}
}

func testRaw(t *testing.T, src opened) {
	for _, tc := range rawCases {
		t.Run(tc.name, func(t *testing.T) {
			sel := promquery.Request{Metric: tc.metric, Matchers: tc.matchers, Keep: promquery.Labels(tc.keep...), Start: begin + tc.from, End: begin + tc.to}
			got, stats := ask(t, src, sel)
			expected := want(src, tc.metric, sel.Start, sel.End, sel.Keep, tc.match)
			if diff := cmp.Diff(expected, got[0]); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			samples := 0
			for _, s := range expected {
				samples += len(s.Samples)
			}
			if stats.Samples != int64(samples) || stats.Series != int64(len(expected)) || !stats.Whole() {
				t.Errorf("got stats %+v, want %d samples of %d series", stats, samples, len(expected))
			}
			if samples > 0 && (stats.Requests == 0 || stats.Bytes == 0) {
				t.Errorf("stats %+v lack requests or bytes", stats)
			}
		})
	}
}

func testKeepNil(t *testing.T, src opened) {
	got, _ := ask(t, src, promquery.Request{Metric: "info", Start: begin, End: begin})
	expected := [][]series{{{"arch|arm64|node|n2", []string{"0=1"}}, {"node|n1", []string{"0=1"}}}}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	got, _ = ask(t, src, promquery.Request{Metric: "info", Keep: promquery.Labels(), Start: begin, End: begin, Matchers: []promquery.Matcher{{Name: "node", Value: "n1"}}})
	if diff := cmp.Diff([][]series{{{"", []string{"0=1"}}}}, got); diff != "" {
		t.Errorf("keeping no label (-want +got):\n%s", diff)
	}
}

func testSeveral(t *testing.T, src opened) {
	sels := []promquery.Request{
		{Metric: "usage", Keep: promquery.Labels("pod"), Start: begin, End: begin + hour},
		{Metric: "nothing", Keep: promquery.Labels("pod"), Start: begin, End: begin + hour},
		{Metric: "requests", Keep: promquery.Labels("namespace", "pod"), Start: begin + hour, End: end},
		{Metric: "usage", Keep: promquery.Labels("container"), Start: begin + 4*hour, End: end},
	}
	got, _ := ask(t, src, sels...)
	for i, sel := range sels {
		if diff := cmp.Diff(want(src, sel.Metric, sel.Start, sel.End, sel.Keep, anything), got[i]); diff != "" {
			t.Errorf("selector %d (-want +got):\n%s", i, diff)
		}
	}
}

// testFew asks for selectors that may be asked for at once. Each gets what it would get by itself.
func testFew(t *testing.T, src opened) {
	shop := []promquery.Matcher{{Name: "namespace", Value: "shop"}}
	pay := []promquery.Matcher{{Name: "namespace", Type: promquery.MatchRegexp, Value: "p.y"}}
	first := []promquery.Matcher{{Name: "namespace", Value: "shop"}, {Name: "pod", Type: promquery.MatchNotEqual, Value: "web-1"}}
	sels := []promquery.Request{
		{Metric: "usage", Keep: promquery.Labels("pod"), AtOnce: 12},
		{Metric: "nothing", Keep: promquery.Labels("pod"), AtOnce: 12},
		{Metric: "info", Keep: promquery.Labels("node", "arch"), AtOnce: 12},
		{Metric: "info", Keep: promquery.Labels("arch"), AtOnce: 12, Matchers: []promquery.Matcher{{Name: "arch", Value: "arm64"}}},
		{Metric: "info", Keep: promquery.Labels("node"), AtOnce: 12, Matchers: []promquery.Matcher{{Name: "arch", Value: ""}}},
		{Metric: "requests", Keep: promquery.Labels("pod"), Matchers: shop},
		{Metric: "requests", Keep: promquery.Labels("namespace", "pod"), Matchers: pay},
		{Metric: "requests", Keep: promquery.Labels("namespace"), Matchers: pay},
		{Metric: "requests", Keep: promquery.Labels("pod"), AtOnce: 12, Matchers: first},
		{Metric: "usage", Keep: promquery.Labels("container"), AtOnce: 12, Matchers: first},
		{Metric: "usage", AtOnce: 12, Matchers: shop},
	}
	for _, step := range []int64{0, minute} {
		for i := range sels {
			sels[i].Start, sels[i].End, sels[i].Grid.Step = begin, begin+3*hour, step
		}
		got, stats := ask(t, src, sels...)
		var series, samples int64
		for i, sel := range sels {
			alone, of := ask(t, src, sel)
			if diff := cmp.Diff(alone[0], got[i]); diff != "" {
				t.Errorf("selector %d (-alone +together):\n%s", i, diff)
			}
			series, samples = series+of.Series, samples+of.Samples
		}
		if stats.Series != series || stats.Samples != samples || samples == 0 {
			t.Errorf("got stats %+v, want %d series and %d samples", stats, series, samples)
		}
	}
}

// testStep asks on a grid: a source that samples must hit it exactly, end first, and say so.
func testStep(t *testing.T, src opened) {
	sel := promquery.Request{Metric: "requests", Keep: promquery.Labels("pod"), Matchers: []promquery.Matcher{{Name: "pod", Value: "web-1"}}, Start: begin + 50*minute + 1, End: begin + 70*minute, Grid: promquery.Grid{Step: 3 * minute}}
	var times []int64
	_, err := promtest.Select(t.Context(), src, []promquery.Request{sel}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
		if p.Sampled() != src.sampled {
			t.Errorf("Sampled() = %t, want %t", p.Sampled(), src.sampled)
		}
		for ts := range p.All() {
			times = append(times, (ts-begin)/minute)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expected := []int64{52, 55, 58} // 70 - 3k, until the series ends at 61
	if !src.sampled {
		expected = []int64{51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61}
	}
	if diff := cmp.Diff(expected, times); diff != "" {
		t.Errorf("minutes (-want +got):\n%s", diff)
	}
}

func testYieldError(t *testing.T, src opened) {
	boom := errors.New("boom")
	calls := 0
	sel := promquery.Request{Metric: "requests", Keep: promquery.Labels("pod"), Start: begin, End: end}
	_, err := promtest.Select(t.Context(), src, []promquery.Request{sel, sel}, func(int, []promquery.Symbol, *timeline.Points) error {
		calls++
		return boom
	})
	if err != boom || calls != 1 { //nolint:errorlint // the contract says that it is returned unwrapped
		t.Errorf("got %v after %d calls, want the error itself after one", err, calls)
	}
}

// TestSymbolsOfSessions asks a session of blocks for two computations in turn: each gets symbols of its own.
func TestSymbolsOfSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, fixture()...)
	db, err := blocks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	session, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sel := promquery.Request{Metric: "requests", Keep: promquery.Labels("namespace", "pod"), Start: begin, End: end}
	first, _ := ask(t, session, sel)
	second, _ := ask(t, session, sel)
	if diff := cmp.Diff(first, second); diff != "" || len(first[0]) != 3 {
		t.Errorf("%d series, then (-first +second):\n%s", len(first[0]), diff)
	}
}

func testCancel(t *testing.T, src opened) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sel := promquery.Request{Metric: "requests", Keep: promquery.Labels("pod"), Start: begin, End: end}
	_, err := promtest.Select(ctx, src, []promquery.Request{sel}, func(int, []promquery.Symbol, *timeline.Points) error {
		t.Error("yield was called")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func testBadRegexp(t *testing.T, src opened) {
	sel := promquery.Request{Metric: "requests", Matchers: []promquery.Matcher{{Name: "pod", Type: promquery.MatchRegexp, Value: "("}}, Start: begin, End: end}
	_, err := promtest.Select(t.Context(), src, []promquery.Request{sel}, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "label pod of metric requests") {
		t.Errorf("got %v, want an error that names label and metric", err)
	}
}
