package timeline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
)

// joinable calls f with random points and ways to sample them.
func joinable(f func(rng *rand.Rand, s timeline.Sampling, p *timeline.Points)) {
	rng := rand.New(rand.NewPCG(19, 0))
	for range 300 {
		ts, vs := randomSeries(rng, -3600_000, 5*3600_000, []int64{15_000, 30_000, 60_000}[rng.IntN(3)])
		if len(vs) > 0 && rng.IntN(2) == 0 {
			vs[rng.IntN(len(vs))] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1}[rng.IntN(5)]
		}
		for _, step := range []int64{0, 10_000, 60_000, 300_000, 3600_000} {
			s := timeline.Sampling{End: 4*3600_000 + rng.Int64N(60_000), Step: step, Lookback: timeline.Lookback, Interval: 30_000}
			if rng.IntN(4) == 0 {
				s.Lookback = 60_000
			}
			for _, how := range []layout{plain, runs, levels} {
				p := points(ts, vs, how)
				switch rng.IntN(4) {
				case 0:
					p.MarkContinued()
				case 1:
					if step > 0 {
						p = answers(s, ts, vs)
					}
					p.MarkSampled()
				}
				f(rng, s, p)
			}
		}
	}
}

// answers are samples at points of the grid.
func answers(s timeline.Sampling, ts []int64, vs []float64) *timeline.Points {
	p := &timeline.Points{}
	for k := range ts {
		p.Append(s.Align(ts[k]), vs[k])
	}
	return p
}

// TestJoinedCells compares the parts of joined cells, and the cells that are not joined, with those of a Sampling.
func TestJoinedCells(t *testing.T) {
	joined, limited := 0, 0
	joinable(func(rng *rand.Rand, s timeline.Sampling, p *timeline.Points) {
		j := timeline.Joiner{Keep: true, Limit: []float64{0, 2}[rng.IntN(2)]} // increases are less than 100
		apart := func(cells []timeline.Cell) (out []timeline.Cell) {
			for k := range cells {
				x := &cells[k]
				if x.Parts == 0 {
					out = append(out, *x)
					continue
				}
				joined++
				if k < 2 || cells[k-1].Parts > 0 || cells[k-1].Held || cells[k-1].To != x.From || k+1 == len(cells) || cells[k+1].Parts > 0 || cells[k+1].From != x.To {
					t.Fatalf("%+v: %v, cell %d of %d, is joined though there is no other cell beside it", s, *x, k, len(cells))
				}
				sum := 0.0
				for _, part := range j.Of(x) {
					out = append(out, timeline.Cell{From: part.From, To: part.To, Amount: part.Amount})
					sum += part.Amount
				}
				if sum != x.Amount {
					t.Fatalf("%+v: %v has parts of %v", s, *x, sum)
				}
			}
			return out
		}
		if want, got := s.Gauge(nil, p), apart(j.Gauge(s, nil, p)); !slices.Equal(want, got) {
			t.Fatalf("%+v: cells of a gauge differ (-want +got): %s", s, cmp.Diff(want, got))
		}
		want, got := s.Counter(nil, p), apart(j.Counter(s, nil, p))
		if !slices.Equal(want, got) {
			t.Fatalf("%+v: cells of a counter differ (-want +got): %s", s, cmp.Diff(want, got))
		}
		for _, part := range j.Parts {
			if j.Limit > 0 {
				limited++
				if part.Amount > j.Limit*float64(part.To-part.From+1000)/1000 {
					t.Fatalf("%+v: %v is joined", s, part)
				}
			}
		}
	})
	if joined < 1000 || limited < 1000 {
		t.Errorf("%d cells were joined, %d parts have a limit", joined, limited)
	}
}

// TestJoinedUntil joins the cells of counters between borders, and compares sums.
func TestJoinedUntil(t *testing.T) {
	joinable(func(rng *rand.Rand, s timeline.Sampling, p *timeline.Points) {
		var borders []int64
		for at := int64(0); at < s.End; at += rng.Int64N(3600_000) {
			borders = append(borders, at)
		}
		next := func(from int64) int64 {
			k, _ := slices.BinarySearch(borders, from+1)
			if k == 0 || k == len(borders) {
				return math.MinInt64
			}
			return borders[k]
		}
		j := timeline.Joiner{Until: func(from, to int64) int64 { return next(from) }}
		apart := s.Counter(nil, p)
		for _, x := range j.Counter(s, nil, p) {
			n, sum := 0, 0.0
			for n < len(apart) && apart[n].To <= x.To {
				sum += apart[n].Amount
				n++
			}
			if n == 0 || x.From != apart[0].From || x.To != apart[n-1].To || x.Amount != sum || x.Held != apart[0].Held || n > 1 && x.To > next(x.From) {
				t.Fatalf("%+v: got %v, want it to be joined of %v until %d", s, x, apart[:n], next(x.From))
			}
			apart = apart[n:]
		}
		if len(apart) > 0 {
			t.Fatalf("%+v: no cells for %v", s, apart)
		}
	})
}

// TestFewCells checks that samples without a hole are few cells, however many of them a grid sees.
func TestFewCells(t *testing.T) {
	for _, interval := range []int64{10_000, 30_000, 45_000, 60_000} {
		for _, step := range []int64{0, 60_000, 300_000} {
			var ts []int64
			var vs []float64
			for at := int64(1234); at < 6*3600_000; at += interval { // faster and faster
				ts, vs = append(ts, at), append(vs, float64(at)*float64(at))
			}
			s := timeline.Sampling{End: 6 * 3600_000, Step: step, Lookback: timeline.Lookback, Interval: interval}
			p, j := points(ts, vs, plain), timeline.Joiner{Keep: true}
			for _, f := range []struct {
				name        string
				apart, join func([]timeline.Cell, *timeline.Points) []timeline.Cell
			}{
				{"gauge", s.Gauge, func(dst []timeline.Cell, p *timeline.Points) []timeline.Cell { return j.Gauge(s, dst, p) }},
				{"counter", s.Counter, func(dst []timeline.Cell, p *timeline.Points) []timeline.Cell { return j.Counter(s, dst, p) }},
			} {
				apart, joined := f.apart(nil, p), f.join(nil, p)
				if want := 6; len(joined) > want || len(apart) < 10*want {
					t.Errorf("%s every %d ms, step %d: %d cells joined to %d, want at most %d", f.name, interval, step, len(apart), len(joined), want)
				}
			}
		}
	}
}
