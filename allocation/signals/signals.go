package signals

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// Signal is what a series says about a cluster. The table of inputs maps metrics to signals.
type Signal uint8

// The signals. Each has a subject, whose labels lead its key (see Signal.Key).
const (
	// Nothing is of use only to see that a target is there.
	Nothing Signal = iota
	// ContainerRunning is not 0 while a container runs. The last key element is the node, where a kubelet says so: it counts
	// for pods of which nothing else says where they are.
	ContainerRunning
	// RunningByUsage is not 0 while usage of a container is seen, and RunningByInfo while kube-state-metrics has an info of it. They stand
	// in for ContainerRunning.
	RunningByUsage
	RunningByInfo
	// ContainerStarted is when the running container started, in Unix seconds.
	ContainerStarted
	// ContainerCreated is the same as cAdvisor reports it, and InitStarted the same of init containers.
	ContainerCreated
	InitStarted
	// ContainerTerminated is when the container last ended, in Unix seconds.
	ContainerTerminated
	// ContainerRequest is the request of a resource, in amount.
	ContainerRequest
	// ContainerLimit is the limit of a resource, in amount.
	ContainerLimit
	// ContainerUse is a counter of amount × seconds used. The last key element distinguishes series of one container.
	ContainerUse
	// ContainerLevel is a gauge of the amount used. The last key element distinguishes series of one container.
	ContainerLevel
	// PodInfo names a pod's node, its IP address and what created it.
	PodInfo
	// PodPhaseRunning is 1 while a pod's phase is Running.
	PodPhaseRunning
	// PodStarted is when the kubelet acknowledged the pod, in Unix seconds.
	PodStarted
	// PodCompleted is when the pod completed, in Unix seconds.
	PodCompleted
	// PodDeleted is when a pod that is being deleted will be removed, in Unix seconds.
	PodDeleted
	// PodOwner names an owner of a pod.
	PodOwner
	// PodLabels is a pod's labels.
	PodLabels
	// PodAnnotations is a pod's annotations.
	PodAnnotations
	// ReplicaSetOwner names the owner of a ReplicaSet.
	ReplicaSetOwner
	// JobOwner names the owner of a Job.
	JobOwner
	// NamespaceLabelsInfo is a namespace's labels.
	NamespaceLabelsInfo
	// NamespaceAnnotationsInfo is a namespace's annotations.
	NamespaceAnnotationsInfo
	// ServiceInfo says that a service exists.
	ServiceInfo
	// SliceService names the service that an EndpointSlice belongs to.
	SliceService
	// SliceEndpoint names a pod behind an EndpointSlice.
	SliceEndpoint
	// ServiceAddress names the IP address of a pod behind a service.
	ServiceAddress
	// ServiceSelector is the labels that a service selects pods by.
	ServiceSelector
	// NodeInfo is there while a node is, and names its provider's id.
	NodeInfo
	// NodeLabels is a node's labels.
	NodeLabels
	// NodeCreated is when the node was created, in Unix seconds.
	NodeCreated
	// NodeCapacity is the capacity of a node for a resource, as an amount.
	NodeCapacity
	// NodePrice is the price of a resource per core-hour, GiB-hour or device-hour.
	NodePrice
	// NodeSpot is 1 for a node that can be taken away.
	NodeSpot
	// DeviceRequest is the request of devices by the name of their resource.
	DeviceRequest
	// DeviceUse is a gauge of how much of one device a container uses, of 1.
	DeviceUse
	// DeviceCapacity is how many devices a node has by the name of their resource.
	DeviceCapacity
	// PodScheduled is when the pod was given its node, in Unix seconds.
	PodScheduled
	// PodPending is 1 while a pod's phase is Pending.
	PodPending
	// PodMount names a claim that a pod mounts, and its volume where known.
	PodMount
	// PodTransmitted is a counter of the bytes that a pod sent. The last key elements distinguish counters of one pod.
	PodTransmitted
	// PodReceived is a counter of the bytes that a pod received.
	PodReceived
	// PodEgress is a counter of the bytes that a pod sent, by where to.
	PodEgress
	// ZoneEgressPrice is the price of a GiB sent to another zone.
	ZoneEgressPrice
	// RegionEgressPrice is the price of a GiB sent to another region.
	RegionEgressPrice
	// InternetEgressPrice is the price of a GiB sent to the internet.
	InternetEgressPrice
	// VolumeInfo is present while a persistent volume exists. It names the volume's class and its id at the provider.
	VolumeInfo
	// VolumeLabels is a persistent volume's labels. They are no sign that it is there.
	VolumeLabels
	// VolumeCapacity is the size of a persistent volume in bytes.
	VolumeCapacity
	// VolumePrice is the price of a persistent volume per GiB-hour.
	VolumePrice
	// VolumeClaim says which volume a claim is bound to.
	VolumeClaim
	// ClaimCapacity is the size of a claim's volume in bytes.
	ClaimCapacity
	// ClaimUsed is how many bytes of a claim's volume are used.
	ClaimUsed
	// Balancer is there while a service has a load balancer.
	Balancer
	// NodeTaint is there while a node has a taint.
	NodeTaint
	// PodCapacity is there while a pod says what its provider made for it, as a text such as "0.25vCPU 0.5GB".
	PodCapacity
	// OtherService is there while a service is of another type, and has none.
	OtherService
	// BalancerIngress names the address of a load balancer.
	BalancerIngress
	// ServiceLabels is a service's labels.
	ServiceLabels
	// BalancerPrice is the price of a load balancer per hour.
	BalancerPrice
	// ManagementPrice is the price of a cluster's management per hour.
	ManagementPrice
	// NodeAddress names the IP address of a node.
	NodeAddress
	// NodeDisk is the size in bytes of a file system on a node's own disk.
	NodeDisk
	// NodeTime is a counter of CPU seconds by mode.
	NodeTime
	// NodeMemoryTotal is the memory that a node's exporter sees, in bytes.
	NodeMemoryTotal
	// NodeMemoryAvailable is the memory that processes could still have.
	NodeMemoryAvailable
	// NodeMemoryBuffers is the memory that buffers take.
	NodeMemoryBuffers
	// NodeMemoryCached is the memory that caches take.
	NodeMemoryCached
	// PodFinal is 1 while a pod's phase is Succeeded or Failed.
	PodFinal
	// ContainerRestarts is how often a container was restarted.
	ContainerRestarts
	// NodeDiskUsed is how many bytes of a file system on a node's own disk are used.
	NodeDiskUsed
	// PodReserved is what the scheduler reserves on the node for a pod as a whole, in amount.
	PodReserved
	// PodOverhead is what a pod takes besides its containers, by its RuntimeClass, in amount.
	PodOverhead
	// OtherDevice is the request of an extended resource that is a device by its name, and no GPU that is known.
	OtherDevice
	// PodClaim is there while a pod has a claim for devices.
	PodClaim
	// PodUse and PodLevel are ContainerUse and ContainerLevel of all containers of a pod together. They have keys of the same elements, without a
	// container. They count where no container of the pod has usage of its own.
	PodUse
	PodLevel
	// InstancePrice is the price of a whole machine per hour, and InstanceUnitPrice that of a core or a GiB of it, by the name of the instance.
	InstancePrice
	InstanceUnitPrice
	// OfferingPrice is the price of a machine of a type per hour, on demand or spot, in a zone.
	OfferingPrice
	// WholeVolumePrice is the price of a whole persistent volume per hour, and VolumeUnitPrice that of a GiB of it.
	WholeVolumePrice
	VolumeUnitPrice
	// ContainerPeriods counts the periods of the scheduler in which a container with a CPU limit ran, and ContainerThrottled those in which it was throttled.
	ContainerPeriods
	ContainerThrottled
	// ContainerOOMKills counts how often the kernel killed a process of a container for its memory.
	ContainerOOMKills
	// ContainerWaiting counts the seconds in which some process of a container waited for CPU.
	ContainerWaiting
	// ContainerKilled says that a container was killed for its memory when it last ended. It comes after ContainerOOMKills.
	ContainerKilled
	// AutoscalerTarget names what a HorizontalPodAutoscaler scales, and AutoscalerMetric a resource by whose usage it does.
	AutoscalerTarget
	AutoscalerMetric
	NumSignals
)

// IsUsage reports whether the signal is usage of containers or pods. It comes once it is known what ran, and may come twice.
func (s Signal) IsUsage() bool {
	return s == ContainerUse || s == ContainerLevel || s == PodUse || s == PodLevel
}

// IsTraffic reports whether the signal counts bytes of pods. It comes once it is known what ran.
func (s Signal) IsTraffic() bool { return s == PodTransmitted || s == PodReceived || s == PodEgress }

// IsPressure reports whether the signal counts what goes wrong with containers. It comes once it is known what ran, and only where levels of usage are wanted.
func (s Signal) IsPressure() bool { return s >= ContainerPeriods && s <= ContainerWaiting }

// IsIntegrated reports whether series of the signal come once it is known what ran: they are integrated as they come and are not kept.
func (s Signal) IsIntegrated() bool {
	return s.IsUsage() || s.IsTraffic() || s.IsPressure() || s == ContainerKilled || s == NodeDiskUsed || s == ClaimUsed
}

// IsMeasured reports whether the signal is an amount that an exporter measures, such as usage. It holds over an outage, and does not say what ran
// in it.
func (s Signal) IsMeasured() bool {
	switch s {
	case NodeTime, NodeMemoryTotal, NodeMemoryAvailable, NodeMemoryBuffers, NodeMemoryCached, DeviceUse:
		return true
	case ContainerKilled:
		return false
	default:
		return s.IsIntegrated()
	}
}

// IsMetadata reports whether the signal is labels or annotations of one pod.
func (s Signal) IsMetadata() bool { return s == PodLabels || s == PodAnnotations }

// OfAnyMachine reports whether series of the signal come from exporters of machines, or of their prices, and so do not show that there is a cluster.
func (s Signal) OfAnyMachine() bool {
	switch s {
	case DeviceUse, NodeDisk, NodeDiskUsed, NodePrice, NodeSpot, NodeTime, NodeMemoryTotal, NodeMemoryAvailable, NodeMemoryBuffers, NodeMemoryCached,
		InstancePrice, InstanceUnitPrice, OfferingPrice, WholeVolumePrice, VolumeUnitPrice:
		return true
	default:
		return false
	}
}

// HasSeriesKey reports whether the last element of the signal's key only distinguishes series of one key.
func (s Signal) HasSeriesKey() bool {
	return s.IsUsage() || s.IsPressure() || s == PodTransmitted || s == PodReceived
}

// signals say how each signal is called and keyed. tail marks signals whose key goes on with alternating names and values.
var signals = [NumSignals]struct {
	name string
	key  []string
	tail string // prefix of the names in the tail that are kept, e.g. label_
}{
	Nothing:                  {"nothing", nil, ""},
	ContainerRunning:         {"container running", runningLabels, ""},
	RunningByUsage:           {"container with usage", runningLabels, ""},
	RunningByInfo:            {"container info", runningLabels, ""},
	ContainerStarted:         {"container started", containerLabels, ""},
	ContainerCreated:         {"container started by cAdvisor", containerLabels, ""},
	InitStarted:              {"init container started", containerLabels, ""},
	ContainerTerminated:      {"container terminated", containerLabels, ""},
	ContainerRequest:         {"request", containerLabels, ""},
	ContainerLimit:           {"limit", containerLabels, ""},
	ContainerUse:             {"usage", usageLabels, ""},
	ContainerLevel:           {"usage", usageLabels, ""},
	PodInfo:                  {"pod", append(slices.Clip(podLabels), "node", "pod_ip", "created_by_kind", "created_by_name"), ""},
	PodPhaseRunning:          {"pod phase", podLabels, ""},
	PodStarted:               {"pod started", podLabels, ""},
	PodCompleted:             {"pod completed", podLabels, ""},
	PodDeleted:               {"pod deleted", podLabels, ""},
	PodOwner:                 {"pod owner", append(slices.Clip(podLabels), "owner_kind", "owner_name", "owner_is_controller"), ""},
	PodLabels:                {"pod labels", podLabels, "label_"},
	PodAnnotations:           {"pod annotations", podLabels, "annotation_"},
	ReplicaSetOwner:          {"replicaset owner", []string{"cluster", "namespace", "replicaset", "owner_kind", "owner_name"}, ""},
	JobOwner:                 {"job owner", []string{"cluster", "namespace", "job_name", "owner_kind", "owner_name"}, ""},
	NamespaceLabelsInfo:      {"namespace labels", []string{"cluster", "namespace"}, "label_"},
	NamespaceAnnotationsInfo: {"namespace annotations", []string{"cluster", "namespace"}, "annotation_"},
	ServiceInfo:              {"service", []string{"cluster", "namespace", "service"}, ""},
	SliceService:             {"endpointslice", []string{"cluster", "namespace", "endpointslice", "label_kubernetes_io_service_name"}, ""},
	SliceEndpoint:            {"endpoints of services", []string{"cluster", "namespace", "endpointslice", "targetref_namespace", "targetref_name"}, ""},
	ServiceAddress:           {"addresses of services", []string{"cluster", "namespace", "endpoint", "ip"}, ""},
	ServiceSelector:          {"selectors of services", serviceLabels, "label_"},
	NodeInfo:                 {"node", []string{"cluster", "node", "provider_id"}, ""},
	NodeLabels:               {"node labels", []string{"cluster", "node"}, "label_"},
	NodeCreated:              {"node created", []string{"cluster", "node"}, ""},
	NodeCapacity:             {"node capacity", []string{"cluster", "node"}, ""},
	NodePrice:                {"node price", []string{"cluster", "node", "instance_type", "region", "arch", "provider_id"}, ""},
	NodeSpot:                 {"node spot", []string{"cluster", "node"}, ""},
	DeviceRequest:            {"device request", append(slices.Clip(containerLabels), "resource"), ""},
	DeviceUse:                {"device usage", append(slices.Clip(containerLabels), "device", "slice", "profile", "UUID", "gpu_device", "modelName", "claim", "host"), ""},
	DeviceCapacity:           {"node devices", []string{"cluster", "node", "resource"}, ""},
	PodScheduled:             {"pod scheduled", podLabels, ""},
	PodPending:               {"pod pending", podLabels, ""},
	PodMount:                 {"pod volumes", append(slices.Clip(podLabels), "persistentvolumeclaim", "persistentvolume"), ""},
	PodTransmitted:           {"bytes sent", append(slices.Clip(podLabels), "interface", "series"), ""},
	PodReceived:              {"bytes received", append(slices.Clip(podLabels), "interface", "series"), ""},
	PodEgress:                {"network egress", append(slices.Clip(podLabels), "internet", "same_zone", "same_region", "service", "instance"), ""},
	ZoneEgressPrice:          {"price of egress to zones", []string{"cluster"}, ""},
	RegionEgressPrice:        {"price of egress to regions", []string{"cluster"}, ""},
	InternetEgressPrice:      {"price of egress to the internet", []string{"cluster"}, ""},
	VolumeInfo:               {"volume", []string{"cluster", "persistentvolume", "storageclass", "csi_volume_handle", "csi_driver", "ebs_volume_id", "gce_persistent_disk_name", "azure_disk_name", "nfs_server", "nfs_path"}, ""},
	VolumeLabels:             {"volume labels", []string{"cluster", "persistentvolume"}, "label_"},
	VolumeCapacity:           {"volume capacity", []string{"cluster", "persistentvolume"}, ""},
	VolumePrice:              {"volume price", []string{"cluster", "persistentvolume"}, ""},
	VolumeClaim:              {"volume claim", append(slices.Clip(claimLabels), "persistentvolume"), ""},
	ClaimCapacity:            {"claim capacity", claimLabels, ""},
	ClaimUsed:                {"claim usage", claimLabels, ""},
	Balancer:                 {"load balancer", serviceLabels, ""},
	NodeTaint:                {"node taint", []string{"cluster", "node", "key", "value"}, ""},
	PodCapacity:              {"capacity of a pod", []string{"cluster", "namespace", "pod", "uid", "annotation_CapacityProvisioned"}, ""},
	OtherService:             {"service of another type", serviceLabels, ""},
	BalancerIngress:          {"load balancer address", append(slices.Clip(serviceLabels), "ip", "hostname"), ""},
	ServiceLabels:            {"service labels", serviceLabels, "label_"},
	BalancerPrice:            {"load balancer price", append(slices.Clip(serviceLabels), "ingress_ip"), ""},
	ManagementPrice:          {"cluster management price", []string{"cluster", "provisioner_name"}, ""},
	NodeAddress:              {"node address", []string{"cluster", "node", "internal_ip"}, ""},
	NodeDisk:                 {"node disk", []string{"cluster", "node", "device"}, ""},
	NodeTime:                 {"node cpu time", []string{"cluster", "node", "mode"}, ""},
	NodeMemoryTotal:          {"node memory", []string{"cluster", "node"}, ""},
	NodeMemoryAvailable:      {"node memory available", []string{"cluster", "node"}, ""},
	NodeMemoryBuffers:        {"node memory buffers", []string{"cluster", "node"}, ""},
	NodeMemoryCached:         {"node memory cached", []string{"cluster", "node"}, ""},
	PodFinal:                 {"pod ended", podLabels, ""},
	ContainerRestarts:        {"restarts", containerLabels, ""},
	NodeDiskUsed:             {"node disk usage", []string{"cluster", "node", "device"}, ""},
	PodReserved:              {"pod reserve", append(slices.Clip(podLabels), "node"), ""},
	PodOverhead:              {"pod overhead", podLabels, ""},
	OtherDevice:              {"other devices", append(slices.Clip(containerLabels), "resource"), ""},
	PodClaim:                 {"pod claims", append(slices.Clip(podLabels), "claim_name", "resourceclaim_name"), ""},
	PodUse:                   {"pod usage", usageLabels, ""},
	PodLevel:                 {"pod usage", usageLabels, ""},
	InstancePrice:            {"instance price", instanceLabels, ""},
	InstanceUnitPrice:        {"instance unit price", instanceLabels, ""},
	OfferingPrice:            {"offering price", []string{"cluster", "instance_type", "capacity_type", "zone"}, ""},
	WholeVolumePrice:         {"price of a whole volume", []string{"cluster", "persistentvolume"}, ""},
	VolumeUnitPrice:          {"price of a GiB of a volume", []string{"cluster", "persistentvolume"}, ""},
	ContainerPeriods:         {"cpu periods", usageLabels, ""},
	ContainerThrottled:       {"throttled cpu periods", usageLabels, ""},
	ContainerOOMKills:        {"oom kills", usageLabels, ""},
	ContainerWaiting:         {"cpu waiting time", usageLabels, ""},
	ContainerKilled:          {"killed for memory", containerLabels, ""},
	AutoscalerTarget:         {"autoscaler", []string{"cluster", "namespace", "horizontalpodautoscaler", "scaletargetref_kind", "scaletargetref_name"}, ""},
	AutoscalerMetric:         {"autoscaler metric", []string{"cluster", "namespace", "horizontalpodautoscaler", "metric_name"}, ""},
}

var (
	podLabels       = []string{"cluster", "namespace", "pod", "uid"}
	containerLabels = []string{"cluster", "namespace", "pod", "uid", "container"}
	runningLabels   = []string{"cluster", "namespace", "pod", "uid", "container", "kubelet_node"}
	claimLabels     = []string{"cluster", "namespace", "persistentvolumeclaim"}
	serviceLabels   = []string{"cluster", "namespace", "service"}
	instanceLabels  = []string{"cluster", "instance", "instance_id", "cluster_name"}
	usageLabels     = []string{"cluster", "namespace", "pod", "uid", "container", "kubelet_node", "series"}
)

// PodKey is how many elements name a pod: keys of series about pods begin with them.
const PodKey = 4

// String names the signal in warnings and errors.
func (s Signal) String() string { return signals[s].name }

// Key is what the key of the signal's series holds, in this order, in the spelling of kube-state-metrics' labels.
func (s Signal) Key() []string { return signals[s].key }

// Tail is a prefix of label names, "" for most signals. If it is set, the key goes on with names and values in turn, of the labels
// with that prefix. The names have lost it.
func (s Signal) Tail() string { return signals[s].tail }

// Series says what the points given to a Builder are.
type Series struct {
	Signal   Signal
	Resource allocation.Resource // of requests, limits, usage, capacities and prices
	Rank     int                 // 0 is the best alternative of the input; a later one counts only where no better one has data
	Init     bool                // of an init container: it does not start with its pod
	Unmarked bool                // gets no staleness markers
	Repeats  bool                // a price that promcost itself exposed: it only counts where no other source gives a price
	Scale    float64             // factor for values of ContainerDevice; 0 is 1
}
