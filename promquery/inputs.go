// Package promquery knows what to ask a Prometheus for and how to read the answers. It has the table of inputs, and the Engine,
// which passes the samples of a Source to a build.Builder and so computes the sets of a query. It keeps an account of what it
// read, and diagnoses which data a source has of each input. Join makes one source of two that follow each other in time.
package promquery

import (
	"regexp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
)

// Alternative is one way to get an input: a metric and the labels of it that matter.
type Alternative struct {
	Metric   string
	Matchers []Matcher
	// Labels names, for elements of the signal's key, the labels to read them from, first one that is not empty; an
	// element that is not here is read from the label of its own name. Elements that identify objects are also read from
	// exported_<label>, first, for scrapes without honor_labels.
	Labels map[string][]string
	// Signal is what the metric carries, if that is another signal than the input's.
	Signal signals.Signal
	// CgroupUID says that the metric is cAdvisor's: the uid is in the cgroup path of label id, and samples come with times
	// of their own, so that Prometheus writes no staleness markers.
	CgroupUID bool
	// Own says that promcost exposes the metric, too: series of a target that is one are left out.
	Own bool
	// Price says that the metric is a price, which is left out too where promcost exposes prices and it may be one of them.
	Price bool
	// Scale is what the metric's values are multiplied by; 0 is 1.
	Scale float64
	// OTel says that the metric is one of an OpenTelemetry Collector; nil is no such metric.
	OTel *OTel
}

// Input is something a computation wants to know, and the alternatives that can tell, best first. The first alternative
// that has data for a subject at a time wins.
type Input struct {
	Name         string
	Signal       signals.Signal
	Resource     allocation.Resource
	Alternatives []Alternative
	// Missing says what is lost without the input, and Remedy how to add the input.
	Missing, Remedy string
	// With are series whose presence shows that this input, which is Occasional, should be there as well.
	With []Proof
	// Need is how much depends on the input.
	Need Need
	Init bool // of init containers
	// About is whom it concerns that a cluster has none of it; "" is everybody.
	About notices.Topic
	// Rank is the rank of the first alternative, if it is not the best of its signal.
	Rank int
}

// Proof is series that show that another input should be there.
type Proof struct {
	Input string // whose series they are
	// Label names an element of their keys that must have a value: Value, or any if that is empty. No label takes all series.
	Label, Value string
	Without      string // names an element that must have none
	Positive     bool   // takes only series whose last value is above 0
}

// by is all series of inputs as proofs.
func by(inputs ...string) (list []Proof) {
	for _, name := range inputs {
		list = append(list, Proof{Input: name})
	}
	return list
}

// created is pods that a kind of controller created, as proofs.
func created(kind string) []Proof {
	return []Proof{{Input: "pod", Label: "created_by_kind", Value: kind}, {Input: "pod owner", Label: "owner_kind", Value: kind}}
}

// Need is how much depends on an input.
type Need uint8

// The needs. A cluster may rightly have no series of an Occasional input: no GPU, no init container, nothing that ended.
const (
	Optional Need = iota
	Required
	Occasional
)

// matchers of the inputs' table.
func equal(name, value string) Matcher    { return Matcher{name, MatchEqual, value} }
func notEqual(name, value string) Matcher { return Matcher{name, MatchNotEqual, value} }
func notMatching(name, re string) Matcher { return Matcher{name, MatchNotRegexp, re} }
func matching(name, re string) Matcher    { return Matcher{name, MatchRegexp, re} }

// metric is the alternative of a metric whose labels are named like the key's elements.
func metric(name string, matchers ...Matcher) Alternative {
	return Alternative{Metric: name, Matchers: matchers}
}

// kubeletNode is where scrapes of kubelets put the node's name, or at least its address.
var kubeletNode = []string{"node", "kubernetes_io_hostname", "instance"}

// cadvisorLabels are where a metric of containers by cAdvisor names its container. One that runs as a DaemonSet has Kubernetes' names in labels of
// the container. Where its target has labels too, namespace, pod and container are those of cAdvisor itself.
var cadvisorLabels = map[string][]string{
	"series": {"id"}, "kubelet_node": kubeletNode,
	"namespace": {"container_label_io_kubernetes_pod_namespace", "exported_namespace", "namespace"},
	"pod":       {"container_label_io_kubernetes_pod_name", "exported_pod", "pod"},
	"container": {inContainer, "exported_container", "container"},
}

// inContainer is where a cAdvisor that runs as a DaemonSet has the name of a container.
const inContainer = "container_label_io_kubernetes_container_name"

// Expressions for the ids of cgroups. Those of pods are slices of systemd, or directories. Where the target of a cAdvisor has labels, the cgroups above those of
// containers name a container, too. A Prometheus tries an expression on all ids that it has, which takes it long where more is left open than the beginning.
const (
	cgroupsOfPods  = `.*pod[0-9a-f_-]{32,36}(\.slice)?`
	sliceCgroups   = `.+\.slice`
	serviceCgroups = `.+\.service`
	kubeCgroups    = `(/docker/[^/]+)?(/kubelet)?/kubepods(/burstable|/besteffort)?`
	podCgroups     = kubeCgroups + `/pod[^/]+`
	cgroupsOfMany  = kubeCgroups + `(/pod[^/]*)?|/(docker|init\.scope)?|/user\.slice/.*`
)

// ofContainers are matchers for series of single containers.
var ofContainers = []Matcher{
	notEqual("container", ""), notEqual("container", "POD"), notEqual(inContainer, "POD"),
	notMatching("id", sliceCgroups), notMatching("id", serviceCgroups), notMatching("id", cgroupsOfMany),
}

// cadvisor is a metric of containers by cAdvisor, how kubelets before 1.16 spelled its labels, and how a DaemonSet does whose target has none.
func cadvisor(name string) []Alternative {
	return []Alternative{
		{Metric: name, Matchers: ofContainers, Labels: cadvisorLabels, CgroupUID: true},
		{
			Metric: name, Matchers: []Matcher{equal("container", ""), notEqual("container_name", ""), notEqual("container_name", "POD")},
			Labels: map[string][]string{"series": {"id"}, "kubelet_node": kubeletNode, "pod": {"pod_name"}, "container": {"container_name"}}, CgroupUID: true,
		},
		{
			Metric: name, Matchers: []Matcher{equal("container", ""), equal("container_name", ""), notEqual(inContainer, ""), notEqual(inContainer, "POD")},
			Labels: cadvisorLabels, CgroupUID: true,
		},
	}
}

// podUsage is usage of the cgroups of pods, by cAdvisor. Those below them have other ids. Where labels do not name the pod, or are those of cAdvisor itself, the UID in
// the id does.
func podUsage(name string, signal signals.Signal, r allocation.Resource, of string) Input {
	alternatives := []Alternative{{
		Metric: of, Matchers: []Matcher{equal("container", ""), notEqual("pod", ""), matching("id", cgroupsOfPods)},
		Labels: map[string][]string{"series": {"id"}, "kubelet_node": kubeletNode}, CgroupUID: true,
	}}
	for _, unnamed := range []Matcher{equal("pod", ""), notEqual("container", "")} {
		for _, id := range []string{sliceCgroups, podCgroups} {
			alternatives = append(alternatives, Alternative{
				Metric: of, Matchers: []Matcher{unnamed, matching("id", id)},
				Labels: map[string][]string{"series": {"id"}, "kubelet_node": kubeletNode, "namespace": {}, "pod": {}, "container": {}}, CgroupUID: true,
			})
		}
	}
	return Input{
		Name: name, Signal: signal, Resource: r, Need: Occasional, Alternatives: alternatives,
		Missing: "pods of runtimes that show no cgroups of containers, such as Kata Containers, cost what they request", Remedy: kubelet,
	}
}

// pressure is a counter of what goes wrong with containers, by cAdvisor. Containers without limits, and older kernels, have none.
func pressure(name string, signal signals.Signal, of, missing string) Input {
	return Input{Name: name, Signal: signal, Need: Occasional, Alternatives: cadvisor(of), Missing: missing, Remedy: kubelet}
}

// carrying are alternatives that carry a signal.
func carrying(signal signals.Signal, list []Alternative) []Alternative {
	for i := range list {
		list[i].Signal = signal
	}
	return list
}

// opencost is a price metric of nodes, as OpenCost and promcost expose it; instance names the node where the node label is
// missing.
func opencost(name string) []Alternative {
	return []Alternative{{Metric: name, Labels: map[string][]string{"node": {"node", "instance"}}, Own: true, Price: true}}
}

// own is the alternative of a metric that promcost exposes, too.
func own(name string, matchers ...Matcher) Alternative {
	a := metric(name, matchers...)
	a.Own = true
	return a
}

const (
	ksm           = "run kube-state-metrics and let this Prometheus scrape it"
	kubelet       = "scrape /metrics/cadvisor of every kubelet"
	gpus          = "(nvidia|amd)_com_(gpu|mig_.*)|.*shared.*" // whole ones, MIG slices, shares
	virtual       = "virtual-kubelet.io/provider|eks.amazonaws.com/compute-type|eks.tke.cloud.tencent.com/eklet|vci.vke.volcengine.com/node-type|virtual-node.liqo.io/not-allowed|virtual-node.interlink/no-schedule|kwok.x-k8s.io/node"
	devices       = ".*(gpu|tpu|npu|neuron|gaudi|fpga|accelerator).*" // what other resources are devices by their name
	scaledBlindly = "requests are recommended for controllers whose replicas an autoscaler changes by usage"
	givePrices    = "give prices with --pricing.file"
)

// gpuPattern matches the resources that are GPUs, as kube-state-metrics writes them: those of NVIDIA and AMD, and some others.
func gpuPattern(others []string) string {
	patterns := []string{gpus}
	for _, name := range others {
		patterns = append(patterns, strings.ReplaceAll(notInLabels.ReplaceAllString(name, "_"), "*", ".*"))
	}
	return strings.Join(patterns, "|")
}

// notInLabels matches what kube-state-metrics replaces by _ in names of resources.
var notInLabels = regexp.MustCompile(`[^A-Za-z0-9_*]`)

// Inputs is everything a computation asks for.
var Inputs = withOTel(slices.Concat(workloads, volumes, traffic, balancers, machines, exportedPrices))

// workloads are the inputs about what runs where, and what nodes have and cost.
var workloads = []Input{
	{
		Name: "running", Signal: signals.ContainerRunning,
		Alternatives: []Alternative{
			metric("kube_pod_container_status_running"),
			{Metric: "container_memory_working_set_bytes", Matchers: ofContainers, Labels: cadvisorLabels, Signal: signals.RunningByUsage, CgroupUID: true},
			{Metric: "kube_pod_container_info", Signal: signals.RunningByInfo},
		},
		Missing: "nothing is known to run: no allocations", Remedy: ksm, Need: Required,
	},
	{Name: "init running", Signal: signals.ContainerRunning, Init: true, Alternatives: []Alternative{metric("kube_pod_init_container_status_running")}, Missing: "init containers and native sidecars count only where cAdvisor sees them", Remedy: ksm, Need: Occasional, With: by("init cpu request", "init memory request", "init restarts")},
	{
		Name: "sidecar running", Signal: signals.RunningByInfo, Init: true, Rank: 2,
		Alternatives: []Alternative{metric("kube_pod_init_container_info", equal("restart_policy", "Always"))},
		Missing:      "native sidecars are free where nothing else says that they run", Remedy: ksm, Need: Occasional,
	},
	{Name: "started", Signal: signals.ContainerStarted, Alternatives: append([]Alternative{metric("kube_pod_container_state_started")}, carrying(signals.ContainerCreated, cadvisor("container_start_time_seconds"))...), Missing: "starts are as late as the first scrape", Remedy: ksm},
	{Name: "init state started", Signal: signals.ContainerStarted, Init: true, Alternatives: []Alternative{metric("kube_pod_init_container_state_started")}, Missing: "init containers that no scrape saw running are free, and the others begin when cAdvisor says so", Remedy: "run kube-state-metrics 2.20 or newer", Need: Occasional},
	{Name: "init started", Signal: signals.InitStarted, Rank: 1, Alternatives: cadvisor("container_start_time_seconds"), Missing: "init containers and native sidecars begin half a scrape before they are first seen", Remedy: kubelet, Need: Occasional},
	{Name: "terminated", Signal: signals.ContainerTerminated, Alternatives: []Alternative{metric("kube_pod_container_status_last_terminated_timestamp")}, Missing: "ends are as late as the last scrape", Remedy: ksm, Need: Occasional, With: []Proof{{Input: "restarts", Positive: true}}},
	{Name: "init terminated", Signal: signals.ContainerTerminated, Init: true, Alternatives: []Alternative{metric("kube_pod_init_container_status_last_terminated_timestamp")}, Missing: "init containers that ended and started again between two scrapes count as one run", Remedy: "run kube-state-metrics 2.20 or newer", Need: Occasional},
	{Name: "pod", Signal: signals.PodInfo, Alternatives: []Alternative{metric("kube_pod_info")}, Missing: "pods have no node, so no price of their own", Remedy: ksm, Need: Required},
	{
		Name: "pod phase", Signal: signals.PodPhaseRunning, Alternatives: []Alternative{metric("kube_pod_status_phase", equal("phase", "Running"))},
		Missing: "kube_pod_container_info cannot stand in for the running signal", Remedy: ksm, Need: Occasional, With: by("pod"),
	},
	{Name: "pod started", Signal: signals.PodStarted, Alternatives: []Alternative{metric("kube_pod_start_time")}, Missing: "starts are as late as the first scrape", Remedy: ksm},
	{Name: "pod completed", Signal: signals.PodCompleted, Alternatives: []Alternative{metric("kube_pod_completion_time")}, Missing: "ends are as late as the last scrape", Remedy: ksm, Need: Occasional, With: []Proof{{Input: "pod ended", Positive: true}}},
	{Name: "pod ended", Signal: signals.PodFinal, Alternatives: []Alternative{metric("kube_pod_status_phase", matching("phase", "Succeeded|Failed"))}, Missing: "containers that no scrape saw running are free where their own start is not known", Remedy: ksm, Need: Occasional, With: by("pod")},
	{Name: "restarts", Signal: signals.ContainerRestarts, Alternatives: []Alternative{metric("kube_pod_container_status_restarts_total")}, Missing: "containers that no scrape saw running are free where their own start is not known, and error bounds of the others are wide", Remedy: ksm, Need: Occasional, With: by("pod")},
	{Name: "init restarts", Signal: signals.ContainerRestarts, Init: true, Alternatives: []Alternative{metric("kube_pod_init_container_status_restarts_total")}, Missing: "error bounds of init containers and native sidecars are wide on a grid", Remedy: ksm, Need: Occasional, With: by("init running")},
	{Name: "pod deleted", Signal: signals.PodDeleted, Alternatives: []Alternative{metric("kube_pod_deletion_timestamp")}, Missing: "almost nothing: end times of deleted pods are slightly less exact", Remedy: ksm, Need: Occasional},
	{Name: "pod owner", Signal: signals.PodOwner, Alternatives: []Alternative{metric("kube_pod_owner")}, Missing: "pods whose creator kube_pod_info does not name have no controller", Remedy: ksm, Need: Occasional, With: by("pod", "running")},
	{Name: "replicaset owner", Signal: signals.ReplicaSetOwner, Alternatives: []Alternative{metric("kube_replicaset_owner")}, Missing: "deployments show as their replicasets", Remedy: ksm, Need: Occasional, With: created("ReplicaSet")},
	{Name: "job owner", Signal: signals.JobOwner, Alternatives: []Alternative{metric("kube_job_owner")}, Missing: "cronjobs show as their jobs", Remedy: ksm, Need: Occasional, With: created("Job")},
	{Name: "autoscaler", Signal: signals.AutoscalerTarget, Alternatives: []Alternative{metric("kube_horizontalpodautoscaler_info")}, Missing: scaledBlindly, Remedy: ksm, Need: Occasional, With: by("autoscaler metric")},
	{Name: "autoscaler metric", Signal: signals.AutoscalerMetric, Alternatives: []Alternative{metric("kube_horizontalpodautoscaler_spec_target_metric", matching("metric_name", "cpu|memory"))}, Missing: scaledBlindly, Remedy: ksm, Need: Occasional},
	allocated("cpu allocated", allocation.CPU, "cpu"),
	allocated("memory allocated", allocation.RAM, "memory"),
	request("cpu request", signals.ContainerRequest, allocation.CPU, "kube_pod_container_resource_requests", "kube_pod_container_resource_requests_cpu_cores", "cpu"),
	request("memory request", signals.ContainerRequest, allocation.RAM, "kube_pod_container_resource_requests", "kube_pod_container_resource_requests_memory_bytes", "memory"),
	request("cpu limit", signals.ContainerLimit, allocation.CPU, "kube_pod_container_resource_limits", "kube_pod_container_resource_limits_cpu_cores", "cpu"),
	request("memory limit", signals.ContainerLimit, allocation.RAM, "kube_pod_container_resource_limits", "kube_pod_container_resource_limits_memory_bytes", "memory"),
	{Name: "gpu request", Signal: signals.DeviceRequest, Resource: allocation.GPU, Alternatives: []Alternative{metric("kube_pod_container_resource_requests", matching("resource", gpus))}, Missing: "GPUs are all idle", Remedy: ksm, Need: Occasional, With: []Proof{{Input: "gpu usage", Label: "pod", Without: "claim"}}},
	{
		Name: "other devices", Signal: signals.OtherDevice,
		Alternatives: []Alternative{metric("kube_pod_container_resource_requests", matching("resource", devices), notMatching("resource", gpus), notMatching("resource", ".*gpu_?(mem|core).*"))},
		Missing:      "nothing, for GPUs have other names", Remedy: ksm, Need: Occasional,
	},
	{Name: "pod claims", Signal: signals.PodClaim, Alternatives: []Alternative{metric("kube_pod_resourceclaim_info")}, Missing: "GPUs that claims hold (dynamic resource allocation) cost what they are used, if an exporter says so, and else nothing", Remedy: ksm, Need: Occasional},
	{Name: "init cpu request", Init: true, Signal: signals.ContainerRequest, Resource: allocation.CPU, Alternatives: []Alternative{metric("kube_pod_init_container_resource_requests", equal("resource", "cpu"))}, Missing: "init containers cost what they use", Remedy: ksm, Need: Occasional, With: by("init cpu limit")},
	{Name: "init memory request", Init: true, Signal: signals.ContainerRequest, Resource: allocation.RAM, Alternatives: []Alternative{metric("kube_pod_init_container_resource_requests", equal("resource", "memory"))}, Missing: "init containers cost what they use", Remedy: ksm, Need: Occasional, With: by("init memory limit")},
	{Name: "init cpu limit", Init: true, Signal: signals.ContainerLimit, Resource: allocation.CPU, Alternatives: []Alternative{metric("kube_pod_init_container_resource_limits", equal("resource", "cpu"))}, Missing: "init containers show no limits", Remedy: ksm, Need: Occasional},
	{Name: "init memory limit", Init: true, Signal: signals.ContainerLimit, Resource: allocation.RAM, Alternatives: []Alternative{metric("kube_pod_init_container_resource_limits", equal("resource", "memory"))}, Missing: "init containers show no limits", Remedy: ksm, Need: Occasional},
	reserve("pod cpu reserve", signals.PodReserved, allocation.CPU, "kube_pod_resource_request", equal("resource", "cpu")),
	reserve("pod memory reserve", signals.PodReserved, allocation.RAM, "kube_pod_resource_request", equal("resource", "memory")),
	reserve("pod cpu overhead", signals.PodOverhead, allocation.CPU, "kube_pod_overhead_cpu_cores"),
	reserve("pod memory overhead", signals.PodOverhead, allocation.RAM, "kube_pod_overhead_memory_bytes"),
	{Name: "pod labels", About: notices.AboutLabels, Signal: signals.PodLabels, Alternatives: []Alternative{metric("kube_pod_labels")}, Missing: "no cost by label", Remedy: "run kube-state-metrics with --metric-labels-allowlist=pods=[*]"},
	{Name: "pod annotations", About: notices.AboutAnnotations, Signal: signals.PodAnnotations, Alternatives: []Alternative{metric("kube_pod_annotations")}, Missing: "no cost by annotation", Remedy: "run kube-state-metrics with --metric-annotations-allowlist=pods=[*]"},
	{Name: "namespace labels", About: notices.AboutLabels, Signal: signals.NamespaceLabelsInfo, Alternatives: []Alternative{own("kube_namespace_labels")}, Missing: "no cost by the labels of namespaces", Remedy: "run kube-state-metrics with --metric-labels-allowlist=namespaces=[*]"},
	{Name: "namespace annotations", About: notices.AboutAnnotations, Signal: signals.NamespaceAnnotationsInfo, Alternatives: []Alternative{metric("kube_namespace_annotations")}, Missing: "no cost by the annotations of namespaces", Remedy: "run kube-state-metrics with --metric-annotations-allowlist=namespaces=[*]"},
	{Name: "service", About: notices.AboutServices, Signal: signals.ServiceInfo, Alternatives: []Alternative{metric("kube_service_info")}, Missing: "services of endpoint slices without labels are unallocated", Remedy: ksm},
	{Name: "endpoint slice", About: notices.AboutServices, Signal: signals.SliceService, Alternatives: []Alternative{metric("kube_endpointslice_labels")}, Missing: "the service of a slice is guessed from its name", Remedy: "run kube-state-metrics with --resources=…,endpointslices --metric-labels-allowlist=endpointslices=[kubernetes.io/service-name]"},
	{Name: "endpoints", About: notices.AboutServices, Signal: signals.SliceEndpoint, Alternatives: []Alternative{metric("kube_endpointslice_endpoints", equal("targetref_kind", "Pod"))}, Missing: "pods have only the services that endpoint addresses or selectors tell of", Remedy: "run kube-state-metrics with --resources=…,endpointslices"},
	{Name: "endpoint addresses", Signal: signals.ServiceAddress, Alternatives: []Alternative{metric("kube_endpoint_address")}, Missing: "pods without endpoint slices have no services", Remedy: "run kube-state-metrics with --resources=…,endpoints", Need: Occasional},
	{Name: "service selectors", Signal: signals.ServiceSelector, Alternatives: []Alternative{metric("service_selector_labels")}, Missing: "services without endpoints have no pods", Remedy: "run OpenCost, which exports them, and kube-state-metrics with --metric-labels-allowlist=pods=[*]", Need: Occasional},
	{Name: "node", Signal: signals.NodeInfo, Alternatives: []Alternative{metric("kube_node_info")}, Missing: "nodes live while their capacity is known, without provider ids", Remedy: ksm},
	{Name: "node labels", About: notices.AboutNodeLabels, Signal: signals.NodeLabels, Alternatives: []Alternative{metric("kube_node_labels")}, Missing: "nodes have no region, zone and pool", Remedy: "run kube-state-metrics with --metric-labels-allowlist=nodes=[*]"},
	{
		Name: "node taints", Signal: signals.NodeTaint, Alternatives: []Alternative{metric("kube_node_spec_taint", matching("key", virtual))},
		Missing: "virtual nodes are known by their labels and their size only", Remedy: ksm, Need: Occasional,
	},
	{
		Name: "pod capacity", Signal: signals.PodCapacity,
		Alternatives: []Alternative{{Metric: "kube_pod_annotations", Matchers: []Matcher{notEqual("annotation_CapacityProvisioned", "")}}, {
			Metric: "kube_pod_annotations", Matchers: []Matcher{equal("annotation_CapacityProvisioned", ""), notEqual("annotation_capacity_provisioned", "")},
			Labels: map[string][]string{"annotation_CapacityProvisioned": {"annotation_capacity_provisioned"}},
		}},
		Missing: "pods on Fargate cost what their requests are rounded up to", Remedy: "run kube-state-metrics with --metric-annotations-allowlist=pods=[CapacityProvisioned]", Need: Occasional,
	},
	{Name: "node created", Signal: signals.NodeCreated, Alternatives: []Alternative{metric("kube_node_created")}, Missing: "nodes begin with their first scrape", Remedy: ksm},
	capacity("node cpu", allocation.CPU, equal("resource", "cpu"), "kube_node_status_capacity_cpu_cores"),
	capacity("node memory", allocation.RAM, equal("resource", "memory"), "kube_node_status_capacity_memory_bytes"),
	{
		Name: "node gpu", Signal: signals.DeviceCapacity, Resource: allocation.GPU,
		Alternatives: []Alternative{own("kube_node_status_capacity", matching("resource", gpus)), metric("kube_node_status_allocatable", matching("resource", gpus)), opencost("node_gpu_count")[0]},
		Missing:      "GPUs cost nothing", Remedy: ksm, Need: Occasional, With: by("gpu request", "gpu usage"),
	},
	{Name: "node cpu price", Signal: signals.NodePrice, Resource: allocation.CPU, Alternatives: opencost("node_cpu_hourly_cost"), Missing: "prices are the sheet's", Remedy: "give prices with --pricing.file, or scrape an exporter of node_cpu_hourly_cost"},
	{Name: "node memory price", Signal: signals.NodePrice, Resource: allocation.RAM, Alternatives: opencost("node_ram_hourly_cost"), Missing: "prices are the sheet's", Remedy: "give prices with --pricing.file, or scrape an exporter of node_ram_hourly_cost"},
	{Name: "node gpu price", Signal: signals.NodePrice, Resource: allocation.GPU, Alternatives: opencost("node_gpu_hourly_cost"), Missing: "prices are the sheet's", Remedy: "give prices with --pricing.file, or scrape an exporter of node_gpu_hourly_cost", Need: Occasional},
	{Name: "node spot", Signal: signals.NodeSpot, Alternatives: opencost("kubecost_node_is_spot"), Missing: "spot nodes are known by their labels only", Remedy: "let this Prometheus keep kubecost_node_is_spot of OpenCost, or let kube-state-metrics export the node labels of your provider", Need: Occasional, With: by("node gpu price")},
	{Name: "cpu usage", Signal: signals.ContainerUse, Resource: allocation.CPU, Alternatives: cadvisor("container_cpu_usage_seconds_total"), Missing: "cpu costs what is requested, whatever is used", Remedy: kubelet},
	podUsage("pod cpu usage", signals.PodUse, allocation.CPU, "container_cpu_usage_seconds_total"),
	podUsage("pod memory usage", signals.PodLevel, allocation.RAM, "container_memory_working_set_bytes"),
	pressure("cpu periods", signals.ContainerPeriods, "container_cpu_cfs_periods_total", "how often containers are throttled is not known"),
	pressure("throttled cpu periods", signals.ContainerThrottled, "container_cpu_cfs_throttled_periods_total", "how often containers are throttled is not known"),
	pressure("oom kills", signals.ContainerOOMKills, "container_oom_events_total", "recommended requests do not know of containers that ran out of memory"),
	{Name: "killed for memory", Signal: signals.ContainerKilled, Alternatives: []Alternative{metric("kube_pod_container_status_last_terminated_reason", equal("reason", "OOMKilled"))}, Missing: "recommended requests know of few containers that ran out of memory", Remedy: ksm, Need: Occasional},
	pressure("cpu waiting time", signals.ContainerWaiting, "container_pressure_cpu_waiting_seconds_total", "recommended requests do not know of containers that wait for CPU"),
	{Name: "memory usage", Signal: signals.ContainerLevel, Resource: allocation.RAM, Alternatives: cadvisor("container_memory_working_set_bytes"), Missing: "memory costs what is requested, whatever is used", Remedy: kubelet},
}

// allocated is what the kubelet allocated of a resource to containers, which wins over what they ask for: of a pod that is resized in place the two
// differ for a while.
func allocated(name string, r allocation.Resource, resource string) Input {
	return Input{
		Name: name, Signal: signals.ContainerRequest, Resource: r, Need: Occasional,
		Alternatives: []Alternative{metric("kube_pod_container_status_resource_requests", equal("resource", resource))},
		Missing:      "containers that are resized in place cost what they ask for, before they get it", Remedy: "run a kube-state-metrics that exports it",
	}
}

// request is a request or limit of a resource, by the names of kube-state-metrics 2 and 1.
func request(name string, signal signals.Signal, r allocation.Resource, v2, v1, resource string) Input {
	missing, rank := "containers cost what they use", 1 // after what is allocated
	if signal == signals.ContainerLimit {
		missing, rank = "containers show no limits", 0
	}
	return Input{
		Name: name, Signal: signal, Resource: r,
		Alternatives: []Alternative{metric(v2, equal("resource", resource)), metric(v1)}, Rank: rank,
		Missing: missing, Remedy: ksm,
	}
}

// reserve is what pods reserve beyond their containers.
func reserve(name string, signal signals.Signal, r allocation.Resource, of string, matchers ...Matcher) Input {
	in := Input{
		Name: name, Signal: signal, Resource: r, Alternatives: []Alternative{metric(of, matchers...)}, Need: Occasional,
		Missing: "what a RuntimeClass takes besides the containers of a pod is free", Remedy: ksm,
	}
	if signal == signals.PodReserved {
		in.Missing, in.Remedy = "what pods request as a whole beyond their containers' requests is free", "scrape /metrics/resources of kube-scheduler"
	}
	return in
}

// capacity is what nodes have of a resource, by the names of kube-state-metrics 2 and 1, else what of it is allocatable.
func capacity(name string, r allocation.Resource, resource Matcher, v1 string) Input {
	return Input{
		Name: name, Signal: signals.NodeCapacity, Resource: r,
		Alternatives: []Alternative{own("kube_node_status_capacity", resource), metric(v1), metric("kube_node_status_allocatable", resource)},
		Missing:      "no node assets and no idle cost", Remedy: ksm, Need: Required,
	}
}

// Evident are the metrics of which there are some wherever anything can be computed, sorted.
func Evident() (metrics []string) {
	for i := range Inputs {
		in := &Inputs[i]
		if in.Need != Required && in.Signal != signals.ContainerUse {
			continue
		}
		for _, a := range in.Alternatives {
			metrics = append(metrics, a.Metric)
		}
	}
	slices.Sort(metrics)
	return slices.Compact(metrics)
}
