package caret_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/caret"
)

func TestMessage(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, tc := range []struct {
		name, text string
		offset     int
		want       string
	}{
		{"at the beginning", "abc", 0, "parse text: column 1: wrong\n  abc\n  ^"},
		{"at the end", "abc", 3, "parse text: column 4: wrong\n  abc\n     ^"},
		{"nothing", "", 0, "parse text: column 1: wrong\n  \n  ^"},
		{"characters of several bytes", "äöü", 4, "parse text: column 3: wrong\n  äöü\n    ^"},
		{"not printable", "a\n\tb\x00c", 4, "parse text: column 5: wrong\n  a  b c\n      ^"},
		{"no UTF-8", "a\xffb", 2, "parse text: column 3: wrong\n  a\uFFFDb\n    ^"},
		{"cut before", long + "y", 60, "parse text: column 61: wrong\n  …" + long[:40] + "y\n  " + strings.Repeat(" ", 41) + "^"},
		{"cut behind", "y" + long, 0, "parse text: column 1: wrong\n  y" + long[:39] + "…\n  ^"},
		{"cut on both sides", long + long, 60, "parse text: column 61: wrong\n  …" + long[:40] + long[:40] + "…\n  " + strings.Repeat(" ", 41) + "^"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, caret.Message("text", tc.text, tc.offset, "wrong")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzMessage points at every place of texts that may be anything: the caret is never beyond the end of the line.
func FuzzMessage(f *testing.F) {
	f.Add("namespace:\"ä\"\xff", 12)
	f.Add(strings.Repeat("x\n", 100), 77)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		if offset < 0 || offset > len(text) {
			return
		}
		lines := strings.Split(caret.Message("text", text, offset, "wrong"), "\n")
		if len(lines) != 3 || utf8.RuneCountInString(lines[2]) > utf8.RuneCountInString(lines[1])+1 || utf8.RuneCountInString(lines[1]) > 84 {
			t.Errorf("%q at %d: %q", text, offset, lines)
		}
	})
}
