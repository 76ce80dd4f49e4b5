package promapi

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// Limits of the text of an expression, or of all selectors of a request. Beyond them the parser takes too much time and memory.
const (
	maxText      = 64 << 10 // bytes of an expression, or of a selector
	maxNesting   = 500      // brackets within each other
	maxOperators = 5000
	maxRegexp    = 10_000 // steps of all regular expressions together
	maxClasses   = 100    // Unicode classes, such as \pL, of all regular expressions together
)

// textCheck checks texts before they are parsed. It counts over all texts that it checks.
type textCheck struct {
	operators, steps, classes int
}

// checkText checks the text of an expression.
func checkText(text string) error { return new(textCheck).text(text) }

// text checks an expression or a selector. The parser refuses what is malformed.
func (c *textCheck) text(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("it is %d bytes long, at most %d are read: make it shorter, or split it", len(text), maxText)
	}
	nesting := 0
	var item, before parser.Item
	for lexer := parser.Lex(text); ; before = item {
		lexer.NextItem(&item)
		switch item.Typ {
		case parser.EOF, parser.ERROR:
			return nil
		case parser.LEFT_PAREN, parser.LEFT_BRACE, parser.LEFT_BRACKET:
			nesting++
		case parser.RIGHT_PAREN, parser.RIGHT_BRACE, parser.RIGHT_BRACKET:
			nesting--
		case parser.STRING:
			if before.Typ != parser.EQL_REGEX && before.Typ != parser.NEQ_REGEX {
				continue
			}
			if err := c.regexp(item.Val); err != nil {
				return err
			}
		}
		if item.Typ.IsOperator() {
			c.operators++
		}
		if nesting > maxNesting {
			return fmt.Errorf("brackets are nested more than %d deep: use fewer parentheses, calls and subqueries within each other", maxNesting)
		}
		if c.operators > maxOperators {
			return fmt.Errorf("it has more than %d operators: split it, or match several series by one selector", maxOperators)
		}
	}
}

// regexp checks a regular expression before it is compiled. Whoever compiles it refuses one that is malformed.
func (c *textCheck) regexp(text string) error {
	// Each mention of a Unicode class takes memory for its table, even while it is parsed.
	if c.classes += strings.Count(text, `\p`) + strings.Count(text, `\P`); c.classes > maxClasses {
		return fmt.Errorf("its regular expressions have more than %d Unicode classes such as \\pL: use fewer, or ranges such as [a-z]", maxClasses)
	}
	re, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil //nolint:nilerr // compiling it reports the error
	}
	if c.steps += regexpSteps(re, 1); c.steps > maxRegexp {
		return fmt.Errorf("its regular expressions are too large: with repetitions such as {100} written out they take more than %d steps: repeat less", maxRegexp)
	}
	return nil
}

// regexpSteps estimates the instructions of a regular expression that is repeated so many times. Text that is not repeated counts
// as one, whatever its length: names in a list are compared as a whole.
func regexpSteps(re *syntax.Regexp, times int) int {
	steps := times
	switch {
	case re.Op == syntax.OpLiteral && times > 1:
		steps *= len(re.Rune)
	case re.Op == syntax.OpRepeat:
		times *= max(re.Min+1, re.Max)
	}
	for _, sub := range re.Sub {
		steps += regexpSteps(sub, times)
	}
	return steps
}
