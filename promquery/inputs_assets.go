package promquery

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
)

const (
	stats    = "scrape /metrics of every kubelet"
	egress   = "run a network cost exporter such as OpenCost's and let this Prometheus scrape it"
	exporter = "run node_exporter on every node, and let its series carry the node's name or address"
	disks    = "/dev/((sd|vd|xvd|nvme[0-9]+n|mmcblk|dm-|md|mapper/).*|root)"
)

// byNode reads the node's name from what exporters on nodes put it in, else from the address they are scraped at.
var byNode = map[string][]string{"node": {"node", "kubernetes_node", "nodename", "instance"}}

// bound is claims that are bound to a volume, as a proof.
var bound = Proof{Input: "volume claim", Label: "persistentvolume"}

// volumes are the inputs about persistent volumes and the nodes' own disks.
var volumes = []Input{
	{
		Name: "volume", Signal: signals.VolumeInfo,
		Alternatives: []Alternative{metric("kube_persistentvolume_info"), {Metric: "kubecost_pv_info", Labels: map[string][]string{"csi_volume_handle": {"provider_id"}}}},
		Missing:      "volumes have no storage class and no provider id", Remedy: ksm, Need: Occasional, With: append(by("volume capacity", "volume price", "claim capacity"), bound),
	},
	{Name: "volume labels", Signal: signals.VolumeLabels, Alternatives: []Alternative{metric("kube_persistentvolume_labels")}, Missing: "rules of the price sheet cannot tell volumes by their labels, and their region is that of their cluster", Remedy: "run kube-state-metrics with --metric-labels-allowlist=persistentvolumes=[*]", Need: Occasional},
	{Name: "volume capacity", Signal: signals.VolumeCapacity, Alternatives: []Alternative{own("kube_persistentvolume_capacity_bytes")}, Missing: "volumes have the size that kubelets tell of mounted ones, else they cost nothing", Remedy: ksm, Need: Occasional, With: append(by("volume", "volume price", "claim capacity", "claim usage", "pod volumes"), bound)},
	{
		Name: "volume claim", Signal: signals.VolumeClaim,
		Alternatives: []Alternative{
			{Metric: "kube_persistentvolumeclaim_info", Labels: map[string][]string{"persistentvolume": {"volumename"}}, Own: true},
			{Metric: "kube_persistentvolume_claim_ref", Labels: map[string][]string{"namespace": {"claim_namespace"}, "persistentvolumeclaim": {"name"}}},
		},
		Missing: "what volumes cost is unmounted: nothing says whose they are", Remedy: ksm, Need: Occasional, With: by("pod volumes", "claim capacity", "claim usage", "volume capacity", "volume"),
	},
	{Name: "claim capacity", Signal: signals.ClaimCapacity, Alternatives: []Alternative{metric("kubelet_volume_stats_capacity_bytes")}, Missing: "nothing, where kube-state-metrics tells the volumes' size", Remedy: stats, Need: Occasional, With: by("claim usage")},
	{Name: "claim usage", Signal: signals.ClaimUsed, Alternatives: []Alternative{metric("kubelet_volume_stats_used_bytes")}, Missing: "nothing says how full volumes are", Remedy: stats, Need: Occasional, With: by("claim capacity")},
	{
		Name: "pod volumes", Signal: signals.PodMount,
		Alternatives: []Alternative{metric("kube_pod_spec_volumes_persistentvolumeclaims_info"), own("pod_pvc_allocation")},
		Missing:      "all volumes are unmounted", Remedy: ksm, Need: Occasional, With: by("claim capacity", "claim usage"),
	},
	{
		Name: "volume price", Signal: signals.VolumePrice,
		Alternatives: []Alternative{{Metric: "pv_hourly_cost", Labels: map[string][]string{"persistentvolume": {"persistentvolume", "volumename"}}, Own: true, Price: true}},
		Missing:      "prices are the sheet's", Remedy: givePrices + ", or scrape an exporter of pv_hourly_cost", Need: Occasional,
	},
	{
		Name: "node disk", Signal: signals.NodeDisk,
		Alternatives: []Alternative{
			metric("kube_node_status_capacity", equal("resource", "ephemeral_storage")),
			diskOf("container_fs_limit_bytes"),
		},
		Missing: "the nodes' own disks are no assets", Remedy: ksm,
	},
	{
		Name: "node disk usage", Signal: signals.NodeDiskUsed, Alternatives: []Alternative{diskOf("container_fs_usage_bytes")},
		Missing: "nothing says how full the nodes' own disks are", Remedy: kubelet + ", and keep the series of the root cgroup, id=\"/\"", Need: Occasional,
	},
}

// diskOf is what cAdvisor tells of the file systems on disks of a node, by the root cgroup.
func diskOf(metric string) Alternative {
	return Alternative{Metric: metric, Matchers: []Matcher{equal("id", "/"), matching("device", disks)}, Labels: map[string][]string{"node": kubeletNode}}
}

// podBytes is a counter of a pod's bytes by cAdvisor, and how kubelets before 1.16 spelled its labels.
func podBytes(name string) []Alternative {
	series := []string{"name"}
	labels := map[string][]string{"series": series, "namespace": cadvisorLabels["namespace"], "pod": cadvisorLabels["pod"]}
	return []Alternative{
		{Metric: name, Matchers: []Matcher{notEqual("pod", ""), notEqual("id", "/")}, Labels: labels, CgroupUID: true},
		{Metric: name, Matchers: []Matcher{equal("pod", ""), notEqual("pod_name", "")}, Labels: map[string][]string{"series": series, "pod": {"pod_name"}}, CgroupUID: true},
		{Metric: name, Matchers: []Matcher{equal("pod", ""), equal("pod_name", ""), notEqual(cadvisorLabels["pod"][0], "")}, Labels: labels, CgroupUID: true},
	}
}

// traffic are the inputs about what pods send and receive.
var traffic = []Input{
	{Name: "bytes sent", Signal: signals.PodTransmitted, Alternatives: podBytes("container_network_transmit_bytes_total"), Missing: "nothing says how much pods send", Remedy: kubelet},
	{Name: "bytes received", Signal: signals.PodReceived, Alternatives: podBytes("container_network_receive_bytes_total"), Missing: "nothing says how much pods receive", Remedy: kubelet},
	{
		Name: "network egress", Signal: signals.PodEgress,
		Alternatives: []Alternative{{Metric: "kubecost_pod_network_egress_bytes_total", Labels: map[string][]string{"pod": {"pod_name"}}}},
		Missing:      "network traffic costs nothing: nothing says where it goes", Remedy: egress, Need: Occasional,
		With: by("zone egress price", "region egress price", "internet egress price"),
	},
	egressPrice("zone", signals.ZoneEgressPrice),
	egressPrice("region", signals.RegionEgressPrice),
	egressPrice("internet", signals.InternetEgressPrice),
}

// egressPrice is the price of a GiB sent to somewhere.
func egressPrice(to string, signal signals.Signal) Input {
	name := "kubecost_network_" + to + "_egress_cost"
	return Input{
		Name: to + " egress price", Signal: signal, Alternatives: []Alternative{{Metric: name, Own: true, Price: true}},
		Missing: "prices are the sheet's", Remedy: givePrices + ", or scrape an exporter of " + name, Need: Occasional,
		With: by("zone egress price", "region egress price", "internet egress price"), // OpenCost exports all
	}
}

// service reads the service from the label that OpenCost uses.
var service = map[string][]string{"service": {"service_name"}}

// balancers are the inputs about load balancers and clusters as wholes.
var balancers = []Input{
	{Name: "load balancer", Signal: signals.Balancer, Alternatives: []Alternative{metric("kube_service_spec_type", equal("type", "LoadBalancer"))}, Missing: "load balancers are free, unless another metric shows them", Remedy: ksm, Need: Occasional, With: by("load balancer address", "load balancer price")},
	// Each cluster has services that are no load balancers: that of its API, for one.
	{Name: "other services", Signal: signals.OtherService, Alternatives: []Alternative{metric("kube_service_spec_type", notEqual("type", "LoadBalancer"))}, Missing: "load balancers are free, unless another metric shows them", Remedy: ksm, With: by("service", "load balancer address", "load balancer price")},
	{Name: "load balancer address", Signal: signals.BalancerIngress, Alternatives: []Alternative{metric("kube_service_status_load_balancer_ingress")}, Missing: "load balancers have no address", Remedy: ksm, Need: Occasional, With: by("load balancer")},
	{Name: "service labels", Signal: signals.ServiceLabels, Alternatives: []Alternative{metric("kube_service_labels")}, Missing: "rules of the price sheet cannot tell load balancers by labels", Remedy: "run kube-state-metrics with --metric-labels-allowlist=services=[*]", Need: Occasional},
	{Name: "load balancer price", Signal: signals.BalancerPrice, Alternatives: []Alternative{{Metric: "kubecost_load_balancer_cost", Labels: service, Own: true, Price: true}}, Missing: "prices are the sheet's", Remedy: givePrices + ", or scrape an exporter of kubecost_load_balancer_cost", Need: Occasional},
	{Name: "cluster management price", Signal: signals.ManagementPrice, Alternatives: []Alternative{{Metric: "kubecost_cluster_management_cost", Own: true, Price: true}}, Missing: "prices are the sheet's", Remedy: givePrices + ", or scrape an exporter of kubecost_cluster_management_cost", Need: Occasional},
	{Name: "pod scheduled", Signal: signals.PodScheduled, Alternatives: []Alternative{metric("kube_pod_status_scheduled_time")}, Missing: "with --charge-from=scheduled, pods are charged from when they run", Remedy: ksm, Need: Occasional, With: by("pod")},
	{Name: "pod pending", Signal: signals.PodPending, Alternatives: []Alternative{metric("kube_pod_status_phase", equal("phase", "Pending"))}, Missing: "with --charge-from=scheduled, pods that never run are free", Remedy: ksm, Need: Occasional, With: by("pod")},
}

// machines are the inputs about what devices and nodes do.
var machines = []Input{
	{
		Name: "gpu usage", Signal: signals.DeviceUse, Resource: allocation.GPU,
		Alternatives: []Alternative{
			{Metric: "DCGM_FI_PROF_GR_ENGINE_ACTIVE", Labels: device},
			{Metric: "DCGM_FI_DEV_GPU_UTIL", Labels: device, Scale: 0.01},
		},
		Missing: "nothing says how much of their GPUs containers use", Remedy: "run the DCGM exporter with pod attribution and let this Prometheus scrape it", Need: Occasional,
	},
	{Name: "node address", Signal: signals.NodeAddress, Alternatives: []Alternative{metric("kube_node_info")}, Missing: "exporters on nodes are told apart by their node label alone", Remedy: ksm},
	{Name: "node cpu time", Signal: signals.NodeTime, Alternatives: []Alternative{{Metric: "node_cpu_seconds_total", Labels: byNode}}, Missing: "nothing says what nodes' cores do", Remedy: exporter, Need: Occasional, With: by("node total memory", "node available memory")},
	nodeMemory("node total memory", signals.NodeMemoryTotal, "node_memory_MemTotal_bytes"),
	nodeMemory("node available memory", signals.NodeMemoryAvailable, "node_memory_MemAvailable_bytes"),
	nodeMemory("node buffers", signals.NodeMemoryBuffers, "node_memory_Buffers_bytes"),
	nodeMemory("node caches", signals.NodeMemoryCached, "node_memory_Cached_bytes"),
}

// exportedPrices are the inputs about what nodes and volumes cost by other exporters than OpenCost.
var exportedPrices = []Input{
	{
		Name: "instance price", Signal: signals.InstancePrice, Missing: noOtherPrices, Remedy: priceExporter, Need: Occasional,
		Alternatives: cloudcost("%s_instance_total_usd_per_hour", instance, "aws_ec2", "azure_aks"),
	},
	{
		Name: "instance cpu price", Signal: signals.InstanceUnitPrice, Resource: allocation.CPU, Missing: noOtherPrices, Remedy: priceExporter, Need: Occasional,
		Alternatives: cloudcost("%s_instance_cpu_usd_per_core_hour", instance, "aws_ec2", "gcp_gke", "azure_aks"),
	},
	{
		Name: "instance memory price", Signal: signals.InstanceUnitPrice, Resource: allocation.RAM, Missing: noOtherPrices, Remedy: priceExporter, Need: Occasional,
		Alternatives: cloudcost("%s_instance_memory_usd_per_gib_hour", instance, "aws_ec2", "gcp_gke", "azure_aks"),
	},
	{
		Name: "offering price", Signal: signals.OfferingPrice, Missing: noOtherPrices, Remedy: "let this Prometheus scrape Karpenter, if it runs", Need: Occasional,
		Alternatives: []Alternative{metric("karpenter_cloudprovider_instance_type_offering_price_estimate", notEqual("capacity_type", "reserved"))},
	},
	{
		Name: "whole volume price", Signal: signals.WholeVolumePrice, Missing: noOtherPrices, Remedy: priceExporter, Need: Occasional,
		Alternatives: append(cloudcost("%s_persistent_volume_usd_per_hour", nil, "aws_ec2", "gcp_gke"),
			metric("cloudcost_azure_aks_storage_by_location_total_usd_per_hour"),
			Alternative{Metric: "cloudcost_azure_aks_storage_by_location_usd_per_gibyte_hour", Signal: signals.VolumeUnitPrice}),
	},
}

const (
	noOtherPrices = "prices are those of other metrics, of the sheet, or of price lists"
	priceExporter = "run grafana/cloudcost-exporter and let this Prometheus scrape it"
)

// instance reads the machine that cloudcost-exporter names: where its labels clash with those of its target, theirs are renamed.
var instance = map[string][]string{"instance": {"exported_instance", "instance"}}

// cloudcost is a metric of cloudcost-exporter for each of its services.
func cloudcost(name string, labels map[string][]string, services ...string) (list []Alternative) {
	for _, service := range services {
		list = append(list, Alternative{Metric: fmt.Sprintf("cloudcost_"+name, service), Labels: labels})
	}
	return list
}

// device reads devices from the labels of the DCGM exporter: a GPU, and the slice of it under MIG.
var device = map[string][]string{"device": {"UUID", "gpu"}, "slice": {"GPU_I_ID", "dra_mig_device_uuid"}, "profile": {"GPU_I_PROFILE", "dra_mig_profile"}, "gpu_device": {"device"}, "claim": {"dra_claim_name"}, "host": {"Hostname"}}

// nodeMemory is a figure of node_exporter about a node's memory.
func nodeMemory(name string, signal signals.Signal, metric string) Input {
	return Input{
		Name: name, Signal: signal, Alternatives: []Alternative{{Metric: metric, Labels: byNode}},
		Missing: "nothing says what nodes' memory is used for", Remedy: exporter, Need: Occasional, With: by("node cpu time", "node total memory", "node available memory"),
	}
}
