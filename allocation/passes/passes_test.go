package passes_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

func keys(t testing.TB, aggregate string) []allocation.Key {
	t.Helper()
	keys, err := allocation.ParseKeys(aggregate, nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func apply(t testing.TB, sets []*allocation.Set, o passes.Options) []*allocation.Set {
	t.Helper()
	out, err := passes.Apply(sets, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out {
		if err := passes.Check(s); err != nil {
			t.Errorf("after passes: %v", err)
		}
	}
	return out
}

// inNamespace selects the rows of a namespace.
func inNamespace(name string) naiveFilter {
	return naiveFilter{property: allocation.Namespace, value: name}
}

var aggregations = []string{
	"", "cluster", "node", "namespace", "controllerKind", "controller", "deployment", "statefulset", "job", "service", "pod",
	"container", "all", "product", "team", "environment", "department", "label:app", "label:app.kubernetes.io/name",
	"label:app_kubernetes_io_name", "annotation:team", "cluster,namespace", "namespace,label:app,controller",
	"container,pod", "namespace,label:nobody,team", "nodePool", "nodePool,namespace", "cluster,nodePool",
}

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))
}

func orEmpty(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}

func list(s *allocation.Set, row int) string {
	texts := []string{}
	for _, id := range s.List(allocation.Services, row) {
		texts = append(texts, s.Dict().Text(id))
	}
	return fmt.Sprint(texts)
}

func pairs(s *allocation.Set, p allocation.Property, row int) string {
	texts := map[string]string{}
	for _, pair := range s.Pairs(p, row) {
		texts[s.Dict().Text(pair.Key)] = s.Dict().Text(pair.Value)
	}
	return fmt.Sprint(texts)
}

// TestApplyLeavesSets verifies that passes do not change the sets that they are given.
func TestApplyLeavesSets(t *testing.T) {
	models := randomModels(rand.New(rand.NewPCG(1, 2)), 2, 30)
	sets := setsOf(models)
	dict := sets[0].Dict()
	before := snapshot(sets)
	strs, lists, maps := dict.Sizes()
	apply(t, sets, passes.Options{
		Aggregate: keys(t, "namespace,label:app"), Idle: true, IdleByNode: true, Filter: inNamespace("web"), Accumulate: allocation.All,
		AggregatedMetadata: true, ShareIdle: passes.Even, ShareTenancy: true, ShareLoadBalancers: true, SharedCost: 9, SharedBreakdown: true,
		External: true, Proportions: true, Share: []passes.Share{{Name: "app=x", Filter: inNamespace("shop")}},
	})
	if diff := cmp.Diff(before, snapshot(sets)); diff != "" {
		t.Errorf("sets changed (-before +after):\n%s", diff)
	}
	if s, l, m := dict.Sizes(); s != strs || l != lists || m != maps {
		t.Errorf("dictionary grew from %d, %d, %d to %d, %d, %d", strs, lists, maps, s, l, m)
	}
}

func snapshot(sets []*allocation.Set) (rows []string) {
	for _, s := range sets {
		for row := range s.Len() {
			var values []float64
			for c := range allocation.NumColumns {
				values = append(values, s.Value(c, row))
			}
			rows = append(rows, fmt.Sprint(s.Name(row), values, list(s, row), pairs(s, allocation.Labels, row), s.Volumes(row), s.LoadBalancerShares(row), s.Levels(allocation.CPU, row), s.Levels(allocation.RAM, row)))
		}
		rows = append(rows, fmt.Sprint(s.Nodes, s.Residuals, s.Disks, s.Balancers, s.Networks, s.Management, s.Warnings))
	}
	return rows
}

func TestApplyRefuses(t *testing.T) {
	w := allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}
	base := allocation.NewSet(w, allocation.NewDict())
	done := apply(t, []*allocation.Set{base}, passes.Options{})
	for name, tc := range map[string]struct {
		sets []*allocation.Set
		want string
	}{
		"applied twice": {done, "apply passes: set of 2026-03-02T00:00:00Z,2026-03-02T01:00:00Z has been through them: give sets as they were built"},
		"two dicts": {
			[]*allocation.Set{base, allocation.NewSet(w, allocation.NewDict())},
			"apply passes: set of 2026-03-02T00:00:00Z,2026-03-02T01:00:00Z has a dictionary of its own: build all sets over one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := passes.Apply(tc.sets, passes.Options{})
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestApplyEmpty verifies that no sets give no sets, not an error.
func TestApplyEmpty(t *testing.T) {
	if out := apply(t, nil, passes.Options{Idle: true, Accumulate: allocation.All}); len(out) != 0 {
		t.Errorf("no sets became %d", len(out))
	}
	empty := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, allocation.NewDict())
	for _, aggregate := range aggregations {
		out := apply(t, []*allocation.Set{empty, empty}, passes.Options{Aggregate: keys(t, aggregate), Idle: true, Accumulate: allocation.All})
		if len(out) != 1 || out[0].Len() != 0 || passes.Total(out[0]).Len() != 0 {
			t.Errorf("aggregate %q: empty sets became %d sets", aggregate, len(out))
		}
	}
}

// TestAccumulateOneContainer verifies which properties a container keeps that is in several sets.
func TestAccumulateOneContainer(t *testing.T) {
	dict := allocation.NewDict()
	var sets []*allocation.Set
	for _, h := range []int{0, 2} {
		start := testStart.Add(time.Duration(h) * time.Hour)
		s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, dict)
		r := allocation.Row{Start: start, End: start.Add(time.Hour), Labels: map[string]string{"app": "x"}}
		r.Text[allocation.Pod], r.Text[allocation.PodUID] = "p", "u"
		r.Values[allocation.RunningSeconds], r.Values[allocation.Hours.Of(allocation.CPU)] = 3600, 2
		r.Values[allocation.MostSeconds] = 3700
		s.Append(&r)
		sets = append(sets, s)
	}
	sum := apply(t, sets, passes.Options{Accumulate: allocation.All})[0]
	if sum.Single(0) {
		t.Error("an accumulated row still claims a maximum")
	}
	if got := sum.Minutes(0); got != 120 {
		t.Errorf("minutes of two hours apart are %v, want 120", got)
	}
	if got := pairs(sum, allocation.Labels, 0); got != "map[app:x]" {
		t.Errorf("labels are %s, want those of the container", got)
	}
	if lower, upper, ok := fields.ErrorBounds(sum, 0); !ok || lower != -1 || !math.IsNaN(upper) {
		t.Errorf("bounds of what may not have run are %v and %v", lower, upper)
	}
	if want := (allocation.Window{Start: testStart, End: testStart.Add(3 * time.Hour)}); sum.Window != want {
		t.Errorf("window is %v, want %v", sum.Window, want)
	}
	alone := apply(t, sets[:1], passes.Options{Accumulate: allocation.All})[0]
	if !alone.Single(0) {
		t.Error("a container of one set lost its maximum")
	}
}

// TestFilterIdle verifies that filters that divide the rows divide idle in the same way.
func TestFilterIdle(t *testing.T) {
	models := randomModels(rand.New(rand.NewPCG(3, 4)), 1, 80)
	base := []*allocation.Set{models[0].set(allocation.NewDict())}
	for _, byNode := range []bool{false, true} {
		total := map[allocation.Resource]float64{}
		for _, ns := range []string{"shop", "web", "kube-system"} {
			s := apply(t, base, passes.Options{Aggregate: keys(t, "cluster"), Idle: true, IdleByNode: byNode, Filter: inNamespace(ns)})[0]
			for row := range s.Len() {
				for r := range allocation.NumResources {
					if s.Special(row) == allocation.Idle {
						total[r] += s.Value(allocation.Cost.Of(r), row)
					}
				}
			}
		}
		for r := range allocation.NumResources {
			want := 0.0
			for _, n := range models[0].nodes {
				node := n.Name
				if !byNode {
					node = ""
				}
				if models[0].somebodyPays(n.Cluster, node, r) {
					want += n.Idle[r]
				}
			}
			if !near(total[r], want) {
				t.Errorf("by node %v: %s idle of all filters is %v, want %v", byNode, r, total[r], want)
			}
		}
	}
}

// TestFilterShared verifies that a filter selects the same idle whether its rows are shared or not, because shared rows take idle, too
// (SEMANTICS §6). So the answers of a filter and of its opposite add up to everything, though only their idle is left of shared rows.
func TestFilterShared(t *testing.T) {
	m := smallModel()
	base := []*allocation.Set{m.set(allocation.NewDict())}
	idle := func(o passes.Options) (sum float64, rows int) {
		o.Aggregate, o.Idle, o.Check = keys(t, "namespace"), true, true
		s := apply(t, base, o)[0]
		for row := range s.Len() {
			if s.Special(row) == allocation.Idle {
				sum += s.TotalCost(row)
			}
		}
		return sum, s.Len()
	}
	shares := []passes.Share{{Name: "kube-system", Filter: inNamespace("kube-system")}}
	for _, byNode := range []bool{false, true} {
		plain, _ := idle(passes.Options{IdleByNode: byNode, Filter: inNamespace("kube-system")})
		shared, rows := idle(passes.Options{IdleByNode: byNode, Filter: inNamespace("kube-system"), Share: shares})
		if plain != shared || shared <= 0 || rows != 1 {
			t.Errorf("by node %v: idle of %v, shared %v in %d rows, want the same in 1", byNode, plain, shared, rows)
		}
	}
}

// somebodyPays reports whether a row of a cluster, or of a node of it, costs something of a resource.
func (m *model) somebodyPays(cluster, node string, r allocation.Resource) bool {
	return slices.ContainsFunc(m.rows, func(row modelRow) bool {
		return row.Text[allocation.Cluster] == cluster && (node == "" || row.Text[allocation.NodeName] == node) && row.Values[allocation.Cost.Of(r)] > 0
	})
}

func TestTotal(t *testing.T) {
	models := randomModels(rand.New(rand.NewPCG(5, 6)), 1, 20)
	s := apply(t, []*allocation.Set{models[0].set(allocation.NewDict())}, passes.Options{Aggregate: keys(t, "namespace"), Idle: true})[0]
	total := passes.Total(s)
	if err := passes.Check(total); err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for row := range s.Len() {
		want += s.TotalCost(row)
	}
	if total.Len() != 1 || total.Name(0) != "" || !near(total.TotalCost(0), want) {
		t.Errorf("total of %d rows is %v, want one of %v", total.Len(), total.TotalCost(0), want)
	}
}

// TestNamesAreUnique verifies that no row is lost if values with slashes give two rows the same name.
func TestNamesAreUnique(t *testing.T) {
	s := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, allocation.NewDict())
	for _, a := range []map[string]string{{"a": "x/y", "b": "z"}, {"a": "x", "b": "y/z"}} {
		r := allocation.Row{Start: testStart, End: testStart.Add(time.Hour), Annotations: a}
		r.Values[allocation.PVCost] = 1
		s.Append(&r)
		s.Disks = append(s.Disks, allocation.Disk{Name: "pv", Start: testStart, End: testStart.Add(time.Hour), Cost: 1})
	}
	got := apply(t, []*allocation.Set{s}, passes.Options{Aggregate: keys(t, "annotation:a,annotation:b"), LabelValue: true})[0]
	if got.Len() != 1 || got.Name(0) != "x/y/z" || got.Value(allocation.PVCost, 0) != 2 {
		t.Errorf("got %d rows, the first %q of %v, want x/y/z of 2", got.Len(), got.Name(0), got.Value(allocation.PVCost, 0))
	}
}

// TestAccumulateAssets verifies that nodes, residuals and warnings of several sets become those of the whole window.
func TestAccumulateAssets(t *testing.T) {
	dict := allocation.NewDict()
	var sets []*allocation.Set
	for h, of := range [][]string{{"b", "a"}, {"a", "c"}} {
		start := testStart.Add(time.Duration(h) * time.Hour)
		s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, dict)
		s.Resolution, s.Warnings = time.Minute, []string{"z", "hour " + of[0]}
		for _, name := range of {
			s.Nodes = append(s.Nodes, allocation.Node{
				Cluster: "c1", Name: name, Start: start, End: start.Add(time.Hour), RunningSeconds: 3600, Spot: h == 1,
				Hours: [allocation.NumResources]float64{4, 2, 1}, Cost: [allocation.NumResources]float64{3, 2, 1}, Idle: [allocation.NumResources]float64{3, 2, 1},
			})
		}
		s.Residuals = []allocation.Residual{{Cluster: "c1", Resource: allocation.GPU, Overcommit: 2}}
		sets = append(sets, s)
	}
	got := apply(t, sets, passes.Options{Accumulate: allocation.All, Idle: true})[0]
	node := func(name string, from, hours int, spot bool) allocation.Node {
		k := float64(hours)
		return allocation.Node{
			Cluster: "c1", Name: name, Spot: spot, RunningSeconds: 3600 * k,
			Start: testStart.Add(time.Duration(from) * time.Hour), End: testStart.Add(time.Duration(from+hours) * time.Hour),
			Hours: [allocation.NumResources]float64{4 * k, 2 * k, k}, Cost: [allocation.NumResources]float64{3 * k, 2 * k, k}, Idle: [allocation.NumResources]float64{3 * k, 2 * k, k},
		}
	}
	want := []allocation.Node{node("a", 0, 2, true), node("b", 0, 1, false), node("c", 1, 1, true)}
	if diff := cmp.Diff(want, got.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]allocation.Residual{{Cluster: "c1", Resource: allocation.GPU, Overcommit: 4}}, got.Residuals); diff != "" {
		t.Errorf("residuals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"hour a", "hour b", "z"}, got.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got.Resolution != time.Minute {
		t.Errorf("resolution is %s", got.Resolution)
	}
}

// column are the values of a column that was read.
func column(s *allocation.Set, c allocation.Column) []float64 {
	values, err := s.Column(c)
	if err != nil {
		panic(err)
	}
	return values
}

// idsOf are the ids of a property that was read.
func idsOf(s *allocation.Set, p allocation.Property) []allocation.ID {
	ids, err := s.IDs(p)
	if err != nil {
		panic(err)
	}
	return ids
}
