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
	Late       []allocation.Property // as allocation.Frame has them
	Columns    []allocation.Column
	Volumes    bool // what rows have of volumes
	Balancers  bool // and of load balancers
	// WithoutAssets leaves out all assets.
	WithoutAssets bool
}

// wants reports whether a column is to be read.
func (p *Projection) property(x allocation.Property) bool {
	return p == nil || slices.Contains(p.Properties, x) || p.late(x)
}

func (p *Projection) late(x allocation.Property) bool {
	return p != nil && slices.Contains(p.Late, x)
}

func (p *Projection) column(c allocation.Column) bool {
	return p == nil || slices.Contains(p.Columns, c)
}
func (p *Projection) volumes() bool   { return p == nil || p.Volumes }
func (p *Projection) balancers() bool { return p == nil || p.Balancers }

// ParquetReader reads files, one after the other: it keeps the memory that each needs for a while. It is used by one goroutine
// at a time.
type ParquetReader struct {
	zstd    *zstd.Decoder
	indices []int32
	pages   [2][]byte // of a dictionary and of values, uncompressed
}

// NewParquetReader returns a reader.
func NewParquetReader() (*ParquetReader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPageBytes), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("open Parquet files: %w", err)
	}
	return &ParquetReader{zstd: z}, nil
}

// ParquetFile is a file of rows or assets, to be read before its reader opens another one.
type ParquetFile struct {
	Footer *Footer
	Rows   int
	data   []byte
	layout *layout
	reader *ParquetReader
	budget budget
}

// OpenParquet opens a file with a reader of its own.
func OpenParquet(data []byte) (*ParquetFile, error) {
	r, err := NewParquetReader()
	if err != nil {
		return nil, err
	}
	return r.Open(data)
}

// Open reads the footer of a file that Parquet wrote. The data must not change while the file is in use. What is no such file
// is an error, ErrNewerVersion where it is of a newer version.
func (r *ParquetReader) Open(data []byte) (f *ParquetFile, err error) {
	defer func() { err = guard(recover(), err) }()
	layout, err := readLayout(data)
	if err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
	if !layout.marked {
		return nil, fmt.Errorf("open Parquet file: its footer has no %q: promcost has not written it", footerKey)
	}
	footer, err := decodeFooter(layout.footer)
	if err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
	f = &ParquetFile{Footer: footer, Rows: int(layout.rows), data: data, layout: layout, reader: r, budget: newBudget(len(data))}
	if err := f.limit(); err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
	return f, nil
}

// limit refuses what is too large to be true.
func (f *ParquetFile) limit() error {
	if n := f.layout.rows; n < 0 || n > maxFileRows {
		return fmt.Errorf("it says to have %d rows, at most %d are read", n, maxFileRows)
	}
	rows, size := int64(0), int64(0)
	for _, group := range f.layout.groups {
		for i := range group {
			n := group[i].uncompressed
			if n < 0 || size+n > maxFileBytes {
				return fmt.Errorf("its columns say to have more than %d bytes", int64(maxFileBytes))
			}
			size += n
		}
		if len(group) > 0 {
			rows += group[0].rows
		}
	}
	if rows != f.layout.rows {
		return fmt.Errorf("it says to have %d rows, its groups %d", f.layout.rows, rows)
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
	zeros                  int // that come before the numbers
	ints                   []int64
	bools                  []bool
	fixed                  []byte // UUIDs, one after the other
}

// leaf reads a leaf. A file of an older version may lack it: then ok is false.
func (f *ParquetFile) leaf(kind parquet.Kind, path ...string) (l *leaf, ok bool, err error) {
	name := path[0]
	if len(path) > 1 {
		name = strings.Join(path, ".")
	}
	i, ok := f.layout.byPath[name]
	if !ok {
		return nil, false, nil
	}
	at := &f.layout.leaves[i]
	if at.kind != kind {
		return nil, false, fmt.Errorf("column %s: its type is %s, not %s", name, at.kind, kind)
	}
	if at.repetition > 1 || at.definition > 1 {
		return nil, false, fmt.Errorf("column %s: it is nested more deeply than any that is written", name)
	}
	l = &leaf{}
	for k := range at.chunks {
		c := chunk{to: l, reader: f.reader, budget: &f.budget, at: &at.chunks[k], kind: kind, repeated: at.repetition > 0, optional: at.definition > 0}
		if n := c.at.values; n < 0 || n > maxLeafValues || !c.repeated && n != c.at.rows {
			return nil, false, fmt.Errorf("column %s: it says to have %d values of %d rows", name, n, c.at.rows)
		}
		if err := c.read(f.data); err != nil {
			return nil, false, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return l, true, nil
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
		l.numbers, l.zeros = make([]float64, l.zeros, l.zeros+n), 0
	}
	l.numbers = slices.Grow(l.numbers, n)
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
	numbers := l.all()
	if bytes.IndexByte(l.definition, 0) < 0 && len(numbers) == len(l.definition) {
		return numbers, nil
	}
	out := make([]float64, len(l.definition))
	next := 0
	for i, level := range l.definition {
		if level == 0 {
			out[i] = math.NaN()
			continue
		}
		if next >= len(numbers) {
			return nil, errors.New("it has too few values")
		}
		out[i] = numbers[next]
		next++
	}
	return out, nil
}

// texts makes a leaf of strings, one for each row, of the values of an optional one, which value appends; where there is none
// it is empty.
func (l *leaf) texts(values int, value func(dst []byte, i int) []byte) (*leaf, error) {
	out := &leaf{idx: make([]int32, len(l.definition)), table: make([]string, 1, 1+values)}
	const usual = 36 // bytes of a value
	all := make([]byte, 0, usual*values)
	ends := make([]int, 0, values)
	for i := range values {
		all = value(all, i)
		ends = append(ends, len(all))
	}
	text, from := string(all), 0
	for _, end := range ends {
		out.table, from = append(out.table, text[from:end]), end
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
