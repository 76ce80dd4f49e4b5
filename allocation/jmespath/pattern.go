package jmespath

import (
	"regexp"
	"regexp/syntax"
)

// patternFunctions match patterns, regular expressions and labels.
func patternFunctions() []function {
	return []function{
		{"label_match", "object, object", "boolean", "whether the second object has all members of the first", labelMatch, false},
		{"pattern_match", "string, string|number", "boolean", "whether the pattern matches: * is any characters, ? is any one", patternMatch, false},
		{"regex_match", "string, string|number", "boolean", "whether the regular expression (RE2) matches anywhere", regexMatch, false},
		{"regex_replace_all", "string, string|number, string|number", "string", "the second argument with the third in place of each match of the regular expression; $1 or ${1} are its groups", func(c *call) (any, error) {
			return c.regexReplace(true)
		}, false},
		{"regex_replace_all_literal", "string, string|number, string|number", "string", "the same with the third argument as it is", func(c *call) (any, error) {
			return c.regexReplace(false)
		}, false},
	}
}

func labelMatch(c *call) (any, error) {
	labels := c.object(1)
	for key, want := range c.object(0) {
		got, ok, err := c.member(labels, key)
		if !ok {
			return false, err
		}
		if same, err := c.equal(want, got); !same {
			return false, err
		}
	}
	return true, nil
}

func patternMatch(c *call) (any, error) {
	pattern, text := c.text(0), asText(c.args[1])
	if err := c.charge((len(pattern) + 1) * (len(text) + 1) / 8); err != nil {
		return nil, err
	}
	return wildcard([]rune(pattern), []rune(text)), nil
}

// wildcard reports whether text matches a pattern of * and ?. A * takes as little as it can, and more if the rest does not
// match: only the last one needs to be thought of again.
func wildcard(pattern, text []rune) bool {
	p, t, star, taken := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, taken = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			taken++
			p, t = star+1, taken
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// regex is a compiled regular expression and the size of its program, which its time is in proportion to.
type regex struct {
	*regexp.Regexp
	size int
}

// regex compiles the regular expression that is argument 1, once an evaluation, and charges for matching text with it.
func (c *call) regex(text string) (*regex, error) {
	const (
		mostInstructions = 10_000
		mostKept         = 64
	)
	pattern := c.text(0)
	if len(pattern) > MaxPattern {
		return nil, c.fail(0, "regular expression of %d bytes: at most %d are allowed", len(pattern), MaxPattern)
	}
	re := c.regexes[pattern]
	if re == nil {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return nil, c.fail(0, "want a regular expression in the syntax of RE2: %w", err)
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			return nil, c.fail(0, "want a regular expression in the syntax of RE2: %w", err)
		}
		if len(program.Inst) > mostInstructions {
			return nil, c.fail(0, "regular expression is too large: repeat less")
		}
		if err := c.charge(len(program.Inst) * 16); err != nil {
			return nil, err
		}
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, c.fail(0, "want a regular expression in the syntax of RE2: %w", err)
		}
		re = &regex{compiled, len(program.Inst)}
		if c.regexes == nil || len(c.regexes) >= mostKept {
			c.regexes = map[string]*regex{}
		}
		c.regexes[pattern] = re
	}
	return re, c.charge(re.size * (len(text) + 1) / 4)
}

func regexMatch(c *call) (any, error) {
	text := asText(c.args[1])
	re, err := c.regex(text)
	if err != nil {
		return nil, err
	}
	return re.MatchString(text), nil
}

// regexReplace replaces all matches, one at a time so that the result stays within its bound.
func (c *call) regexReplace(expand bool) (any, error) {
	text, by := asText(c.args[1]), asText(c.args[2])
	re, err := c.regex(text)
	if err != nil {
		return nil, err
	}
	if err := c.build(len(text)); err != nil {
		return nil, err
	}
	var tooMuch error
	replace := func(dst []byte, match []int) []byte {
		before := len(dst)
		if expand {
			dst = re.ExpandString(dst, by, text, match)
		} else {
			dst = append(dst, by...)
		}
		if tooMuch == nil {
			tooMuch = c.build(len(dst) - before)
		}
		return dst
	}
	var out []byte
	end := 0
	for _, match := range re.FindAllStringSubmatchIndex(text, c.mostMatches()) {
		out = append(out, text[end:match[0]]...)
		if out = replace(out, match); tooMuch != nil {
			return nil, tooMuch
		}
		end = match[1]
	}
	return string(append(out, text[end:]...)), nil
}

// mostMatches is how many matches fit into what may still be built.
func (c *call) mostMatches() int { return (MaxOutput-c.built)/(4*slotSize) + 1 }
