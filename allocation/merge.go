package allocation

import "slices"

// merged says what a row was merged from.
type merged uint8

const (
	oneRow      merged = iota // a row as it was built: one container in one set
	oneInstance               // one container in several sets
	several                   // several containers
)

// InstanceProperties are the properties that identify a container.
var InstanceProperties = [...]Property{Cluster, Namespace, Pod, PodUID, Container}

// operand is rows of a set that are merged. group is the new row of each row, or the number of groups for a dropped row.
type operand struct {
	set   *Set
	group []int32
	runs  []int32 // ends of runs of rows of one group
	first []int32 // first row of each group, -1 if it has none; only set where properties are deferred or missing in all rows
}

// merge fills the empty set s with one row for each name, merged from the rows of the operands in order. metadata keeps the
// labels and annotations that all rows have in common.
func (s *Set) merge(operands []operand, names []string, metadata bool) {
	s.mergeWith(&workspace{}, operands, names, metadata)
}

// mergeWith is merge for sets with deferred properties. If one cannot be decoded, the error is in m.
func (s *Set) mergeWith(m *workspace, operands []operand, names []string, metadata bool) {
	n := len(names)
	s.names = names
	if n == 0 {
		s.names = []string{} // not nil: the set is not as built
	}
	s.unread = unreadOf(operands)
	m.find(operands, n)
	s.mergeValues(operands, n)
	s.mergeTimes(operands, n)
	differ := m.flags(n)
	ids := make([]ID, int(GPUDevices)*(n+1))
	merge := func(p Property) {
		if !s.unread.properties[p] {
			mergeIDs(m, s.dict, operands, p, ids[:n+1], differ[p])
			s.ids[p], ids = ids[:n:n], ids[n+1:]
		}
	}
	for p := range Services {
		merge(p)
	}
	s.mergeKinds(operands, n, differ)
	for p := Services; p < GPUDevices; p++ { // mergeMetadata merges these for rows of several containers
		for g, made := range s.merged {
			differ[p][g] = made == several
		}
		merge(p)
	}
	if !s.unread.properties[GPUDevices] {
		s.ids[GPUDevices], s.lost.gpus = mergeGPUs(s.dict, operands, n)
	}
	s.mergeMetadata(m, operands, n, differ, metadata)
	s.mergeAllShares(operands, n)
}

// columnsAtOnce is how many columns are summed in one loop, so that their sums do not wait for each other.
const columnsAtOnce = 4

// mergeValues sums the columns, a few at a time, and takes the maxima. Columns that are 0 in all rows are skipped and share
// one slice.
func (s *Set) mergeValues(operands []operand, n int) {
	used := s.usedColumns(operands)
	slab := make([]float64, (len(used)+1)*(n+1))
	s.zero = slab[:n:n]
	touch(slab[n:])
	for c := range s.values {
		if !s.unread.columns[c] {
			s.values[c] = s.zero
		}
	}
	for _, c := range used {
		// One more element for dropped rows saves a branch for each value.
		slab = slab[n+1:]
		s.values[c] = slab[:n+1]
	}
	var sums []Column
	for _, p := range operands {
		skip := p.trim(int32(n))
		sums = sums[:0]
		for _, c := range used {
			switch {
			case p.set.AllZero(c):
			case columns[c].max:
				maxInto(s.values[c], p.set.values[c][skip:], &p)
			default:
				sums = append(sums, c)
			}
		}
		rest := sums
		for ; len(rest) >= columnsAtOnce; rest = rest[columnsAtOnce:] {
			var to, from [columnsAtOnce][]float64
			for k, c := range rest[:columnsAtOnce] {
				to[k], from[k] = s.values[c], p.set.values[c][skip:]
			}
			addColumns(&to, &from, &p)
		}
		for _, c := range rest {
			addInto(s.values[c], p.set.values[c][skip:], &p)
		}
	}
	for _, c := range used {
		s.values[c] = s.values[c][:n:n]
	}
}

// usedColumns returns the columns that were read and are not 0 in all rows of the operands.
func (s *Set) usedColumns(operands []operand) (used []Column) {
	for c := range NumColumns {
		if !s.unread.columns[c] && slices.ContainsFunc(operands, func(p operand) bool { return !p.set.isZero(c) }) {
			used = append(used, c)
		}
	}
	return used
}

// mergeTimes gives each row the first start and the last end of the rows merged into it.
func (s *Set) mergeTimes(operands []operand, n int) {
	s.start, s.end = make([]int64, n+1), make([]int64, n+1)
	seen := make([]bool, n+1)
	for _, p := range operands {
		from := int32(0)
		for _, to := range p.runs {
			g, starts := p.group[from], p.set.start[from:to]
			ends := p.set.end[from:to][:len(starts)]
			start, end := starts[0], ends[0]
			for i, t := range starts {
				start, end = min(start, t), max(end, ends[i])
			}
			if seen[g] {
				start, end = min(start, s.start[g]), max(end, s.end[g])
			}
			s.start[g], s.end[g], seen[g], from = start, end, true, to
		}
	}
	s.start, s.end = s.start[:n:n], s.end[:n:n]
}

// mergeIDs fills ids with the value that all rows of a group have, 0 where they differ, and marks groups that differ. It
// skips groups that are marked already.
func mergeIDs(m *workspace, dict *Dict, operands []operand, p Property, ids []ID, differ []bool) {
	m.seen = slices.Grow(m.seen[:0], len(ids))[:len(ids)]
	seen := m.seen
	clear(seen)
	differ[len(differ)-1] = true // dropped rows need no ids
	for _, operand := range operands {
		switch {
		case !slices.Contains(differ, false):
			continue
		case operand.set.deferred[p] != nil:
			operand = operand.commonDeferred(m, dict, p, ids, differ, seen)
		case operand.set.noIDs(p):
			for g, row := range operand.first {
				if row >= 0 {
					differ[g] = differ[g] || ids[g] != 0
					seen[g] = true
				}
			}
			continue
		}
		src, from := operand.set.ids[p], int32(0)
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
			differ[g] = ids[g] != id || slices.ContainsFunc(run, func(other ID) bool { return other != id })
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
func (s *Set) mergeKinds(operands []operand, n int, differ *[NumProperties][]bool) {
	s.special, s.merged = make([]Special, n+1), make([]merged, n+1)
	members := make([]int32, n+1)
	for _, p := range operands {
		alike := !slices.ContainsFunc(p.set.special, func(k Special) bool { return k != Workload }) && !slices.ContainsFunc(p.set.merged, func(m merged) bool { return m != oneRow })
		from := int32(0)
		for _, to := range p.runs {
			g, kind, made := p.group[from], p.set.special[from], oneRow
			for row := from; row < to && !alike; row++ {
				kind, made = kind.with(p.set.special[row]), max(made, p.set.merged[row])
			}
			if members[g] > 0 {
				kind = kind.with(s.special[g])
			}
			s.special[g], s.merged[g] = kind, max(s.merged[g], made)
			members[g] += to - from
			from = to
		}
	}
	s.special, s.merged = s.special[:n:n], s.merged[:n:n]
	for g := range n {
		if members[g] > 1 {
			s.merged[g] = max(s.merged[g], oneInstance)
			if s.special[g] != Workload || slices.ContainsFunc(InstanceProperties[:], func(p Property) bool { return differ[p][g] }) {
				s.merged[g] = several
			}
		}
	}
}

// with returns the kind of a row merged from two kinds.
func (s Special) with(other Special) Special {
	if s == Workload || other == Workload {
		return Workload
	}
	return max(s, other) // any will do: it is not a workload
}

// When rows of several containers are merged, they keep what they have in common of commonProperties, and the newest value of
// newestProperties.
var (
	commonProperties = [...]Property{Labels, Annotations}
	newestProperties = [...]Property{NamespaceLabels, NamespaceAnnotations}
)

// mergeMetadata merges the properties that have rules of their own for rows of several containers.
func (s *Set) mergeMetadata(m *workspace, operands []operand, n int, differ *[NumProperties][]bool, keep bool) {
	var common [len(commonProperties)][]ID
	if keep {
		workload := func(set *Set, row int) bool { return set.special[row] < Unmounted }
		for k, p := range commonProperties {
			if !s.unread.properties[p] {
				common[k], _ = commonPairs(s.dict, operands, p, n, workload)
			}
		}
	}
	mixed := differ[Namespace] // or the cluster differs
	for g, d := range differ[Cluster] {
		mixed[g] = mixed[g] || d
	}
	var newest [len(newestProperties)][]ID
	for k, p := range newestProperties {
		if !s.unread.properties[p] {
			newest[k] = anyIDs(m, s.dict, operands, p, n, mixed)
		}
	}
	s.lost.common, s.lost.newest = common, newest
	for g := range n {
		if s.merged[g] != several {
			continue
		}
		if !s.unread.properties[Services] {
			s.ids[Services][g] = 0
		}
		for k, p := range commonProperties {
			if s.unread.properties[p] {
				continue
			}
			s.ids[p][g] = 0
			if keep {
				if mixed[g] {
					common[k][g] = 0
				}
				s.ids[p][g] = common[k][g]
			}
		}
		for k, p := range newestProperties {
			if s.unread.properties[p] {
				continue
			}
			if mixed[g] {
				newest[k][g] = 0
			}
			s.ids[p][g] = newest[k][g]
		}
	}
}

// lost is what a set of merged rows does not show but needs for further merging: the values that a row would have shown as a
// row of several containers. With it, merging in steps gives the same as merging all at once.
type lost struct {
	common [len(commonProperties)][]ID // common values of all rows that count; nil where metadata is not kept
	newest [len(newestProperties)][]ID // newest values
	gpus   []bool                      // rows with GPUs
}

// known returns the ids of a property for merging: for rows that were merged before, their ids in lost.
func (s *Set) known(p Property) []ID {
	var was []ID
	if k := slices.Index(commonProperties[:], p); k >= 0 {
		was = s.lost.common[k]
	} else if k := slices.Index(newestProperties[:], p); k >= 0 {
		was = s.lost.newest[k]
	}
	if was == nil {
		return s.ids[p]
	}
	return append(slices.Clip(was), s.ids[p][len(was):]...) // passes may have added rows
}

// anyIDs returns the last id of a property that a row of each group has: the labels of a namespace may change, and the later
// set is right. Groups in skip need no ids.
func anyIDs(m *workspace, dict *Dict, operands []operand, p Property, n int, skip []bool) []ID {
	ids := make([]ID, n+1)
	for _, operand := range operands {
		rows := 0
		if operand.set.deferred[p] != nil {
			if rows = len(operand.set.noID); operand.asks(skip) {
				operand.latestDeferred(m, dict, p, ids)
			}
		} else if operand.set.noIDs(p) {
			continue
		}
		known := operand.set.known(p)[rows:]
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
func commonPairs(dict *Dict, operands []operand, p Property, n int, counts func(set *Set, row int) bool) (ids []ID, seen []bool) {
	ids, seen = make([]ID, n+1), make([]bool, n+1)
	known := map[[2]ID]ID{}
	for _, operand := range operands {
		from := operand.set.known(p)
		for i, g := range operand.group {
			id := from[i]
			switch {
			case seen[g] && ids[g] == id || !counts(operand.set, i):
			case !seen[g]:
				ids[g], seen[g] = id, true
			default:
				pair := [2]ID{ids[g], id}
				both, ok := known[pair]
				if !ok {
					both = dict.intersect(ids[g], id)
					known[pair] = both
				}
				ids[g] = both
			}
		}
	}
	return ids[:n:n], seen[:n:n]
}

// unreadOf returns what was not read of at least one operand.
func unreadOf(operands []operand) (u unread) {
	for i := range operands {
		u.add(&operands[i].set.unread)
	}
	return u
}
