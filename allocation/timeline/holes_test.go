package timeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestHoles compares with a look at every sample, in all layouts.
func TestHoles(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var p timeline.Points
		at := rng.Int64N(100)
		for range rng.IntN(8) {
			n := 1 + rng.IntN(60)
			switch step := 1 + rng.Int64N(30); rng.IntN(3) {
			case 0:
				p.AppendRun(at, step, n, 1)
				at += int64(n) * step
			case 1:
				for range n {
					p.Append(at, rng.Float64())
					at += 1 + rng.Int64N(step)
				}
			default:
				times, _ := p.Extend(n)
				widest := int64(0)
				for i := range times {
					times[i] = at
					d := 1 + rng.Int64N(step)
					at, widest = at+d, max(widest, d)
				}
				p.Level(n, n, widest, 2)
			}
			at += rng.Int64N(300) / (1 + rng.Int64N(20))
		}
		least := 10 + rng.Int64N(100)
		var want timeline.Intervals
		prev := p.First()
		for now := range p.All() {
			if now-prev >= least {
				want = append(want, timeline.Interval{From: prev, To: now})
			}
			prev = now
		}
		if diff := cmp.Diff(want, p.Holes(nil, least), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}
