package build_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestEvidence checks which containers of a pod are charged in exact mode, and for how many minutes, depending on their signals.
// Scrapes are a minute apart. Another pod of the case runs all the time.
func TestEvidence(t *testing.T) {
	unix := func(minute float64) float64 { return float64(clusterStart.Unix()) + minute*60 }
	pod := func(signal signals.Signal, v float64, from, to int) given {
		return given{signal: signal, key: "c/ns/q/uid-q", points: minutes(v, from, to)}
	}
	of := func(signal signals.Signal, container string, v float64, from, to int) given {
		key := "c/ns/q/uid-q/" + container
		if signal == signals.ContainerRunning {
			key += "/"
		}
		return given{signal: signal, key: key, points: minutes(v, from, to)}
	}
	initOf := func(v float64, from, to int) given {
		x := of(signals.ContainerRunning, "prepare", v, from, to)
		x.init = true
		return x
	}
	nameless := func(x given) given {
		x.key = strings.Replace(x.key, "/uid-q", "/", 1)
		return x
	}
	job := []given{
		{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, 31, 41)},
		of(signals.ContainerRequest, "main", 1, 31, 41),
	}
	unseen := concat(job, []given{of(signals.ContainerRunning, "main", 0, 31, 41)})
	for _, tt := range []struct {
		name    string
		series  []given
		want    map[string]float64 // minutes by container
		cost    float64            // core-minutes at a price of 1
		warning string
	}{
		{
			name:   "no scrape saw it running: charged from its start to its completion",
			series: concat(unseen, []given{of(signals.ContainerStarted, "main", unix(30.2), 31, 41), pod(signals.PodCompleted, unix(30.7), 31, 41)}),
			want:   map[string]float64{"main": 0.5}, cost: 0.5,
		},
		{
			name:   "or to its termination",
			series: concat(unseen, []given{of(signals.ContainerStarted, "main", unix(30.2), 31, 41), of(signals.ContainerTerminated, "main", unix(30.7), 31, 41)}),
			want:   map[string]float64{"main": 0.5}, cost: 0.5,
		},
		{
			name: "and usage where there is any",
			series: concat(unseen, []given{
				of(signals.ContainerStarted, "main", unix(30), 31, 41), pod(signals.PodCompleted, unix(30.5), 31, 41),
				{signal: signals.ContainerUse, key: "c/ns/q/uid-q/main//x", points: sampled(clusterStart.Add(30*time.Minute+15*time.Second), time.Minute, 45)}, // 3 cores
			}),
			want: map[string]float64{"main": 0.5}, cost: 1.5,
		},
		{
			name: "no end is told: it may not have run", series: concat(unseen, []given{of(signals.ContainerStarted, "main", unix(30.2), 31, 41)}),
		},
		{
			name: "the pod's start alone, not restarted and Succeeded",
			series: concat(unseen, []given{
				pod(signals.PodStarted, unix(30.2), 31, 41), pod(signals.PodCompleted, unix(30.7), 31, 41),
				of(signals.ContainerRestarts, "main", 0, 31, 41), pod(signals.PodFinal, 1, 31, 41),
			}),
			want: map[string]float64{"main": 0.5}, cost: 0.5,
		},
		{
			name: "the pod's start alone, restarted",
			series: concat(unseen, []given{
				pod(signals.PodStarted, unix(30.2), 31, 41), pod(signals.PodCompleted, unix(30.7), 31, 41),
				of(signals.ContainerRestarts, "main", 2, 31, 41), pod(signals.PodFinal, 1, 31, 41),
			}),
		},
		{
			name: "the pod's start alone, its phase is another",
			series: concat(unseen, []given{
				pod(signals.PodStarted, unix(30.2), 31, 41), pod(signals.PodCompleted, unix(30.7), 31, 41),
				of(signals.ContainerRestarts, "main", 0, 31, 41), pod(signals.PodFinal, 0, 31, 41),
			}),
		},
		{
			name:   "times of 0 and below are unknown",
			series: concat(unseen, []given{of(signals.ContainerStarted, "main", -62135596800, 31, 41), pod(signals.PodCompleted, unix(30.7), 31, 41)}),
		},
		{
			name:   "evicted before any container started",
			series: concat(job, []given{pod(signals.PodStarted, unix(30.2), 31, 41), pod(signals.PodFinal, 1, 31, 41)}),
		},
		{
			name: "an init container that no scrape saw costs nothing, and is counted",
			series: concat(job, []given{
				initOf(0, 31, 41), of(signals.ContainerRequest, "prepare", 1, 31, 41), pod(signals.PodStarted, unix(30.1), 31, 41),
				of(signals.ContainerRunning, "main", 1, 31, 41), of(signals.ContainerStarted, "main", unix(30.5), 31, 41),
			}),
			want: map[string]float64{"main": 10}, cost: 10, warning: "1 init container finished between two scrapes (ns/q/prepare)",
		},
		{
			name: "completion is that of the containers that are terminated then",
			series: concat(job, []given{
				of(signals.ContainerRunning, "main", 1, 31, 34), of(signals.ContainerStarted, "main", unix(30.5), 31, 41),
				of(signals.ContainerRunning, "proxy", 1, 31, 37), of(signals.ContainerStarted, "proxy", unix(30.5), 31, 41),
				{signal: signals.PodCompleted, key: "c/ns/q/uid-q", points: join(minutes(unix(33.3), 34, 37), minutes(unix(36.6), 37, 41))},
			}),
			want: map[string]float64{"main": 2.8, "proxy": 6.1}, cost: 2.8,
		},
		{
			name: "a native sidecar starts when cAdvisor says",
			series: concat(job, []given{
				initOf(1, 31, 41),
				{signal: signals.ContainerStarted, rank: 1, key: "c/ns/q/uid-q/prepare", points: minutes(unix(30.1), 31, 41)},
				of(signals.ContainerRunning, "main", 1, 31, 41), of(signals.ContainerStarted, "main", unix(30.5), 31, 41),
			}),
			want: map[string]float64{"main": 10, "prepare": 10.4}, cost: 10,
		},
		{
			name: "back-off is not charged where starts are dropped",
			series: concat(job, []given{
				{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: series(31, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0)},
				pod(signals.PodStarted, unix(30), 31, 41),
				{signal: signals.ContainerTerminated, key: "c/ns/q/uid-q/main", points: join(minutes(unix(32.4), 33, 37), minutes(unix(36.2), 37, 41))},
			}),
			want: map[string]float64{"main": 32.4 - 30.5 + 36.2 - 35.5}, cost: 32.4 - 30.5 + 36.2 - 35.5,
		},
		{
			name: "made again under its name, on its node, and metrics have no uid",
			series: []given{
				{signal: signals.PodInfo, key: "c/ns/q//n/ip2/StatefulSet/q", points: minutes(1, 31, 61)},
				nameless(of(signals.ContainerRunning, "main", 1, 31, 61)), nameless(of(signals.ContainerRequest, "main", 1, 31, 61)),
				{signal: signals.ContainerStarted, key: "c/ns/q//main", points: join(minutes(unix(30.5), 31, 41), minutes(unix(40.7), 41, 61))},
				{signal: signals.PodStarted, key: "c/ns/q/", points: join(minutes(unix(30.3), 31, 41), minutes(unix(40.5), 41, 61))},
				{signal: signals.PodDeleted, key: "c/ns/q/", points: minutes(unix(40.9), 40, 41)},
			},
			want: map[string]float64{"main": 60.5 - 30.5 - 0.35}, cost: 60.5 - 30.5 - 0.35, // half of the time between the last scrape and the start is nobody's
		},
		{
			name: "known by usage alone: one sample counts for a scrape interval",
			series: []given{
				{signal: signals.ContainerLevel, resource: allocation.RAM, key: "c/ns/debug/uid-d/sh/n/x", points: sampled(clusterStart.Add(33*time.Minute), time.Minute, gib)},
				{signal: signals.ContainerUse, key: "c/ns/debug/uid-d/sh/n/x", points: sampled(clusterStart.Add(33*time.Minute), time.Minute, 30)},
			},
			want: map[string]float64{"sh": 1}, cost: 0.5 + 0.5, warning: "1 container appears only in cAdvisor",
		},
		{
			name: "usage alone, long after the window",
			series: []given{
				{signal: signals.ContainerLevel, resource: allocation.RAM, key: "c/ns/debug/uid-d/sh/n/x", points: sampled(clusterStart.Add(10*time.Hour), time.Minute, gib)},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := buildGiven(t, allocation.Query{}, tt.series)[0]
			got, cost := map[string]float64{}, 0.0
			for row := range set.Len() {
				if set.Text(allocation.Pod, row) != "p" && set.Special(row) == allocation.Workload {
					got[set.Text(allocation.Container, row)] += set.Value(allocation.RunningSeconds, row) / 60
					cost += set.Value(allocation.Cost.Of(allocation.CPU), row) * 60
					if node := set.Text(allocation.NodeName, row); node != "n" {
						t.Errorf("%s is on node %q", set.Text(allocation.Container, row), node)
					}
				}
			}
			if d := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-4), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("minutes (-want +got):\n%s", d)
			}
			if math.Abs(cost-tt.cost) > 1e-3 {
				t.Errorf("cost %v core-minutes, want %v", cost, tt.cost)
			}
			if alone := "only in cAdvisor"; !strings.Contains(tt.warning, alone) && strings.Contains(strings.Join(set.Warnings, "\n"), alone) {
				t.Errorf("a warning of usage alone: %q", set.Warnings)
			}
			if tt.warning != "" && !slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, tt.warning) }) {
				t.Errorf("no warning of %q: %q", tt.warning, set.Warnings)
			}
		})
	}
}

// series are samples of values a minute apart.
func series(from int, values ...float64) *timeline.Points {
	return sampled(clusterStart.Add(time.Duration(from)*time.Minute), time.Minute, values...)
}

// TestNodeOfKubelet checks the node of a container of which only usage is known, by the kubelet in the labels of its series.
func TestNodeOfKubelet(t *testing.T) {
	for at, want := range map[string]string{"n": "n", "n:10250": "n", "10.0.0.7": "n", "10.0.0.7:10250": "n", "10.0.0.8:10250": "", "other": "other"} {
		t.Run(at, func(t *testing.T) {
			set := buildGiven(t, allocation.Query{}, []given{
				{signal: signals.NodeAddress, key: "c/n/10.0.0.7", points: minutes(1, 1, 121)},
				{signal: signals.ContainerLevel, resource: allocation.RAM, key: "c/ns/debug/uid-d/sh/" + at + "/x", points: minutes(gib, 33, 40)},
			})[0]
			nodes := map[string]string{}
			for row := range set.Len() {
				nodes[set.Text(allocation.Container, row)] = set.Text(allocation.NodeName, row)
			}
			maps.DeleteFunc(nodes, func(container, _ string) bool { return container != "sh" })
			if d := cmp.Diff(map[string]string{"sh": want}, nodes); d != "" {
				t.Error(d)
			}
		})
	}
}
