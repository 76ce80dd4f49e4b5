package filter

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// matcher is what a comparison means, on strings: its operator taken as not negated. It alone defines that, whether the
// strings are those of a Set, of an asset or of a saved answer.
type matcher struct {
	text func(s string) bool // of a text, an element of a list, or the value of a key
	key  func(s string) bool // of a key, in either spelling
	none bool                // the comparison holds for an empty list or map
}

// newMatcher is that of a comparison of a field.
func newMatcher(c *Comparison, spec *fieldSpec) matcher {
	anyCase := c.AnyCase || spec.anyCase
	op := positive(c.Op)
	byElement := spec.kind == listField || spec.kind == mapField && c.Key == ""
	if byElement && op == Contains {
		op = Equal
	}
	m := matcher{text: matchText(op, c.Values, anyCase), none: op == Equal && slices.ContainsFunc(c.Values, missing)}
	if spec.kind == mapField && c.Key == "" {
		written := make([]string, len(c.Values))
		for i, v := range c.Values {
			written[i] = allocation.Sanitize(v)
		}
		raw, sanitized := m.text, matchText(op, written, anyCase)
		m.key = func(key string) bool { return raw(key) || raw(allocation.Sanitize(key)) || sanitized(key) }
	}
	return m
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

// keyRank is how well a key of a map is the one that was asked for.
type keyRank uint8

const (
	noKey      keyRank = iota
	alikeKey           // it was asked for as Prometheus writes it
	writtenKey         // it is what Prometheus makes of the one asked for
	exactKey
)

// keyFinder finds a key in maps, as it was given or in the other spelling.
type keyFinder struct{ name, written string }

func newKeyFinder(name string) keyFinder { return keyFinder{name, allocation.Sanitize(name)} }

// rank is that of a key. Of several of the highest rank in a map, the first in order counts.
func (k keyFinder) rank(key string) keyRank {
	switch {
	case key == k.name:
		return exactKey
	case key == k.written:
		return writtenKey
	case k.name == k.written && allocation.Sanitize(key) == k.name:
		return alikeKey
	}
	return noKey
}

// lookup is the value of the key in m.
func (k keyFinder) lookup(m map[string]string) (value string, ok bool) {
	if v, ok := m[k.name]; ok {
		return v, true
	}
	if v, ok := m[k.written]; ok {
		return v, true
	}
	found := ""
	for key, v := range m {
		if k.rank(key) == alikeKey && (!ok || key < found) {
			found, value, ok = key, v, true
		}
	}
	return value, ok
}

// labelView is a map as selectors of Kubernetes look at it. Keys are found in either spelling.
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
