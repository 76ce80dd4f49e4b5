package timeline_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestSeenIn looks for a series in intervals: its samples are 60 apart, but for a hole from 120 to 600, and each lasts until the next.
func TestSeenIn(t *testing.T) {
	t.Parallel()
	var p timeline.Points
	for _, at := range []int64{60, 120, 600, 660} {
		p.Append(at, 1)
	}
	exact := timeline.Sampling{Start: 1, End: 1000, Lookback: 300, Interval: 60}
	for name, tt := range map[string]struct {
		some timeline.Intervals
		want bool
	}{
		"nowhere":           {},
		"before":            {some: timeline.Intervals{{From: 0, To: 59}}},
		"the first sample":  {some: timeline.Intervals{{From: 0, To: 60}}, want: true},
		"as it lasts":       {some: timeline.Intervals{{From: 179, To: 190}}, want: true},
		"in the hole":       {some: timeline.Intervals{{From: 180, To: 599}}},
		"in one of several": {some: timeline.Intervals{{From: 180, To: 200}, {From: 650, To: 651}}, want: true},
		"after":             {some: timeline.Intervals{{From: 720, To: 900}}},
	} {
		if got := exact.SeenIn(&p, tt.some); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
