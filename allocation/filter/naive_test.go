package filter_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// evaluate is the definition of filters, on strings, without regard to speed.
func evaluate(e filter.Expr, r row) bool {
	return evaluateBy(e, func(c *filter.Comparison, value string) bool { return compareOne(c, value, r) })
}

// evaluateBy evaluates a condition. compare decides a comparison with one value; its operator is never a negated one.
func evaluateBy(e filter.Expr, compare func(c *filter.Comparison, value string) bool) bool {
	switch e := e.(type) {
	case filter.And:
		return !slices.ContainsFunc(e, func(part filter.Expr) bool { return !evaluateBy(part, compare) })
	case filter.Or:
		return slices.ContainsFunc(e, func(part filter.Expr) bool { return evaluateBy(part, compare) })
	case *filter.Comparison:
		if op, ok := negations[e.Op]; ok {
			positive := *e
			positive.Op = op
			return !evaluateBy(&positive, compare)
		}
		return slices.ContainsFunc(e.Values, func(value string) bool { return compare(e, value) })
	}
	panic("unknown Expr")
}

// negations are the operators that each inverse negates.
var negations = map[filter.Op]filter.Op{
	filter.NotEqual: filter.Equal, filter.NotContains: filter.Contains, filter.NotPrefix: filter.Prefix, filter.NotSuffix: filter.Suffix,
}

func compareOne(c *filter.Comparison, value string, r row) bool {
	switch c.Field {
	case filter.Services:
		return compareList(c.Op, r.services, value)
	case filter.Label:
		return compareMap(c, r.labels, value)
	case filter.Annotation:
		return compareMap(c, r.annotations, value)
	case filter.ControllerKind:
		if c.Op == filter.Equal && strings.EqualFold(value, "job") && strings.EqualFold(r.kind, "cronjob") {
			return true // its pods are a Job's
		}
		return compareText(c.Op, strings.ToLower(r.kind), strings.ToLower(value))
	case "derived":
		return compareText(c.Op, r.pod+r.container, value)
	default:
	}
	if labels := aliases[c.Field]; labels != nil {
		if c.Op == filter.Equal && (value == "" || value == "__unallocated__") { // none of them is there
			return !slices.ContainsFunc(labels, func(label string) bool { return cmp.Or(r.labels[label], r.annotations[label]) != "" })
		}
		return slices.ContainsFunc(labels, func(label string) bool {
			return compareText(c.Op, cmp.Or(r.labels[label], r.annotations[label]), value)
		})
	}
	text := map[filter.Field]string{
		filter.Cluster: r.cluster, filter.Node: r.node, filter.Namespace: r.namespace, filter.ControllerName: r.controller,
		filter.Pod: r.pod, filter.Container: r.container, filter.NodePool: poolOf(r.node),
	}[c.Field]
	return compareText(c.Op, text, value)
}

// aliases are what some aliases stand for in tests.
var aliases = map[filter.Field][]string{filter.Team: {"app", "team"}, filter.Owner: {"a"}}

// options are those of random filters.
func options() []filter.Option {
	mapping := allocation.LabelMapping{}
	for alias, labels := range aliases {
		mapping[string(alias)] = labels
	}
	return []filter.Option{filter.WithLabels(mapping), filter.WithFields(filter.Derived{
		Name: "derived",
		Bind: func(s *allocation.Set) (func(int) string, error) {
			return func(row int) string { return s.Text(allocation.Pod, row) + s.Text(allocation.Container, row) }, nil
		},
	})}
}

func compareText(op filter.Op, s, value string) bool {
	switch op {
	case filter.Contains:
		return strings.Contains(s, value)
	case filter.Prefix:
		return strings.HasPrefix(s, value)
	case filter.Suffix:
		return strings.HasSuffix(s, value)
	default:
	}
	return s == value || s == "" && value == "__unallocated__"
}

func compareList(op filter.Op, list []string, value string) bool {
	if op == filter.Contains {
		op = filter.Equal
	}
	if op == filter.Equal && len(list) == 0 {
		return value == "" || value == "__unallocated__"
	}
	return slices.ContainsFunc(list, func(s string) bool { return compareText(op, s, value) })
}

func compareMap(c *filter.Comparison, m map[string]string, value string) bool {
	if c.Key == "" {
		var keys []string
		for k := range m {
			keys = append(keys, k)
		}
		return compareList(c.Op, keys, value)
	}
	return compareText(c.Op, m[c.Key], value)
}

// words are the values of random rows and comparisons. keys are label keys that Kubernetes and Prometheus write alike.
var (
	words = []string{"", "a", "b", "ab", "ba", "B", "deployment", "Job", "cronJob", "__unallocated__"}
	keys  = []string{"app", "team", "a"}
)

var randomFields = []filter.Field{
	filter.Cluster, filter.Node, filter.Namespace, filter.ControllerName, filter.ControllerKind, filter.Pod, filter.Container, filter.Services,
	filter.Label, filter.Label, filter.Annotation, filter.Annotation, filter.Team, filter.Owner, filter.NodePool, "derived",
}

func pick(rnd *rand.Rand, from []string) string { return from[rnd.IntN(len(from))] }

func randomMap(rnd *rand.Rand) map[string]string {
	m := map[string]string{}
	for range rnd.IntN(3) {
		m[pick(rnd, keys)] = pick(rnd, words[:9])
	}
	return m
}

func randomRow(rnd *rand.Rand) row {
	word := func() string { return pick(rnd, words[:9]) }
	r := row{word(), word(), word(), word(), word(), word(), word(), nil, randomMap(rnd), randomMap(rnd)}
	for range rnd.IntN(3) {
		r.services = append(r.services, pick(rnd, words[1:9]))
	}
	return r
}

func randomExpr(rnd *rand.Rand, depth int) filter.Expr {
	if depth > 0 && rnd.IntN(3) > 0 {
		parts := make([]filter.Expr, 2+rnd.IntN(2))
		for i := range parts {
			parts[i] = randomExpr(rnd, depth-1)
		}
		if rnd.IntN(2) == 0 {
			return filter.And(parts)
		}
		return filter.Or(parts)
	}
	c := &filter.Comparison{Field: randomFields[rnd.IntN(len(randomFields))], Op: filter.Op(rnd.IntN(int(filter.NotSuffix) + 1))}
	for range 1 + rnd.IntN(3) {
		c.Values = append(c.Values, pick(rnd, words))
	}
	if (c.Field == filter.Label || c.Field == filter.Annotation) && rnd.IntN(3) > 0 {
		c.Key = pick(rnd, keys)
	}
	return c
}

// bound binds a filter to a set. It panics if that takes too many steps.
func bound(f allocation.Filter, s *allocation.Set) func(row int) bool {
	match, err := f.Bind(s)
	if err != nil {
		panic(err)
	}
	return match
}
