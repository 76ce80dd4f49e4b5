package timeline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestPointsLayouts checks that runs, levels and explicit samples are the same to everything that reads them.
func TestPointsLayouts(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 40 {
		ts, vs := randomSeries(rng, 0, 6*3600_000, 30_000)
		if len(ts) == 0 {
			continue
		}
		plainly := points(ts, vs, plain)
		for _, how := range []layout{runs, chunked, levels} {
			got := points(ts, vs, how)
			samePoints(t, i, how, plainly, got)
			for _, step := range []int64{0, 10_000, 60_000, 300_000, 3600_000} {
				// 45 s is less than the distance of two samples with one missed between.
				for _, lookback := range []int64{timeline.Lookback, 60_000, 45_000} {
					for _, sampled := range []bool{false, true} {
						if sampled {
							plainly.MarkSampled()
							got.MarkSampled()
						}
						s := timeline.Sampling{Start: 0, End: 6 * 3600_000, Step: step, Lookback: lookback, Interval: 30_000}
						sameFunctions(t, s, i, how, plainly, got)
					}
					plainly, got = points(ts, vs, plain), points(ts, vs, how)
				}
			}
		}
	}
}

// TestSamplesOneByOne compares samples that lie next to each other, of which some are skipped because no point of the grid
// sees them, with the same samples added one by one.
func TestSamplesOneByOne(t *testing.T) {
	const seed = 12
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 200 {
		ts, vs := randomSeries(rng, -3600_000, 6*3600_000, []int64{15_000, 30_000, 60_000}[rng.IntN(3)])
		together, apart := points(ts, vs, plain), &timeline.Points{}
		for k := range ts {
			apart.AppendRun(ts[k], 0, 1, vs[k])
		}
		if rng.IntN(3) == 0 {
			together.MarkContinued()
			apart.MarkContinued()
		}
		for _, step := range []int64{0, 10_000, 45_000, 60_000, 300_000, 3600_000} {
			for _, lookback := range []int64{timeline.Lookback, 60_000, 45_000} {
				s := timeline.Sampling{Start: 0, End: 5*3600_000 + 1, Step: step, Lookback: lookback, Interval: 30_000}
				for _, f := range []func([]timeline.Cell, *timeline.Points) []timeline.Cell{s.Counter, s.Gauge} {
					if a, b := f(nil, apart), f(nil, together); !slices.Equal(a, b) {
						t.Fatalf("series %d, %+v: cells differ: %s", i, s, cmp.Diff(a, b))
					}
				}
				if a, b := s.Steps(apart), s.Steps(together); !slices.Equal(a, b) {
					t.Fatalf("series %d, %+v: steps differ: %s", i, s, cmp.Diff(a, b))
				}
			}
		}
	}
}

// TestIntervalWithin compares with Interval, for bounds about it.
func TestIntervalWithin(t *testing.T) {
	const seed = 14
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 200 {
		ts, vs := randomSeries(rng, 0, rng.Int64N(2*3600_000), 30_000)
		for _, how := range []layout{plain, runs, levels} {
			p := points(ts, vs, how)
			interval := p.Interval()
			for least := interval - 2; least <= interval+2; least++ {
				for most := least - 1; most <= interval+2; most++ {
					if got, want := p.IntervalWithin(least, most), least <= interval && interval <= most; got != want {
						t.Fatalf("series %d, layout %d: interval %d within %d and %d: %t", i, how, interval, least, most, got)
					}
				}
			}
		}
	}
}

// TestRunsGoOn checks that a constant series is one run whatever chunks it comes in: two cells of a counter say all about it.
func TestRunsGoOn(t *testing.T) {
	s := timeline.Sampling{Start: 0, End: 3600_000, Lookback: timeline.Lookback, Interval: 10}
	for _, tc := range []struct {
		name   string
		append func(p *timeline.Points)
		want   int
	}{
		{"next chunk", func(p *timeline.Points) { p.AppendRun(40, 10, 5, 7) }, 2},
		{"next chunk of one sample", func(p *timeline.Points) { p.AppendRun(40, 10, 1, 7) }, 2},
		{"equal distances, decoded", func(p *timeline.Points) { extend(p, 40, 50, 60); p.Level(3, 3, 10, 7) }, 2},
		{"equal distances at the end", func(p *timeline.Points) { extend(p, 40, 50, 60); p.LevelEnd(3, 2) }, 2},
		{"a sample is missing, decoded", func(p *timeline.Points) { extend(p, seq(40, 10, 8, 130, 10, 9)...); p.Level(17, 17, 20, 7) }, 4},
		{"distances differ", func(p *timeline.Points) { extend(p, seq(40, 10, 8, 121, 9, 7)...); p.Level(15, 15, 20, 7) }, 4},
		{"too few at the end", func(p *timeline.Points) { extend(p, 40, 50, 60); p.LevelEnd(3, 4) }, 5},
		{"overlap", func(p *timeline.Points) { p.AppendRun(20, 10, 5, 7) }, 2},
		{"a sample is missing", func(p *timeline.Points) { p.AppendRun(50, 10, 5, 7) }, 4},
		{"another distance", func(p *timeline.Points) { p.AppendRun(40, 20, 5, 7) }, 4},
		{"another value", func(p *timeline.Points) { p.AppendRun(40, 10, 5, 8) }, 4},
	} {
		p := &timeline.Points{}
		p.AppendRun(10, 10, 3, 7)
		tc.append(p)
		if got := s.Counter(nil, p); len(got) != tc.want {
			t.Errorf("%s: %d cells, want %d: %v", tc.name, len(got), tc.want, got)
		}
	}
}

// seq are the times of two stretches of samples, each given by its first time, distance and count.
func seq(first, step int64, n int, first2, step2 int64, n2 int) (ts []int64) {
	for k := range int64(n) {
		ts = append(ts, first+k*step)
	}
	for k := range int64(n2) {
		ts = append(ts, first2+k*step2)
	}
	return ts
}

// extend adds samples of the value 7.
func extend(p *timeline.Points, ts ...int64) {
	at, v := p.Extend(len(ts))
	copy(at, ts)
	for k := range v {
		v[k] = 7
	}
}

// samePoints compares the samples of points.
func samePoints(t *testing.T, i int, how layout, want, got *timeline.Points) {
	t.Helper()
	wantV, wantOK := want.LastUsable()
	gotV, gotOK := got.LastUsable()
	if want.Len() != got.Len() || want.First() != got.First() || want.Last() != got.Last() || want.Interval() != got.Interval() || wantOK != gotOK || wantV != gotV {
		t.Fatalf("series %d, layout %d: lengths, ends or intervals differ", i, how)
	}
	type sample struct {
		t int64
		v uint64
	}
	var a, b []sample
	for at, v := range want.All() {
		a = append(a, sample{at, math.Float64bits(v)})
	}
	for at, v := range got.All() {
		b = append(b, sample{at, math.Float64bits(v)})
	}
	if d := cmp.Diff(a, b, cmp.AllowUnexported(sample{})); d != "" {
		t.Fatalf("series %d, layout %d: samples differ: %s", i, how, d)
	}
}

// sameFunctions compares what is computed from the points.
func sameFunctions(t *testing.T, s timeline.Sampling, i int, how layout, want, got *timeline.Points) {
	t.Helper()
	if d := cmp.Diff(s.Steps(want), s.Steps(got)); d != "" {
		t.Fatalf("series %d, layout %d, %+v: steps differ: %s", i, how, s, d)
	}
	for _, f := range []struct {
		name  string
		cells func([]timeline.Cell, *timeline.Points) []timeline.Cell
	}{{"counter", s.Counter}, {"gauge", s.Gauge}} {
		a, b := f.cells(nil, want), f.cells(nil, got)
		if len(a) > 0 && len(b) > 0 && a[0] != b[0] {
			t.Fatalf("series %d, layout %d, %+v: %s begins with %v, want %v", i, how, s, f.name, b[0], a[0])
		}
		if d := cmp.Diff(stretches(a, false), stretches(b, false)); d != "" {
			t.Fatalf("series %d, layout %d, %+v: %s covers other times: %s", i, how, s, f.name, d)
		}
		if d := cmp.Diff(stretches(a, true), stretches(b, true)); d != "" {
			t.Fatalf("series %d, layout %d, %+v: %s holds at other times: %s", i, how, s, f.name, d)
		}
		for k := len(a) - 1; k >= 0; k -= 1 + len(a)/8 {
			c := a[k]
			if x, y := amountUntil(a, c.To), amountUntil(b, c.To); math.Abs(x-y) > 1e-9*math.Abs(x) {
				t.Fatalf("series %d, layout %d, %+v: %s amounts to %v and %v until %d", i, how, s, f.name, x, y, c.To)
			}
		}
	}
}

// stretches are the times that cells cover, or those of them that are held.
func stretches(cells []timeline.Cell, held bool) timeline.Intervals {
	var out timeline.Intervals
	for _, c := range cells {
		if c.From < c.To && (c.Held || !held) {
			out = append(out, timeline.Interval{From: c.From, To: c.To})
		}
	}
	return timeline.Union(out)
}

// amountUntil returns the usage in cells until t.
func amountUntil(cells []timeline.Cell, t int64) (sum float64) {
	for _, c := range cells {
		switch {
		case c.To <= t:
			sum += c.Amount
		case c.From < t:
			sum += c.Amount * float64(t-c.From) / float64(c.To-c.From)
		}
	}
	return sum
}

// TestLevelsAreCells checks that in exact mode the cells of a gauge do not depend on how its samples are laid out, which depends on
// the chunks that they came in: sums of the same samples are then the same to the last digit.
func TestLevelsAreCells(t *testing.T) {
	const seed = 13
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 200 {
		ts, vs := randomSeries(rng, -3600_000, 6*3600_000, 30_000)
		s := timeline.Sampling{Start: 0, End: 5 * 3600_000, Lookback: timeline.Lookback, Interval: 30_000}
		want := s.Gauge(nil, points(ts, vs, plain))
		for _, how := range []layout{runs, chunked, levels} {
			if got := s.Gauge(nil, points(ts, vs, how)); !slices.Equal(want, got) {
				t.Fatalf("series %d, layout %d: cells differ: %s", i, how, cmp.Diff(want, got))
			}
		}
	}
}

// TestJitteringLevels checks that samples of one value are few cells of a grid if one lies in each of its cells, however far apart.
func TestJitteringLevels(t *testing.T) {
	s := timeline.Sampling{End: 3600_000, Step: 60_000, Lookback: timeline.Lookback, Interval: 60_000}
	for _, tc := range []struct {
		name   string
		ts     []int64
		amount float64
		want   int
	}{
		{"one in each cell", []int64{1, 119_000, 121_000, 239_000, 300_000}, 5 * 60 * 7, 2},
		{"two in some cells", []int64{1, 59_000, 60_000, 119_000, 121_000, 180_000, 240_000}, 4 * 60 * 7, 2},
		{"one at each end", []int64{60_000, 120_000, 120_001, 240_000, 300_000}, 5 * 60 * 7, 2},
		{"none in a cell", []int64{60_000, 120_000, 180_001, 239_000, 300_000}, 5 * 60 * 7, 5},
	} {
		p := points(tc.ts, slices.Repeat([]float64{7}, len(tc.ts)), levels)
		p.MarkContinued() // nothing is held at the end
		if got := s.Gauge(nil, p); len(got) != tc.want || amountUntil(got, s.End) != tc.amount {
			t.Errorf("%s: cells %v, want %d of %v", tc.name, got, tc.want, tc.amount)
		}
	}
}

// TestClone checks that a clone has the samples of its original, and keeps them when the original is used again.
func TestClone(t *testing.T) {
	p := points([]int64{10, 20, 30, 45}, []float64{1, 1, 1, 2}, runs)
	p.SetSeries(7)
	p.MarkContinued()
	c := p.Clone()
	want := points([]int64{10, 20, 30, 45}, []float64{1, 1, 1, 2}, plain)
	p.Reset()
	samePoints(t, 0, runs, want, c)
	if c.Series() != 7 || !c.Continued() || c.Sampled() {
		t.Errorf("series %d, continued %t, sampled %t", c.Series(), c.Continued(), c.Sampled())
	}
}

// TestCopies copies series of all layouts one after the other, and uses the originals again. Then it does so in the same memory.
func TestCopies(t *testing.T) {
	const seed = 15
	var copies timeline.Copies
	for range 2 {
		rng := rand.New(rand.NewPCG(seed, 0))
		var want []*timeline.Points
		room := 0
		for i := range 100 {
			ts, vs := randomSeries(rng, 0, 2*3600_000, 30_000)
			for _, how := range []layout{plain, runs, chunked, levels} {
				p := points(ts, vs, how)
				p.SetSeries(uint64(i))
				copies.Add(p)
				p.Reset()
				p.AppendRun(1, 1, 1000, -1)
				if want = append(want, points(ts, vs, plain)); how == plain {
					room += len(ts)
				}
			}
		}
		if copies.Room() < room {
			t.Errorf("copies of %d samples, want %d or more", copies.Room(), room)
		}
		for i, p := range want {
			samePoints(t, i, plain, p, copies.At(i))
			if copies.At(i).Series() != uint64(i/4) {
				t.Errorf("copy %d: series %d", i, copies.At(i).Series())
			}
		}
		if copies.Reset(room / 2); copies.Room() != 0 {
			t.Errorf("%d samples after Reset", copies.Room())
		}
	}
}
