package blocks_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/chunks"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// randomSeries are series with labels that come and go, values that stay and move, gaps, markers.
func randomSeries(rng *rand.Rand, start int64) (series []promtest.Series) {
	seen := map[string]bool{}
	for range 60 {
		labels := []string{"__name__", fmt.Sprintf("m%d", rng.IntN(4))}
		for _, name := range []string{"Upper", "a", "node", "pod", "zone"} {
			if rng.IntN(3) > 0 {
				labels = append(labels, name, fmt.Sprintf("%c%d", "Avvv"[rng.IntN(4)], rng.IntN(6)))
			}
		}
		id := strings.Join(labels, "|")
		if seen[id] {
			continue
		}
		seen[id] = true
		from := start + rng.Int64N(4*3600_000)
		to := from + rng.Int64N(6*3600_000)
		v, move := rng.Float64(), rng.IntN(2) == 0
		samples := promtest.Regular(from, to, 30_000, func(int64) float64 {
			if move {
				v += rng.Float64()
			}
			return v
		})
		samples = slices.DeleteFunc(samples, func(promtest.Sample) bool { return rng.IntN(50) == 0 })
		if len(samples) > 0 && rng.IntN(2) == 0 {
			samples = append(samples, promtest.Stale(to+30_000))
		}
		if len(samples) > 0 {
			series = append(series, promtest.Series{Labels: labels, Samples: samples})
		}
	}
	long := []string{"__name__", "m0"} // symbols after these have numbers of two bytes
	for i := range 70 {
		long = append(long, fmt.Sprintf("b%d", i+10), fmt.Sprintf("c%d", i))
	}
	return append(series, promtest.Series{Labels: long, Samples: promtest.Regular(start, start+10*3600_000, 600_000, func(int64) float64 { return 1 })})
}

// randomRequest asks for anything.
func randomRequest(rng *rand.Rand, start int64) promquery.Request {
	sel := promquery.Request{Metric: fmt.Sprintf("m%d", rng.IntN(5)), Start: start + rng.Int64N(6*3600_000)}
	sel.End = sel.Start + rng.Int64N(6*3600_000)
	names := []string{"Upper", "a", "node", "pod", "zone", "absent"}
	if rng.IntN(3) > 0 {
		sel.Keep = []promquery.Label{}
		for range rng.IntN(4) {
			sel.Keep = append(sel.Keep, promquery.Label{Name: names[rng.IntN(len(names))]})
		}
	}
	for range rng.IntN(4) {
		m := promquery.Matcher{Name: names[rng.IntN(len(names))], Type: promquery.MatchType(rng.IntN(4)), Value: fmt.Sprintf("v%d", rng.IntN(7))}
		switch {
		case rng.IntN(3) == 0:
			m.Value = ""
		case m.Type == promquery.MatchRegexp || m.Type == promquery.MatchNotRegexp:
			m.Value = []string{"v[0-3]", "v.", ".*", "v1|v2|", "V.*"}[rng.IntN(5)]
		}
		sel.Matchers = append(sel.Matchers, m)
	}
	return sel
}

// answers are the series of a selection with all their samples, sorted.
func answers(t *testing.T, src promquery.Source, rs []promquery.Request) []string {
	t.Helper()
	var out []string
	stats, err := promtest.Select(t.Context(), src, rs, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		var b strings.Builder
		fmt.Fprint(&b, i)
		for _, s := range key {
			fmt.Fprintf(&b, "|%s", s.Value())
		}
		for at, v := range p.All() {
			fmt.Fprintf(&b, " %d:%x", at, math.Float64bits(v))
		}
		out = append(out, b.String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !stats.Whole() {
		t.Errorf("warnings: %q", stats.Warnings)
	}
	slices.Sort(out)
	return append(out, fmt.Sprint(stats.Series, stats.Samples))
}

// TestReadAgainstPrometheus compares both readers with Prometheus' querier on random blocks and selections.
func TestReadAgainstPrometheus(t *testing.T) {
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	for name, write := range map[string]func(t *testing.T, dir string, rng *rand.Rand, series []promtest.Series){
		"blocks that follow each other": func(t *testing.T, dir string, _ *rand.Rand, series []promtest.Series) {
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
		},
		"overlapping blocks": func(t *testing.T, dir string, rng *rand.Rand, series []promtest.Series) {
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			promtest.WriteBlocks(t, dir, 3*time.Hour, contradicted(rng, series)...)
		},
		"overlapping blocks, and deleted samples": func(t *testing.T, dir string, rng *rand.Rand, series []promtest.Series) {
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			for i, block := range promtest.WriteBlocks(t, dir, 3*time.Hour, contradicted(rng, series)...) {
				if i%2 == 0 {
					deleteSamples(t, block, start, start+rng.Int64N(10*hour))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const seed = 3
			rng := rand.New(rand.NewPCG(seed, 0))
			found := 0
			for range soak.Of(2, 8) {
				dir := t.TempDir()
				write(t, dir, rng, randomSeries(rng, start))
				dbs, want := readers(t, dir), openMerged(t, dir)
				for range 60 {
					found += sameAsPrometheus(t, dbs, want, randomRequest(rng, start), randomRequest(rng, start))
				}
			}
			if found < 300 {
				t.Errorf("only %d series were compared", found)
			}
		})
	}
}

// contradicted are most of the series with each third sample, whose values are others. Each is followed by a sample of its own, so that no two
// chunks begin and end at the same times: of such chunks, Prometheus' choice depends on which other series are read.
func contradicted(rng *rand.Rand, series []promtest.Series) (list []promtest.Series) {
	for _, s := range series {
		var some []promtest.Sample
		for i := 1; i < len(s.Samples); i += 3 {
			v := s.Samples[i].V + rng.Float64()
			some = append(some, promtest.Sample{T: s.Samples[i].T, V: v}, promtest.Sample{T: s.Samples[i].T + 1, V: v})
		}
		if len(some) > 0 && rng.IntN(5) > 0 {
			list = append(list, promtest.Series{Labels: s.Labels, Samples: some})
		}
	}
	return list
}

// TestDamagedFiles flips bytes of index and chunk files: reading them is an error or what it was, never a panic.
func TestDamagedFiles(t *testing.T) {
	const seed = 9
	rng := rand.New(rand.NewPCG(seed, 0))
	dirs := promtest.WriteBlocks(t, t.TempDir(), 2*time.Hour, promtest.Series{
		Labels: []string{"__name__", "m", "pod", "web"}, Samples: promtest.Regular(0, 3600_000, 30_000, func(at int64) float64 { return math.Sin(float64(at)) }),
	})
	failed := 0
	for _, file := range []string{"index", "chunks/000001"} {
		path := filepath.Join(dirs[0], file)
		intact, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 400 {
			damaged := slices.Clone(intact)
			for range 1 + rng.IntN(3) {
				damaged[rng.IntN(len(damaged))] = byte(rng.Uint32())
			}
			if rng.IntN(4) == 0 {
				damaged = damaged[:rng.IntN(len(damaged))]
			}
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if blocks.ReadFiles(dirs[0], "m") != nil {
				failed++
			}
		}
		if err := os.WriteFile(path, intact, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := blocks.ReadFiles(dirs[0], "m"); err != nil {
			t.Errorf("intact %s: %v", file, err)
		}
	}
	if failed < 300 {
		t.Errorf("only %d of 800 damages were noticed", failed)
	}
	damage(t, filepath.Join(dirs[0], "index"), func(d []byte) []byte {
		return bytes.Replace(d, []byte("\x02\x08__name__\x01m"), []byte("\x02\x08__name__\x01o"), 1)
	})
	if blocks.ReadFiles(dirs[0], "m") == nil {
		t.Error("a metric's name that is another one in the index was not noticed")
	}
}

func FuzzReadEntry(f *testing.F) {
	f.Add([]byte{1, 1, 2, 1, 10, 20, 8})
	f.Add([]byte{0, 2, 10, 20, 8, 5, 5, 2})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, content []byte) {
		labels, chunks, err := blocks.ReadEntry(content)
		if labels > len(content)/2 || chunks > len(content)/3 || err == nil && len(content) < 2 {
			t.Errorf("%d labels, %d chunks, %v of %d bytes", labels, chunks, err, len(content))
		}
	})
}

// TestKeysOf leaves out of keys what a selector allows, as chunks.Keys does.
func TestKeysOf(t *testing.T) {
	const uid = "0f2d3c1a_b111_4c22_8d33_000000000001"
	var list []promtest.Series
	for _, id := range []string{"/kubepods-pod" + uid + ".slice/a", "/kubepods-pod" + uid + ".slice/b", "/kubepods/none/c", ""} {
		list = append(list, promtest.Series{
			Labels:  []string{"__name__", "m", "id", id, "name", "k8s_" + id, "pod", "a"},
			Samples: promtest.Regular(begin, begin+4*hour-1, minute, func(t int64) float64 { return float64(t % 7) }),
		})
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	type series struct {
		key     [3]string
		told    uint64
		samples int
	}
	for _, tc := range []struct{ name, series, cgroup string }{
		{"nothing", "", ""},
		{"what tells series apart", "name", ""},
		{"cgroup", "", "id"},
		{"both", "id", "id"},
		{"each", "name", "id"},
		{"a cgroup of no pod", "", "pod"},
		{"a label that is missing", "no", "no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sel := promquery.Request{Metric: "m", Keep: promquery.Labels("pod", "id", "name"), Start: begin, End: begin + 4*hour}
			for i := range sel.Keep {
				l := &sel.Keep[i]
				l.Series, l.PodUID = l.Name == tc.series, l.Name == tc.cgroup
			}
			want := map[series]int{}
			keys := chunks.NewKeys(nil, chunks.NewSymbols(signals.NewSymbols()))
			for _, s := range list {
				keys.Begin(&sel)
				for i := 0; i < len(s.Labels); i += 2 {
					if s.Labels[i+1] != "" {
						keys.Label(s.Labels[i], s.Labels[i+1])
					}
				}
				key := keys.Key()
				want[series{[3]string{key[0].Value(), key[1].Value(), key[2].Value()}, keys.Series(), len(s.Samples)}]++
			}
			for name, db := range readers(t, dir) {
				got := map[series]int{}
				_, err := promtest.Select(t.Context(), db, []promquery.Request{sel}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
					got[series{[3]string{key[0].Value(), key[1].Value(), key[2].Value()}, p.Series(), p.Len()}]++
					return nil
				})
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(series{})); err != nil || diff != "" {
					t.Errorf("%s: %v, series (-want +got):\n%s", name, err, diff)
				}
			}
		})
	}
}
