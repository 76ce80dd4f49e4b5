package build_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
)

// TestTrafficOfOutages checks what is charged for a pod's traffic of 1 GiB a minute that was not seen all the time.
func TestTrafficOfOutages(t *testing.T) {
	const egress, usage = "c/ns/q/uid-q/true/false/false//i", "c/ns/q/uid-q/main//"
	start := float64(clusterStart.Add(-600 * time.Minute).Unix())
	late := []given{
		{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, 61, 121)},
		{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: minutes(1, 61, 121)},
		{signal: signals.ContainerStarted, key: "c/ns/q/uid-q/main", points: minutes(start, 61, 121)},
	}
	moved := func(from, to int) given {
		return given{signal: signals.PodEgress, key: egress, points: counted(gib, from, to)}
	}
	used := func(from, to int) given {
		return given{signal: signals.ContainerLevel, key: usage, points: minutes(0.1, from, to)}
	}
	since := make([]float64, 60)
	for i := range since {
		since[i] = gib * float64(600+61+i)
	}
	history := given{signal: signals.PodEgress, key: egress, points: sampled(clusterStart.Add(61*time.Minute), time.Minute, since...)}
	for _, tt := range []struct {
		name   string
		series []given
		gib    float64
	}{
		{"before the first samples", concat(late, []given{history}), 60},
		{"the kubelet is gone", concat(other(1, 121), []given{used(1, 61), moved(1, 61)}), 120},
		{"the counter is gone", concat(other(1, 121), []given{used(1, 121), moved(1, 61)}), 60},
		{"the counter is gone and nothing tells usage", concat(other(1, 121), []given{moved(1, 61)}), 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sets := buildGiven(t, allocation.Query{Resolution: time.Minute}, tt.series)
			compareRows(t, sets, map[string]float64{"q/main": tt.gib * 0.12}, 1e-9, allocation.NetworkInternetCost)
		})
	}
}

// TestBreakdownOfOldNodes checks that a node's CPU time before its first samples does not count for the window.
func TestBreakdownOfOldNodes(t *testing.T) {
	for name, tt := range map[string]struct {
		from int // minute of the first samples
		want allocation.Breakdown
	}{
		"seen first within the window": {61, allocation.Breakdown{Idle: 0.6, User: 0.4}},
		"not seen but at its end":      {119, allocation.Breakdown{}},
	} {
		t.Run(name, func(t *testing.T) {
			var series []given
			for mode, seconds := range map[string][2]float64{"idle": {10_100, 10_160}, "user": {2_100, 2_140}} {
				if tt.from < 119 {
					series = append(series, given{signal: signals.NodeTime, key: "c/n/" + mode, points: minutes(seconds[0], tt.from, tt.from+1)})
				}
				series = append(series, given{signal: signals.NodeTime, key: "c/n/" + mode, points: minutes(seconds[1], 119, 120)})
			}
			s := buildGiven(t, allocation.Query{Resolution: time.Minute}, series)[0]
			equalText(t, "cpu", s.Nodes[0].CPUBreakdown, tt.want)
		})
	}
}

// TestBreakdownOfNodesThatEnd checks what the CPU of a node was used for if the node ends within a set: its counters count until it was
// last seen.
func TestBreakdownOfNodesThatEnd(t *testing.T) {
	const ends = 91 // minute after the node's last samples
	for name, tt := range map[string]struct {
		from int // minute of the first samples
		step time.Duration
		want []allocation.Breakdown // by set
	}{
		"there before the window":      {-10, 0, []allocation.Breakdown{{Idle: 0.6, User: 0.4}}},
		"joined in the window":         {21, 0, []allocation.Breakdown{{Idle: 0.6, User: 0.4}}},
		"ended in the second of two":   {-10, time.Hour, []allocation.Breakdown{{Idle: 0.6, User: 0.4}, {Idle: 0.6, User: 0.4}}},
		"joined in the first of two":   {21, time.Hour, []allocation.Breakdown{{Idle: 0.6, User: 0.4}, {Idle: 0.6, User: 0.4}}},
		"many sets, read at both ends": {-10, 4 * time.Minute, slices.Repeat([]allocation.Breakdown{{Idle: 0.6, User: 0.4}}, 23)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, resolution := range []time.Duration{0, time.Minute} {
				q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(2 * time.Hour)}, Step: tt.step, Resolution: resolution}
				b, err := build.NewBuilder(t.Context(), q, time.Minute, flat{cpu: 1}, symbols, nil)
				if err != nil {
					t.Fatal(err)
				}
				f := feed{t: t, b: b}
				created := float64(clusterStart.Add(time.Duration(tt.from-1) * time.Minute).Unix())
				f.add(signals.Series{Signal: signals.NodeInfo}, "c/n/id", minutes(1, tt.from, ends))
				f.add(signals.Series{Signal: signals.NodeCreated}, "c/n", minutes(created, tt.from, ends))
				f.add(signals.Series{Signal: signals.NodeCapacity}, "c/n", minutes(4, tt.from, ends))
				f.add(signals.Series{Signal: signals.NodeInfo}, "c/m/id-m", minutes(1, -10, 121)) // it goes on
				last, whole := b.Borders()
				for _, span := range append(last, whole...) {
					f.only = &span
					for mode, rate := range map[string]float64{"idle": 36, "user": 24} {
						f.add(signals.Series{Signal: signals.NodeTime}, "c/n/"+mode, counted(rate, tt.from, ends))
						f.add(signals.Series{Signal: signals.NodeTime}, "c/m/"+mode, counted(60-rate, -10, 121))
					}
				}
				if err := b.Resolve(); err != nil {
					t.Fatal(err)
				}
				if again, err := b.Finalize(); err != nil || again != nil {
					t.Fatalf("Finalize: %v, %v", again, err)
				}
				sets, err := b.Sets()
				if err != nil {
					t.Fatal(err)
				}
				var got []allocation.Breakdown
				for _, s := range sets {
					for _, n := range s.Nodes {
						if n.Name == "n" {
							got = append(got, n.CPUBreakdown)
						}
						if want := (allocation.Breakdown{Idle: 0.4, User: 0.6}); n.Name == "m" {
							equalText(t, "node that goes on", n.CPUBreakdown, want)
						}
					}
				}
				equalText(t, allocation.ResolutionText(resolution), got, tt.want)
			}
		})
	}
}

// TestBreakdownOfManyNodesThatEnd checks the same if more nodes end at different times than stretches are read: all have a breakdown, and
// no time is read twice.
func TestBreakdownOfManyNodesThatEnd(t *testing.T) {
	const nodes, apart = 40, 10 // minutes
	ends := func(i int) int { return apart * (i + 1) }
	for _, step := range []time.Duration{0, time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(7 * time.Hour)}, Step: step}
			b, err := build.NewBuilder(t.Context(), q, time.Minute, flat{cpu: 1}, symbols, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := feed{t: t, b: b}
			for i := range nodes {
				f.add(signals.Series{Signal: signals.NodeInfo}, fmt.Sprintf("c/n%d/id-%d", i, i), minutes(1, -10, ends(i)))
				f.add(signals.Series{Signal: signals.NodeCapacity}, fmt.Sprintf("c/n%d", i), minutes(4, -10, ends(i)))
			}
			last, whole := b.Borders()
			spans := append(last, whole...)
			slices.SortFunc(spans, func(x, y build.Span) int { return int(x.Start - y.Start) })
			for i := range spans {
				if i > 0 && spans[i].Start <= spans[i-1].End {
					t.Errorf("%v and %v are read", spans[i-1], spans[i])
				}
				f.only = &spans[i]
				for k := range nodes {
					for mode, rate := range map[string]float64{"idle": 36, "user": 24} {
						f.add(signals.Series{Signal: signals.NodeTime}, fmt.Sprintf("c/n%d/%s", k, mode), counted(rate, -10, ends(k)))
					}
				}
			}
			if n := len(spans); n > 40 {
				t.Errorf("%d stretches are read", n)
			}
			if err := b.Resolve(); err != nil {
				t.Fatal(err)
			}
			if again, err := b.Finalize(); err != nil || again != nil {
				t.Fatalf("Finalize: %v, %v", again, err)
			}
			sets, err := b.Sets()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sets {
				for _, n := range s.Nodes {
					equalText(t, n.Name, n.CPUBreakdown, allocation.Breakdown{Idle: 0.6, User: 0.4})
				}
			}
		})
	}
}
