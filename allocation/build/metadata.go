package build

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metadata"
	"github.com/promcost/promcost/allocation/timeline"
)

// lateMetadata has the labels and annotations of pods that are added last.
type lateMetadata struct {
	by    []allocation.Key // by which rows are merged; none if all labels and annotations are added before usage
	last  bool             // they were left out of the first step, for they may be added last
	shown []*container     // the containers whose pods' labels and annotations are added
	// nameless has labels and annotations that no pod's UID matches, by the pod's name. A pod takes them if it has none of its own.
	nameless map[objectKey]*pod
}

// metadataLast reports whether labels and annotations are added last, and only those of the pods that labeled returns. It may turn
// false before usage is added: if services select pods by labels, or pods have no UID, all must be added before.
func (b *Builder) metadataLast() bool {
	if len(b.pods.metadata.by) == 0 || b.phase != gathering {
		return len(b.pods.metadata.by) > 0
	}
	for key := range b.pods.byKey {
		if key.uid == none && len(b.pods.byName[key.objectKey]) == 1 {
			return false
		}
	}
	return !b.services.behind.HasSelectors()
}

// labeled returns the names of the pods whose labels and annotations are shown after rows are merged. Call it once, after usage, and
// add these labels and annotations next.
func (b *Builder) labeled() (names []string, err error) {
	if len(b.pods.metadata.by) == 0 {
		return nil, nil
	}
	shown := make([][]bool, len(b.sets))
	for i, s := range b.sets {
		if shown[i], err = metadata.Shown(s, b.pods.metadata.by, b.shard); err != nil {
			return nil, err
		}
	}
	for c := range b.every() {
		if slices.ContainsFunc(c.rows, func(ref rowRef) bool { return ref.row != noRow && shown[ref.set][ref.row] }) {
			b.pods.metadata.shown, names = append(b.pods.metadata.shown, c), append(names, c.pod.name.Value())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), b.stopped
}

// describeShown fills in labels and annotations in all rows of the containers whose pods labeled returned.
func (b *Builder) describeShown() {
	for _, c := range b.pods.metadata.shown {
		if from := b.pods.metadata.nameless[c.pod.objectKey]; from != nil {
			c.pod.fillFrom(from)
			c.pod.uid = cmp.Or(c.pod.uid, from.uid)
		}
		for _, ref := range c.rows {
			if ref.row != noRow {
				b.rows[ref.set].IDs(allocation.PodUID)[ref.row] = b.id(c.pod.uid)
				b.describeMetadata(c, b.rows[ref.set], ref.row)
			}
		}
	}
}

// describeMetadata fills in the labels and annotations of a row: those at its end.
func (b *Builder) describeMetadata(c *container, rows *allocation.Rows, row int32) {
	p, end := c.pod, rows.Ends()[row]
	labels, annotations := b.pods.namespaces[objectKey{p.cluster, p.namespace, none}].at(end)
	rows.IDs(allocation.Labels)[row] = b.labelsOf(c, end, labels, p.labels.At(end))
	rows.IDs(allocation.Annotations)[row] = b.dict.Overlay(annotations, p.annotations.At(end))
}

func (b *Builder) addPodLabels(s *incoming) error { return b.addMetadata(s, (*pod).addLabels) }
func (b *Builder) addPodAnnotations(s *incoming) error {
	return b.addMetadata(s, (*pod).addAnnotations)
}

// addMetadata adds labels or annotations to their pod. Once usage was added, it makes no new pods.
func (b *Builder) addMetadata(s *incoming, add func(*pod, allocation.ID, timeline.Steps)) error {
	key := s.pod()
	p, kept := b.pods.find(&key), b.pods.metadata.nameless
	switch {
	case p != nil:
	case b.phase == gathering:
		p = b.podOf(key)
	case key.uid == none || slices.ContainsFunc(b.pods.byName[key.objectKey], func(p *pod) bool { return p.uid == none }):
		p = cmp.Or(kept[key.objectKey], newPod(key))
		kept[key.objectKey] = p
	default:
		return nil
	}
	add(p, b.addTail(s.tail), b.shared.Steps(b.sampling, s.p))
	return nil
}

func (p *pod) addLabels(all allocation.ID, when timeline.Steps)      { p.labels.Add(all, when) }
func (p *pod) addAnnotations(all allocation.ID, when timeline.Steps) { p.annotations.Add(all, when) }
