package filter

import "slices"

// plan is a condition as it is decided: only leaves are negated, and comparisons of the same thing that look for one of
// several values are one comparison, so that thousands of them take no longer than a few.
type plan struct {
	parts []plan // of a plan that is not a leaf
	all   bool   // all parts have to hold, else one

	comparison *Comparison // its operator taken as not negated
	labels     *LabelSelector
	negated    bool // the leaf is not to hold
}

// leaf reports whether it is a comparison or a selector.
func (p *plan) leaf() bool { return p.comparison != nil || p.labels != nil }

// leaves are how many there are.
func (p *plan) leaves() int {
	if p.leaf() {
		return 1
	}
	n := 0
	for i := range p.parts {
		n += p.parts[i].leaves()
	}
	return n
}

// newPlan is the plan of e, without aliases and kinds that stand for others.
func newPlan(e Expr, v *vocabulary) plan { return spellOut(planned(e, false), v) }

// planned returns the plan of e, or of its negation.
func planned(e Expr, negated bool) plan {
	list := func(parts []Expr, all bool) plan {
		plans := make([]plan, len(parts))
		for i, part := range parts {
			plans[i] = planned(part, negated)
		}
		return plannedList(plans, all != negated)
	}
	switch e := e.(type) {
	case nil:
		return plan{all: !negated}
	case And:
		return list(e, true)
	case Or:
		return list(e, false)
	case *Comparison:
		if negates(e.Op) {
			own := *e
			own.Op = positive(e.Op)
			return plan{comparison: &own, negated: !negated}
		}
		return plan{comparison: e, negated: negated}
	case *LabelSelector:
		return plan{labels: e, negated: negated}
	}
	panic("BUG: filter of an unknown type of Expr")
}

// spellOut replaces aliases by the labels and annotations that they stand for, and adds the kinds that kinds of controllers stand for.
func spellOut(p plan, v *vocabulary) plan {
	switch {
	case p.comparison != nil && v.spec(p.comparison.Field).kind == aliasField:
		return planned(v.expand(p.comparison), p.negated)
	case p.comparison != nil && p.comparison.Field == ControllerKind && p.comparison.Op == Equal:
		own := *p.comparison
		own.Values = v.kinds(own.Values)
		p.comparison = &own
		return p
	case p.leaf():
		return p
	}
	for i := range p.parts {
		p.parts[i] = spellOut(p.parts[i], v)
	}
	return plannedList(p.parts, p.all)
}

// subject identifies comparisons that can be merged into one.
type subject struct {
	field   Field
	key     string
	op      Op
	anyCase bool
	negated bool
	value   string // of a comparison that can only be left out, as a repeated one
}

// subject returns the subject of a comparison.
func (c *Comparison) subject() subject {
	return subject{field: c.Field, key: c.Key, op: c.Op, anyCase: c.AnyCase}
}

// plannedList returns the plan of parts, all of which or one of which must match.
func plannedList(parts []plan, all bool) plan {
	out := plan{all: all, parts: make([]plan, 0, len(parts))}
	seen := make(map[subject]int, len(parts)) // places in out
	add := func(p plan) {
		c := p.comparison
		if c == nil {
			out.parts = append(out.parts, p)
			return
		}
		at, joins := c.subject(), p.negated == all
		at.negated = p.negated
		if !joins && len(c.Values) == 1 {
			at.value = c.Values[0]
		}
		first, ok := seen[at]
		switch {
		case ok && joins:
			have := out.parts[first].comparison
			have.Values = append(have.Values, c.Values...)
		case ok && len(c.Values) == 1 && len(out.parts[first].comparison.Values) == 1:
		default:
			if joins { // copied, so that the given plan does not change
				own := *c
				own.Values = slices.Clip(own.Values)
				p.comparison = &own
			}
			seen[at] = len(out.parts)
			out.parts = append(out.parts, p)
		}
	}
	for _, p := range parts {
		if !p.leaf() && p.all == all { // a list of the same kind
			for _, part := range p.parts {
				add(part)
			}
			continue
		}
		add(p)
	}
	if len(out.parts) == 1 {
		return out.parts[0]
	}
	return out
}
