package filter

import "github.com/promcost/promcost/allocation"

// Needs returns the data of a set that Bind looks at.
func (f *Filter) Needs() *allocation.Projection {
	v := f.fieldsOf(false)
	return allocation.Union(v.needs(f.root)...)
}

// Needs implements allocation.Filter.
func (w within) Needs() *allocation.Projection { return w.filter.Needs() }

// needs is what decides whether e holds for an allocation, with repetitions.
func (v *vocabulary) needs(e Expr) (list []*allocation.Projection) {
	of := func(properties ...allocation.Property) []*allocation.Projection {
		return []*allocation.Projection{allocation.OfRows(properties)}
	}
	switch e := e.(type) {
	case *LabelSelector:
		return of(allocation.Labels)
	case *Comparison:
		switch spec := v.spec(e.Field); {
		case spec.bind != nil:
			return []*allocation.Projection{spec.needs}
		case spec.kind == aliasField:
			return of(allocation.Labels, allocation.Annotations)
		default:
			return of(spec.property)
		}
	}
	for _, part := range partsOf(e) {
		list = append(list, v.needs(part)...)
	}
	return list
}
