package filter

import "github.com/promcost/promcost/allocation"

// fieldNeeds are the properties that fields of allocations are made of. What the others are made of depends on more than
// their names.
var fieldNeeds = map[Field][]allocation.Property{
	Cluster: {allocation.Cluster}, Node: {allocation.NodeName}, Namespace: {allocation.Namespace}, Pod: {allocation.Pod}, Container: {allocation.Container},
	ControllerName: {allocation.Controller}, ControllerKind: {allocation.ControllerKind}, Services: {allocation.Services},
	Label: {allocation.Labels}, Annotation: {allocation.Annotations},
}

// Needs are the properties that decide whether e holds for an allocation, with repetitions, and whether they are known: else
// all of them may.
func Needs(e Expr) (properties []allocation.Property, known bool) {
	switch e := e.(type) {
	case *LabelSelector:
		return []allocation.Property{allocation.Labels}, true
	case *Comparison:
		properties, known = fieldNeeds[e.Field]
		return properties, known
	}
	for _, part := range partsOf(e) {
		more, ok := Needs(part)
		if !ok {
			return nil, false
		}
		properties = append(properties, more...)
	}
	return properties, true
}

// Needs are Needs of the filter's condition.
func (f *Filter) Needs() (properties []allocation.Property, known bool) { return Needs(f.root) }
