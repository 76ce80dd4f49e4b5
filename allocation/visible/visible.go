// Package visible shows texts of others on a terminal as they are: names, labels and messages may hold control characters, escape
// sequences and direction marks, by which a terminal could be made to hide, to forge or to do something. They become escapes that
// people can read, such as \u001b, the ones that JSON has.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a text without anything that a terminal obeys, in one line and one cell of a table.
func Text(text string) string { return escaped(text, "") }

// Lines is Text for several lines: line feeds and tabs stay.
func Lines(text string) string { return escaped(text, "\n\t") }

// escaped is the text with escapes in place of what is not shown as it is, except what is kept.
func escaped(text, kept string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return obeyed(r) && !strings.ContainsRune(kept, r) }) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case !obeyed(r) || strings.ContainsRune(kept, r):
			b.WriteString(text[:size])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.String()
}

// obeyed reports whether a terminal may do something else with a character than to show it: controls, formats such as direction
// marks, and separators of lines and paragraphs.
func obeyed(r rune) bool {
	if r <= unicode.MaxASCII { // nearly all are, and have no others
		return unicode.IsControl(r)
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Writer passes on the lines that are written to it.
type Writer struct {
	W    io.Writer
	rest []byte // the beginning of a character whose end is still to be written
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	end := len(text)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			end = i
			break
		}
	}
	if _, err := io.WriteString(w.W, Lines(string(text[:end]))); err != nil {
		return 0, err
	}
	w.rest = append([]byte(nil), text[end:]...)
	return len(p), nil
}
