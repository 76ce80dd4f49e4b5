package passes

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// hasDeferred reports whether any property is deferred.
func hasDeferred(s *allocation.Set) bool {
	return slices.ContainsFunc(s.Table().Deferred[:], func(d allocation.Deferred) bool { return d != nil })
}

// identifyKeys gives ids to the properties that the keys of o read, in the rows of mask; nil is all rows.
func (w *work) identifyKeys(o *Options, mask []bool) {
	for _, k := range o.Aggregate {
		for _, p := range k.Needs().Properties {
			w.identify(p, mask)
		}
	}
}

// locate gives ids to the clusters and nodes of all rows, for passes that look up assets.
func (w *work) locate() {
	w.identify(allocation.Cluster, nil)
	w.identify(allocation.NodeName, nil)
}

// identify gives ids to a property in the rows of mask; nil is all rows.
func (w *work) identify(p allocation.Property, mask []bool) {
	deferred, rows := w.Deferred[p], len(w.NoID)
	if deferred == nil {
		return
	}
	if mask != nil {
		mask = mask[:rows]
	}
	ids, err := w.workspace.identify(deferred, w.Dict, rows, mask)
	if err != nil {
		w.workspace.fail(undecoded(p, w.set.Window, err))
		return
	}
	w.IDs[p], w.Deferred[p] = append(ids, w.IDs[p][rows:]...), nil // passes may have added rows
}

// identify returns the ids of n rows. Each row of keep is a group of its own; all other rows form one group that is not
// looked at. nil keeps all rows.
func (m *workspace) identify(deferred allocation.Deferred, d *allocation.Dict, n int, keep []bool) ([]allocation.ID, error) {
	group, first := slices.Grow(m.group[:0], n)[:n], m.first[:0]
	for row := range group {
		if keep == nil || keep[row] {
			group[row], first = int32(len(first)), append(first, int32(row))
		}
	}
	rest := int32(len(first))
	first = append(first, -1)
	for row := range group {
		if keep != nil && !keep[row] {
			group[row], first[rest] = rest, int32(row)
		}
	}
	m.group, m.first = group, first
	differ, of := make([]bool, len(first)), make([]allocation.ID, len(first))
	differ[rest] = true
	if err := deferred.Common(d, group, first, differ, of); err != nil {
		return nil, err
	}
	ids := make([]allocation.ID, n)
	for row, g := range group {
		ids[row] = of[g]
	}
	return ids, nil
}
