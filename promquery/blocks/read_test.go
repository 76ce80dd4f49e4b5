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

// randomBlocks writes blocks of random series: labels that come and go, values that stay and move, gaps, markers.
func randomBlocks(t testing.TB, rng *rand.Rand, start int64) string {
	t.Helper()
	var series []promtest.Series
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
	series = append(series, promtest.Series{Labels: long, Samples: promtest.Regular(start, start+10*3600_000, 600_000, func(int64) float64 { return 1 })})
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

// randomSelector asks for anything.
func randomSelector(rng *rand.Rand, start int64) promquery.Request {
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

// TestReadAgainstSlow compares the reader of our own with Prometheus' readers on random blocks and selections.
func TestReadAgainstSlow(t *testing.T) {
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, 0))
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	found := 0
	for i := range soak.Of(3, 8) {
		db := open(t, randomBlocks(t, rng, start))
		for k := range 60 {
			sels := []promquery.Request{randomSelector(rng, start), randomSelector(rng, start)}
			want, got := answers(t, db.Slow(), sels), answers(t, db, sels)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("blocks %d, selection %d, %+v (-slow +own):\n%.2000s", i, k, sels, diff)
			}
			found += len(want) - 1
		}
	}
	if found < 300 {
		t.Errorf("only %d series were compared", found)
	}
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
	db := open(t, dir)
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
			want, got := map[series]int{}, map[series]int{}
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
			_, err := promtest.Select(t.Context(), db, []promquery.Request{sel}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
				got[series{[3]string{key[0].Value(), key[1].Value(), key[2].Value()}, p.Series(), p.Len()}]++
				return nil
			})
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(series{})); err != nil || diff != "" {
				t.Errorf("%v, series (-want +got):\n%s", err, diff)
			}
		})
	}
}
