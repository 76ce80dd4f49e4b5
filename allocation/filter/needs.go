package filter

import "github.com/promcost/promcost/allocation"

// Needs returns the data of a set that Bind looks at.
func (f *Filter) Needs() *allocation.Projection {
	v := f.fieldsOf(false)
	return allocation.OfRows(v.needs(f.root))
}

// Needs implements allocation.Filter.
func (w within) Needs() *allocation.Projection { return w.filter.Needs() }

// needs are the properties that decide whether e holds for an allocation, with repetitions.
func (v *vocabulary) needs(e Expr) (properties []allocation.Property) {
	switch e := e.(type) {
	case *LabelSelector:
		return []allocation.Property{allocation.Labels}
	case *Comparison:
		switch spec := v.spec(e.Field); {
		case spec.bind != nil:
			return spec.needs
		case spec.kind == aliasField:
			return []allocation.Property{allocation.Labels, allocation.Annotations}
		default:
			return []allocation.Property{spec.property}
		}
	}
	for _, part := range partsOf(e) {
		properties = append(properties, v.needs(part)...)
	}
	return properties
}
