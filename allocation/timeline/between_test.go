package timeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestBetween compares parts of points of every layout with the samples that lie in them.
func TestBetween(t *testing.T) {
	type sample struct {
		T int64
		V float64
	}
	rng := rand.New(rand.NewPCG(5, 0))
	var part timeline.Points
	for i := range 200 {
		ts, vs := randomSeries(rng, 0, 3600_000, 15_000)
		for _, how := range []layout{plain, runs, levels} {
			p := points(ts, vs, how)
			from := rng.Int64N(4000_000) - 200_000
			to := from + rng.Int64N(2000_000)
			if len(ts) > 0 && i%3 == 0 {
				from, to = ts[rng.IntN(len(ts))], ts[rng.IntN(len(ts))]
			}
			var want, got []sample
			for at, v := range p.All() {
				if at >= from && at <= to && !timeline.IsStale(v) {
					want = append(want, sample{at, v})
				}
			}
			p.Between(&part, from, to)
			n := 0
			for at, v := range part.All() {
				if n++; !timeline.IsStale(v) {
					got = append(got, sample{at, v})
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || part.Len() != n {
				t.Fatalf("series %d, layout %d, %d to %d: %d samples (-want +got):\n%s", i, how, from, to, part.Len(), diff)
			}
		}
	}
}

// TestBetweenGoesOn checks that a part goes on where its points do, unless nothing more of them can be in it.
func TestBetweenGoesOn(t *testing.T) {
	var p, part timeline.Points
	p.AppendRun(0, 30_000, 10, 1) // to 270 s
	p.MarkContinued()
	for _, tt := range []struct {
		to   int64
		want bool
	}{{200_000, false}, {270_000, false}, {299_999, false}, {300_000, true}, {3600_000, true}} {
		if p.Between(&part, 0, tt.to); part.Continued() != tt.want {
			t.Errorf("to %d: it goes on: %v", tt.to, part.Continued())
		}
	}
}

// TestPointsTellTheirSeries checks that a part of points is of their series, and that they are of none once they are reset.
func TestPointsTellTheirSeries(t *testing.T) {
	var p, part timeline.Points
	p.AppendRun(0, 10, 5, 1)
	p.SetSeries(timeline.SeriesID("a"))
	p.Between(&part, 10, 20)
	if part.Series() != timeline.SeriesID("a") || part.Series() == timeline.SeriesID("b") || part.Series() == 0 {
		t.Errorf("a part is of series %d, the whole of %d", part.Series(), p.Series())
	}
	if p.Reset(); p.Series() != 0 || timeline.SeriesID("") != 0 {
		t.Errorf("empty points are of series %d", p.Series())
	}
}
