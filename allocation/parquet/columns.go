package parquet

import (
	"math"

	"github.com/parquet-go/parquet-go"
)

// column is a column of a file: its schema, and the functions that write its leaves in the order of the schema.
type column struct {
	name   string
	node   parquet.Node
	leaves []func(*leafWriter) error
}

// leafWriter collects the values of a leaf.
type leafWriter struct {
	to    *parquet.ColumnWriter
	index int
	batch []parquet.Value
}

// batchRows is how many values are collected before they are handed to the library.
const batchRows = 1 << 14

// add adds a value with its repetition and definition levels.
func (w *leafWriter) add(v parquet.Value, repetition, definition int) {
	w.batch = append(w.batch, v.Level(repetition, definition, w.index))
}

// endRow hands values to the library when there are many.
func (w *leafWriter) endRow() error {
	if len(w.batch) < batchRows {
		return nil
	}
	return w.flush()
}

func (w *leafWriter) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	_, err := w.to.WriteRowValues(w.batch)
	w.batch = w.batch[:0]
	return err
}

// rows writes a value of a plain column for each row.
func rows(n int, value func(row int) parquet.Value) func(*leafWriter) error {
	return func(w *leafWriter) error {
		for row := range n {
			w.add(value(row), 0, 0)
			if err := w.endRow(); err != nil {
				return err
			}
		}
		return w.flush()
	}
}

// optionalRows writes a value of an optional column for each row, or null.
func optionalRows(n int, value func(row int) (v parquet.Value, ok bool)) func(*leafWriter) error {
	return func(w *leafWriter) error {
		for row := range n {
			if v, ok := value(row); ok {
				w.add(v, 0, 1)
			} else {
				w.add(parquet.NullValue(), 0, 0)
			}
			if err := w.endRow(); err != nil {
				return err
			}
		}
		return w.flush()
	}
}

// repeated writes the values of a leaf of a list or map for each row; count says how many a row has.
func repeated(n int, count func(row int) int, value func(row, i int) parquet.Value) func(*leafWriter) error {
	return func(w *leafWriter) error {
		for row := range n {
			k := count(row)
			if k == 0 {
				w.add(parquet.NullValue(), 0, 0)
			}
			for i := range k {
				w.add(value(row, i), min(i, 1), 1)
			}
			if err := w.endRow(); err != nil {
				return err
			}
		}
		return w.flush()
	}
}

// textNode is a string column with a dictionary.
func textNode() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }

// textColumn is a column of strings. If most are different, each is stored as its difference from the one before, which is small in
// sorted rows.
func textColumn(name string, n int, text func(row int) string) column {
	node := textNode()
	if !few(n, text) {
		node = parquet.Encoded(parquet.String(), &parquet.DeltaByteArray)
	}
	return column{name, node, []func(*leafWriter) error{rows(n, func(row int) parquet.Value { return parquet.ByteArrayValue([]byte(text(row))) })}}
}

// fewValues is the share of distinct values among the rows up to which a dictionary is worthwhile.
const fewValues = 0.25

// few reports whether there are so few distinct values that a dictionary is worthwhile.
func few[T comparable](n int, value func(i int) T) bool { return fewer(n, fewValues, value) }

// fewer reports whether the share of distinct values is at most part.
func fewer[T comparable](n int, part float64, value func(i int) T) bool {
	seen, most := make(map[T]struct{}, 16), max(16, int(part*float64(n)))
	for i := range n {
		seen[value(i)] = struct{}{}
		if len(seen) > most {
			return false
		}
	}
	return true
}

// sparse reports whether most values are 0 and the others are whole and mostly distinct. Such values compress better than indices into a
// dictionary.
func sparse(n int, value func(i int) float64) bool {
	zeros := 0
	for i := range n {
		v := value(i)
		if v != math.Trunc(v) {
			return false
		}
		if math.Float64bits(v) == 0 {
			zeros++
		}
	}
	return zeros > n*4/5 && !fewer(n, sparseValues, func(i int) uint64 { return math.Float64bits(value(i)) })
}

// sparseValues is the share of distinct values among the rows above which sparse values are mostly distinct.
const sparseValues = 0.02

// numberNode is a float64 column: with a dictionary if there are few distinct values, else split into planes of bytes, because the high
// bytes of similar numbers compress well.
func numberNode(n int, value func(i int) float64) parquet.Node {
	node := parquet.Leaf(parquet.DoubleType)
	if sparse(n, value) {
		return node
	}
	if few(n, func(i int) uint64 { return math.Float64bits(value(i)) }) {
		return parquet.Encoded(node, &parquet.RLEDictionary)
	}
	return parquet.Encoded(node, &parquet.ByteStreamSplit)
}

// numberColumn is a column of amounts.
func numberColumn(name string, n int, value func(row int) float64) column {
	return column{name, numberNode(n, value), []func(*leafWriter) error{rows(n, func(row int) parquet.Value { return parquet.DoubleValue(value(row)) })}}
}

// optionalColumn is a column of amounts in which NaN, an unknown amount, is null.
func optionalColumn(name string, n int, value func(row int) float64) column {
	write := optionalRows(n, func(row int) (parquet.Value, bool) {
		v := value(row)
		return parquet.DoubleValue(v), !math.IsNaN(v)
	})
	return column{name, parquet.Optional(numberNode(n, value)), []func(*leafWriter) error{write}}
}

// timeColumn is a column of instants, in Unix milliseconds.
func timeColumn(name string, n int, millis func(row int) int64) column {
	node := parquet.Timestamp(parquet.Millisecond)
	if few(n, millis) {
		node = parquet.Encoded(node, &parquet.RLEDictionary)
	} else {
		node = parquet.Encoded(node, &parquet.DeltaBinaryPacked)
	}
	return column{name, node, []func(*leafWriter) error{rows(n, func(row int) parquet.Value { return parquet.Int64Value(millis(row)) })}}
}

func boolColumn(name string, n int, value func(row int) bool) column {
	return column{name, parquet.Leaf(parquet.BooleanType), []func(*leafWriter) error{rows(n, func(row int) parquet.Value { return parquet.BooleanValue(value(row)) })}}
}

// mapColumn is a map of strings.
func mapColumn(name string, n int, count func(row int) int, pair func(row, i int) (key, value string)) column {
	return column{name, parquet.Map(textNode(), textNode()), []func(*leafWriter) error{
		repeated(n, count, func(row, i int) parquet.Value {
			key, _ := pair(row, i)
			return parquet.ByteArrayValue([]byte(key))
		}),
		repeated(n, count, func(row, i int) parquet.Value {
			_, value := pair(row, i)
			return parquet.ByteArrayValue([]byte(value))
		}),
	}}
}

// listColumn is a list of strings.
func listColumn(name string, n int, count func(row int) int, text func(row, i int) string) column {
	return column{name, parquet.List(textNode()), []func(*leafWriter) error{
		repeated(n, count, func(row, i int) parquet.Value { return parquet.ByteArrayValue([]byte(text(row, i))) }),
	}}
}

// member is a field of the structs in a list.
type member[T any] struct {
	name  string
	node  parquet.Node
	value func(*T) parquet.Value
}

// structsColumn is a list of structs.
func structsColumn[T any](name string, n int, of func(row int) []T, members []member[T]) column {
	element := group{Group: parquet.Group{}}
	c := column{name: name}
	for _, m := range members {
		element.add(m.name, m.node)
		c.leaves = append(c.leaves, repeated(n, func(row int) int { return len(of(row)) }, func(row, i int) parquet.Value { return m.value(&of(row)[i]) }))
	}
	c.node = parquet.List(&element)
	return c
}

// plainNumber is a float64 in a struct.
func plainNumber() parquet.Node { return parquet.Leaf(parquet.DoubleType) }
