package filter

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/promcost/promcost/allocation/caret"
)

const (
	// MaxBytes is the longest filter that Parse reads.
	MaxBytes = 64 << 10
	// MaxDepth is how deep parentheses may be nested.
	MaxDepth = 1000
)

// SyntaxError says where a filter, a list of a v1 filter or a selector is wrong.
type SyntaxError struct {
	What   string // what Text is, such as "label selector"; "" is a filter
	Text   string // the whole of it
	Offset int    // in bytes, where in Text
	Detail string // what is wrong there, and what was expected
}

// Error names the column and shows the place with a caret under it.
func (e *SyntaxError) Error() string {
	return caret.Message(cmp.Or(e.What, "filter"), e.Text, e.Offset, e.Detail)
}

// Parse reads a v2 filter of allocations. White space counts only where a comparison or a parenthesis follows a
// comparison: there it means AND, because decoding a URL makes a space of each +. Errors are of type *SyntaxError. Time is linear
// in the filter's length, and no input needs a deep stack.
func Parse(text string, opts ...Option) (*Filter, error) {
	return parseFilter(text, newFilter(nil, false, opts))
}

// ParseAssets reads a v2 filter of assets, such as assetType:"node"+label[pool]:"gpu", as Parse does.
func ParseAssets(text string, opts ...Option) (*Filter, error) {
	return parseFilter(text, newFilter(nil, true, opts))
}

// parseFilter reads a filter into f, which is empty.
func parseFilter(text string, f *Filter) (*Filter, error) {
	if len(text) > MaxBytes {
		return nil, &SyntaxError{"", text, MaxBytes, fmt.Sprintf("the filter is %d bytes long, at most %d are allowed: shorten it, for example by prefixes (<~:)", len(text), MaxBytes)}
	}
	p := parser{text: text, levels: make([]level, 1, 4), vocabulary: &f.vocabulary}
	var err error
	if f.root, err = p.parse(); err != nil {
		return nil, err
	}
	return f, nil
}

// parser reads one filter from left to right.
type parser struct {
	vocabulary *vocabulary
	text       string
	pos        int
	levels     []level // open parentheses, the outermost level first
}

// level is the content of a pair of parentheses.
type level struct {
	open  int  // offset of the parenthesis
	join  byte // + or |, 0 as long as there is one part
	parts []Expr
}

// expr is the condition of a complete level.
func (l *level) expr() Expr {
	switch l.join {
	case '+':
		return And(l.parts)
	case '|':
		return Or(l.parts)
	}
	return l.parts[0]
}

func (p *parser) parse() (Expr, error) {
	for {
		if err := p.operand(); err != nil {
			return nil, err
		}
		more, err := p.after()
		if err != nil {
			return nil, err
		}
		if !more {
			return p.levels[0].expr(), nil
		}
	}
}

// top is the innermost open level.
func (p *parser) top() *level { return &p.levels[len(p.levels)-1] }

// operand reads opening parentheses and a comparison.
func (p *parser) operand() error {
	for p.skipSpace(); p.peek() == '('; p.skipSpace() {
		if len(p.levels) > MaxDepth {
			return p.fail(p.pos, "parentheses are nested more than %d deep: remove those that are not needed", MaxDepth)
		}
		p.levels = append(p.levels, level{open: p.pos})
		p.pos++
	}
	c, err := p.comparison()
	if err != nil {
		return err
	}
	l := p.top()
	if l.parts == nil {
		l.parts = make([]Expr, 0, 4)
	}
	l.parts = append(l.parts, c)
	return nil
}

// after reads closing parentheses and the operator before the next operand. more reports whether one follows.
func (p *parser) after() (more bool, err error) {
	for {
		start := p.pos
		p.skipSpace()
		spaced, at, next := p.pos > start, p.pos, p.peek()
		switch {
		case next == 0 && p.pos == len(p.text):
			if open := p.top().open; len(p.levels) > 1 {
				return false, p.fail(at, "expected \")\" for the \"(\" at column %d, found the end", utf8.RuneCountInString(p.text[:open])+1)
			}
			return false, nil
		case next == ')':
			if len(p.levels) == 1 {
				return false, p.fail(at, "expected \"+\", \"|\" or the end, found a \")\" that closes nothing: remove it")
			}
			inner := p.top().expr()
			p.levels = p.levels[:len(p.levels)-1]
			p.top().parts = append(p.top().parts, inner)
			p.pos++
		case next == '+', next == '|':
			p.pos++
			return true, p.join(next, at)
		case spaced && (next == '(' || isLetter(next)):
			return true, p.join('+', at)
		default:
			return false, p.fail(at, "expected \",\" and a value, \"+\", \"|\" or the end, found %s", p.found())
		}
	}
}

// join records that the operands of the top level are joined by op, found at offset at.
func (p *parser) join(op byte, at int) error {
	switch l := p.top(); l.join {
	case 0:
		l.join = op
	case op:
	default:
		return p.fail(at, "\"+\" (or white space) and \"|\" on one level are ambiguous: put parentheses around the parts that belong together, such as (a|b)+c")
	}
	return nil
}

// comparison reads a field, its key, an operator and values.
func (p *parser) comparison() (*Comparison, error) {
	spec, err := p.field()
	if err != nil {
		return nil, err
	}
	one := &struct { // most have one value: one allocation for both
		Comparison
		value [1]string
	}{Comparison: Comparison{Field: spec.name}}
	c := &one.Comparison
	c.Values = one.value[:0]
	if c.Key, err = p.key(spec); err != nil {
		return nil, err
	}
	if c.Op, err = p.operator(); err != nil {
		return nil, err
	}
	for {
		value, err := p.value(c.Field)
		if err != nil {
			return nil, err
		}
		c.Values = append(c.Values, value)
		end := p.pos
		if p.skipSpace(); p.peek() != ',' {
			p.pos = end // white space may be AND
			return c, nil
		}
		p.pos++
	}
}

// field reads the name of a field.
func (p *parser) field() (*fieldSpec, error) {
	start := p.pos
	for isLetter(p.peek()) || p.pos > start && isInName(p.peek()) {
		p.pos++
	}
	name := p.text[start:p.pos]
	if name == "" {
		return nil, p.fail(start, "expected a comparison such as %s or \"(\", found %s", p.vocabulary.example(), p.found())
	}
	spec := p.vocabulary.find(Field(name))
	switch {
	case spec == nil || spec.hidden:
		hint, known := "", p.vocabulary.names()
		if like := caret.Nearest(name, known); like != "" {
			hint = fmt.Sprintf(", did you mean %q?", like)
		}
		return nil, p.fail(start, "unknown field %q%s: use one of %s", abridge(name), hint, strings.Join(known, ", "))
	case spec.kind == aliasField && p.vocabulary.labels != nil && len(p.vocabulary.labelsOf(spec.name)) == 0:
		return nil, p.fail(start, "%s stands for no label: map it to one in the configuration", name)
	}
	return spec, nil
}

// key reads the key of a map field in brackets, or "" where there are none.
func (p *parser) key(spec *fieldSpec) (string, error) {
	p.skipSpace()
	if p.peek() != '[' {
		return "", nil
	}
	start, field := p.pos, spec.name
	if spec.kind != mapField {
		return "", p.fail(start, "%s takes no key: write %s:\"…\"", field, field)
	}
	end := strings.IndexByte(p.text[start:], ']')
	if end < 0 {
		return "", p.fail(start, "expected a \"]\" after the key, as in %s[app], found the end", field)
	}
	p.pos = start + end + 1
	key := strings.TrimSpace(p.text[start+1 : p.pos-1])
	if key == "" {
		return "", p.fail(start, "the key is empty: write one, such as %s[app]", field)
	}
	return key, nil
}

// operator reads an operator. No operator begins with another one.
func (p *parser) operator() (Op, error) {
	p.skipSpace()
	for op := range numOps {
		if strings.HasPrefix(p.text[p.pos:], ops[op].text) {
			p.pos += len(ops[op].text)
			return op, nil
		}
	}
	texts := make([]string, numOps)
	for op := range texts {
		texts[op] = ops[op].text
	}
	return 0, p.fail(p.pos, "expected an operator (%s), found %s", strings.Join(texts, " "), p.found())
}

// value reads a value in double quotes. In it, \" is a quote and \\ a backslash; before anything else a backslash is itself.
func (p *parser) value(at Field) (string, error) {
	p.skipSpace()
	start := p.pos
	if p.peek() != '"' {
		return "", p.fail(start, "expected a value in double quotes, as in %s:\"web\", found %s", at, p.found())
	}
	for end := start + 1; end < len(p.text); end++ {
		switch p.text[end] {
		case '\\':
			end++
		case '"':
			p.pos = end + 1
			return unescape.Replace(p.text[start+1 : end]), nil
		}
	}
	return "", p.fail(start, `the value that starts here has no closing double quote: add it, or write \" for a quote and \\ for a backslash within the value`)
}

// unescape reads, and escape writes, quotes and backslashes within a value.
var (
	unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
	escape   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) skipSpace() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// found describes the text at the current place.
func (p *parser) found() string {
	if p.pos == len(p.text) {
		return "the end"
	}
	_, size := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.Quote(p.text[p.pos : p.pos+size])
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &SyntaxError{Text: p.text, Offset: at, Detail: fmt.Sprintf(format, args...)}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// isInName reports whether c can stand in the name of a field besides letters.
func isInName(c byte) bool { return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_' }
