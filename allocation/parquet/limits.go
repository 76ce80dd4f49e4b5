package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// budget is the memory that reading a file may still take. A small file that claims much data is damaged: what is written needs
// some bytes for each row, and pages do not shrink by more than some hundred times.
type budget struct {
	bytes  int // of pages and strings, uncompressed
	values int
}

// newBudget returns the budget for a file of a given size.
func newBudget(size int) budget { return budget{bytes: 8<<20 + 256*size, values: 1<<20 + 256*size} }

// take takes bytes and values from the budget. It is an error if there are not enough.
func (b *budget) take(bytes, values int) error {
	if bytes < 0 || values < 0 || bytes > b.bytes || values > b.values {
		return fmt.Errorf("it says to have %d bytes and %d values more than a file of its size holds", bytes, values)
	}
	b.bytes, b.values = b.bytes-bytes, b.values-values
	return nil
}

// walker reads data in Thrift's compact protocol.
type walker struct {
	data []byte
	at   int // which is all that changes: no pointer is written
}

// rest is the data that has not been read yet.
func (w *walker) rest() []byte { return w.data[w.at:] }

// The types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI64    = 6 // and the one between
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// maxDepth is the deepest nesting of a footer.
const maxDepth = 32

var errFooter = errors.New("it is damaged")

// skip skips n bytes.
func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return errFooter
	}
	w.at += int(n)
	return nil
}

func (w *walker) next() (byte, error) {
	if w.at == len(w.data) {
		return 0, errFooter
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *walker) varint() (uint64, error) {
	if w.at < len(w.data) && w.data[w.at] < 0x80 { // as most are
		w.at++
		return uint64(w.data[w.at-1]), nil
	}
	v, n := binary.Uvarint(w.rest())
	if n <= 0 {
		return 0, errFooter
	}
	w.at += n
	return v, nil
}

// structure skips a struct.
func (w *walker) structure(depth int) error {
	return w.fields(depth, func(*walker, int64, byte) (bool, error) { return false, nil })
}

// fields reads the fields of a struct. It calls known for each, with its id and type. known reads the field, or returns false to skip
// it.
func (w *walker) fields(depth int, known func(w *walker, id int64, kind byte) (bool, error)) error {
	if depth > maxDepth {
		return errFooter
	}
	for id := int64(0); ; {
		head, err := w.next()
		if err != nil || head == 0 {
			return err
		}
		if id += int64(head >> 4); head>>4 == 0 {
			if err := w.number(&id); err != nil {
				return err
			}
		}
		kind := head & 15
		if kind == thriftTrue || kind == thriftFalse {
			continue // the head says it
		}
		read, err := known(w, id, kind)
		if err == nil && !read {
			err = w.value(kind, depth)
		}
		if err != nil {
			return err
		}
	}
}

// isInteger reports whether a value is a whole number.
func isInteger(kind byte) bool { return kind >= thriftI16 && kind <= thriftI64 }

// number reads a whole number.
func (w *walker) number(to *int64) error {
	v, err := w.varint()
	*to = int64(v>>1) ^ -int64(v&1)
	return err
}

// bytes reads a string, which shares the memory of the data.
func (w *walker) bytes(to *[]byte) error {
	n, err := w.varint()
	if err != nil {
		return err
	}
	from := w.at
	if err := w.skip(n); err != nil {
		return err
	}
	*to = w.data[from:w.at]
	return nil
}

// mostElements bounds the memory that is allocated ahead for a list. A file has some hundred columns.
const mostElements = 1 << 10

// structs reads a list of structs: it calls read for each. Before, it calls many, unless that is nil, with their probable number.
func (w *walker) structs(depth int, many func(n int), read func(w *walker) error) error {
	n, kind, err := w.length(depth)
	if err != nil {
		return err
	}
	if kind != thriftStruct {
		return errFooter
	}
	if many != nil {
		many(int(min(n, mostElements)))
	}
	for range n {
		if err := read(w); err != nil {
			return err
		}
	}
	return nil
}

// length reads how many elements a list has and their type.
func (w *walker) length(depth int) (n uint64, kind byte, err error) {
	head, err := w.next()
	if err != nil {
		return 0, 0, err
	}
	if n = uint64(head >> 4); n == 15 {
		if n, err = w.varint(); err != nil {
			return 0, 0, err
		}
	}
	if n > uint64(len(w.data)-w.at) || depth > maxDepth { // an element has one byte at least
		return 0, 0, fmt.Errorf("a list says to have %d elements: %w", n, errFooter)
	}
	return n, head & 15, nil
}

// value skips a value of a list or of a field.
func (w *walker) value(kind byte, depth int) error {
	switch {
	case kind == thriftTrue, kind == thriftFalse, kind == thriftByte:
		return w.skip(1)
	case isInteger(kind):
		_, err := w.varint()
		return err
	case kind == thriftDouble:
		return w.skip(8)
	case kind == thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case kind == thriftList, kind == thriftSet:
		return w.list(depth + 1)
	case kind == thriftStruct:
		return w.structure(depth + 1)
	}
	return errFooter // of maps there are none
}

func (w *walker) list(depth int) error {
	n, kind, err := w.length(depth)
	if err != nil {
		return err
	}
	for range n {
		if err := w.value(kind, depth); err != nil {
			return err
		}
	}
	return nil
}
