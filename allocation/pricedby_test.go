package allocation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
)

// TestPricedBy adds up what assets cost by the sources of their prices, and headers of which each has its own.
func TestPricedBy(t *testing.T) {
	h := allocation.Header{
		Nodes: []allocation.Node{
			{Cost: [allocation.NumResources]float64{4, 2, 0}, PriceSource: [allocation.NumResources]string{"node_cpu_hourly_cost", "prices.yaml:3", "built-in defaults"}},
			{Cost: [allocation.NumResources]float64{1, 1, 5}, PriceSource: [allocation.NumResources]string{"prices.yaml:3", "prices.yaml:3", "built-in defaults"}},
		},
		Disks:      []allocation.Disk{{Cost: 3, PriceSource: "pv_hourly_cost"}, {Cost: 0.5, PriceSource: "built-in defaults"}},
		Balancers:  []allocation.LoadBalancer{{Cost: 0.25, PriceSource: "built-in defaults"}},
		Networks:   []allocation.Network{{CrossZone: 0.125, Internet: 7, PriceSource: [3]string{"built-in defaults", "", "kubecost_network_internet_egress_cost"}}},
		Management: []allocation.Management{{Cost: 0.1, PriceSource: "prices.yaml:9"}},
	}
	want := []allocation.SourceCost{
		{Source: "kubecost_network_internet_egress_cost", Cost: 7},
		{Source: "built-in defaults", Cost: 5.875},
		{Source: "prices.yaml", Cost: 4.1},
		{Source: "node_cpu_hourly_cost", Cost: 4},
		{Source: "pv_hourly_cost", Cost: 3},
	}
	if diff := cmp.Diff(want, h.PricedBy()); diff != "" {
		t.Error(diff)
	}
	later := allocation.Header{Disks: []allocation.Disk{{Cost: 3, PriceSource: "built-in defaults"}}}
	merged := later // has but the newest source of each asset
	merged.AddPricedBy(&h, &later)
	want[0], want[1] = allocation.SourceCost{Source: "built-in defaults", Cost: 8.875}, want[0]
	if diff := cmp.Diff(want, merged.PricedBy()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]allocation.SourceCost{{Source: "built-in defaults", Cost: 3}}, later.PricedBy()); diff != "" {
		t.Error(diff)
	}
}
