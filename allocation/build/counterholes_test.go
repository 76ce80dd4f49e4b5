package build_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
)

// TestOrderOfSeries checks that the cost of a container that restarts does not depend on the order of its series. Each start has its own
// series, and sources return them in any order.
func TestOrderOfSeries(t *testing.T) {
	unix := func(minute float64) float64 { return float64(clusterStart.Unix()) + minute*60 }
	const key = "c/ns/q/uid-q/main"
	inputs := []given{
		{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, 10, 60)},
		{signal: signals.ContainerRequest, key: key, points: minutes(0.5, 10, 60)},
		{signal: signals.ContainerRunning, key: key + "/", points: minutes(1, 10, 60)},
		{signal: signals.ContainerStarted, key: key, points: series(10, slices.Concat(
			slices.Repeat([]float64{unix(9.2)}, 20), slices.Repeat([]float64{unix(29.5)}, 30))...)}, // no scrape told the start of b
	}
	usage := []given{
		{signal: signals.ContainerUse, key: key + "//a", points: counted(40, 10, 19)},
		{signal: signals.ContainerUse, key: key + "//b", points: sampled(clusterStart.Add(20*time.Minute+7*time.Second), time.Minute, 31)},
		{signal: signals.ContainerUse, key: key + "//c", points: counted(70, 30, 60)},
		{signal: signals.ContainerLevel, resource: allocation.RAM, key: key + "//a", points: minutes(gib/3, 10, 19)},
		{signal: signals.ContainerLevel, resource: allocation.RAM, key: key + "//c", points: minutes(gib/7, 30, 60)},
	}
	columns := func(order []int) map[string][]float64 {
		list := slices.Clone(inputs)
		for _, i := range order {
			list = append(list, usage[i])
		}
		set := buildGiven(t, allocation.Query{}, list)[0]
		out := map[string][]float64{}
		for row := range set.Len() {
			for c := range allocation.NumColumns {
				name := set.Text(allocation.PodUID, row)
				out[name] = append(out[name], set.Value(c, row))
			}
		}
		return out
	}
	want := columns([]int{0, 1, 2, 3, 4})
	if used := want["uid-q"][allocation.UsageHours.Of(allocation.CPU)]; used <= 0 {
		t.Fatalf("it used %v core-hours", used)
	}
	for _, order := range [][]int{{2, 1, 0, 4, 3}, {1, 0, 2, 3, 4}, {4, 2, 0, 3, 1}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			if d := cmp.Diff(want, columns(order)); d != "" {
				t.Errorf("columns (-in the order of time +in this one):\n%s", d)
			}
		})
	}
}

// TestUsageThatNobodyMeasures checks that an hour is complete if nobody measures the usage of its containers: later samples cannot
// change it.
func TestUsageThatNobodyMeasures(t *testing.T) {
	set := buildGiven(t, allocation.Query{Alone: true, After: 10 * time.Minute}, []given{
		{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, 0, 131)},
		{signal: signals.ContainerRequest, key: "c/ns/q/uid-q/main", points: minutes(0.5, 0, 131)},
		{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: minutes(1, 0, 131)},
	})[0]
	if set.Incomplete {
		t.Error("the set is incomplete")
	}
}
