package parquet

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/promcost/promcost/allocation"
)

// Limits on files. They are well above what is written: a file beyond them is damaged.
const (
	maxFileRows  = 1 << 20 // rows of a file, which has one cluster
	maxFileBytes = 1 << 31 // bytes of a file's columns, uncompressed
)

// wanted says when something is read.
type wanted uint8

const (
	unwanted wanted = iota
	wantedNow
	wantedDeferred // when it is needed
)

// wantsProperty says when a property is read.
func wantsProperty(p *allocation.Projection, x allocation.Property) wanted {
	switch {
	case p == nil, slices.Contains(p.Properties, x):
		return wantedNow
	case slices.Contains(p.Deferred, x):
		return wantedDeferred
	}
	return unwanted
}

// Readers open files, and reuse memory between them. The zero value is ready for use. They are safe for concurrent use.
type Readers struct {
	idle  sync.Pool // of *reader
	cache columnCache
}

// reader has the scratch memory for reading. Only one goroutine at a time uses it.
type reader struct {
	zstd    *zstd.Decoder
	indices []int32
	levels  []byte
	text    []byte // strings, one after another
	offsets []uint32
	numbers []float64 // a dictionary
	pages   [2][]byte // of a dictionary and of values, uncompressed
	leaves  [2]leaf   // for deferred columns
	ends    []int32
	cache   *columnCache
}

// with calls f with a reader of its own, to read data of owner. It turns a panic or a memory fault, which damaged data may cause, into
// an error.
func (rs *Readers) with(owner any, f func(r *reader) error) (err error) {
	defer runtime.KeepAlive(owner)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(owner != nil))
	r, ok := rs.idle.Get().(*reader)
	if !ok {
		r = &reader{cache: &rs.cache}
		r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPageBytes), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return fmt.Errorf("read Parquet file: %w", err)
		}
	}
	defer func() {
		panicked := recover()
		if err = guard(panicked, err); panicked == nil {
			rs.idle.Put(r)
		}
	}()
	return f(r)
}

// File is a file of rows or assets. Deferred properties are read from its data later, so the data must not change.
type File struct {
	Footer    *Footer
	Rows      int
	data      []byte
	owner     any
	layout    *layout
	readers   *Readers
	reader    *reader // while the file is decoded
	budget    budget
	zeroPages []byte // the pages of a column of amounts that are all 0, once one is known
}

// Open reads the footer of a file that Write wrote. The data must not change while the file is in use. It may be a mapped file, which
// stays mapped while owner is reachable; for other data owner is nil. Any other file is an error: ErrNewerVersion if a newer version
// wrote it.
func (rs *Readers) Open(data []byte, owner any) (f *File, err error) {
	defer runtime.KeepAlive(owner)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(owner != nil))
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
	f = &File{Footer: footer, Rows: int(layout.rows), data: data, owner: owner, layout: layout, readers: rs, budget: newBudget(len(data))}
	if err := f.limit(); err != nil {
		return nil, fmt.Errorf("open Parquet file: %w", err)
	}
	return f, nil
}

// limit refuses a file whose footer claims too much.
func (f *File) limit() error {
	if n := f.layout.rows; n < 0 || n > maxFileRows {
		return fmt.Errorf("it claims %d rows, at most %d are read", n, maxFileRows)
	}
	rows, size := int64(0), int64(0)
	for _, group := range f.layout.groups {
		for i := range group {
			n := group[i].uncompressed
			if n < 0 || size+n > maxFileBytes {
				return fmt.Errorf("its columns claim more than %d bytes", int64(maxFileBytes))
			}
			size += n
		}
		if len(group) > 0 {
			rows += group[0].rows
		}
	}
	if rows != f.layout.rows {
		return fmt.Errorf("it claims %d rows, but its row groups claim %d", f.layout.rows, rows)
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
