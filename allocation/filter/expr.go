package filter

import (
	"strings"

	"github.com/promcost/promcost/allocation"
)

// Field is what a comparison looks at.
type Field uint8

// The fields of allocations.
const (
	Cluster Field = iota
	Node
	Namespace
	ControllerName
	ControllerKind
	Pod
	Container
	Services
	Label
	Annotation
	numFields
)

// fields describes each field: its name in filters, the property it reads, and whether case matters to its values.
var fields = [numFields]struct {
	name     string
	property allocation.Property
	anyCase  bool
}{
	Cluster:        {"cluster", allocation.Cluster, false},
	Node:           {"node", allocation.NodeName, false},
	Namespace:      {"namespace", allocation.Namespace, false},
	ControllerName: {"controllerName", allocation.Controller, false},
	ControllerKind: {"controllerKind", allocation.ControllerKind, true},
	Pod:            {"pod", allocation.Pod, false},
	Container:      {"container", allocation.Container, false},
	Services:       {"services", allocation.Services, false},
	Label:          {"label", allocation.Labels, false},
	Annotation:     {"annotation", allocation.Annotations, false},
}

// String is the field's name in filters.
func (f Field) String() string { return fields[f].name }

// Op is how a comparison compares. Each has an inverse, which matches exactly what it does not.
type Op uint8

// The operators. On a list they look for an element and on a map without a key for a key that is, starts or ends like the
// value, Contains being Equal there.
const (
	Equal Op = iota
	NotEqual
	Contains
	NotContains
	Prefix
	NotPrefix
	Suffix
	NotSuffix
	numOps
)

// ops describes each operator: its text, the operator it is or negates, and what that does to strings.
var ops = [numOps]struct {
	text    string
	negates bool
	match   func(s, value string) bool
}{
	Equal:       {":", false, equal},
	NotEqual:    {"!:", true, equal},
	Contains:    {"~:", false, strings.Contains},
	NotContains: {"!~:", true, strings.Contains},
	Prefix:      {"<~:", false, strings.HasPrefix},
	NotPrefix:   {"!<~:", true, strings.HasPrefix},
	Suffix:      {"~>:", false, strings.HasSuffix},
	NotSuffix:   {"!~>:", true, strings.HasSuffix},
}

func equal(s, value string) bool { return s == value }

// String is the operator as filters write it.
func (o Op) String() string { return ops[o].text }

// Expr is a condition: And, Or or *Comparison, and no other type.
type Expr interface{ isExpr() }

// And holds where all its parts do; empty, everywhere.
type And []Expr

// Or holds where one of its parts does; empty, nowhere.
type Or []Expr

// Comparison holds where the field compares with one of the values, and with an inverse operator where it does with none.
// The values "" and __unallocated__ equal what is missing: a property, all elements of a list, the key of a map.
type Comparison struct {
	Field Field
	// Key selects the value of a label or annotation, raw or as Prometheus writes it. Without one, the comparison is
	// with the keys.
	Key    string
	Op     Op
	Values []string
}

func (And) isExpr()         {}
func (Or) isExpr()          {}
func (*Comparison) isExpr() {}

// Filter is a condition on allocations. It is not changed once made and safe for concurrent use.
type Filter struct{ root Expr }

var _ allocation.Filter = (*Filter)(nil)

// New returns the filter that selects where e holds. e must not be changed any more.
func New(e Expr) *Filter { return &Filter{root: e} }

// String is the filter in v2 syntax, with parentheses where they are needed. Parse reads it back, unless a value holds a
// double quote, a key a closing bracket, or an And or Or is empty, which v2 cannot express.
func (f *Filter) String() string {
	var b strings.Builder
	write(&b, f.root, false)
	return b.String()
}

// write appends e, in parentheses if it is inside another list.
func write(b *strings.Builder, e Expr, inside bool) {
	switch e := e.(type) {
	case And:
		writeList(b, e, "+", inside)
	case Or:
		writeList(b, e, "|", inside)
	case *Comparison:
		b.WriteString(e.Field.String())
		if e.Key != "" {
			b.WriteString("[" + e.Key + "]")
		}
		b.WriteString(e.Op.String())
		for i, v := range e.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + v + `"`)
		}
	}
}

func writeList(b *strings.Builder, parts []Expr, sep string, inside bool) {
	if inside {
		b.WriteByte('(')
	}
	for i, part := range parts {
		if i > 0 {
			b.WriteString(sep)
		}
		write(b, part, true)
	}
	if inside {
		b.WriteByte(')')
	}
}
