package allocation

import "slices"

// aggregate merges the rows that the keys give one name, and puts the result in the place of the set.
func aggregate(w *work, o *Options) {
	// To split evenly, results have to be counted that a filter takes away.
	all := len(w.pools) > 0 && o.ShareSplit == Even
	mask := w.mask(all)
	w.identify(o, mask)
	bound, cols := w.bindKeys(o)
	group, first := groupRows(mask, w.set.Len(), cols)
	names, alias := nameGroups(bound, first, len(o.Aggregate) > 0)
	alias = append(alias, int32(len(names.list))) // rows that are dropped
	for i, g := range group {
		group[i] = alias[g]
	}
	if len(w.pools) > 0 {
		w.bears, w.forgone = bearing(w.results(group, len(names.list)), o.ShareSplit)
		if all && w.keep != nil {
			w.compact(group, &names)
		}
	}
	w.noteDropped()
	parts := []part{{set: w.set, group: group}}
	if w.idle != nil {
		dropped := int32(len(names.list))
		idle := make([]int32, w.idle.Len())
		for row := range idle {
			idle[row] = names.add(w.idleName(row, o))
		}
		for i, g := range group { // names have been added: rows that are dropped have another number
			if g == dropped {
				group[i] = int32(len(names.list))
			}
		}
		parts = append(parts, part{set: w.idle, group: idle})
	}
	dst := w.set.like()
	dst.mergeWith(w.scratch, parts, names.list, o.AggregatedMetadata)
	w.err = w.scratch.err
	w.rows, w.group = w.set, group
	w.set, w.idle = dst, nil
}

// bindKeys binds the keys that rows are merged by, and gives the columns that decide them.
func (w *work) bindKeys(o *Options) (bound []boundKey, cols [][]ID) {
	keys := o.Aggregate
	if len(keys) == 0 {
		keys = unaggregated()
	}
	bound = make([]boundKey, len(keys))
	for i, k := range keys {
		bound[i] = k.bind(w.set, o.LabelValue)
		cols = append(cols, bound[i].cols...)
	}
	return bound, cols
}

// nameGroups names the groups by their first rows. Different ids may still give one name, as where a value contains a
// slash: a name is one row, and alias is its number for each group.
func nameGroups(bound []boundKey, first []int32, fill bool) (names nameTable, alias []int32) {
	names = nameTable{list: make([]string, 0, len(first)), ids: make(map[string]int32, len(first))}
	alias = make([]int32, len(first), len(first)+1)
	var text []byte
	for g, row := range first {
		text = text[:0]
		for i := range bound {
			if i > 0 {
				text = append(text, '/')
			}
			text = bound[i].appendName(text, int(row), fill)
		}
		alias[g] = names.add(string(text))
	}
	return names, alias
}

// mask is the rows to be merged, nil where all are: those that stay, or all but those that are shared.
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

// results sums what the rows weigh by result; the last, which is no result, is of rows that the filter took away.
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

// compact drops the results that the filter left no row of, and their names.
func (w *work) compact(group []int32, names *nameTable) {
	const gone = -1
	number := slices.Repeat([]int32{gone}, len(names.list)+1)
	for row, g := range group {
		if w.stays(row) {
			number[g] = 0
		}
	}
	left, bears := nameTable{}, w.bears[:0]
	for g, name := range names.list {
		if number[g] != gone {
			number[g] = left.add(name)
			bears = append(bears, w.bears[g])
		}
	}
	for row, g := range group {
		group[row] = int32(len(left.list))
		if w.stays(row) {
			group[row] = number[g]
		}
	}
	*names, w.bears = left, bears
}

// noteDropped notes what goes with the rows that the filter took away. Sets that are not decoded yet are not checked against
// their assets, which most are read without.
func (w *work) noteDropped() {
	if w.keep == nil || w.set.hasLateValues() {
		return
	}
	var rows []int32
	for row, kept := range w.keep {
		if !kept && !w.isTaken(row) {
			rows = append(rows, int32(row))
		}
	}
	for kind, cols := range sharedKinds {
		for _, col := range cols {
			for _, row := range rows {
				w.books.out[kind] += w.set.values[col][row]
			}
		}
	}
	w.noteIdle(rows)
}

// groupRows numbers the rows by the distinct combinations of ids that cols hold for them, in the order they first come.
// first is the first row of each group. Rows that keep drops get the number len(first).
func groupRows(keep []bool, rows int, cols [][]ID) (group, first []int32) {
	group = make([]int32, rows)
	const none = -1
	n := int32(0)
	for i := range group {
		if keep != nil && !keep[i] {
			group[i] = none
		} else {
			group[i], n = 0, 1 // written to before it is read: see touch
		}
	}
	for _, col := range cols {
		n = splitGroups(group, n, col)
	}
	first = make([]int32, 0, n)
	for i, g := range group {
		if g == int32(len(first)) {
			first = append(first, int32(i))
		}
	}
	for i, g := range group {
		if g == none {
			group[i] = n
		}
	}
	return group, first
}

// splitGroups splits the n groups by the ids of col, renumbers them in the order they first come, and returns how many
// there are. Negative groups stay as they are.
func splitGroups(group []int32, n int32, col []ID) int32 {
	next := int32(0)
	if n <= 1 {
		// All rows are in one group: a table by id does.
		number := make([]int32, 0)
		if len(col) > 0 {
			number = make([]int32, slices.Max(col)+1)
		}
		for i, g := range group {
			if g < 0 {
				continue
			}
			if number[col[i]] == 0 {
				next++
				number[col[i]] = next
			}
			group[i] = number[col[i]] - 1
		}
		return next
	}
	number := make(map[uint64]int32, n)
	last, lastNumber := ^uint64(0), int32(0)
	for i, g := range group {
		if g < 0 {
			continue
		}
		key := uint64(g)<<32 | uint64(col[i])
		if key != last {
			have, ok := number[key]
			if !ok {
				have = next
				number[key] = have
				next++
			}
			last, lastNumber = key, have
		}
		group[i] = lastNumber
	}
	return next
}
