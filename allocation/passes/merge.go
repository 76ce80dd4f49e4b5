package passes

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// operand is rows of a set that are merged. group is the new row of each row, or the number of groups for a dropped row.
type operand struct {
	set   *allocation.Set
	group []int32
	runs  []int32 // ends of runs of rows of one group
	first []int32 // first row of each group, -1 if it has none; only set where properties are deferred or missing in all rows
}

// merge fills the empty set s with one row for each name, merged from the rows of the operands in order. metadata keeps the
// labels and annotations that all rows have in common.
func mergeSet(s *allocation.Set, operands []operand, names []string, metadata bool) {
	mergeSetWith(s, &workspace{}, operands, names, metadata)
}

// mergeWith is merge for sets with deferred properties. If one cannot be decoded, the error is in m.
func mergeSetWith(s *allocation.Set, m *workspace, operands []operand, names []string, metadata bool) {
	n := len(names)
	s.Table().Names = names
	if n == 0 {
		s.Table().Names = []string{} // not nil: the set is not as built
	}
	s.Table().Unread = unreadOf(operands)
	m.find(operands, n)
	mergeValues(s, operands, n)
	mergeTimes(s, operands, n)
	differ := m.flags(n)
	ids := make([]allocation.ID, int(allocation.GPUDevices)*(n+1))
	merge := func(p allocation.Property) {
		if !s.Table().Unread.Properties[p] {
			mergeIDs(m, s.Table().Dict, operands, p, ids[:n+1], differ[p])
			s.Table().IDs[p], ids = ids[:n:n], ids[n+1:]
		}
	}
	for p := range allocation.Services {
		merge(p)
	}
	mergeKinds(s, operands, n, differ)
	for p := allocation.Services; p < allocation.GPUDevices; p++ { // mergeMetadata merges these for rows of several containers
		for g, made := range s.Table().Merged {
			differ[p][g] = made == allocation.SeveralInstances
		}
		merge(p)
	}
	if !s.Table().Unread.Properties[allocation.GPUDevices] {
		s.Table().IDs[allocation.GPUDevices], s.Table().Lost.GPUs = mergeGPUs(s.Table().Dict, operands, n)
	}
	mergeMetadata(s, m, operands, n, differ, metadata)
	mergeAllShares(s, operands, n)
}

// columnsAtOnce is how many columns are summed in one loop, so that their sums do not wait for each other.
const columnsAtOnce = 4

// mergeValues sums the columns, a few at a time, and takes the maxima. Columns that are 0 in all rows are skipped and share
// one slice.
func mergeValues(s *allocation.Set, operands []operand, n int) {
	used := usedColumns(s, operands)
	slab := make([]float64, (len(used)+1)*(n+1))
	s.Table().Zero = slab[:n:n]
	touch(slab[n:])
	for c := range s.Table().Values {
		if !s.Table().Unread.Columns[c] {
			s.Table().Values[c] = s.Table().Zero
		}
	}
	for _, c := range used {
		// One more element for dropped rows saves a branch for each value.
		slab = slab[n+1:]
		s.Table().Values[c] = slab[:n+1]
	}
	var sums []allocation.Column
	for _, p := range operands {
		skip := p.trim(int32(n))
		sums = sums[:0]
		for _, c := range used {
			switch {
			case p.set.AllZero(c):
			case c.Maximum():
				maxInto(s.Table().Values[c], p.set.Table().Values[c][skip:], &p)
			default:
				sums = append(sums, c)
			}
		}
		rest := sums
		for ; len(rest) >= columnsAtOnce; rest = rest[columnsAtOnce:] {
			var to, from [columnsAtOnce][]float64
			for k, c := range rest[:columnsAtOnce] {
				to[k], from[k] = s.Table().Values[c], p.set.Table().Values[c][skip:]
			}
			addColumns(&to, &from, &p)
		}
		for _, c := range rest {
			addInto(s.Table().Values[c], p.set.Table().Values[c][skip:], &p)
		}
	}
	for _, c := range used {
		s.Table().Values[c] = s.Table().Values[c][:n:n]
	}
}

// usedColumns returns the columns that were read and are not 0 in all rows of the operands.
func usedColumns(s *allocation.Set, operands []operand) (used []allocation.Column) {
	for c := range allocation.NumColumns {
		if !s.Table().Unread.Columns[c] && slices.ContainsFunc(operands, func(p operand) bool { return !p.set.IsZero(c) }) {
			used = append(used, c)
		}
	}
	return used
}

// mergeTimes gives each row the first start and the last end of the rows merged into it.
func mergeTimes(s *allocation.Set, operands []operand, n int) {
	s.Table().Start, s.Table().End = make([]int64, n+1), make([]int64, n+1)
	seen := make([]bool, n+1)
	for _, p := range operands {
		from := int32(0)
		for _, to := range p.runs {
			g, starts := p.group[from], p.set.Table().Start[from:to]
			ends := p.set.Table().End[from:to][:len(starts)]
			start, end := starts[0], ends[0]
			for i, t := range starts {
				start, end = min(start, t), max(end, ends[i])
			}
			if seen[g] {
				start, end = min(start, s.Table().Start[g]), max(end, s.Table().End[g])
			}
			s.Table().Start[g], s.Table().End[g], seen[g], from = start, end, true, to
		}
	}
	s.Table().Start, s.Table().End = s.Table().Start[:n:n], s.Table().End[:n:n]
}

// mergeIDs fills ids with the value that all rows of a group have, 0 where they differ, and marks groups that differ. It
// skips groups that are marked already.
func mergeIDs(m *workspace, dict *allocation.Dict, operands []operand, p allocation.Property, ids []allocation.ID, differ []bool) {
	m.seen = slices.Grow(m.seen[:0], len(ids))[:len(ids)]
	seen := m.seen
	clear(seen)
	differ[len(differ)-1] = true // dropped rows need no ids
	for _, operand := range operands {
		switch {
		case !slices.Contains(differ, false):
			continue
		case operand.set.Table().Deferred[p] != nil:
			operand = operand.commonDeferred(m, dict, p, ids, differ, seen)
		case operand.set.Missing(p):
			for g, row := range operand.first {
				if row >= 0 {
					differ[g] = differ[g] || ids[g] != 0
					seen[g] = true
				}
			}
			continue
		}
		src, from := operand.set.Table().IDs[p], int32(0)
		src = src[len(src)-len(operand.group):]
		for _, to := range operand.runs {
			g, run := operand.group[from], src[from:to]
			if from = to; differ[g] {
				continue
			}
			id := run[0]
			if !seen[g] {
				ids[g], seen[g] = id, true
			}
			differ[g] = ids[g] != id || slices.ContainsFunc(run, func(other allocation.ID) bool { return other != id })
		}
	}
	for g, d := range differ {
		if d {
			ids[g] = 0
		}
	}
}

// mergeKinds finds what each row was merged from, and its kind. Idle only merges with idle; other special rows may merge with
// workloads.
func mergeKinds(s *allocation.Set, operands []operand, n int, differ *[allocation.NumProperties][]bool) {
	s.Table().Special, s.Table().Merged = make([]allocation.Special, n+1), make([]allocation.Merged, n+1)
	members := make([]int32, n+1)
	for _, p := range operands {
		alike := !slices.ContainsFunc(p.set.Table().Special, func(k allocation.Special) bool { return k != allocation.Workload }) && !slices.ContainsFunc(p.set.Table().Merged, func(m allocation.Merged) bool { return m != allocation.OneRow })
		from := int32(0)
		for _, to := range p.runs {
			g, kind, made := p.group[from], p.set.Table().Special[from], allocation.OneRow
			for row := from; row < to && !alike; row++ {
				kind, made = mergedKind(kind, p.set.Table().Special[row]), max(made, p.set.Table().Merged[row])
			}
			if members[g] > 0 {
				kind = mergedKind(kind, s.Table().Special[g])
			}
			s.Table().Special[g], s.Table().Merged[g] = kind, max(s.Table().Merged[g], made)
			members[g] += to - from
			from = to
		}
	}
	s.Table().Special, s.Table().Merged = s.Table().Special[:n:n], s.Table().Merged[:n:n]
	for g := range n {
		if members[g] > 1 {
			s.Table().Merged[g] = max(s.Table().Merged[g], allocation.OneInstance)
			if s.Table().Special[g] != allocation.Workload || slices.ContainsFunc(allocation.InstanceProperties[:], func(p allocation.Property) bool { return differ[p][g] }) {
				s.Table().Merged[g] = allocation.SeveralInstances
			}
		}
	}
}

// with returns the kind of a row merged from two kinds.
func mergedKind(s allocation.Special, other allocation.Special) allocation.Special {
	if s == allocation.Workload || other == allocation.Workload {
		return allocation.Workload
	}
	return max(s, other) // any will do: it is not a workload
}

// mergeMetadata merges the properties that have rules of their own for rows of several containers.
func mergeMetadata(s *allocation.Set, m *workspace, operands []operand, n int, differ *[allocation.NumProperties][]bool, keep bool) {
	var common [len(allocation.CommonProperties)][]allocation.ID
	if keep {
		workload := func(set *allocation.Set, row int) bool { return set.Table().Special[row] < allocation.Unmounted }
		for k, p := range allocation.CommonProperties {
			if !s.Table().Unread.Properties[p] {
				common[k], _ = commonPairs(s.Table().Dict, operands, p, n, workload)
			}
		}
	}
	mixed := differ[allocation.Namespace] // or the cluster differs
	for g, d := range differ[allocation.Cluster] {
		mixed[g] = mixed[g] || d
	}
	var newest [len(allocation.NewestProperties)][]allocation.ID
	for k, p := range allocation.NewestProperties {
		if !s.Table().Unread.Properties[p] {
			newest[k] = anyIDs(m, s.Table().Dict, operands, p, n, mixed)
		}
	}
	s.Table().Lost.Common, s.Table().Lost.Newest = common, newest
	for g := range n {
		if s.Table().Merged[g] != allocation.SeveralInstances {
			continue
		}
		if !s.Table().Unread.Properties[allocation.Services] {
			s.Table().IDs[allocation.Services][g] = 0
		}
		for k, p := range allocation.CommonProperties {
			if s.Table().Unread.Properties[p] {
				continue
			}
			s.Table().IDs[p][g] = 0
			if keep {
				if mixed[g] {
					common[k][g] = 0
				}
				s.Table().IDs[p][g] = common[k][g]
			}
		}
		for k, p := range allocation.NewestProperties {
			if s.Table().Unread.Properties[p] {
				continue
			}
			if mixed[g] {
				newest[k][g] = 0
			}
			s.Table().IDs[p][g] = newest[k][g]
		}
	}
}

// known returns the ids of a property for merging: for rows that were merged before, their ids in lost.
func knownIDs(s *allocation.Set, p allocation.Property) []allocation.ID {
	var was []allocation.ID
	if k := slices.Index(allocation.CommonProperties[:], p); k >= 0 {
		was = s.Table().Lost.Common[k]
	} else if k := slices.Index(allocation.NewestProperties[:], p); k >= 0 {
		was = s.Table().Lost.Newest[k]
	}
	if was == nil {
		return s.Table().IDs[p]
	}
	return append(slices.Clip(was), s.Table().IDs[p][len(was):]...) // passes may have added rows
}

// anyIDs returns the last id of a property that a row of each group has: the labels of a namespace may change, and the later
// set is right. Groups in skip need no ids.
func anyIDs(m *workspace, dict *allocation.Dict, operands []operand, p allocation.Property, n int, skip []bool) []allocation.ID {
	ids := make([]allocation.ID, n+1)
	for _, operand := range operands {
		rows := 0
		if operand.set.Table().Deferred[p] != nil {
			if rows = len(operand.set.Table().NoID); operand.asks(skip) {
				operand.latestDeferred(m, dict, p, ids)
			}
		} else if operand.set.Missing(p) {
			continue
		}
		known := knownIDs(operand.set, p)[rows:]
		for i, g := range operand.group[rows:] {
			if id := known[i]; id != 0 {
				ids[g] = id
			}
		}
	}
	return ids[:n]
}

// commonPairs returns the entries that all maps of a group have in common, among the rows that count. New maps are added to
// dict. seen says which groups have rows that count.
func commonPairs(dict *allocation.Dict, operands []operand, p allocation.Property, n int, counts func(set *allocation.Set, row int) bool) (ids []allocation.ID, seen []bool) {
	ids, seen = make([]allocation.ID, n+1), make([]bool, n+1)
	known := map[[2]allocation.ID]allocation.ID{}
	for _, operand := range operands {
		from := knownIDs(operand.set, p)
		for i, g := range operand.group {
			id := from[i]
			switch {
			case seen[g] && ids[g] == id || !counts(operand.set, i):
			case !seen[g]:
				ids[g], seen[g] = id, true
			default:
				pair := [2]allocation.ID{ids[g], id}
				both, ok := known[pair]
				if !ok {
					both = dict.Intersect(ids[g], id)
					known[pair] = both
				}
				ids[g] = both
			}
		}
	}
	return ids[:n:n], seen[:n:n]
}

// unreadOf returns what was not read of at least one operand.
func unreadOf(operands []operand) (u allocation.Unread) {
	for i := range operands {
		u.Add(&operands[i].set.Table().Unread)
	}
	return u
}
