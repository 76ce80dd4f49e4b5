package timeline_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// randomSteps are some steps within 40 milliseconds, a few of them with gaps in between.
func randomSteps(random *rand.Rand) (out timeline.Steps) {
	for at := random.Int64N(10); at < 30; {
		to := at + 1 + random.Int64N(12)
		out = append(out, timeline.Step{From: at, To: to, V: float64(random.IntN(3))})
		at = to + random.Int64N(2)*random.Int64N(6)
	}
	return out
}

// TestCombinedSteps compares Max, Overlay, Sum, Within and LengthWithin with the values at each instant.
func TestCombinedSteps(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	var shared timeline.Shared
	for range 2_000 {
		a, b := randomSteps(random), randomSteps(random)
		joined := timeline.Max(a, b)
		all := map[string]timeline.Steps{"max": joined, "shared max": shared.Max(a, b), "overlay": timeline.Overlay(a, b), "sum": timeline.Sum(a, b), "within": timeline.Within(a, b)}
		from, to, length := random.Int64N(40), random.Int64N(50), int64(0)
		for at := int64(-1); at < 60; at++ {
			va, inA := a.At(at)
			vb, inB := b.At(at)
			if at > from && at <= to && inA && va != 0 {
				length++
			}
			larger, first := max(va, vb), va
			if !inA {
				larger, first = vb, vb
			} else if !inB {
				larger = va
			}
			for name, want := range map[string]struct {
				v  float64
				in bool
			}{
				"max": {larger, inA || inB}, "shared max": {larger, inA || inB}, "overlay": {first, inA || inB}, "sum": {va + vb, inA || inB},
				"within": {va, inA && inB && vb != 0},
			} {
				if v, in := all[name].At(at); in != want.in || in && v != want.v {
					t.Fatalf("%s of %v and %v at %d: %v, %v, want %v", name, a, b, at, v, in, want)
				}
			}
		}
		if got := a.LengthWithin(from, to); got != length {
			t.Fatalf("%v is not 0 for %d within (%d, %d], want %d", a, got, from, to, length)
		}
		for name, s := range all {
			for i := 1; i < len(s); i++ {
				if s[i].From < s[i-1].To || s[i].From == s[i-1].To && s[i].V == s[i-1].V {
					t.Fatalf("%s of %v and %v: %v has steps that are not apart", name, a, b, s)
				}
			}
		}
	}
}

// TestSharedSampling gives what Sampling gives.
func TestSharedSampling(t *testing.T) {
	t.Parallel()
	var p timeline.Points
	for i, v := range []float64{1, 1, 0, 2, 2} {
		p.Append(int64(i+1)*10_000, v)
	}
	for _, step := range []int64{0, 20_000} {
		s, shared := timeline.Sampling{End: 100_000, Step: step, Lookback: timeline.Lookback, Interval: 10_000}, timeline.Shared{}
		sights := s.Sights(&p)
		for what, pair := range map[string][2]timeline.Steps{
			"sights": {shared.Sights(s, &p), sights}, "reports": {shared.Reports(s, &p), s.Reports(&p)}, "steps": {shared.Steps(s, &p), s.Steps(&p)},
			"holding": {shared.Holding(s, sights), s.Holding(make(timeline.Steps, 3), sights)},
		} {
			if got, want := pair[0], pair[1]; len(got) == 0 || !slices.Equal(got, want) {
				t.Errorf("step %d: %s are %v, want %v", step, what, got, want)
			}
		}
	}
}

// TestNextEdge walks along edges.
func TestNextEdge(t *testing.T) {
	t.Parallel()
	edges, got := []int64{5, 10, 20, 30}, []int64(nil)
	for at := int64(5); at < 25; {
		at = timeline.NextEdge(edges, at, 25)
		got = append(got, at)
	}
	if got = append(got, timeline.NextEdge(edges, 30, 40)); !slices.Equal(got, []int64{10, 20, 25, 40}) {
		t.Errorf("%v", got)
	}
}
