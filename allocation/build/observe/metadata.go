package observe

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// lateMetadata has the labels and annotations of pods that are added last.
type lateMetadata struct {
	By    []allocation.Key // by which rows are merged; none if all labels and annotations are added before usage
	Last  bool             // they were left out of the first step, for they may be added last
	Shown []*Container     // the containers whose pods' labels and annotations are added
	// Nameless has labels and annotations that no pod's UID matches, by the pod's name. A pod takes them if it has none of its own.
	Nameless map[ObjectKey]*Pod
}

func (ob *Observer) addPodLabels(s *Incoming) error { return ob.addMetadata(s, (*Pod).addLabels) }

func (ob *Observer) addPodAnnotations(s *Incoming) error {
	return ob.addMetadata(s, (*Pod).addAnnotations)
}

// addMetadata adds labels or annotations to their pod. Once usage was added, it makes no new pods.
func (ob *Observer) addMetadata(s *Incoming, add func(*Pod, allocation.ID, timeline.Steps)) error {
	key := s.Pod()
	p, kept := ob.Pods.Find(&key), ob.Pods.Metadata.Nameless
	switch {
	case p != nil:
	case ob.Phase == Gathering:
		p = ob.PodOf(key)
	case key.UID == None || slices.ContainsFunc(ob.Pods.ByName[key.ObjectKey], func(p *Pod) bool { return p.UID == None }):
		p = cmp.Or(kept[key.ObjectKey], newPod(key))
		kept[key.ObjectKey] = p
	default:
		return nil
	}
	add(p, ob.addTail(s.tail), ob.shared.Steps(ob.Sampling, s.Points))
	return nil
}

func (p *Pod) addLabels(all allocation.ID, when timeline.Steps) { p.Labels.Add(all, when) }

func (p *Pod) addAnnotations(all allocation.ID, when timeline.Steps) { p.Annotations.Add(all, when) }
