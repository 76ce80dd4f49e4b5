package grouping

import "slices"

// none marks dropped rows, and names without a group.
const none = -1

// Combinations numbers the combinations of ids that rows have in some columns, in order of appearance, for one set or for
// several sets of one dictionary. Rows are sorted, so adjacent rows often have one combination, which is looked up once for
// the whole run. The zero value is ready for use.
type Combinations[ID ~uint32] struct {
	steps []idPairs[ID] // one for each column
	// Of the rows added last: the ends of runs, and the combination of each run, none for dropped rows.
	ends, of []int32
	pooled   []int32
}

// idPairs numbers pairs of a number and an id, in order of appearance.
type idPairs[ID ~uint32] struct {
	n       int32
	with    int32    // how many numbers can be paired, at least
	first   []idPair // by id: its first pair
	further map[uint64]int32
}

// idPair is the number of a pair, from 1, and the number its id is paired with.
type idPair struct{ with, number int32 }

// reset forgets all pairs.
func (p *idPairs[ID]) reset() {
	clear(p.first)
	clear(p.further)
	p.n = 0
}

// grow makes room for all ids up to most.
func (p *idPairs[ID]) grow(most ID) {
	if n := int(most) + 1; n > len(p.first) {
		p.first = append(p.first, make([]idPair, n-len(p.first))...)
	}
}

// number returns the number of a pair.
func (p *idPairs[ID]) number(with int32, id ID) int32 {
	first := &p.first[id]
	if first.number == 0 {
		p.n++
		*first = idPair{with, p.n}
	}
	if first.with == with {
		return first.number - 1
	}
	key := uint64(with)<<32 | uint64(id)
	number, ok := p.further[key]
	if !ok {
		if p.further == nil {
			p.further = make(map[uint64]int32, p.with)
		}
		number = p.n
		p.further[key] = number
		p.n++
	}
	return number
}

// Len returns how many combinations there are.
func (c *Combinations[ID]) Len() int {
	if len(c.steps) == 0 {
		return 1 // the empty combination
	}
	return int(c.steps[len(c.steps)-1].n)
}

// Add numbers the rows of a set by the ids that cols hold for them. Only rows marked in keep count; nil keeps all rows.
func (c *Combinations[ID]) Add(keep []bool, rows int, cols [][]ID) {
	c.findRuns(keep, rows, cols)
	c.of = slices.Grow(c.of[:0], len(c.ends))
	from := int32(0)
	for _, end := range c.ends {
		number := int32(0)
		if keep != nil && !keep[from] {
			number = none
		}
		c.of, from = append(c.of, number), end
	}
	if c.steps == nil {
		c.steps = make([]idPairs[ID], len(cols))
	}
	for k, col := range cols {
		pairs, from, most := &c.steps[k], int32(0), ID(0)
		for i, end := range c.ends {
			if c.of[i] != none {
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
			if with != none {
				c.of[i] = pairs.number(with, col[from])
			}
			from = c.ends[i]
		}
	}
}

// reset forgets all combinations.
func (c *Combinations[ID]) reset() {
	for k := range c.steps {
		c.steps[k].reset()
	}
}

// findRuns finds the ends of runs of rows that have the same ids in all of cols, or that are dropped.
func (c *Combinations[ID]) findRuns(keep []bool, rows int, cols [][]ID) {
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
		parts, from := slices.Grow(c.pooled[:0], max(len(c.ends), rows/8)), 0
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

// Rows numbers the rows by the combinations of ids that cols hold for them, in order of appearance. first is the first
// row of each group. Rows that are not in keep get the number len(first).
func Rows[ID ~uint32](keep []bool, rows int, cols [][]ID) (group, first []int32) {
	var c Combinations[ID]
	c.Add(keep, rows, cols)
	from := int32(0)
	for i, g := range c.of {
		if g == int32(len(first)) {
			first = append(first, from)
		}
		from = c.ends[i]
	}
	return c.Rows(make([]int32, rows), int32(len(first))), first
}

// Rows fills group with the number of each row. Dropped rows get the number dropped.
func (c *Combinations[ID]) Rows(group []int32, dropped int32) []int32 {
	from := int32(0)
	for i, g := range c.of {
		if g == none {
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
