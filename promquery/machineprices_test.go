package promquery_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
)

// TestMachinePrices checks that a node whose price sheet has a price of the whole machine costs that, whatever it has, and that its pods and idle are all of it (SEMANTICS §12).
func TestMachinePrices(t *testing.T) {
	t.Parallel()
	m := nodeObjects(nil)
	sizes := map[string][allocation.NumResources]float64{"small": {2, 8, 0}, "large": {96, 768, 0}, "accelerated": {8, 61, 4}, "cheap": {8, 61, 1}}
	var sheet strings.Builder
	sheet.WriteString("nodes:\n")
	prices := map[string]float64{"small": 0.0928, "large": 6.048, "accelerated": 12.24, "cheap": 0.45}
	for name, size := range sizes {
		m.add(clusterBegin, clusterEnd, 1, "kube_node_info", "node", name, "provider_id", "aws:///us-east-1a/i-"+name)
		m.add(clusterBegin, clusterEnd, 1, "kube_node_labels", "node", name, "label_node_kubernetes_io_instance_type", name)
		m.add(clusterBegin, clusterEnd, size[0], "kube_node_status_capacity", "node", name, "resource", "cpu", "unit", "core")
		m.add(clusterBegin, clusterEnd, size[1]*gib, "kube_node_status_capacity", "node", name, "resource", "memory", "unit", "byte")
		if size[2] > 0 {
			m.add(clusterBegin, clusterEnd, size[2], "kube_node_status_capacity", "node", name, "resource", "nvidia_com_gpu", "unit", "integer")
		}
		m.requesting(clusterBegin, clusterEnd, "a", name, fmt.Sprintf("45450000-0000-4000-8000-%012x", len(name)), name, 0.5, 3)
		fmt.Fprintf(&sheet, "- {instanceType: %s, nodePerHour: %g}\n", name, prices[name])
	}
	// One gets more while it runs. It is the same machine, at the same price.
	prices["grown"], sizes["grown"] = 0.1, [allocation.NumResources]float64{4, 16, 0}
	sheet.WriteString("- {name: grown, nodePerHour: 0.1}\n")
	m.add(clusterBegin, clusterEnd, 1, "kube_node_info", "node", "grown", "provider_id", "test:///grown")
	m.requesting(clusterBegin, clusterEnd, "a", "grown-0", "45450000-0000-4000-8000-0000000000ff", "grown", 0.5, 3)
	for i, until := range []int{4000, clusterEnd} {
		from := []int{clusterBegin, 4000}[i]
		m.add(from, until, float64(2+2*i), "kube_node_status_capacity", "node", "grown", "resource", "cpu", "unit", "core")
		m.add(from, until, float64(8+8*i)*gib, "kube_node_status_capacity", "node", "grown", "resource", "memory", "unit", "byte")
	}
	// One has nothing but what AWS lists for its type.
	prices["listed"], sizes["listed"] = 0.096, [allocation.NumResources]float64{2, 8, 0}
	m.add(clusterBegin, clusterEnd, 1, "kube_node_info", "node", "listed", "provider_id", "aws:///us-east-1a/i-0123456789abcdef0")
	m.add(clusterBegin, clusterEnd, 1, "kube_node_labels", "node", "listed", "label_node_kubernetes_io_instance_type", "m5.large", "label_topology_kubernetes_io_region", "us-east-1")
	m.add(clusterBegin, clusterEnd, 2, "kube_node_status_capacity", "node", "listed", "resource", "cpu", "unit", "core")
	m.add(clusterBegin, clusterEnd, 8*gib, "kube_node_status_capacity", "node", "listed", "resource", "memory", "unit", "byte")
	m.requesting(clusterBegin, clusterEnd, "a", "listed-0", "45450000-0000-4000-8000-0000000000fe", "listed", 0.5, 3)
	db := m.blocks(t)
	for _, resolution := range grids() {
		t.Run(allocation.ResolutionText(resolution), func(t *testing.T) {
			set := computeRated(t, db, twoHours(resolution), sheet.String())
			seen := 0
			for _, n := range set.Nodes {
				if prices[n.Name] == 0 {
					continue
				}
				seen++
				sum := 0.0
				for r := range allocation.NumResources {
					sum += n.Cost[r]
					pods := sums(set, allocation.NodeName, allocation.Cost.Of(r))[n.Name]
					if math.Abs(pods+n.Idle[r]-n.Cost[r]) > 1e-9*n.Cost[r] {
						t.Errorf("%s of %s: pods %g and idle %g, want %g", r, n.Name, pods, n.Idle[r], n.Cost[r])
					}
				}
				if want := 2 * prices[n.Name]; math.Abs(sum-want) > 1e-9*want {
					t.Errorf("%s costs %g, want %g", n.Name, sum, want)
				}
			}
			if seen != len(sizes) {
				t.Errorf("%d nodes of %d are there", seen, len(sizes))
			}
		})
	}
}
