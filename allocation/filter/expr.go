package filter

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
)

// Op is the operator of a comparison. Each has an inverse that matches exactly what it does not match.
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

// ops describes each operator: its text, its name in explanations, the operator it is or negates, and what that does to
// strings.
var ops = [numOps]struct {
	text, name string
	positive   Op
	match      func(s, value string) bool
}{
	Equal:       {":", "is", Equal, equal},
	NotEqual:    {"!:", "is not", Equal, equal},
	Contains:    {"~:", "contains", Contains, strings.Contains},
	NotContains: {"!~:", "does not contain", Contains, strings.Contains},
	Prefix:      {"<~:", "starts with", Prefix, strings.HasPrefix},
	NotPrefix:   {"!<~:", "does not start with", Prefix, strings.HasPrefix},
	Suffix:      {"~>:", "ends with", Suffix, strings.HasSuffix},
	NotSuffix:   {"!~>:", "does not end with", Suffix, strings.HasSuffix},
}

func equal(s, value string) bool { return s == value }

// String is the operator as filters write it.
func (o Op) String() string { return ops[o].text }

// positive is the operator that o is or negates.
func positive(o Op) Op { return ops[o].positive }

// negates reports whether o is an inverse.
func negates(o Op) bool { return ops[o].positive != o }

// Expr is a condition: And, Or, *Comparison or *LabelSelector, and no other type.
type Expr interface{ isExpr() }

// And holds where all its parts do; empty, everywhere.
type And []Expr

// Or matches if one of its parts does. An empty Or matches nothing.
type Or []Expr

// Comparison matches if the field compares with one of the values, or for an inverse operator with none of them. The values
// "" and __unallocated__ equal a missing value: of a property, of all elements of a list, of a map's key, and of an unknown
// field.
type Comparison struct {
	Field Field
	// Key selects the value of a label or annotation, in any spelling: see labelnames.Name. Without one, the comparison
	// is with the keys.
	Key    string
	Op     Op
	Values []string
	// AnyCase compares without regard to case also where the field does not.
	AnyCase bool
}

// LabelSelector holds where the labels meet a selector of Kubernetes; ParseLabelSelector makes it.
type LabelSelector struct {
	selector labels.Selector
	text     string
}

// String is the selector as it was given.
func (l *LabelSelector) String() string { return l.text }

// keys are the names of the labels that it looks at.
func (l *LabelSelector) keys() []string {
	requirements, _ := l.selector.Requirements()
	keys := make([]string, len(requirements))
	for i := range requirements {
		keys[i] = requirements[i].Key()
	}
	return keys
}

// weight is how many steps it takes to match it once.
func (l *LabelSelector) weight() int {
	const together = 16 // values that are about a step
	values := 0
	requirements, _ := l.selector.Requirements()
	for i := range requirements {
		values += 1 + len(requirements[i].ValuesUnsorted())
	}
	return values / together
}

func (And) isExpr()            {}
func (Or) isExpr()             {}
func (*Comparison) isExpr()    {}
func (*LabelSelector) isExpr() {}

// Filter is a condition on allocations or on assets. It is not changed once made and safe for concurrent use.
type Filter struct {
	root Expr
	vocabulary
}

var _ allocation.Filter = (*Filter)(nil)

// New returns the filter of allocations that selects where e holds. e must not be changed any more. In a comparison of a
// field that allocations do not have, that is missing.
func New(e Expr, opts ...Option) *Filter { return newFilter(e, false, opts) }

// NewAssets returns the filter of assets that selects where e holds, as New does.
func NewAssets(e Expr, opts ...Option) *Filter { return newFilter(e, true, opts) }

func newFilter(e Expr, assets bool, opts []Option) *Filter {
	f := &Filter{root: e}
	for _, opt := range opts {
		opt(&f.vocabulary)
	}
	f.vocabulary = f.fieldsOf(assets)
	return f.Among(labelnames.Names{})
}

// Among is the filter where names of labels are known to be in use, besides its own: see labelnames.LabelNames.
func (f *Filter) Among(known labelnames.Names) *Filter {
	var texts []string
	for _, use := range f.Labels() {
		texts = append(texts, use.Text)
	}
	own := *f
	own.known = known.And(texts...)
	return &own
}

// Labels are the labels and annotations that the filter looks at the values of.
func (f *Filter) Labels() []allocation.LabelUse { return f.labelsIn(f.root) }

// labelsIn are the labels and annotations that e looks at the values of.
func (v *vocabulary) labelsIn(e Expr) (uses []allocation.LabelUse) {
	switch e := e.(type) {
	case *LabelSelector:
		for _, key := range e.keys() {
			uses = append(uses, allocation.LabelUse{Text: key, Label: true})
		}
	case *Comparison:
		if v.spec(e.Field).kind == aliasField {
			for _, label := range v.labelsOf(e.Field) {
				uses = append(uses, allocation.LabelUse{Text: label, Label: true, Annotation: true, Alias: string(e.Field)})
			}
		} else if e.Key != "" {
			uses = append(uses, allocation.LabelUse{Text: e.Key, Label: e.Field == Label, Annotation: e.Field == Annotation})
		}
	}
	for _, part := range partsOf(e) {
		uses = append(uses, v.labelsIn(part)...)
	}
	return uses
}

// partsOf are the parts of an And or an Or; other conditions have none.
func partsOf(e Expr) []Expr {
	switch e := e.(type) {
	case And:
		return e
	case Or:
		return e
	}
	return nil
}

// Uses reports whether a comparison in e is of the field.
func Uses(e Expr, field Field) bool {
	part := func(e Expr) bool { return Uses(e, field) }
	switch e := e.(type) {
	case And:
		return slices.ContainsFunc(e, part)
	case Or:
		return slices.ContainsFunc(e, part)
	case *Comparison:
		return e.Field == field
	}
	return false
}

// Expr is the condition. It must not be changed.
func (f *Filter) Expr() Expr { return f.root }

// String is the filter in v2 syntax, with parentheses where they are needed. Parse reads it back, unless a key holds a closing bracket, an
// And or Or is empty, or a selector of Kubernetes is in it, which v2 cannot express.
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
		e.writeSubject(b)
		b.WriteString(e.Op.String())
		e.writeValues(b)
	case *LabelSelector:
		b.WriteString("labels(" + e.text + ")")
	}
}

// writeSubject appends the field and its key.
func (c *Comparison) writeSubject(b *strings.Builder) {
	b.WriteString(string(c.Field))
	if c.Key != "" {
		b.WriteString("[" + c.Key + "]")
	}
}

// writeValues appends the values.
func (c *Comparison) writeValues(b *strings.Builder) {
	for i, v := range c.Values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + escape.Replace(v) + `"`)
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

// Explain is the filter as a tree, a line a condition, each below the one it is a part of.
func (f *Filter) Explain() string {
	var b strings.Builder
	explain(&b, f.root, 0)
	return b.String()
}

// explain appends e, depth levels below the root.
func explain(b *strings.Builder, e Expr, depth int) {
	b.WriteString(strings.Repeat("  ", depth))
	list := func(word string, parts []Expr) {
		b.WriteString(word + "\n")
		for _, part := range parts {
			explain(b, part, depth+1)
		}
	}
	switch e := e.(type) {
	case And:
		list("all of", e)
	case Or:
		list("any of", e)
	case *Comparison:
		e.writeSubject(b)
		b.WriteString(" " + ops[e.Op].name + " ")
		e.writeValues(b)
		b.WriteByte('\n')
	case *LabelSelector:
		b.WriteString("labels match " + e.text + "\n")
	}
}
