package observe

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Reserved is what the scheduler reserves on a node for the pods of one name, one after the other: it does not report their UIDs.
type Reserved struct {
	Node     signals.Symbol
	Resource allocation.Resource
	timeline.Steps
}

// Reserve is what a pod reserves of a resource, requests of containers included. Both are empty where nothing but these is known.
type Reserve struct {
	Inits timeline.Steps // while its init containers may run
	Mains timeline.Steps // after that
}

func (ob *Observer) addPodReserved(s *Incoming) error {
	list, steps := ob.Pods.Reserved[s.Object()], ob.shared.Of(ob.shared.Steps(ob.Sampling, s.Points).NotNegative())
	for i := range list {
		if x := &list[i]; x.Node == s.Key[4] && x.Resource == s.Resource { // of another scheduler
			x.Steps = ob.shared.Max(x.Steps, steps)
			return nil
		}
	}
	ob.Pods.Reserved[s.Object()] = append(list, Reserved{s.Key[4], s.Resource, steps})
	return nil
}

func (ob *Observer) addPodOverhead(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.Overhead[s.Resource] = ob.shared.Max(p.Overhead[s.Resource], ob.shared.Of(ob.shared.Steps(ob.Sampling, s.Points).NotNegative()))
	return nil
}
