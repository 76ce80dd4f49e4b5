package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Table reads a file that any program may have written, some rows at a time. A page of each column that is read is in memory.
type Table struct {
	file    *parquet.File
	forms   *Forms
	columns []*parquet.Column
	reading []openColumn
	row     int64 // number of rows before those that are available
}

// columnReader reads a column of a row group page by page.
type columnReader interface {
	begin(parquet.RowGroup)
	// fill makes at least one row available, and reports how many are. changed says that ids now stand for other texts than before.
	fill() (rows int, changed bool, err error)
	end()
}

// openColumn is a column that is being read, and where its reader stands.
type openColumn struct {
	columnReader
	page *pageReader
}

// OpenTable reads the footer of a file. The file may be mapped, and be cut meanwhile.
func OpenTable(in io.ReaderAt, size int64, forms *Forms) (t *Table, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil { // the library panics at some damage
			err = fmt.Errorf("it is damaged: %v", p)
		}
	}()
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
				return nil, fmt.Errorf("it is damaged: column %s of row group %d claims %d bytes in %d", strings.Join(meta.PathInSchema, "."), i, meta.TotalUncompressedSize, meta.TotalCompressedSize)
			}
		}
	}
	return &Table{file: f, forms: forms, columns: f.Root().Columns()}, nil
}

// checkTail refuses a file whose end names a longer footer than there is, which the library would take memory for.
func checkTail(in io.ReaderAt, size int64) error {
	const most = 64 << 20
	var tail [8]byte
	if size < int64(len(magic)+len(tail)) {
		return fmt.Errorf("it has %d bytes", size)
	}
	if n, err := in.ReadAt(tail[:], size-int64(len(tail))); n < len(tail) {
		return err
	}
	if footer := int64(binary.LittleEndian.Uint32(tail[:4])); string(tail[4:]) != magic || footer > size-int64(len(tail)) || footer > most {
		return fmt.Errorf("its end is %q: it may be cut", tail)
	}
	return nil
}

// maxShrunk is how many times smaller compression makes columns at most; files that claim more are damaged, or an attack.
const maxShrunk = 5000

// Name returns the name of a column.
func (t *Table) Name(column int) string { return t.columns[column].Name() }

// Names returns the names of the columns that can be read: those with at most one value a row, and those of pairs. The others are empty.
func (t *Table) Names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		if c.Leaf() && !c.Repeated() || t.HasPairs(i) {
			names[i] = c.Name()
		}
	}
	return names
}

// HasPairs reports whether a column is a map or a list of pairs.
func (t *Table) HasPairs(column int) bool { return pairLeaves(t.columns[column]) != nil }

// Texts returns the texts of a column, which Read then reads.
func (t *Table) Texts(column int) *Texts {
	c := &Texts{pageReader: pageReader{column: t.columns[column]}, forms: t.forms, leaves: pairLeaves(t.columns[column])}
	t.reading = append(t.reading, openColumn{c, &c.pageReader})
	return c
}

// Numbers returns the numbers of a column, which Read then reads.
func (t *Table) Numbers(column int) *Numbers { return t.numbers(column, t.forms.numbers) }

// Times returns the times of a column, which Read then reads.
func (t *Table) Times(column int) *Numbers { return t.numbers(column, t.forms.times) }

func (t *Table) numbers(column int, convert converter) *Numbers {
	c := &Numbers{pageReader: pageReader{column: t.columns[column]}, convert: convert}
	t.reading = append(t.reading, openColumn{c, &c.pageReader})
	return c
}

// pairLeaves returns the leaves with the names and the values of a map or of a list of pairs, nil for other columns.
func pairLeaves(c *parquet.Column) []*parquet.Column {
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

// Read makes rows available, and calls use, until there are no more. first is the number of the first of the rows, from 1. fresh says that
// ids now stand for other texts than before. An error of a value is a *ValueError.
func (t *Table) Read(use func(first int64, rows int, fresh bool) error) (err error) {
	using := false
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if using {
			return // what panics is not the library
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("it is damaged: %v", p)
		}
	}()
	for _, group := range t.file.RowGroups() {
		err := t.group(group, func(rows int, fresh bool) error {
			using = true
			err := use(t.row+1, rows, fresh)
			using = false
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// group reads the rows of a row group.
func (t *Table) group(group parquet.RowGroup, use func(rows int, fresh bool) error) error {
	for _, c := range t.reading {
		c.begin(group)
		defer c.end()
	}
	fresh := true
	for left := group.NumRows(); left > 0; {
		n := left
		for _, c := range t.reading {
			rows, changed, err := c.fill()
			if err != nil {
				return t.fillError(c.page.column.Name(), err)
			}
			fresh = fresh || changed
			n = min(n, int64(rows))
		}
		if err := use(int(n), fresh); err != nil {
			return err
		}
		fresh = false
		for _, c := range t.reading {
			c.page.at += int(n)
		}
		t.row, left = t.row+n, left-n
	}
	return nil
}

// fillError says which column could not be read, and in which row where that is known.
func (t *Table) fillError(column string, err error) error {
	if value, ok := errors.AsType[*ValueError](err); ok {
		return &ValueError{t.row + 1 + value.Row, column, value.Err}
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it has fewer rows than others")
	}
	return fmt.Errorf("column %s after row %d: %w", column, t.row, err)
}
