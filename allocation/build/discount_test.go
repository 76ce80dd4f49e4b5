package build_test

import (
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestNodeDiscount checks the discount of a node of 4 cores that cost 1 an hour by the sheet before discounts.
func TestNodeDiscount(t *testing.T) {
	const (
		head  = "defaults: {cpuPerCoreHour: 1, ramPerGiBHour: 0}\ndiscount: 0.2\n"
		rules = "nodes:\n- {to: 2026-03-02T11:00:00Z, region: '*', cpuPerCoreHour: 1, discount: 0.5}\n"
	)
	for _, tt := range []struct {
		name           string
		sheet          string
		change         map[string]*timeline.Points
		cost, discount float64
	}{
		{name: "none", sheet: "defaults: {cpuPerCoreHour: 1, ramPerGiBHour: 0}\n", cost: 8},
		{name: "of the sheet", sheet: head, cost: 8 * 0.8, discount: 0.2},
		{name: "that changes", sheet: head + rules, cost: 4*0.5 + 4*0.8, discount: 1 - 5.2/8},
		{name: "all of it", sheet: "defaults: {cpuPerCoreHour: 1, ramPerGiBHour: 0}\ndiscount: 1\n", discount: 1},
		{name: "of no account where a metric prices the node", sheet: head, change: map[string]*timeline.Points{"price": minutes(2, 1, 121)}, cost: 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sheet, err := pricing.Parse("sheet", []byte(tt.sheet))
			if err != nil {
				t.Fatal(err)
			}
			inputs := caseSignals()
			inputs["price"] = tt.change["price"]
			s := buildCase(t, false, sheet, inputs, nil)
			n := s.Nodes[0]
			if math.Abs(n.Cost[allocation.CPU]-tt.cost) > 1e-9 || math.Abs(n.Discount-tt.discount) > 1e-9 {
				t.Errorf("cost %v, discount %v, want %v and %v", n.Cost[allocation.CPU], n.Discount, tt.cost, tt.discount)
			}
		})
	}
}

// TestSummedDiscount checks that a node's discount over several sets is the discount on its cost in all of them.
func TestSummedDiscount(t *testing.T) {
	dict := allocation.NewDict()
	var sets []*allocation.Set
	for i, discount := range []float64{0.5, 0, 0} {
		from := clusterStart.Add(time.Duration(i) * time.Hour)
		s := allocation.NewSet(allocation.Window{Start: from, End: from.Add(time.Hour)}, dict)
		s.Nodes = []allocation.Node{{
			Cluster: "c", Name: "n", Start: from, End: from.Add(time.Hour), Discount: discount,
			Cost: [allocation.NumResources]float64{allocation.CPU: 4 * (1 - discount), allocation.RAM: float64(i) * (1 - discount)},
		}}
		sets = append(sets, s)
	}
	got, err := passes.Apply(sets, passes.Options{Accumulate: allocation.All})
	if err != nil {
		t.Fatal(err)
	}
	n := &got[0].Nodes[0]
	if math.Abs(n.Discount-2./15) > 1e-12 || n.Cost[allocation.CPU] != 10 || n.ListCost(allocation.CPU) != 12 || n.ListCost(allocation.RAM) != 3 {
		t.Errorf("cost %v of %v and %v, discount %v, want 10 of 12 and 3, and 2/15", n.Cost[allocation.CPU], n.ListCost(allocation.CPU), n.ListCost(allocation.RAM), n.Discount)
	}
	if list := (n.ListCost(allocation.CPU) + n.ListCost(allocation.RAM)) * (1 - n.Discount); math.Abs(list-n.TotalCost()) > 1e-12 {
		t.Errorf("after the discount it costs %v, not %v", list, n.TotalCost())
	}
}
