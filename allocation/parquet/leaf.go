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

// leaf is the data of a leaf column. Strings are indices, idx, into table.
type leaf struct {
	repetition, definition []byte
	idx                    []int32
	table                  texts
	numbers                []float64
	ints                   []int64
	bools                  []bool
	fixed                  []byte                        // UUIDs, one after another
	runs                   []int32                       // where the elements of each row end; of cached columns only
	interned               *atomic.Pointer[internedMaps] // of cached columns with the values of maps; else nil
}

// texts are strings, one after another.
type texts struct {
	data []byte
	ends []int32
}

// text returns the i-th string.
func (t *texts) text(i int32) []byte {
	from := int32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.data[from:t.ends[i]]
}

// strings returns all strings, in one piece of memory.
func (t *texts) strings() []string {
	text, out := string(t.data), make([]string, len(t.ends))
	from := int32(0)
	for i, end := range t.ends {
		out[i], from = text[from:end], end
	}
	return out
}

// end ends a string that was appended to data.
func (t *texts) end() error {
	t.ends = append(t.ends, int32(len(t.data)))
	return t.limit()
}

// limit refuses more data than ends can index.
func (t *texts) limit() error {
	if len(t.data) > math.MaxInt32 {
		return errors.New("it has more than 2 GiB of strings")
	}
	return nil
}

// text is the value of a row.
func (l *leaf) text(row int) []byte { return l.table.text(l.idx[row]) }

// reset empties a leaf and keeps its memory.
func (l *leaf) reset() *leaf {
	*l = leaf{
		repetition: l.repetition[:0], definition: l.definition[:0], idx: l.idx[:0], table: texts{l.table.data[:0], l.table.ends[:0]},
		numbers: l.numbers[:0], ints: l.ints[:0], bools: l.bools[:0], fixed: l.fixed[:0],
	}
	return l
}

// leafColumn is a leaf column of a file.
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

// pages returns the pages of a column. It returns nil if there are several row groups, or if the pages do not lie within the file.
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

// uncompressedPages returns the pages of a column that is not compressed and has one value a row, nil for others.
func (c *leafColumn) uncompressedPages() []byte {
	if len(c.at.chunks) != 1 || format.CompressionCodec(c.at.chunks[0].codec) != format.Uncompressed || c.at.chunks[0].values != int64(c.rows) {
		return nil
	}
	return c.pages()
}

// isZero reports whether the pages of a column of amounts show that all are 0, without decoding. Most columns are, and are stored
// alike.
func (f *File) isZero(c *leafColumn) bool {
	pages, every := c.uncompressedPages(), c.at.repetition+c.at.definition == 0
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

// whole returns the column from the cache, or reads it.
func (c *leafColumn) whole(f *File) (*leaf, error) {
	if cached, err := c.cached(f.reader); cached != nil || err != nil {
		return cached, err
	}
	l := &leaf{}
	return l, c.read(f.reader, &f.budget, l, everyRow)
}

// everyRow says that all rows are needed.
const everyRow = math.MaxInt

// read reads the column into a leaf. Of a column with one value a row, it may leave out pages of rows from need on.
func (c *leafColumn) read(r *reader, b *budget, l *leaf, need int) error {
	before := int64(0)
	for k := range c.at.chunks {
		part := chunk{to: l, reader: r, budget: b, at: &c.at.chunks[k], kind: c.at.kind, repeated: c.at.repetition > 0, optional: c.at.definition > 0, need: int64(need) - before}
		before += part.at.values
		if n := part.at.values; n < 0 || n > maxLeafValues || !part.repeated && n != part.at.rows {
			return fmt.Errorf("column %s: it claims %d values of %d rows", c.name, n, part.at.rows)
		}
		if err := part.read(c.data); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return nil
}

// expect checks that there is one value a row.
func (c *leafColumn) expect(values int) error {
	if values != c.rows {
		return fmt.Errorf("column %s: it has %d values of %d rows", c.name, values, c.rows)
	}
	return nil
}

// optionals returns the numbers of an optional leaf, NaN for null.
func (l *leaf) optionals() ([]float64, error) {
	have, n := len(l.numbers), len(l.definition)
	if nulls := bytes.Count(l.definition, []byte{0}); have != n-nulls {
		return nil, errors.New("it has not as many values as its levels say")
	}
	l.numbers = slices.Grow(l.numbers, n-have)[:n]
	for i := n - 1; have < i+1; i-- { // backwards, in the memory of the numbers
		if l.definition[i] == 0 {
			l.numbers[i] = math.NaN()
			continue
		}
		have--
		l.numbers[i] = l.numbers[have]
	}
	return l.numbers, nil
}

// texts returns a leaf with a string for each row of an optional leaf. value appends the i-th value. Null becomes an empty string.
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

// ends returns where the elements of each of n rows end in a repeated leaf. The result may use the memory given, or belong to a
// cached leaf: it must not be changed.
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

// internMaps returns the ids of the rows' maps.
func (m *mapLeaf) internMaps(dict *allocation.Dict) []allocation.ID {
	key, value := m.keys.ids(dict), m.values.ids(dict)
	var pairs []allocation.Pair
	return internRows(m.ends, []*leaf{m.keys, m.values}, func(from, to int32) allocation.ID {
		if !m.keys.ascend(from, to) { // not written by promcost
			return m.add(dict, from, to)
		}
		pairs = pairs[:0]
		for i := from; i < to; i++ {
			pairs = append(pairs, allocation.Pair{Key: key(i), Value: value(i)})
		}
		return dict.AddPairs(pairs)
	})
}

// ids returns a function that returns the id of a value. It interns each entry of the table once.
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

// ascend reports whether the values [from, to) are strictly ascending.
func (l *leaf) ascend(from, to int32) bool {
	for i := from + 1; i < to; i++ {
		if bytes.Compare(l.text(int(i-1)), l.text(int(i))) >= 0 {
			return false
		}
	}
	return true
}
