package filter

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
)

// accessor finds the fields of objects of type T.
type accessor[T any] struct {
	text  func(*fieldSpec) func(T) string // nil where they have no such field
	list  func(*fieldSpec) func(T) []string
	pairs func(Field) func(T) map[string]string
}

// objects is the filter over objects that are not rows of a Set: assets, and those of saved answers. They are looked at as
// the strings that they are: assets are few, so that ids of their strings would cost more than they save. Once there are no
// more steps, it selects nothing.
func objects[T any](root Expr, v vocabulary, access accessor[T], steps *Steps) func(T) bool {
	labels := func(l *LabelSelector) func(T) bool {
		labels, weight := access.pairs(Label), l.weight()
		names := map[string]*labelnames.Name{}
		for _, key := range l.keys() {
			name := v.known.Name(key)
			names[key] = &name
		}
		return func(o T) bool {
			m := labels(o)
			steps.take(weight)
			return l.selector.Matches(labelView{func(key string) (string, bool) { return labelnames.Find(names[key], m) }})
		}
	}
	planned := newPlan(root, &v)
	tests := growTree(&planned, func(p *plan) func(T) bool {
		if p.labels != nil {
			return labels(p.labels)
		}
		return compareObject(&v, p.comparison, access, steps)
	})
	p := compile(&tests, func(test func(T) bool) func(T) bool { return test })
	return func(o T) bool {
		for at := p.start; ; {
			if at < 0 {
				return at == accept
			}
			if !steps.take(1) {
				return false
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
func compareObject[T any](v *vocabulary, c *Comparison, access accessor[T], steps *Steps) func(T) bool {
	spec := v.spec(c.Field)
	m := newMatcher(c, spec)
	switch spec.kind {
	case listField:
		list := access.list(spec)
		return func(o T) bool { return m.matchList(list(o)) }
	case mapField:
		const together = 4 // keys that are about a step
		labelsOf := access.pairs(spec.name)
		pairs := func(o T) map[string]string { // whose keys may all have to be compared
			pairs := labelsOf(o)
			steps.take(len(pairs) / together)
			return pairs
		}
		if c.Key == "" {
			return func(o T) bool { return m.matchKeys(pairs(o)) }
		}
		name := v.known.Name(c.Key)
		return func(o T) bool {
			value, _ := labelnames.Find(&name, pairs(o))
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

// BindAssets compiles the filter for assets. Fields that only allocations have are missing there. The function it returns is
// safe for concurrent use. After the last step it selects nothing, and all it selected is invalid: check Steps.Err. Nil steps
// never end.
func (f *Filter) BindAssets(steps *Steps) func(a *allocation.Asset) bool {
	if steps == nil {
		steps = unlimited()
	}
	return objects(f.root, f.fieldsOf(true), accessor[*allocation.Asset]{
		text: func(spec *fieldSpec) func(*allocation.Asset) string { return spec.asset },
		list: func(*fieldSpec) func(*allocation.Asset) []string {
			return func(*allocation.Asset) []string { return nil }
		},
		pairs: assetPairs,
	}, steps)
}

// assetPairs are the labels of assets; they have no other map.
func assetPairs(field Field) func(*allocation.Asset) map[string]string {
	if field == Label {
		return func(a *allocation.Asset) map[string]string { return a.Labels }
	}
	return func(*allocation.Asset) map[string]string { return nil }
}
