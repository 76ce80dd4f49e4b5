package observe

import (
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/timeline"
)

func (ob *Observer) addService(s *Incoming) error {
	ob.Services.Behind.AddService(s.Object().Named(), ob.serviceSteps(s))
	return nil
}

func (ob *Observer) addSliceService(s *Incoming) error {
	ob.Services.Behind.AddSlice(s.Object().Named(), s.Key[3], ob.serviceSteps(s))
	return nil
}

func (ob *Observer) addSliceEndpoint(s *Incoming) error {
	pod := services.Object{Cluster: s.Key[0], Namespace: s.Key[3], Name: s.Key[4]}
	if pod.Namespace == None {
		pod.Namespace = s.Key[1]
	}
	ob.Services.Behind.AddEndpoint(pod, s.Key[2], ob.serviceSteps(s))
	return nil
}

func (ob *Observer) addServiceAddress(s *Incoming) error {
	ob.Services.Behind.AddAddress(s.Object().Named(), s.Key[3], ob.serviceSteps(s))
	return nil
}

func (ob *Observer) addServiceSelector(s *Incoming) error {
	ob.Services.Behind.AddSelector(s.Object().Named(), ob.addTail(s.tail), ob.serviceSteps(s))
	return nil
}

// serviceSteps is when a signal of a service was seen. Like a service, it begins and ends halfway between two scrapes.
func (ob *Observer) serviceSteps(s *Incoming) timeline.Steps {
	steps := ob.Sampling.Steps(s.Points)
	if ob.Sampling.Exact() {
		for i := range steps {
			steps[i].From -= ob.Sampling.Interval / 2
			steps[i].To -= ob.Sampling.Interval / 2
		}
	}
	return steps
}
