package filter

import "slices"

// Ends of a program.
const (
	accept = -1
	reject = -2
)

// tree is a condition of tests of type T.
type tree[T any] struct {
	parts []tree[T] // of a tree that is not a leaf
	all   bool      // all parts have to hold, else one

	leaf    bool
	test    T
	negated bool // the test is not to hold
}

// growTree makes the tests of a plan's leaves.
func growTree[T any](p *plan, test func(*plan) T) tree[T] {
	if p.leaf() {
		return tree[T]{leaf: true, test: test(p), negated: p.negated}
	}
	t := tree[T]{all: p.all, parts: make([]tree[T], len(p.parts))}
	for i := range p.parts {
		t.parts[i] = growTree(&p.parts[i], test)
	}
	return t
}

// branch is a comparison of a program and the next branches. T is the test that decides it.
type branch[T any] struct {
	test    T
	yes, no int // next branches, or accept or reject
}

// program is a condition without its tree: comparisons, each of which says which is next. Running it needs no stack.
type program[T any] struct {
	branches []branch[T]
	start    int // or accept or reject
}

// compile is the program of t, its tests made final.
func compile[T, U any](t *tree[T], final func(T) U) program[U] {
	var p program[U]
	var add func(t *tree[T], yes, no int) int
	add = func(t *tree[T], yes, no int) int {
		if t.leaf {
			if t.negated {
				yes, no = no, yes
			}
			p.branches = append(p.branches, branch[U]{final(t.test), yes, no})
			return len(p.branches) - 1
		}
		next := no
		if t.all {
			next = yes
		}
		for i := range slices.Backward(t.parts) {
			if t.all {
				next = add(&t.parts[i], next, no)
			} else {
				next = add(&t.parts[i], yes, next)
			}
		}
		return next
	}
	p.start = add(t, accept, reject)
	return p
}
