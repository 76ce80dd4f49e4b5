package promquery_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

// nodeObject is a Node object of a made-up cluster, of 4 cores, and the pod on it.
type nodeObject struct {
	name, providerID string
	from, to         int
	created          int // 0 for unknown
	podFrom, podTo   int // the same for none
}

func nodeObjects(objects []nodeObject) *madeUp {
	m := &madeUp{}
	m.node(clusterBegin, clusterEnd, "other", "aws:///zone/i-other", 2)
	m.pod(clusterBegin, clusterEnd, "other", "o", "04040000-0000-4000-8000-000000000000", "other")
	for i, x := range objects {
		m.node(x.from, x.to, x.name, x.providerID, 4)
		if x.created != 0 {
			m.add(x.from, x.to, float64(lifeStart.Unix()+int64(x.created)), "kube_node_created", "node", x.name)
		}
		if x.podFrom < x.podTo {
			m.pod(x.podFrom, x.podTo, "a", fmt.Sprintf("p-%d", i), fmt.Sprintf("04040000-0000-4000-8000-%012d", 1+i), x.name)
		}
	}
	return m
}

// nodeFigures are the cost of nodes and pods for CPU, which costs 1 a core and hour.
func nodeFigures(s *allocation.Set) (nodes, pods map[string]float64) {
	nodes, pods = map[string]float64{}, sums(s, allocation.Pod, allocation.Cost.Of(allocation.CPU))
	for _, n := range s.Nodes {
		nodes[n.Name] += n.Cost[allocation.CPU]
	}
	delete(nodes, "other")
	delete(pods, "o")
	return nodes, pods
}

func residual(s *allocation.Set) (sum float64) {
	for _, x := range s.Residuals {
		sum += x.Cost
	}
	return sum
}

// TestNodeObjectsOfOneMachine checks that two Node objects with one provider id are charged as one machine: by the one with pods, else by the newest (SEMANTICS §5).
func TestNodeObjectsOfOneMachine(t *testing.T) {
	t.Parallel()
	const id = "aws:///zone/i-00a"
	always := func(name, providerID string, created, podFrom, podTo int) nodeObject {
		return nodeObject{name, providerID, clusterBegin, clusterEnd, created, podFrom, podTo}
	}
	for _, tt := range []struct {
		name        string
		objects     []nodeObject
		nodes, pods map[string]float64
		ghosts      int
	}{
		{
			"a ghost that is older",
			[]nodeObject{always("i-00a.internal", id, -6000, clusterBegin, clusterEnd), always("i-00a", id, -7000, 0, 0)},
			map[string]float64{"i-00a.internal": 8},
			map[string]float64{"p-0": 2},
			1,
		},
		{
			"a ghost that is newer",
			[]nodeObject{always("i-00a.internal", id, -7000, clusterBegin, clusterEnd), always("i-00a", id, -6000, 0, 0)},
			map[string]float64{"i-00a.internal": 8},
			map[string]float64{"p-0": 2},
			1,
		},
		{
			"a ghost that is newer, of no known age",
			[]nodeObject{always("i-00a.internal", id, 0, clusterBegin, clusterEnd), {"i-00a", id, 1800, 5400, 0, 0, 0}},
			map[string]float64{"i-00a.internal": 8},
			map[string]float64{"p-0": 2},
			1,
		},
		{
			"none has pods",
			[]nodeObject{always("new", id, -6000, 0, 0), always("old", id, -7000, 0, 0)},
			map[string]float64{"new": 8},
			nil, 1,
		},
		{
			"both have pods",
			[]nodeObject{always("new", id, -6000, clusterBegin, clusterEnd), always("old", id, -7000, clusterBegin, clusterEnd)},
			map[string]float64{"new": 8},
			map[string]float64{"p-0": 2},
			1,
		},
		{
			"pods move to the older one",
			[]nodeObject{always("new", id, -6000, clusterBegin, 3600), always("old", id, -7000, 3600, clusterEnd)},
			map[string]float64{"new": 4, "old": 4},
			map[string]float64{"p-0": 1, "p-1": 1},
			2,
		},
		{
			"one follows the other",
			[]nodeObject{{"first", id, clusterBegin, 3600, 0, clusterBegin, 3600}, {"second", id, 3600, clusterEnd, 0, 3600, clusterEnd}},
			map[string]float64{"first": 4, "second": 4},
			map[string]float64{"p-0": 1, "p-1": 1},
			0,
		},
		{
			"an id in two spellings",
			[]nodeObject{
				always("new", "azure:///subscriptions/s/resourceGroups/MC_g/providers/Microsoft.Compute/virtualMachines/v", -6000, 0, 0),
				always("old", "azure:///subscriptions/s/resourcegroups/mc_g/providers/microsoft.compute/virtualmachines/v", -7000, clusterBegin, clusterEnd),
			},
			map[string]float64{"old": 8},
			map[string]float64{"p-1": 2},
			1,
		},
		{
			"two machines",
			[]nodeObject{always("a", id, -7000, clusterBegin, clusterEnd), always("b", id+"b", -7000, 0, 0)},
			map[string]float64{"a": 8, "b": 8},
			map[string]float64{"p-0": 2},
			0,
		},
		{
			"no provider id",
			[]nodeObject{always("a", "", -7000, clusterBegin, clusterEnd), always("b", "", -7000, 0, 0)},
			map[string]float64{"a": 8, "b": 8},
			map[string]float64{"p-0": 2},
			0,
		},
	} {
		db := nodeObjects(tt.objects).blocks(t)
		for _, resolution := range grids() {
			t.Run(tt.name+" "+allocation.ResolutionText(resolution), func(t *testing.T) {
				q := twoHours(resolution)
				q.After = time.Hour
				set := compute(t, db, q)[0]
				nodes, pods := nodeFigures(set)
				delete(pods, "")
				areNear(t, "cost of node", 0.02, nodes, tt.nodes, 1)
				areNear(t, "cost of pod", 0.02, pods, tt.pods, 1)
				if r := residual(set); r > 1e-9 {
					t.Errorf("%g belongs to no node", r)
				}
				if n := warnedCount(set, "of another ("); n != tt.ghosts {
					t.Errorf("%d Node objects are said to be of another's machine, want %d: %q", n, tt.ghosts, set.Warnings)
				}
				for _, q.Step = range []time.Duration{time.Hour, 25 * time.Minute} {
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}

// warnedCount is the number with which the warning with a text begins, 0 without such a warning.
func warnedCount(s *allocation.Set, text string) (n int) {
	for _, w := range s.Warnings {
		if strings.Contains(w, text) {
			_, _ = fmt.Sscanf(w, "%d", &n)
		}
	}
	return n
}

// TestNodesThatAreAway checks what a node and the pods on it cost while its object is away (SEMANTICS §5).
func TestNodesThatAreAway(t *testing.T) {
	t.Parallel()
	const id, another = "aws:///zone/i-1", "aws:///zone/i-2"
	object := func(providerID string, from, to, created int) nodeObject {
		return nodeObject{"n", providerID, from, to, created, 0, 0}
	}
	for _, tt := range []struct {
		name           string
		first, second  nodeObject
		podFrom, podTo int
		node, pod      float64 // hours that are charged
		warned         bool
	}{
		{"it comes back", object(id, clusterBegin, 1800, -7000), object(id, 2400, clusterEnd, 2390), clusterBegin, clusterEnd, 2, 2, false},
		{"it comes back at once", object(id, clusterBegin, 1800, -7000), object(id, 1800, clusterEnd, 1790), clusterBegin, clusterEnd, 2, 2, false},
		{"it comes back, of no known age", object(id, clusterBegin, 1800, 0), object(id, 2400, clusterEnd, 0), clusterBegin, clusterEnd, 2, 2, false},
		{"it comes back after the border of an hour", object(id, clusterBegin, 3000, -7000), object(id, 4200, clusterEnd, 4190), clusterBegin, clusterEnd, 2, 2, false},
		{"it comes back after the window", object(id, clusterBegin, 6600, -7000), object(id, 8000, clusterEnd, 7990), clusterBegin, clusterEnd, 2, 2, false},
		{"it was away before the window", object(id, clusterBegin, -900, -7000), object(id, 900, clusterEnd, 890), clusterBegin, clusterEnd, 2, 2, false},
		{"it goes soon after the border of a part", object(id, clusterBegin, 1200, -7000), object(id, 2400, clusterEnd, 2390), clusterBegin, clusterEnd, 2, 2, false},
		{"it comes back with its id in another case", object("azure:///g/MC_x/v", clusterBegin, 1800, -7000), object("azure:///g/mc_x/v", 2400, clusterEnd, 2390), clusterBegin, clusterEnd, 2, 2, false},
		{"it comes back at once with its id in another case", object("azure:///g/MC_x/v", clusterBegin, 1800, -7000), object("azure:///g/mc_x/v", 1800, clusterEnd, 1790), clusterBegin, clusterEnd, 2, 2, false},
		{"it has no provider id", object("", clusterBegin, 1800, -7000), object("", 2400, clusterEnd, 2390), clusterBegin, clusterEnd, 2, 2, false},
		{"it has no provider id and comes back at once", object("", clusterBegin, 1800, -7000), object("", 1800, clusterEnd, 1790), clusterBegin, clusterEnd, 2, 2, false},
		{"it has no provider id and comes back without a pod", object("", clusterBegin, 1800, -7000), object("", 2400, clusterEnd, 2390), clusterBegin, 1800, 11. / 6, 0.5, false},
		{"it comes back without a pod", object(id, clusterBegin, 1800, -7000), object(id, 2400, clusterEnd, 2390), clusterBegin, 1800, 11. / 6, 0.5, false},
		{"another machine of its name", object(id, clusterBegin, 1800, -7000), object(another, 2400, clusterEnd, 2390), 2400, clusterEnd, 11. / 6, 8. / 6, false},
		{"it stays away", object(id, clusterBegin, 3600, -7000), object(id, clusterEnd, clusterEnd, 0), clusterBegin, clusterEnd, 1, 1, true},
		{"the pod ends soon after it", object(id, clusterBegin, 3600, -7000), object(id, clusterEnd, clusterEnd, 0), clusterBegin, 3720, 1, 1, false},
	} {
		m := nodeObjects([]nodeObject{tt.first, tt.second})
		m.pod(tt.podFrom, tt.podTo, "a", "p", "14140000-0000-4000-8000-000000000001", "n")
		db := m.blocks(t)
		for _, resolution := range grids() {
			t.Run(tt.name+" "+allocation.ResolutionText(resolution), func(t *testing.T) {
				q := twoHours(resolution)
				q.After = time.Hour
				set := compute(t, db, q)[0]
				nodes, pods := nodeFigures(set)
				if math.Abs(nodes["n"]/4-tt.node) > 0.02 || math.Abs(pods["p"]-tt.pod) > 0.02 {
					t.Errorf("the node is charged for %.3f h, the pod for %.3f h, want %.3f and %.3f", nodes["n"]/4, pods["p"], tt.node, tt.pod)
				}
				if r := residual(set); r > 1e-9 {
					t.Errorf("%g belongs to no node", r)
				}
				if warned := slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, "1 pod (a/p) ran for more than 5 minutes") }); warned != tt.warned {
					t.Errorf("warnings %q", set.Warnings)
				}
				for _, q.Step = range []time.Duration{time.Hour, 25 * time.Minute} {
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}
