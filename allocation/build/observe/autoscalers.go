package observe

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// autoscaler is what is known of a HorizontalPodAutoscaler.
type autoscaler struct {
	of OwnerKey
	by [len(allocation.LevelResources)]timeline.Intervals // when it scales by usage of a resource
}

// autoscalers are the HorizontalPodAutoscalers of the clusters.
type autoscalers map[ObjectKey]*autoscaler

func (as autoscalers) of(key ObjectKey) *autoscaler {
	a := as[key]
	if a == nil {
		a = &autoscaler{}
		as[key] = a
	}
	return a
}

func (ob *Observer) addAutoscalerTarget(s *Incoming) error {
	if o := ob.ownerOf(s.Key[3], s.Key[4]); o != (Owner{}) {
		ob.autoscalers.of(s.Object()).of = OwnerKey{o.Kind, ObjectKey{Cluster: s.Key[0], Namespace: s.Key[1], Name: o.Name}}
	}
	return nil
}

func (ob *Observer) addAutoscalerMetric(s *Incoming) error {
	for _, r := range allocation.LevelResources {
		if name := s.Key[3].Value(); name == r.String() || r == allocation.RAM && name == "memory" {
			by := &ob.autoscalers.of(s.Object()).by[r]
			*by = timeline.AppendIntervals(*by, ob.serviceSteps(s))
		}
	}
	return nil
}

// Autoscaled returns when controllers are scaled by the usage of a resource, by the controller.
func (ob *Observer) Autoscaled(r allocation.Resource) map[OwnerKey]timeline.Intervals {
	out := map[OwnerKey]timeline.Intervals{}
	for _, a := range ob.autoscalers {
		if len(a.by[r]) > 0 && a.of != (OwnerKey{}) {
			out[a.of] = append(out[a.of], a.by[r]...)
		}
	}
	for of, when := range out {
		out[of] = timeline.Union(when)
	}
	return out
}
