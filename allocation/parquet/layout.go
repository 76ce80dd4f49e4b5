package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// layout says which columns a file has and where they are. We read the footer ourselves, because the library makes a schema of it,
// which takes longer than to read the columns that are needed.
type layout struct {
	rows   int64
	footer string // of promcost
	marked bool   // it has a footer of promcost
	groups [][]chunkLayout
	*schema
}

// leafLayout is a leaf column. In a schema it has no chunks.
type leafLayout struct {
	kind                   parquet.Kind
	repetition, definition int           // the highest levels
	chunks                 []chunkLayout // one for each row group
}

// chunkLayout says where a leaf column of one row group is.
type chunkLayout struct {
	codec                    int64
	rows, values             int64 // of the group, and of the leaf
	uncompressed, compressed int64 // bytes
	data, dictionary         int64 // offsets of their first pages
}

// readLayout reads the footer of a file. It is an error if the footer, or a list in it, does not lie within the file.
func readLayout(data []byte, known *knownSchemas) (*layout, error) {
	tail := len(data) - len(magic) - 4
	if tail < len(magic) || string(data[:len(magic)]) != magic || string(data[tail+4:]) != magic {
		return nil, fmt.Errorf("it does not begin and end with %s: it is cut, or no such file", magic)
	}
	size := int64(binary.LittleEndian.Uint32(data[tail:]))
	if size > int64(tail-len(magic)) {
		return nil, fmt.Errorf("its footer says to have %d bytes of %d", size, len(data))
	}
	w := walker{data: data[tail-int(size) : tail]}
	l := &layout{}
	err := w.fields(0, func(w *walker, id int64, kind byte) (bool, error) { return l.field(w, id, kind, known) })
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	return l, nil
}

// field reads a field of the footer.
func (l *layout) field(w *walker, id int64, kind byte, known *knownSchemas) (_ bool, err error) {
	switch {
	case id == 2 && kind == thriftList:
		l.schema, err = w.schema(known)
		return true, err
	case id == 3 && isInteger(kind):
		return true, w.number(&l.rows)
	case id == 4 && kind == thriftList:
		return true, w.structs(1, nil, l.group)
	case id == 5 && kind == thriftList:
		return true, w.structs(1, nil, l.note)
	}
	return false, nil
}

// note reads an entry of the file's metadata.
func (l *layout) note(w *walker) error {
	var key, value []byte
	err := w.fields(2, func(w *walker, id int64, kind byte) (bool, error) {
		switch {
		case id == 1 && kind == thriftBinary:
			return true, w.bytes(&key)
		case id == 2 && kind == thriftBinary:
			return true, w.bytes(&value)
		}
		return false, nil
	})
	if string(key) == footerKey {
		l.footer, l.marked = string(value), true
	}
	return err
}

// group reads where the columns of a row group are.
func (l *layout) group(w *walker) error {
	var chunks []chunkLayout
	rows := int64(0)
	where := func(w *walker, id int64, kind byte) (bool, error) { return chunks[len(chunks)-1].field(w, id, kind) }
	column := func(w *walker, id int64, kind byte) (bool, error) {
		if id != 3 || kind != thriftStruct {
			return false, nil
		}
		return true, w.fields(5, where)
	}
	err := w.fields(2, func(w *walker, id int64, kind byte) (bool, error) {
		switch {
		case id == 1 && kind == thriftList:
			return true, w.structs(3, func(n int) { chunks = make([]chunkLayout, 0, n) }, func(w *walker) error {
				chunks = append(chunks, chunkLayout{})
				return w.fields(4, column)
			})
		case id == 3 && isInteger(kind):
			return true, w.number(&rows)
		}
		return false, nil
	})
	for i := range chunks {
		chunks[i].rows = rows
	}
	l.groups = append(l.groups, chunks)
	return err
}

func (c *chunkLayout) field(w *walker, id int64, kind byte) (known bool, err error) {
	if !isInteger(kind) {
		return false, nil
	}
	switch id {
	case 4:
		return true, w.number(&c.codec)
	case 5:
		return true, w.number(&c.values)
	case 6:
		return true, w.number(&c.uncompressed)
	case 7:
		return true, w.number(&c.compressed)
	case 9:
		return true, w.number(&c.data)
	case 11:
		return true, w.number(&c.dictionary)
	}
	return false, nil
}

// check verifies that each row group has all columns.
func (l *layout) check() error {
	if l.schema == nil {
		return errors.New("it has no schema")
	}
	for _, chunks := range l.groups {
		if len(chunks) != len(l.leaves) {
			return fmt.Errorf("it has %d columns of %d in a group of rows", len(chunks), len(l.leaves))
		}
	}
	return nil
}

// leaf returns a leaf column with its chunks.
func (l *layout) leaf(i int) leafLayout {
	at := l.leaves[i]
	if len(l.groups) == 1 {
		at.chunks = l.groups[0][i : i+1 : i+1]
		return at
	}
	for _, chunks := range l.groups {
		at.chunks = append(at.chunks, chunks[i])
	}
	return at
}

// pageLayout is the header of a page.
type pageLayout struct {
	kind                     int64
	uncompressed, compressed int64 // bytes
	crc                      int64 // 0 for none
	values, encoding         int64
	data, dictionary         bool // it has the header of a data page, or of a dictionary page
}

// readPageLayout reads the header of a page, and returns the data after it.
func readPageLayout(data []byte) (p pageLayout, rest []byte, err error) {
	w := walker{data: data}
	err = w.fields(0, func(w *walker, id int64, kind byte) (bool, error) {
		const dataHeader, dictionaryHeader = 5, 7
		switch {
		case isInteger(kind) && id >= 1 && id <= 4:
			return true, w.number([...]*int64{&p.kind, &p.uncompressed, &p.compressed, &p.crc}[id-1])
		case kind == thriftStruct && (id == dataHeader || id == dictionaryHeader):
			p.data, p.dictionary = p.data || id == dataHeader, p.dictionary || id == dictionaryHeader
			return true, w.fields(1, p.content)
		}
		return false, nil
	})
	return p, w.rest(), err
}

func (p *pageLayout) content(w *walker, id int64, kind byte) (known bool, err error) {
	switch {
	case !isInteger(kind):
	case id == 1:
		return true, w.number(&p.values)
	case id == 2:
		return true, w.number(&p.encoding)
	}
	return false, nil
}
