package passes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// Merge merges sets as built into one over w: the hours of a day, or the clusters or shards of an installation. Rows are
// sorted by cluster, namespace, pod, UID, container and node. Rows of one container in several sets become one: amounts are
// added, and anything else is the newest known value. Assets are merged in the same way and sorted. The sets must be given
// oldest first and do not change; those of several dictionaries are joined. It fails without sets, and for sets outside of w.
func Merge(w allocation.Window, sets []*allocation.Set) (*allocation.Set, error) {
	if len(sets) == 0 {
		return nil, errors.New("merge sets: there are none")
	}
	for _, s := range sets {
		if s.Table().Names != nil {
			return nil, fmt.Errorf("merge sets: passes have made that of %s", s.Window.Text())
		}
		if s.Window.Start.Before(w.Start) || s.Window.End.After(w.End) {
			return nil, fmt.Errorf("merge sets: %s is not within %s", s.Window.Text(), w.Text())
		}
	}
	sets = Join(sets)
	dst := sets[0].Like()
	dst.Window = w
	for _, s := range sets[1:] {
		dst.Reading = nil
		dst.Resolution, dst.ScrapeInterval = max(dst.Resolution, s.Resolution), max(dst.ScrapeInterval, s.ScrapeInterval)
		dst.Rules = min(dst.Rules, s.Rules)
		dst.Incomplete = dst.Incomplete || s.Incomplete
		dst.Warnings = slices.Concat(dst.Warnings, s.Warnings)
	}
	dst.Warnings = allocation.SortWarnings(slices.Clone(dst.Warnings))
	sumAssets(dst, sets)
	return dst, mergeRows(dst, sets, orderRows(sets))
}

// sourceRow is a row of one of several sets.
type sourceRow struct {
	set, row int32
	nth      int32 // position among the rows of its set with the same key, from 0
	special  allocation.Special
	key      [len(allocation.InstanceProperties) + 1]allocation.ID // the instance and the node
}

// compareRows orders rows by the texts of their keys.
func compareRows(d *allocation.Dict, a, b *sourceRow) int {
	for i, id := range a.key {
		if id != b.key[i] {
			return strings.Compare(d.Text(id), d.Text(b.key[i]))
		}
	}
	return cmp.Compare(a.special, b.special)
}

// orderRows returns the rows of the sets, which share a Dict, in sorted order. Rows that become one are adjacent, oldest
// first.
func orderRows(sets []*allocation.Set) []sourceRow {
	d := sets[0].Table().Dict
	runs := make([][]sourceRow, len(sets))
	for i, s := range sets {
		runs[i] = orderedRows(d, s, int32(i))
	}
	for n := len(runs); n > 1; n = len(runs) {
		for i := range n / 2 {
			runs[i] = mergeRuns(d, runs[2*i], runs[2*i+1])
		}
		if n%2 == 1 {
			runs[n/2] = runs[n-1]
		}
		runs = runs[:(n+1)/2]
	}
	rows := runs[0]
	repeated := false
	for i := 1; i < len(rows); i++ {
		if was, r := &rows[i-1], &rows[i]; r.set == was.set && compareRows(d, r, was) == 0 {
			r.nth, repeated = was.nth+1, true
		}
	}
	if repeated {
		// One set may have several rows with one key. The first ones of all sets become one row, then the second ones.
		slices.SortStableFunc(rows, func(a, b sourceRow) int { return cmp.Or(compareRows(d, &a, &b), cmp.Compare(a.nth, b.nth)) })
	}
	return rows
}

// orderedRows returns the rows of the i-th set in sorted order. Stored sets are sorted already.
func orderedRows(d *allocation.Dict, s *allocation.Set, i int32) []sourceRow {
	rows := make([]sourceRow, s.Len())
	sorted := true
	for row, special := range s.Table().Special {
		r := &rows[row]
		*r = sourceRow{set: i, row: int32(row), special: special}
		for k, p := range allocation.InstanceProperties {
			r.key[k] = s.Table().IDs[p][row]
		}
		r.key[len(allocation.InstanceProperties)] = s.Table().IDs[allocation.NodeName][row]
		sorted = sorted && (row == 0 || compareRows(d, &rows[row-1], r) <= 0)
	}
	if !sorted {
		slices.SortStableFunc(rows, func(a, b sourceRow) int { return compareRows(d, &a, &b) })
	}
	return rows
}

// mergeRuns merges two sorted lists of rows. Of equal rows, those of a come first.
func mergeRuns(d *allocation.Dict, a, b []sourceRow) []sourceRow {
	out := make([]sourceRow, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compareRows(d, &a[0], &b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// mergeRows fills the empty set s with the rows; adjacent rows of the same container are summed. It fails if something cannot
// be decoded.
func mergeRows(s *allocation.Set, sets []*allocation.Set, rows []sourceRow) error {
	groups := make([][]int32, len(sets)) // new row of each row
	for i, of := range sets {
		groups[i] = make([]int32, of.Len())
	}
	n := 0
	for i := range rows {
		r := &rows[i]
		if i == 0 || r.nth != rows[i-1].nth || compareRows(s.Table().Dict, r, &rows[i-1]) != 0 {
			s.Table().Special, s.Table().Merged = append(s.Table().Special, r.special), append(s.Table().Merged, allocation.OneRow)
			n++
		}
		groups[r.set][r.row] = int32(n - 1)
	}
	operands := make([]operand, len(sets))
	for i, of := range sets {
		operands[i] = operand{set: of, group: groups[i]}
	}
	s.Table().Unread = unreadOf(operands)
	m := workspace{}
	m.find(operands, n)
	mergeValues(s, operands, n)
	mergeTimes(s, operands, n)
	for p := range s.Table().IDs {
		if !s.Table().Unread.Properties[p] {
			s.Table().IDs[p] = newestIDs(operands, allocation.Property(p), n)
		}
	}
	mergeAllShares(s, operands, n)
	return m.err
}

// newestIDs returns the newest id of a property for each row, 0 if no operand has one.
func newestIDs(operands []operand, p allocation.Property, n int) []allocation.ID {
	ids := make([]allocation.ID, n)
	for _, operand := range operands {
		for row, g := range operand.group {
			if id := operand.set.Table().IDs[p][row]; id != 0 {
				ids[g] = id
			}
		}
	}
	return ids
}
