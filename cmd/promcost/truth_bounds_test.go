package main

import (
	"math"
	"strings"
	"testing"
)

// compareBounds checks that the error bounds of every container contain what was counted over its true running time, and that
// those of nine in ten containers of an hour or more are narrow.
func compareBounds(t *testing.T, got, want rows, exact bool) {
	t.Helper()
	apart := cell + scrape
	if exact {
		apart = scrape
	}
	narrow, compared := 0, 0
	for name, w := range want {
		g := got[name]
		if g == nil || strings.Contains(name, "__") || w.life <= 0 {
			continue
		}
		ratio := g.figures["minutes"] / w.life.Minutes()
		lower, upper := g.figures["errorBounds/lower"], math.Inf(1)
		if v, bounded := g.figures["errorBounds/upper"]; bounded {
			upper = v
		}
		if ratio < lower || ratio > upper {
			t.Errorf("%s: counted %.4f of %s, outside of its bounds %v and %v", name, ratio, w.life, lower, upper)
		}
		if w.life.Hours() < 1 {
			continue
		}
		if compared++; upper-lower <= 2*apart.Hours()/w.life.Hours()+0.002 { // which is what rounding adds
			narrow++
		}
	}
	if narrow*10 < compared*9 {
		t.Errorf("only %d of %d containers have narrow bounds; exact: %v", narrow, compared, exact)
	}
}
