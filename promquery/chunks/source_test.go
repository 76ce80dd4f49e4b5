package chunks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	tsdbchunks "github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
	"github.com/promcost/promcost/promquery/promtest"
)

// store is a storage.ChunkQueryable that answers every selector with the same series. It can be made to fail.
type store struct {
	storage.LabelQuerier
	series                             []storage.ChunkSeries
	openErr, setErr, chunkErr, closeEr error
	warnings                           annotations.Annotations
	at                                 int
}

func (s *store) ChunkQuerier(int64, int64) (storage.ChunkQuerier, error) { return s, s.openErr }
func (s *store) Close() error                                            { return s.closeEr }
func (s *store) Select(context.Context, bool, *storage.SelectHints, ...*labels.Matcher) storage.ChunkSeriesSet {
	s.at = -1
	return s
}
func (s *store) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *store) At() storage.ChunkSeries           { return s.series[s.at] }
func (s *store) Err() error                        { return s.setErr }
func (s *store) Warnings() annotations.Annotations { return s.warnings }

// failing is a chunk iterator that ends with an error.
type failing struct {
	tsdbchunks.Iterator
	err error
}

func (f failing) Err() error { return f.err }

// add adds a series of chunks.
func (s *store) add(lset []string, metas ...tsdbchunks.Meta) {
	s.series = append(s.series, &storage.ChunkSeriesEntry{
		Lset: labels.FromStrings(lset...),
		ChunkIteratorFn: func(tsdbchunks.Iterator) tsdbchunks.Iterator {
			return failing{storage.NewListChunkSeriesIterator(metas...), s.chunkErr}
		},
	})
}

// meta is a chunk of samples at the given times, each with the time as its value plus plus.
func meta(t testing.TB, enc chunkenc.Encoding, plus float64, times ...int64) tsdbchunks.Meta {
	t.Helper()
	c, err := chunkenc.NewEmptyChunk(enc)
	if err != nil {
		t.Fatal(err)
	}
	app, err := c.Appender()
	if err != nil {
		t.Fatal(err)
	}
	for _, ts := range times {
		app.Append(0, ts, float64(ts)+plus)
	}
	return tsdbchunks.Meta{Chunk: c, MinTime: times[0], MaxTime: times[len(times)-1]}
}

// rawMeta is a chunk of given bytes.
func rawMeta(t testing.TB, enc chunkenc.Encoding, data []byte) tsdbchunks.Meta {
	t.Helper()
	c, err := chunkenc.FromData(enc, data)
	if err != nil {
		t.Fatal(err)
	}
	return tsdbchunks.Meta{Chunk: c, MinTime: 500, MaxTime: 600}
}

func read(t *testing.T, src promquery.Source, sel promquery.Request) ([]string, promquery.Stats, error) {
	t.Helper()
	var got []string
	stats, err := promtest.Select(t.Context(), src, []promquery.Request{sel}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
		var b strings.Builder
		for _, k := range key {
			b.WriteString(k.Value() + " ")
		}
		for ts, v := range p.All() {
			fmt.Fprintf(&b, "%d=%v ", ts, v)
		}
		got = append(got, strings.TrimSpace(b.String()))
		return nil
	})
	return got, stats, err
}

func TestSourceChunks(t *testing.T) {
	xor, xor2 := chunkenc.EncXOR, chunkenc.EncXOR2
	for _, tc := range []struct {
		name  string
		metas []tsdbchunks.Meta
		want  []string
		warns []string
	}{
		{"none", nil, nil, nil},
		{"in order", []tsdbchunks.Meta{meta(t, xor, 0, 10, 20), meta(t, xor2, 0, 30)}, []string{"a 10=10 20=20 30=30"}, nil},
		{"clipped on both sides", []tsdbchunks.Meta{meta(t, xor, 0, 1, 5, 9), meta(t, xor, 0, 95, 101)}, []string{"a 5=5 9=9 95=95"}, nil},
		{"wholly outside", []tsdbchunks.Meta{meta(t, xor, 0, 101, 102), meta(t, xor, 0, 103)}, nil, nil},
		{"overlapping", []tsdbchunks.Meta{meta(t, xor, 0, 10, 30, 50), meta(t, xor2, 0.5, 20, 30, 40)}, []string{"a 10=10 20=20.5 30=30 40=40.5 50=50"}, nil},
		{"one within another", []tsdbchunks.Meta{meta(t, xor, 0, 10, 90), meta(t, xor, 0, 20), meta(t, xor, 0, 30), meta(t, xor, 0, 95)}, []string{"a 10=10 20=20 30=30 90=90 95=95"}, nil},
		{"same chunk twice", []tsdbchunks.Meta{meta(t, xor, 0, 10, 20, 30), meta(t, xor, 0, 10, 20, 30)}, []string{"a 10=10 20=20 30=30"}, nil},
		{"touching", []tsdbchunks.Meta{meta(t, xor, 0, 10, 20), meta(t, xor, 0.5, 20, 30)}, []string{"a 10=10 20=20 30=30.5"}, nil},
		{"histograms", []tsdbchunks.Meta{meta(t, xor, 0, 10), rawMeta(t, chunkenc.EncHistogram, []byte{0, 1, 0}), rawMeta(t, chunkenc.EncFloatHistogram, []byte{0, 1, 0})}, []string{"a 10=10"}, []string{"metric m: 2 chunks of native histograms"}},
		{"malformed", []tsdbchunks.Meta{meta(t, xor, 0, 10), rawMeta(t, xor, []byte{0, 5, 2})}, []string{"a 10=10"}, []string{"metric m: 1 malformed chunk skipped (first: decode XOR chunk: data ends"}},
		{"all malformed", []tsdbchunks.Meta{rawMeta(t, xor, nil), rawMeta(t, xor2, []byte{1})}, nil, []string{"metric m: 2 malformed chunks"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s store
			s.add([]string{"__name__", "m", "pod", "a"}, tc.metas...)
			sel := promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: 5, End: 100}
			got, stats, err := read(t, chunks.New(&s, chunks.Options{}), sel)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("series (-want +got):\n%s%v", diff, err)
			}
			if stats.Series != int64(len(tc.want)) || len(stats.Warnings) != len(tc.warns) {
				t.Fatalf("got %+v, want %d series and warnings %q", stats, len(tc.want), tc.warns)
			}
			for i, want := range tc.warns {
				if !strings.Contains(stats.Warnings[i], want) {
					t.Errorf("warning %q lacks %q", stats.Warnings[i], want)
				}
			}
		})
	}
}

func TestSourceErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name string
		fail func(*store)
		want string
	}{
		{"open", func(s *store) { s.openErr = boom }, "open querier for metric m: boom"},
		{"series", func(s *store) { s.setErr = boom }, "read metric m: boom"},
		{"chunks", func(s *store) { s.chunkErr = boom }, "read chunks of metric m: boom"},
		{"close", func(s *store) { s.closeEr = boom }, "close querier for metric m: boom"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s store
			s.add([]string{"__name__", "m"}, meta(t, chunkenc.EncXOR, 0, 1))
			tc.fail(&s)
			_, _, err := read(t, chunks.New(&s, chunks.Options{}), promquery.Request{Metric: "m", End: 10})
			if !errors.Is(err, boom) || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestSourceWarningsAreSorted(t *testing.T) {
	var s store
	for _, w := range []string{"c", "a", "b"} {
		s.warnings.Add(errors.New(w))
	}
	_, stats, err := read(t, chunks.New(&s, chunks.Options{}), promquery.Request{Metric: "m", End: 10})
	if diff := cmp.Diff([]string{"a", "b", "c"}, stats.Warnings); diff != "" || err != nil {
		t.Errorf("warnings (-want +got):\n%s%v", diff, err)
	}
}

func TestUnknownMatchType(t *testing.T) {
	sel := promquery.Request{Metric: "m", Matchers: []promquery.Matcher{{Name: "a", Type: 9}}}
	if _, _, err := read(t, chunks.New(&store{}, chunks.Options{}), sel); err == nil || !strings.Contains(err.Error(), "unknown match type 9") {
		t.Errorf("got %v", err)
	}
}

// TestStretches sees to it that a long series comes in pieces that join without loss.
func TestStretches(t *testing.T) {
	var s store
	var metas []tsdbchunks.Meta
	const perChunk, n = 120, 3000
	for i := range int64(n) {
		times := make([]int64, perChunk)
		for k := range times {
			times[k] = (i*perChunk + int64(k)) * 10
		}
		metas = append(metas, meta(t, chunkenc.EncXOR, 0, times...))
	}
	s.add([]string{"__name__", "m"}, metas...)
	calls, next := 0, int64(0)
	stats, err := promtest.Select(t.Context(), chunks.New(&s, chunks.Options{}), []promquery.Request{{Metric: "m", End: 1 << 40}}, func(_ int, _ []promquery.Symbol, p *timeline.Points) error {
		calls++
		for ts := range p.All() {
			if ts != next {
				t.Fatalf("got a sample at %d, want %d", ts, next)
			}
			next += 10
		}
		return nil
	})
	if err != nil || calls < 2 || next != n*perChunk*10 || stats.Series != 1 || stats.Samples != n*perChunk {
		t.Errorf("got %d calls up to %d, %+v, %v", calls, next, stats, err)
	}
}

func TestKeys(t *testing.T) {
	series := [][2]string{{"__name__", "m"}, {"cluster", "eu"}, {"pod", "a"}, {"zone", "z1"}}
	for _, tc := range []struct {
		name     string
		external map[string]string
		keep     []string
		labels   [][2]string
		want     []string
	}{
		{"kept", nil, []string{"zone", "pod"}, series, []string{"z1", "a"}},
		{"absent", nil, []string{"node", "pod"}, series, []string{"", "a"}},
		{"twice", nil, []string{"pod", "pod"}, series, []string{"a", "a"}},
		{"the name too", nil, []string{"__name__"}, series, []string{"m"}},
		{"none", nil, []string{}, series, nil},
		{"all", nil, nil, series, []string{"cluster", "eu", "pod", "a", "zone", "z1"}},
		{"all, unsorted", nil, nil, [][2]string{{"zone", "z1"}, {"__name__", "m"}, {"pod", "a"}}, []string{"pod", "a", "zone", "z1"}},
		{"all, an empty one", nil, nil, [][2]string{{"pod", "a"}, {"zone", ""}}, []string{"pod", "a"}},
		{"external", map[string]string{"cluster": "eu"}, []string{"cluster", "pod"}, series, []string{"", "a"}},
		{"external of another value", map[string]string{"cluster": "us"}, []string{"cluster", "pod"}, series, []string{"eu", "a"}},
		{"external, all", map[string]string{"cluster": "eu", "zone": "z1"}, nil, series, []string{"pod", "a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			keys := chunks.NewKeys(tc.external, chunks.NewSymbols(signals.NewSymbols()))
			for range 2 { // a key does not depend on the one before
				var keep []promquery.Label
				if tc.keep != nil {
					keep = promquery.Labels(tc.keep...)
				}
				keys.Begin(&promquery.Request{Keep: keep})
				for _, l := range tc.labels {
					keys.Label(l[0], l[1])
				}
				var got []string
				for _, s := range keys.Key() {
					got = append(got, s.Value())
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("key (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestKeysOf leaves out of keys what a selector allows.
func TestKeysOf(t *testing.T) {
	const uid, dashed = "0f2d3c1a_b111_4c22_8d33_000000000001", "0f2d3c1a-b111-4c22-8d33-000000000001"
	series := [][2]string{{"id", "/kubepods-pod" + uid + ".slice/a"}, {"name", "k8s_a"}, {"pod", "a"}}
	type label = promquery.Label
	pod := label{Name: "pod"}
	for _, tc := range []struct {
		name string
		keep []label
		want []string
		id   string
	}{
		{"nothing", promquery.Labels("pod", "id", "name"), []string{"a", series[0][1], "k8s_a"}, ""},
		{"what distinguishes series", []label{pod, {Name: "id"}, {Name: "name", Series: true}}, []string{"a", series[0][1], ""}, "k8s_a"},
		{"cgroup", []label{pod, {Name: "id", PodUID: true}, {Name: "name"}}, []string{"a", dashed, "k8s_a"}, ""},
		{"both", []label{pod, {Name: "id", PodUID: true, Series: true}, {Name: "name"}}, []string{"a", dashed, "k8s_a"}, series[0][1]},
		{"a cgroup of no pod", []label{{Name: "pod", PodUID: true}, {Name: "id"}, {Name: "name"}}, []string{"", series[0][1], "k8s_a"}, ""},
		{"a label that is missing", []label{pod, {Name: "id"}, {Name: "no", PodUID: true, Series: true}}, []string{"a", series[0][1], ""}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			keys := chunks.NewKeys(nil, chunks.NewSymbols(signals.NewSymbols()))
			for range 2 {
				keys.Begin(&promquery.Request{Keep: tc.keep})
				for _, l := range series {
					keys.Label(l[0], l[1])
				}
				var got []string
				for _, s := range keys.Key() {
					got = append(got, s.Value())
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || keys.Series() != timeline.SeriesID(tc.id) {
					t.Errorf("series %d, key (-want +got):\n%s", keys.Series(), diff)
				}
			}
		})
	}
}

// TestKeysFollow builds the keys of series that come in several orders, and of readers that share symbols.
func TestKeysFollow(t *testing.T) {
	r, table := rand.New(rand.NewPCG(1, 1)), signals.NewSymbols()
	symbols := chunks.NewSymbols(table)
	readers := []*chunks.Keys{chunks.NewKeys(nil, symbols), chunks.NewKeys(nil, symbols)}
	orders := [][]int{r.Perm(6000), r.Perm(6000), r.Perm(6000)}
	for round := range 9 {
		for n, i := range orders[round%len(orders)] {
			pod, node := fmt.Sprint("pod-", i), fmt.Sprint("node-", i%7)
			keys := readers[(n/5)%2]
			keys.Begin(&promquery.Request{Keep: promquery.Labels("node", "pod")})
			keys.Label("node", node)
			keys.Label("pod", pod)
			if got := keys.Key(); got[0] != table.Of(node) || got[1] != table.Of(pod) {
				t.Fatalf("round %d: got %q and %q, want %q and %q", round, got[0].Value(), got[1].Value(), node, pod)
			}
		}
	}
}

// TestKeysDoNotRetain changes the buffer that a label was a view of.
func TestKeysDoNotRetain(t *testing.T) {
	table := signals.NewSymbols()
	keys := chunks.NewKeys(nil, chunks.NewSymbols(table))
	value, keep := []byte("value"), &promquery.Request{Keep: promquery.Labels("l")}
	keys.Begin(keep)
	keys.Label("l", unsafe.String(&value[0], len(value)))
	sym := slices.Clone(keys.Key())
	copy(value, "other")
	allocs := testing.AllocsPerRun(100, func() {
		keys.Begin(keep)
		keys.Label("l", "value")
		keys.Key()
	})
	if sym[0] != table.Of("value") || allocs != 0 {
		t.Errorf("got symbol %q and %v allocations for a known value", sym[0].Value(), allocs)
	}
}

// BenchmarkKeys builds keys of four labels out of ten.
func BenchmarkKeys(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var sets []labels.Labels
	for i := range 1000 {
		sets = append(sets, labels.FromStrings("__name__", "m", "container", "main", "endpoint", "https", "id", fmt.Sprint("/kubepods/", i), "image", "registry/x", "instance", "10.0.0.1:10250",
			"job", "kubelet", "namespace", fmt.Sprint("ns-", r.IntN(10)), "node", fmt.Sprint("n", r.IntN(50)), "pod", fmt.Sprint("pod-", i)))
	}
	keys, keep := chunks.NewKeys(nil, chunks.NewSymbols(signals.NewSymbols())), &promquery.Request{Keep: promquery.Labels("namespace", "pod", "container", "node")}
	b.ReportAllocs()
	for b.Loop() {
		for _, set := range sets {
			keys.Begin(keep)
			set.Range(func(l labels.Label) { keys.Label(l.Name, l.Value) })
			keys.Key()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/series")
}
