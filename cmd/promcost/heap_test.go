package main

import (
	"context"
	"runtime/debug"
	"testing"
)

// TestGrowth verifies that the heap grows to its floor, and above it as it was told.
func TestGrowth(t *testing.T) {
	for name, tc := range map[string]struct {
		live uint64
		told int
		want int
	}{
		"nothing yet":      {0, 100, 1000},
		"little":           {2 << 20, 100, 1000},
		"an eighth":        {5 << 20, 100, 700},
		"a quarter":        {10 << 20, 100, 300},
		"half":             {20 << 20, 100, 100},
		"more":             {100 << 20, 100, 100},
		"lazier than that": {20 << 20, 400, 400},
		"more eager":       {32 << 20, 10, 25},
	} {
		t.Run(name, func(t *testing.T) {
			if got := growth(tc.live, tc.told); got != tc.want {
				t.Errorf("growth is %d %%, not %d %%", got, tc.want)
			}
		})
	}
}

// TestKeepFloorEnds verifies that the collector is left as it was found.
func TestKeepFloorEnds(t *testing.T) {
	was := debug.SetGCPercent(70)
	defer debug.SetGCPercent(was)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	keepFloor(ctx)
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("GOGC is %d, not 70", got)
	}
}
