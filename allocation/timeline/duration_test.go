package timeline_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestTrueDuration checks what is known of how long an object ran in a window of two hours by its reported start and end.
func TestTrueDuration(t *testing.T) {
	for _, tt := range []struct {
		name    string
		exact   bool
		seen    timeline.Steps
		started timeline.Steps // seconds
		ends    []int64        // minutes
		end     float64        // minutes; 0 is the window's
		want    float64        // minutes, 0 where it is not known
	}{
		{name: "runs on", seen: steps(-5, 120, 1), started: steps(-5, 120, 30), want: 119.5},
		{name: "runs on, exact", exact: true, seen: steps(10.5, 120, 1), started: steps(10.5, 120, 610), want: 120 - 610./60},
		{name: "told late, exact", exact: true, seen: steps(10.5, 120, 1), started: steps(15, 120, 610), want: 120 - 610./60},
		{name: "told after the end, exact", exact: true, seen: steps(10.5, 12, 1, 40, 50, 0), started: steps(40, 50, 610), ends: []int64{11*minute + 45_000}, want: 11.75 - 610./60},
		{name: "no start", exact: true, seen: steps(10.5, 120, 1)},
		{name: "ended", seen: steps(10, 20, 1, 20, 30, 0), started: steps(10, 20, 610), ends: []int64{19*minute + 45_000}, want: 19.75 - 610./60},
		{name: "ended, exact", exact: true, seen: steps(10.5, 20, 1, 20, 30, 0), started: steps(10.5, 20, 610), ends: []int64{19*minute + 45_000}, want: 19.75 - 610./60},
		{name: "no end", exact: true, seen: steps(10.5, 20, 1, 20, 30, 0), started: steps(10.5, 20, 610)},
		{name: "an end long ago is another run's", seen: steps(10, 50, 1, 50, 60, 0), started: steps(10, 50, 610), ends: []int64{19 * minute}},
		{name: "restarted between two samples", exact: true, seen: steps(0, 120, 1), started: steps(0, 20, 0.001, 20, 120, 1195), ends: []int64{19 * minute}, want: 19 - 0.001/60 + 120 - 1195./60},
		{name: "one start of two runs", seen: steps(10, 20, 1, 20, 30, 0, 30, 120, 1), started: steps(10, 120, 600), ends: []int64{20 * minute}, want: 110},
		{name: "beyond the window", exact: true, seen: steps(10.5, 118, 1, 118, 119, 0), started: steps(10.5, 118, 610), ends: []int64{118 * minute}, end: 115, want: 115 - 610./60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := timeline.Sampling{Start: 0, End: 120 * minute, Step: minute, Lookback: timeline.Lookback, Interval: 30_000}
			if tt.exact {
				s.Step = 0
			}
			end := s.End
			if tt.end > 0 {
				end = int64(tt.end * minute)
			}
			p := timeline.Presence{Seen: tt.seen, Started: tt.started, Ends: tt.ends}
			runs, _ := s.Runs(&p, nil)
			got, ok := s.TrueDuration(&p, runs, end)
			if want := int64(tt.want*minute + 0.5); ok != (want > 0) || ok && got != want {
				t.Errorf("%d ms, known %v: want %d; runs %v", got, ok, want, runs)
			}
		})
	}
}
