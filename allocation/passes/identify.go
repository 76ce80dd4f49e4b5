package passes

import (
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// hasDeferred reports whether any property is deferred.
func hasDeferred(s *allocation.Set) bool {
	return slices.ContainsFunc(s.Table().Deferred[:], func(d allocation.Deferred) bool { return d != nil })
}

// commonDeferred is mergeIDs for the rows with deferred values. It returns the other rows, which passes added.
func (p operand) commonDeferred(m *workspace, dict *allocation.Dict, of allocation.Property, ids []allocation.ID, differ, seen []bool) (rest operand) {
	rows := len(p.set.Table().NoID)
	m.own = slices.Grow(m.own[:0], len(ids))[:len(ids)]
	clear(m.own)
	if p.asks(differ) {
		if err := p.set.Table().Deferred[of].Common(dict, p.group[:rows], p.first, differ, m.own); err != nil {
			m.note(undecoded(p.set, of, err))
		}
	}
	for g, row := range p.first {
		switch {
		case row < 0 || differ[g]:
		case !seen[g]:
			ids[g], seen[g] = m.own[g], true
		default:
			differ[g] = ids[g] != m.own[g]
		}
	}
	return p.after(rows)
}

// latestDeferred is anyIDs for the rows with deferred values.
func (p operand) latestDeferred(m *workspace, dict *allocation.Dict, of allocation.Property, ids []allocation.ID) {
	if err := p.set.Table().Deferred[of].Latest(dict, p.group[:len(p.set.Table().NoID)], ids); err != nil {
		m.note(undecoded(p.set, of, err))
	}
}

// undecoded returns the error for a property that cannot be decoded.
func undecoded(s *allocation.Set, p allocation.Property, err error) error {
	return fmt.Errorf("decode %s of set of %s: %w", p, s.Window.Text(), err)
}

// asks reports whether some group has deferred rows that are not known to differ.
func (p operand) asks(differ []bool) bool {
	for g, row := range p.first {
		if row >= 0 && !differ[g] {
			return true
		}
	}
	return false
}

// firsts returns the first row of each of n groups among the rows as built, -1 for a group without any.
func (p *operand) firsts(n int) []int32 {
	const none = -1
	first, from, rows := slices.Repeat([]int32{none}, n), int32(0), int32(len(p.set.Table().NoID))
	for _, to := range p.runs {
		if g := p.group[from]; from < rows && first[g] == none {
			first[g] = from
		}
		from = to
	}
	return first
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
	deferred, rows := w.set.Table().Deferred[p], len(w.set.Table().NoID)
	if deferred == nil {
		return
	}
	if mask != nil {
		mask = mask[:rows]
	}
	ids, err := w.workspace.identify(deferred, w.dict, rows, mask)
	if err != nil {
		w.workspace.note(undecoded(w.set, p, err))
		return
	}
	w.set.Table().IDs[p], w.set.Table().Deferred[p] = append(ids, w.set.Table().IDs[p][rows:]...), nil // passes may have added rows
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
