package build

import "slices"

// Signal is what a series says about a cluster. The table of inputs maps metrics to signals.
type Signal uint8

// The signals. Each has a subject, whose labels lead its key (see Signal.Key).
const (
	// Nothing is of use only to see that a target is there.
	Nothing Signal = iota
	// ContainerRunning is not 0 while a container runs. The last key element is the node, where a kubelet says so: it counts
	// for pods of which nothing else says where they are.
	ContainerRunning
	// ContainerStarted is when the running container started, in Unix seconds.
	ContainerStarted
	// ContainerTerminated is when the container last ended, in Unix seconds.
	ContainerTerminated
	// ContainerRequest is the request of a resource, in amount.
	ContainerRequest
	// ContainerLimit is the limit of a resource, in amount.
	ContainerLimit
	// ContainerUse is a counter of amount × seconds used; the last key element tells series of one container apart.
	ContainerUse
	// ContainerLevel is a gauge of the amount used; the last key element tells series of one container apart.
	ContainerLevel
	// PodInfo names a pod's node, its IP address and what created it.
	PodInfo
	// PodPhaseRunning is 1 while a pod's phase is Running.
	PodPhaseRunning
	// PodStarted is when the kubelet acknowledged the pod, in Unix seconds.
	PodStarted
	// PodCompleted is when the pod completed, in Unix seconds.
	PodCompleted
	// PodDeleted is when a pod that is being deleted will be gone, in Unix seconds.
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
	// NodeCapacity is what a node has of a resource, in amount.
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
	// PodMount names a claim that a pod mounts, and its volume where that is known.
	PodMount
	// PodTransmitted is a counter of the bytes that a pod sent; the last key elements tell counters of one pod apart.
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
	// VolumeInfo is there while a persistent volume is, and names its class and what its provider calls it.
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
	numSignals
)

// isUsage reports whether the signal is usage of containers, which comes after Resolve and may come once more.
func (s Signal) isUsage() bool { return s == ContainerUse || s == ContainerLevel }

// isTraffic reports whether the signal counts bytes of pods, which comes after Resolve.
func (s Signal) isTraffic() bool { return s == PodTransmitted || s == PodReceived || s == PodEgress }

// isLate reports whether the signal comes after Resolve: its series are integrated as they come, and not kept.
func (s Signal) isLate() bool {
	return s.isUsage() || s.isTraffic() || s == NodeDiskUsed || s == ClaimUsed
}

// tellsSeries reports whether the last element of the signal's key does nothing but tell series of one key apart.
func (s Signal) tellsSeries() bool { return s.isUsage() || s == PodTransmitted || s == PodReceived }

// signals say how each signal is keyed and taken. tail marks signals whose key goes on with alternating names and values.
var signals = [numSignals]struct {
	name string
	key  []string
	tail string // prefix of the names in the tail that are kept, e.g. label_
	add  func(b *Builder, s *seen) error
}{
	Nothing:                  {"nothing", nil, "", func(*Builder, *seen) error { return nil }},
	ContainerRunning:         {"container running", runningLabels, "", (*Builder).addRunning},
	ContainerStarted:         {"container started", containerLabels, "", (*Builder).addStarted},
	ContainerTerminated:      {"container terminated", containerLabels, "", (*Builder).addTerminated},
	ContainerRequest:         {"request", containerLabels, "", (*Builder).addRequest},
	ContainerLimit:           {"limit", containerLabels, "", (*Builder).addLimit},
	ContainerUse:             {"usage", usageLabels, "", byLane((*Lane).addUsage)},
	ContainerLevel:           {"usage", usageLabels, "", byLane((*Lane).addUsage)},
	PodInfo:                  {"pod", append(slices.Clip(podLabels), "node", "pod_ip", "created_by_kind", "created_by_name"), "", (*Builder).addPod},
	PodPhaseRunning:          {"pod phase", podLabels, "", (*Builder).addPodPhase},
	PodStarted:               {"pod started", podLabels, "", (*Builder).addPodStarted},
	PodCompleted:             {"pod completed", podLabels, "", (*Builder).addPodCompleted},
	PodDeleted:               {"pod deleted", podLabels, "", (*Builder).addPodDeleted},
	PodOwner:                 {"pod owner", append(slices.Clip(podLabels), "owner_kind", "owner_name", "owner_is_controller"), "", (*Builder).addPodOwner},
	PodLabels:                {"pod labels", podLabels, "label_", (*Builder).addPodLabels},
	PodAnnotations:           {"pod annotations", podLabels, "annotation_", (*Builder).addPodAnnotations},
	ReplicaSetOwner:          {"replicaset owner", []string{"cluster", "namespace", "replicaset", "owner_kind", "owner_name"}, "", (*Builder).addReplicaSetOwner},
	JobOwner:                 {"job owner", []string{"cluster", "namespace", "job_name", "owner_kind", "owner_name"}, "", (*Builder).addJobOwner},
	NamespaceLabelsInfo:      {"namespace labels", []string{"cluster", "namespace"}, "label_", (*Builder).addNamespaceLabels},
	NamespaceAnnotationsInfo: {"namespace annotations", []string{"cluster", "namespace"}, "annotation_", (*Builder).addNamespaceAnnotations},
	ServiceInfo:              {"service", []string{"cluster", "namespace", "service"}, "", (*Builder).addService},
	SliceService:             {"endpointslice", []string{"cluster", "namespace", "endpointslice", "label_kubernetes_io_service_name"}, "", (*Builder).addSliceService},
	SliceEndpoint:            {"endpoints of services", []string{"cluster", "namespace", "endpointslice", "targetref_namespace", "targetref_name"}, "", (*Builder).addSliceEndpoint},
	ServiceAddress:           {"addresses of services", []string{"cluster", "namespace", "endpoint", "ip"}, "", (*Builder).addServiceAddress},
	ServiceSelector:          {"selectors of services", serviceLabels, "label_", (*Builder).addServiceSelector},
	NodeInfo:                 {"node", []string{"cluster", "node", "provider_id"}, "", (*Builder).addNode},
	NodeLabels:               {"node labels", []string{"cluster", "node"}, "label_", (*Builder).addNodeLabels},
	NodeCreated:              {"node created", []string{"cluster", "node"}, "", (*Builder).addNodeCreated},
	NodeCapacity:             {"node capacity", []string{"cluster", "node"}, "", (*Builder).addNodeCapacity},
	NodePrice:                {"node price", []string{"cluster", "node", "instance_type", "region", "arch", "provider_id"}, "", (*Builder).addNodePrice},
	NodeSpot:                 {"node spot", []string{"cluster", "node"}, "", (*Builder).addNodeSpot},
	DeviceRequest:            {"device request", append(slices.Clip(containerLabels), "resource"), "", (*Builder).addDeviceRequest},
	DeviceUse:                {"device usage", append(slices.Clip(containerLabels), "device", "slice", "profile", "UUID", "gpu_device", "modelName"), "", (*Builder).addDeviceUse},
	DeviceCapacity:           {"node devices", []string{"cluster", "node", "resource"}, "", (*Builder).addDeviceCapacity},
	PodScheduled:             {"pod scheduled", podLabels, "", (*Builder).addPodScheduled},
	PodPending:               {"pod pending", podLabels, "", (*Builder).addPodPending},
	PodMount:                 {"pod volumes", append(slices.Clip(podLabels), "persistentvolumeclaim", "persistentvolume"), "", (*Builder).addPodMount},
	PodTransmitted:           {"bytes sent", append(slices.Clip(podLabels), "interface", "series"), "", byLane((*Lane).addTransmitted)},
	PodReceived:              {"bytes received", append(slices.Clip(podLabels), "interface", "series"), "", byLane((*Lane).addReceived)},
	PodEgress:                {"network egress", append(slices.Clip(podLabels), "internet", "same_zone", "same_region", "service", "instance"), "", byLane((*Lane).addEgress)},
	ZoneEgressPrice:          {"price of egress to zones", []string{"cluster"}, "", (*Builder).addZonePrice},
	RegionEgressPrice:        {"price of egress to regions", []string{"cluster"}, "", (*Builder).addRegionPrice},
	InternetEgressPrice:      {"price of egress to the internet", []string{"cluster"}, "", (*Builder).addInternetPrice},
	VolumeInfo:               {"volume", []string{"cluster", "persistentvolume", "storageclass", "csi_volume_handle", "csi_driver", "ebs_volume_id", "gce_persistent_disk_name", "azure_disk_name"}, "", (*Builder).addVolume},
	VolumeLabels:             {"volume labels", []string{"cluster", "persistentvolume"}, "label_", (*Builder).addVolumeLabels},
	VolumeCapacity:           {"volume capacity", []string{"cluster", "persistentvolume"}, "", (*Builder).addVolumeCapacity},
	VolumePrice:              {"volume price", []string{"cluster", "persistentvolume"}, "", (*Builder).addVolumePrice},
	VolumeClaim:              {"volume claim", append(slices.Clip(claimLabels), "persistentvolume"), "", (*Builder).addVolumeClaim},
	ClaimCapacity:            {"claim capacity", claimLabels, "", (*Builder).addClaimCapacity},
	ClaimUsed:                {"claim usage", claimLabels, "", byLane((*Lane).addClaimUsed)},
	Balancer:                 {"load balancer", serviceLabels, "", (*Builder).addBalancer},
	BalancerIngress:          {"load balancer address", append(slices.Clip(serviceLabels), "ip", "hostname"), "", (*Builder).addBalancerIngress},
	ServiceLabels:            {"service labels", serviceLabels, "label_", (*Builder).addServiceLabels},
	BalancerPrice:            {"load balancer price", append(slices.Clip(serviceLabels), "ingress_ip"), "", (*Builder).addBalancerPrice},
	ManagementPrice:          {"cluster management price", []string{"cluster", "provisioner_name"}, "", (*Builder).addManagementPrice},
	NodeAddress:              {"node address", []string{"cluster", "node", "internal_ip"}, "", (*Builder).addNodeAddress},
	NodeDisk:                 {"node disk", []string{"cluster", "node", "device"}, "", (*Builder).addNodeDisk},
	NodeTime:                 {"node cpu time", []string{"cluster", "node", "mode"}, "", (*Builder).addNodeTime},
	NodeMemoryTotal:          {"node memory", []string{"cluster", "node"}, "", (*Builder).addMemoryTotal},
	NodeMemoryAvailable:      {"node memory available", []string{"cluster", "node"}, "", (*Builder).addMemoryAvailable},
	NodeMemoryBuffers:        {"node memory buffers", []string{"cluster", "node"}, "", (*Builder).addMemoryBuffers},
	NodeMemoryCached:         {"node memory cached", []string{"cluster", "node"}, "", (*Builder).addMemoryCached},
	PodFinal:                 {"pod ended", podLabels, "", (*Builder).addPodFinal},
	ContainerRestarts:        {"restarts", containerLabels, "", (*Builder).addRestarts},
	NodeDiskUsed:             {"node disk usage", []string{"cluster", "node", "device"}, "", byLane((*Lane).addNodeDiskUsed)},
}

var (
	podLabels       = []string{"cluster", "namespace", "pod", "uid"}
	containerLabels = []string{"cluster", "namespace", "pod", "uid", "container"}
	runningLabels   = []string{"cluster", "namespace", "pod", "uid", "container", "kubelet_node"}
	claimLabels     = []string{"cluster", "namespace", "persistentvolumeclaim"}
	serviceLabels   = []string{"cluster", "namespace", "service"}
	usageLabels     = []string{"cluster", "namespace", "pod", "uid", "container", "kubelet_node", "series"}
)

// byLane is how a Builder takes what its lanes take.
func byLane(add func(*Lane, *seen) error) func(*Builder, *seen) error {
	return func(b *Builder, s *seen) error {
		l := b.lane()
		return add(l, s)
	}
}

// String names the signal in warnings and errors.
func (s Signal) String() string { return signals[s].name }

// Key is what the key of the signal's series holds, in this order, in the spelling of kube-state-metrics' labels.
func (s Signal) Key() []string { return signals[s].key }

// Tail is not empty where the key goes on with names and values in turn: those whose names begin with it are kept,
// without it.
func (s Signal) Tail() string { return signals[s].tail }
