package filter

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// accessor finds the fields of objects of type T.
type accessor[T any] struct {
	text  func(*fieldSpec) func(T) string // nil where they have no such field
	list  func(*fieldSpec) func(T) []string
	pairs func(Field) func(T) map[string]string
}

// objects is the filter over objects that are not rows of a Set: assets, and those of saved answers. They are looked at as
// the strings that they are: assets are few, so that ids of their strings would cost more than they save.
func objects[T any](root Expr, v vocabulary, access accessor[T]) func(T) bool {
	c := compiler[func(T) bool]{
		vocabulary: &v,
		compare:    func(c *Comparison) func(T) bool { return compareObject(v.spec(c.Field), c, access) },
		labels: func(l *LabelSelector) func(T) bool {
			labels := access.pairs(Label)
			return func(o T) bool {
				m := labels(o)
				return l.selector.Matches(labelView{func(name string) (string, bool) { return newKeyFinder(name).lookup(m) }})
			}
		},
	}
	p := c.compile(root)
	return func(o T) bool {
		for at := p.start; ; {
			if at < 0 {
				return at == accept
			}
			b := &p.branches[at]
			if b.test(o) {
				at = b.yes
			} else {
				at = b.no
			}
		}
	}
}

// compareObject decides a comparison, its operator taken as not negated.
func compareObject[T any](spec *fieldSpec, c *Comparison, access accessor[T]) func(T) bool {
	m := newMatcher(c, spec)
	switch spec.kind {
	case listField:
		list := access.list(spec)
		return func(o T) bool { return m.matchList(list(o)) }
	case mapField:
		pairs := access.pairs(spec.name)
		if c.Key == "" {
			return func(o T) bool { return m.matchKeys(pairs(o)) }
		}
		finder := newKeyFinder(c.Key)
		return func(o T) bool {
			value, _ := finder.lookup(pairs(o))
			return m.text(value)
		}
	case textField, aliasField:
	}
	text := access.text(spec)
	if text == nil {
		hit := m.text("")
		return func(T) bool { return hit }
	}
	return func(o T) bool { return m.text(text(o)) }
}

// matchList reports whether some element compares, or the list is empty and that is looked for.
func (m *matcher) matchList(list []string) bool {
	return slices.ContainsFunc(list, m.text) || m.none && len(list) == 0
}

// matchKeys reports whether some key compares, or the map is empty and that is looked for.
func (m *matcher) matchKeys(pairs map[string]string) bool {
	for key := range pairs {
		if m.key(key) {
			return true
		}
	}
	return m.none && len(pairs) == 0
}

// BindAssets compiles the filter for assets: fields that only allocations have are missing there. The function it returns is safe for concurrent use.
func (f *Filter) BindAssets() func(a *allocation.Asset) bool {
	return objects(f.root, f.of(true), accessor[*allocation.Asset]{
		text: func(spec *fieldSpec) func(*allocation.Asset) string { return spec.asset },
		list: func(*fieldSpec) func(*allocation.Asset) []string {
			return func(*allocation.Asset) []string { return nil }
		},
		pairs: assetPairs,
	})
}

// assetPairs are the labels of assets; they have no other map.
func assetPairs(field Field) func(*allocation.Asset) map[string]string {
	if field == Label {
		return func(a *allocation.Asset) map[string]string { return a.Labels }
	}
	return func(*allocation.Asset) map[string]string { return nil }
}
