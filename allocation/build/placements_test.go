package build_test

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestPodsWithoutUID checks that a pod that is created again on another node has the cost of each node at its time, if metrics have no
// uid (kube-state-metrics 1.x).
func TestPodsWithoutUID(t *testing.T) {
	type placement struct {
		node     string
		from, to int // minutes in which it is seen there
	}
	for _, tt := range []struct {
		name       string
		placements []placement
		want       map[string]float64 // minutes by node
	}{
		{"one node", []placement{{"n1", 1, 121}}, map[string]float64{"n1": 120}},
		{"the same node again", []placement{{"n1", -4, 60}, {"n1", 61, 121}}, map[string]float64{"n1": 120}},
		{"another node", []placement{{"n1", 1, 31}, {"n2", 31, 121}}, map[string]float64{"n1": 30, "n2": 90}},
		{"another node before the window", []placement{{"n1", -4, -1}, {"n2", 0, 121}}, map[string]float64{"n2": 120}},
		{"there and back", []placement{{"n1", 1, 31}, {"n2", 31, 61}, {"n1", 61, 121}}, map[string]float64{"n1": 90, "n2": 30}},
		{"seen on both for a while", []placement{{"n1", 1, 35}, {"n2", 31, 121}}, map[string]float64{"n1": 30, "n2": 90}},
		{"not seen between", []placement{{"n1", 1, 31}, {"n2", 34, 121}}, map[string]float64{"n1": 33, "n2": 87}},
	} {
		for _, resolution := range []time.Duration{time.Minute, 0} {
			t.Run(tt.name+"/"+allocation.ResolutionText(resolution), func(t *testing.T) {
				q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(2 * time.Hour)}, Resolution: resolution}
				b, err := build.NewBuilder(t.Context(), q, time.Minute, flat{}, symbols, nil)
				if err != nil {
					t.Fatal(err)
				}
				f := feed{t: t, b: b}
				prices := map[string]float64{"n1": 1, "n2": 3}
				for node, price := range prices {
					f.add(signals.Series{Signal: signals.NodeInfo}, "c/"+node+"/id-"+node, minutes(1, -4, 121))
					f.add(signals.Series{Signal: signals.NodeCapacity}, "c/"+node, minutes(4, -4, 121))
					f.add(signals.Series{Signal: signals.NodePrice}, "c/"+node+"/////", minutes(price, -4, 121))
				}
				first := tt.placements[0].from
				var started []*timeline.Points
				for i, s := range tt.placements {
					f.add(signals.Series{Signal: signals.PodInfo}, "c/ns/p//"+s.node+"///", minutes(1, s.from, s.to))
					until := s.to
					if i+1 < len(tt.placements) {
						until = tt.placements[i+1].from - 1
					}
					started = append(started, minutes(float64(clusterStart.Add(time.Duration(s.from-1)*time.Minute).Unix()), s.from, until))
				}
				f.add(signals.Series{Signal: signals.PodStarted}, "c/ns/p/", join(started...))
				f.add(signals.Series{Signal: signals.ContainerRunning}, "c/ns/p//main/", minutes(1, first, 121))
				f.add(signals.Series{Signal: signals.ContainerRequest}, "c/ns/p//main", minutes(1, first, 121))
				set := finish(t, f, "c/ns/p//main//x")
				got, want, cost := map[string]float64{}, 0.0, 0.0
				for row := range set.Len() {
					got[set.Text(allocation.NodeName, row)] += set.Value(allocation.RunningSeconds, row) / 60
					cost += set.Value(allocation.Cost.Of(allocation.CPU), row)
				}
				for node, minutes := range tt.want {
					want += 2 * minutes / 60 * prices[node]
				}
				halfScrape := 0.5
				if resolution > 0 {
					halfScrape = 0
				}
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, halfScrape+1e-9)); diff != "" {
					t.Errorf("minutes by node (-want +got):\n%s", diff)
				}
				if math.Abs(cost-want) > 0.02*want {
					t.Errorf("cost %v, want %v", cost, want)
				}
			})
		}
	}
}

// TestPodsWithTheSameUID checks that pods of several names that have one UID, such as static pods of several clusters, are several pods.
func TestPodsWithTheSameUID(t *testing.T) {
	q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(time.Hour)}, Resolution: time.Minute}
	b, err := build.NewBuilder(t.Context(), q, time.Minute, flat{}, symbols, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := feed{t: t, b: b}
	want := map[string]float64{"c1/p": 1, "c2/p": 2, "c1/q": 3}
	for pod, cores := range want {
		cluster, name, _ := strings.Cut(pod, "/")
		f.add(signals.Series{Signal: signals.PodInfo}, cluster+"/ns/"+name+"/u/n///", minutes(1, -4, 61))
		f.add(signals.Series{Signal: signals.ContainerRunning}, cluster+"/ns/"+name+"/u/main/", minutes(1, -4, 61))
		f.add(signals.Series{Signal: signals.ContainerRequest}, cluster+"/ns/"+name+"/u/main", minutes(cores, -4, 61))
	}
	set, got := finish(t, f, "c1/ns/q/u/main//x"), map[string]float64{}
	for row := range set.Len() {
		got[set.Text(allocation.Cluster, row)+"/"+set.Text(allocation.Pod, row)] += set.Value(allocation.RequestHours.Of(allocation.CPU), row)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("requests by pod (-want +got):\n%s", diff)
	}
}

// finish adds a counter with two cores used all the time, and builds the set.
func finish(t *testing.T, f feed, key string) *allocation.Set {
	t.Helper()
	if err := f.b.Resolve(); err != nil {
		t.Fatal(err)
	}
	p := &timeline.Points{}
	for minute := -4; minute <= 120; minute++ {
		p.Append(clusterStart.Add(time.Duration(minute)*time.Minute).UnixMilli(), float64(minute+4)*120)
	}
	f.add(signals.Series{Signal: signals.ContainerUse, Unmarked: true}, key, p)
	if again, err := f.b.Finalize(); err != nil || len(again) > 0 {
		t.Fatalf("Finalize: %v, %v", again, err)
	}
	sets, err := f.b.Sets()
	if err != nil {
		t.Fatal(err)
	}
	if err := passes.Check(sets[0]); err != nil {
		t.Error(err)
	}
	return sets[0]
}

// TestInitContainersWithoutUID checks that an init container stays one when its pod's UID is found: it does not start with
// its pod.
func TestInitContainersWithoutUID(t *testing.T) {
	inputs := caseSignals()
	maps.Copy(inputs, map[string]*timeline.Points{"nameless init": minutes(1, 10, 15), "pod started": minutes(float64(clusterStart.Unix()), 1, 121)})
	set := buildCase(t, true, nil, inputs, nil)
	for row := range set.Len() {
		if minutes := set.Value(allocation.RunningSeconds, row) / 60; set.Text(allocation.Container, row) == "prepare" && math.Abs(minutes-5) > 0.01 {
			t.Errorf("it ran for %v minutes, want 5", minutes)
		}
	}
}
