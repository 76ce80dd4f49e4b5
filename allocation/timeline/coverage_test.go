package timeline_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// instant is what covers one unit of time; series 0 is nothing.
type instant struct {
	series uint64
	soft   bool
	ends   int64 // where the fragment ends
}

// TestCoverage adds random stretches to coverages, as usage does, and compares them with a list of instants.
func TestCoverage(t *testing.T) {
	const end = 60
	rng := rand.New(rand.NewPCG(23, 0))
	for i := range 2000 {
		var c timeline.Coverage
		var model [end]instant // that at k is (k, k+1]
		for series := uint64(1); series < 12; series++ {
			from := rng.Int64N(end - 1)
			to, soft := from+1+rng.Int64N(min(15, end-from)), rng.IntN(2) == 0
			for _, x := range c.Yield(from, to, soft) {
				whole := model[x.From]
				for k := x.From; k < x.To; k++ {
					if m := model[k]; k < from || k >= to || m != whole || !x.Soft || !m.soft || m.series != x.Series || soft && m.ends <= to {
						t.Fatalf("coverage %d: (%d, %d] takes %v, want none of %v", i, from, to, x, m)
					}
					model[k] = instant{}
				}
				for k := x.From - 1; k >= 0 && model[k] == whole; k-- {
					model[k].ends = x.From
				}
			}
			for k := from; k < to; k++ {
				if m := model[k]; m.soft && (!soft || m.ends > to) {
					t.Fatalf("coverage %d: (%d, %d] does not take %v at %d", i, from, to, m, k)
				}
			}
			var free timeline.Intervals
			for k := from; k < to; k++ {
				if model[k].series != 0 {
					continue
				}
				if n := len(free); n > 0 && free[n-1].To == k {
					free[n-1].To = k + 1
				} else {
					free = append(free, timeline.Interval{From: k, To: k + 1})
				}
			}
			got := c.Uncovered(nil, from, to)
			if !slices.Equal(got, free) {
				t.Fatalf("coverage %d: uncovered in (%d, %d] of %v: got %v, want %v", i, from, to, c, got, free)
			}
			for _, x := range free {
				c.Add(timeline.Fragment{From: x.From, To: x.To, Series: series, Soft: soft})
				for k := x.From; k < x.To; k++ {
					model[k] = instant{series, soft, x.To}
				}
			}
			if rng.IntN(2) == 0 { // the end of a counter
				c.Add(timeline.Fragment{From: to, To: to, Series: series})
			}
			if !slices.IsSortedFunc(c, func(x, y timeline.Fragment) int { return cmp.Compare(x.From, y.From) }) {
				t.Fatalf("coverage %d is not sorted: %v", i, c)
			}
		}
	}
}
