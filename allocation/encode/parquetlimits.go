package encode

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// budget is what may still be taken to read a file. A small file that says to hold much is damaged: what is written needs
// some bytes for each row, and pages do not shrink by more than some hundred times.
type budget struct {
	bytes  int // of pages and strings, uncompressed
	values int
}

// newBudget is the budget of a file of so many bytes.
func newBudget(size int) budget { return budget{bytes: 8<<20 + 256*size, values: 1<<20 + 256*size} }

// take takes bytes and values from the budget.
func (b *budget) take(bytes, values int) error {
	if bytes < 0 || values < 0 || bytes > b.bytes || values > b.values {
		return fmt.Errorf("it says to have %d bytes and %d values more than a file of its size holds", bytes, values)
	}
	b.bytes, b.values = b.bytes-bytes, b.values-values
	return nil
}

// checkFooter refuses a file whose footer does not lie in it, or says to have lists that do not: the library makes room for
// what they say before it reads them.
func checkFooter(data []byte) error {
	tail := len(data) - len(magic) - 4
	if tail < len(magic) || string(data[:len(magic)]) != magic || string(data[tail+4:]) != magic {
		return fmt.Errorf("it does not begin and end with %s: it is cut, or no such file", magic)
	}
	size := int64(binary.LittleEndian.Uint32(data[tail:]))
	if size > int64(tail-len(magic)) {
		return fmt.Errorf("its footer says to have %d bytes of %d", size, len(data))
	}
	w := walker{data: data[tail-int(size) : tail]}
	if err := w.structure(0); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return nil
}

// walker goes through what is encoded by Thrift's compact protocol.
type walker struct{ data []byte }

// The types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI64    = 6 // and the ones between
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// maxDepth is how deeply a footer may be nested.
const maxDepth = 32

var errFooter = errors.New("it is damaged")

// skip goes over n bytes.
func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.data)) {
		return errFooter
	}
	w.data = w.data[n:]
	return nil
}

func (w *walker) next() (byte, error) {
	if len(w.data) == 0 {
		return 0, errFooter
	}
	b := w.data[0]
	w.data = w.data[1:]
	return b, nil
}

func (w *walker) varint() (uint64, error) {
	v, n := binary.Uvarint(w.data)
	if n <= 0 {
		return 0, errFooter
	}
	w.data = w.data[n:]
	return v, nil
}

func (w *walker) structure(depth int) error {
	if depth > maxDepth {
		return errFooter
	}
	for {
		head, err := w.next()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 {
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind == thriftTrue || kind == thriftFalse {
			continue // the head says it
		}
		if err := w.value(head&15, depth); err != nil {
			return err
		}
	}
}

// value goes over a value, of a list or of a field.
func (w *walker) value(kind byte, depth int) error {
	switch {
	case kind == thriftTrue, kind == thriftFalse, kind == thriftByte:
		return w.skip(1)
	case kind > thriftByte && kind <= thriftI64:
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
	head, err := w.next()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.data)) || depth > maxDepth { // an element has one byte at least
		return fmt.Errorf("a list says to have %d elements: %w", n, errFooter)
	}
	for range n {
		if err := w.value(head&15, depth); err != nil {
			return err
		}
	}
	return nil
}
