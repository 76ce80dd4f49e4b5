package build_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// spotPrices price spot nodes at 1 and others at 3 a core-hour.
type spotPrices struct{ defaultItems }

func (spotPrices) Node(n rates.NodeAttributes, _ time.Time) rates.NodeRates {
	rates := rates.NodeRates{Source: "test"}
	rates.Price[allocation.CPU] = 3
	if n.Spot {
		rates.Price[allocation.CPU] = 1
	}
	return rates
}

// minutes are the samples of a value in minutes [from, to) of the case's window, a minute apart, with a staleness marker at
// the end. A sample at minute k is seen by the grid at k.
func minutes(v float64, from, to int) *timeline.Points {
	return sampled(clusterStart.Add(time.Duration(from)*time.Minute), time.Minute, repeat(v, to-from)...)
}

// caseSignals are the signals of a node of 4 cores at 1 an hour and a pod on it that requests a core, for the two hours of
// the window; a case changes some.
func caseSignals() map[string]*timeline.Points {
	return map[string]*timeline.Points{
		"node":     minutes(1, 1, 121),
		"created":  minutes(float64(clusterStart.Unix()), 1, 121),
		"capacity": minutes(4, 1, 121),
		"price":    minutes(1, 1, 121),
		"pod":      minutes(1, 1, 121),
		"running":  minutes(1, 1, 121),
		"started":  minutes(float64(clusterStart.Unix()), 1, 121),
		"request":  minutes(1, 1, 121),
	}
}

// caseSeries says what the signals of a case are.
var caseSeries = []struct {
	name, key string
	series    signals.Series
}{
	{"node", "c/n/id", signals.Series{Signal: signals.NodeInfo}},
	{"created", "c/n", signals.Series{Signal: signals.NodeCreated}},
	{"capacity", "c/n", signals.Series{Signal: signals.NodeCapacity}},
	{"price", "c/n/t/r/a/id", signals.Series{Signal: signals.NodePrice}},
	{"spot", "c/n", signals.Series{Signal: signals.NodeSpot}},
	{"pod", "c/ns/p/uid/n/ip/Job/j", signals.Series{Signal: signals.PodInfo}},
	{"running", "c/ns/p/uid/main/", signals.Series{Signal: signals.ContainerRunning}},
	{"fallback", "c/ns/p/uid/main/n", signals.Series{Signal: signals.ContainerRunning, Rank: 1}},
	{"init", "c/ns/p/uid/prepare/", signals.Series{Signal: signals.ContainerRunning, Init: true}},
	{"nameless init", "c/ns/p//prepare/", signals.Series{Signal: signals.ContainerRunning, Init: true}},
	{"started", "c/ns/p/uid/main", signals.Series{Signal: signals.ContainerStarted}},
	{"container created", "c/ns/p/uid/main", signals.Series{Signal: signals.ContainerStarted, Rank: 1, Unmarked: true}},
	{"pod started", "c/ns/p/uid", signals.Series{Signal: signals.PodStarted}},
	{"completed", "c/ns/p/uid", signals.Series{Signal: signals.PodCompleted}},
	{"deleted", "c/ns/p/uid", signals.Series{Signal: signals.PodDeleted}},
	{"request", "c/ns/p/uid/main", signals.Series{Signal: signals.ContainerRequest}},
}

// TestBuilderCases checks single rules of SEMANTICS by what a two-hour window costs. Costs are in core-hours at a price of
// 1 unless the case changes it.
func TestBuilderCases(t *testing.T) {
	at := func(minute float64) float64 {
		return float64(clusterStart.Add(time.Duration(minute*60)*time.Second).UnixMilli()) / 1000
	}
	for _, tt := range []struct {
		name    string
		exact   bool
		rates   rates.Rates
		change  map[string]*timeline.Points // nil takes a signal away
		usage   map[string]*timeline.Points // by key, of ContainerLevel
		running map[string]float64          // minutes by container
		cost    float64                     // of all workloads
		node    float64
		warning string
	}{
		{name: "plain", running: map[string]float64{"main": 120}, cost: 2, node: 8},
		{
			name: "node and pod are not seen for half an hour", running: map[string]float64{"main": 120}, cost: 2, node: 8,
			change: map[string]*timeline.Points{
				"node": join(minutes(1, 1, 31), minutes(1, 61, 121)), "capacity": join(minutes(4, 1, 31), minutes(4, 61, 121)),
				"running": join(minutes(1, 1, 31), minutes(1, 61, 121)), "started": join(minutes(at(0), 1, 31), minutes(at(0), 61, 121)),
			},
			warning: "no sample of kube_pod_container_status_running from 2026-03-02T10:30:00Z to 2026-03-02T11:00:00Z",
		},
		{
			name: "the window ends in an outage that only the fallback sees through", running: map[string]float64{"main": 120}, cost: 2, node: 8,
			change: map[string]*timeline.Points{
				"node": minutes(1, 1, 61), "capacity": minutes(4, 1, 61), "running": minutes(1, 1, 61), "started": minutes(at(0), 1, 61),
				"fallback": minutes(1, 61, 121),
			},
		},
		{
			name: "the window begins in an outage", running: map[string]float64{"main": 120}, cost: 2, node: 8,
			change: map[string]*timeline.Points{
				"node": join(minutes(1, -40, -20), minutes(1, 31, 121)), "capacity": join(minutes(4, -40, -20), minutes(4, 31, 121)),
				"running": join(minutes(1, -40, -20), minutes(1, 31, 121)), "started": join(minutes(at(-50), -40, -20), minutes(at(-50), 31, 121)),
			},
			warning: "no sample of kube_pod_container_status_running from 2026-03-02T09:39:00Z to 2026-03-02T10:30:00Z",
		},
		{
			name: "the data end before the window", running: map[string]float64{}, node: 8,
			change:  map[string]*timeline.Points{"running": minutes(1, -40, -20), "started": minutes(at(-50), -40, -20)},
			warning: "no sample of kube_pod_container_status_running from 2026-03-02T10:00:00Z to 2026-03-02T12:00:00Z, the newest is of about 2026-03-02T09:39:00Z: did its data end",
		},
		{
			name: "the data begin after the window", running: map[string]float64{}, node: 8,
			change:  map[string]*timeline.Points{"running": minutes(1, 130, 170), "started": minutes(at(129), 130, 170)},
			warning: "from 2026-03-02T10:00:00Z to 2026-03-02T12:00:00Z: has it no data of that time",
		},
		{
			name: "price change", running: map[string]float64{"main": 120}, cost: 1 + 3, node: 4 + 12,
			change: map[string]*timeline.Points{"price": join(minutes(1, 1, 60), minutes(3, 61, 121))},
		},
		{
			name: "negative prices are none", running: map[string]float64{"main": 120}, cost: 2, node: 8,
			change:  map[string]*timeline.Points{"price": join(minutes(1, 1, 60), minutes(-3, 61, 121))},
			warning: "negative prices by metrics of CPU of 1 node are left out (n)",
		},
		{
			name: "move to spot", rates: spotPrices{}, running: map[string]float64{"main": 120}, cost: 3 + 1, node: 12 + 4,
			change: map[string]*timeline.Points{"price": nil, "spot": join(minutes(0, 1, 60), minutes(1, 61, 121))},
		},
		{
			name: "default price", running: map[string]float64{"main": 120}, change: map[string]*timeline.Points{"price": nil},
			rates: flat{cpu: 2}, cost: 4, node: 16, warning: "1 node lacks a price",
		},
		{
			name: "a container of which only usage is known", running: map[string]float64{"main": 120, "debug": 30}, cost: 2, node: 8,
			usage: map[string]*timeline.Points{"c/ns/p/uid/debug/n/x": minutes(5, 11, 41)}, warning: "appears only in cAdvisor",
		},
		{
			name: "a completed pod", exact: true, running: map[string]float64{"main": 59.5}, cost: 59.5 / 60, node: 8,
			change: map[string]*timeline.Points{
				"running": join(minutes(1, 1, 60), minutes(0, 60, 121)), "completed": minutes(at(59.5), 60, 121),
			},
		},
		{
			name: "a deletion only caps", exact: true, running: map[string]float64{"main": 59.25}, cost: 59.25 / 60, node: 8,
			change:  map[string]*timeline.Points{"running": minutes(1, 1, 61), "deleted": minutes(at(59.25), 1, 61)},
			warning: "no sample of kube_pod_container_status_running after",
		},
		{
			name: "start by cAdvisor where kube-state-metrics is silent", exact: true, running: map[string]float64{"main": 59.75}, cost: 59.75 / 60, node: 8,
			change: map[string]*timeline.Points{
				"started": nil, "running": minutes(1, 61, 121), "pod": minutes(1, 61, 121), "request": minutes(1, 61, 121), "container created": minutes(at(60.25), 61, 121),
			},
			warning: "no sample of kube_pod_container_status_running before",
		},
		{
			name: "start by cAdvisor where the pod's is known", exact: true, running: map[string]float64{"main": 59.75}, cost: 59.75 / 60, node: 8,
			change: map[string]*timeline.Points{
				"started": nil, "running": minutes(1, 61, 121), "pod": minutes(1, 61, 121), "request": minutes(1, 61, 121), "pod started": minutes(at(60.25), 61, 121),
				"container created": minutes(at(30), 61, 121),
			},
			warning: "no sample of kube_pod_container_status_running before",
		},
		{
			name: "a start that cAdvisor does not know", exact: true, running: map[string]float64{"main": 59}, cost: 59. / 60, node: 8,
			change: map[string]*timeline.Points{
				"started": nil, "running": minutes(1, 61, 121), "pod": minutes(1, 61, 121), "request": minutes(1, 61, 121), "container created": minutes(-62135596800, 61, 121),
			},
			warning: "no sample of kube_pod_container_status_running before",
		},
		{
			name: "an init container does not start with its pod", exact: true, running: map[string]float64{"main": 120, "prepare": 5}, cost: 2, node: 8,
			change: map[string]*timeline.Points{"init": minutes(1, 10, 15), "pod started": minutes(at(0), 1, 121)},
		},
		{
			name: "an init container seen before an outage does not run until its pod completes", exact: true, cost: 85. / 60, node: 8,
			running: map[string]float64{"main": 85, "prepare": 5}, warning: "no sample of kube_pod_container_status_running from",
			change: map[string]*timeline.Points{
				"init": join(minutes(1, 10, 15), minutes(0, 30, 121)), "running": join(minutes(1, 30, 100), minutes(0, 100, 121)),
				"started": minutes(at(15), 30, 100), "completed": minutes(at(100), 100, 121),
			},
		},
		{
			name: "an init container whose pod's others start before the next scrape", exact: true, cost: 85.5 / 60, node: 8,
			running: map[string]float64{"main": 85.5, "prepare": 5}, warning: "no sample of kube_pod_container_status_running from",
			change: map[string]*timeline.Points{
				"init": join(minutes(1, 10, 15), minutes(0, 30, 121)), "running": join(minutes(1, 30, 100), minutes(0, 100, 121)),
				"started": minutes(at(14.5), 30, 100), "completed": minutes(at(100), 100, 121),
			},
		},
		{
			name: "a native sidecar ends with its pod", exact: true, cost: 89. / 60, node: 8,
			running: map[string]float64{"main": 89, "prepare": 90}, warning: "no sample of kube_pod_container_status_running from",
			change: map[string]*timeline.Points{
				"init": join(minutes(1, 10, 90), minutes(0, 105, 121)), "running": join(minutes(1, 11, 90), minutes(0, 105, 121)),
				"started": minutes(at(11), 11, 90), "completed": minutes(at(100), 105, 121),
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inputs := caseSignals()
			maps.Copy(inputs, tt.change)
			set := buildCase(t, tt.exact, tt.rates, inputs, tt.usage)
			running, cost := map[string]float64{}, 0.0
			for row := range set.Len() {
				running[set.Text(allocation.Container, row)] += set.Value(allocation.RunningSeconds, row) / 60
				cost += set.Value(allocation.Cost.Of(allocation.CPU), row)
			}
			slack := 1e-9
			if tt.exact {
				slack = 0.02 // the edges of node and window lie between samples
			}
			if len(running) != len(tt.running) {
				t.Errorf("containers %v, want %v", running, tt.running)
			}
			for container, want := range tt.running {
				if math.Abs(running[container]-want) > slack*60 {
					t.Errorf("%s ran for %v minutes, want %v", container, running[container], want)
				}
			}
			node := 0.0
			for i := range set.Nodes {
				node += set.Nodes[i].TotalCost()
			}
			if math.Abs(cost-tt.cost) > slack || math.Abs(node-tt.node) > 4*slack {
				t.Errorf("workloads cost %v, the node %v; want %v and %v", cost, node, tt.cost, tt.node)
			}
			if tt.warning != "" && !slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, tt.warning) }) {
				t.Errorf("no warning of %q: %q", tt.warning, set.Warnings)
			}
			if tt.warning == "" && len(set.Warnings) > 0 && tt.change["fallback"] == nil {
				t.Errorf("warnings: %q", set.Warnings)
			}
		})
	}
}

// join puts samples one after the other; the staleness marker between them stays.
func join(parts ...*timeline.Points) *timeline.Points {
	out := &timeline.Points{}
	for _, p := range parts {
		for at, v := range p.All() {
			out.Append(at, v)
		}
	}
	return out
}

// buildCase builds the set of a case as the engine does, with further series of its own.
func buildCase(t *testing.T, exact bool, rates rates.Rates, inputs, usage map[string]*timeline.Points, more ...given) *allocation.Set {
	t.Helper()
	q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(2 * time.Hour)}, Resolution: time.Minute}
	if exact {
		q.Resolution = 0
	}
	if rates == nil {
		rates = flat{cpu: 1}
	}
	b, err := build.NewBuilder(t.Context(), q, time.Minute, rates, symbols, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := feed{t: t, b: b}
	for _, s := range caseSeries {
		if p := inputs[s.name]; p != nil {
			f.add(s.series, s.key, p)
		}
	}
	for _, x := range more {
		f.add(signals.Series{Signal: x.signal}, x.key, x.points)
	}
	b.Beyond()
	b.Silent()
	if err := b.Resolve(); err != nil {
		t.Fatal(err)
	}
	for key, p := range usage {
		f.add(signals.Series{Signal: signals.ContainerLevel, Resource: allocation.RAM}, key, p)
	}
	if again, err := b.Finalize(); err != nil || again != nil {
		t.Fatalf("Finalize: %v, %v", again, err)
	}
	sets, err := b.Sets()
	if err != nil {
		t.Fatal(err)
	}
	if err := passes.Check(sets[0]); err != nil {
		t.Error(err)
	}
	return sets[0]
}
