package filter

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
)

// matcher is the meaning of a comparison, without its negation, on strings. It is the only definition, whether the strings
// come from a Set, an asset or a saved answer.
type matcher struct {
	text func(s string) bool // of a text, an element of a list, or the value of a key
	key  func(s string) bool // of a key, in any spelling
	none bool                // the comparison holds for an empty list or map
}

// newMatcher returns the matcher for a comparison of a field.
func newMatcher(c *Comparison, spec *fieldSpec) matcher {
	anyCase := c.AnyCase || spec.anyCase
	op := positive(c.Op)
	byElement := spec.kind == listField || spec.kind == mapField && c.Key == ""
	if byElement && op == Contains {
		op = Equal
	}
	m := matcher{text: matchText(op, c.Values, anyCase), none: op == Equal && slices.ContainsFunc(c.Values, missing)}
	if spec.kind == mapField && c.Key == "" {
		m.key = matchKey(op, c.Values, anyCase)
	}
	return m
}

// matchKey tests a key in all of its spellings against values in all of theirs.
func matchKey(op Op, values []string, anyCase bool) func(string) bool {
	var spelled []string
	for _, v := range values {
		spelled = append(spelled, labelnames.Spellings(v)...)
	}
	asGiven, inAnySpelling := matchText(op, values, anyCase), matchText(op, spelled, anyCase)
	return func(key string) bool {
		return inAnySpelling(key) || inAnySpelling(labelnames.WithoutConflict(key)) || slices.ContainsFunc(labelnames.Spellings(key), asGiven)
	}
}

// matchText tests a string with an operator and values.
func matchText(op Op, values []string, anyCase bool) func(string) bool {
	if anyCase {
		folded := make([]string, len(values))
		for i, v := range values {
			folded[i] = strings.ToLower(v)
		}
		exact := matchText(op, folded, false)
		return func(s string) bool { return exact(strings.ToLower(s)) }
	}
	if op == Equal {
		wanted := make(map[string]bool, len(values))
		for _, v := range values {
			wanted[v] = true
			if missing(v) {
				wanted[""] = true
			}
		}
		return func(s string) bool { return wanted[s] }
	}
	if len(values) > fewValues {
		return manyValues(op, values)
	}
	match := ops[op].match
	return func(s string) bool {
		for _, v := range values {
			if match(s, v) {
				return true
			}
		}
		return false
	}
}

// missing reports whether an equal comparison with value means that something is missing.
func missing(value string) bool { return value == "" || value == allocation.UnallocatedName }

// labelView is a map as selectors of Kubernetes look at it. Keys are found in any spelling.
type labelView struct {
	lookup func(name string) (string, bool)
}

// Has implements labels.Labels.
func (l labelView) Has(name string) bool {
	_, ok := l.lookup(name)
	return ok
}

// Get implements labels.Labels.
func (l labelView) Get(name string) string {
	v, _ := l.lookup(name)
	return v
}

// Lookup implements labels.Labels.
func (l labelView) Lookup(name string) (string, bool) { return l.lookup(name) }
