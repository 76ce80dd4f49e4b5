package filter

import "slices"

// Ends of a program.
const (
	accept = -1
	reject = -2
)

// branch is a comparison of a program and where to go from it. T is what decides it.
type branch[T any] struct {
	test    T
	yes, no int // next branches, or accept or reject
}

// program is a condition without its tree: comparisons, each of which says which is next. Running it needs no stack.
type program[T any] struct {
	branches []branch[T]
	start    int // or accept or reject
}

// compiler makes a program of a condition.
type compiler[T any] struct {
	vocabulary *vocabulary
	compare    func(*Comparison) T // its operator taken as not negated
	labels     func(*LabelSelector) T
	branches   []branch[T]
}

// compile is the program of e.
func (c *compiler[T]) compile(e Expr) program[T] {
	start := c.add(e, accept, reject)
	return program[T]{c.branches, start}
}

// add adds the branches of e, which go on to yes or no, and returns the first one.
func (c *compiler[T]) add(e Expr, yes, no int) int {
	switch e := e.(type) {
	case nil:
		return yes
	case And:
		next := yes
		for _, part := range slices.Backward(e) {
			next = c.add(part, next, no)
		}
		return next
	case Or:
		next := no
		for _, part := range slices.Backward(e) {
			next = c.add(part, yes, next)
		}
		return next
	case *Comparison:
		if negates(e.Op) {
			yes, no = no, yes
		}
		if c.vocabulary.spec(e.Field).kind == aliasField {
			return c.add(c.vocabulary.expand(e), yes, no)
		}
		return c.branch(c.compare(e), yes, no)
	case *LabelSelector:
		return c.branch(c.labels(e), yes, no)
	}
	panic("BUG: filter of an unknown type of Expr")
}

func (c *compiler[T]) branch(test T, yes, no int) int {
	c.branches = append(c.branches, branch[T]{test, yes, no})
	return len(c.branches) - 1
}
