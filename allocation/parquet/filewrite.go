package parquet

import (
	"bytes"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// fileWriter writes a file in row groups. The first row group decides how columns are encoded.
type fileWriter struct {
	to      *parquet.GenericWriter[any]
	scratch []parquet.Value
}

const (
	// writtenRows is how many rows of a column are handed to the library together.
	writtenRows = 1 << 12
	// A page has about so many bytes at most and at least. Each column takes as much memory while it is written.
	maxPageBuffer, minPageBuffer = 1 << 18, 1 << 14
)

// newFileWriter begins a file whose first row group has these columns. footer is of promcost, "" for none. more says that other row groups
// follow, in which columns may have more values.
func newFileWriter(w io.Writer, name, footer string, columns []Column, rows int, more bool) *fileWriter {
	f := &fileWriter{}
	page := min(max(8*rows, minPageBuffer), maxPageBuffer)
	if more {
		page = maxPageBuffer
	}
	options := []parquet.WriterOption{
		parquet.CreatedBy("promcost", "1", "parquet"), parquet.DataPageVersion(1), parquet.PageBufferSize(page),
	}
	if footer != "" {
		options = append(options, parquet.KeyValueMetadata(footerKey, footer))
	}
	root := group{parquet.Group{}, nil}
	for i := range columns {
		c := &columns[i]
		leaves := make([]parquet.Node, len(c.leaves))
		for k := range leaves {
			leaves[k] = f.encoded(&c.leaves[k], rows, more)
			if !c.leaves[k].bounds {
				options = append(options, parquet.SkipPageBounds(c.leaves[k].path...))
			}
		}
		root.fields = append(root.fields, named{c.node(leaves), c.name})
	}
	f.to = parquet.NewGenericWriter[any](w, append(options, parquet.NewSchema(name, root))...)
	return f
}

// group writes a row group, whose columns are those of the file.
func (f *fileWriter) group(columns []Column, rows int) error {
	writers := f.to.ColumnWriters()
	for i := range columns {
		for k := range columns[i].leaves {
			leaf := &columns[i].leaves[k]
			for from := 0; from < rows; from += writtenRows {
				f.scratch = leaf.values(f.scratch[:0], from, min(from+writtenRows, rows))
				if _, err := writers[0].WriteRowValues(f.scratch); err != nil {
					return fmt.Errorf("column %v: %w", leaf.path, err)
				}
			}
			writers = writers[1:]
		}
	}
	return f.to.Flush()
}

// fewValues is the share of distinct values among the rows up to which a dictionary is worthwhile, and leastValues the least number of
// them.
const (
	fewValues   = 0.25
	leastValues = 16
)

// encoded returns the node of a leaf with the encoding that suits its values: a dictionary if there are few distinct ones. Of other
// values, strings are stored as their difference from the one before, which is small in sorted rows, and the bytes of numbers in planes,
// because the high bytes of similar numbers compress well. A column with a single value is not compressed, so that it can be seen
// without decoding, unless more values follow.
func (f *fileWriter) encoded(leaf *leafSource, rows int, more bool) parquet.Node {
	few, distinct := f.distinct(leaf, rows)
	kind := leaf.node.Type().Kind()
	node := leaf.node
	switch {
	case kind == parquet.Boolean, !few && kind == parquet.FixedLenByteArray:
		node = parquet.Encoded(node, &parquet.Plain)
	case few:
		node = parquet.Encoded(node, &parquet.RLEDictionary)
	case kind == parquet.ByteArray:
		node = parquet.Encoded(node, &parquet.DeltaByteArray)
	case kind == parquet.Double:
		node = parquet.Encoded(node, &parquet.ByteStreamSplit)
	default:
		node = parquet.Encoded(node, &parquet.DeltaBinaryPacked)
	}
	if distinct > 1 || more {
		return parquet.Compressed(node, &parquet.Zstd)
	}
	return parquet.Compressed(node, &parquet.Uncompressed)
}

// distinct reports whether a leaf has few distinct values, and about how many it has, if they are few. Null is a value.
func (f *fileWriter) distinct(leaf *leafSource, rows int) (few bool, n int) {
	most := max(leastValues, int(fewValues*float64(rows)))
	if n = leaf.distinct; n > 0 && n <= most {
		return true, n
	}
	words, texts := map[uint64]struct{}{}, map[string]struct{}{}
	null := 0
	var last parquet.Value
	for from := 0; from < rows; from += leastValues {
		f.scratch = leaf.values(f.scratch[:0], from, min(from+leastValues, rows))
		for _, v := range f.scratch {
			switch {
			case v.IsNull():
				null = 1
			case v.Kind() == last.Kind() && same(v, last): // as in sorted rows
			case v.Kind() == parquet.ByteArray, v.Kind() == parquet.FixedLenByteArray:
				texts[string(v.ByteArray())] = struct{}{}
			default:
				words[v.Uint64()] = struct{}{}
			}
			last = v
		}
		if n = null + len(words) + len(texts); n > most {
			return false, n
		}
	}
	return true, n
}

// same reports whether two values of a kind have the same bits.
func same(a, b parquet.Value) bool {
	if a.Kind() == parquet.ByteArray || a.Kind() == parquet.FixedLenByteArray {
		return bytes.Equal(a.ByteArray(), b.ByteArray())
	}
	return a.Uint64() == b.Uint64()
}
