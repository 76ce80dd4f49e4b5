package allocation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Merge merges sets as built into one over w: the hours of a day, or the clusters or shards of an installation. Rows are
// sorted by cluster, namespace, pod, UID, container and node. Rows of one container in several sets become one: amounts are
// added, and anything else is the newest known value. Assets are merged in the same way and sorted. The sets must be given
// oldest first and do not change; those of several dictionaries are joined. It fails without sets, and for sets outside of w.
func Merge(w Window, sets []*Set) (*Set, error) {
	if len(sets) == 0 {
		return nil, errors.New("merge sets: there are none")
	}
	for _, s := range sets {
		if s.names != nil {
			return nil, fmt.Errorf("merge sets: passes have made that of %s", s.span())
		}
		if s.Window.Start.Before(w.Start) || s.Window.End.After(w.End) {
			return nil, fmt.Errorf("merge sets: %s is not within %s", s.span(), NewSet(w, nil).span())
		}
	}
	sets = Join(sets)
	dst := sets[0].like()
	dst.Window = w
	for _, s := range sets[1:] {
		dst.Reading = nil
		dst.Resolution, dst.ScrapeInterval = max(dst.Resolution, s.Resolution), max(dst.ScrapeInterval, s.ScrapeInterval)
		dst.Rules = min(dst.Rules, s.Rules)
		dst.Incomplete = dst.Incomplete || s.Incomplete
		dst.Warnings = slices.Concat(dst.Warnings, s.Warnings)
	}
	dst.Warnings = SortWarnings(slices.Clone(dst.Warnings))
	dst.sumAssets(sets)
	return dst, dst.mergeRows(sets, orderRows(sets))
}

// sourceRow is a row of one of several sets.
type sourceRow struct {
	set, row int32
	nth      int32 // position among the rows of its set with the same key, from 0
	special  Special
	key      [len(InstanceProperties) + 1]ID // the instance and the node
}

// compareRows orders rows by the texts of their keys.
func (d *Dict) compareRows(a, b *sourceRow) int {
	for i, id := range a.key {
		if id != b.key[i] {
			return strings.Compare(d.strs[id], d.strs[b.key[i]])
		}
	}
	return cmp.Compare(a.special, b.special)
}

// orderRows returns the rows of the sets, which share a Dict, in sorted order. Rows that become one are adjacent, oldest
// first.
func orderRows(sets []*Set) []sourceRow {
	d := sets[0].dict
	runs := make([][]sourceRow, len(sets))
	for i, s := range sets {
		runs[i] = d.orderedRows(s, int32(i))
	}
	for n := len(runs); n > 1; n = len(runs) {
		for i := range n / 2 {
			runs[i] = d.mergeRuns(runs[2*i], runs[2*i+1])
		}
		if n%2 == 1 {
			runs[n/2] = runs[n-1]
		}
		runs = runs[:(n+1)/2]
	}
	rows := runs[0]
	repeated := false
	for i := 1; i < len(rows); i++ {
		if was, r := &rows[i-1], &rows[i]; r.set == was.set && d.compareRows(r, was) == 0 {
			r.nth, repeated = was.nth+1, true
		}
	}
	if repeated {
		// One set may have several rows with one key. The first ones of all sets become one row, then the second ones.
		slices.SortStableFunc(rows, func(a, b sourceRow) int { return cmp.Or(d.compareRows(&a, &b), cmp.Compare(a.nth, b.nth)) })
	}
	return rows
}

// orderedRows returns the rows of the i-th set in sorted order. Stored sets are sorted already.
func (d *Dict) orderedRows(s *Set, i int32) []sourceRow {
	rows := make([]sourceRow, s.Len())
	sorted := true
	for row, special := range s.special {
		r := &rows[row]
		*r = sourceRow{set: i, row: int32(row), special: special}
		for k, p := range InstanceProperties {
			r.key[k] = s.ids[p][row]
		}
		r.key[len(InstanceProperties)] = s.ids[NodeName][row]
		sorted = sorted && (row == 0 || d.compareRows(&rows[row-1], r) <= 0)
	}
	if !sorted {
		slices.SortStableFunc(rows, func(a, b sourceRow) int { return d.compareRows(&a, &b) })
	}
	return rows
}

// mergeRuns merges two sorted lists of rows. Of equal rows, those of a come first.
func (d *Dict) mergeRuns(a, b []sourceRow) []sourceRow {
	out := make([]sourceRow, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if d.compareRows(&a[0], &b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// mergeRows fills the empty set s with the rows; adjacent rows of the same container are summed. It fails if something cannot
// be decoded.
func (s *Set) mergeRows(sets []*Set, rows []sourceRow) error {
	groups := make([][]int32, len(sets)) // new row of each row
	for i, of := range sets {
		groups[i] = make([]int32, of.Len())
	}
	n := 0
	for i := range rows {
		r := &rows[i]
		if i == 0 || r.nth != rows[i-1].nth || s.dict.compareRows(r, &rows[i-1]) != 0 {
			s.special, s.merged = append(s.special, r.special), append(s.merged, oneRow)
			n++
		}
		groups[r.set][r.row] = int32(n - 1)
	}
	operands := make([]operand, len(sets))
	for i, of := range sets {
		operands[i] = operand{set: of, group: groups[i]}
	}
	s.unread = unreadOf(operands)
	m := workspace{}
	m.find(operands, n)
	s.mergeValues(operands, n)
	s.mergeTimes(operands, n)
	for p := range s.ids {
		if !s.unread.properties[p] {
			s.ids[p] = newestIDs(operands, Property(p), n)
		}
	}
	s.mergeAllShares(operands, n)
	return m.err
}

// newestIDs returns the newest id of a property for each row, 0 if no operand has one.
func newestIDs(operands []operand, p Property, n int) []ID {
	ids := make([]ID, n)
	for _, operand := range operands {
		for row, g := range operand.group {
			if id := operand.set.ids[p][row]; id != 0 {
				ids[g] = id
			}
		}
	}
	return ids
}
