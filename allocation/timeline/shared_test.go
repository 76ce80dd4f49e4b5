package timeline_test

import (
	"math"
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestShared shares many Steps. What is returned is equal to what was given, to the bit, and equal Steps that follow each other are one.
func TestShared(t *testing.T) {
	t.Parallel()
	var shared timeline.Shared
	values := []float64{0, math.Copysign(0, -1), 1, math.NaN(), math.Inf(1)}
	for i := range int64(20_000) {
		steps := make(timeline.Steps, 0, 4)
		for k := range i % 3 {
			steps = append(steps, timeline.Step{From: i + 10*k, To: i + 10*k + 5, V: values[i%5]})
		}
		given := slices.Clone(steps)
		got := shared.Of(steps)
		clear(steps)
		again := shared.Of(slices.Clone(given))
		if len(got) != len(given) || cap(got) != len(given) || len(given) > 0 && &got[0] != &again[0] {
			t.Fatalf("%v of capacity %d and %v, want one %v", got, cap(got), again, given)
		}
		for k := range given {
			if got[k].From != given[k].From || got[k].To != given[k].To || math.Float64bits(got[k].V) != math.Float64bits(given[k].V) {
				t.Fatalf("%v, want %v", got, given)
			}
		}
	}
}

// TestSharedAlternatives adds alternatives to objects that share their first one.
func TestSharedAlternatives(t *testing.T) {
	t.Parallel()
	var shared timeline.Shared
	first, second := timeline.Steps{{From: 0, To: 10, V: 1}}, timeline.Steps{{From: 10, To: 20, V: 2}}
	both := timeline.Steps{first[0], second[0]}
	var of [4]timeline.Ranked
	for i := range of {
		shared.Add(&of[i], 0, first)
	}
	if &of[0][0] != &of[3][0] {
		t.Error("alternatives are not shared")
	}
	shared.Add(&of[1], 0, second)
	of[2].Add(0, second)
	shared.Add(&of[3], 1, second)
	shared.Add(&of[3], 0, second)
	for i, want := range []timeline.Ranked{{first}, {both}, {both}, {both, second}} {
		if len(of[i]) != len(want) || !slices.EqualFunc(of[i], want, slices.Equal[timeline.Steps]) {
			t.Errorf("object %d has %v, want %v", i, of[i], want)
		}
	}
}

// TestMaxLeavesItsOperands appends to Steps that others may share.
func TestMaxLeavesItsOperands(t *testing.T) {
	t.Parallel()
	first := append(make(timeline.Steps, 0, 8), timeline.Step{From: 0, To: 10, V: 1})
	later := timeline.Steps{{From: 10, To: 20, V: 1}, {From: 30, To: 40, V: 2}}
	got := timeline.Max(first, later)
	if want := (timeline.Steps{{From: 0, To: 20, V: 1}, {From: 30, To: 40, V: 2}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if want := (timeline.Steps{{From: 0, To: 10, V: 1}}); !slices.Equal(first, want) {
		t.Errorf("the operand is %v, want %v", first, want)
	}
}
