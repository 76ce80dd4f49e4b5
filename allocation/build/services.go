package build

import (
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/timeline"
)

// named is the name of an object in the index of services.
func (k objectKey) named() services.Object {
	return services.Object{Cluster: k.cluster, Namespace: k.namespace, Name: k.name}
}

func (b *Builder) addService(s *incoming) error {
	b.services.behind.AddService(s.object().named(), b.serviceSteps(s))
	return nil
}

func (b *Builder) addSliceService(s *incoming) error {
	b.services.behind.AddSlice(s.object().named(), s.key[3], b.serviceSteps(s))
	return nil
}

func (b *Builder) addSliceEndpoint(s *incoming) error {
	pod := services.Object{Cluster: s.key[0], Namespace: s.key[3], Name: s.key[4]}
	if pod.Namespace == none {
		pod.Namespace = s.key[1]
	}
	b.services.behind.AddEndpoint(pod, s.key[2], b.serviceSteps(s))
	return nil
}

func (b *Builder) addServiceAddress(s *incoming) error {
	b.services.behind.AddAddress(s.object().named(), s.key[3], b.serviceSteps(s))
	return nil
}

func (b *Builder) addServiceSelector(s *incoming) error {
	b.services.behind.AddSelector(s.object().named(), b.addTail(s.tail), b.serviceSteps(s))
	return nil
}

// serviceSteps is when a signal of a service was seen. Like a service, it begins and ends halfway between two scrapes.
func (b *Builder) serviceSteps(s *incoming) timeline.Steps {
	steps := b.sampling.Steps(s.p)
	if b.sampling.Exact() {
		for i := range steps {
			steps[i].From -= b.sampling.Interval / 2
			steps[i].To -= b.sampling.Interval / 2
		}
	}
	return steps
}
