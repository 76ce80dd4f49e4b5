package parquet

import (
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Column is a column of a file that is written: what its node in the schema is made of, and its leaves in the order of the schema.
type Column struct {
	name   string
	node   func(leaves []parquet.Node) parquet.Node
	leaves []leafSource
}

// leafSource is a leaf of a column: its type, and what appends the values of the rows [from, to) with their levels.
type leafSource struct {
	path     []string
	node     parquet.Node
	values   func(dst []parquet.Value, from, to int) []parquet.Value
	bounds   bool // readers leave row groups out by the smallest and the largest value
	distinct int  // how many distinct values there are at most; 0 if that is not known
}

// member is a field of the elements of a list or map: its value in element i of a row.
type member struct {
	name  string
	node  parquet.Node
	value func(row, i int) parquet.Value
}

// The types of leaves.
func numberNode() parquet.Node { return parquet.Leaf(parquet.DoubleType) }

func boolNode() parquet.Node { return parquet.Leaf(parquet.BooleanType) }

func timeNode() parquet.Node { return parquet.Timestamp(parquet.Millisecond) }

func textValue(text string) parquet.Value { return parquet.ByteArrayValue([]byte(text)) }

// single is a column of one leaf with a value in each row.
func single(name string, node parquet.Node, value func(row int) parquet.Value) Column {
	source := leafSource{path: []string{name}, node: node, bounds: node.Type().Kind() != parquet.Double}
	source.values = func(dst []parquet.Value, from, to int) []parquet.Value {
		for row := from; row < to; row++ {
			dst = append(dst, value(row))
		}
		return dst
	}
	return Column{name, func(leaves []parquet.Node) parquet.Node { return leaves[0] }, []leafSource{source}}
}

// optional is a single column whose values are those that orNull returns.
func optional(name string, node parquet.Node, value func(row int) parquet.Value) Column {
	c := single(name, node, value)
	c.node = func(leaves []parquet.Node) parquet.Node { return parquet.Optional(leaves[0]) }
	return c
}

// orNull is a value of an optional column: null unless it is there.
func orNull(v parquet.Value, there bool) parquet.Value {
	if there {
		return v.Level(0, 1, 0)
	}
	return parquet.NullValue()
}

// textColumn is a column of strings.
func textColumn(name string, text func(row int) string) Column {
	return single(name, parquet.String(), func(row int) parquet.Value { return textValue(text(row)) })
}

// numberColumn is a column of amounts.
func numberColumn(name string, value func(row int) float64) Column {
	return single(name, numberNode(), func(row int) parquet.Value { return parquet.DoubleValue(value(row)) })
}

// OptionalTextColumn is a column of strings from a list, of which each row has one by its index. The empty string is null.
func OptionalTextColumn(name string, list []string, index func(row int) uint32) Column {
	values := make([]parquet.Value, len(list))
	for i, text := range list {
		values[i] = orNull(textValue(text), text != "")
	}
	c := optional(name, parquet.String(), func(row int) parquet.Value { return values[index(row)] })
	c.leaves[0].distinct = len(list)
	return c
}

// OptionalNumberColumn is a column of amounts in which NaN, an unknown amount, is null.
func OptionalNumberColumn(name string, value func(row int) float64) Column {
	return optional(name, numberNode(), func(row int) parquet.Value {
		v := value(row)
		return orNull(parquet.DoubleValue(v), v == v)
	})
}

// TimeColumn is a column of instants, in Unix milliseconds.
func TimeColumn(name string, millis func(row int) int64) Column {
	return single(name, timeNode(), func(row int) parquet.Value { return parquet.Int64Value(millis(row)) })
}

func boolColumn(name string, value func(row int) bool) Column {
	return single(name, boolNode(), func(row int) parquet.Value { return parquet.BooleanValue(value(row)) })
}

// mapColumn is a map of strings.
func mapColumn(name string, count func(row int) int, pair func(row, i int) (key, value string)) Column {
	key := func(row, i int) parquet.Value {
		key, _ := pair(row, i)
		return textValue(key)
	}
	value := func(row, i int) parquet.Value {
		_, value := pair(row, i)
		return textValue(value)
	}
	return repeated([]string{name, "key_value"}, count, []member{{"key", parquet.String(), key}, {"value", parquet.String(), value}},
		func(leaves []parquet.Node) parquet.Node { return parquet.Map(leaves[0], leaves[1]) })
}

// listColumn is a list of strings.
func listColumn(name string, count func(row int) int, text func(row, i int) string) Column {
	element := member{"element", parquet.String(), func(row, i int) parquet.Value { return textValue(text(row, i)) }}
	return repeated([]string{name, "list"}, count, []member{element}, func(leaves []parquet.Node) parquet.Node { return parquet.List(leaves[0]) })
}

// structsColumn is a list of structs.
func structsColumn(name string, count func(row int) int, members []member) Column {
	return repeated([]string{name, "list", "element"}, count, members, func(leaves []parquet.Node) parquet.Node {
		fields := make([]parquet.Field, len(leaves))
		for i, leaf := range leaves {
			fields[i] = named{leaf, members[i].name}
		}
		return parquet.List(group{parquet.Group{}, fields})
	})
}

// repeated is a list or map at a path; count says how many elements a row has.
func repeated(path []string, count func(row int) int, members []member, node func([]parquet.Node) parquet.Node) Column {
	c := Column{name: path[0], node: node}
	for _, m := range members {
		at := append(slices.Clip(path), m.name)
		c.leaves = append(c.leaves, leafSource{path: at, node: m.node, values: func(dst []parquet.Value, from, to int) []parquet.Value {
			for row := from; row < to; row++ {
				n := count(row)
				if n == 0 {
					dst = append(dst, parquet.NullValue())
				}
				for i := range n {
					dst = append(dst, m.value(row, i).Level(min(i, 1), 1, 0))
				}
			}
			return dst
		}})
	}
	return c
}

// group is a node whose fields stay in their order: the library sorts those of its own groups.
type group struct {
	parquet.Group
	fields []parquet.Field
}

// Fields implements parquet.Node.
func (g group) Fields() []parquet.Field { return g.fields }

// named is a node of a group with its name.
type named struct {
	parquet.Node
	name string
}

// Name implements parquet.Field.
func (n named) Name() string { return n.name }

// Value implements parquet.Field. It is for Go values, of which none are written.
func (n named) Value(reflect.Value) reflect.Value { panic("BUG: a column is written by its values") }
