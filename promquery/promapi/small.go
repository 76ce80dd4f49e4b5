package promapi

import (
	"math"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/allocation/places"
)

// smallText is how many bytes the expressions of a small question may have.
const smallText = 4 << 10

// forever is longer than any small question.
const forever = time.Duration(math.MaxInt64)

// about is how much time a request of a route is about: from its first instant to its last, and as far as its expression looks back from
// each. It is forever where that cannot be told.
func (a *api) about(rt apiRoute, r *http.Request) time.Duration {
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

// lookBack is how far ranges and subqueries of an expression reach, in nanoseconds.
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
