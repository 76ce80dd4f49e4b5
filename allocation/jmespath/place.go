package jmespath

import (
	"encoding/json"
	"strconv"
	"strings"
)

// longRun is where more than MaxDepth parts that are joined outside of literals begin to be too many, -1 where there are
// fewer.
func longRun(text string) int {
	joins := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"', '`':
			i = literalEnd(text, i)
			continue
		case '|', '&':
			if i+1 < len(text) && text[i+1] == c {
				i++
			}
			joins++
		case '.', '[':
			joins++
		}
		if joins == MaxDepth {
			return i
		}
	}
	return -1
}

// readable is a message of the parser with tokens as they are written.
func readable(message string) string {
	tokens := strings.NewReplacer(
		"tUnquotedIdentifier", "a name", "tQuotedIdentifier", "a quoted name", "tJSONLiteral", "a literal in backticks", "tStringLiteral", "a string in quotes",
		"tNumber", "a number",
		"tStar", `"*"`, "tDot", `"."`, "tFilter", `"[?"`, "tFlatten", `"[]"`, "tLparen", `"("`, "tRparen", `")"`, "tLbracket", `"["`, "tRbracket", `"]"`,
		"tLbrace", `"{"`, "tRbrace", `"}"`, "tOr", `"||"`, "tPipe", `"|"`, "tComma", `","`, "tColon", `":"`, "tLTE", `"<="`, "tLT", `"<"`, "tGTE", `">="`, "tGT", `">"`,
		"tEQ", `"=="`, "tNE", `"!="`, "tCurrent", `"@"`, "tExpref", `"&"`, "tAnd", `"&&"`, "tNot", `"!"`,
		"tUnknown", `"="`, "tEOF", "the end",
		", received: ", ", found ", "Unexpected token at the end of the expression: ", "unexpected token after the end of the expression: ",
		"Expected", "expected", "Unexpected", "unexpected", "Unknown", "unknown", "Unclosed", "unclosed", "Incomplete expression", "the expression ends too early", "Invalid", "invalid",
		"lbracket, or lbrace", `"[" or "{"`, "identifier", "a name", "Can't", "can't", "function Name.", "the name of a function",
	)
	if message == "Error" {
		return "unexpected token"
	}
	if quoted, ok := strings.CutPrefix(message, "Unknown char: "); ok {
		if char, err := strconv.Unquote(quoted); err == nil {
			return "unexpected " + show(char)
		}
	}
	return tokens.Replace(message)
}

// tooDeep is where brackets and prefixes nest beyond MaxDepth outside of literals, -1 where they do not: the parser takes
// a level of stack for each.
func tooDeep(text string) int {
	depth, prefixes := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"', '`':
			i = literalEnd(text, i)
			prefixes = 0
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '!', '&':
			prefixes++
		case ' ', '\t', '\n', '\r':
		default:
			prefixes = 0
		}
		if depth+prefixes > MaxDepth {
			return i
		}
	}
	return -1
}

// literalEnd is the place of the delimiter that ends the literal that begins at i.
func literalEnd(text string, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// space are the characters allowed between the parts of expressions.
const space = " \t\r\n"

// misread is where a text has what the parser refuses without a place, or takes for something else, and what is wrong there;
// -1 where there is nothing of that kind.
func misread(text string) (offset int, detail string) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"', '`':
			end := literalEnd(text, i)
			if end < len(text) && c != '\'' && !json.Valid(literalJSON(text[i:end+1])) {
				return i, "what begins here is no JSON, which has text in double quotes: write text as 'text'"
			}
			i = end
		case '(':
			if before := strings.TrimRight(text[:i], space); before != "" && strings.IndexByte("@])}\"'`", before[len(before)-1]) >= 0 {
				return i, "malformed expression: what stands before ( is no name of a function"
			}
		case '[':
			if at, detail := misreadIndex(text, i+1); at >= 0 {
				return at, detail
			}
		}
	}
	return -1, ""
}

// literalJSON is the JSON in a literal or a quoted name.
func literalJSON(literal string) []byte {
	if literal[0] == '`' {
		literal = strings.ReplaceAll(literal[1:len(literal)-1], "\\`", "`")
	}
	return []byte(literal)
}

// misreadIndex is the same for the index or slice that begins at i; what is neither has nothing wrong.
func misreadIndex(text string, i int) (offset int, detail string) {
	within := text[i:]
	if end := strings.IndexFunc(within, func(c rune) bool { return !strings.ContainsRune("0123456789-:"+space, c) }); end >= 0 {
		if within = within[:end]; text[i+end] != ']' {
			return -1, ""
		}
	} else if strings.TrimSpace(within) != "" {
		return len(text), `expected "]", found the end`
	}
	at, parts := i, 0
	for part := range strings.SplitSeq(within, ":") {
		if parts++; parts > 3 {
			return at - 1, `expected "]", found ":"`
		}
		if number := strings.TrimSpace(part); number != "" {
			if _, err := strconv.Atoi(number); err != nil {
				return at + strings.Index(part, number), show(number) + " is no whole number in range"
			}
		}
		at += len(part) + 1
	}
	return -1, ""
}

// unambiguous is text as the parser reads it, and how places in that are found in text. To JMESPath, two backslashes at the end
// of a string such as 'C:\\' are text, as they are elsewhere in it; the parser takes the second for one that escapes the quote.
// Such strings are handed to it as literals.
func unambiguous(text string) (parsed string, place func(int) int) {
	type swap struct{ start, end, parsedEnd int } // of a string in text, and of its literal in parsed
	var swaps []swap
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if strings.IndexByte("'\"`", text[i]) < 0 {
			continue
		}
		start := i
		if i = literalEnd(text, i); text[start] != '\'' || i >= len(text) || text[i-1] != '\\' {
			continue
		}
		literal, err := json.Marshal(strings.NewReplacer(`\\`, `\\`, `\'`, `'`).Replace(text[start+1 : i]))
		if err != nil {
			continue // there is no text that JSON cannot hold
		}
		b.WriteString(text[done:start] + "`" + strings.ReplaceAll(string(literal), "`", "\\`") + "`")
		done = i + 1
		swaps = append(swaps, swap{start, done, b.Len()})
	}
	b.WriteString(text[done:])
	return b.String(), func(at int) int {
		longer := 0 // parsed is than text, up to the place
		for _, s := range swaps {
			if at < s.parsedEnd {
				return min(at-longer, s.end)
			}
			longer = s.parsedEnd - s.end
		}
		return at - longer
	}
}
