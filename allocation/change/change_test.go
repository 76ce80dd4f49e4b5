package change_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/passes"
)

// start is when the current window of the tests begins.
var start = time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)

// run is a container of one pod for a number of hours on one node.
type run struct {
	team, controller, pod, container, node string
	hours                                  float64
	request, use                           [allocation.NumResources]float64
	price                                  [allocation.NumResources]float64 // of an amount × hour
	other                                  map[allocation.Column]float64
}

// nodes are the classes of nodes: the node is named after its instance type and whether it is a spot instance.
var nodes = []allocation.Node{
	{Cluster: "c", Name: "large", InstanceType: "m5.large"},
	{Cluster: "c", Name: "spot", InstanceType: "m5.large", Spot: true},
	{Cluster: "c", Name: "huge", InstanceType: "m5.24xlarge"},
}

// set makes a set of runs, each of which lasts for hours × pods.
func set(dict *allocation.Dict, from time.Time, length time.Duration, runs []run) *allocation.Set {
	s := allocation.NewSet(allocation.Window{Start: from, End: from.Add(length)}, dict)
	s.Nodes = slices.Clone(nodes)
	for _, r := range runs {
		row := allocation.Row{Start: from, End: from.Add(length), Labels: map[string]string{"team": r.team}}
		for p, text := range map[allocation.Property]string{
			allocation.Cluster: "c", allocation.NodeName: r.node, allocation.Namespace: "n", allocation.Pod: r.pod, allocation.PodUID: r.pod,
			allocation.Container: r.container, allocation.Controller: r.controller,
		} {
			row.Text[p] = text
		}
		if r.controller != "" {
			row.Text[allocation.ControllerKind] = "deployment"
		}
		seconds := r.hours * 3600
		row.Values[allocation.RunningSeconds], row.Values[allocation.LeastSeconds], row.Values[allocation.MostSeconds] = seconds, seconds, seconds
		for i := range allocation.NumResources {
			asked, priced := r.request[i]*r.hours, max(r.request[i], r.use[i])*r.hours
			row.Values[allocation.RequestHours.Of(i)], row.Values[allocation.UsageHours.Of(i)] = asked, r.use[i]*r.hours
			row.Values[allocation.Hours.Of(i)], row.Values[allocation.Cost.Of(i)] = priced, priced*r.price[i]
		}
		for c, v := range r.other {
			row.Values[c] = v
		}
		s.Append(&row)
	}
	return s
}

// keys parses keys of the tests.
func keys(t *testing.T, text string) []allocation.Key {
	t.Helper()
	list, err := allocation.ParseKeys(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// explain runs the passes and explains the change.
func explain(t *testing.T, o passes.Options, l change.Levels, sides [2]*allocation.Set) (rows []change.Row, total change.Row) {
	t.Helper()
	var passed [2]change.Side
	for i, s := range sides {
		out, err := passes.Apply([]*allocation.Set{s}, l.Options(o))
		if err != nil {
			t.Fatal(err)
		}
		passed[i] = change.Side{Set: out[0], Covered: coverage.Coverage{Window: s.Window.Duration().Hours()}}
	}
	rows, total, err := change.Explain(passed[0], passed[1], l)
	if err != nil {
		t.Fatal(err)
	}
	return rows, total
}

// effectsOf are the effects of a row that are not 0, by name, rounded.
func effectsOf(e *change.Effects) map[string]float64 {
	out := map[string]float64{}
	for i, v := range e {
		if rounded := math.Round(v*1e9) / 1e9; rounded != 0 {
			out[change.Effect(i).String()] = rounded
		}
	}
	return out
}

// web is a container that requests a core and no memory, for a day on a large node.
func web(alter func(*run)) run {
	r := run{team: "a", controller: "web", pod: "web-1", container: "web", node: "large", hours: 24}
	r.request[allocation.CPU], r.price[allocation.CPU] = 1, 0.05
	if alter != nil {
		alter(&r)
	}
	return r
}

// twin is a second pod of the same controller.
func twin(r *run) { r.pod = "web-2" }

// TestPureChanges changes one thing: it is the only effect.
func TestPureChanges(t *testing.T) {
	cost := func(c allocation.Column, v float64) func(*run) {
		return func(r *run) { r.other = map[allocation.Column]float64{c: v} }
	}
	for _, tt := range []struct {
		name          string
		before, after []run
		hours         time.Duration // of the current window; 24 where it is 0
		want          map[string]float64
	}{
		{"nothing", []run{web(nil)}, []run{web(nil)}, 0, map[string]float64{}},
		{"price", []run{web(nil)}, []run{web(func(r *run) { r.price[allocation.CPU] = 0.1 })}, 0, map[string]float64{"price": 1.2}},
		{"replicas", []run{web(nil)}, []run{web(nil), web(twin)}, 0, map[string]float64{"replicas": 1.2}},
		{"request", []run{web(nil)}, []run{web(func(r *run) { r.request[allocation.CPU] = 2 })}, 0, map[string]float64{"sizeRequest": 1.2}},
		{"use beyond the request", []run{web(nil)}, []run{web(func(r *run) { r.use[allocation.CPU] = 1.5 })}, 0, map[string]float64{"sizeBurst": 0.6}},
		{"use that is all but within the request", []run{web(func(r *run) { r.use[allocation.CPU] = 1.5 })}, []run{web(func(r *run) { r.use[allocation.CPU] = 1 + 1e-15 })}, 0, map[string]float64{"sizeBurst": -0.6}},
		{"another node of the class", []run{web(nil)}, []run{web(func(r *run) { r.pod = "web-9" })}, 0, map[string]float64{}},
		{"to spot", []run{web(nil)}, []run{web(func(r *run) { r.node, r.price[allocation.CPU] = "spot", 0.02 })}, 0, map[string]float64{"placement": -0.72}},
		{"half to spot", []run{web(nil), web(twin)}, []run{web(nil), web(func(r *run) { twin(r); r.node, r.price[allocation.CPU] = "spot", 0.02 })}, 0, map[string]float64{"placement": -0.72}},
		{"a longer window", []run{web(nil)}, []run{web(func(r *run) { r.hours = 48 })}, 48, map[string]float64{"window": 1.2}},
		{"a new controller", []run{web(nil)}, []run{web(nil), web(func(r *run) { r.controller = "db" })}, 0, map[string]float64{"new": 1.2}},
		{"a controller that is gone", []run{web(nil), web(func(r *run) { r.controller = "db" })}, []run{web(nil)}, 0, map[string]float64{"gone": -1.2}},
		{"a pod without a controller", []run{web(func(r *run) { r.controller = "" })}, []run{web(func(r *run) { twin(r); r.controller = "" })}, 0, map[string]float64{"new": 1.2, "gone": -1.2}},
		{"a first GPU", []run{web(nil)}, []run{web(func(r *run) { r.request[allocation.GPU], r.price[allocation.GPU] = 1, 0.5 })}, 0, map[string]float64{"sizeRequest": 12}},
		{"a price where there was none", []run{web(func(r *run) { r.price[allocation.CPU] = 0 })}, []run{web(nil)}, 0, map[string]float64{"price": 1.2}},
		{"volumes", []run{web(cost(allocation.PVCost, 1))}, []run{web(cost(allocation.PVCost, 3))}, 0, map[string]float64{"volumes": 2}},
		{"volumes for longer", []run{web(cost(allocation.PVCost, 1))}, []run{web(func(r *run) { cost(allocation.PVCost, 2)(r); r.hours = 48 })}, 48, map[string]float64{"window": 2.2}},
		{"network", []run{web(cost(allocation.NetworkInternetCost, 1))}, []run{web(cost(allocation.NetworkCrossZoneCost, 3))}, 0, map[string]float64{"network": 2}},
		{"load balancers", []run{web(nil)}, []run{web(cost(allocation.LoadBalancerCost, 3))}, 0, map[string]float64{"loadBalancer": 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			length := 24 * time.Hour
			if tt.hours != 0 {
				length = tt.hours * time.Hour
			}
			dict := allocation.NewDict()
			sides := [2]*allocation.Set{set(dict, start.Add(-24*time.Hour), 24*time.Hour, tt.before), set(dict, start, length, tt.after)}
			rows, total := explain(t, passes.Options{}, change.Levels{Keys: keys(t, "namespace")}, sides)
			if diff := cmp.Diff(tt.want, effectsOf(&total.Effects)); diff != "" {
				t.Errorf("effects: -want +got\n%s", diff)
			}
			if len(rows) != 1 || rows[0].Name != "n" || rows[0].Effects != total.Effects {
				t.Errorf("rows %+v, total %+v", rows, total)
			}
		})
	}
}

// randomRuns are runs of a few controllers of a few teams.
func randomRuns(rng *rand.Rand) (runs []run) {
	for i := range rng.IntN(30) {
		r := run{
			team: string(rune('a' + rng.IntN(3))), controller: fmt.Sprint("app-", rng.IntN(5)), pod: fmt.Sprint("pod-", i), container: fmt.Sprint("c", rng.IntN(2)),
			node: nodes[rng.IntN(len(nodes))].Name, hours: rng.Float64() * 12, other: map[allocation.Column]float64{},
		}
		if rng.IntN(4) == 0 {
			r.controller = ""
		}
		for k := range allocation.NumResources {
			if rng.IntN(3) > 0 {
				r.request[k] = rng.Float64() * 8
			}
			r.use[k], r.price[k] = rng.Float64()*4, rng.Float64()
		}
		for _, c := range []allocation.Column{allocation.PVCost, allocation.NetworkInternetCost, allocation.NetworkCrossZoneCost, allocation.NetworkCrossRegionCost, allocation.LoadBalancerCost} {
			if rng.IntN(3) == 0 {
				r.other[c] = rng.Float64() * 5
			}
		}
		runs = append(runs, r)
	}
	return runs
}

// randomSide is a window of a random cluster, with its bill.
func randomSide(rng *rand.Rand, dict *allocation.Dict, from time.Time, length time.Duration) (*allocation.Set, error) {
	s := set(dict, from, length, randomRuns(rng))
	bill := passes.Adjustments{Nodes: map[allocation.AssetKey]float64{}}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for r := range allocation.NumResources {
			n.Idle[r] = rng.Float64() * 3
			n.Cost[r] = n.Idle[r]
		}
		bill.Nodes[allocation.AssetKey{Cluster: n.Cluster, Name: n.Name}] = rng.Float64() - 0.5
	}
	bill.External = []allocation.ExternalAllocation{{Labels: map[string]string{"team": "a"}, Start: from, End: from.Add(length), Cost: rng.Float64()}}
	return passes.Reconcile(s, bill)
}

// near reports whether two amounts are equal but for rounding.
func near(a, b, size float64) bool { return math.Abs(a-b) <= 1e-9*max(1, size) }

// sum adds up effects.
func sum(e *change.Effects) (s float64) {
	for _, v := range e {
		s += v
	}
	return s
}

// TestLawsOfChange holds, for random clusters and all ways to share: effects add up to the change of each row and part, and rows
// to the total; the rows cost what the passes say; parts add up to their row in every effect; swapped windows flip every sign and
// exchange new and gone; equal windows change nothing.
func TestLawsOfChange(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		dict := allocation.NewDict()
		lengths := [2]time.Duration{24 * time.Hour, time.Duration(12+rng.IntN(24)) * time.Hour}
		var sides [2]*allocation.Set
		for i := range sides {
			var err error
			if sides[i], err = randomSide(rng, dict, start.Add(time.Duration(i)*48*time.Hour), lengths[i]); err != nil {
				t.Fatal(err)
			}
		}
		o := passes.Options{
			Idle: rng.IntN(2) == 0, ShareIdle: []passes.Split{passes.NoSplit, passes.Weighted, passes.Even}[rng.IntN(3)], IdleByNode: rng.IntN(2) == 0,
			SharedCost: float64(rng.IntN(2)) * 100, External: rng.IntN(2) == 0,
		}
		if rng.IntN(2) == 0 {
			o.ShareSplit = passes.Even
		}
		o.SplitIdle = o.ShareIdle == passes.NoSplit && rng.IntN(2) == 0
		l := change.Levels{Keys: keys(t, []string{"namespace", "label:team", "node", "controller,container"}[rng.IntN(4)])}
		if rng.IntN(2) == 0 {
			l.Parts = keys(t, "pod")
		}
		name := fmt.Sprintf("seed %d, %+v", seed, o)
		rows, total := explain(t, o, l, sides)
		checkRows(t, name, rows, &total)
		checkCosts(t, name, o, l, sides, rows)
		swapped, back := explain(t, o, l, [2]*allocation.Set{sides[1], sides[0]})
		checkSwapped(t, name, append(rows, total), append(swapped, back))
		if _, same := explain(t, o, l, [2]*allocation.Set{sides[1], sides[1]}); len(effectsOf(&same.Effects)) > 0 || !same.WithinBounds {
			t.Errorf("%s: equal windows have effects: %v", name, effectsOf(&same.Effects))
		}
	}
}

// checkRows checks that everything adds up.
func checkRows(t *testing.T, name string, rows []change.Row, total *change.Row) {
	t.Helper()
	var all change.Row
	for i := range rows {
		r := &rows[i]
		if size := math.Abs(r.Cost) + math.Abs(r.Baseline); !near(sum(&r.Effects), r.Change(), size) {
			t.Errorf("%s: effects of %q add up to %v, the change is %v", name, r.Name, sum(&r.Effects), r.Change())
		}
		if i > 0 && math.Abs(r.Change()) > math.Abs(rows[i-1].Change()) {
			t.Errorf("%s: %q is behind %q, which changed less", name, r.Name, rows[i-1].Name)
		}
		all.Cost, all.Baseline = all.Cost+r.Cost, all.Baseline+r.Baseline
		for e, v := range r.Effects {
			all.Effects[e] += v
		}
		if n := len(r.Parts); n == 0 || n == change.MaxParts {
			continue
		}
		var parts change.Row
		for _, p := range r.Parts {
			parts.Cost, parts.Baseline = parts.Cost+p.Cost, parts.Baseline+p.Baseline
			for e, v := range p.Effects {
				parts.Effects[e] += v
			}
		}
		checkEqual(t, name+": parts of "+r.Name, &parts, r)
	}
	checkEqual(t, name+": total", &all, total)
}

// checkEqual compares the costs and every effect of two rows.
func checkEqual(t *testing.T, name string, got, want *change.Row) {
	t.Helper()
	size := math.Abs(want.Cost) + math.Abs(want.Baseline)
	if !near(got.Cost, want.Cost, size) || !near(got.Baseline, want.Baseline, size) {
		t.Errorf("%s: costs %v and %v, want %v and %v", name, got.Baseline, got.Cost, want.Baseline, want.Cost)
	}
	for e, v := range got.Effects {
		if !near(v, want.Effects[e], size) {
			t.Errorf("%s: %v is %v, want %v", name, change.Effect(e), v, want.Effects[e])
		}
	}
}

// checkCosts compares names and costs with what the passes say for the same keys.
func checkCosts(t *testing.T, name string, o passes.Options, l change.Levels, sides [2]*allocation.Set, rows []change.Row) {
	t.Helper()
	o.Aggregate, o.Accumulate = l.Keys, allocation.All
	got, want := map[string][2]float64{}, map[string][2]float64{}
	for _, r := range rows {
		got[r.Name] = [2]float64{r.Baseline, r.Cost}
	}
	for i, s := range sides {
		out, err := passes.Apply([]*allocation.Set{s}, o)
		if err != nil {
			t.Fatal(err)
		}
		for row := range out[0].Len() {
			costs := want[out[0].Name(row)]
			costs[i] = out[0].TotalCost(row)
			want[out[0].Name(row)] = costs
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
		t.Errorf("%s: costs: -allocations +change\n%s", name, diff)
	}
}

// checkSwapped checks that every sign flips where the windows are swapped.
func checkSwapped(t *testing.T, name string, rows, swapped []change.Row) {
	t.Helper()
	back := map[string]*change.Row{}
	for i := range swapped {
		back[swapped[i].Name] = &swapped[i]
	}
	for i := range rows {
		r, b := &rows[i], back[rows[i].Name]
		flipped := change.Row{Cost: b.Baseline, Baseline: b.Cost, WithinBounds: b.WithinBounds}
		for e, v := range b.Effects {
			flipped.Effects[e] = -v
		}
		flipped.Effects[change.New], flipped.Effects[change.Gone] = flipped.Effects[change.Gone], flipped.Effects[change.New]
		checkEqual(t, name+": swapped "+r.Name, &flipped, r)
		if flipped.WithinBounds != r.WithinBounds {
			t.Errorf("%s: %q is within bounds in one direction only", name, r.Name)
		}
	}
}
