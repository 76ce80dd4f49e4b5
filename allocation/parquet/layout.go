package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/promcost/promcost/allocation"
)

// layout says which columns a file has and where they are.
type layout struct {
	rows   int64
	footer string // of promcost
	marked bool   // it has a footer of promcost
	groups [][]chunkLayout
	leaves []leafLayout
	byPath map[string]int
}

// leafLayout is a leaf column. In a layout it has no chunks.
type leafLayout struct {
	kind                   parquet.Kind
	repetition, definition int           // the highest levels
	chunks                 []chunkLayout // one for each row group
}

// chunkLayout says where a leaf column of one row group is.
type chunkLayout struct {
	codec                    int32
	rows, values             int64 // of the group, and of the leaf
	uncompressed, compressed int64 // bytes
	data, dictionary         int64 // offsets of their first pages
}

// fileMeta is what is read of a footer. The library's own structs have all of it, and take twice as long.
type fileMeta struct {
	Schema []schemaElement `thrift:"2"`
	Rows   int64           `thrift:"3"`
	Groups []struct {
		Columns []struct {
			Meta struct {
				Codec        int32 `thrift:"4"`
				Values       int64 `thrift:"5"`
				Uncompressed int64 `thrift:"6"`
				Compressed   int64 `thrift:"7"`
				Data         int64 `thrift:"9"`
				Dictionary   int64 `thrift:"11"`
			} `thrift:"3"`
		} `thrift:"1"`
		Rows int64 `thrift:"3"`
	} `thrift:"4"`
	KeyValues []struct {
		Key   string `thrift:"1"`
		Value string `thrift:"2"`
	} `thrift:"5"`
}

// schemaElement is a node of a schema. Nodes are stored depth first.
type schemaElement struct {
	Kind       int32  `thrift:"1"`
	Repetition int32  `thrift:"3"`
	Name       string `thrift:"4"`
	Children   int32  `thrift:"5"`
}

// Values of the repetition of an element.
const (
	optionalElement = 1
	repeatedElement = 2
)

// readLayout reads the footer of a file. It is an error if the footer, or a list in it, does not lie within the file.
func readLayout(data []byte) (*layout, error) {
	tail := len(data) - len(magic) - 4
	if tail < len(magic) || string(data[:len(magic)]) != magic || string(data[tail+4:]) != magic {
		return nil, fmt.Errorf("it does not begin and end with %s: it is cut, or no such file", magic)
	}
	size := int64(binary.LittleEndian.Uint32(data[tail:]))
	if size > int64(tail-len(magic)) {
		return nil, fmt.Errorf("its footer claims %d bytes of %d", size, len(data))
	}
	l := &layout{}
	if err := l.read(data[tail-int(size) : tail]); err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	return l, nil
}

func (l *layout) read(footer []byte) error {
	if err := checkThrift(footer); err != nil {
		return err
	}
	var meta fileMeta
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, footer, &meta); err != nil {
		return fmt.Errorf("%w: %w", errFooter, err)
	}
	l.rows = meta.Rows
	for _, kv := range meta.KeyValues {
		if kv.Key == footerKey {
			l.footer, l.marked = kv.Value, true
		}
	}
	if len(meta.Schema) == 0 {
		return errors.New("it has no schema")
	}
	l.leaves, l.byPath = make([]leafLayout, 0, len(meta.Schema)), make(map[string]int, len(meta.Schema))
	if rest, err := l.children(meta.Schema, leafLayout{}, ""); err != nil || len(rest) > 0 {
		return errors.Join(errFooter, err)
	}
	for _, group := range meta.Groups {
		if len(group.Columns) != len(l.leaves) {
			return fmt.Errorf("it has %d columns of %d in a group of rows", len(group.Columns), len(l.leaves))
		}
		chunks := make([]chunkLayout, len(group.Columns))
		for i := range chunks {
			m := &group.Columns[i].Meta
			chunks[i] = chunkLayout{m.Codec, group.Rows, m.Values, m.Uncompressed, m.Compressed, m.Data, m.Dictionary}
		}
		l.groups = append(l.groups, chunks)
	}
	return nil
}

// children adds the leaves below the first element of a schema, and returns the elements after them.
func (l *layout) children(elements []schemaElement, levels leafLayout, prefix string) (rest []schemaElement, err error) {
	n := int(elements[0].Children)
	elements = elements[1:]
	if n < 0 || n > len(elements) || levels.definition > maxDepth {
		return nil, errFooter
	}
	for range n {
		if len(elements) == 0 {
			return nil, errFooter
		}
		e, of := &elements[0], levels
		if prefix == "" && e.Name == unnamedField {
			e.Name = allocation.GPUDevices.Field()
		}
		switch e.Repetition {
		case optionalElement:
			of.definition++
		case repeatedElement:
			of.definition, of.repetition = of.definition+1, of.repetition+1
		}
		if e.Children != 0 {
			if elements, err = l.children(elements, of, prefix+e.Name+"."); err != nil {
				return nil, err
			}
			continue
		}
		of.kind = parquet.Kind(e.Kind)
		l.byPath[prefix+e.Name] = len(l.leaves)
		l.leaves, elements = append(l.leaves, of), elements[1:]
	}
	return elements, nil
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

// pageHeader is what is read of the header of a page.
type pageHeader struct {
	Kind         int32        `thrift:"1"`
	Uncompressed int32        `thrift:"2"` // bytes
	Compressed   int32        `thrift:"3"` // bytes
	CRC          int32        `thrift:"4"` // 0 for none
	Data         *pageContent `thrift:"5"` // nil unless it is a data page
	Dictionary   *pageContent `thrift:"7"` // nil unless it is a dictionary
}

// pageContent says what a page has.
type pageContent struct {
	Values   int32 `thrift:"1"`
	Encoding int32 `thrift:"2"`
}

// maxHeader is the largest size of the header of a page, which may have the smallest and the largest value.
const maxHeader = 64 << 10

// readPageHeader reads the header of a page, and returns the data after it.
func readPageHeader(data []byte) (h pageHeader, rest []byte, err error) {
	r := (&thrift.CompactProtocol{}).NewReaderFromBytes(data[:min(len(data), maxHeader)])
	err = thrift.NewDecoder(r).Decode(&h)
	return h, data[r.BytesRead():], err
}
