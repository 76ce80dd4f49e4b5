package build

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
)

// adders has the method that takes the series of each signal but those of usageAdders.
var adders = [signals.NumSignals]func(b *Builder, s *incoming) error{
	signals.Nothing:                  func(*Builder, *incoming) error { return nil },
	signals.ContainerRunning:         (*Builder).addRunning,
	signals.RunningByUsage:           (*Builder).addRunning,
	signals.RunningByInfo:            (*Builder).addRunning,
	signals.ContainerStarted:         (*Builder).addStarted,
	signals.ContainerCreated:         (*Builder).addStarted,
	signals.InitStarted:              (*Builder).addStarted,
	signals.ContainerTerminated:      (*Builder).addTerminated,
	signals.ContainerRequest:         (*Builder).addRequest,
	signals.ContainerLimit:           (*Builder).addLimit,
	signals.PodInfo:                  (*Builder).addPod,
	signals.PodPhaseRunning:          (*Builder).addPodPhase,
	signals.PodStarted:               (*Builder).addPodStarted,
	signals.PodCompleted:             (*Builder).addPodCompleted,
	signals.PodDeleted:               (*Builder).addPodDeleted,
	signals.PodOwner:                 (*Builder).addPodOwner,
	signals.PodLabels:                (*Builder).addPodLabels,
	signals.PodAnnotations:           (*Builder).addPodAnnotations,
	signals.ReplicaSetOwner:          (*Builder).addReplicaSetOwner,
	signals.JobOwner:                 (*Builder).addJobOwner,
	signals.NamespaceLabelsInfo:      (*Builder).addNamespaceLabels,
	signals.NamespaceAnnotationsInfo: (*Builder).addNamespaceAnnotations,
	signals.ServiceInfo:              (*Builder).addService,
	signals.SliceService:             (*Builder).addSliceService,
	signals.SliceEndpoint:            (*Builder).addSliceEndpoint,
	signals.ServiceAddress:           (*Builder).addServiceAddress,
	signals.ServiceSelector:          (*Builder).addServiceSelector,
	signals.NodeInfo:                 (*Builder).addNode,
	signals.NodeLabels:               (*Builder).addNodeLabels,
	signals.NodeCreated:              (*Builder).addNodeCreated,
	signals.NodeCapacity:             (*Builder).addNodeCapacity,
	signals.NodePrice:                (*Builder).addNodePrice,
	signals.NodeSpot:                 (*Builder).addNodeSpot,
	signals.DeviceRequest:            (*Builder).addDeviceRequest,
	signals.DeviceUse:                (*Builder).addDeviceUse,
	signals.DeviceCapacity:           (*Builder).addDeviceCapacity,
	signals.PodScheduled:             (*Builder).addPodScheduled,
	signals.PodPending:               (*Builder).addPodPending,
	signals.PodMount:                 (*Builder).addPodMount,
	signals.ZoneEgressPrice:          (*Builder).addZonePrice,
	signals.RegionEgressPrice:        (*Builder).addRegionPrice,
	signals.InternetEgressPrice:      (*Builder).addInternetPrice,
	signals.VolumeInfo:               (*Builder).addVolume,
	signals.VolumeLabels:             (*Builder).addVolumeLabels,
	signals.VolumeCapacity:           (*Builder).addVolumeCapacity,
	signals.VolumePrice:              (*Builder).addVolumePrice,
	signals.VolumeClaim:              (*Builder).addVolumeClaim,
	signals.ClaimCapacity:            (*Builder).addClaimCapacity,
	signals.Balancer:                 (*Builder).addBalancer,
	signals.BalancerIngress:          (*Builder).addBalancerIngress,
	signals.ServiceLabels:            (*Builder).addServiceLabels,
	signals.BalancerPrice:            (*Builder).addBalancerPrice,
	signals.ManagementPrice:          (*Builder).addManagementPrice,
	signals.NodeAddress:              (*Builder).addNodeAddress,
	signals.NodeDisk:                 (*Builder).addNodeDisk,
	signals.NodeTime:                 (*Builder).addNodeTime,
	signals.NodeMemoryTotal:          (*Builder).addMemoryTotal,
	signals.NodeMemoryAvailable:      (*Builder).addMemoryAvailable,
	signals.NodeMemoryBuffers:        (*Builder).addMemoryBuffers,
	signals.NodeMemoryCached:         (*Builder).addMemoryCached,
	signals.PodFinal:                 (*Builder).addPodFinal,
	signals.ContainerRestarts:        (*Builder).addRestarts,
}

// usageAdders has the method that takes the series of each signal of usage and traffic.
var usageAdders = [signals.NumSignals]func(l *integrator, s *incoming) error{
	signals.ContainerUse:   (*integrator).addUsage,
	signals.ContainerLevel: (*integrator).addUsage,
	signals.PodTransmitted: (*integrator).addTransmitted,
	signals.PodReceived:    (*integrator).addReceived,
	signals.PodEgress:      (*integrator).addEgress,
	signals.ClaimUsed:      (*integrator).addClaimUsed,
	signals.NodeDiskUsed:   (*integrator).addNodeDiskUsed,
}

// interned has the texts of a Builder.
type interned struct {
	dict  *allocation.Dict
	ids   []allocation.ID   // of symbols, by their numbers; 0 for those that dict may not have
	pairs []allocation.Pair // scratch of addTail
}

// addTail interns a map given as names and values in turn, sorted by name.
func (b *interned) addTail(tail []signals.Symbol) allocation.ID {
	b.pairs = b.pairs[:0]
	for i := 0; i+1 < len(tail); i += 2 {
		b.pairs = append(b.pairs, allocation.Pair{Key: b.id(tail[i]), Value: b.id(tail[i+1])})
	}
	return b.dict.AddPairs(b.pairs)
}

// id is the id of a symbol's text in dict, which does not copy it.
func (b *interned) id(s signals.Symbol) allocation.ID {
	n := s.Number()
	b.ids = append(b.ids, make([]allocation.ID, max(0, n+1-len(b.ids)))...)
	if b.ids[n] == 0 {
		b.ids[n] = b.dict.AddWhole(s.Value())
	}
	return b.ids[n]
}
