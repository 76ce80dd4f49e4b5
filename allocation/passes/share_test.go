package passes_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// Columns of money in the tests.
var (
	cpuCost, ramCost, gpuCost = allocation.Cost.Of(allocation.CPU), allocation.Cost.Of(allocation.RAM), allocation.Cost.Of(allocation.GPU)
	cpuIdle, ramIdle, gpuIdle = allocation.CostIdle.Of(allocation.CPU), allocation.CostIdle.Of(allocation.RAM), allocation.CostIdle.Of(allocation.GPU)
	cpuMore, ramMore, gpuMore = allocation.Adjustment.Of(allocation.CPU), allocation.Adjustment.Of(allocation.RAM), allocation.Adjustment.Of(allocation.GPU)
)

// amounts are the columns of money of a row that are not 0.
type amounts map[allocation.Column]float64

// smallModel is two hours of a cluster: web ran for two hours, shop and kube-system for one, all on node n1; n2 is idle.
func smallModel() model {
	w := allocation.Window{Start: testStart, End: testStart.Add(2 * time.Hour)}
	m := model{window: w}
	add := func(ns string, hours int, of amounts) *modelRow {
		r := allocation.Row{Start: w.Start, End: w.Start.Add(time.Duration(hours) * time.Hour)}
		r.Text = [allocation.Services]string{"c1", "n1", ns, ns + "-0", "uid-" + ns, "main"}
		seconds := float64(hours) * 3600
		r.Values[allocation.RunningSeconds], r.Values[allocation.LeastSeconds], r.Values[allocation.MostSeconds] = seconds, seconds, seconds
		for c, v := range of {
			r.Values[c] = v
		}
		m.rows = append(m.rows, modelRow{Row: r})
		return &m.rows[len(m.rows)-1]
	}
	web := add("web", 2, amounts{cpuCost: 4, ramCost: 1, allocation.PVCost: 2, allocation.NetworkInternetCost: 0.25, allocation.LoadBalancerCost: 0.5})
	web.volumes = []modelShare{{key: allocation.VolumeKey("c1", "pv-1"), cost: 2}}
	web.balancers = []modelShare{{key: allocation.LoadBalancerKey("c1", "edge", "lb"), amount: 2, cost: 0.5}}
	shop := add("shop", 1, amounts{cpuCost: 1, ramCost: 3, allocation.LoadBalancerCost: 1.5})
	shop.balancers = []modelShare{{key: allocation.LoadBalancerKey("c1", "edge", "lb"), amount: 1, cost: 1.5}}
	add("kube-system", 1, amounts{cpuCost: 1})
	type each = [allocation.NumResources]float64
	m.nodes = []allocation.Node{
		{Cluster: "c1", Name: "n1", ProviderID: "i-1", Start: w.Start, End: w.End, Cost: each{10, 6, 3}, Idle: each{4, 2, 3}},
		{Cluster: "c1", Name: "n2", ProviderID: "i-2", Start: w.Start, End: w.End, Cost: each{8}, Idle: each{8}},
	}
	m.disks = []allocation.Disk{
		{Cluster: "c1", Name: "pv-1", ProviderID: "vol-1", Start: w.Start, End: w.End, Cost: 2},
		{Cluster: "c1", Name: "n1", Local: true, Start: w.Start, End: w.End, Cost: 1.2},
		{Cluster: "c1", Name: "n2", Local: true, Start: w.Start, End: w.End, Cost: 0.5},
	}
	m.balancers = []allocation.LoadBalancer{{Cluster: "c1", Namespace: "edge", Service: "lb", Start: w.Start, End: w.End, Hours: 2, Cost: 2}}
	m.networks = []allocation.Network{{Cluster: "c1", Start: w.Start, End: w.End, Internet: 0.25}}
	m.management = []allocation.Management{{Cluster: "c1", Start: w.Start, End: w.End, Cost: 3}}
	m.bill = passes.Adjustments{
		Nodes:         map[allocation.AssetKey]float64{{Cluster: "c1", Name: "n1"}: -1.9, {Cluster: "c1", Name: "n2"}: 1},
		Volumes:       map[allocation.AssetKey]float64{{Cluster: "c1", Name: "pv-1"}: 1},
		LocalDisks:    map[allocation.AssetKey]float64{{Cluster: "c1", Name: "n1"}: 0.8},
		LoadBalancers: map[allocation.AssetKey]float64{{Cluster: "c1", Name: "edge/lb"}: 0.6},
		Networks:      map[string]float64{"c1": -0.05},
		Management:    map[string]float64{"c1": 1},
		External:      []allocation.ExternalAllocation{{Start: w.Start, End: w.End, Cost: 5}, {Start: w.Start, End: w.End, Cost: 7}},
	}
	m.bill.External[0].Text[allocation.Namespace] = "web"
	return m
}

// plus is the cost of a row without any option, with other amounts changed.
func plus(row string, other amounts) amounts {
	out := amounts{}
	switch row {
	case "web":
		out = amounts{cpuCost: 4, ramCost: 1, allocation.PVCost: 2, allocation.NetworkInternetCost: 0.25, allocation.LoadBalancerCost: 0.5}
	case "shop":
		out = amounts{cpuCost: 1, ramCost: 3, allocation.LoadBalancerCost: 1.5}
	case "kube-system":
		out = amounts{cpuCost: 1}
	}
	maps.Copy(out, other)
	return out
}

// shareCases are options, and the rows that they make of the small model by namespace.
var shareCases = map[string]struct {
	o      passes.Options
	shared string // a namespace that is shared
	filter string // a namespace
	billed bool
	want   map[string]amounts
}{
	"nothing": {want: map[string]amounts{"web": plus("web", nil), "shop": plus("shop", nil), "kube-system": plus("kube-system", nil)}},
	"idle": {o: passes.Options{Idle: true}, want: map[string]amounts{
		"web": plus("web", nil), "shop": plus("shop", nil), "kube-system": plus("kube-system", nil), "__idle__": {cpuCost: 12, ramCost: 2, gpuCost: 3},
	}},
	// 12 of CPU by 4:1:1, 2 of RAM by 1:3, and nobody has a GPU.
	"idle weighted": {o: passes.Options{Idle: true, ShareIdle: passes.Weighted}, want: map[string]amounts{
		"web": plus("web", amounts{cpuCost: 12, cpuIdle: 8, ramCost: 1.5, ramIdle: 0.5}), "shop": plus("shop", amounts{cpuCost: 3, cpuIdle: 2, ramCost: 4.5, ramIdle: 1.5}),
		"kube-system": plus("kube-system", amounts{cpuCost: 3, cpuIdle: 2}), "__idle__": {gpuCost: 3},
	}},
	// Cost that nobody can take is shown all the same.
	"idle weighted, none as a row": {o: passes.Options{ShareIdle: passes.Weighted}, want: map[string]amounts{
		"web": plus("web", amounts{cpuCost: 12, cpuIdle: 8, ramCost: 1.5, ramIdle: 0.5}), "shop": plus("shop", amounts{cpuCost: 3, cpuIdle: 2, ramCost: 4.5, ramIdle: 1.5}),
		"kube-system": plus("kube-system", amounts{cpuCost: 3, cpuIdle: 2}), "__idle__": {gpuCost: 3},
	}},
	// 4 of n1 by 4:1:1; nobody is on n2.
	"idle weighted by node": {o: passes.Options{Idle: true, IdleByNode: true, ShareIdle: passes.Weighted}, want: map[string]amounts{
		"web": plus("web", amounts{cpuCost: 4 + 8.0/3, cpuIdle: 8.0 / 3, ramCost: 1.5, ramIdle: 0.5}), "shop": plus("shop", amounts{cpuCost: 1 + 2.0/3, cpuIdle: 2.0 / 3, ramCost: 4.5, ramIdle: 1.5}),
		"kube-system": plus("kube-system", amounts{cpuCost: 1 + 2.0/3, cpuIdle: 2.0 / 3}), "__idle__": {cpuCost: 8, gpuCost: 3},
	}},
	"idle even": {o: passes.Options{Idle: true, ShareIdle: passes.Even}, want: map[string]amounts{
		"web":         plus("web", amounts{cpuCost: 8, cpuIdle: 4, ramCost: 1 + 2.0/3, ramIdle: 2.0 / 3, gpuCost: 1, gpuIdle: 1}),
		"shop":        plus("shop", amounts{cpuCost: 5, cpuIdle: 4, ramCost: 3 + 2.0/3, ramIdle: 2.0 / 3, gpuCost: 1, gpuIdle: 1}),
		"kube-system": plus("kube-system", amounts{cpuCost: 5, cpuIdle: 4, ramCost: 2.0 / 3, ramIdle: 2.0 / 3, gpuCost: 1, gpuIdle: 1}),
	}},
	// Of web and shop, web is given 8 of 10 CPU, and so on: a filter changes nothing in that.
	"idle with a filter": {o: passes.Options{Idle: true}, filter: "web", want: map[string]amounts{
		"web": plus("web", nil), "__idle__": {cpuCost: 8, ramCost: 0.5},
	}},
	"idle weighted with a filter": {o: passes.Options{Idle: true, ShareIdle: passes.Weighted}, filter: "web", want: map[string]amounts{
		"web": plus("web", amounts{cpuCost: 12, cpuIdle: 8, ramCost: 1.5, ramIdle: 0.5}),
	}},
	// web costs 7.75, shop 5.5, kube-system 1.
	"a namespace": {shared: "kube-system", want: map[string]amounts{
		"web": plus("web", amounts{allocation.SharedCost: 7.75 / 13.25}), "shop": plus("shop", amounts{allocation.SharedCost: 5.5 / 13.25}),
	}},
	"a namespace even": {o: passes.Options{ShareSplit: passes.Even}, shared: "kube-system", want: map[string]amounts{
		"web": plus("web", amounts{allocation.SharedCost: 0.5}), "shop": plus("shop", amounts{allocation.SharedCost: 0.5}),
	}},
	"a namespace with a filter": {shared: "kube-system", filter: "shop", want: map[string]amounts{
		"shop": plus("shop", amounts{allocation.SharedCost: 5.5 / 13.25}),
	}},
	"a namespace even with a filter": {o: passes.Options{ShareSplit: passes.Even}, shared: "kube-system", filter: "shop", want: map[string]amounts{
		"shop": plus("shop", amounts{allocation.SharedCost: 0.5}),
	}},
	// kube-system takes 2 of idle CPU and passes on 3; the weights are those before idle.
	"a namespace and idle": {o: passes.Options{ShareIdle: passes.Weighted}, shared: "kube-system", want: map[string]amounts{
		"web":      plus("web", amounts{cpuCost: 12, cpuIdle: 8, ramCost: 1.5, ramIdle: 0.5, allocation.SharedCost: 3 * 7.75 / 13.25}),
		"shop":     plus("shop", amounts{cpuCost: 3, cpuIdle: 2, ramCost: 4.5, ramIdle: 1.5, allocation.SharedCost: 3 * 5.5 / 13.25}),
		"__idle__": {gpuCost: 3},
	}},
	// 730 a month is 2 for the two hours.
	"a flat cost": {o: passes.Options{SharedCost: 730}, want: map[string]amounts{
		"web": plus("web", amounts{allocation.SharedCost: 2 * 7.75 / 14.25}), "shop": plus("shop", amounts{allocation.SharedCost: 2 * 5.5 / 14.25}),
		"kube-system": plus("kube-system", amounts{allocation.SharedCost: 2 * 1 / 14.25}),
	}},
	"a flat cost even": {o: passes.Options{SharedCost: 730, ShareSplit: passes.Even}, filter: "web", want: map[string]amounts{
		"web": plus("web", amounts{allocation.SharedCost: 2.0 / 3}),
	}},
	// The fee of 3 and the disk of 1.2 by 2:1:1 hours; nobody is on n2, whose disk costs 0.5.
	"tenancy": {o: passes.Options{ShareTenancy: true}, want: map[string]amounts{
		"web": plus("web", amounts{allocation.SharedCost: 2.1}), "shop": plus("shop", amounts{allocation.SharedCost: 1.05}),
		"kube-system": plus("kube-system", amounts{allocation.SharedCost: 1.05}), "__unallocated__": {allocation.SharedCost: 0.5},
	}},
	"tenancy of a namespace that is shared": {o: passes.Options{ShareTenancy: true}, shared: "kube-system", want: map[string]amounts{
		"web": plus("web", amounts{allocation.SharedCost: 2.1 + 2.05*7.75/13.25}), "shop": plus("shop", amounts{allocation.SharedCost: 1.05 + 2.05*5.5/13.25}),
		"__unallocated__": {allocation.SharedCost: 0.5},
	}},
	"tenancy billed": {o: passes.Options{ShareTenancy: true}, billed: true, filter: "kube-system", want: map[string]amounts{
		"kube-system": plus("kube-system", amounts{allocation.SharedCost: 1.5, cpuMore: -0.1}),
	}},
	// 2 over 7.25, 4 and 1.
	"load balancers": {o: passes.Options{ShareLoadBalancers: true}, want: map[string]amounts{
		"web":         plus("web", amounts{allocation.LoadBalancerCost: 0, allocation.SharedCost: 2 * 7.25 / 12.25}),
		"shop":        plus("shop", amounts{allocation.LoadBalancerCost: 0, allocation.SharedCost: 2 * 4 / 12.25}),
		"kube-system": plus("kube-system", amounts{allocation.SharedCost: 2 * 1 / 12.25}),
	}},
	// Of n1's -1.9, -1 is CPU's, -0.6 RAM's and -0.3 the GPU's; the volume's 1 is web's, the load balancer's 0.6 is split by
	// hours, the network's -0.05 by egress.
	// The load balancer's adjustment follows its cost, which is usage at each instant.
	"reconciled": {o: passes.Options{Idle: true}, billed: true, want: map[string]amounts{
		"web":         plus("web", amounts{cpuMore: -0.4, ramMore: -0.1, allocation.PVCostAdjustment: 1, allocation.NetworkCostAdjustment: -0.05, allocation.LoadBalancerCostAdjustment: 0.15}),
		"shop":        plus("shop", amounts{cpuMore: -0.1, ramMore: -0.3, allocation.LoadBalancerCostAdjustment: 0.45}),
		"kube-system": plus("kube-system", amounts{cpuMore: -0.1}),
		"__idle__":    {cpuCost: 12, ramCost: 2, gpuCost: 3, cpuMore: 0.6, ramMore: -0.2, gpuMore: -0.3},
	}},
	"external": {o: passes.Options{External: true, SharedCost: 730}, shared: "kube-system", want: map[string]amounts{
		"web": plus("web", amounts{allocation.ExternalCost: 5, allocation.SharedCost: 3 * 7.75 / 13.25}), "shop": plus("shop", amounts{allocation.SharedCost: 3 * 5.5 / 13.25}),
		"__external__": {allocation.ExternalCost: 7},
	}},
	// What web costs outside of clusters stays web's, though its containers are shared: 7.75 over 5.5 and 1.
	"external of what is shared": {o: passes.Options{External: true}, shared: "web", want: map[string]amounts{
		"web": {allocation.ExternalCost: 5}, "__external__": {allocation.ExternalCost: 7},
		"shop": plus("shop", amounts{allocation.SharedCost: 7.75 * 5.5 / 6.5}), "kube-system": plus("kube-system", amounts{allocation.SharedCost: 7.75 * 1 / 6.5}),
	}},
}

func TestShare(t *testing.T) {
	for name, tc := range shareCases {
		t.Run(name, func(t *testing.T) {
			q := question{Options: tc.o, reconcile: tc.billed}
			q.Aggregate, q.Check = keys(t, "namespace"), true
			if tc.filter != "" {
				q.filter = inNamespace(tc.filter)
			}
			if tc.shared != "" {
				q.shares = []naiveFilter{inNamespace(tc.shared)}
			}
			m := smallModel()
			s := apply(t, q.sets([]model{m}), q.ask())[0]
			compareMoney(t, s, tc.want)
		})
	}
}

// compareMoney compares all columns of money of all rows.
func compareMoney(t *testing.T, s *allocation.Set, want map[string]amounts) {
	t.Helper()
	got := map[string]amounts{}
	for row := range s.Len() {
		got[s.Name(row)] = amounts{}
		for c := range allocation.NumColumns {
			if v := s.Value(c, row); v != 0 && (c.Money() || c == cpuIdle || c == ramIdle || c == gpuIdle) {
				got[s.Name(row)][c] = v
			}
		}
	}
	for _, of := range want {
		for c, v := range of {
			if v == 0 {
				delete(of, c)
			}
		}
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(alike)); diff != "" {
		t.Errorf("money (-want +got):\n%s", diff)
	}
}

// TestSharedLeft verifies what happens to shared cost that nobody can take.
func TestSharedLeft(t *testing.T) {
	m := smallModel()
	m.rows = m.rows[2:] // kube-system
	type each = [allocation.NumResources]float64
	m.nodes[0].Cost, m.nodes[0].Idle = each{1}, each{}
	m.disks, m.balancers, m.networks, m.bill = nil, nil, nil, passes.Adjustments{}
	q := question{shares: []naiveFilter{inNamespace("kube-system")}}
	q.Aggregate, q.Check, q.SharedCost, q.SharedBreakdown = keys(t, "namespace"), true, 730, true
	s := apply(t, setsOf([]model{m}), q.ask())[0]
	compareMoney(t, s, map[string]amounts{"__shared__": {allocation.SharedCost: 3}})
	if s.Special(0) != allocation.Shared {
		t.Errorf("the row is special as %d", s.Special(0))
	}
	var names []string
	for _, p := range s.SharedParts(0) {
		names = append(names, s.Dict().Text(p.Name))
	}
	if want := []string{"kube-system", "overhead"}; !slices.Equal(names, want) {
		t.Errorf("parts are %q, want %q", names, want)
	}
	q.filter = inNamespace("kube-system")
	if s := apply(t, setsOf([]model{m}), q.ask())[0]; s.Len() != 0 {
		t.Errorf("a filter left the row %q", s.Name(0))
	}
}

// TestSplitIdleWarns verifies that contradicting options give a warning.
func TestSplitIdleWarns(t *testing.T) {
	m := smallModel()
	s := apply(t, setsOf([]model{m}), passes.Options{SplitIdle: true, ShareIdle: passes.Even})[0]
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "splitIdle has nothing to split") {
		t.Errorf("warnings are %q", s.Warnings)
	}
}

// TestProportions verifies the proportion of each asset that rows are.
func TestProportions(t *testing.T) {
	m := smallModel()
	o := passes.Options{Aggregate: keys(t, "namespace"), Idle: true, ShareIdle: passes.Weighted, Proportions: true, Accumulate: allocation.All}
	web := map[bool][]allocation.Proportion{
		false: {
			{Cluster: "c1", CPU: 4.0 / 18, RAM: 1.0 / 6, Node: 5.0 / 27},
			{Cluster: "c1", Name: "edge/lb", Type: "LoadBalancer", LoadBalancer: 0.25},
			{Cluster: "c1", Name: "pv-1", Type: "Disk", ProviderID: "vol-1", PV: 1},
		},
		true: {
			{Cluster: "c1", Name: "edge/lb", Type: "LoadBalancer", LoadBalancer: 0.25},
			{Cluster: "c1", Name: "n1", Type: "Node", ProviderID: "i-1", CPU: 0.4, RAM: 1.0 / 6, Node: 5.0 / 19},
			{Cluster: "c1", Name: "pv-1", Type: "Disk", ProviderID: "vol-1", PV: 1},
		},
	}
	for byNode, want := range web {
		o.IdleByNode = byNode
		s := apply(t, setsOf([]model{m}), o)[0]
		if diff := cmp.Diff(want, s.Proportions(0), cmp.Comparer(alike)); diff != "" {
			t.Errorf("by node %v: web's (-want +got):\n%s", byNode, diff)
		}
	}
}

// TestApplyAtOnce applies options to the same sets on many goroutines at once. The race detector finds what they may not share.
func TestApplyAtOnce(t *testing.T) {
	sets := setsOf(randomModels(rand.New(rand.NewPCG(1, 2)), 2, 30))
	o := passes.Options{
		Idle: true, ShareIdle: passes.Even, ShareTenancy: true, ShareLoadBalancers: true, SharedCost: 9, SharedBreakdown: true, AggregatedMetadata: true,
		External: true, Proportions: true, Share: []passes.Share{{Name: "shop", Filter: inNamespace("shop")}}, Accumulate: allocation.All,
	}
	want := snapshot(apply(t, sets, o))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			out, err := passes.Apply(sets, o)
			if diff := cmp.Diff(want, snapshot(out)); err != nil || diff != "" {
				t.Errorf("error %v, rows (-first +this):\n%s", err, diff)
			}
		})
	}
	wg.Wait()
}
