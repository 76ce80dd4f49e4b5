package build_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestMemory checks that the estimate of a builder's memory grows with containers, and with the sets in which each runs.
func TestMemory(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	q := allocation.Query{Window: allocation.Window{Start: end.Add(-4 * time.Hour), End: end}, Resolution: time.Minute}
	estimate := func(step time.Duration, containers int, from, to time.Duration) int64 {
		t.Helper()
		q.Step = step
		b, err := build.NewBuilder(t.Context(), q, 30*time.Second, pricing.Default(), symbols, nil)
		if err != nil {
			t.Fatal(err)
		}
		empty := b.Memory()
		var p timeline.Points
		p.AppendRun(q.Window.Start.Add(from+time.Minute).UnixMilli(), 60_000, int((to-from)/time.Minute), 1)
		for i := range containers {
			key := []signals.Symbol{symbols.Of("c"), symbols.Of("n"), symbols.Of("p"), symbols.Of("u"), symbols.Of(string(rune('a' + i))), symbols.Of("")}
			if err := b.Add(signals.Series{Signal: signals.ContainerRunning}, key, &p); err != nil {
				t.Fatal(err)
			}
		}
		return b.Memory() - empty
	}
	none := estimate(0, 0, 0, 4*time.Hour)
	one := estimate(0, 1, 0, 4*time.Hour)
	row := (estimate(time.Hour, 1, 0, 4*time.Hour) - one) / 3
	more := estimate(0, 2, 0, 4*time.Hour) - one
	if none != 0 || one < 1000 || row < 200 || more < 1000 {
		t.Fatalf("%d of none, %d of one container, %d a row", none, one, row)
	}
	for _, tt := range []struct {
		name       string
		step       time.Duration
		containers int
		from, to   time.Duration
		want       int64
	}{
		{"ten containers", 0, 10, 0, 4 * time.Hour, one + 9*more},
		{"ten sets", 24 * time.Minute, 1, 0, 4 * time.Hour, one + 9*row},
		{"two of four sets", time.Hour, 1, 70 * time.Minute, 150 * time.Minute, one + row},
		{"one of four sets", time.Hour, 1, 70 * time.Minute, 100 * time.Minute, one},
	} {
		if got := estimate(tt.step, tt.containers, tt.from, tt.to); max(got, tt.want)-min(got, tt.want) > 100 {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
}
