package filter

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// span is a part of a list.
type span struct {
	text   string
	offset int // in the list
}

// fieldTerms are the requirements of a field selector, as Kubernetes parts them: at commas that no backslash precedes.
func fieldTerms(text string) []span {
	var terms []span
	start := 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',':
			if i > start {
				terms = append(terms, span{text[start:i], start})
			}
			start = i + 1
		case text[i] == '\\':
			i++
		}
	}
	if start < len(text) { // a backslash was the last
		terms = append(terms, span{text[start:], start})
	}
	return terms
}

// labelTerms returns the requirements of a label selector: the texts between commas outside of parentheses.
func labelTerms(text string) []span {
	var terms []span
	start, depth := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			terms = append(terms, span{text[start:i], start})
			start = i + 1
		}
	}
	return append(terms, span{text[start:], start})
}

// fieldError is the error of a requirement of a field selector that cannot be read.
func fieldError(text string, term span, err error) error {
	offset, detail := term.offset, "expected field=value or field!=value, such as spec.node=n1"
	if _, ok := errors.AsType[fields.InvalidEscapeSequence](err); ok {
		offset += max(strings.Index(term.text, `\`), 0)
		detail = `expected a comma, "=" or "\" after the "\"`
	} else if _, ok := errors.AsType[fields.UnescapedRune](err); ok {
		offset += max(strings.LastIndexByte(term.text, '='), 0)
		detail = `expected "\" before a comma, "=" or "\" in a value`
	}
	return &SyntaxError{What: "field selector", Text: text, Offset: offset, Detail: detail}
}

// Errors of Kubernetes' parser of label selectors.
var (
	foundError   = regexp.MustCompile(`found '([^']*)',? expected: (.*)$`)
	invalidError = regexp.MustCompile(`Invalid value: "((?:[^"\\]|\\.)*)"`)
)

// labelError is the error of a label selector that cannot be read, at the requirement that is to blame.
func labelError(text string, err error) error {
	offset, detail := 0, err.Error()
	for _, term := range labelTerms(text) {
		_, alone := labels.Parse(term.text)
		if empty := strings.TrimSpace(term.text) == ""; alone == nil && !empty {
			continue
		} else if empty {
			alone = errors.New("found ',', expected: a requirement")
			term.text += ","
		}
		offset, detail = term.offset+len(term.text)-len(strings.TrimLeft(term.text, " \t\r\n")), alone.Error()
		if m := foundError.FindStringSubmatch(detail); m != nil {
			offset = term.offset + foundAt(term.text, m[1])
			detail = "expected " + m[2] + ", found " + found(m[1])
		} else if m := invalidError.FindStringSubmatch(detail); m != nil {
			value, unquoted := strconv.Unquote(`"` + m[1] + `"`)
			if unquoted == nil {
				offset = term.offset + max(strings.Index(term.text, value), 0)
			}
			detail = invalidLabel(detail, value)
		}
		break
	}
	return &SyntaxError{What: "label selector", Text: text, Offset: min(offset, len(text)), Detail: detail + ": write it as app=web,tier in (a,b),!canary"}
}

// found is a token of a selector in an error.
func found(token string) string {
	if token == "" {
		return "the end"
	}
	return strconv.Quote(abridge(token))
}

// foundAt is the place of a token that is to blame, the last of its kind; "" is the end.
func foundAt(term, token string) int {
	if at := strings.LastIndex(term, token); token != "" && at >= 0 {
		return at
	}
	return len(strings.TrimRight(term, " \t\r\n"))
}

// invalidLabel explains in words which characters names and values of labels may have, in place of a regular expression.
func invalidLabel(message, value string) string {
	const made = "at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
	value = strconv.Quote(abridge(value))
	switch {
	case strings.Contains(message, "integer"):
		return "expected a whole number after > or <, found " + value
	case strings.Contains(message, "name part"), strings.Contains(message, "prefix part"), strings.Contains(message, "qualified name"):
		return "expected the name of a label, found " + value + ": it is " + made + ", and may begin with a domain and a slash"
	}
	return "expected the value of a label, found " + value + ": it is " + made + ", or empty"
}

// abridge is the beginning of a long text.
func abridge(s string) string {
	const most = 50
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
