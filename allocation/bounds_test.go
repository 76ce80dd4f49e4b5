package allocation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestBoundsOfWindow checks that error bounds are those of the window, not of what is looked at after it, of pods that run
// beyond it whose start is known or not.
func TestBoundsOfWindow(t *testing.T) {
	const last = 126
	started := float64(plainStart.Add(time.Hour + 30*time.Second).Unix())
	list := []given{
		{signal: allocation.ContainerRunning, key: "c/ns/p/uid/main/", points: minutes(1, 1, last)},
		{signal: allocation.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, 61, last)},
		{signal: allocation.ContainerRunning, key: "c/ns/q/uid-q/counted/", points: minutes(1, 61, last)},
		{signal: allocation.ContainerRunning, key: "c/ns/q/uid-q/known/", points: minutes(1, 61, last)},
		{signal: allocation.ContainerStarted, key: "c/ns/q/uid-q/known", points: minutes(started, 61, last)},
	}
	type bounds struct{ Lower, Upper float64 }
	of := func(lower, upper float64) bounds { return bounds{lower, upper} }
	for name, resolution := range map[string]time.Duration{"grid": time.Minute, "exact": 0} {
		t.Run(name, func(t *testing.T) {
			counted := 60.0
			if resolution == 0 {
				counted = 59 // its first sample is a minute late
			}
			want := map[string]bounds{
				"main": of(timeline.Bounds(2*time.Hour, time.Minute)), "known": of(timeline.Bounds(59*time.Minute+30*time.Second, time.Minute)), "counted": of(timeline.CountBounds(counted)),
			}
			set := buildGiven(t, allocation.Query{Resolution: resolution, After: 5 * time.Minute}, list)[0]
			got := map[string]bounds{}
			for row := range set.Len() {
				lower, upper, _ := set.ErrorBounds(row)
				got[set.Text(allocation.Container, row)] = bounds{lower, upper}
			}
			if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
				t.Error(d)
			}
		})
	}
}
