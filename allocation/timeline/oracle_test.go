package timeline_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/allocation/timeline"
)

// stale is Prometheus' staleness marker.
var stale = math.Float64frombits(0x7ff0000000000002)

// randomSeries is samples with everything that disturbs a grid: jitter, missed scrapes, outages with and without markers,
// counter resets, stretches of one value.
func randomSeries(rng *rand.Rand, start, end int64, interval int64) (ts []int64, vs []float64) {
	v, jitter := 0.0, rng.Int64N(3)*rng.Int64N(interval/4+1)
	constant := rng.IntN(3) == 0
	for t := start + rng.Int64N(interval); t < end; t += interval {
		switch rng.IntN(40) {
		case 0:
			t += rng.Int64N(15 * 60_000)
		case 1:
			ts, vs = append(ts, t), append(vs, stale)
			t += rng.Int64N(12 * 60_000)
			continue
		case 2:
			v = 0
		}
		if !constant || rng.IntN(20) == 0 {
			v += math.Floor(rng.Float64() * 100)
		}
		at := t
		if jitter > 0 {
			at += rng.Int64N(jitter)
		}
		if n := len(ts); n > 0 && at <= ts[n-1] {
			continue
		}
		ts, vs = append(ts, at), append(vs, v)
	}
	return ts, vs
}

// layout is how samples are laid out as points.
type layout int

const (
	plain   layout = iota // one by one
	runs                  // equal values at equal distances as runs
	chunked               // the same, in chunks of three samples
	levels                // equal values as levels, the first of each as it comes
)

func points(ts []int64, vs []float64, how layout) *timeline.Points {
	p := &timeline.Points{}
	for i := 0; i < len(ts); {
		n, widest := 1, int64(0)
		for how != plain && i+n < len(ts) && vs[i+n] == vs[i] && (how == levels || ts[i+n]-ts[i+n-1] == ts[i+1]-ts[i]) {
			widest = max(widest, ts[i+n]-ts[i+n-1])
			n++
		}
		switch {
		case n > 2 && how == chunked:
			for k := 0; k < n; k += 3 {
				p.AppendRun(ts[i+k], ts[i+1]-ts[i], min(3, n-k), vs[i])
			}
		case n > 2 && how == runs:
			p.AppendRun(ts[i], ts[i+1]-ts[i], n, vs[i])
		case n > 2:
			rest := min(3, len(ts)-i-n) // what a decoder writes at once need not be of one value
			t, v := p.Extend(n + rest)
			copy(t, ts[i:])
			copy(v, vs[i:])
			for k := range n {
				v[k] = math.Inf(1) // must not be looked at
			}
			p.Level(n+rest, n, widest, vs[i])
			p.LevelEnd(rest, 2)
			i += rest
		default:
			n = 1
			p.Append(ts[i], vs[i])
		}
		i += n
	}
	return p
}

// TestGridAgainstPromQL compares grid sampling with the answers of Prometheus' own engine to range queries. The engine's
// lookback is two scrape intervals, as in SEMANTICS §2 for gaps without a staleness marker; markers come before it ends, so
// it does not matter for gaps with one. A second run has the lookback of counters: the next sample of a counter contains what
// was missed, so the whole default lookback is right.
func TestGridAgainstPromQL(t *testing.T) {
	const seed = 42
	rng := rand.New(rand.NewPCG(seed, 1))
	opts := tsdb.DefaultOptions()
	opts.OutOfOrderTimeWindow = 24 * 3600_000 // series are written one after another
	db, err := tsdb.Open(t.TempDir(), nil, nil, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	engines := map[int64]*promql.Engine{}
	for _, lookback := range []int64{30_000, 60_000, 120_000, timeline.Lookback} {
		engines[lookback] = promql.NewEngine(promql.EngineOpts{
			MaxSamples: 1e9, Timeout: time.Minute, LookbackDelta: time.Duration(lookback) * time.Millisecond, Parser: parser.NewParser(parser.Options{}),
		})
	}
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC).UnixMilli()
	start := end - 6*3600_000
	for i := range 60 {
		interval := []int64{15_000, 30_000, 60_000}[rng.IntN(3)]
		ts, vs := randomSeries(rng, start-3600_000, end+600_000, interval)
		lset := labels.FromStrings("__name__", "m", "i", time.Duration(i).String())
		app := db.Appender(t.Context())
		for k := range ts {
			if _, err := app.Append(0, lset, ts[k], vs[k]); err != nil {
				t.Fatal(err)
			}
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
		for _, step := range []int64{60_000, 90_000, 300_000, 3600_000} {
			if step < interval {
				continue
			}
			want := instants(t, engines[2*interval], db, lset, end, step, int((end-start)/step))
			seen := instants(t, engines[timeline.Lookback], db, lset, end, step, int((end-start)/step))
			s := timeline.Sampling{Start: start, End: end, Step: step, Lookback: timeline.Lookback, Interval: interval}
			for _, how := range []layout{plain, runs, chunked, levels} {
				p := points(ts, vs, how)
				got := s.Steps(p)
				for k, w := range want {
					at := end - int64(k)*step
					v, ok := got.At(at)
					if ok != !math.IsNaN(w) || ok && v != w {
						t.Fatalf("series %d, step %d, layout %d: at %d got %v %v, Prometheus says %v", i, step, how, at, v, ok, w)
					}
				}
				compareIncreases(t, s.Counter(nil, p), seen, end, step)
			}
		}
	}
}

// instants are Prometheus' answers at end, end-step, …; NaN where it has none.
func instants(t *testing.T, engine *promql.Engine, db storage.Queryable, lset labels.Labels, end, step int64, n int) []float64 {
	t.Helper()
	out := make([]float64, n)
	for k := range out {
		out[k] = math.NaN()
	}
	first := timestamp.Time(end - int64(n-1)*step)
	q, err := engine.NewRangeQuery(context.Background(), db, nil, `m{i="`+lset.Get("i")+`"}`, first, timestamp.Time(end), time.Duration(step)*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	matrix, err := q.Exec(context.Background()).Matrix()
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range matrix {
		for _, x := range series.Floats {
			out[(end-x.T)/step] = x.F
		}
	}
	return out
}

// compareIncreases compares a counter's cells with the reset-aware differences between Prometheus' answers.
func compareIncreases(t *testing.T, cells []timeline.Cell, want []float64, end, step int64) {
	t.Helper()
	byEnd := map[int64]timeline.Cell{}
	for i, c := range cells {
		byEnd[c.To] = c
		if i > 0 && c.From != cells[i-1].To {
			t.Fatalf("cells %d and %d leave a gap: %v %v", i-1, i, cells[i-1], c)
		}
	}
	prev, prevAt := math.NaN(), int64(0)
	for k, v := range slices.Backward(want) {
		at := end - int64(k)*step
		if math.IsNaN(v) {
			continue
		}
		if !math.IsNaN(prev) {
			d := v - prev
			if d < 0 {
				d = v
			}
			c, ok := byEnd[at]
			// Held samples are one cell of no increase that may span several steps.
			if d != 0 && (!ok || c.Amount != d || c.From != prevAt) {
				t.Fatalf("cell to %d: got %v, want increase %v from %d", at, c, d, prevAt)
			}
		}
		prev, prevAt = v, at
	}
}
