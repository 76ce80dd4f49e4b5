package passes

import (
	"cmp"

	"github.com/promcost/promcost/allocation"
)

// aggregate merges the rows to which the keys give the same name, and replaces the set by the result.
func aggregate(w *work, o *Options) {
	// An even split also counts the results that a filter removes.
	all := len(w.pools) > 0 && o.ShareSplit == Even
	mask := w.mask(all)
	w.identifyKeys(o, mask)
	groups := &w.workspace.groups
	keys, err := allocation.BindKeys(w.set, o.keys(), o.LabelValue)
	if err != nil {
		w.err = err
		return
	}
	cols := keys.Columns()
	if keys.OfSet() {
		groups.Reset()
	}
	fill, separator := len(o.Aggregate) > 0, cmp.Or(o.Separator, '/')
	outside := w.outside(keys, o)
	if outside != nil {
		cols = append(cols, outside)
	}
	groups.Begin(mask, w.set.Len(), cols, func(dst []byte, row int) []byte {
		if outside != nil && outside[row] != 0 {
			return append(dst, allocation.ExternalName...)
		}
		return keys.AppendName(dst, row, separator, fill)
	})
	if len(w.pools) > 0 {
		w.bears, w.forgone = bearing(w.results(groups.RowGroups(w.set.Len()), groups.Len()), takers(groups.Names(), o.EvenKeys, separator), o.ShareSplit)
		if all && w.keep != nil {
			w.bears = groups.Only(w.stays, w.bears)
		}
	}
	w.countDropped()
	var idle []int32
	if w.idle != nil {
		names, err := w.idleNames(o)
		if err != nil {
			w.err = err
			return
		}
		for _, name := range names {
			idle = append(idle, groups.Add(name))
		}
	}
	group := groups.RowGroups(w.set.Len())
	from := []operand{rowsOf(w.set, group)}
	from[0].runs = groups.Ends()
	if w.idle != nil {
		from = append(from, rowsOf(w.idle, idle))
	}
	dst := w.set.Like()
	newMerger(dst, groups.Len(), w.workspace, from...).byName(groups.Names(), o.AggregatedMetadata)
	w.err = w.workspace.err
	w.rows, w.group = w.Table, group
	w.set, w.Table, w.idle = dst, dst.Table(), nil
}

// outside marks the external rows that lack all keys: their name is __external__. It is nil if there are no external rows to name.
func (w *work) outside(keys allocation.BoundKeys, o *Options) []allocation.ID {
	if !o.External || len(o.Aggregate) == 0 {
		return nil
	}
	marks := make([]allocation.ID, w.set.Len())
	for row, special := range w.Special {
		if special == allocation.External && !keys.Any(row) {
			marks[row] = 1
		}
	}
	return marks
}

// mask returns the rows to be merged, nil for all: the rows that stay, or with all set every row that is not shared.
func (w *work) mask(all bool) []bool {
	if w.taken == nil && (w.keep == nil || all) {
		return nil
	}
	mask := make([]bool, w.set.Len())
	for row := range mask {
		mask[row] = !w.isTaken(row) && (all || w.keep == nil || w.keep[row])
	}
	return mask
}

// results sums the weights of rows by result. The last element stands for rows without a result, which the filter removed.
func (w *work) results(group []int32, n int) []result {
	results := make([]result, n+1)
	for row, weight := range w.weights {
		if w.isTaken(row) {
			continue
		}
		r := &results[group[row]]
		r.all += weight
		r.rowsAll++
		if w.keep == nil || w.keep[row] {
			r.kept += weight
			r.rowsKept++
		}
	}
	return results
}

// countDropped records the money of the rows that the filter removed, for Check. Check only works on sets that were read
// completely.
func (w *work) countDropped() {
	if w.keep == nil || !w.Unread.Whole() {
		return
	}
	var rows []int32
	for row, kept := range w.keep {
		if !kept && !w.isTaken(row) {
			rows = append(rows, int32(row))
		}
	}
	for kind := range allocation.NumSharedKinds {
		for _, col := range kind.Columns() {
			for _, row := range rows {
				w.books.Out[kind] += w.Values[col][row]
			}
		}
	}
	w.recordIdle(rows)
}
