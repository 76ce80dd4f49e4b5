package metering

import (
	"cmp"
	"slices"

	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/allocation"
)

// openCostSubjects have the metrics that dashboards and rules for OpenCost read. One switch turns them all on or off. Amounts and
// costs are means of the hour: amount times price is the cost of the hour, unless nodes are overcommitted. Dashboards join on the label
// instance, which is the node.
var openCostSubjects = []Subject{
	{
		Name: "opencost-node", collector: "opencost", Help: "what dashboards and rules for OpenCost read, by the names and labels of its metrics: scrape with honor_labels", noResource: true, drops: true,
		Labels: []string{"cluster", "instance", "node", "instance_type", "region", "provider_id", "arch"},
		families: []familyTraits{
			{name: "node_cpu_hourly_cost", help: "Price of a core for an hour on the node, a mean of the last closed hour after discounts.", value: priceOf(allocation.CPU)},
			{name: "node_ram_hourly_cost", help: "Price of a GiB of memory for an hour on the node, a mean of the last closed hour after discounts.", value: priceOf(allocation.RAM)},
			{name: "node_gpu_hourly_cost", help: "Price of a GPU for an hour on the node, a mean of the last closed hour.", value: priceOf(allocation.GPU)},
			{name: "node_total_hourly_cost", help: "What the node cost in the last closed hour, per hour.", value: totalPerHour},
			{name: "node_gpu_count", help: "GPUs of the node, a mean of the last closed hour.", value: hoursPerHour(allocation.GPU)},
			{name: "kubecost_node_is_spot", help: "Whether the node is of the spot market: 1 or 0.", value: isSpot},
		}, totals: openNodeTotals,
	},
	{
		Name: "opencost-container", collector: "opencost", noResource: true, drops: true, costless: true,
		Labels: []string{"cluster", "instance", "node", "namespace", "pod", "uid", "container"}, by: []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Namespace, allocation.Pod, allocation.PodUID, allocation.Container},
		families: []familyTraits{
			{name: "container_cpu_allocation", help: "Cores allocated to the container, a mean of the last closed hour.", needs: []allocation.Measure{allocation.Hours}, value: hoursPerHour(allocation.CPU)},
			{name: "container_memory_allocation_bytes", help: "Bytes of memory allocated to the container, a mean of the last closed hour.", needs: []allocation.Measure{allocation.Hours}, value: hoursPerHour(allocation.RAM)},
			{name: "container_gpu_allocation", help: "GPUs allocated to the container, a mean of the last closed hour.", needs: []allocation.Measure{allocation.Hours}, value: hoursPerHour(allocation.GPU)},
		}, totals: openContainerTotals,
	},
	{
		Name: "opencost-volume", collector: "opencost", noResource: true, drops: true,
		Labels: []string{"cluster", "volumename", "persistentvolume", "provider_id"},
		families: []familyTraits{
			{name: "pv_hourly_cost", help: "Price of a GiB of the volume for an hour, a mean of the last closed hour.", value: volumePrice},
		}, totals: openVolumeTotals,
	},
	{
		Name: "opencost-claim", collector: "opencost", noResource: true, drops: true, costless: true, volumes: true,
		Labels: []string{"cluster", "namespace", "pod", "uid", "persistentvolumeclaim", "persistentvolume"}, by: []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.Pod, allocation.PodUID},
		families: []familyTraits{
			{name: "pod_pvc_allocation", help: "Bytes of the volume allocated to the pod, a mean of the last closed hour.", value: bytesPerHour},
		}, totals: openClaimTotals,
	},
	{
		Name: "opencost-loadbalancer", collector: "opencost", noResource: true, drops: true,
		Labels: []string{"cluster", "namespace", "service_name", "ingress_ip"},
		families: []familyTraits{
			{name: "kubecost_load_balancer_cost", help: "What the load balancer cost in the last closed hour, per hour.", value: hourlyCost},
		}, totals: balancerTotals,
	},
	{
		Name: "opencost-management", collector: "opencost", noResource: true, drops: true,
		Labels: []string{"cluster", "provisioner_name"}, families: []familyTraits{
			{name: "kubecost_cluster_management_cost", help: "What running the cluster's control plane cost in the last closed hour, per hour.", value: hourlyCost},
		}, totals: openManagementTotals,
	},
	{
		Name: "opencost-cluster", collector: "opencost", noResource: true, drops: true,
		Labels: []string{"cluster", "id", "name", "provider"}, families: []familyTraits{
			{name: "kubecost_cluster_info", help: "Clusters as labels of the value 1.", value: one},
		}, totals: openClusterTotals,
	},
	{
		Name: "opencost-build", collector: "opencost", noResource: true, drops: true,
		Labels: []string{"cluster", "version", "revision"}, families: []familyTraits{
			{name: "opencost_build_info", help: "The build of promcost, which stands in for OpenCost, as labels of the value 1.", value: one},
		}, totals: openBuildTotals,
	},
	{
		Name: "opencost-network", collector: "opencost", noResource: true, drops: true, costless: true,
		Labels: []string{"cluster"}, families: []familyTraits{
			{name: "kubecost_network_zone_egress_cost", help: "Price of a GiB sent to another zone.", value: figure(0)},
			{name: "kubecost_network_region_egress_cost", help: "Price of a GiB sent to another region.", value: figure(1)},
			{name: "kubecost_network_internet_egress_cost", help: "Price of a GiB sent to the internet.", value: figure(2)},
		}, totals: openNetworkTotals,
	},
	{
		Name: "opencost-kube-node", collector: "opencost-kube", Help: "the few series of kube-state-metrics that dashboards for OpenCost want of the same job", noResource: true, drops: true, costless: true,
		Labels: []string{"cluster", "node", "resource", "unit"}, families: []familyTraits{
			{name: "kube_node_status_capacity", help: "Capacity of the node, a mean of the last closed hour.", value: oneCapacity},
		}, totals: kubeNodeTotals,
	},
	{
		Name: "opencost-kube-volume", collector: "opencost-kube", noResource: true, drops: true, costless: true,
		Labels: []string{"cluster", "persistentvolume"}, families: []familyTraits{
			{name: "kube_persistentvolume_capacity_bytes", help: "Size of the volume, a mean of the last closed hour.", value: bytesPerHour},
		}, totals: kubeVolumeTotals,
	},
	{
		Name: "opencost-kube-claim", collector: "opencost-kube", noResource: true, drops: true,
		Labels: []string{"cluster", "namespace", "persistentvolumeclaim", "storageclass", "volumename"}, families: []familyTraits{
			{name: "kube_persistentvolumeclaim_info", help: "Claims and their volumes as labels of the value 1.", value: one},
		}, totals: kubeClaimTotals,
	},
	{
		Name: "opencost-kube-namespace", collector: "opencost-kube", noResource: true, drops: true,
		Labels: []string{"cluster", "namespace"}, by: []allocation.Property{allocation.Cluster, allocation.Namespace}, families: []familyTraits{
			{name: "kube_namespace_labels", help: "Namespaces in which something ran as labels of the value 1.", value: one},
		}, totals: kubeNamespaceTotals,
	},
}

// ClusterLabel says when metrics under OpenCost's names have the label cluster, which OpenCost does not set. Dashboards join them with series of
// the source by it, so both must have it, or neither. Where there are several clusters they have it in any case.
type ClusterLabel string

// The values of ClusterLabel.
const (
	ClusterAuto   ClusterLabel = "auto" // where series of the source have it
	ClusterAlways ClusterLabel = "always"
	ClusterNever  ClusterLabel = "never"
)

// withoutCluster removes the values of the label cluster from the totals of a set if the subject is not to have it.
func (s *Subject) withoutCluster(set *allocation.Set, rows []subjectTotal) {
	hidden := s.clusterLabel == ClusterNever || s.clusterLabel == ClusterAuto && set.Unlabeled
	if !hidden || slices.ContainsFunc(rows, func(t subjectTotal) bool { return t.labels[0] != rows[0].labels[0] }) {
		return
	}
	for i := range rows {
		rows[i].labels[0] = ""
	}
}

// hoursPerHour is the mean amount of a resource that a container was allocated, or that a node has. It is 0 where there is none:
// dashboards multiply amounts by prices, and what only one side has is left out of the product.
func hoursPerHour(r allocation.Resource) familyValue {
	return func(t *subjectTotal, _ familyResource, hours float64) (float64, bool) {
		return t.hours[r] / hours, true
	}
}

// oneCapacity is the mean capacity of a node, of a total that has one resource.
func oneCapacity(t *subjectTotal, _ familyResource, hours float64) (float64, bool) {
	sum := 0.0
	for _, h := range t.hours {
		sum += h
	}
	return sum / hours, true
}

// bytesPerHour is the mean size of a volume.
func bytesPerHour(t *subjectTotal, _ familyResource, hours float64) (float64, bool) {
	return t.byteHours / hours, true
}

// priceOf is the cost of a node's capacity divided by that capacity. A node without GPUs has the price 0 for them, as OpenCost has it:
// dashboards add up the prices of a node.
func priceOf(r allocation.Resource) familyValue {
	return func(t *subjectTotal, _ familyResource, _ float64) (float64, bool) {
		if t.hours[r] <= 0 {
			return 0, r == allocation.GPU
		}
		return t.cost[r] / (t.hours[r] / r.PerPriceUnit()), true
	}
}

func totalPerHour(t *subjectTotal, _ familyResource, hours float64) (float64, bool) {
	return (t.cost[allocation.CPU] + t.cost[allocation.RAM] + t.cost[allocation.GPU]) / hours, true
}

func isSpot(t *subjectTotal, _ familyResource, _ float64) (float64, bool) {
	if t.spot {
		return 1, true
	}
	return 0, true
}

// volumePrice is the cost of a volume divided by its size.
func volumePrice(t *subjectTotal, _ familyResource, _ float64) (float64, bool) {
	return t.cost[0] / (t.byteHours / allocation.RAM.PerPriceUnit()), t.byteHours > 0
}

func one(*subjectTotal, familyResource, float64) (float64, bool) { return 1, true }

func openNodeTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	rows := eachTotal(s.Nodes, func(n *allocation.Node) ([]string, resourceSet, []float64) {
		return assetLabels(n.Cluster, n.Name, n.Name, n.InstanceType, n.Region, n.ProviderID, n.Arch), nodeResources(n), n.Cost[:]
	})
	for i := range s.Nodes {
		rows[i].hours, rows[i].spot = s.Nodes[i].Hours, s.Nodes[i].Spot
	}
	return rows
}

func openContainerTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return subject.sumHours(s, func(row int) []string {
		text := func(p allocation.Property) string { return validLabel(s.Text(p, row)) }
		return []string{
			cmp.Or(text(allocation.Cluster), allocation.UnallocatedName), text(allocation.NodeName), text(allocation.NodeName), text(allocation.Namespace), text(allocation.Pod), text(allocation.PodUID), text(allocation.Container),
		}
	})
}

func openVolumeTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	var rows []subjectTotal
	for i := range s.Disks {
		d := &s.Disks[i]
		if d.Local {
			continue
		}
		row := subjectTotal{labels: assetLabels(d.Cluster, d.Name, d.Name, d.ProviderID), has: wholeAsset}
		row.cost[0], row.byteHours = d.Cost, d.ByteHours
		rows = append(rows, row)
	}
	return rows
}

func openClaimTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	disks := map[string]*allocation.Disk{}
	for i := range s.Disks {
		if d := &s.Disks[i]; !d.Local {
			disks[allocation.VolumeKey(d.Cluster, d.Name)] = d
		}
	}
	var rows []subjectTotal
	for row := range s.Len() {
		if s.Special(row) != allocation.Workload {
			continue
		}
		for _, share := range s.Volumes(row) {
			d := disks[s.Dict().Text(share.Key)]
			if d == nil {
				continue
			}
			labels := assetLabels(s.Text(allocation.Cluster, row), s.Text(allocation.Namespace, row), s.Text(allocation.Pod, row), s.Text(allocation.PodUID, row), d.ClaimName, d.Name)
			rows = append(rows, subjectTotal{labels: labels, has: wholeAsset, byteHours: share.ByteHours})
		}
	}
	return rows
}

// openManagementTotals has 0 for clusters whose control plane costs nothing, as OpenCost has it.
func openManagementTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	rows := eachTotal(s.Management, func(m *allocation.Management) ([]string, resourceSet, []float64) {
		return assetLabels(m.Cluster, m.Provisioner), wholeAsset, []float64{m.Cost}
	})
	for _, cluster := range openClusterTotals(subject, s) {
		if !slices.ContainsFunc(rows, func(t subjectTotal) bool { return t.labels[0] == cluster.labels[0] }) {
			rows = append(rows, subjectTotal{labels: []string{cluster.labels[0], ""}, has: wholeAsset})
		}
	}
	return rows
}

// openClusterTotals has each cluster once, with the provider of one of its nodes if that is known.
func openClusterTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	rows := eachTotal(s.Nodes, func(n *allocation.Node) ([]string, resourceSet, []float64) {
		provider, _ := allocation.ParseProviderID(n.ProviderID)
		return assetLabels(n.Cluster, n.Cluster, n.Cluster, provider), wholeAsset, nil
	})
	slices.SortStableFunc(rows, func(a, b subjectTotal) int {
		return cmp.Or(cmp.Compare(a.labels[0], b.labels[0]), cmp.Compare(b.labels[3], a.labels[3]))
	})
	return slices.CompactFunc(rows, func(a, b subjectTotal) bool { return a.labels[0] == b.labels[0] })
}

// openBuildTotals has each cluster: dashboards list clusters by this metric.
func openBuildTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Nodes, func(n *allocation.Node) ([]string, resourceSet, []float64) {
		return assetLabels(n.Cluster, version.Version, version.GetRevision()), wholeAsset, nil
	})
}

// openNetworkTotals have the prices of traffic as their figures.
func openNetworkTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	rows := make([]subjectTotal, len(s.Networks))
	for i := range s.Networks {
		n := &s.Networks[i]
		rows[i] = subjectTotal{labels: assetLabels(n.Cluster)}
		copy(rows[i].figures[:], n.Price[:])
		for kind, source := range n.PriceSource {
			if source != "" {
				rows[i].has |= 1 << kind
			}
		}
	}
	return rows
}

// kubeNodeTotals has a row for each resource of a node.
func kubeNodeTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	var rows []subjectTotal
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for r, names := range [allocation.NumResources][2]string{allocation.CPU: {"cpu", "core"}, allocation.RAM: {"memory", "byte"}, allocation.GPU: {"nvidia_com_gpu", "integer"}} {
			if n.Hours[r] == 0 {
				continue
			}
			t := subjectTotal{labels: assetLabels(n.Cluster, n.Name, names[0], names[1]), has: wholeAsset}
			t.hours[r] = n.Hours[r]
			rows = append(rows, t)
		}
	}
	return rows
}

func kubeVolumeTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	var rows []subjectTotal
	for i := range s.Disks {
		if d := &s.Disks[i]; !d.Local {
			rows = append(rows, subjectTotal{labels: assetLabels(d.Cluster, d.Name), has: wholeAsset, byteHours: d.ByteHours})
		}
	}
	return rows
}

func kubeClaimTotals(_ *Subject, s *allocation.Set) []subjectTotal {
	return eachTotal(s.Disks, func(d *allocation.Disk) ([]string, resourceSet, []float64) {
		if d.Local || d.ClaimName == "" {
			return nil, 0, nil
		}
		return assetLabels(d.Cluster, d.ClaimNamespace, d.ClaimName, d.StorageClass, d.Name), wholeAsset, []float64{d.Cost}
	})
}

func kubeNamespaceTotals(subject *Subject, s *allocation.Set) []subjectTotal {
	return subject.sumHours(s, func(row int) []string {
		return assetLabels(s.Text(allocation.Cluster, row), s.Text(allocation.Namespace, row))
	})
}
