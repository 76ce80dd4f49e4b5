package passes

import (
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/grouping"
)

// operand is the rows of a set that are merged. group is the row of the result that each row goes to, or the number of rows of
// the result for a row that is dropped.
type operand struct {
	*allocation.Table
	window allocation.Window
	group  []int32
	runs   []int32 // ends of runs of rows of one group
	first  []int32 // first row of each group, -1 if it has none; only set where properties are deferred or missing in all rows
}

// rowsOf returns the rows of a set as an operand.
func rowsOf(s *allocation.Set, group []int32) operand {
	return operand{Table: s.Table(), window: s.Window, group: group}
}

// merger makes a table of rows that are merged from the rows of other tables. All merging and summing of rows goes through
// a merger: its caller says which rows become one, the merger says how. Amounts are added by sum, always in the order of the
// operands and of their rows; a property becomes what all rows have (common), or the newest known value (newest).
type merger struct {
	*allocation.Table // the result
	from              []operand
	n                 int // rows of the result
	space             *workspace
}

// newMerger returns a merger that fills the empty set s with n rows. Errors of decoding are kept in the workspace.
func newMerger(s *allocation.Set, n int, space *workspace, from ...operand) *merger {
	m := &merger{Table: s.Table(), from: from, n: n, space: space}
	for i := range from {
		m.Unread.Add(&from[i].Unread)
	}
	m.findRuns()
	return m
}

// findRuns finds the runs of rows of one group, and the first row of each group.
func (m *merger) findRuns() {
	runs := m.space.runs[:0]
	for i := range m.from {
		p := &m.from[i]
		if p.runs == nil {
			from := len(runs)
			for row := 1; row < len(p.group); row++ {
				if p.group[row] != p.group[row-1] {
					runs = append(runs, int32(row))
				}
			}
			if len(p.group) > 0 {
				runs = append(runs, int32(len(p.group)))
			}
			p.runs = runs[from:len(runs):len(runs)]
		}
		if len(p.NoID) > 0 {
			p.first = p.firsts(m.n + 1)
		}
	}
	m.space.runs = runs
}

// firsts returns the first row of each of n groups among the rows as built, -1 for a group without any.
func (p *operand) firsts(n int) []int32 {
	const none = -1
	first, from, rows := slices.Repeat([]int32{none}, n), int32(0), int32(len(p.NoID))
	for _, to := range p.runs {
		if g := p.group[from]; from < rows && first[g] == none {
			first[g] = from
		}
		from = to
	}
	return first
}

// byName merges the rows of operands into one for each name. metadata keeps the labels and annotations that all rows have in
// common.
func (m *merger) byName(names []string, metadata bool) {
	if m.Names = names; len(names) == 0 {
		m.Names = []string{} // not nil: the set is not as built
	}
	m.sum()
	differ := m.space.flags(m.n)
	for p := range allocation.Services {
		m.common(p, differ[p])
	}
	m.kinds(differ)
	for p := allocation.Services; p < allocation.GPUDevices; p++ { // metadata merges these for rows of several containers
		for g, made := range m.Merged {
			differ[p][g] = made == allocation.SeveralInstances
		}
		m.common(p, differ[p])
	}
	m.gpus()
	m.metadata(differ, metadata)
}

// common gives each row the value of a property that all rows of its group have, none where they differ, and marks groups that
// differ. It skips groups that are marked already.
func (m *merger) common(p allocation.Property, differ []bool) {
	if m.Unread.Properties[p] {
		return
	}
	ids, hasRows := make([]allocation.ID, m.n+1), m.space.noRows(m.n)
	differ[m.n] = true // dropped rows need no ids
	for _, from := range m.from {
		switch {
		case !slices.Contains(differ, false):
			continue
		case from.Deferred[p] != nil:
			from = m.commonDeferred(from, p, ids, differ, hasRows)
		case from.Missing(p):
			for g, row := range from.first {
				if row >= 0 {
					differ[g] = differ[g] || ids[g] != 0
					hasRows[g] = true
				}
			}
			continue
		}
		src, start := from.IDs[p], int32(0)
		src = src[len(src)-len(from.group):]
		for _, end := range from.runs {
			g, run := from.group[start], src[start:end]
			if start = end; differ[g] {
				continue
			}
			id := run[0]
			if !hasRows[g] {
				ids[g], hasRows[g] = id, true
			}
			differ[g] = ids[g] != id || slices.ContainsFunc(run, func(other allocation.ID) bool { return other != id })
		}
	}
	for g, d := range differ {
		if d {
			ids[g] = 0
		}
	}
	m.IDs[p] = ids[:m.n:m.n]
}

// commonDeferred is common for the rows of an operand with deferred values. It returns the other rows, which passes added.
func (m *merger) commonDeferred(from operand, p allocation.Property, ids []allocation.ID, differ, hasRows []bool) (rest operand) {
	rows := len(from.NoID)
	own := m.space.noIDs(m.n)
	if from.undecided(differ) {
		if err := from.Deferred[p].Common(m.Dict, from.group[:rows], from.first, differ, own); err != nil {
			m.space.fail(undecoded(p, from.window, err))
		}
	}
	for g, row := range from.first {
		switch {
		case row < 0 || differ[g]:
		case !hasRows[g]:
			ids[g], hasRows[g] = own[g], true
		default:
			differ[g] = ids[g] != own[g]
		}
	}
	return from.after(rows)
}

// undecoded returns the error for a property that cannot be decoded.
func undecoded(p allocation.Property, w allocation.Window, err error) error {
	return fmt.Errorf("decode %s of set of %s: %w", p, w.Text(), err)
}

// undecided reports whether some group has deferred rows that are not known to differ.
func (p *operand) undecided(differ []bool) bool {
	for g, row := range p.first {
		if row >= 0 && !differ[g] {
			return true
		}
	}
	return false
}

// newest returns the last value of a property that a row of each group has, 0 if none has one. Groups in skip need no value.
func (m *merger) newest(p allocation.Property, skip []bool) []allocation.ID {
	ids := make([]allocation.ID, m.n+1)
	for _, from := range m.from {
		rows := 0
		if from.Deferred[p] != nil {
			if rows = len(from.NoID); from.undecided(skip) {
				if err := from.Deferred[p].Latest(m.Dict, from.group[:rows], ids); err != nil {
					m.space.fail(undecoded(p, from.window, err))
				}
			}
		} else if from.Missing(p) {
			continue
		}
		known := from.known(p)[rows:]
		for i, g := range from.group[rows:] {
			if id := known[i]; id != 0 {
				ids[g] = id
			}
		}
	}
	return ids[:m.n:m.n]
}

// known returns the ids of a property for merging: for rows that were merged before, what they do not show.
func (p *operand) known(x allocation.Property) []allocation.ID {
	var was []allocation.ID
	if k := slices.Index(allocation.CommonProperties[:], x); k >= 0 {
		was = p.Lost.Common[k]
	} else if k := slices.Index(allocation.NewestProperties[:], x); k >= 0 {
		was = p.Lost.Newest[k]
	}
	if was == nil {
		return p.IDs[x]
	}
	return append(slices.Clip(was), p.IDs[x][len(was):]...) // passes may have added rows
}

// kinds finds what each row was merged from, and its kind. Idle only merges with idle; other special rows may merge with
// workloads.
func (m *merger) kinds(differ *[allocation.NumProperties][]bool) {
	m.Special, m.Merged = make([]allocation.Special, m.n+1), make([]allocation.Merged, m.n+1)
	members := make([]int32, m.n+1)
	for _, p := range m.from {
		alike := !slices.ContainsFunc(p.Special, func(k allocation.Special) bool { return k != allocation.Workload }) &&
			!slices.ContainsFunc(p.Merged, func(was allocation.Merged) bool { return was != allocation.OneRow })
		from := int32(0)
		for _, to := range p.runs {
			g, kind, made := p.group[from], p.Special[from], allocation.OneRow
			for row := from; row < to && !alike; row++ {
				kind, made = mergedKind(kind, p.Special[row]), max(made, p.Merged[row])
			}
			if members[g] > 0 {
				kind = mergedKind(kind, m.Special[g])
			}
			m.Special[g], m.Merged[g] = kind, max(m.Merged[g], made)
			members[g] += to - from
			from = to
		}
	}
	m.Special, m.Merged = m.Special[:m.n:m.n], m.Merged[:m.n:m.n]
	for g := range m.n {
		if members[g] > 1 {
			m.Merged[g] = max(m.Merged[g], allocation.OneInstance)
			if m.Special[g] != allocation.Workload || slices.ContainsFunc(allocation.InstanceProperties[:], func(p allocation.Property) bool { return differ[p][g] }) {
				m.Merged[g] = allocation.SeveralInstances
			}
		}
	}
}

// mergedKind returns the kind of a row merged from rows of two kinds.
func mergedKind(a, b allocation.Special) allocation.Special {
	if a == allocation.Workload || b == allocation.Workload {
		return allocation.Workload
	}
	return max(a, b) // any will do: it is not a workload
}

// metadata merges the properties that have rules of their own for rows of several containers.
func (m *merger) metadata(differ *[allocation.NumProperties][]bool, keep bool) {
	mixed := differ[allocation.Namespace] // or the cluster differs
	for g, d := range differ[allocation.Cluster] {
		mixed[g] = mixed[g] || d
	}
	if keep {
		workload := func(of *operand, row int) bool { return of.Special[row] < allocation.Unmounted }
		for k, p := range allocation.CommonProperties {
			if !m.Unread.Properties[p] {
				m.Lost.Common[k], _ = m.commonPairs(p, workload)
			}
		}
	}
	for k, p := range allocation.NewestProperties {
		if !m.Unread.Properties[p] {
			m.Lost.Newest[k] = m.newest(p, mixed)
		}
	}
	m.show(allocation.Services, nil, nil)
	for k, p := range allocation.CommonProperties {
		m.show(p, m.Lost.Common[k], mixed)
	}
	for k, p := range allocation.NewestProperties {
		m.show(p, m.Lost.Newest[k], mixed)
	}
}

// show gives rows of several containers their value of a property, none in groups that are mixed; nil is none for all.
func (m *merger) show(p allocation.Property, values []allocation.ID, mixed []bool) {
	if m.Unread.Properties[p] {
		return
	}
	for g, made := range m.Merged {
		if made != allocation.SeveralInstances {
			continue
		}
		if m.IDs[p][g] = 0; values != nil {
			if mixed[g] {
				values[g] = 0
			}
			m.IDs[p][g] = values[g]
		}
	}
}

// gpus gives each row what the rows with GPUs of its group have in common.
func (m *merger) gpus() {
	if m.Unread.Properties[allocation.GPUDevices] {
		return
	}
	m.IDs[allocation.GPUDevices] = make([]allocation.ID, m.n)
	has := func(of *operand, row int) bool {
		return of.IDs[allocation.GPUDevices][row] != 0 || row < len(of.Lost.GPUs) && of.Lost.GPUs[row]
	}
	if slices.ContainsFunc(m.from, func(p operand) bool {
		return slices.Contains(p.Lost.GPUs, true) || slices.ContainsFunc(p.IDs[allocation.GPUDevices], func(id allocation.ID) bool { return id != 0 })
	}) {
		m.IDs[allocation.GPUDevices], m.Lost.GPUs = m.commonPairs(allocation.GPUDevices, has)
	}
}

// commonPairs returns the entries that all maps of a group have in common, among the rows that count. New maps are added to the
// dictionary. seen says which groups have rows that count.
func (m *merger) commonPairs(p allocation.Property, counts func(of *operand, row int) bool) (ids []allocation.ID, hasRows []bool) {
	ids, hasRows = make([]allocation.ID, m.n+1), make([]bool, m.n+1)
	known := map[[2]allocation.ID]allocation.ID{}
	for i := range m.from {
		of := &m.from[i]
		from := of.known(p)
		for row, g := range of.group {
			id := from[row]
			switch {
			case hasRows[g] && ids[g] == id || !counts(of, row):
			case !hasRows[g]:
				ids[g], hasRows[g] = id, true
			default:
				pair := [2]allocation.ID{ids[g], id}
				both, ok := known[pair]
				if !ok {
					both = m.Dict.Intersect(ids[g], id)
					known[pair] = both
				}
				ids[g] = both
			}
		}
	}
	return ids[:m.n:m.n], hasRows[:m.n:m.n]
}

// workspace is reusable memory for merging rows, and its first error. One goroutine at a time uses it, for one set after
// another.
type workspace struct {
	groups  grouping.Groups[allocation.ID]
	differ  [allocation.NumProperties][]bool // groups whose rows differ, by property
	hasRows []bool
	own     []allocation.ID
	runs    []int32
	group   []int32 // group and first are scratch space of identify
	first   []int32
	weights []float64
	err     error
}

// fail keeps the first error.
func (s *workspace) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// flags returns cleared flags for each property and each of n groups, and one more for dropped rows.
func (s *workspace) flags(n int) *[allocation.NumProperties][]bool {
	for p := range s.differ {
		s.differ[p] = cleared(s.differ[p], n+1)
	}
	return &s.differ
}

// noRows returns cleared flags for n groups, and one more for dropped rows. They are valid until the next call.
func (s *workspace) noRows(n int) []bool {
	s.hasRows = cleared(s.hasRows, n+1)
	return s.hasRows
}

// noIDs returns cleared ids for n groups, and one more for dropped rows. They are valid until the next call.
func (s *workspace) noIDs(n int) []allocation.ID {
	s.own = cleared(s.own, n+1)
	return s.own
}

// cleared returns n zeros in the memory of a slice, if it is large enough.
func cleared[T any](have []T, n int) []T {
	have = slices.Grow(have[:0], n)[:n]
	clear(have)
	return have
}
