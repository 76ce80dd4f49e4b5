package parquet

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
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
		return fmt.Errorf("it claims %d bytes and %d values more than a file of its size holds", bytes, values)
	}
	b.bytes, b.values = b.bytes-bytes, b.values-values
	return nil
}

// maxDepth is the deepest nesting of a footer.
const maxDepth = 32

var errFooter = errors.New("it is damaged")

// checkThrift refuses a struct in Thrift's compact protocol that has a list with more elements than bytes are left, or is nested deeply. The
// library takes memory for what lists say.
func checkThrift(data []byte) error {
	w := walker{(&thrift.CompactProtocol{}).NewReaderFromBytes(data), len(data)}
	return w.value(thrift.STRUCT, 0)
}

// walker walks through data of a size.
type walker struct {
	thrift.Reader
	size int
}

// value walks through a value.
func (w *walker) value(kind thrift.Type, depth int) (err error) {
	if depth > maxDepth {
		return errFooter
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		_, err = w.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.ReadFloat64()
	case thrift.BINARY:
		_, err = w.ReadBytes()
	case thrift.LIST, thrift.SET:
		return w.list(depth)
	case thrift.STRUCT:
		return w.fields(depth)
	default: // of maps there are none
		return errFooter
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errFooter, err)
	}
	return nil
}

// list walks through the elements of a list.
func (w *walker) list(depth int) error {
	l, err := w.ReadList()
	if err != nil {
		return fmt.Errorf("%w: %w", errFooter, err)
	}
	if int(l.Size) > w.size-w.BytesRead() { // an element has one byte at least
		return fmt.Errorf("a list claims %d elements: %w", l.Size, errFooter)
	}
	for range l.Size {
		if err := w.value(l.Type, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// fields walks through the fields of a struct.
func (w *walker) fields(depth int) error {
	for {
		f, err := w.ReadField()
		if err != nil {
			return fmt.Errorf("%w: %w", errFooter, err)
		}
		switch f.Type {
		case thrift.STOP:
			return nil
		case thrift.TRUE, thrift.FALSE: // which the field itself says
		default:
			if err := w.value(f.Type, depth+1); err != nil {
				return err
			}
		}
	}
}
