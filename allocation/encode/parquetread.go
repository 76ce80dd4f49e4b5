package encode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/promcost/promcost/allocation"
)

// Limits of what is read, well above all that is written: a file that says more is damaged.
const (
	maxFileRows  = 1 << 24 // rows of a file
	maxFileBytes = 1 << 32 // bytes of a file's columns, uncompressed
)

// Projection says which columns of rows are read; what is left out is missing or zero in the set. nil is all of them.
type Projection struct {
	Properties []allocation.Property
	Columns    []allocation.Column
	Volumes    bool // what rows have of volumes
	Balancers  bool // and of load balancers
}

// wants reports whether a column is to be read.
func (p *Projection) property(x allocation.Property) bool {
	return p == nil || slices.Contains(p.Properties, x)
}

func (p *Projection) column(c allocation.Column) bool {
	return p == nil || slices.Contains(p.Columns, c)
}
func (p *Projection) volumes() bool   { return p == nil || p.Volumes }
func (p *Projection) balancers() bool { return p == nil || p.Balancers }

// ParquetFile is a file of rows or assets, to be read.
type ParquetFile struct {
	Footer *Footer
	Rows   int
	file   *parquet.File
	leaves map[string]int // by path
}

// OpenParquet reads the footer of a file that Parquet wrote. The data must not change while the file is in use. What is
// no such file is an error, ErrNewerVersion where it is of a newer version.
func OpenParquet(data []byte) (f *ParquetFile, err error) {
	defer func() { err = guard(recover(), err) }()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
	text, ok := file.Lookup(footerKey)
	if !ok {
		return nil, fmt.Errorf("open Parquet file: its footer has no %q: promcost has not written it", footerKey)
	}
	footer, err := decodeFooter(text)
	if err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
	f = &ParquetFile{Footer: footer, Rows: int(file.NumRows()), file: file, leaves: map[string]int{}}
	if err := f.limit(); err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
	for i, path := range file.Schema().Columns() {
		f.leaves[strings.Join(path, ".")] = i
	}
	return f, nil
}

// limit refuses what is too large to be true.
func (f *ParquetFile) limit() error {
	if n := f.file.NumRows(); n < 0 || n > maxFileRows {
		return fmt.Errorf("it says to have %d rows, at most %d are read", n, maxFileRows)
	}
	rows, size := int64(0), int64(0)
	for _, group := range f.file.Metadata().RowGroups {
		rows += group.NumRows
		for i := range group.Columns {
			n := group.Columns[i].MetaData.TotalUncompressedSize
			if n < 0 || size+n > maxFileBytes {
				return fmt.Errorf("its columns say to have more than %d bytes", int64(maxFileBytes))
			}
			size += n
		}
	}
	if rows != f.file.NumRows() {
		return fmt.Errorf("it says to have %d rows, its groups %d", f.file.NumRows(), rows)
	}
	return nil
}

// guard turns a panic of the decoder, as damaged data may cause, into an error.
func guard(panicked any, err error) error {
	if panicked != nil {
		return fmt.Errorf("read Parquet file: it is damaged: %v", panicked)
	}
	return err
}

// leaf is the data of a leaf column. Of strings idx are the values in table.
type leaf struct {
	repetition, definition []byte
	idx                    []int32
	table                  []string
	numbers                []float64
	ints                   []int64
	bools                  []bool
}

// leaf reads a leaf. A file of an older version may lack it: then ok is false.
func (f *ParquetFile) leaf(kind parquet.Kind, path ...string) (l *leaf, ok bool, err error) {
	i, ok := f.leaves[strings.Join(path, ".")]
	if !ok {
		return nil, false, nil
	}
	l = &leaf{}
	for _, group := range f.file.RowGroups() {
		chunk := group.ColumnChunks()[i]
		if got := chunk.Type().Kind(); got != kind {
			return nil, false, fmt.Errorf("column %s: its type is %s, not %s", strings.Join(path, "."), got, kind)
		}
		if err := l.readChunk(chunk); err != nil {
			return nil, false, fmt.Errorf("column %s: %w", strings.Join(path, "."), err)
		}
	}
	return l, true, nil
}

func (l *leaf) readChunk(chunk parquet.ColumnChunk) error {
	pages := chunk.Pages()
	defer pages.Close()
	base := int32(len(l.table))
	inTable := false
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		l.repetition = append(l.repetition, page.RepetitionLevels()...)
		l.definition = append(l.definition, page.DefinitionLevels()...)
		if dict := page.Dictionary(); dict != nil {
			err = l.readIndexed(page, dict, &inTable, base)
		} else {
			err = l.readPlain(page)
		}
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
}

// readIndexed reads a page of indices into a dictionary.
func (l *leaf) readIndexed(page parquet.Page, dict parquet.Dictionary, inTable *bool, base int32) error {
	n := int32(dict.Len())
	values := dict.Page().Data()
	numbers := page.Data()
	indices := numbers.Int32()
	for _, i := range indices {
		if i < 0 || i >= n {
			return fmt.Errorf("value %d of a dictionary of %d", i, n)
		}
	}
	switch values.Kind() {
	case encoding.ByteArray:
		if !*inTable {
			*inTable = true
			l.table = append(l.table, texts(values)...)
		}
		for _, i := range indices {
			l.idx = append(l.idx, base+i)
		}
	case encoding.Double:
		of := values.Double()
		l.numbers = slices.Grow(l.numbers, len(indices))
		for _, i := range indices {
			l.numbers = append(l.numbers, of[i])
		}
	case encoding.Int64:
		of := values.Int64()
		for _, i := range indices {
			l.ints = append(l.ints, of[i])
		}
	default:
		return fmt.Errorf("dictionary of kind %v", values.Kind())
	}
	return nil
}

// readPlain reads a page of values.
func (l *leaf) readPlain(page parquet.Page) error {
	switch values := page.Data(); values.Kind() {
	case encoding.ByteArray:
		base := int32(len(l.table))
		l.table = append(l.table, texts(values)...)
		for i := range int32(len(l.table)) - base {
			l.idx = append(l.idx, base+i)
		}
	case encoding.Double:
		l.numbers = append(l.numbers, values.Double()...)
	case encoding.Int64:
		l.ints = append(l.ints, values.Int64()...)
	case encoding.Boolean:
		packed, n := values.Boolean(), page.NumValues()
		if levels := page.DefinitionLevels(); len(levels) > 0 {
			n = int64(len(levels) - bytes.Count(levels, []byte{0})) // it counts what is missing, too
		}
		for i := range n {
			if int(i/8) >= len(packed) {
				return errors.New("it has too few values")
			}
			l.bools = append(l.bools, packed[i/8]>>(i%8)&1 != 0)
		}
	default:
		return fmt.Errorf("values of kind %v", values.Kind())
	}
	return nil
}

// texts are the strings of values.
func texts(values encoding.Values) []string {
	data, offsets := values.ByteArray()
	if len(offsets) == 0 {
		return nil
	}
	all := string(data)
	out := make([]string, len(offsets)-1)
	for i := range out {
		out[i] = all[offsets[i]:offsets[i+1]]
	}
	return out
}

// maybe are the numbers of an optional leaf, NaN where they are null.
func (l *leaf) maybe() ([]float64, error) {
	out := make([]float64, len(l.definition))
	next := 0
	for i, level := range l.definition {
		if level == 0 {
			out[i] = math.NaN()
			continue
		}
		if next >= len(l.numbers) {
			return nil, errors.New("it has too few values")
		}
		out[i] = l.numbers[next]
		next++
	}
	return out, nil
}

// ends are where the elements of each of n rows end in the values of a repeated leaf.
func (l *leaf) ends(n, values int) ([]int32, error) {
	if len(l.repetition) != len(l.definition) {
		return nil, errors.New("its levels are of different lengths")
	}
	ends := make([]int32, 0, n)
	count := int32(0)
	for i, level := range l.repetition {
		if level == 0 {
			ends = append(ends, count)
		}
		if l.definition[i] > 0 {
			count++
		}
		if len(ends) == 0 {
			return nil, errors.New("it begins within a row")
		}
		ends[len(ends)-1] = count
	}
	if len(ends) != n || int(count) != values {
		return nil, fmt.Errorf("it has %d rows of %d and %d values of %d", len(ends), n, values, count)
	}
	return ends, nil
}
