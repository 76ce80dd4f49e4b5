package manifests

import (
	"reflect"
	"slices"
)

// The nodes of the tree that describes an object. A leaf is a string, an int, a bool, a text, a hash, or a pointer to a field
// of Values, whose value may be a list or a mapping.
type (
	// object is a mapping, whose keys keep their order: of entries, whens and spreads.
	object []any
	// list is a sequence: of nodes, whens, spreads and given flags.
	list []any
	// entry is a key of an object, a string or a pointer to one, and its value.
	entry struct{ key, value any }
	// when are elements of an object or a list that are there only under a condition.
	when struct {
		condition
		elements []any
	}
	// spread are the elements of a field that is a mapping or a list, among others of an object or a list.
	spread struct{ field any }
	// text is made of parts: strings, pointers to strings or ints, and dollars.
	text []any
	// dollars is a part of a text in which Kubernetes is to expand nothing.
	dollars struct{ field *string }
	// hash is a short text that changes when one of the fields does.
	hash []*string
	// given are the flags that the values give, those left out that are named.
	given struct {
		flags  *map[string]any
		except []string
	}
	// fileText is the text of a file that the chart contains, in which old is replaced by a field, if that is not nil.
	fileText struct {
		file File
		old  string
		by   *string
	}
	// fileYAML is what a file of YAML says.
	fileYAML struct{ file File }
)

// condition is whether a field is set or, if above is not nil, whether that is more than least.
type condition struct {
	field any
	above *int
	least int
	not   bool
}

func is(field any) condition                { return condition{field: field} }
func above(field *int, least int) condition { return condition{above: field, least: least} }
func not(c condition) condition             { c.not = !c.not; return c }

// only are elements under a condition.
func only(c condition, elements ...any) when { return when{c, elements} }

// holds reports whether the condition does.
func (c *condition) holds() bool {
	if c.above != nil {
		return (*c.above > c.least) != c.not
	}
	v := reflect.ValueOf(c.field).Elem()
	set := !v.IsZero()
	if v.Kind() == reflect.Map || v.Kind() == reflect.Slice {
		set = v.Len() > 0
	}
	return set != c.not
}

// with is an object with more elements.
func (o object) with(elements ...any) object { return append(slices.Clip(o), elements...) }

// refusal is a document that is none: values under its conditions are refused for a reason.
type refusal struct {
	conditions []condition
	reason     string
}

// document is an object of the cluster, in a file of the chart. It is there where all conditions hold.
type document struct {
	file       string
	conditions []condition
	body       object
}
