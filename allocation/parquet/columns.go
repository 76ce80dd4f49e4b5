package parquet

import (
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// column is a column of a file that is written: its schema, and its leaves in the order of the schema.
type column struct {
	schema []format.SchemaElement // depth first; the first one has the column's name
	leaves []leafSource
}

// leafSource is a leaf of a column, and what fills a leafWriter with it.
type leafSource struct {
	path []string
	kind format.Type
	fill func(*leafWriter)
}

// member is a column of the elements of a list.
type member struct {
	schema format.SchemaElement
	fill   func(*leafWriter)
}

// The schemas of leaves, which are required unless something else is said.
func leafElement(name string, kind format.Type) format.SchemaElement {
	return format.SchemaElement{Name: name, Type: thrift.New(kind), RepetitionType: thrift.New(format.Required)}
}

func textElement(name string) format.SchemaElement {
	e := leafElement(name, format.ByteArray)
	e.ConvertedType, e.LogicalType.Value = thrift.New(deprecated.UTF8), &format.StringType{}
	return e
}

// sizedElement is of values that take so many bits.
func sizedElement(name string, kind format.Type, bits int32) format.SchemaElement {
	e := leafElement(name, kind)
	e.TypeLength = thrift.New(bits)
	return e
}

func numberElement(name string) format.SchemaElement { return sizedElement(name, format.Double, 64) }

func boolElement(name string) format.SchemaElement { return sizedElement(name, format.Boolean, 1) }

func timeElement(name string) format.SchemaElement {
	e := sizedElement(name, format.Int64, 64)
	e.ConvertedType = thrift.New(deprecated.TimestampMillis)
	e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}}
	return e
}

func uuidElement(name string) format.SchemaElement {
	e := leafElement(name, format.FixedLenByteArray)
	e.TypeLength, e.LogicalType.Value = thrift.New[int32](uuidBytes), &format.UUIDType{}
	return e
}

// groupElement is of a group of columns.
func groupElement(name string, repetition format.FieldRepetitionType, children int) format.SchemaElement {
	return format.SchemaElement{Name: name, RepetitionType: thrift.New(repetition), NumChildren: thrift.New(int32(children))}
}

// optional makes a leaf optional.
func optional(e format.SchemaElement) format.SchemaElement {
	e.RepetitionType = thrift.New(format.Optional)
	return e
}

// plain is a column of one leaf.
func plain(e format.SchemaElement, fill func(*leafWriter)) column {
	return column{[]format.SchemaElement{e}, []leafSource{{[]string{e.Name}, e.Type.V, fill}}}
}

// textColumn is a column of strings. If most are different, each is stored as its difference from the one before, which is small in
// sorted rows.
func textColumn(name string, n int, text func(row int) string) column {
	return plain(textElement(name), func(w *leafWriter) { w.fillTexts(n, text) })
}

// numberColumn is a column of amounts.
func numberColumn(name string, n int, value func(row int) float64) column {
	return plain(numberElement(name), func(w *leafWriter) { w.fillNumbers(n, value, false) })
}

// optionalColumn is a column of amounts in which NaN, an unknown amount, is null.
func optionalColumn(name string, n int, value func(row int) float64) column {
	return plain(optional(numberElement(name)), func(w *leafWriter) { w.fillNumbers(n, value, true) })
}

// timeColumn is a column of instants, in Unix milliseconds.
func timeColumn(name string, n int, millis func(row int) int64) column {
	return plain(timeElement(name), func(w *leafWriter) { w.fillTimes(n, millis) })
}

func boolColumn(name string, n int, value func(row int) bool) column {
	return plain(boolElement(name), func(w *leafWriter) {
		for row := range n {
			w.bools = append(w.bools, value(row))
		}
	})
}

// mapColumn is a map of strings.
func mapColumn(name string, n int, count func(row int) int, pair func(row, i int) (key, value string)) column {
	outer := groupElement(name, format.Required, 1)
	outer.ConvertedType, outer.LogicalType.Value = thrift.New(deprecated.Map), &format.MapType{}
	return repeatedColumn(outer, "key_value", nil, []member{
		{textElement("key"), repeated(n, count, func(w *leafWriter, row, i int) {
			key, _ := pair(row, i)
			w.addText(key)
		})},
		{textElement("value"), repeated(n, count, func(w *leafWriter, row, i int) {
			_, value := pair(row, i)
			w.addText(value)
		})},
	})
}

// listElement is of a list.
func listElement(name string) format.SchemaElement {
	e := groupElement(name, format.Required, 1)
	e.ConvertedType, e.LogicalType.Value = thrift.New(deprecated.List), &format.ListType{}
	return e
}

// listColumn is a list of strings.
func listColumn(name string, n int, count func(row int) int, text func(row, i int) string) column {
	return repeatedColumn(listElement(name), "list", nil, []member{
		{textElement("element"), repeated(n, count, func(w *leafWriter, row, i int) { w.addText(text(row, i)) })},
	})
}

// repeatedColumn has columns below repeated groups: outer, a group of a name that Parquet demands, and inner unless it is nil.
func repeatedColumn(outer format.SchemaElement, name string, inner *format.SchemaElement, members []member) column {
	children := len(members)
	path := []string{outer.Name, name}
	if inner != nil {
		children, path = 1, append(path, inner.Name)
	}
	c := column{schema: []format.SchemaElement{outer, groupElement(name, format.Repeated, children)}}
	if inner != nil {
		c.schema = append(c.schema, *inner)
	}
	for _, m := range members {
		c.schema = append(c.schema, m.schema)
		c.leaves = append(c.leaves, leafSource{append(slices.Clip(path), m.schema.Name), m.schema.Type.V, m.fill})
	}
	return c
}

// repeated fills a leaf of a list or map; count says how many values a row has.
func repeated(n int, count func(row int) int, add func(w *leafWriter, row, i int)) func(*leafWriter) {
	return func(w *leafWriter) {
		for row := range n {
			k := count(row)
			if k == 0 {
				w.level(0, 0)
			}
			for i := range k {
				w.level(byte(min(i, 1)), 1)
				add(w, row, i)
			}
		}
	}
}

// structMember is a field of the structs in a list.
type structMember[T any] struct {
	schema format.SchemaElement
	add    func(w *leafWriter, x *T)
}

// structsColumn is a list of structs.
func structsColumn[T any](name string, n int, of func(row int) []T, fields []structMember[T]) column {
	var members []member
	for _, f := range fields {
		members = append(members, member{f.schema, repeated(n, func(row int) int { return len(of(row)) }, func(w *leafWriter, row, i int) { f.add(w, &of(row)[i]) })})
	}
	inner := groupElement("element", format.Required, len(members))
	return repeatedColumn(listElement(name), "list", &inner, members)
}

// addNumber adds a number to a leaf without a dictionary.
func (w *leafWriter) addNumber(v float64) { w.words = append(w.words, int64(math.Float64bits(v))) }
