package build_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestBadRequests checks that negative and non-finite requests are left out, with a warning that names their container.
func TestBadRequests(t *testing.T) {
	half := func(v float64) *timeline.Points { // of the window: before, two cores are requested
		p := minutes(2, 1, 61)
		for at := range minutes(0, 61, 121).All() {
			p.Append(at, v)
		}
		return p
	}
	for name, tt := range map[string]struct {
		points *timeline.Points
		warned bool
	}{
		"as they should be": {minutes(2, 1, 121), false},
		"below 0":           {half(-2), true},
		"not a number":      {half(math.NaN()), true},
		"infinite":          {half(math.Inf(1)), true},
	} {
		t.Run(name, func(t *testing.T) {
			const key = "c/ns/odd/uid-odd/main"
			s := buildGiven(t, allocation.Query{}, []given{
				{signal: signals.PodInfo, key: "c/ns/odd/uid-odd/n/ip9/Job/j", points: minutes(1, 1, 121)},
				{signal: signals.ContainerRunning, key: key + "/", points: minutes(1, 1, 121)},
				{signal: signals.ContainerStarted, key: key, points: minutes(float64(clusterStart.Unix()), 1, 121)},
				{signal: signals.ContainerRequest, key: key, points: tt.points},
			})[0]
			for row := range s.Len() {
				// What was requested last is held.
				if got := s.Value(allocation.RequestHours.Of(allocation.CPU), row); s.Text(allocation.Pod, row) == "odd" && math.Abs(got-4) > 0.1 {
					t.Errorf("%v core-hours requested, want 4", got)
				}
			}
			warned := slices.ContainsFunc(s.Warnings, func(w string) bool {
				return strings.Contains(w, "requests of 1 container (ns/odd/main) are left out")
			})
			if warned != tt.warned {
				t.Errorf("warned: %v, want %v: %q", warned, tt.warned, s.Warnings)
			}
		})
	}
}
