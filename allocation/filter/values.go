package filter

import (
	"cmp"
	"slices"
	"strings"
)

// fewValues are looked for one by one.
const fewValues = 4

// manyValues returns a test whether a string contains, starts or ends with one of values. Its time hardly depends on the
// number of values.
func manyValues(op Op, values []string) func(string) bool {
	if op == Suffix {
		ends := newAffixes(values, compareEnds, strings.HasSuffix, func(s string) byte { return s[len(s)-1] })
		return ends.match
	}
	starts := newAffixes(values, strings.Compare, strings.HasPrefix, func(s string) byte { return s[0] })
	if op == Prefix {
		return starts.match
	}
	return func(s string) bool {
		if starts.any {
			return true
		}
		for i := range len(s) {
			if starts.match(s[i:]) {
				return true
			}
		}
		return false
	}
}

// affixes are sorted, and none is an affix of another: if one is an affix of a string, it is the last one that is not
// behind the string.
type affixes struct {
	any     bool // the empty one is among them
	buckets [256][]string
	compare func(a, b string) int
	has     func(s, affix string) bool
	first   func(s string) byte
}

func newAffixes(values []string, compare func(a, b string) int, has func(s, affix string) bool, first func(string) byte) *affixes {
	a := &affixes{any: slices.Contains(values, ""), compare: compare, has: has, first: first}
	if a.any {
		return a
	}
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, compare)
	for i, last := 0, ""; i < len(sorted); i++ {
		if last != "" && has(sorted[i], last) {
			continue
		}
		last = sorted[i]
		a.buckets[first(last)] = append(a.buckets[first(last)], last)
	}
	return a
}

// match reports whether s has one of the affixes.
func (a *affixes) match(s string) bool {
	if a.any || s == "" {
		return a.any
	}
	bucket := a.buckets[a.first(s)]
	i, found := slices.BinarySearchFunc(bucket, s, a.compare)
	return found || i > 0 && a.has(s, bucket[i-1])
}

// compareEnds orders strings by their bytes from the last one on.
func compareEnds(a, b string) int {
	for i := 1; i <= min(len(a), len(b)); i++ {
		if c := cmp.Compare(a[len(a)-i], b[len(b)-i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
