package timeline_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestSlots spreads amounts over slots, and compares them with the shares of each slot.
func TestSlots(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 0))
	for range 1000 {
		s := timeline.Sampling{Start: 0, End: 5000 + rng.Int64N(100), Step: rng.Int64N(2) * 50, Lookback: timeline.Lookback, Interval: 60}
		life := timeline.Intervals{{From: rng.Int64N(2000), To: 3000 + rng.Int64N(2000)}}
		slots, n := s.Slots(life)
		got, want := make([]float64, n), make([]float64, n)
		for range 5 {
			from := life[0].From + rng.Int64N(500)
			to := from + 1 + rng.Int64N([]int64{10, 100, 400}[rng.IntN(3)])
			slots.Spread(got, from, to, 8)
			sum := 0.0
			slots.Each(from, to, func(slot int, share float64) {
				want[slot] += 8 * share
				sum += share
			})
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("%+v: shares of (%d, %d] are %v", slots, from, to, sum)
			}
		}
		for k := range want {
			if math.Abs(got[k]-want[k]) > 1e-12 {
				t.Fatalf("%+v: slot %d has %v, want %v", slots, k, got[k], want[k])
			}
		}
	}
}
