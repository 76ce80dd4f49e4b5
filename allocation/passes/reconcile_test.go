package passes_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestReconcile verifies that adjustments reach their assets, on a copy.
func TestReconcile(t *testing.T) {
	m := smallModel()
	bill := m.bill
	bill.Cloud = []allocation.CloudCost{{Name: "queue", Start: m.window.Start, End: m.window.End, Cost: 4, Credit: -1}}
	m.bill = passes.Adjustments{}
	s := m.set(allocation.NewDict())
	got, err := passes.Reconcile(s, bill)
	if err != nil {
		t.Fatal(err)
	}
	if err := passes.Check(got); err != nil {
		t.Error(err)
	}
	adjustments := []float64{
		got.Nodes[0].Adjustment[allocation.CPU], got.Nodes[0].Adjustment[allocation.RAM], got.Nodes[0].Adjustment[allocation.GPU], got.Nodes[1].Adjustment[allocation.CPU],
		got.Disks[0].Adjustment, got.Disks[1].Adjustment, got.Disks[2].Adjustment, got.Balancers[0].Adjustment, got.Networks[0].Adjustment, got.Management[0].Adjustment,
	}
	if diff := cmp.Diff([]float64{-1, -0.6, -0.3, 1, 1, 0.8, 0, 0.6, -0.05, 1}, adjustments, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("adjustments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(bill.Cloud, got.Cloud); diff != "" {
		t.Errorf("cloud costs (-want +got):\n%s", diff)
	}
	if s.Nodes[0].Adjustment != [allocation.NumResources]float64{} || s.Disks[0].Adjustment != 0 || s.External != nil {
		t.Error("the set that was given has changed")
	}
}

// TestReconcileFree verifies that a bill for something without a list price is charged to somebody.
func TestReconcileFree(t *testing.T) {
	w := allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}
	m := model{
		window: w, nodes: []allocation.Node{{Cluster: "c1", Name: "n1", Start: w.Start, End: w.End}},
		disks:      []allocation.Disk{{Cluster: "c1", Name: "pv", Start: w.Start, End: w.End}},
		balancers:  []allocation.LoadBalancer{{Cluster: "c1", Namespace: "a", Service: "b", Start: w.Start, End: w.End}},
		networks:   []allocation.Network{{Cluster: "c1", Start: w.Start, End: w.End}},
		management: []allocation.Management{{Cluster: "c1", Start: w.Start, End: w.End}},
		bill: passes.Adjustments{
			Nodes: map[allocation.AssetKey]float64{{Cluster: "c1", Name: "n1"}: 1}, Volumes: map[allocation.AssetKey]float64{{Cluster: "c1", Name: "pv"}: 2},
			LoadBalancers: map[allocation.AssetKey]float64{{Cluster: "c1", Name: "a/b"}: 3}, Networks: map[string]float64{"c1": 4}, Management: map[string]float64{"c1": 5},
		},
	}
	s := apply(t, setsOf([]model{m}), passes.Options{Idle: true, ShareTenancy: true, Check: true})[0]
	compareMoney(t, s, map[string]amounts{
		"__idle__": {cpuMore: 1},
		"c1//__unallocated__/__unallocated__/__unallocated__": {
			allocation.PVCostAdjustment: 2, allocation.LoadBalancerCostAdjustment: 3, allocation.NetworkCostAdjustment: 4, allocation.SharedCost: 5,
		},
	})
	for row := range s.Len() {
		for _, v := range s.Volumes(row) {
			if key := s.Dict().Text(v.Key); key != "cluster=c1:name=pv" || v.Adjustment != 2 {
				t.Errorf("the volume is %q with %v", key, v.Adjustment)
			}
		}
	}
}

func TestReconcileRefuses(t *testing.T) {
	base := smallModel()
	base.bill = passes.Adjustments{}
	s := base.set(allocation.NewDict())
	w := s.Window
	for name, tc := range map[string]struct {
		set  *allocation.Set
		bill passes.Adjustments
		want string
	}{
		"a node that is not there":  {s, passes.Adjustments{Nodes: map[allocation.AssetKey]float64{{Cluster: "c1", Name: "n9"}: 1}}, `cluster "c1" node "n9": there is none to adjust: make it a cloud cost`},
		"a volume for a local disk": {s, passes.Adjustments{Volumes: map[allocation.AssetKey]float64{{Cluster: "c1", Name: "n1"}: 1}}, `cluster "c1" volume "n1": there is none to adjust: make it a cloud cost`},
		"not a number":              {s, passes.Adjustments{Networks: map[string]float64{"c1": math.NaN()}}, `cluster "c1" network "": adjustment NaN is not a finite number`},
		"outside":                   {s, passes.Adjustments{External: []allocation.ExternalAllocation{{Start: w.Start.Add(-time.Hour), End: w.End}}}, "external allocation 0: 2026-03-01T23:00:00Z to 2026-03-02T02:00:00Z is not within the window: cut the bill to it"},
		"infinite":                  {s, passes.Adjustments{Cloud: []allocation.CloudCost{{Start: w.Start, End: w.End, Credit: math.Inf(-1)}}}, "cloud cost 0: amount -Inf is not a finite number"},
		"a set that passes made":    {apply(t, []*allocation.Set{s}, passes.Options{})[0], passes.Adjustments{}, "passes have made it: reconcile sets as they were built"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := passes.Reconcile(tc.set, tc.bill)
			if want := "reconcile set of 2026-03-02T00:00:00Z,2026-03-02T02:00:00Z: " + tc.want; err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}

// TestReconcileNothing verifies that without bills nothing changes.
func TestReconcileNothing(t *testing.T) {
	m := smallModel()
	m.bill = passes.Adjustments{}
	plain := snapshot(apply(t, setsOf([]model{m}), passes.Options{Idle: true}))
	billed := snapshot(apply(t, setsOf([]model{m}), passes.Options{Idle: true, External: true}))
	if diff := cmp.Diff(plain, billed); diff != "" {
		t.Errorf("(-without +with):\n%s", diff)
	}
}
