package timeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestCounterGoesOn reads counters in two stretches, divided at any point of the grid, and expects the same cells as from
// reading them at once.
func TestCounterGoesOn(t *testing.T) {
	const end = 3600_000
	rng := rand.New(rand.NewPCG(17, 0))
	for i := range 300 {
		ts, vs := randomSeries(rng, 0, end, 15_000)
		for _, step := range []int64{0, 60_000, 120_000, 600_000} {
			s := timeline.Sampling{End: end, Step: step, Lookback: timeline.Lookback, Interval: 15_000}
			for _, how := range []layout{plain, runs, levels} {
				p := points(ts, vs, how)
				cut := s.Align(rng.Int64N(end))
				var before, after timeline.Points
				p.Between(&before, 0, cut)
				p.Between(&after, cut+1, 2*end)
				want, got, rest := s.Counter(nil, p), s.Counter(nil, &before), s.Counter(nil, &after)
				if len(got) > 0 {
					if len(rest) == 0 {
						continue
					}
					last := got[len(got)-1].To
					value, until := s.SeenAt(&before, last)
					rest = s.GoOn(rest, &after, last, until, value)
				}
				if diff := cmp.Diff(joined(want), joined(append(got, rest...))); diff != "" {
					t.Fatalf("series %d, step %d, layout %d, divided at %d (-at once +in two stretches):\n%s", i, step, how, cut, diff)
				}
			}
		}
	}
}

// joined merges adjacent cells without usage.
func joined(cells []timeline.Cell) (out []timeline.Cell) {
	for _, x := range cells {
		if n := len(out); n > 0 && x.Amount == 0 && out[n-1].Amount == 0 && out[n-1].Held == x.Held && out[n-1].To == x.From {
			out[n-1].To = x.To
			continue
		}
		out = append(out, x)
	}
	return out
}
