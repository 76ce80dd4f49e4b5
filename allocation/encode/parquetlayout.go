package encode

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// layout is what the footer of a file says of its columns and where they are. It is read here, for the library makes a schema
// of it, which takes longer than to read what is wanted of a file.
type layout struct {
	rows   int64
	footer string // of promcost
	marked bool   // it has that
	leaves []leafLayout
	byPath map[string]int

	schema []schemaElement
	groups [][]chunkLayout
}

// leafLayout is a leaf column.
type leafLayout struct {
	kind                   parquet.Kind
	repetition, definition int           // the highest levels
	chunks                 []chunkLayout // one a group of rows
}

// chunkLayout is where a leaf of one group of rows is.
type chunkLayout struct {
	codec                    int64
	rows, values             int64 // of the group, and of the leaf
	uncompressed, compressed int64 // bytes
	data, dictionary         int64 // where their pages begin
}

// schemaElement is a node of a schema, which is given depth first.
type schemaElement struct {
	kind, repetition, children int64
	name                       string
}

// How often an element is there.
const (
	optionalElement = 1
	repeatedElement = 2
)

// readLayout reads the footer of a file. One that does not lie in the file, or says to have lists that do not, is an error.
func readLayout(data []byte) (*layout, error) {
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
	err := w.fields(0, l.field)
	if err == nil {
		err = l.place()
	}
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	return l, nil
}

// field reads a field of the footer.
func (l *layout) field(w *walker, id int64, kind byte) (known bool, err error) {
	switch {
	case id == 2 && kind == thriftList:
		return true, w.structs(1, func(n int) { l.schema = make([]schemaElement, 0, n) }, func(w *walker) error {
			l.schema = append(l.schema, schemaElement{})
			return w.fields(2, l.schema[len(l.schema)-1].field)
		})
	case id == 3 && isInteger(kind):
		return true, w.number(&l.rows)
	case id == 4 && kind == thriftList:
		return true, w.structs(1, nil, l.group)
	case id == 5 && kind == thriftList:
		return true, w.structs(1, nil, l.note)
	}
	return false, nil
}

// note reads what is noted in a file beside its columns.
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

func (e *schemaElement) field(w *walker, id int64, kind byte) (known bool, err error) {
	switch {
	case id == 4 && kind == thriftBinary:
		var name []byte
		err = w.bytes(&name)
		e.name = string(name)
		return true, err
	case !isInteger(kind):
	case id == 1:
		return true, w.number(&e.kind)
	case id == 3:
		return true, w.number(&e.repetition)
	case id == 5:
		return true, w.number(&e.children)
	}
	return false, nil
}

// group reads where the columns of a group of rows are.
func (l *layout) group(w *walker) error {
	var chunks []chunkLayout
	rows := int64(0)
	err := w.fields(2, func(w *walker, id int64, kind byte) (bool, error) {
		switch {
		case id == 1 && kind == thriftList:
			return true, w.structs(3, func(n int) { chunks = make([]chunkLayout, 0, n) }, func(w *walker) error {
				chunks = append(chunks, chunkLayout{})
				return w.fields(4, func(w *walker, id int64, kind byte) (bool, error) {
					if id != 3 || kind != thriftStruct {
						return false, nil
					}
					return true, w.fields(5, chunks[len(chunks)-1].field)
				})
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

// place makes leaves of what was read.
func (l *layout) place() error {
	if len(l.schema) == 0 {
		return errors.New("it has no schema")
	}
	l.leaves, l.byPath = make([]leafLayout, 0, len(l.schema)), make(map[string]int, len(l.schema))
	rest, err := l.children(l.schema, leafLayout{}, "")
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return errFooter
	}
	for _, chunks := range l.groups {
		if len(chunks) != len(l.leaves) {
			return fmt.Errorf("it has %d columns of %d in a group of rows", len(chunks), len(l.leaves))
		}
		for i := range chunks {
			if of := &l.leaves[i].chunks; *of == nil {
				*of = chunks[i : i+1 : i+1]
			} else {
				*of = append(*of, chunks[i])
			}
		}
	}
	return nil
}

// children adds the leaves below the first element of a schema, and returns the elements that come after them.
func (l *layout) children(schema []schemaElement, levels leafLayout, prefix string) (rest []schemaElement, err error) {
	n := schema[0].children
	schema = schema[1:]
	if n < 0 || n > int64(len(schema)) || levels.definition > maxDepth {
		return nil, errFooter
	}
	for range n {
		if len(schema) == 0 {
			return nil, errFooter
		}
		e, of := &schema[0], levels
		if prefix == "" && e.name == unnamedField {
			e.name = propertyFields[allocation.GPUDevices]
		}
		switch e.repetition {
		case optionalElement:
			of.definition++
		case repeatedElement:
			of.definition, of.repetition = of.definition+1, of.repetition+1
		}
		if e.children != 0 {
			if schema, err = l.children(schema, of, prefix+e.name+"."); err != nil {
				return nil, err
			}
			continue
		}
		of.kind = parquet.Kind(e.kind)
		l.byPath[prefix+e.name] = len(l.leaves)
		l.leaves, schema = append(l.leaves, of), schema[1:]
	}
	return schema, nil
}

// pageLayout is the header of a page.
type pageLayout struct {
	kind                     int64
	uncompressed, compressed int64 // bytes
	crc                      int64 // 0 for none
	values, encoding         int64
	data, dictionary         bool // it has the header of such a page
}

// readPageLayout reads the header of a page, and returns what comes after it.
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
