package promquery

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
)

// matcherForm is a label's name, an operator and the rest.
var matcherForm = regexp.MustCompile(`^[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*(=~|!~|!=|=)[ \t]*(.*?)[ \t]*$`)

// matchTypes are the operators of PromQL.
var matchTypes = map[string]MatchType{"=": MatchEqual, "!=": MatchNotEqual, "=~": MatchRegexp, "!~": MatchNotRegexp}

// ParseMatcher reads one label matcher in PromQL's syntax, such as job="promcost" or job=~`pc-.*`. It refuses to match the
// metric's name, because a Request names its metric. An error says what would be right.
func ParseMatcher(text string) (Matcher, error) {
	parts := matcherForm.FindStringSubmatch(text)
	if parts == nil {
		return Matcher{}, errors.New(`it is no label matcher: give one such as job="promcost" or job=~"pc-.*"`)
	}
	m := Matcher{Name: parts[1], Type: matchTypes[parts[2]]}
	if m.Name == "__name__" {
		return Matcher{}, errors.New("it matches the name of metrics, not a label of targets: give a matcher such as job=\"promcost\"")
	}
	var err error
	if m.Value, err = unquote(parts[3]); err != nil {
		return Matcher{}, fmt.Errorf("%s is no quoted string: write %s%s%s", parts[3], m.Name, parts[2], strconv.Quote(strings.Trim(parts[3], `"'`)))
	}
	if m.Type == MatchRegexp || m.Type == MatchNotRegexp {
		if _, err := regexp.Compile(m.Value); err != nil {
			return Matcher{}, fmt.Errorf("compile its regular expression: %w", err)
		}
	}
	return m, nil
}

// String writes the matcher in PromQL.
func (m Matcher) String() string {
	name := m.Name
	if !model.LegacyValidation.IsValidLabelName(name) {
		name = strconv.Quote(name)
	}
	return name + [...]string{"=", "!=", "=~", "!~"}[m.Type] + strconv.Quote(m.Value)
}

// MatchesAbsent reports whether m is a regular expression that also matches series without the label.
func (m Matcher) MatchesAbsent() bool {
	if m.Type != MatchRegexp {
		return false
	}
	re, err := regexp.Compile("^(?:" + m.Value + ")$")
	return err == nil && re.MatchString("")
}

// singleQuoted is a string in the quotes that Go has for characters only.
var singleQuoted = regexp.MustCompile(`^'(?:[^'\\]|\\.)*'$`)

// unquote reads a string in any of PromQL's quotes.
func unquote(text string) (string, error) {
	if singleQuoted.MatchString(text) {
		text = `"` + strings.ReplaceAll(strings.ReplaceAll(text[1:len(text)-1], `\'`, `'`), `"`, `\"`) + `"`
	}
	return strconv.Unquote(text)
}

// negated are the opposites of the types.
var negated = [...]MatchType{MatchEqual: MatchNotEqual, MatchNotEqual: MatchEqual, MatchRegexp: MatchNotRegexp, MatchNotRegexp: MatchRegexp}

// screen adds matchers to requests that leave out the series which match Exclude.
func (c *Config) screen(rs []Request) []Request {
	if len(c.Exclude) == 0 {
		return rs
	}
	out := make([]Request, len(rs))
	for i, r := range rs {
		matchers := make([]Matcher, 0, len(r.Matchers)+len(c.Exclude))
		matchers = append(matchers, r.Matchers...)
		for _, m := range c.Exclude {
			matchers = append(matchers, Matcher{m.Name, negated[m.Type], m.Value})
		}
		r.Matchers = matchers
		out[i] = r
	}
	return out
}
