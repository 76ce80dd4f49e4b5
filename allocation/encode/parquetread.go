package encode

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// Limits of what is read, well above all that is written: a file that says more is damaged.
const (
	maxFileRows  = 1 << 20 // rows of a file: those of a cluster
	maxFileBytes = 1 << 31 // bytes of a file's columns, uncompressed
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
	data   []byte
	file   *parquet.File
	zstd   *zstd.Decoder
	// scratch is for what is read on the way: a file is decoded by one goroutine at a time.
	scratch []int32
	leaves  map[string]int // by path
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
	f = &ParquetFile{Footer: footer, Rows: int(file.NumRows()), data: data, file: file, leaves: map[string]int{}}
	if f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPageBytes)); err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
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
	name := strings.Join(path, ".")
	i, ok := f.leaves[name]
	if !ok {
		return nil, false, nil
	}
	schema, _ := f.file.Schema().Lookup(path...)
	if got := schema.Node.Type().Kind(); got != kind {
		return nil, false, fmt.Errorf("column %s: its type is %s, not %s", name, got, kind)
	}
	if schema.MaxRepetitionLevel > 1 || schema.MaxDefinitionLevel > 1 {
		return nil, false, fmt.Errorf("column %s: it is nested more deeply than any that is written", name)
	}
	l = &leaf{}
	for _, group := range f.file.Metadata().RowGroups {
		c := chunk{
			to: l, zstd: f.zstd, scratch: &f.scratch, meta: &group.Columns[i].MetaData, kind: kind, repeated: schema.MaxRepetitionLevel > 0, optional: schema.MaxDefinitionLevel > 0,
		}
		n := c.meta.NumValues
		if n < 0 || n > maxLeafValues || !c.repeated && n != group.NumRows {
			return nil, false, fmt.Errorf("column %s: it says to have %d values of %d rows", name, n, group.NumRows)
		}
		if err := c.read(f.data); err != nil {
			return nil, false, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return l, true, nil
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
