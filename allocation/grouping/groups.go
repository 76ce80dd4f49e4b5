package grouping

import "slices"

// Groups groups the rows of one set after another by name. The name of a combination of ids is computed once
// for all sets of a dictionary. The zero value is ready for use.
type Groups[ID ~uint32] struct {
	keys  Combinations[ID]
	named []int32 // name of each combination, none where it is not known yet
	names Names   // all names so far
	group []int32 // group of each name in the current set, none if it has none
	list  []int32 // names of the groups
	last  []int32 // the list that texts belongs to
	texts []string
	rows  []int32 // group of each row
}

// fewNames is how many names are kept for sets of other dictionaries.
const fewNames = 1 << 14

// Reset prepares for ids of another dictionary.
func (g *Groups[ID]) Reset() {
	g.keys.reset()
	g.named = g.named[:0]
	if len(g.names.list) > fewNames {
		*g = Groups[ID]{keys: g.keys, rows: g.rows}
	}
}

// Begin groups the rows of a set by the ids that cols hold for them. Only rows marked in keep count; nil keeps all rows. name appends the
// name of a row to dst. Different ids may give the same name, because values may contain slashes: each name is one group.
func (g *Groups[ID]) Begin(keep []bool, rows int, cols [][]ID, name func(dst []byte, row int) []byte) {
	for _, name := range g.list {
		g.group[name] = none
	}
	g.list = g.list[:0]
	g.keys.Add(keep, rows, cols)
	if n := g.keys.Len() - len(g.named); n > 0 {
		g.named = append(g.named, slices.Repeat([]int32{none}, n)...)
		g.names.grow(n)
		g.list, g.group = slices.Grow(g.list, n), slices.Grow(g.group, n)
	}
	var text []byte
	from := int32(0)
	for i, key := range g.keys.of {
		if key != none {
			if g.named[key] == none {
				text = name(text[:0], int(from))
				g.named[key] = g.names.addBytes(text)
			}
			g.keys.of[i] = g.number(g.named[key])
		}
		from = g.keys.ends[i]
	}
}

// number returns the group of a name, a new one if it has none.
func (g *Groups[ID]) number(name int32) int32 {
	for len(g.group) <= int(name) {
		g.group = append(g.group, none)
	}
	if g.group[name] == none {
		g.group[name] = int32(len(g.list))
		g.list = append(g.list, name)
	}
	return g.group[name]
}

// Add returns the group of a name, a new one if it has none.
func (g *Groups[ID]) Add(name string) int32 { return g.number(g.names.Add(name)) }

// Len is how many groups the current set has.
func (g *Groups[ID]) Len() int { return len(g.list) }

// Ends are the ends of runs of rows of one group. They are valid until the next call of Begin or Only.
func (g *Groups[ID]) Ends() []int32 { return g.keys.ends }

// RowGroups returns the group of each row; dropped rows get the number of groups. The slice is valid until the next call of Begin.
func (g *Groups[ID]) RowGroups(rows int) []int32 {
	g.rows = slices.Grow(g.rows[:0], rows)[:rows]
	return g.keys.Rows(g.rows, int32(len(g.list)))
}

// Only keeps the groups that have rows that stay, and drops the other rows. It returns the elements of bears for the groups kept.
func (g *Groups[ID]) Only(stays func(row int) bool, bears []float64) (left []float64) {
	group, keys, names := g.rows, &g.keys, slices.Clone(g.list)
	for _, name := range names {
		g.group[name] = none
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
		to := int32(none)
		if stays(row) {
			to = g.group[names[r]]
		}
		if row > 0 && keys.of[len(keys.of)-1] == to {
			keys.ends[len(keys.ends)-1]++
			continue
		}
		keys.ends, keys.of = append(keys.ends, int32(row+1)), append(keys.of, to)
	}
	return left
}

// Names returns the names of the groups. Consecutive sets with the same names share the slice.
func (g *Groups[ID]) Names() []string {
	if g.texts == nil || !slices.Equal(g.list, g.last) {
		g.last, g.texts = append(g.last[:0], g.list...), make([]string, len(g.list))
		for i, name := range g.list {
			g.texts[i] = g.names.list[name]
		}
	}
	return g.texts
}
