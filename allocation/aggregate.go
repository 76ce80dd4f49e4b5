package allocation

import "slices"

// aggregate merges the rows that the keys give one name, and puts the result in the place of the set.
func aggregate(w *work, o *Options) {
	keys := o.Aggregate
	if len(keys) == 0 {
		keys = unaggregated()
	}
	bound := make([]boundKey, len(keys))
	var cols [][]ID
	for i, k := range keys {
		bound[i] = k.bind(w.set, o.LabelValue)
		cols = append(cols, bound[i].cols...)
	}
	group, first := groupRows(w.keep, w.set.Len(), cols)

	// Different ids may still give one name, as where a value contains a slash: a name is one row.
	names := nameTable{list: make([]string, 0, len(first)), ids: make(map[string]int32, len(first))}
	alias := make([]int32, len(first)+1)
	var text []byte
	for g, row := range first {
		text = text[:0]
		for i := range bound {
			if i > 0 {
				text = append(text, '/')
			}
			text = bound[i].appendName(text, int(row), len(o.Aggregate) > 0)
		}
		alias[g] = names.add(string(text))
	}
	parts := []part{{set: w.set, group: group}}
	if w.idle != nil {
		idle := make([]int32, w.idle.Len())
		for row := range idle {
			idle[row] = names.add(w.idleName(row, o))
		}
		parts = append(parts, part{set: w.idle, group: idle})
	}
	alias[len(first)] = int32(len(names.list)) // dropped rows
	for i, g := range group {
		group[i] = alias[g]
	}
	dst := w.set.like()
	dst.dict, dst.partial = w.dict, dst.partial || w.keep != nil
	dst.merge(parts, names.list, o.AggregatedMetadata)
	w.set = dst
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
			n = 1
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
