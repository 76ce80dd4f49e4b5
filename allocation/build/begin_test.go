package build_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestTrafficOfInitContainers builds a pod that runs an init container for three minutes, then another container, and whose counter is
// first seen after both began: each container bears what was sent while it ran.
func TestTrafficOfInitContainers(t *testing.T) {
	at := func(minute int) float64 { return float64(clusterStart.Add(time.Duration(minute) * time.Minute).Unix()) }
	const rate = 1e6 // bytes a minute
	var values []float64
	for minute := 21; minute <= 121; minute++ {
		values = append(values, float64(minute-17)*rate)
	}
	for _, resolution := range []time.Duration{0, time.Minute} {
		t.Run(allocation.ResolutionText(resolution), func(t *testing.T) {
			s := buildGiven(t, allocation.Query{Resolution: resolution}, []given{
				{signal: signals.NodeInfo, key: "c/n/i-1", points: minutes(1, 1, 121)},
				{signal: signals.NodeCapacity, key: "c/n", points: minutes(4, 1, 121)},
				{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip/Job/j", points: minutes(1, 17, 121)},
				{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/prepare/", init: true, points: join(minutes(1, 18, 21), minutes(0, 21, 121))},
				{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: minutes(1, 21, 121)},
				{signal: signals.ContainerStarted, key: "c/ns/q/uid-q/main", points: minutes(at(20), 21, 121)},
				{signal: signals.PodTransmitted, key: "c/ns/q/uid-q/eth0/", points: sampled(clusterStart.Add(21*time.Minute), time.Minute, values...)},
			})[0]
			got := map[string]float64{}
			for row := range s.Len() {
				got[s.Text(allocation.Container, row)] = s.Value(allocation.NetworkTransferBytes, row) / rate
			}
			if got["prepare"] < 2.5 || got["prepare"] > 3.5 || got["main"] < 99 || got["main"] > 101 {
				t.Errorf("sent %v MB, want about 3 by prepare and 100 by main", got)
			}
		})
	}
}

// TestWhereDataBegin builds a window in which nothing is seen before minute 30. Nobody is charged for what a pod sent before, whether its
// counter or the pod is seen first. A node on which a container started just before lives since then.
func TestWhereDataBegin(t *testing.T) {
	at := func(minute int) float64 { return float64(clusterStart.Add(time.Duration(minute) * time.Minute).Unix()) }
	const rate = 1e6 // bytes a minute
	sent := func(from int) *timeline.Points {
		values := make([]float64, 121-from)
		for i := range values {
			values[i] = rate * float64(600+from+i)
		}
		return sampled(clusterStart.Add(time.Duration(from)*time.Minute), time.Minute, values...)
	}
	pod := func(started, counter int, more ...given) []given {
		return concat([]given{
			{signal: signals.NodeInfo, key: "c/late/i-2", points: minutes(1, 31, 121)},
			{signal: signals.NodeCapacity, key: "c/late", points: minutes(4, 31, 121)},
			{signal: signals.PodInfo, key: "c/ns/q/uid-q/late/ip/Job/j", points: minutes(1, 31, 121)},
			{signal: signals.PodStarted, key: "c/ns/q/uid-q", points: minutes(at(-600), 31, 121)},
			{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: minutes(1, 31, 121)},
			{signal: signals.ContainerStarted, key: "c/ns/q/uid-q/main", points: minutes(at(started), 31, 121)},
			{signal: signals.ContainerRequest, key: "c/ns/q/uid-q/main", points: minutes(1, 31, 121)},
			{signal: signals.PodTransmitted, key: "c/ns/q/uid-q/eth0/", points: sent(counter)},
		}, more)
	}
	ended := given{signal: signals.ContainerTerminated, key: "c/ns/q/uid-q/main", points: minutes(at(28), 31, 121)}
	for _, tt := range []struct {
		name        string
		series      []given
		resolutions []time.Duration // exact mode has containers run since they say, where the cluster was seen
	}{
		{"counter after the pod", pod(-600, 32), []time.Duration{time.Minute}},
		{"counter with the pod", pod(-600, 31), []time.Duration{time.Minute}},
		{"counter before the pod", pod(-600, 30), []time.Duration{time.Minute}},
		{"container that started again just before", pod(29, 32, ended), []time.Duration{time.Minute, 0}},
	} {
		for _, resolution := range tt.resolutions {
			t.Run(tt.name+"/"+allocation.ResolutionText(resolution), func(t *testing.T) {
				s := buildGiven(t, allocation.Query{Resolution: resolution}, tt.series)[0]
				found := false
				for row := range s.Len() {
					if s.Text(allocation.Pod, row) == "q" {
						found = true
						if got := s.Value(allocation.NetworkTransferBytes, row); got < 85*rate || got > 95*rate {
							t.Errorf("sent %v bytes, want about %v", got, 90*rate)
						}
					}
				}
				if !found || len(s.Residuals) > 0 {
					t.Errorf("residuals %v, want none; the pod is there: %v", s.Residuals, found)
				}
			})
		}
	}
}
