package jmespath

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gojmespath "github.com/kyverno/go-jmespath"
)

// Function describes a function for documentation.
type Function struct {
	Name      string
	Signature string // such as add(any, any) any
	Help      string // one line
}

// Functions are all functions, sorted by name.
func Functions() []Function {
	table := functionTable()
	list := make([]Function, 0, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		f := table[name]
		list = append(list, Function{name, f.signature(), f.help})
	}
	return list
}

// function is a row of the tables of functions. Parameters are separated by commas, and the types of one parameter by |.
// array[number] and array[string] are arrays of only these. A last parameter that ends in … may be repeated.
type function struct {
	name, params, result string
	help                 string
	call                 func(c *call) (any, error)
	volatile             bool // results differ over the same arguments
}

// functionTable is all functions by name.
func functionTable() map[string]*function {
	table := map[string]*function{}
	for _, rows := range [...][]function{officialFunctions(), arithmeticFunctions(), textFunctions(), patternFunctions(), dataFunctions(), timeFunctions(), externalFunctions()} {
		for i := range rows {
			table[rows[i].name] = &rows[i]
		}
	}
	return table
}

// types are the types of each parameter.
func (f *function) types() (list [][]string, variadic bool) {
	if f.params == "" {
		return nil, false
	}
	for p := range strings.SplitSeq(f.params, ", ") {
		p, variadic = strings.CutSuffix(p, "…")
		list = append(list, strings.Split(p, "|"))
	}
	return list, variadic
}

// signature is the function as documentation shows it.
func (f *function) signature() string { return fmt.Sprintf("%s(%s) %s", f.name, f.params, f.result) }

// arity returns the error for n arguments, nil if they are allowed.
func (f *function) arity(n int) error {
	types, variadic := f.types()
	if n == len(types) || variadic && n > len(types) {
		return nil
	}
	return fmt.Errorf("function %s has %d arguments: write %s", f.name, n, f.signature())
}

// callError is an error of a call in the text of an expression.
type callError struct {
	name string
	err  error
}

func (e *callError) Error() string { return e.err.Error() }

// callOffset returns the offset in text of the first call that err is about, -1 if it is not found.
func callOffset(text string, err error) int {
	var call *callError
	if !errors.As(err, &call) {
		return -1
	}
	for i := 0; i < len(text); i++ {
		switch {
		case strings.IndexByte("'\"`", text[i]) >= 0:
			i = literalEnd(text, i)
		case strings.HasPrefix(text[i:], call.name) && strings.HasPrefix(strings.TrimSpace(text[i+len(call.name):]), "(") && (i == 0 || !isWord(text[i-1])):
			return i
		}
	}
	return -1
}

// isWord reports whether c may stand in a name.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// resolve finds the functions that the tree calls in table.
func (e *Expression) resolve(n *node, table map[string]*function) error {
	if n.NodeType == gojmespath.ASTFunctionExpression {
		name := n.Value.(string)
		f, ok := table[name]
		if !ok {
			return &callError{name, fmt.Errorf("unknown function %s: see promcost jp function for all there are", name)}
		}
		if err := f.arity(len(n.Children)); err != nil {
			return &callError{name, err}
		}
		types, _ := f.types()
		e.calls[name] = &callee{f, types}
		if f.volatile && e.volatile == "" {
			e.volatile = name
		}
	}
	for i := range n.Children {
		if err := e.resolve(&n.Children[i], table); err != nil {
			return err
		}
	}
	return nil
}

// callee is a function that an expression calls, and the types of its parameters.
type callee struct {
	*function
	parameters [][]string
}

// call is one call of a function, whose arguments have the types of its parameters.
type call struct {
	*run
	name string
	args []any
}

// function evaluates a call.
func (r *run) function(n *node, v any) (any, error) {
	f := r.calls[n.Value.(string)]
	c := &call{run: r, name: f.name, args: make([]any, len(n.Children))}
	if err := r.build(slotSize * len(c.args)); err != nil {
		return nil, err
	}
	for i := range n.Children {
		arg, err := r.optional(&n.Children[i], v)
		if err != nil {
			return nil, err
		}
		c.args[i] = arg
	}
	for i, arg := range c.args {
		want := f.parameters[min(i, len(f.parameters)-1)]
		if !slices.ContainsFunc(want, func(t string) bool { return isType(arg, t) }) {
			return nil, c.fail(i, "want %s", strings.Join(want, " or "))
		}
	}
	return f.call(c)
}

// fail is an error of argument i, counted from 0.
func (c *call) fail(i int, format string, args ...any) error {
	return fmt.Errorf("function %s: argument %d is %s: %w", c.name, i+1, show(c.args[i]), fmt.Errorf(format, args...))
}

// isType reports whether v has the type of that name.
func isType(v any, name string) bool {
	switch name {
	case "any":
		_, is := v.(exprRef)
		return !is
	case "array[number]", "array[string]":
		list, ok := v.([]any)
		element := name[len("array[") : len(name)-1]
		return ok && !slices.ContainsFunc(list, func(item any) bool { return typeOf(item) != element })
	}
	return typeOf(v) == name
}

// text, number, list and object are arguments by their types, which are checked before a call.
func (c *call) text(i int) string           { return c.args[i].(string) }
func (c *call) number(i int) float64        { return c.args[i].(float64) }
func (c *call) list(i int) []any            { return c.args[i].([]any) }
func (c *call) object(i int) map[string]any { return c.args[i].(map[string]any) }

// made is a text that was built, which is counted.
func (c *call) made(s string) (any, error) { return s, c.build(len(s)) }
