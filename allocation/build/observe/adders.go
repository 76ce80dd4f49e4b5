package observe

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
)

// adders has the method that takes the series of each signal but those of usage and traffic, which package charge takes.
var adders = [signals.NumSignals]func(ob *Observer, s *Incoming) error{
	signals.Nothing:                  func(*Observer, *Incoming) error { return nil },
	signals.ContainerRunning:         (*Observer).addRunning,
	signals.RunningByUsage:           (*Observer).addRunning,
	signals.RunningByInfo:            (*Observer).addRunning,
	signals.ContainerStarted:         (*Observer).addStarted,
	signals.ContainerCreated:         (*Observer).addStarted,
	signals.InitStarted:              (*Observer).addStarted,
	signals.ContainerTerminated:      (*Observer).addTerminated,
	signals.ContainerRequest:         (*Observer).addRequest,
	signals.ContainerLimit:           (*Observer).addLimit,
	signals.PodInfo:                  (*Observer).addPod,
	signals.PodPhaseRunning:          (*Observer).addPodPhase,
	signals.PodStarted:               (*Observer).addPodStarted,
	signals.PodCompleted:             (*Observer).addPodCompleted,
	signals.PodDeleted:               (*Observer).addPodDeleted,
	signals.PodOwner:                 (*Observer).addPodOwner,
	signals.PodLabels:                (*Observer).addPodLabels,
	signals.PodAnnotations:           (*Observer).addPodAnnotations,
	signals.ReplicaSetOwner:          (*Observer).addReplicaSetOwner,
	signals.JobOwner:                 (*Observer).addJobOwner,
	signals.NamespaceLabelsInfo:      (*Observer).addNamespaceLabels,
	signals.NamespaceAnnotationsInfo: (*Observer).addNamespaceAnnotations,
	signals.ServiceInfo:              (*Observer).addService,
	signals.SliceService:             (*Observer).addSliceService,
	signals.SliceEndpoint:            (*Observer).addSliceEndpoint,
	signals.ServiceAddress:           (*Observer).addServiceAddress,
	signals.ServiceSelector:          (*Observer).addServiceSelector,
	signals.NodeInfo:                 (*Observer).addNode,
	signals.NodeLabels:               (*Observer).addNodeLabels,
	signals.NodeCreated:              (*Observer).addNodeCreated,
	signals.NodeCapacity:             (*Observer).addNodeCapacity,
	signals.NodePrice:                (*Observer).addNodePrice,
	signals.NodeSpot:                 (*Observer).addNodeSpot,
	signals.DeviceRequest:            (*Observer).addDeviceRequest,
	signals.DeviceUse:                (*Observer).addDeviceUse,
	signals.DeviceCapacity:           (*Observer).addDeviceCapacity,
	signals.PodScheduled:             (*Observer).addPodScheduled,
	signals.PodPending:               (*Observer).addPodPending,
	signals.PodMount:                 (*Observer).addPodMount,
	signals.ZoneEgressPrice:          (*Observer).addZonePrice,
	signals.RegionEgressPrice:        (*Observer).addRegionPrice,
	signals.InternetEgressPrice:      (*Observer).addInternetPrice,
	signals.VolumeInfo:               (*Observer).addVolume,
	signals.VolumeLabels:             (*Observer).addVolumeLabels,
	signals.VolumeCapacity:           (*Observer).addVolumeCapacity,
	signals.VolumePrice:              (*Observer).addVolumePrice,
	signals.VolumeClaim:              (*Observer).addVolumeClaim,
	signals.ClaimCapacity:            (*Observer).addClaimCapacity,
	signals.Balancer:                 (*Observer).addBalancer,
	signals.NodeTaint:                (*Observer).addNodeTaint,
	signals.PodCapacity:              (*Observer).addPodCapacity,
	signals.OtherService:             (*Observer).addOtherService,
	signals.BalancerIngress:          (*Observer).addBalancerIngress,
	signals.ServiceLabels:            (*Observer).addServiceLabels,
	signals.BalancerPrice:            (*Observer).addBalancerPrice,
	signals.ManagementPrice:          (*Observer).addManagementPrice,
	signals.NodeAddress:              (*Observer).addNodeAddress,
	signals.NodeDisk:                 (*Observer).addNodeDisk,
	signals.NodeTime:                 (*Observer).addNodeTime,
	signals.NodeMemoryTotal:          (*Observer).addMemoryTotal,
	signals.NodeMemoryAvailable:      (*Observer).addMemoryAvailable,
	signals.NodeMemoryBuffers:        (*Observer).addMemoryBuffers,
	signals.NodeMemoryCached:         (*Observer).addMemoryCached,
	signals.PodFinal:                 (*Observer).addPodFinal,
	signals.ContainerRestarts:        (*Observer).addRestarts,
	signals.PodReserved:              (*Observer).addPodReserved,
	signals.PodOverhead:              (*Observer).addPodOverhead,
	signals.OtherDevice:              (*Observer).addOtherDevice,
	signals.PodClaim:                 (*Observer).addPodClaim,
	signals.InstancePrice:            (*Observer).addInstancePrice,
	signals.InstanceUnitPrice:        (*Observer).addInstancePrice,
	signals.OfferingPrice:            (*Observer).addOfferingPrice,
	signals.WholeVolumePrice:         (*Observer).addExportedVolumePrice,
	signals.VolumeUnitPrice:          (*Observer).addExportedVolumePrice,
	signals.AutoscalerTarget:         (*Observer).addAutoscalerTarget,
	signals.AutoscalerMetric:         (*Observer).addAutoscalerMetric,
}

// interned has the texts of the sets.
type interned struct {
	Dict  *allocation.Dict
	ids   []allocation.ID   // of symbols, by their numbers; 0 for those that Dict may not have
	pairs []allocation.Pair // scratch of addTail
}

// addTail interns a map given as names and values in turn, sorted by name.
func (in *interned) addTail(tail []signals.Symbol) allocation.ID {
	in.pairs = in.pairs[:0]
	for i := 0; i+1 < len(tail); i += 2 {
		in.pairs = append(in.pairs, allocation.Pair{Key: in.ID(tail[i]), Value: in.ID(tail[i+1])})
	}
	return in.Dict.AddPairs(in.pairs)
}

// ID is the id of a symbol's name in Dict, which does not copy it.
func (in *interned) ID(s signals.Symbol) allocation.ID {
	n := s.Number()
	in.ids = append(in.ids, make([]allocation.ID, max(0, n+1-len(in.ids)))...)
	if in.ids[n] == 0 {
		in.ids[n] = in.Dict.AddWhole(s.Name())
	}
	return in.ids[n]
}
