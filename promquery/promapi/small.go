package promapi

import (
	"math"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/allocation/places"
)

// smallText is how many bytes the expressions and selectors of a small question may have.
const smallText = 4 << 10

// forever is longer than the time of any small question.
const forever = time.Duration(math.MaxInt64)

// about is the length of time that a request reads: from its first instant to its last, plus how far its expression looks back. It
// is forever where that cannot be known.
func (a *api) about(rt route, r *http.Request) time.Duration {
	length := 0
	for _, name := range [...]string{"query", "match[]"} {
		for _, text := range r.Form[name] {
			length += len(text)
		}
	}
	start, end, bad := rangeParams(r)
	if rt.instant {
		start, end, bad = time.Time{}, time.Time{}, nil
	}
	if bad != nil || length > smallText {
		return forever
	}
	asked := float64(end.Sub(start))
	if r.FormValue("query") != "" {
		expr, err := a.parse(r)
		if err != nil {
			return forever
		}
		asked += lookBack(expr)
	}
	if asked > float64(places.SmallWindow) {
		return forever
	}
	return time.Duration(asked)
}

// lookBack is how far the ranges and subqueries of an expression look back, in nanoseconds.
func lookBack(node parser.Node) (farthest float64) {
	for child := range parser.ChildrenIter(node) {
		farthest = max(farthest, lookBack(child))
	}
	switch n := node.(type) {
	case *parser.MatrixSelector:
		farthest += float64(n.Range)
	case *parser.SubqueryExpr:
		farthest += float64(n.Range)
	}
	return farthest
}
