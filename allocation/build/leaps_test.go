package build_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestCounterLeaps checks that an increase of a counter by more than ten times the capacity of its node is left out, with a warning that
// names the container and the time, and that usage before and after it counts. The node has 4 cores.
func TestCounterLeaps(t *testing.T) {
	shownAt := map[time.Duration]string{0: "01", time.Minute: "01", 5 * time.Minute: "05"}
	for _, resolution := range []time.Duration{0, time.Minute, 5 * time.Minute} {
		for _, tt := range []struct {
			name   string
			leap   float64 // core-seconds within one minute, after an hour
			want   float64 // core-hours in all
			warned bool
		}{
			{"none", 0, 1, false},
			{"as much as the node has", 200, 1 + 200./3600, false},
			{"far more", 1e9, 1, true},
		} {
			points := &timeline.Points{}
			for minute := range 121 {
				v := float64(minute) * 30
				if minute > 60 {
					v += tt.leap
				}
				points.Append(clusterStart.Add(time.Duration(minute)*time.Minute).UnixMilli(), v)
			}
			s := buildGiven(t, allocation.Query{Resolution: resolution}, []given{{signal: signals.ContainerUse, key: "c/ns/p/uid/main//", points: points}})[0]
			slack := 0.02 // the minute that is left out
			if resolution > time.Minute {
				slack = 0.1
			}
			if got := s.Value(allocation.UsageHours.Of(allocation.CPU), 0); math.Abs(got-tt.want) > slack {
				t.Errorf("resolution %v, %s: %v core-hours used, want %v", resolution, tt.name, got, tt.want)
			}
			warned := slices.ContainsFunc(s.Warnings, func(w string) bool {
				return strings.Contains(w, "1 increase of containers' CPU counters (ns/p/main at 2026-03-02T11:"+shownAt[resolution]+":00Z) is left out")
			})
			if warned != tt.warned {
				t.Errorf("resolution %v, %s: warned %v, want %v: %q", resolution, tt.name, warned, tt.warned, s.Warnings)
			}
		}
	}
}
