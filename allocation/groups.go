package allocation

import "slices"

// noGroup marks dropped rows, and names without a result.
const noGroup = -1

// combinations numbers the combinations of ids that rows have in some columns, in order of appearance, for one set or for
// several sets of one dictionary. Rows are sorted, so adjacent rows often have one combination, which is looked up once for
// the whole run. The zero value is ready for use.
type combinations struct {
	steps []idPairs // one for each column
	// Of the rows added last: the ends of runs, and the combination of each run, noGroup for dropped rows.
	ends, of []int32
	pooled   []int32
}

// idPairs numbers pairs of a number and an id, in order of appearance.
type idPairs struct {
	n      int32
	with   int32    // how many numbers can be paired, at least
	first  []idPair // by id: its first pair
	others map[uint64]int32
}

// idPair is the number of a pair, from 1, and the number its id is paired with.
type idPair struct{ with, number int32 }

// reset forgets all pairs.
func (p *idPairs) reset() {
	clear(p.first)
	clear(p.others)
	p.n = 0
}

// grow makes room for all ids up to most.
func (p *idPairs) grow(most ID) {
	if n := int(most) + 1; n > len(p.first) {
		p.first = append(p.first, make([]idPair, n-len(p.first))...)
	}
}

// number returns the number of a pair.
func (p *idPairs) number(with int32, id ID) int32 {
	first := &p.first[id]
	if first.number == 0 {
		p.n++
		*first = idPair{with, p.n}
	}
	if first.with == with {
		return first.number - 1
	}
	key := uint64(with)<<32 | uint64(id)
	number, ok := p.others[key]
	if !ok {
		if p.others == nil {
			p.others = make(map[uint64]int32, p.with)
		}
		number = p.n
		p.others[key] = number
		p.n++
	}
	return number
}

// n returns how many combinations there are.
func (c *combinations) n() int {
	if len(c.steps) == 0 {
		return 1 // the empty combination
	}
	return int(c.steps[len(c.steps)-1].n)
}

// add numbers the rows of a set by the ids that cols hold for them. Only rows marked in keep count; nil keeps all rows.
func (c *combinations) add(keep []bool, rows int, cols [][]ID) {
	c.findRuns(keep, rows, cols)
	c.of = slices.Grow(c.of[:0], len(c.ends))
	from := int32(0)
	for _, end := range c.ends {
		number := int32(0)
		if keep != nil && !keep[from] {
			number = noGroup
		}
		c.of, from = append(c.of, number), end
	}
	if c.steps == nil {
		c.steps = make([]idPairs, len(cols))
	}
	for k, col := range cols {
		pairs, from, most := &c.steps[k], int32(0), ID(0)
		for i, end := range c.ends {
			if c.of[i] != noGroup {
				most = max(most, col[from])
			}
			from = end
		}
		pairs.grow(most)
		if k > 0 {
			pairs.with = c.steps[k-1].n
		}
		from = 0
		for i, with := range c.of {
			if with != noGroup {
				c.of[i] = pairs.number(with, col[from])
			}
			from = c.ends[i]
		}
	}
}

// reset forgets all combinations.
func (c *combinations) reset() {
	for k := range c.steps {
		c.steps[k].reset()
	}
}

// findRuns finds the ends of runs of rows that have the same ids in all of cols, or that are dropped.
func (c *combinations) findRuns(keep []bool, rows int, cols [][]ID) {
	c.ends = c.ends[:0]
	for row := 1; keep != nil && row < rows; row++ {
		if keep[row] != keep[row-1] {
			c.ends = append(c.ends, int32(row))
		}
	}
	if rows > 0 {
		c.ends = append(c.ends, int32(rows))
	}
	for _, col := range cols {
		parts, from := slices.Grow(c.pooled[:0], max(len(c.ends), rows/longRun)), 0
		for _, end := range c.ends {
			if to := int(end); keep == nil || keep[from] {
				last := col[from]
				for i, id := range col[from:to] {
					if id != last {
						parts, last = append(parts, int32(from+i)), id
					}
				}
			}
			parts, from = append(parts, end), int(end)
		}
		c.ends, c.pooled = parts, c.ends
	}
}

// groupRows numbers the rows by the combinations of ids that cols hold for them, in order of appearance. first is the first
// row of each group. Rows that are not in keep get the number len(first).
func groupRows(keep []bool, rows int, cols [][]ID) (group, first []int32) {
	var c combinations
	c.add(keep, rows, cols)
	from := int32(0)
	for i, g := range c.of {
		if g == int32(len(first)) {
			first = append(first, from)
		}
		from = c.ends[i]
	}
	return c.rows(make([]int32, rows), int32(len(first))), first
}

// rows fills group with the number of each row. Dropped rows get the number dropped.
func (c *combinations) rows(group []int32, dropped int32) []int32 {
	from := int32(0)
	for i, g := range c.of {
		if g == noGroup {
			g = dropped
		}
		run := group[from:c.ends[i]]
		for k := range run {
			run[k] = g
		}
		from = c.ends[i]
	}
	return group
}

// grouping assigns the rows of one set after another to results, by name. The name of a combination of ids is computed once
// for all sets of a dictionary. The zero value is ready for use.
type grouping struct {
	keys   combinations
	named  []int32   // name of each combination, noGroup where it is not known yet
	names  nameTable // all names so far
	result []int32   // result of each name in the current set, noGroup if it has none
	list   []int32   // names of the results
	last   []int32   // the list that texts belongs to
	texts  []string
	rows   []int32 // result of each row
}

// fewNames is how many names are kept for sets of other dictionaries.
const fewNames = 1 << 14

// reset prepares for ids of another dictionary.
func (g *grouping) reset() {
	g.keys.reset()
	g.named = g.named[:0]
	if len(g.names.list) > fewNames {
		*g = grouping{keys: g.keys, rows: g.rows}
	}
}

// begin finds the results of a set's rows. Only rows marked in mask count; nil is all rows. Different ids may give the same
// name, because values may contain slashes: each name is one result.
func (g *grouping) begin(mask []bool, rows int, bound []boundKey, fill bool) {
	for _, name := range g.list {
		g.result[name] = noGroup
	}
	g.list = g.list[:0]
	var cols [][]ID
	for i := range bound {
		cols = append(cols, bound[i].cols...)
		if bound[i].kind == keyDerived { // its ids belong to this set only
			g.reset()
		}
	}
	g.keys.add(mask, rows, cols)
	if n := g.keys.n() - len(g.named); n > 0 {
		g.named = append(g.named, slices.Repeat([]int32{noGroup}, n)...)
		g.names.grow(n)
		g.list, g.result = slices.Grow(g.list, n), slices.Grow(g.result, n)
	}
	var text []byte
	from := int32(0)
	for i, key := range g.keys.of {
		if key != noGroup {
			if g.named[key] == noGroup {
				text = appendNames(text[:0], bound, int(from), fill)
				g.named[key] = g.names.addBytes(text)
			}
			g.keys.of[i] = g.number(g.named[key])
		}
		from = g.keys.ends[i]
	}
}

// appendNames appends the values of the keys for a row to dst.
func appendNames(dst []byte, bound []boundKey, row int, fill bool) []byte {
	for i := range bound {
		if i > 0 {
			dst = append(dst, '/')
		}
		dst = bound[i].appendName(dst, row, fill)
	}
	return dst
}

// number returns the result of a name, a new one if it has none.
func (g *grouping) number(name int32) int32 {
	for len(g.result) <= int(name) {
		g.result = append(g.result, noGroup)
	}
	if g.result[name] == noGroup {
		g.result[name] = int32(len(g.list))
		g.list = append(g.list, name)
	}
	return g.result[name]
}

// add is number for the text of a name.
func (g *grouping) add(name string) int32 { return g.number(g.names.add(name)) }

// group returns the result of each row; dropped rows get the number of results. The slice is valid until the next call of
// begin.
func (g *grouping) group(rows int) []int32 {
	g.rows = slices.Grow(g.rows[:0], rows)[:rows]
	return g.keys.rows(g.rows, int32(len(g.list)))
}

// only keeps the results that have rows that stay, and drops the other rows. It returns the elements of bears for the results
// kept.
func (g *grouping) only(stays func(row int) bool, bears []float64) (left []float64) {
	group, keys, names := g.rows, &g.keys, slices.Clone(g.list)
	for _, name := range names {
		g.result[name] = noGroup
	}
	some := make([]bool, len(names)+1)
	for row, r := range group {
		some[r] = some[r] || stays(row)
	}
	g.list = g.list[:0]
	for r, name := range names {
		if some[r] {
			g.number(name)
			left = append(left, bears[r])
		}
	}
	keys.ends, keys.of = keys.ends[:0], keys.of[:0]
	for row, r := range group {
		to := int32(noGroup)
		if stays(row) {
			to = g.result[names[r]]
		}
		if row > 0 && keys.of[len(keys.of)-1] == to {
			keys.ends[len(keys.ends)-1]++
			continue
		}
		keys.ends, keys.of = append(keys.ends, int32(row+1)), append(keys.of, to)
	}
	return left
}

// text returns the names of the results. Consecutive sets with the same names share the slice.
func (g *grouping) text() []string {
	if g.texts == nil || !slices.Equal(g.list, g.last) {
		g.last, g.texts = append(g.last[:0], g.list...), make([]string, len(g.list))
		for i, name := range g.list {
			g.texts[i] = g.names.list[name]
		}
	}
	return g.texts
}
