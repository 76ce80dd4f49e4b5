// Package caret explains errors in a text that someone wrote: Message shows the place of an error, Nearest and NearestPath
// suggest what was probably meant.
package caret

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// around is how many characters of a long text are shown on either side of the place.
const around = 40

// Message is an error in three lines: the text's kind, such as "filter", the column and what is wrong there; the text around
// the place; and a caret under it. offset is the place in bytes, from 0 to the text's length. Columns count characters from 1.
// A text longer than the line is cut where "…" stands, and what cannot be printed is shown as a space.
func Message(kind, text string, offset int, detail string) string {
	before, after := []rune(text[:offset]), []rune(text[offset:])
	column := len(before) + 1
	lead, trail := "", ""
	if len(before) > around {
		before, lead = before[len(before)-around:], "…"
	}
	if len(after) > around {
		after, trail = after[:around], "…"
	}
	line := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, lead+string(before)+string(after)+trail)
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead)+len(before))
	return fmt.Sprintf("parse %s: column %d: %s\n  %s\n  %s^", kind, column, detail, line, indent)
}
