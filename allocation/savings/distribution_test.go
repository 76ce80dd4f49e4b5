package savings_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/savings"
)

// inTurn is a container that uses so many cores, five minutes each, in turn.
func inTurn(days int, cores ...float64) container {
	return container{namespace: "n", controller: "c", pod: "p", request: [2]float64{1, 1 << 20}, usage: every(days, func(at time.Duration) (float64, float64) {
		return cores[int(at/(5*time.Minute))%len(cores)], 0
	})}
}

// TestDistribution merges buckets into bars: neighbors where usage varies much, and all that is far below the highest.
func TestDistribution(t *testing.T) {
	for _, tt := range []struct {
		name           string
		cores          []float64
		levels, shares []float64
	}{
		{"one level", []float64{0.5}, []float64{0.4585, 0.5}, []float64{1}},
		{"neighbors", []float64{0.5, 0.54, 0.54, 0.54}, []float64{0.4585, 0.5, 0.54}, []float64{0.25, 0.75}},
		{"with a gap", []float64{0.5, 0.59, 0.59}, []float64{0.4585, 0.5, 0.5453, 0.59}, []float64{0.3333, 0, 0.6667}},
		{"and nothing", []float64{0.5, 0}, []float64{0, 0.5}, []float64{1}},
		{"nothing at all", []float64{0}, []float64{0, 0}, []float64{1}},
	} {
		got := collected(t, 2, inTurn(2, tt.cores...)).Containers[0].Distribution(allocation.CPU)
		if diff := cmp.Diff(&savings.Distribution{Levels: tt.levels, Shares: tt.shares}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, low := range []float64{0.25, 0.1, 0.01, 1e-6} {
		got := collected(t, 2, inTurn(2, 1, 1, 1, low)).Containers[0].Distribution(allocation.CPU)
		n := len(got.Shares)
		if n > 24 || n < 13 || len(got.Levels) != n+1 || got.Shares[0] != 0.25 || got.Shares[n-1] != 0.75 || got.Levels[n] != 1 || got.Levels[0] >= low || got.Levels[1] < low {
			t.Errorf("down to %v: %+v", low, got)
		}
		ratio := got.Levels[n] / got.Levels[n-1]
		for i := 2; i < n; i++ {
			if r := got.Levels[i] / got.Levels[i-1]; math.Abs(r-ratio) > 1e-3*ratio {
				t.Errorf("down to %v, bar %d: %v times its beginning, want %v", low, i, r, ratio)
			}
		}
	}
}
