package allocation

import (
	"fmt"
	"slices"
)

// Late are the values of a property of rows that have no ids yet. It is safe for concurrent use.
type Late interface {
	// Merge says of which groups not all rows have the same, and gives the others the id of what they have. group is of each
	// row, first the first row of each group, -1 where it has none. Groups that are known to differ are left alone.
	Merge(d *Dict, group, first []int32, differ []bool, ids []ID) error
	// Last gives each group the id of the last of its rows that has one; groups without any are left alone.
	Last(d *Dict, group []int32, ids []ID) error
}

// allLate are the ids of n rows, of those alone that keep has unless it is nil.
func (m *scratch) allLate(late Late, d *Dict, n int, keep []bool) ([]ID, error) {
	group, first := slices.Grow(m.group[:0], n)[:n], m.first[:0] // a group a row
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
	differ, of := make([]bool, len(first)), make([]ID, len(first))
	differ[rest] = true // the group of those that are not kept
	if err := late.Merge(d, group, first, differ, of); err != nil {
		return nil, err
	}
	ids := make([]ID, n)
	for row, g := range group {
		ids[row] = of[g]
	}
	return ids, nil
}

// identify gives the properties that the keys of o look at ids, of the rows alone that are to be merged.
func (w *work) identify(o *Options, mask []bool) {
	for _, k := range o.Aggregate {
		for _, p := range k.Needs().Properties {
			w.identifyBy(p, mask)
		}
	}
}

// locate gives the clusters and nodes of rows ids, for passes that look for what is there.
func (w *work) locate() {
	w.identifyBy(Cluster, nil)
	w.identifyBy(NodeName, nil)
}

// identifyBy gives a property ids, of those rows alone that mask has unless it is nil.
func (w *work) identifyBy(p Property, mask []bool) {
	late, rows := w.set.late[p], len(w.set.noID)
	if late == nil {
		return
	}
	if mask != nil {
		mask = mask[:rows]
	}
	ids, err := w.scratch.allLate(late, w.dict, rows, mask)
	if err != nil {
		w.scratch.note(fmt.Errorf("decode %s of set of %s: %w", p, w.set.span(), err))
		return
	}
	w.set.ids[p], w.set.late[p] = append(ids, w.set.ids[p][rows:]...), nil // passes may have added rows
}

// hasLate reports whether there are properties that have no ids yet.
func (s *Set) hasLate() bool {
	return slices.ContainsFunc(s.late[:], func(l Late) bool { return l != nil })
}

// OnlyMerges reports whether the passes of o do little with rows but to merge them: then most properties are needed of results
// alone. Reconcile looks at more only in sets that have adjustments.
func (o *Options) OnlyMerges() bool {
	return o.ShareIdle == NoSplit && len(o.Share) == 0 && o.SharedCost == 0 && !o.ShareLoadBalancers && !o.External && !o.Proportions && !o.Check
}

// isAdjusted reports whether bills have corrected what an asset costs: Options.Reconcile does nothing with others.
func (s *Set) isAdjusted() bool {
	for i := range s.Nodes {
		if s.Nodes[i].Adjustment != [NumResources]float64{} {
			return true
		}
	}
	some := false
	s.eachAdjustedName(func(string) { some = true })
	return some
}

// scratch is memory for what is decoded while rows are merged, the first error of that, and what need not be. It is used by one
// goroutine at a time, for set after set.
type scratch struct {
	groups  grouping
	differ  [NumProperties][]bool // groups of rows that do not have the same
	seen    []bool
	own     []ID
	runs    []int32
	group   []int32 // of allLate, with first
	first   []int32
	weights []float64
	gone    *gone // nil where sets are not summed later
	err     error
}

// note notes an error.
func (m *scratch) note(err error) {
	if m.err == nil {
		m.err = err
	}
}

// flags are a flag for each property and each of n groups, and those that are dropped: none is set.
func (m *scratch) flags(n int) *[NumProperties][]bool {
	for p := range m.differ {
		m.differ[p] = slices.Grow(m.differ[p][:0], n+1)[:n+1]
		clear(m.differ[p])
	}
	return &m.differ
}

// mergeLate is mergeIDs of the rows that have no ids yet. What is left of the part are those that passes added.
func (p part) mergeLate(m *scratch, dict *Dict, of Property, ids []ID, differ, seen []bool) (rest part) {
	rows := len(p.set.noID)
	m.own = slices.Grow(m.own[:0], len(ids))[:len(ids)]
	clear(m.own)
	if p.asks(differ) {
		if err := p.set.late[of].Merge(dict, p.group[:rows], p.first, differ, m.own); err != nil {
			m.note(fmt.Errorf("decode %s of set of %s: %w", of, p.set.span(), err))
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

// asks reports whether there are groups with rows without ids that are not known to differ.
func (p part) asks(differ []bool) bool {
	for g, row := range p.first {
		if row >= 0 && !differ[g] {
			return true
		}
	}
	return false
}

// lastLate gives each group the last id of the rows that have no ids yet, where they have one.
func (p part) lastLate(m *scratch, dict *Dict, of Property, ids []ID) {
	if err := p.set.late[of].Last(dict, p.group[:len(p.set.noID)], ids); err != nil {
		m.note(fmt.Errorf("decode %s of set of %s: %w", of, p.set.span(), err))
	}
}

// firsts are the first row of each of n groups that are of rows as they were built, -1 where there is none.
func (p *part) firsts(n int) []int32 {
	const none = -1
	first, from, rows := slices.Repeat([]int32{none}, n), int32(0), int32(len(p.set.noID))
	for _, to := range p.runs {
		if g := p.group[from]; from < rows && first[g] == none {
			first[g] = from
		}
		from = to
	}
	return first
}
