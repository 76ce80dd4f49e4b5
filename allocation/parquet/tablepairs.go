package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
)

// pairReader reads a map or a list of pairs: their names and their values are two columns.
type pairReader struct {
	leaves [2]leafReader
	forms  *Forms
	raw    []byte            // of one row
	known  map[string]string // the text of raw pairs
}

// leafReader reads the values of one of the columns.
type leafReader struct {
	in   parquet.ColumnChunkValueReader
	left []parquet.Value // that were read, and not used
	all  []parquet.Value
}

// Many values and rows are read at a time.
const (
	pairValues = 4096
	pairRows   = 2048
)

// maxTexts bounds the rows whose texts are remembered.
const maxTexts = 1 << 16

func newPairReader(group parquet.RowGroup, leaves []*parquet.Column, forms *Forms) *pairReader {
	t := &pairReader{forms: forms, known: map[string]string{}}
	for i, leaf := range leaves {
		t.leaves[i] = leafReader{in: parquet.NewColumnChunkValueReader(group.ColumnChunks()[leaf.Index()]), all: make([]parquet.Value, pairValues)}
	}
	return t
}

func (t *pairReader) end() {
	for i := range t.leaves {
		_ = t.leaves[i].in.Close()
	}
}

// peek returns the next value without using it; io.EOF after the last.
func (l *leafReader) peek() (*parquet.Value, error) {
	for len(l.left) == 0 {
		n, err := l.in.ReadValues(l.all)
		if l.left = l.all[:n]; n == 0 && err != nil {
			return nil, err
		}
	}
	return &l.left[0], nil
}

// read calls add with the texts of some rows. It is io.EOF where there are none.
func (t *pairReader) read(add func(string)) error {
	for n := range pairRows {
		switch err := t.row(); {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return err
		}
		text, ok := t.known[string(t.raw)]
		if !ok {
			text = t.forms.Pairs(rawPairs(t.raw))
			if len(t.known) >= maxTexts {
				clear(t.known)
			}
			t.known[string(t.raw)] = text
		}
		add(text)
	}
	return nil
}

// row reads the pairs of one row into raw.
func (t *pairReader) row() error {
	t.raw = t.raw[:0]
	for first := true; ; first = false {
		name, err := t.leaves[0].peek()
		switch {
		case errors.Is(err, io.EOF) && !first:
			return nil
		case err != nil:
			return err
		case !first && name.RepetitionLevel() == 0:
			return nil
		}
		value, err := t.leaves[1].peek()
		if errors.Is(err, io.EOF) {
			return errors.New("it has more names than values")
		}
		if err != nil {
			return err
		}
		if !name.IsNull() {
			for _, v := range [...]*parquet.Value{name, value} {
				text := []byte(nil)
				if !v.IsNull() {
					text = v.ByteArray()
				}
				t.raw = binary.AppendUvarint(t.raw, uint64(len(text)))
				t.raw = append(t.raw, text...)
			}
		}
		for i := range t.leaves {
			t.leaves[i].left = t.leaves[i].left[1:]
		}
	}
}

// rawPairs are the pairs of a row.
func rawPairs(raw []byte) (pairs [][2]string) {
	next := func() string {
		n, k := binary.Uvarint(raw)
		text := string(raw[k : k+int(n)])
		raw = raw[k+int(n):]
		return text
	}
	for len(raw) > 0 {
		name := next()
		pairs = append(pairs, [2]string{name, next()})
	}
	return pairs
}
