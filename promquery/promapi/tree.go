package promapi

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// tree is a node of a parsed expression as Prometheus' API shows it.
type tree = map[string]any

// treeOf is an expression as Prometheus' API shows it; nil for none.
func treeOf(node parser.Expr) any {
	switch n := node.(type) {
	case *parser.AggregateExpr:
		return tree{
			"type": "aggregation", "op": n.Op.String(), "expr": treeOf(n.Expr), "param": treeOf(n.Param), "grouping": listOf(n.Grouping), "without": n.Without,
		}
	case *parser.BinaryExpr:
		return tree{
			"type": "binaryExpr", "op": n.Op.String(), "lhs": treeOf(n.LHS), "rhs": treeOf(n.RHS), "matching": matchingOf(n.VectorMatching), "bool": n.ReturnBool,
		}
	case *parser.Call:
		args := []any{}
		for _, arg := range n.Args {
			args = append(args, treeOf(arg))
		}
		f := tree{"name": n.Func.Name, "argTypes": n.Func.ArgTypes, "variadic": n.Func.Variadic, "returnType": n.Func.ReturnType}
		return tree{"type": "call", "func": f, "args": args}
	case *parser.MatrixSelector:
		return matrixTree(n)
	case *parser.SubqueryExpr:
		return tree{
			"type": "subquery", "expr": treeOf(n.Expr), "range": n.Range.Milliseconds(), "rangeExpr": durationTree(n.RangeExpr),
			"offset": n.OriginalOffset.Milliseconds(), "offsetExpr": durationTree(n.OriginalOffsetExpr), "step": n.Step.Milliseconds(),
			"stepExpr": durationTree(n.StepExpr), "timestamp": n.Timestamp, "startOrEnd": startOrEnd(n.StartOrEnd),
		}
	case *parser.DurationExpr:
		return durationTree(n)
	case *parser.NumberLiteral:
		return tree{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64)}
	case *parser.ParenExpr:
		return tree{"type": "parenExpr", "expr": treeOf(n.Expr)}
	case *parser.StringLiteral:
		return tree{"type": "stringLiteral", "val": n.Val}
	case *parser.UnaryExpr:
		return tree{"type": "unaryExpr", "op": n.Op.String(), "expr": treeOf(n.Expr)}
	case *parser.VectorSelector:
		return vectorTree(n)
	}
	return nil
}

// vectorTree is an instant selector.
func vectorTree(n *parser.VectorSelector) tree {
	return tree{
		"type": "vectorSelector", "name": n.Name, "offset": n.OriginalOffset.Milliseconds(), "offsetExpr": durationTree(n.OriginalOffsetExpr),
		"matchers": matchersOf(n.LabelMatchers), "timestamp": n.Timestamp, "startOrEnd": startOrEnd(n.StartOrEnd), "anchored": n.Anchored, "smoothed": n.Smoothed,
	}
}

// matrixTree is a range selector.
func matrixTree(n *parser.MatrixSelector) any {
	vector, ok := n.VectorSelector.(*parser.VectorSelector)
	if !ok {
		return nil
	}
	t := vectorTree(vector)
	t["type"], t["range"], t["rangeExpr"] = "matrixSelector", n.Range.Milliseconds(), durationTree(n.RangeExpr)
	return t
}

// matchingOf says how an operator matches the series of its sides.
func matchingOf(m *parser.VectorMatching) any {
	if m == nil {
		return nil
	}
	return tree{
		"card": m.Card.String(), "labels": listOf(m.MatchingLabels), "on": m.On, "include": listOf(m.Include),
		"fillValues": map[string]*float64{"lhs": m.FillValues.LHS, "rhs": m.FillValues.RHS},
	}
}

// durationTree is an expression for a duration.
func durationTree(node parser.Expr) any {
	switch n := node.(type) {
	case *parser.DurationExpr:
		if n == nil {
			return nil
		}
		return tree{"type": "durationExpr", "op": n.Op.String(), "lhs": durationTree(n.LHS), "rhs": durationTree(n.RHS), "wrapped": n.Wrapped}
	case *parser.NumberLiteral:
		if n == nil {
			return nil
		}
		return tree{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64), "duration": n.Duration}
	}
	return treeOf(node)
}

func listOf(words []string) []string {
	if words == nil {
		return []string{}
	}
	return words
}

func matchersOf(list []*labels.Matcher) []tree {
	out := []tree{}
	for _, m := range list {
		out = append(out, tree{"name": m.Name, "value": m.Value, "type": m.Type.String()})
	}
	return out
}

func startOrEnd(which parser.ItemType) any {
	if which == 0 {
		return nil
	}
	return which.String()
}
