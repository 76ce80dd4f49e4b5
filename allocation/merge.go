package allocation

import (
	"maps"
	"slices"
)

// merged says what a row was made of.
type merged uint8

const (
	oneRow      merged = iota // a row as it was built: one container in one set
	oneInstance               // one container, from several sets
	several                   // different containers
)

// instance are the properties that tell containers apart.
var instance = [...]Property{Cluster, Namespace, Pod, PodUID, Container}

// part is rows to be merged: group is the new row of each, or the number of groups for a row that is dropped.
type part struct {
	set   *Set
	group []int32
	has   []bool  // groups that have rows, where properties are missing in all of them; see find
	first []int32 // the first row of each group, -1 where it has none; where properties have no ids yet
	runs  []int32 // where runs of rows of one group end, if they are long; nil where not
}

// find notes which of n groups have rows.
func (p *part) find(n int) {
	if len(p.set.noID) == 0 {
		return
	}
	p.has = make([]bool, n+1)
	for _, g := range p.group {
		p.has[g] = true
	}
	if p.set.hasLate() {
		p.first = p.firsts(n + 1)
	}
}

// merge fills the empty set s with a row for each name, merged from the rows of the parts in their order. metadata keeps
// the labels and annotations that all have in common.
func (s *Set) merge(parts []part, names []string, metadata bool) {
	s.mergeWith(&scratch{}, parts, names, metadata)
}

// mergeWith is merge of sets that may not be decoded yet: what cannot be is an error of m.
func (s *Set) mergeWith(m *scratch, parts []part, names []string, metadata bool) {
	n := len(names)
	s.names = names
	if n == 0 {
		s.names = []string{} // it is not as it was built
	}
	for i := range parts {
		parts[i].find(n)
	}
	s.mergeValues(m, parts, n)
	s.mergeTimes(parts, n)
	var differ [NumProperties][]bool
	gone := m.gone.of(s.Window, names)
	for p := range Services {
		s.ids[p], differ[p] = mergeIDs(m, s.dict, parts, p, n, func(g int) bool { return gone != nil && gone[g].has(p) })
	}
	s.mergeKinds(parts, n, &differ)
	for p := Services; p < GPUDevices; p++ { // mergeMetadata settles those of several containers
		s.ids[p], differ[p] = mergeIDs(m, s.dict, parts, p, n, func(g int) bool { return s.merged[g] == several })
	}
	m.gone.learn(s, gone)
	s.ids[GPUDevices], s.lost.gpus = mergeGPUs(s.dict, parts, n)
	s.mergeMetadata(m, parts, n, &differ, metadata)
	s.mergeAllShares(parts, n)
}

// lanes is how many columns are summed at once: their sums do not wait for each other.
const lanes = 4

// mergeValues sums the columns, some at a time; maxima are kept. What is 0 in all rows is not looked at, and shares its memory.
func (s *Set) mergeValues(m *scratch, parts []part, n int) {
	used := usedColumns(parts)
	slab := make([]float64, (len(used)+1)*(n+1))
	s.zero = slab[:n:n]
	touch(slab[n:])
	for c := range s.values {
		s.values[c] = s.zero
	}
	for _, c := range used {
		// One more for the dropped rows saves a branch a value.
		slab = slab[n+1:]
		s.values[c] = slab[:n+1]
	}
	var sums []Column
	for _, p := range parts {
		skip := p.trim(int32(n))
		p.findRuns()
		sums = sums[:0]
		for _, c := range used {
			switch {
			case p.set.allZero(c):
			case columns[c].max:
				maxInto(s.values[c], m.lane(0, p.set, c, skip, len(p.group)), &p)
			default:
				sums = append(sums, c)
			}
		}
		rest := sums
		for ; len(rest) >= lanes; rest = rest[lanes:] {
			var to, from [lanes][]float64
			for k, c := range rest[:lanes] {
				to[k], from[k] = s.values[c], m.lane(k, p.set, c, skip, len(p.group))
			}
			addLanes(&to, &from, &p)
		}
		for _, c := range rest {
			addInto(s.values[c], m.lane(0, p.set, c, skip, len(p.group)), &p)
		}
	}
	for _, c := range used {
		s.values[c] = s.values[c][:n:n]
	}
}

// usedColumns are the columns that are not known to be 0 in all rows of the parts.
func usedColumns(parts []part) (used []Column) {
	for c := range NumColumns {
		if slices.ContainsFunc(parts, func(p part) bool { return !p.set.isZero(c) }) {
			used = append(used, c)
		}
	}
	return used
}

// mergeTimes makes each row last from the first start to the last end of what it was merged from.
func (s *Set) mergeTimes(parts []part, n int) {
	s.start, s.end = make([]int64, n+1), make([]int64, n+1)
	seen := make([]bool, n+1)
	for _, p := range parts {
		for i, g := range p.group {
			start, end := p.set.start[i], p.set.end[i]
			if seen[g] {
				start, end = min(start, s.start[g]), max(end, s.end[g])
			}
			s.start[g], s.end[g], seen[g] = start, end, true
		}
	}
	s.start, s.end = s.start[:n:n], s.end[:n:n]
}

// mergeIDs is the ids of a property that all members of a group have, 0 where they differ, and where they do. Those of groups
// that are apart are taken to differ.
func mergeIDs(m *scratch, dict *Dict, parts []part, p Property, n int, apart func(g int) bool) (ids []ID, differ []bool) {
	ids, differ = make([]ID, n+1), make([]bool, n+1)
	seen := make([]bool, n+1)
	differ[n] = true // nobody asks for those that are dropped
	for g := range n {
		differ[g] = apart(g)
	}
	for _, part := range parts {
		switch {
		case !slices.Contains(differ, false):
			continue
		case part.set.late[p] != nil:
			part = part.mergeLate(m, dict, p, ids, differ, seen)
		case part.set.noIDs(p):
			for g, has := range part.has {
				if has && ids[g] != 0 {
					differ[g] = true
				}
				seen[g] = seen[g] || has
			}
			continue
		}
		src := part.set.ids[p]
		src = src[len(src)-len(part.group):]
		for i, g := range part.group {
			if !seen[g] {
				ids[g], seen[g] = src[i], true
			} else if ids[g] != src[i] {
				differ[g] = true
			}
		}
	}
	for g, d := range differ {
		if d {
			ids[g] = 0
		}
	}
	return ids[:n:n], differ[:n:n]
}

// mergeKinds finds out what each row was made of, and its kind: idle only merges with idle, other special rows
// may join workloads.
func (s *Set) mergeKinds(parts []part, n int, differ *[NumProperties][]bool) {
	s.special, s.merged = make([]Special, n+1), make([]merged, n+1)
	members := make([]int32, n+1)
	for _, p := range parts {
		for i, g := range p.group {
			switch was, kind := s.special[g], p.set.special[i]; {
			case members[g] == 0:
				s.special[g] = kind
			case was == Workload || kind == Workload:
				s.special[g] = Workload
			default:
				s.special[g] = max(was, kind) // which matters little: it is no workload
			}
			s.merged[g] = max(s.merged[g], p.set.merged[i])
			members[g]++
		}
	}
	s.special, s.merged = s.special[:n:n], s.merged[:n:n]
	for g := range n {
		if members[g] > 1 {
			s.merged[g] = max(s.merged[g], oneInstance)
			if s.special[g] != Workload || slices.ContainsFunc(instance[:], func(p Property) bool { return differ[p][g] }) {
				s.merged[g] = several
			}
		}
	}
}

// commonProperties are those of which rows of several containers keep what all have, newestProperties those of which they keep
// the newest.
var (
	commonProperties = [...]Property{Labels, Annotations}
	newestProperties = [...]Property{NamespaceLabels, NamespaceAnnotations}
)

// mergeMetadata settles the properties that do not simply stay where they agree, for rows of several containers.
func (s *Set) mergeMetadata(m *scratch, parts []part, n int, differ *[NumProperties][]bool, keep bool) {
	var common [len(commonProperties)][]ID
	if keep {
		workload := func(set *Set, row int) bool { return set.special[row] < Unmounted }
		for k, p := range commonProperties {
			common[k], _ = commonPairs(s.dict, parts, p, n, workload)
		}
	}
	var newest [len(newestProperties)][]ID
	for k, p := range newestProperties {
		newest[k] = anyIDs(m, s.dict, parts, p, n)
	}
	s.lost.common, s.lost.newest = common, newest
	for g := range n {
		if s.merged[g] != several {
			continue
		}
		agree := !differ[Namespace][g] && !differ[Cluster][g]
		s.ids[Services][g] = 0
		for k, p := range commonProperties {
			s.ids[p][g] = 0
			if keep {
				if !agree {
					common[k][g] = 0
				}
				s.ids[p][g] = common[k][g]
			}
		}
		for k, p := range newestProperties {
			if !agree {
				newest[k][g] = 0
			}
			s.ids[p][g] = newest[k][g]
		}
	}
}

// lost is what a set of merged rows would have shown of a row if it were of several containers, or does not show because
// they differ: so that it can be merged with further ones as if all were merged at once.
type lost struct {
	common [len(commonProperties)][]ID // what all that count have of these; nil where they are not kept
	newest [len(newestProperties)][]ID // the last there is of these
	gpus   []bool                      // rows that have GPUs
}

// known are the ids of a property to be merged: those of rows that were merged already are as they were then.
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

// anyIDs is the last id of a property that any member of a group has: what a namespace is labeled may change, and the
// later set is right.
func anyIDs(m *scratch, dict *Dict, parts []part, p Property, n int) []ID {
	ids := make([]ID, n+1)
	for _, part := range parts {
		rows := 0
		if part.set.late[p] != nil {
			rows = len(part.set.noID)
			part.lastLate(m, dict, p, ids)
		} else if part.set.noIDs(p) {
			continue
		}
		known := part.set.known(p)[rows:]
		for i, g := range part.group[rows:] {
			if id := known[i]; id != 0 {
				ids[g] = id
			}
		}
	}
	return ids[:n]
}

// commonPairs is the map of what all members of a group have in common that count. New maps are added to dict.
// seen says of which groups some count.
func commonPairs(dict *Dict, parts []part, p Property, n int, counts func(set *Set, row int) bool) (ids []ID, seen []bool) {
	ids, seen = make([]ID, n+1), make([]bool, n+1)
	known := map[[2]ID]ID{}
	for _, part := range parts {
		from := part.set.known(p)
		for i, g := range part.group {
			id := from[i]
			switch {
			case seen[g] && ids[g] == id || !counts(part.set, i):
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

// intersect is the map of the pairs that the maps a and b both have.
func (d *Dict) intersect(a, b ID) ID {
	var both []Pair
	for _, p := range d.Map(a) {
		if v, ok := d.Lookup(b, p.Key); ok && v == p.Value {
			both = append(both, p)
		}
	}
	return d.pairs.intern(both)
}

// clone is a Dict with all that d holds, under the same ids; adding to it leaves d alone.
func (d *Dict) clone() *Dict {
	out := NewDict()
	out.strs, out.strID = slices.Clone(d.strs), maps.Clone(d.strID)
	out.lists.rows, out.lists.ids = slices.Clone(d.lists.rows), maps.Clone(d.lists.ids)
	out.pairs.rows, out.pairs.ids = slices.Clone(d.pairs.rows), maps.Clone(d.pairs.ids)
	return out
}
