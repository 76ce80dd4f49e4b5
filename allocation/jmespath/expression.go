package jmespath

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	gojmespath "github.com/kyverno/go-jmespath"

	"github.com/promcost/promcost/allocation/caret"
)

// Bounds of expressions and of their evaluation.
const (
	MaxExpression = 64 << 10 // bytes of an expression
	MaxDepth      = 500      // levels of its tree, and of brackets
	MaxPattern    = 4 << 10  // bytes of a regular expression
	MaxOutput     = 32 << 20 // bytes that an evaluation may build, and about the most bytes of its result as JSON
	maxSteps      = 50e6     // of an evaluation
	maxDocument   = 1 << 20  // bytes of YAML and of certificates that are parsed
)

// SyntaxError says where an expression is malformed.
type SyntaxError struct {
	Expression string
	Offset     int // in bytes, at most the expression's length; -1 where the place is not known
	Message    string
}

// Error names the column, and shows the place with a caret under it.
func (e *SyntaxError) Error() string {
	if e.Offset < 0 {
		return "parse JMESPath: " + e.Message
	}
	return caret.Message("JMESPath", e.Expression, e.Offset, e.Message)
}

// UnknownKeyError says that a path names a key that an object does not have.
type UnknownKeyError struct{ Key string }

// Error is what Kyverno says.
func (e *UnknownKeyError) Error() string { return fmt.Sprintf("Unknown key %q in path", e.Key) }

// Expression is a compiled expression. It can be used by several goroutines.
type Expression struct {
	text     string
	root     gojmespath.ASTNode
	calls    map[string]*callee
	volatile string
}

// Compile parses an expression of at most MaxExpression bytes and MaxDepth levels, whose functions are there and have as
// many arguments as they take. Errors are *SyntaxError.
func Compile(text string) (*Expression, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	e := &Expression{text: text, root: root, calls: map[string]*callee{}}
	if err := e.resolve(&e.root, functionTable()); err != nil {
		return nil, &SyntaxError{Expression: text, Offset: callOffset(text, err), Message: err.Error()}
	}
	return e, nil
}

// String is the expression as it was given.
func (e *Expression) String() string { return e.text }

// Volatile is the name of a function in the expression whose result may differ from one evaluation to the next over the
// same input, such as time_now; "" where there is none.
func (e *Expression) Volatile() string { return e.volatile }

// Keys are the keys of the object it is evaluated over that the result depends on, sorted; all says that it may depend on
// any.
func (e *Expression) Keys() (keys []string, all bool) {
	found := map[string]bool{}
	all = reads(&e.root, found)
	return slices.Sorted(maps.Keys(found)), all
}

// Fields returns the names of all members in the expression, of whatever object.
func (e *Expression) Fields() []string { return memberNames(nil, &e.root) }

// memberNames appends the names of members in n.
func memberNames(names []string, n *node) []string {
	if n.NodeType == gojmespath.ASTField {
		names = append(names, n.Value.(string))
	}
	for i := range n.Children {
		names = memberNames(names, &n.Children[i])
	}
	return names
}

// reads adds the keys of its input that n reads to found, and reports whether it reads the input as a whole.
func reads(n *node, found map[string]bool) bool {
	children := n.Children
	switch n.NodeType {
	case gojmespath.ASTField:
		found[n.Value.(string)] = true
		return false
	case gojmespath.ASTLiteral:
		return false
	case gojmespath.ASTIdentity, gojmespath.ASTCurrentNode, gojmespath.ASTIndex, gojmespath.ASTSlice:
		return true
	case gojmespath.ASTSubexpression, gojmespath.ASTIndexExpression, gojmespath.ASTPipe, gojmespath.ASTProjection,
		gojmespath.ASTFilterProjection, gojmespath.ASTValueProjection:
		children = n.Children[:1] // the other children are evaluated over its result
	case gojmespath.ASTExpRef:
		return false // over elements of another argument
	case gojmespath.ASTComparator, gojmespath.ASTFunctionExpression, gojmespath.ASTFlatten, gojmespath.ASTKeyValPair,
		gojmespath.ASTMultiSelectHash, gojmespath.ASTMultiSelectList, gojmespath.ASTOrExpression, gojmespath.ASTAndExpression,
		gojmespath.ASTNotExpression, gojmespath.ASTEmpty:
	}
	all := false
	for i := range children {
		all = reads(&children[i], found) || all
	}
	return all
}

// Parse is the tree of an expression as text, as Kyverno prints it. Functions need not be known.
func Parse(text string) (string, error) {
	root, err := parse(text)
	if err != nil {
		return "", err
	}
	return root.String(), nil
}

// Options say what an evaluation knows of the world. The zero value is for expressions of clients.
type Options struct {
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Resolve returns the addresses of a host, for is_external_url. Without it, only URLs with addresses are recognized: a
	// client must not make a server resolve names.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Member returns the value that replaces a missing key of an object, for example under another spelling; ok is false if
	// there is none. Nil replaces nothing. It may look at each member once, because steps are counted so.
	Member func(object map[string]any, key string) (value any, ok bool)
	// Steps bounds an evaluation more tightly than the package does; 0 does not.
	Steps int
	// Draw is called with the bytes that an evaluation is about to build, a part at a time. Its error ends the evaluation.
	// Nil allows MaxOutput.
	Draw func(bytes int64) error
}

// Search evaluates the expression over data. It ends with ctx, and with an error where it would take more than the bounds
// of this package.
func (e *Expression) Search(ctx context.Context, data any, o Options) (any, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &run{ctx: ctx, options: o, calls: e.calls}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluate expression: %w", err)
	}
	v, err := r.eval(&e.root, data)
	if err != nil {
		return nil, err
	}
	if err := r.measure(v, 0); err != nil {
		return nil, err
	}
	return v, nil
}

// parse is the library's parser within bounds.
func parse(text string) (root gojmespath.ASTNode, err error) {
	fail := func(offset int, format string, args ...any) error {
		return &SyntaxError{Expression: text, Offset: offset, Message: fmt.Sprintf(format, args...)}
	}
	switch at := tooDeep(text); {
	case len(text) > MaxExpression:
		return root, fail(-1, "expression of %d bytes is too long: at most %d are allowed", len(text), MaxExpression)
	case !utf8.ValidString(text):
		return root, fail(-1, "expression is no valid UTF-8: encode it as UTF-8")
	case strings.TrimSpace(text) == "":
		return root, fail(-1, "expression is empty: give one such as @")
	case at >= 0:
		return root, fail(at, "expression is nested deeper than %d levels: split it", MaxDepth)
	}
	defer func() {
		if p := recover(); p != nil { // the parser looks beyond the end of some malformed expressions
			err = fail(len(text), "malformed expression: it ends too early")
		}
	}()
	parsed, place := unambiguous(text)
	root, err = gojmespath.NewParser().Parse(parsed)
	if syntax, ok := errors.AsType[gojmespath.SyntaxError](err); ok {
		at := min(max(place(syntax.Offset), 0), len(text))
		for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) { // it may be within a character
			at--
		}
		return root, fail(at, "%s", readable(strings.TrimPrefix(syntax.Error(), "SyntaxError: ")))
	}
	if at, detail := misread(text); at >= 0 {
		return root, fail(at, "%s", detail)
	}
	if err != nil {
		return root, fail(-1, "malformed expression: %v", err)
	}
	if problem := checkTree(&root, 1); problem != "" {
		return root, fail(longRun(text), "%s", problem)
	}
	return root, nil
}

// checkTree says what is wrong with a tree that the parser made from a malformed expression, "" if nothing is.
func checkTree(n *gojmespath.ASTNode, depth int) string {
	if depth > MaxDepth {
		return fmt.Sprintf("expression has more than %d parts in a row: split it", MaxDepth)
	}
	if n.NodeType == gojmespath.ASTEmpty {
		return "malformed expression: an index is no whole number in range"
	}
	if _, named := n.Value.(string); n.NodeType == gojmespath.ASTFunctionExpression && !named {
		return "malformed expression: what stands before ( is no name of a function"
	}
	for i := range n.Children {
		if problem := checkTree(&n.Children[i], depth+1); problem != "" {
			return problem
		}
	}
	return ""
}
