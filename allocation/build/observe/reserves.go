package observe

import (
	"regexp"
	"strconv"

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

// provisioned reads what a provider made for a pod, in cores and GiB.
var provisioned = regexp.MustCompile(`^(\d{1,6}(?:\.\d{1,9})?)vCPU (\d{1,6}(?:\.\d{1,9})?)GB$`)

func (ob *Observer) addPodCapacity(s *Incoming) error {
	p, text := ob.PodOf(s.Pod()), provisioned.FindStringSubmatch(s.Key[4].Value())
	if text == nil {
		return nil
	}
	cores, _ := strconv.ParseFloat(text[1], 64) // which never fails on such text
	gibs, _ := strconv.ParseFloat(text[2], 64)
	seen := timeline.Ones(ob.Sampling.Steps(s.Points))
	p.Provisioned[allocation.CPU] = timeline.Max(p.Provisioned[allocation.CPU], timeline.Scaled(seen, cores))
	p.Provisioned[allocation.RAM] = timeline.Max(p.Provisioned[allocation.RAM], timeline.Scaled(seen, gibs*(1<<30)))
	return nil
}

func (ob *Observer) addPodOverhead(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.Overhead[s.Resource] = ob.shared.Max(p.Overhead[s.Resource], ob.shared.Of(ob.shared.Steps(ob.Sampling, s.Points).NotNegative()))
	return nil
}
