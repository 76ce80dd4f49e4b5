package build

import "github.com/promcost/promcost/allocation"

// adders are what takes the series of each signal.
var adders = [numSignals]func(b *Builder, s *seen) error{
	Nothing:                  func(*Builder, *seen) error { return nil },
	ContainerRunning:         (*Builder).addRunning,
	ContainerStarted:         (*Builder).addStarted,
	ContainerTerminated:      (*Builder).addTerminated,
	ContainerRequest:         (*Builder).addRequest,
	ContainerLimit:           (*Builder).addLimit,
	ContainerUse:             byLane((*Lane).addUsage),
	ContainerLevel:           byLane((*Lane).addUsage),
	PodInfo:                  (*Builder).addPod,
	PodPhaseRunning:          (*Builder).addPodPhase,
	PodStarted:               (*Builder).addPodStarted,
	PodCompleted:             (*Builder).addPodCompleted,
	PodDeleted:               (*Builder).addPodDeleted,
	PodOwner:                 (*Builder).addPodOwner,
	PodLabels:                (*Builder).addPodLabels,
	PodAnnotations:           (*Builder).addPodAnnotations,
	ReplicaSetOwner:          (*Builder).addReplicaSetOwner,
	JobOwner:                 (*Builder).addJobOwner,
	NamespaceLabelsInfo:      (*Builder).addNamespaceLabels,
	NamespaceAnnotationsInfo: (*Builder).addNamespaceAnnotations,
	ServiceInfo:              (*Builder).addService,
	SliceService:             (*Builder).addSliceService,
	SliceEndpoint:            (*Builder).addSliceEndpoint,
	ServiceAddress:           (*Builder).addServiceAddress,
	ServiceSelector:          (*Builder).addServiceSelector,
	NodeInfo:                 (*Builder).addNode,
	NodeLabels:               (*Builder).addNodeLabels,
	NodeCreated:              (*Builder).addNodeCreated,
	NodeCapacity:             (*Builder).addNodeCapacity,
	NodePrice:                (*Builder).addNodePrice,
	NodeSpot:                 (*Builder).addNodeSpot,
	DeviceRequest:            (*Builder).addDeviceRequest,
	DeviceUse:                (*Builder).addDeviceUse,
	DeviceCapacity:           (*Builder).addDeviceCapacity,
	PodScheduled:             (*Builder).addPodScheduled,
	PodPending:               (*Builder).addPodPending,
	PodMount:                 (*Builder).addPodMount,
	PodTransmitted:           byLane((*Lane).addTransmitted),
	PodReceived:              byLane((*Lane).addReceived),
	PodEgress:                byLane((*Lane).addEgress),
	ZoneEgressPrice:          (*Builder).addZonePrice,
	RegionEgressPrice:        (*Builder).addRegionPrice,
	InternetEgressPrice:      (*Builder).addInternetPrice,
	VolumeInfo:               (*Builder).addVolume,
	VolumeLabels:             (*Builder).addVolumeLabels,
	VolumeCapacity:           (*Builder).addVolumeCapacity,
	VolumePrice:              (*Builder).addVolumePrice,
	VolumeClaim:              (*Builder).addVolumeClaim,
	ClaimCapacity:            (*Builder).addClaimCapacity,
	ClaimUsed:                byLane((*Lane).addClaimUsed),
	Balancer:                 (*Builder).addBalancer,
	BalancerIngress:          (*Builder).addBalancerIngress,
	ServiceLabels:            (*Builder).addServiceLabels,
	BalancerPrice:            (*Builder).addBalancerPrice,
	ManagementPrice:          (*Builder).addManagementPrice,
	NodeAddress:              (*Builder).addNodeAddress,
	NodeDisk:                 (*Builder).addNodeDisk,
	NodeTime:                 (*Builder).addNodeTime,
	NodeMemoryTotal:          (*Builder).addMemoryTotal,
	NodeMemoryAvailable:      (*Builder).addMemoryAvailable,
	NodeMemoryBuffers:        (*Builder).addMemoryBuffers,
	NodeMemoryCached:         (*Builder).addMemoryCached,
	PodFinal:                 (*Builder).addPodFinal,
	ContainerRestarts:        (*Builder).addRestarts,
	NodeDiskUsed:             byLane((*Lane).addNodeDiskUsed),
}

// byLane is how a Builder takes what its lanes take.
func byLane(add func(*Lane, *seen) error) func(*Builder, *seen) error {
	return func(b *Builder, s *seen) error {
		l := b.lane()
		return add(l, s)
	}
}

// addTail interns a map given as names and values in turn, sorted by name.
func addTail(d *allocation.Dict, tail []Symbol) allocation.ID {
	pairs := make([]allocation.Pair, 0, len(tail)/2)
	for i := 0; i+1 < len(tail); i += 2 {
		pairs = append(pairs, allocation.Pair{Key: d.Add(tail[i].Value()), Value: d.Add(tail[i+1].Value())})
	}
	return d.AddPairs(pairs)
}
