package allocation

import "slices"

// noGroup marks rows that are dropped, and names without a result.
const noGroup = -1

// combinations number the combinations of ids that rows have in some columns, in the order they first come: those of one set, or
// of several sets of one dictionary. Rows come sorted, so those of one combination often lie side by side, and it is looked up
// once for such a run. The zero value is ready for use.
type combinations struct {
	steps []idPairs // a column each
	// Of the rows that were added last: where runs end, and the combination of each, noGroup for rows that are dropped.
	ends, of []int32
	spare    []int32
}

// idPairs number the pairs of a number and an id, in the order they first come.
type idPairs struct {
	n      int32
	with   int32    // how many numbers there are to be paired, or more
	first  []idPair // by id: the first pair that there is of it
	others map[uint64]int32
}

// idPair is the number of a pair, from 1, and what its id is paired with.
type idPair struct{ with, number int32 }

// reset forgets all pairs.
func (p *idPairs) reset() {
	clear(p.first)
	clear(p.others)
	p.n = 0
}

// grow makes room for the ids up to one.
func (p *idPairs) grow(most ID) {
	if n := int(most) + 1; n > len(p.first) {
		p.first = append(p.first, make([]idPair, n-len(p.first))...)
	}
}

// number is that of a pair.
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

// n is how many combinations there are.
func (c *combinations) n() int {
	if len(c.steps) == 0 {
		return 1 // of nothing
	}
	return int(c.steps[len(c.steps)-1].n)
}

// add numbers the rows of a set by what cols hold of them, of those alone that keep has unless it is nil.
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

// findRuns finds where runs of rows end that have the same ids in all of cols, or are dropped.
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
		parts, from := slices.Grow(c.spare[:0], max(len(c.ends), rows/longRun)), 0
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
		c.ends, c.spare = parts, c.ends
	}
}

// groupRows numbers the rows by the distinct combinations of ids that cols hold for them, in the order they first come.
// first is the first row of each group. Rows that keep drops get the number len(first).
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

// rows fills group with the number of each row, those that are dropped with that of dropped.
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

// grouping is the results that rows of set after set are merged to, by name. What the keys make of ids is found out once for all
// sets of a dictionary. The zero value is ready for use.
type grouping struct {
	keys   combinations
	named  []int32   // the name of each combination, noGroup where it is not known yet
	names  nameTable // all that there have been
	result []int32   // of each name in the set at hand, noGroup without one
	list   []int32   // the names of the results
	last   []int32   // those that texts is of
	texts  []string
	rows   []int32 // the result of each row
}

// fewNames is how many names are kept for the sets of other dictionaries.
const fewNames = 1 << 14

// reset is for ids of another dictionary.
func (g *grouping) reset() {
	g.keys.reset()
	g.named = g.named[:0]
	if len(g.names.list) > fewNames {
		*g = grouping{keys: g.keys, rows: g.rows}
	}
}

// begin finds the results of the rows of a set, of those alone that mask has unless it is nil. Different ids may give one name,
// as where a value contains a slash: a name is one result.
func (g *grouping) begin(mask []bool, rows int, bound []boundKey, fill bool) {
	for _, name := range g.list {
		g.result[name] = noGroup
	}
	g.list = g.list[:0]
	var cols [][]ID
	for i := range bound {
		cols = append(cols, bound[i].cols...)
		if bound[i].kind == keyDerived { // its ids are of the set
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

// appendNames appends what the keys make of a row to dst.
func appendNames(dst []byte, bound []boundKey, row int, fill bool) []byte {
	for i := range bound {
		if i > 0 {
			dst = append(dst, '/')
		}
		dst = bound[i].appendName(dst, row, fill)
	}
	return dst
}

// number is the result of one of the names, a new one where it has none.
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

// add is the result of a name, a new one where it has none.
func (g *grouping) add(name string) int32 { return g.number(g.names.add(name)) }

// group is the result of each row, and how many there are of those that are dropped. It may be used until there is another set.
func (g *grouping) group(rows int) []int32 {
	g.rows = slices.Grow(g.rows[:0], rows)[:rows]
	return g.keys.rows(g.rows, int32(len(g.list)))
}

// only leaves the results of the rows that stay, and has the others dropped. It returns what is left of bears, an element a result.
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

// text is the names of the results. Sets that have the same ones share them.
func (g *grouping) text() []string {
	if g.texts == nil || !slices.Equal(g.list, g.last) {
		g.last, g.texts = append(g.last[:0], g.list...), make([]string, len(g.list))
		for i, name := range g.list {
			g.texts[i] = g.names.list[name]
		}
	}
	return g.texts
}
