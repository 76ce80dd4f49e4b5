package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// column is a column of a file that is written: what its node in the schema is made of, and its leaves in the order of the schema.
type column struct {
	name   string
	node   func(leaves []parquet.Node) parquet.Node
	leaves []leafSource
}

// leafSource is a leaf of a column: its type, and what appends the values of a row with their levels.
type leafSource struct {
	path   []string
	node   parquet.Node
	values func(dst []parquet.Value, row int) []parquet.Value
	bounds bool // readers leave row groups out by the smallest and the largest value
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
func single(name string, node parquet.Node, value func(row int) parquet.Value) column {
	source := leafSource{[]string{name}, node, func(dst []parquet.Value, row int) []parquet.Value { return append(dst, value(row)) }, node.Type().Kind() != parquet.Double}
	return column{name, func(leaves []parquet.Node) parquet.Node { return leaves[0] }, []leafSource{source}}
}

// optional makes a single column optional. A row in which its value is null has none.
func optional(c column) column {
	of := c.leaves[0].values
	c.node = func(leaves []parquet.Node) parquet.Node { return parquet.Optional(leaves[0]) }
	c.leaves[0].values = func(dst []parquet.Value, row int) []parquet.Value {
		dst = of(dst, row)
		last := &dst[len(dst)-1]
		*last = last.Level(0, level(!last.IsNull()), 0)
		return dst
	}
	return c
}

// level is the definition level of a value that is there or is not.
func level(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// textColumn is a column of strings.
func textColumn(name string, text func(row int) string) column {
	return single(name, parquet.String(), func(row int) parquet.Value { return textValue(text(row)) })
}

// numberColumn is a column of amounts.
func numberColumn(name string, value func(row int) float64) column {
	return single(name, numberNode(), func(row int) parquet.Value { return parquet.DoubleValue(value(row)) })
}

// optionalColumn is a column of amounts in which NaN, an unknown amount, is null.
func optionalColumn(name string, value func(row int) float64) column {
	return optional(single(name, numberNode(), func(row int) parquet.Value {
		if v := value(row); v == v {
			return parquet.DoubleValue(v)
		}
		return parquet.NullValue()
	}))
}

// timeColumn is a column of instants, in Unix milliseconds.
func timeColumn(name string, millis func(row int) int64) column {
	return single(name, timeNode(), func(row int) parquet.Value { return parquet.Int64Value(millis(row)) })
}

func boolColumn(name string, value func(row int) bool) column {
	return single(name, boolNode(), func(row int) parquet.Value { return parquet.BooleanValue(value(row)) })
}

// mapColumn is a map of strings.
func mapColumn(name string, count func(row int) int, pair func(row, i int) (key, value string)) column {
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
func listColumn(name string, count func(row int) int, text func(row, i int) string) column {
	element := member{"element", parquet.String(), func(row, i int) parquet.Value { return textValue(text(row, i)) }}
	return repeated([]string{name, "list"}, count, []member{element}, func(leaves []parquet.Node) parquet.Node { return parquet.List(leaves[0]) })
}

// structsColumn is a list of structs.
func structsColumn(name string, count func(row int) int, members []member) column {
	return repeated([]string{name, "list", "element"}, count, members, func(leaves []parquet.Node) parquet.Node {
		fields := make([]parquet.Field, len(leaves))
		for i, leaf := range leaves {
			fields[i] = named{leaf, members[i].name}
		}
		return parquet.List(group{parquet.Group{}, fields})
	})
}

// repeated is a list or map at a path; count says how many elements a row has.
func repeated(path []string, count func(row int) int, members []member, node func([]parquet.Node) parquet.Node) column {
	c := column{name: path[0], node: node}
	for _, m := range members {
		at := append(path[:len(path):len(path)], m.name)
		c.leaves = append(c.leaves, leafSource{path: at, node: m.node, values: func(dst []parquet.Value, row int) []parquet.Value {
			n := count(row)
			if n == 0 {
				return append(dst, parquet.NullValue().Level(0, 0, 0))
			}
			for i := range n {
				dst = append(dst, m.value(row, i).Level(min(i, 1), 1, 0))
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
