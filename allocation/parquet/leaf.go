package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/promcost/promcost/allocation"
)

// leaf is the data of a leaf column. Of strings idx are the values in table.
type leaf struct {
	repetition, definition []byte
	idx                    []int32
	table                  texts
	numbers                []float64
	zeros                  int // that come before the numbers
	ints                   []int64
	bools                  []bool
	fixed                  []byte                        // UUIDs, one after the other
	runs                   []int32                       // where the elements of each row end, of cached columns
	interned               *atomic.Pointer[internedMaps] // of the values of maps; nil of others
}

// texts are strings, one after the other.
type texts struct {
	data []byte
	ends []int32
}

// at is the i-th one.
func (t *texts) at(i int32) []byte {
	from := int32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.data[from:t.ends[i]]
}

// strings are all of them, in one piece of memory.
func (t *texts) strings() []string {
	text, out := string(t.data), make([]string, len(t.ends))
	from := int32(0)
	for i, end := range t.ends {
		out[i], from = text[from:end], end
	}
	return out
}

// end ends a string, which was appended to the data.
func (t *texts) end() error {
	t.ends = append(t.ends, int32(len(t.data)))
	return t.limit()
}

// limit refuses more than ends can tell of.
func (t *texts) limit() error {
	if len(t.data) > math.MaxInt32 {
		return errors.New("it has more than 2 GiB of strings")
	}
	return nil
}

// text is the value of a row.
func (l *leaf) text(row int) []byte { return l.table.at(l.idx[row]) }

// reset empties a leaf, and keeps its memory.
func (l *leaf) reset() *leaf {
	*l = leaf{
		repetition: l.repetition[:0], definition: l.definition[:0], idx: l.idx[:0], table: texts{l.table.data[:0], l.table.ends[:0]},
		numbers: l.numbers[:0], ints: l.ints[:0], bools: l.bools[:0], fixed: l.fixed[:0],
	}
	return l
}

// leafColumn is a leaf column of a file, which is read by itself.
type leafColumn struct {
	data  []byte // of the file
	owner any    // of data
	at    leafLayout
	name  string
	rows  int // of the file
}

// column finds a leaf column. A file of an older version may lack it: then ok is false.
func (f *File) column(kind parquet.Kind, path ...string) (c leafColumn, ok bool, err error) {
	name := path[0]
	if len(path) > 1 {
		name = strings.Join(path, ".")
	}
	i, ok := f.layout.byPath[name]
	if !ok {
		return leafColumn{}, false, nil
	}
	at := f.layout.leaf(i) // not a pointer, which would hold the layout of the whole file while one column is held
	if at.kind != kind {
		return leafColumn{}, false, fmt.Errorf("column %s: its type is %s, not %s", name, at.kind, kind)
	}
	if at.repetition > 1 || at.definition > 1 {
		return leafColumn{}, false, fmt.Errorf("column %s: it is nested more deeply than any that is written", name)
	}
	return leafColumn{f.data, f.owner, at, name, f.Rows}, true, nil
}

// pages are the pages of a column that is in one group of rows; nil of others, and of those that do not lie in the file.
func (c *leafColumn) pages() []byte {
	if len(c.at.chunks) != 1 {
		return nil
	}
	at := &c.at.chunks[0]
	from := at.data
	if d := at.dictionary; d > 0 && d < from {
		from = d
	}
	if from < 0 || at.compressed < 0 || at.compressed > int64(len(c.data))-from {
		return nil
	}
	return c.data[from : from+at.compressed]
}

// plainPages are the pages that are not compressed, of a column with a value a row.
func (c *leafColumn) plainPages() []byte {
	if len(c.at.chunks) != 1 || format.CompressionCodec(c.at.chunks[0].codec) != format.Uncompressed || c.at.chunks[0].values != int64(c.rows) {
		return nil
	}
	return c.pages()
}

// isNaught reports whether a column of amounts says at once that it has nothing but zeros, as most have, which are stored alike.
func (f *File) isNaught(c *leafColumn) bool {
	pages, every := c.plainPages(), c.at.repetition+c.at.definition == 0
	if every && len(f.zeroPages) > 0 && bytes.Equal(pages, f.zeroPages) {
		return true
	}
	u, ok := c.uniform()
	if !ok || u.none || u.bits() != 0 {
		return false
	}
	if every {
		f.zeroPages = pages
	}
	return true
}

// leaf reads a leaf. A file of an older version may lack it: then ok is false.
func (f *File) leaf(kind parquet.Kind, path ...string) (l *leaf, ok bool, err error) {
	c, ok, err := f.column(kind, path...)
	if err != nil || !ok {
		return nil, false, err
	}
	l, err = c.whole(f)
	return l, true, err
}

// whole reads all of the column, or has it of a file before.
func (c *leafColumn) whole(f *File) (*leaf, error) {
	if cached, err := c.cached(f.reader); cached != nil || err != nil {
		return cached, err
	}
	l := &leaf{}
	return l, c.read(f.reader, &f.budget, l, everyRow)
}

// rowSpan are the rows from one to another, which it does not have.
type rowSpan struct{ from, to int }

var everyRow = rowSpan{0, math.MaxInt}

// within are those of n values that come after others which are of the rows.
func (s rowSpan) within(before int64, n int) (from, to int) {
	return min(max(s.from-int(before), 0), n), min(max(s.to-int(before), 0), n)
}

// read reads those rows of the column into a leaf: of amounts that all have; of strings that all have, those before the last,
// for they may be given by what they have in common with the ones before; of others, all.
func (c *leafColumn) read(r *reader, b *budget, l *leaf, rows rowSpan) error {
	before := int64(0)
	for k := range c.at.chunks {
		part := chunk{to: l, reader: r, budget: b, at: &c.at.chunks[k], kind: c.at.kind, repeated: c.at.repetition > 0, optional: c.at.definition > 0, rows: rows, before: before}
		before += part.at.values
		if n := part.at.values; n < 0 || n > maxLeafValues || !part.repeated && n != part.at.rows {
			return fmt.Errorf("column %s: it says to have %d values of %d rows", c.name, n, part.at.rows)
		}
		if err := part.read(c.data); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return nil
}

// expect checks that there are so many values, which should be one a row.
func (c *leafColumn) expect(values int) error {
	if values != c.rows {
		return fmt.Errorf("column %s: it has %d values of %d rows", c.name, values, c.rows)
	}
	return nil
}

// addZeros adds n zeros.
func (l *leaf) addZeros(n int) {
	if len(l.numbers) == 0 {
		l.zeros += n
	} else {
		l.numbers = append(l.numbers, make([]float64, n)...)
	}
}

// begin makes room for n numbers, and has the zeros before them among them.
func (l *leaf) begin(n int) {
	if l.zeros > 0 {
		l.numbers = slices.Grow(l.numbers, l.zeros+n)[:l.zeros]
		clear(l.numbers)
		l.zeros = 0
	}
	l.numbers = slices.Grow(l.numbers, n)
}

// more makes room for n numbers, which are to be set.
func (l *leaf) more(n int) []float64 {
	l.begin(n)
	at := len(l.numbers)
	l.numbers = l.numbers[:at+n]
	return l.numbers[at:]
}

// amounts are the numbers, nil where all are 0, and how many there are.
func (l *leaf) amounts() ([]float64, int) { return l.numbers, len(l.numbers) + l.zeros }

// all are the numbers, zeros among them.
func (l *leaf) all() []float64 {
	l.begin(0)
	return l.numbers
}

// maybe are the numbers of an optional leaf, NaN where they are null.
func (l *leaf) maybe() ([]float64, error) {
	have, n := len(l.all()), len(l.definition)
	if nulls := bytes.Count(l.definition, []byte{0}); have != n-nulls {
		return nil, errors.New("it has not as many values as its levels say")
	}
	l.numbers = slices.Grow(l.numbers, n-have)[:n]
	for i := n - 1; have < i+1; i-- { // from behind, for they are where the numbers were
		if l.definition[i] == 0 {
			l.numbers[i] = math.NaN()
			continue
		}
		have--
		l.numbers[i] = l.numbers[have]
	}
	return l.numbers, nil
}

// texts makes a leaf of strings, one for each row, of the values of an optional one, which value appends; where there is none
// it is empty.
func (l *leaf) texts(values int, value func(dst []byte, i int) []byte) (*leaf, error) {
	const usual = 36 // bytes of a value
	out := &leaf{idx: make([]int32, len(l.definition)), table: texts{make([]byte, 0, usual*values), make([]int32, 1, 1+values)}}
	for i := range values {
		out.table.data = value(out.table.data, i)
		if err := out.table.end(); err != nil {
			return nil, err
		}
	}
	next := int32(0)
	for i, level := range l.definition {
		if level > 0 {
			next++
			out.idx[i] = next
		}
	}
	if int(next) != values {
		return nil, errors.New("it has not as many values as its levels say")
	}
	return out, nil
}

// ends are where the elements of each of n rows end in the values of a repeated leaf. They may lie in the memory given, or
// in that of a cached leaf, so nobody may change them.
func (l *leaf) ends(ends []int32, n, values int) ([]int32, error) {
	if len(l.runs) == n && n > 0 && int(l.runs[n-1]) == values {
		return l.runs, nil
	}
	levels := l.definition
	if len(l.repetition) != len(levels) {
		return nil, errors.New("its levels are of different lengths")
	}
	if len(levels) > 0 && l.repetition[0] > 0 {
		return nil, errors.New("it begins within a row")
	}
	if rows := bytes.Count(l.repetition, []byte{0}); rows != n {
		return nil, fmt.Errorf("it has %d rows of %d", rows, n)
	}
	ends = slices.Grow(ends[:0], n)[:n]
	count, row := int32(0), -1
	if n == len(levels) { // no row has more than one
		for i, level := range levels {
			count += int32(level)
			ends[i] = count
		}
		levels = nil
	}
	for i, level := range levels {
		row += 1 - int(l.repetition[i])
		count += int32(level)
		ends[row] = count
	}
	if int(count) != values {
		return nil, fmt.Errorf("it has %d values of %d", values, count)
	}
	return ends, nil
}

// internMaps gives the maps of the rows their ids.
func (m *mapLeaf) internMaps(dict *allocation.Dict) []allocation.ID {
	key, value := m.keys.ids(dict), m.values.ids(dict)
	var pairs []allocation.Pair
	return internRows(m.ends, []*leaf{m.keys, m.values}, func(from, to int32) allocation.ID {
		if !m.keys.ascend(from, to) { // promcost has not written them so
			return m.add(dict, from, to)
		}
		pairs = pairs[:0]
		for i := from; i < to; i++ {
			pairs = append(pairs, allocation.Pair{Key: key(i), Value: value(i)})
		}
		return dict.AddPairs(pairs)
	})
}

// ids gives values of the leaf their ids, those of the same index once.
func (l *leaf) ids(dict *allocation.Dict) func(i int32) allocation.ID {
	const unknown = ^allocation.ID(0)
	table := slices.Repeat([]allocation.ID{unknown}, len(l.table.ends))
	return func(i int32) allocation.ID {
		id := &table[l.idx[i]]
		if *id == unknown {
			*id = dict.AddBytes(l.text(int(i)))
		}
		return *id
	}
}

// ascend reports whether each value from one to another is greater than the one before it.
func (l *leaf) ascend(from, to int32) bool {
	for i := from + 1; i < to; i++ {
		if bytes.Compare(l.text(int(i-1)), l.text(int(i))) >= 0 {
			return false
		}
	}
	return true
}
