package main

import (
	"math"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// compareBounds checks the error bounds of every container: those of its true running time where its start is reported and
// it still runs at the end of the window, else those or the ones of what was counted. Most are the former.
func compareBounds(t *testing.T, got, want rows, exact bool) {
	t.Helper()
	apart := cell
	if exact {
		apart = scrape
	}
	known, compared := 0, 0
	for name, w := range want {
		g := got[name]
		if g == nil || strings.Contains(name, "__") || w.ends {
			continue
		}
		compared++
		has := func(lower, upper float64) bool {
			gotUpper, bounded := g.figures["errorBounds/upper"]
			sameUpper := math.Abs(gotUpper-upper) < 1e-9 || math.IsNaN(upper) && !bounded
			return sameUpper && math.Abs(g.figures["errorBounds/lower"]-lower) < 1e-9
		}
		switch {
		case has(timeline.Bounds(w.life, apart)):
			known++
		case w.goesOn:
			t.Errorf("%s: bounds %v and %v are not those of %s", name, g.figures["errorBounds/lower"], g.figures["errorBounds/upper"], w.life)
		case !has(timeline.CountBounds(g.figures["minutes"] / apart.Minutes())):
			t.Errorf("%s: bounds %v and %v are of neither %s nor what was counted", name, g.figures["errorBounds/lower"], g.figures["errorBounds/upper"], w.life)
		}
	}
	if known*5 < compared*4 {
		t.Errorf("only %d of %d containers have the bounds of their true running time", known, compared)
	}
}
