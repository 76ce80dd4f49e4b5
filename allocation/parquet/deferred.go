package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// deferredColumn is a column that is read each time that it is needed.
type deferredColumn struct {
	leafColumn
	readers *Readers
}

// fewBytes is the compressed size below which a column is read at once to find out whether it is empty.
const fewBytes = 128

// few reports whether the column is that small, and its dictionary does not show that some rows have values.
func (c *leafColumn) few() bool {
	bytes := int64(0)
	for i := range c.at.chunks {
		bytes += c.at.chunks[i].compressed
	}
	page, _, _ := readPageHeader(c.pages())
	d := page.Dictionary
	return bytes < fewBytes && (d == nil || d.Values <= 1 && c.at.repetition == 0 || d.Values == 0)
}

// readDeferred returns the column from the cache, or reads it into a leaf of the reader, with a budget of its own.
func (c *leafColumn) readDeferred(r *reader, l *leaf) (*leaf, error) {
	if cached, err := c.cached(r); cached != nil || err != nil {
		return cached, err
	}
	b := newBudget(len(c.data))
	return l, c.read(r, &b, l.reset(), everyRow)
}

// deferred returns a property that is read when it is needed, nil if no row has it.
func (f *File) deferred(p allocation.Property) (allocation.Deferred, error) {
	name := p.Field()
	switch {
	case p.IsMap():
		return f.deferredLists(mapIDs, []string{name, "key_value", "key"}, []string{name, "key_value", "value"})
	case p.IsList():
		return f.deferredLists(listIDs, []string{name, "list", "element"})
	case p == allocation.PodUID:
		return f.deferredUIDs()
	}
	c, ok, err := f.column(parquet.ByteArray, name)
	if err != nil || !ok {
		return nil, err
	}
	t := &deferredTexts{column: deferredColumn{c, f.readers}}
	if u, same := c.uniform(); same {
		if len(u.value) == 0 {
			return nil, nil
		}
		return deferredConstant(bytes.Clone(u.value)), nil
	}
	if c.few() {
		l, err := t.leaf(f.reader, 0) // which is its dictionary
		if err == nil && len(l.table.data) == 0 {
			l, err = t.leaf(f.reader, f.Rows)
		}
		if err != nil || len(l.table.data) == 0 {
			return nil, err
		}
	}
	return t, nil
}

// deferredTexts are strings that have no ids yet.
type deferredTexts struct {
	column deferredColumn
	whole  *leaf // replaces the column unless nil
}

// leaf returns the values of at least the rows before to.
func (t *deferredTexts) leaf(r *reader, to int) (*leaf, error) {
	if t.whole != nil {
		return t.whole, nil
	}
	if cached, err := t.column.cached(r); err != nil {
		return nil, err
	} else if cached != nil {
		return cached, t.column.expect(len(cached.idx))
	}
	l, b := &r.leaves[0], newBudget(len(t.column.data))
	err := t.column.read(r, &b, l.reset(), to)
	if err == nil && len(l.idx) < min(to, t.column.rows) {
		err = t.column.expect(len(l.idx))
	}
	return l, err
}

// undecidedRows is the number of rows up to the last whose group is not known to differ.
func undecidedRows(group []int32, differ []bool) int {
	to := len(group)
	for to > 0 && differ[group[to-1]] {
		to--
	}
	return to
}

// Common implements allocation.Deferred.
func (t *deferredTexts) Common(d *allocation.Dict, group, first []int32, differ []bool, ids []allocation.ID) error {
	return t.column.readers.with(t.column.owner, func(r *reader) error {
		group := group[:undecidedRows(group, differ)]
		l, err := t.leaf(r, len(group))
		if err != nil {
			return err
		}
		if len(l.table.ends) == 1 {
			group = nil // all rows have the same value
		}
		for i, g := range group {
			if differ[g] {
				continue
			}
			if x, y := l.idx[first[g]], l.idx[i]; x != y {
				differ[g] = !l.same(x, y)
			}
		}
		id := func(i int32) allocation.ID { return d.AddBytes(l.text(int(i))) }
		if len(first) > len(l.table.ends) {
			id = l.ids(d)
		}
		for g, row := range first {
			if row >= 0 && !differ[g] {
				ids[g] = id(row)
			}
		}
		return nil
	})
}

// Latest implements allocation.Deferred.
func (t *deferredTexts) Latest(d *allocation.Dict, group []int32, ids []allocation.ID) error {
	return t.column.readers.with(t.column.owner, func(r *reader) error {
		l, err := t.leaf(r, len(group))
		if err != nil {
			return err
		}
		lastOf(group, ids, func(row int) allocation.ID { return d.AddBytes(l.text(row)) })
		return nil
	})
}

// lastOf sets the id of each group to the last id in its rows that is not 0.
func lastOf(group []int32, ids []allocation.ID, id func(row int) allocation.ID) {
	found := make([]bool, len(ids))
	for row, g := range slices.Backward(group) {
		if !found[g] {
			if id := id(row); id != 0 {
				ids[g], found[g] = id, true
			}
		}
	}
}

// same reports whether two values of the table are equal: it may have a string more than once.
func (l *leaf) same(x, y int32) bool { return bytes.Equal(l.table.text(x), l.table.text(y)) }

// within returns the elements [from, to) of a row.
func within(ends []int32, row int) (from, to int32) {
	if row > 0 {
		from = ends[row-1]
	}
	return from, ends[row]
}

// deferredLists are lists or maps without ids. Each row is a run of elements, the same run in all columns.
type deferredLists struct {
	columns []leafColumn
	readers *Readers
	add     func(leaves []*leaf, d *allocation.Dict, from, to int32) allocation.ID
}

func listIDs(leaves []*leaf, d *allocation.Dict, from, to int32) allocation.ID {
	return leaves[0].add(d, from, to)
}

func mapIDs(leaves []*leaf, d *allocation.Dict, from, to int32) allocation.ID {
	m := mapLeaf{keys: leaves[0], values: leaves[1]}
	if !m.keys.ascend(from, to) { // not written by promcost
		return m.add(d, from, to)
	}
	pairs := make([]allocation.Pair, 0, to-from)
	for i := int(from); i < int(to); i++ {
		pairs = append(pairs, allocation.Pair{Key: d.AddBytes(m.keys.text(i)), Value: d.AddBytes(m.values.text(i))})
	}
	return d.AddPairs(pairs)
}

// deferredLists returns lists or maps that are read when they are needed, nil if no row has any.
func (f *File) deferredLists(add func([]*leaf, *allocation.Dict, int32, int32) allocation.ID, paths ...[]string) (allocation.Deferred, error) {
	runs := &deferredLists{readers: f.readers, add: add}
	for i, path := range paths {
		c, ok, err := f.column(parquet.ByteArray, path...)
		if err == nil && !ok && i > 0 {
			err = fmt.Errorf("column %s: its keys and values do not match", path[0])
		}
		if err != nil || !ok {
			return nil, err
		}
		runs.columns = append(runs.columns, c)
	}
	if none, err := f.isEmpty(paths[0]...); err != nil || none {
		return nil, err
	}
	return runs, nil
}

// isEmpty reports whether a repeated column exists and is known to be empty in all rows.
func (f *File) isEmpty(path ...string) (bool, error) {
	c, ok, err := f.column(parquet.ByteArray, path...)
	if err != nil || !ok || !c.few() {
		return false, err
	}
	if u, same := c.uniform(); same {
		return u.none, nil
	}
	l, err := c.readDeferred(f.reader, &f.reader.leaves[0])
	if err != nil || len(l.idx) > 0 {
		return false, err
	}
	if n := f.Rows; len(l.definition) != n || len(l.repetition) != n || bytes.Count(l.repetition, []byte{0}) != n || bytes.Count(l.definition, []byte{0}) != n {
		return false, fmt.Errorf("column %s: it has no values, and its levels say others than none of %d rows", c.name, n)
	}
	return true, nil
}

// read reads the columns, and says where the elements of each row end.
func (l *deferredLists) read(r *reader) (leaves []*leaf, ends []int32, err error) {
	for i := range l.columns {
		leaf, err := l.columns[i].readDeferred(r, &r.leaves[i])
		if err != nil {
			return nil, nil, err
		}
		leaves = append(leaves, leaf)
	}
	at := &l.columns[0]
	if ends, err = leaves[0].ends(r.ends, at.rows, len(leaves[0].idx)); err != nil {
		return nil, nil, fmt.Errorf("column %s: %w", at.name, err)
	}
	if leaves[0].runs == nil {
		r.ends = ends
	}
	if len(leaves[len(leaves)-1].idx) != len(leaves[0].idx) {
		return nil, nil, fmt.Errorf("column %s: its keys and values do not match", at.name)
	}
	return leaves, ends, nil
}

// Common implements allocation.Deferred. Equal maps are stored alike, because keys are written sorted.
func (l *deferredLists) Common(d *allocation.Dict, group, first []int32, differ []bool, ids []allocation.ID) error {
	return l.readers.with(l.columns[0].owner, func(r *reader) error {
		leaves, ends, err := l.read(r)
		if err != nil {
			return err
		}
		for i, g := range group {
			if !differ[g] {
				differ[g] = !sameRuns(leaves, ends, int(first[g]), i)
			}
		}
		id := l.finder(leaves, ends, d)
		for g, row := range first {
			if row >= 0 && !differ[g] {
				ids[g] = id(int(row))
			}
		}
		return nil
	})
}

// Latest implements allocation.Deferred.
func (l *deferredLists) Latest(d *allocation.Dict, group []int32, ids []allocation.ID) error {
	return l.readers.with(l.columns[0].owner, func(r *reader) error {
		leaves, ends, err := l.read(r)
		if err != nil {
			return err
		}
		lastOf(group, ids, l.finder(leaves, ends, d))
		return nil
	})
}

// sameRuns reports whether two rows have the same elements.
func sameRuns(leaves []*leaf, ends []int32, a, b int) bool {
	from, to := within(ends, a)
	other, end := within(ends, b)
	if to-from != end-other {
		return false
	}
	for _, l := range leaves {
		for i := range to - from {
			if x, y := l.idx[from+i], l.idx[other+i]; x != y && !l.same(x, y) {
				return false
			}
		}
	}
	return true
}

// finder returns a function that returns the id of a row's list or map. Consecutive rows often have the same.
func (l *deferredLists) finder(leaves []*leaf, ends []int32, d *allocation.Dict) func(row int) allocation.ID {
	was, last := -1, allocation.ID(0)
	return func(row int) allocation.ID {
		from, to := within(ends, row)
		switch {
		case from == to:
			return 0
		case was < 0 || !sameRuns(leaves, ends, was, row):
			was, last = row, l.add(leaves, d, from, to)
		}
		return last
	}
}

// deferredUUIDs are ids of pods that are still 16 bytes each.
type deferredUUIDs struct{ deferredColumn }

// deferredUIDs returns the ids of pods: as UUIDs if all are UUIDs, else as strings.
func (f *File) deferredUIDs() (allocation.Deferred, error) {
	others, ok, err := f.column(parquet.ByteArray, otherUIDs)
	if err != nil {
		return nil, err
	}
	if u, same := others.uniform(); ok && (!same || !u.none) {
		l, err := others.readDeferred(f.reader, &f.reader.leaves[0])
		if err != nil {
			return nil, err
		}
		if len(l.idx) > 0 {
			texts, err := f.uids()
			if err != nil || texts == nil {
				return nil, err
			}
			return &deferredTexts{deferredColumn{readers: f.readers}, texts}, nil
		}
	}
	c, ok, err := f.column(parquet.FixedLenByteArray, allocation.PodUID.Field())
	if err != nil || !ok {
		return nil, err
	}
	return &deferredUUIDs{deferredColumn{c, f.readers}}, nil
}

// read returns the ids, one after another, and where the id of each row ends. A row without an id ends where the row before it does.
func (u *deferredUUIDs) read(r *reader) (fixed []byte, ends []int32, err error) {
	l, err := u.readDeferred(r, &r.leaves[0])
	if err == nil {
		err = u.expect(len(l.definition))
	}
	if err != nil {
		return nil, nil, err
	}
	end := int32(0)
	r.ends = r.ends[:0]
	for _, level := range l.definition {
		end += uuidBytes * int32(level)
		r.ends = append(r.ends, end)
	}
	if int(end) != len(l.fixed) {
		return nil, nil, fmt.Errorf("column %s: %w", u.name, errors.New("it has not as many values as its levels say"))
	}
	return l.fixed, r.ends, nil
}

// Common implements allocation.Deferred.
func (u *deferredUUIDs) Common(d *allocation.Dict, group, first []int32, differ []bool, ids []allocation.ID) error {
	return u.readers.with(u.owner, func(r *reader) error {
		fixed, ends, err := u.read(r)
		if err != nil {
			return err
		}
		for i, g := range group {
			if !differ[g] {
				from, to := within(ends, int(first[g]))
				other, end := within(ends, i)
				differ[g] = !bytes.Equal(fixed[from:to], fixed[other:end])
			}
		}
		for g, row := range first {
			if row >= 0 && !differ[g] {
				ids[g] = uuidID(d, fixed, ends, int(row))
			}
		}
		return nil
	})
}

// Latest implements allocation.Deferred.
func (u *deferredUUIDs) Latest(d *allocation.Dict, group []int32, ids []allocation.ID) error {
	return u.readers.with(u.owner, func(r *reader) error {
		fixed, ends, err := u.read(r)
		if err != nil {
			return err
		}
		lastOf(group, ids, func(row int) allocation.ID { return uuidID(d, fixed, ends, row) })
		return nil
	})
}

// uuidID returns the id of a row's UUID, 0 if it has none.
func uuidID(d *allocation.Dict, fixed []byte, ends []int32, row int) allocation.ID {
	from, to := within(ends, row)
	if from == to {
		return 0
	}
	return d.AddBytes(appendUUID(make([]byte, 0, 36), fixed[from:to]))
}
