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

// exportedNode is a node without prices of its own, or with those that OpenCost exports where it knows none.
type exportedNode struct {
	name, providerID string
	instanceType     string
	zone             string
	labels           []string
	size             [allocation.NumResources]float64
	openCost         bool // OpenCost exports its defaults
	want             float64
	source           string // begins the source of its price
}

// exportedNodes have prices by exporters, which addExporters adds.
var exportedNodes = []exportedNode{
	{name: "estimated", providerID: "aws:///us-west-2a/i-01", instanceType: "m5.large", zone: "us-west-2a", size: [3]float64{2, 8, 0}, want: 0.111, source: "Karpenter"},
	{name: "elsewhere", providerID: "aws:///us-west-2c/i-02", instanceType: "m5.large", zone: "us-west-2c", size: [3]float64{2, 8, 0}, want: 0.112, source: "Karpenter"},
	{name: "spot", providerID: "aws:///us-west-2b/i-03", instanceType: "m5.large", zone: "us-west-2b", labels: []string{"label_karpenter_sh_capacity_type", "spot"}, size: [3]float64{2, 8, 0}, want: 0.041, source: "Karpenter"},
	{name: "reserved", providerID: "aws:///us-west-2a/i-04", instanceType: "m5.large", zone: "us-west-2a", labels: []string{"label_karpenter_sh_capacity_type", "reserved"}, size: [3]float64{2, 8, 0}, want: 0.111, source: "Karpenter"},
	{name: "accelerated", providerID: "aws:///us-west-2a/i-05", instanceType: "p3.8xlarge", zone: "us-west-2a", size: [3]float64{32, 244, 4}, want: 12.5, source: "Karpenter"},
	{name: "free", providerID: "aws:///us-west-2a/i-06", instanceType: "c5.large", zone: "us-west-2a", size: [3]float64{2, 4, 0}, want: 0.085, source: "built-in list prices"},
	{name: "china", providerID: "aws:///cn-north-1a/i-07", instanceType: "m5.xlarge", zone: "cn-north-1a", size: [3]float64{4, 16, 0}, want: 4*0.031611 + 16*0.004237, source: "built-in defaults"},
	{name: "ip-10-0-0-8.ec2.internal", providerID: "aws:///us-west-2a/i-08", instanceType: "m5.xlarge", zone: "us-west-2a", size: [3]float64{4, 15.5, 0}, want: 4*0.03 + 15.5*0.004, source: "cloudcost-exporter"},
	{name: "renamed", providerID: "aws:///us-west-2a/i-09", instanceType: "m5.xlarge", zone: "us-west-2a", size: [3]float64{4, 16, 0}, want: 0.2, source: "cloudcost-exporter"},
	{name: "with-gpus", providerID: "gce://project/us-central1-a/with-gpus", instanceType: "a2-highgpu-1g", zone: "us-central1-a", size: [3]float64{12, 85, 1}, want: 12*0.03 + 85*0.004 + 0.95, source: "cloudcost-exporter"},
	{name: "total-with-gpus", providerID: "aws:///us-west-2a/i-11", instanceType: "p4d.24xlarge", zone: "us-west-2a", size: [3]float64{96, 1152, 8}, want: 32.7, source: "cloudcost-exporter"},
	{
		name: "aks-pool-1-vmss00000a", providerID: "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/aks-pool-1-vmss/virtualMachines/10",
		instanceType: "Standard_D4s_v3", zone: "eastus-1", size: [3]float64{4, 16, 0}, want: 0.192, source: "cloudcost-exporter",
	},
	{name: "defaulted", providerID: "aws:///us-west-2a/i-12", instanceType: "m5.large", zone: "us-west-2a", size: [3]float64{2, 8, 0}, openCost: true, want: 0.111, source: "Karpenter"},
	{name: "defaulted-only", providerID: "other:///12", instanceType: "large", size: [3]float64{2, 8, 0}, openCost: true, want: 2*0.031611 + 8*0.004237, source: "built-in defaults"},
}

// addExporters adds what exporters say of machines and volumes.
func (m *madeUp) addExporters() {
	offering := func(instanceType, capacity, zone string, price float64) {
		m.add(clusterBegin, clusterEnd, price, "karpenter_cloudprovider_instance_type_offering_price_estimate", "instance_type", instanceType, "capacity_type", capacity, "zone", zone)
	}
	offering("m5.large", "on-demand", "us-west-2a", 0.111)
	offering("m5.large", "on-demand", "us-west-2b", 0.112)
	offering("m5.large", "spot", "us-west-2a", 0.040)
	offering("m5.large", "spot", "us-west-2b", 0.041)
	offering("m5.large", "reserved", "us-west-2a", 0.00000001)
	offering("p3.8xlarge", "on-demand", "us-west-2a", 12.5)
	offering("c5.large", "on-demand", "us-west-2a", 0)
	offering("m5.xlarge", "on-demand", "cn-north-1a", 1.5)
	exporter := func(metric string, price float64, labels ...string) {
		m.scraped("cloudcost-exporter", clusterBegin, clusterEnd, always(price), "cloudcost_"+metric, labels...)
	}
	for _, x := range [][]string{
		{"aws_ec2", "instance", "10.1.1.1:8080", "exported_instance", "ip-10-0-0-8.ec2.internal", "instance_id", "i-08"},
		{"gcp_gke", "instance", "with-gpus"},
		{"aws_ec2", "instance", "total-with-gpus", "instance_id", "i-11"},
	} {
		exporter(x[0]+"_instance_cpu_usd_per_core_hour", 0.03, x[1:]...)
		exporter(x[0]+"_instance_memory_usd_per_gib_hour", 0.004, x[1:]...)
	}
	exporter("aws_ec2_instance_total_usd_per_hour", 0.184, "instance", "ip-10-0-0-8.ec2.internal", "instance_id", "i-08")
	exporter("aws_ec2_instance_total_usd_per_hour", 0.2, "instance", "ip-10-0-0-9.ec2.internal", "instance_id", "i-09", "cluster", "tools")
	exporter("aws_ec2_instance_total_usd_per_hour", 32.7, "instance", "total-with-gpus", "instance_id", "i-11")
	exporter("azure_aks_instance_total_usd_per_hour", 0.192, "instance", "aks-pool-1-vmss_10")
	exporter("aws_ec2_persistent_volume_usd_per_hour", 0.011, "persistentvolume", "whole")
	exporter("azure_aks_storage_by_location_usd_per_gibyte_hour", 0.0002, "persistentvolume", "unit")
}

// add adds the node's objects, and a pod on it.
func (x *exportedNode) add(m *madeUp, i int) {
	m.add(clusterBegin, clusterEnd, 1, "kube_node_info", "node", x.name, "provider_id", x.providerID)
	region := strings.TrimRight(x.zone, "abc")
	m.add(clusterBegin, clusterEnd, 1, "kube_node_labels", append(x.labels, "node", x.name, "label_node_kubernetes_io_instance_type", x.instanceType, "label_topology_kubernetes_io_region", region, "label_topology_kubernetes_io_zone", x.zone)...)
	for r, resource := range []string{"cpu", "memory", "nvidia_com_gpu"} {
		amount := x.size[r]
		if resource == "memory" {
			amount *= gib
		}
		if amount > 0 {
			m.add(clusterBegin, clusterEnd, amount, "kube_node_status_capacity", "node", x.name, "resource", resource, "unit", "u")
		}
	}
	if x.openCost {
		for metric, price := range map[string]float64{"node_cpu_hourly_cost": 0.031611, "node_ram_hourly_cost": 0.004237, "node_gpu_hourly_cost": 0.95} {
			m.add(clusterBegin, clusterEnd, price, metric, "node", x.name, "instance", x.name)
		}
	}
	m.requesting(clusterBegin, clusterEnd, "a", x.name, fmt.Sprintf("45450001-0000-4000-8000-%012x", i), x.name, 0.5, 3)
}

// TestExportedPrices checks that nodes and volumes without prices of their own cost what exporters say, that OpenCost's defaults are none, and that nothing is lost (SEMANTICS §12).
func TestExportedPrices(t *testing.T) {
	t.Parallel()
	m := nodeObjects(nil)
	for name, size := range map[string]float64{"whole": 100 * gib, "unit": 50 * gib} {
		m.add(clusterBegin, clusterEnd, size, "kube_persistentvolume_capacity_bytes", "persistentvolume", name)
		m.add(clusterBegin, clusterEnd, 1, "kube_persistentvolume_info", "persistentvolume", name, "storageclass", "fast")
	}
	m.addExporters()
	for i := range exportedNodes {
		exportedNodes[i].add(m, i)
	}
	db := m.blocks(t)
	for _, resolution := range grids() {
		t.Run(allocation.ResolutionText(resolution), func(t *testing.T) {
			q := twoHours(resolution)
			checkExported(t, computeRated(t, db, q, "currency: USD"), 2)
			q.Window.End = q.Window.Start.Add(time.Hour)
			checkExported(t, computeRated(t, db, q, "currency: USD"), 1)
		})
	}
}

// TestExportersAreNotAsked checks that nobody asks for prices of other exporters where all nodes have their own.
func TestExportersAreNotAsked(t *testing.T) {
	t.Parallel()
	set := compute(t, nodeObjects(nil).blocks(t), twoHours(time.Minute))[0]
	for _, in := range set.Reading.Inputs {
		if slices.Contains([]string{"instance price", "instance cpu price", "instance memory price", "offering price", "whole volume price"}, in.Name) {
			t.Errorf("%s was asked for", in.Name)
		}
	}
}

// checkExported checks what things cost for hours.
func checkExported(t *testing.T, set *allocation.Set, hours float64) {
	t.Helper()
	for _, x := range exportedNodes {
		i := slices.IndexFunc(set.Nodes, func(n allocation.Node) bool { return n.Name == x.name })
		if i < 0 {
			t.Errorf("%s is missing", x.name)
			continue
		}
		n, sum := &set.Nodes[i], 0.0
		for r := range allocation.NumResources {
			sum += n.Cost[r]
			pods := sums(set, allocation.NodeName, allocation.Cost.Of(r))[n.Name]
			if math.Abs(pods+n.Idle[r]-n.Cost[r]) > 1e-9*n.Cost[r] {
				t.Errorf("%s of %s: pods %g and idle %g, want %g", r, n.Name, pods, n.Idle[r], n.Cost[r])
			}
		}
		if want := hours * x.want; math.Abs(sum-want) > 1e-9*want || !strings.HasPrefix(n.PriceSource[allocation.CPU], x.source) {
			t.Errorf("%s costs %g by %s, want %g by %s", n.Name, sum, n.PriceSource[allocation.CPU], want, x.source)
		}
	}
	for _, d := range set.Disks {
		if want := map[string]float64{"whole": 0.011, "unit": 50 * 0.0002}[d.Name] * hours; want > 0 && (math.Abs(d.Cost-want) > 1e-9*want || d.PriceSource != "cloudcost-exporter") {
			t.Errorf("%s costs %g by %s, want %g", d.Name, d.Cost, d.PriceSource, want)
		}
	}
	for _, w := range set.Warnings {
		if strings.Contains(w, "lack a price") && (strings.Contains(w, "estimated") || strings.Contains(w, "renamed") || !strings.Contains(w, "defaulted-only") || !strings.Contains(w, "china")) {
			t.Error(w)
		}
	}
}
