package jmespath

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	gojmespath "github.com/kyverno/go-jmespath"
)

// node is a part of an expression.
type node = gojmespath.ASTNode

// exprRef is an expression as an argument, &expr.
type exprRef struct{ expr *node }

// run is one evaluation.
type run struct {
	ctx     context.Context
	options Options
	calls   map[string]*callee
	steps   int
	built   int // bytes
	drawn   int // bytes that Options.Draw was called with
	regexes map[string]*regex
}

// Sizes in bytes that an evaluation is charged for.
const (
	slotSize  = 16
	entrySize = 48
)

// charge counts n steps, and fails where there were too many or the context has ended.
func (r *run) charge(n int) error {
	const often = 1 << 12
	before, most := r.steps, int(maxSteps)
	if r.options.Steps > 0 {
		most = min(most, r.options.Steps)
	}
	if n < 0 || n > most || before+n > most {
		return fmt.Errorf("evaluation takes more than %d steps: select less before", most)
	}
	r.steps += n
	if before/often != r.steps/often {
		if err := r.ctx.Err(); err != nil {
			return fmt.Errorf("evaluate expression: %w", err)
		}
	}
	return nil
}

// build counts n bytes of a value that is about to be built.
func (r *run) build(n int) error {
	if n < 0 || n > MaxOutput || r.built+n > MaxOutput {
		return fmt.Errorf("evaluation builds more than %d bytes: select less before", MaxOutput)
	}
	r.built += n
	if more := r.built - r.drawn; more > 0 && r.options.Draw != nil {
		const often = 1 << 20
		more = max(more, often)
		if err := r.options.Draw(int64(more)); err != nil {
			return fmt.Errorf("evaluate expression: %w", err)
		}
		r.drawn += more
	}
	return r.charge(n/256 + 1)
}

// eval evaluates n over v.
func (r *run) eval(n *node, v any) (any, error) {
	if err := r.charge(1); err != nil {
		return nil, err
	}
	switch n.NodeType {
	case gojmespath.ASTIdentity, gojmespath.ASTCurrentNode:
		return v, nil
	case gojmespath.ASTLiteral:
		return n.Value, nil
	case gojmespath.ASTField:
		return r.field(n.Value.(string), v)
	case gojmespath.ASTSubexpression, gojmespath.ASTIndexExpression:
		left, err := r.eval(&n.Children[0], v)
		if err != nil {
			return nil, err
		}
		return r.eval(&n.Children[1], left)
	case gojmespath.ASTIndex:
		return index(n.Value.(int), v), nil
	case gojmespath.ASTSlice:
		return r.slice(n.Value.([]*int), v)
	case gojmespath.ASTFlatten:
		return r.flatten(n, v)
	case gojmespath.ASTProjection, gojmespath.ASTFilterProjection, gojmespath.ASTValueProjection:
		return r.project(n, v)
	case gojmespath.ASTMultiSelectList, gojmespath.ASTMultiSelectHash:
		return r.multiSelect(n, v)
	case gojmespath.ASTKeyValPair:
		return r.eval(&n.Children[0], v)
	case gojmespath.ASTPipe:
		left, err := r.optional(&n.Children[0], v)
		if err != nil {
			return nil, err
		}
		return r.optional(&n.Children[1], left)
	case gojmespath.ASTOrExpression, gojmespath.ASTAndExpression, gojmespath.ASTNotExpression:
		return r.logic(n, v)
	case gojmespath.ASTComparator:
		return r.compare(n, v)
	case gojmespath.ASTExpRef:
		return exprRef{&n.Children[0]}, nil
	case gojmespath.ASTFunctionExpression:
		return r.function(n, v)
	case gojmespath.ASTEmpty: // refused by Compile
	}
	return nil, fmt.Errorf("evaluate expression: unknown part %v", n.NodeType)
}

// optional evaluates n over v. A missing key is null.
func (r *run) optional(n *node, v any) (any, error) {
	got, err := r.eval(n, v)
	if _, missing := err.(*UnknownKeyError); missing { //nolint:errorlint // it is never wrapped within an evaluation
		return nil, nil
	}
	return got, err
}

// field returns a member of an object, or null if v is not an object.
func (r *run) field(key string, v any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, nil
	}
	got, ok, err := r.member(m, key)
	if !ok && err == nil {
		err = &UnknownKeyError{key}
	}
	return got, err
}

// member returns the value under a key, or under the key that Options.Member finds in its place.
func (r *run) member(object map[string]any, key string) (value any, ok bool, err error) {
	if value, ok = object[key]; ok || r.options.Member == nil {
		return value, ok, nil
	}
	if err := r.charge(len(object)); err != nil {
		return nil, false, err
	}
	value, ok = r.options.Member(object, key)
	return value, ok, nil
}

// index returns an element of an array, counted from its end if i is negative, or null if there is none.
func index(i int, v any) any {
	list, ok := v.([]any)
	if i < 0 {
		i += len(list)
	}
	if !ok || i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// slice is a part of an array, as [start:stop:step].
func (r *run) slice(parts []*int, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, nil
	}
	step := 1
	if parts[2] != nil {
		step = *parts[2]
	}
	if step == 0 {
		return nil, errors.New("slice has a step of 0: give one above or below it")
	}
	first, last := 0, len(list) // positions that a bound is kept within
	start, stop := 0, len(list)
	if step < 0 {
		first, last = -1, len(list)-1
		start, stop = len(list)-1, -1
	}
	bound := func(part *int, otherwise int) int {
		if part == nil {
			return otherwise
		}
		at := *part
		if at < 0 {
			at += len(list)
		}
		return min(max(at, first), last)
	}
	start, stop = bound(parts[0], start), bound(parts[1], stop)
	out := []any{}
	for (step > 0 && start < stop) || (step < 0 && start > stop) {
		out = append(out, list[start])
		if step > len(list) || step < -len(list) { // it would overflow
			break
		}
		start += step
	}
	return out, r.build(slotSize * len(out))
}

// flatten joins the arrays within an array.
func (r *run) flatten(n *node, v any) (any, error) {
	left, err := r.optional(&n.Children[0], v)
	if err != nil {
		return nil, err
	}
	list, ok := left.([]any)
	if !ok {
		return nil, nil
	}
	size := 0
	for _, item := range list {
		if inner, ok := item.([]any); ok {
			size += len(inner)
		} else {
			size++
		}
		if err := r.charge(1); err != nil {
			return nil, err
		}
	}
	if err := r.build(slotSize * size); err != nil {
		return nil, err
	}
	out := make([]any, 0, size)
	for _, item := range list {
		if inner, ok := item.([]any); ok {
			out = append(out, inner...)
		} else {
			out = append(out, item)
		}
	}
	return out, nil
}

// project evaluates the expression to the right of [*], [?…] or .* for each element, and keeps results other than null.
func (r *run) project(n *node, v any) (any, error) {
	left, err := r.optional(&n.Children[0], v)
	if err != nil {
		return nil, err
	}
	list, ok := left.([]any)
	if n.NodeType == gojmespath.ASTValueProjection {
		var object map[string]any
		if object, ok = left.(map[string]any); ok {
			if list, err = r.values(object); err != nil {
				return nil, err
			}
		}
	}
	if !ok {
		return nil, nil
	}
	out := []any{}
	for _, item := range list {
		if n.NodeType == gojmespath.ASTFilterProjection {
			chosen, err := r.optional(&n.Children[2], item)
			if err != nil {
				return nil, err
			}
			if !truthy(chosen) {
				continue
			}
		}
		got, err := r.optional(&n.Children[1], item)
		if err != nil {
			return nil, err
		}
		if got != nil {
			out = append(out, got)
		}
	}
	return out, r.build(slotSize * len(out))
}

// values returns the values of an object in the order of its keys.
func (r *run) values(object map[string]any) ([]any, error) {
	if err := r.build(2 * slotSize * len(object)); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out = append(out, object[key])
	}
	return out, nil
}

// multiSelect evaluates several expressions over v, into an array or an object; over null it is null.
func (r *run) multiSelect(n *node, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if err := r.build(entrySize * len(n.Children)); err != nil {
		return nil, err
	}
	list := make([]any, len(n.Children))
	for i := range n.Children {
		got, err := r.optional(&n.Children[i], v)
		if err != nil {
			return nil, err
		}
		list[i] = got
	}
	if n.NodeType == gojmespath.ASTMultiSelectList {
		return list, nil
	}
	object := make(map[string]any, len(list))
	for i, got := range list {
		object[n.Children[i].Value.(string)] = got
	}
	return object, nil
}

// logic is !, && or ||.
func (r *run) logic(n *node, v any) (any, error) {
	left, err := r.optional(&n.Children[0], v)
	if err != nil {
		return nil, err
	}
	switch {
	case n.NodeType == gojmespath.ASTNotExpression:
		return !truthy(left), nil
	case n.NodeType == gojmespath.ASTAndExpression && truthy(left):
		return r.eval(&n.Children[1], v)
	case n.NodeType == gojmespath.ASTOrExpression && !truthy(left):
		return r.optional(&n.Children[1], v)
	}
	return left, nil
}

// compare evaluates == != < <= > >=. Only numbers have an order; the result is null for others.
func (r *run) compare(n *node, v any) (any, error) {
	left, err := r.optional(&n.Children[0], v)
	if err != nil {
		return nil, err
	}
	right, err := r.optional(&n.Children[1], v)
	if err != nil {
		return nil, err
	}
	operator := fmt.Sprint(n.Value)
	if operator == "tEQ" || operator == "tNE" {
		same, err := r.equal(left, right)
		return same == (operator == "tEQ"), err
	}
	a, ok := left.(float64)
	b, too := right.(float64)
	if !ok || !too {
		return nil, nil
	}
	switch operator {
	case "tLT":
		return a < b, nil
	case "tLTE":
		return a <= b, nil
	case "tGT":
		return a > b, nil
	}
	return a >= b, nil
}
