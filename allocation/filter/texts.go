package filter

import (
	"slices"

	"github.com/promcost/promcost/allocation/labelnames"
)

// NewOf returns the filter of objects that have the named texts, and labels, which selects where e holds. BindOf compiles it.
func NewOf(names []string, e Expr) *Filter {
	f := &Filter{root: e, vocabulary: vocabulary{assets: true}}
	for _, name := range names {
		f.fields = append(f.fields, fieldSpec{name: Field(name)})
	}
	f.fields = append(f.fields, fieldSpec{name: Label, kind: mapField})
	return f.Among(labelnames.Names{})
}

// ParseOf reads a v2 filter for NewOf, as Parse does.
func ParseOf(names []string, text string) (*Filter, error) {
	f, err := parseFilter(text, NewOf(names, nil))
	if err != nil {
		return nil, err
	}
	return f.Among(labelnames.Names{}), nil
}

// BindOf compiles a filter of ParseOf for objects whose texts are found by their places among the names. Steps are those of
// BindAssets.
func BindOf[T any](f *Filter, text func(o T, name int) string, labels func(T) map[string]string, steps *Steps) func(T) bool {
	if steps == nil {
		steps = unlimited()
	}
	return objects(f.root, f.vocabulary, accessor[T]{
		text: func(spec *fieldSpec) func(T) string {
			i := slices.IndexFunc(f.fields, func(have fieldSpec) bool { return have.name == spec.name })
			return func(o T) string { return text(o, i) }
		},
		list:  func(*fieldSpec) func(T) []string { return func(T) []string { return nil } },
		pairs: func(Field) func(T) map[string]string { return labels },
	}, steps)
}
