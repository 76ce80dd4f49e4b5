package billing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetReader reads the rows of a Parquet file. A page of every column is in memory at a time.
type parquetReader struct {
	bill    string
	to      sink
	layout  *layout
	columns []*parquet.Column // by number in the layout; nil for columns that are not read
	texts   []*textCursor     // of the item's columns, in the order of the key
	byName  map[int]*textCursor
	numbers [numAmounts]*numberCursor // nil for columns that are not there
	times   [2]*numberCursor
	items   map[string]uint32 // by the numbers of the texts
	epoch   int               // of the sink
	changed []bool            // rows that are available and have other texts than the row before
	key     []byte
	item    uint32 // of the row before
	amounts numbers
	full    []byte
	row     int64 // of the file, from 1
	handing bool  // a row is with the sink
}

// readParquet reads a Parquet file into a sink.
func readParquet(in io.ReaderAt, size int64, bill string, to sink) (err error) {
	r := &parquetReader{bill: bill, to: to, items: map[string]uint32{}, byName: map[int]*textCursor{}, epoch: -1}
	defer func() {
		if r.handing {
			return // what panics is not this
		}
		if p := recover(); p != nil { // the library panics at some damage
			err = fmt.Errorf("it is damaged: %v", p)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file may be mapped, and be cut meanwhile
	f, err := openParquet(in, size)
	if err != nil {
		return err
	}
	if err := r.open(f); err != nil {
		return err
	}
	for _, group := range f.RowGroups() {
		if err := r.group(group); err != nil {
			return err
		}
	}
	return nil
}

// openParquet reads the footer of a file.
func openParquet(in io.ReaderAt, size int64) (*parquet.File, error) {
	if err := checkTail(in, size); err != nil {
		return nil, fmt.Errorf("it is no whole Parquet file: %w", err)
	}
	f, err := parquet.OpenFile(in, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true), parquet.ReadBufferSize(1<<18))
	if err != nil {
		return nil, fmt.Errorf("it is no whole Parquet file: %w", err)
	}
	for i, group := range f.Metadata().RowGroups {
		for k := range group.Columns {
			meta := &group.Columns[k].MetaData
			if meta.Codec == format.Lz4Raw { // whose decoder takes any memory for damaged data
				return nil, errors.New("it is compressed with LZ4, which is not read: write it with Snappy, gzip or zstd")
			}
			if meta.TotalCompressedSize < 0 || meta.TotalCompressedSize > size || meta.TotalUncompressedSize > maxShrunk*meta.TotalCompressedSize+1<<20 {
				return nil, fmt.Errorf("it is damaged: column %s of row group %d says to have %d bytes in %d", strings.Join(meta.PathInSchema, "."), i, meta.TotalUncompressedSize, meta.TotalCompressedSize)
			}
		}
	}
	return f, nil
}

// checkTail refuses a file whose end names a longer footer than there is, which the library would take memory for.
func checkTail(in io.ReaderAt, size int64) error {
	const most = 64 << 20
	var tail [8]byte
	if size < int64(len("PAR1")+len(tail)) {
		return fmt.Errorf("it has %d bytes", size)
	}
	if n, err := in.ReadAt(tail[:], size-int64(len(tail))); n < len(tail) {
		return err
	}
	if footer := int64(binary.LittleEndian.Uint32(tail[:4])); string(tail[4:]) != "PAR1" || footer > size-int64(len(tail)) || footer > most {
		return fmt.Errorf("its end is %q: it may be cut", tail)
	}
	return nil
}

// maxShrunk is how many times smaller compression makes columns at most; files that claim more are damaged, or an attack.
const maxShrunk = 5000

// open finds the columns.
func (r *parquetReader) open(f *parquet.File) error {
	columns := f.Root().Columns()
	names := make([]string, len(columns))
	for i, c := range columns {
		if c.Leaf() && !c.Repeated() || tagLeaves(c) != nil {
			names[i] = c.Name()
		}
	}
	var err error
	if r.layout, err = newLayout(names); err != nil {
		return err
	}
	r.columns = columns
	for i, of := range r.layout.columns {
		for _, column := range of {
			c := &textCursor{pageReader: pageReader{column: columns[column]}, leaves: tagLeaves(columns[column])}
			if c.leaves != nil && r.layout.fields[i].column() != "Tags" {
				return fmt.Errorf("column %s is a map: want a text", names[column])
			}
			r.texts, r.byName[column] = append(r.texts, c), c
		}
	}
	for i, column := range r.layout.amounts {
		if column >= 0 {
			r.numbers[i] = &numberCursor{pageReader: pageReader{column: columns[column]}, convert: decodeNumbers}
		}
	}
	r.times = [2]*numberCursor{
		{pageReader: pageReader{column: columns[r.layout.start]}, convert: decodeTimes}, {pageReader: pageReader{column: columns[r.layout.end]}, convert: decodeTimes},
	}
	return nil
}

// tagLeaves returns the leaves with the names and the values of a map or of a list of pairs, nil for other columns.
func tagLeaves(c *parquet.Column) []*parquet.Column {
	var leaves []*parquet.Column
	var find func(*parquet.Column)
	find = func(c *parquet.Column) {
		if c.Leaf() {
			leaves = append(leaves, c)
		}
		for _, child := range c.Columns() {
			find(child)
		}
	}
	find(c)
	if c.Leaf() || len(leaves) != 2 || leaves[0].MaxRepetitionLevel() != 1 || leaves[1].MaxRepetitionLevel() != 1 {
		return nil
	}
	return leaves
}

// cursor is a column of a row group that is read page by page.
type cursor interface {
	begin(parquet.RowGroup)
	// fill makes at least one row available, and reports how many are. changed says that numbers of texts mean others now.
	fill() (rows int, changed bool, err error)
	end()
}

// openColumn is a column that is being read, and where its reader stands.
type openColumn struct {
	cursor
	page *pageReader
}

// cursors are all columns that are read.
func (r *parquetReader) cursors() []openColumn {
	var all []openColumn
	for _, c := range r.texts {
		all = append(all, openColumn{c, &c.pageReader})
	}
	for _, c := range slices.Concat(r.numbers[:], r.times[:]) {
		if c != nil {
			all = append(all, openColumn{c, &c.pageReader})
		}
	}
	return all
}

// group reads the rows of a row group.
func (r *parquetReader) group(group parquet.RowGroup) error {
	all := r.cursors()
	for _, c := range all {
		c.begin(group)
		defer c.end()
	}
	clear(r.items)
	for left := group.NumRows(); left > 0; {
		n := left
		for _, c := range all {
			rows, changed, err := c.fill()
			if err != nil {
				return r.fillError(c.page.column.Name(), err)
			}
			if changed {
				clear(r.items)
			}
			n = min(n, int64(rows))
		}
		r.findChanges(int(n))
		for i := range int(n) {
			r.row++
			if err := r.line(i); err != nil {
				return atRow(err, r.row)
			}
		}
		for _, c := range all {
			c.page.at += int(n)
		}
		left -= n
	}
	return nil
}

// fillError says which column could not be read, and in which row where that is known.
func (r *parquetReader) fillError(column string, err error) error {
	if value, ok := errors.AsType[*valueError](err); ok {
		return &cellError{row: r.row + 1 + int64(value.row), column: column, err: value.err}
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it has fewer rows than others")
	}
	return fmt.Errorf("column %s after row %d: %w", column, r.row, err)
}

// findChanges marks which of the rows that are available have other texts than the row before. Rows of one thing often follow each other.
func (r *parquetReader) findChanges(n int) {
	r.changed = append(r.changed[:0], make([]bool, n)...)
	r.changed[0] = true
	for _, c := range r.texts {
		if c.constant() {
			continue
		}
		ids := c.ids[c.at : c.at+n]
		for i := 1; i < n; i++ {
			if ids[i] != ids[i-1] {
				r.changed[i] = true
			}
		}
	}
}

// line hands on the i-th of the rows that are available.
func (r *parquetReader) line(i int) error {
	epoch := r.to.epoch()
	if epoch != r.epoch {
		clear(r.items)
	}
	if epoch != r.epoch || r.changed[i] {
		r.epoch = epoch
		if err := r.findItem(i); err != nil {
			return err
		}
	}
	for k, c := range r.numbers {
		r.amounts[k] = math.NaN()
		if c != nil {
			r.amounts[k] = c.values[c.at+i]
		}
	}
	var times [2]float64
	for k, c := range r.times {
		if times[k] = c.values[c.at+i]; math.IsNaN(times[k]) {
			return &cellError{column: c.column.Name(), err: errNull}
		}
	}
	r.handing = true
	err := r.to.add(r.item, int64(times[0]), int64(times[1]), &r.amounts)
	r.handing = false
	return err
}

// findItem finds the item of a row by the numbers of its texts, and by the texts where those are new.
func (r *parquetReader) findItem(i int) error {
	r.key = r.key[:0]
	for _, c := range r.texts {
		r.key = binary.LittleEndian.AppendUint32(r.key, c.id(i))
	}
	item, ok := r.items[string(r.key)]
	if !ok {
		var err error
		if item, err = r.newItem(i); err != nil {
			return err
		}
		if len(r.items) >= maxShortcuts {
			clear(r.items)
		}
		r.items[string(r.key)] = item
	}
	r.item = item
	return nil
}

// maxShortcuts bounds the items that are found without their texts.
const maxShortcuts = 1 << 16

// newItem finds the item of a row by its texts.
func (r *parquetReader) newItem(i int) (uint32, error) {
	r.full = r.full[:0]
	for _, c := range r.texts {
		text := c.text(i)
		r.full = binary.AppendUvarint(r.full, uint64(len(text)))
		r.full = append(r.full, text...)
	}
	return r.to.item(r.full, func() (*Item, error) {
		return r.layout.item(r.bill, func(column int) string { return r.byName[column].text(i) }, func(column int) string { return r.columns[column].Name() })
	})
}
