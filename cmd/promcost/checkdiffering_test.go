package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
)

// TestDifferingPrices warns of nodes whose metrics say something else than what is listed, and of nodes of one kind with different prices.
func TestDifferingPrices(t *testing.T) {
	const metric, listed = "node_cpu_hourly_cost", "built-in list prices of 2026-07-20"
	node := func(name, zone string, spot bool, source string, perHour float64) allocation.Node {
		n := allocation.Node{
			Cluster: "c", Name: name, ProviderID: "aws:///" + zone + "/i-" + name, InstanceType: "m5.large", Region: "us-east-1", Zone: zone, Spot: spot, RunningSeconds: 3600,
			PriceSource: [allocation.NumResources]string{source, source, source},
		}
		n.Hours[allocation.CPU], n.Hours[allocation.RAM] = 2, 8<<30
		n.Cost[allocation.CPU], n.Cost[allocation.RAM] = perHour/2, perHour/2
		return n
	}
	late := func(n allocation.Node) allocation.Node {
		n.RunningSeconds = 1800
		return n
	}
	for name, tt := range map[string]struct {
		nodes []allocation.Node
		want  []string // beginnings of the warnings
	}{
		"as listed":        {[]allocation.Node{node("a", "z", false, metric, 0.096), node("b", "z", false, metric, 0.096)}, nil},
		"discounted":       {[]allocation.Node{node("a", "z", false, metric, 0.04)}, nil},
		"a month's price":  {[]allocation.Node{node("a", "z", false, metric, 70), node("b", "y", false, metric, 0.096)}, []string{"1 node costs by metrics more than 3 times, or less than a third, of what is listed (a): a costs 70 an hour by metrics, and 0.096 by built-in list prices"}},
		"nearly free":      {[]allocation.Node{node("a", "z", false, metric, 0.01), node("b", "z", false, metric, 0.01)}, []string{"2 nodes cost by metrics more than 3 times, or less than a third, of what is listed (a, b): "}},
		"spot":             {[]allocation.Node{node("a", "z", true, metric, 0.03), node("b", "z", true, metric, 0.05)}, nil},
		"by a sheet":       {[]allocation.Node{node("a", "z", false, "prices.yaml:3", 70)}, nil},
		"two prices":       {[]allocation.Node{node("a", "z", false, metric, 0.096), node("b", "z", false, metric, 0.11)}, []string{"nodes on demand of m5.large in zone z have different prices by node_cpu_hourly_cost: a costs 0.096 an hour, and b costs 0.11."}},
		"for other times":  {[]allocation.Node{node("a", "z", false, metric, 0.096), late(node("b", "z", false, metric, 0.11))}, nil},
		"of two zones":     {[]allocation.Node{node("a", "z", false, metric, 0.096), node("b", "y", false, metric, 0.11)}, nil},
		"of two sources":   {[]allocation.Node{node("a", "z", false, metric, 0.096), node("b", "z", false, listed, 0.11)}, nil},
		"nothing is known": {[]allocation.Node{{Name: "a"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := allocation.NewSet(allocation.Window{Start: time.Unix(0, 0), End: time.Unix(3600, 0)}, allocation.NewDict())
			set.Nodes = tt.nodes
			var got []string
			for i, w := range differingPrices(set, pricing.Default().WithList(listprices.Embedded())) {
				if i < len(tt.want) && strings.HasPrefix(w, tt.want[i]) {
					w = tt.want[i]
				}
				got = append(got, w)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
