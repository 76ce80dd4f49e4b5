package visible_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/promcost/promcost/allocation/visible"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"größe 大 …":             "größe 大 …",
		"\x1b]0;title\a":        `\u001b]0;title\u0007`,
		"a\r\nb\tc":             `a\u000d\u000ab\u0009c`,
		"\u009b2J\x7f":          `\u009b2J\u007f`,
		"\u202eexe\u2066\u200b": `\u202eexe\u2066\u200b`,
		"a\u2028b\U000e0041":    `a\u2028b\U000e0041`,
		"\x9b2J\xff":            `\x9b2J\xff`,
		"\ufffd":                "\ufffd",
	} {
		if got := visible.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got, want := visible.Lines("a\tb\nc\r\x1b"), "a\tb\nc"+`\u000d\u001b`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWriter writes texts in pieces that end within characters.
func TestWriter(t *testing.T) {
	const text = "größe 大 😀\x1b[31m\u202e\x9b\n"
	for size := 1; size <= len(text); size++ {
		var b strings.Builder
		w := &visible.Writer{W: &b}
		for from := 0; from < len(text); from += size {
			if n, err := w.Write([]byte(text[from:min(from+size, len(text))])); err != nil || n == 0 {
				t.Fatal(n, err)
			}
		}
		if b.String() != visible.Lines(text) {
			t.Errorf("pieces of %d: %q", size, b.String())
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31m\u202e\x9b")
	f.Fuzz(func(t *testing.T, text string) {
		got := visible.Text(text)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\n\t\u009b\u202e\u2066") || visible.Text(got) != got {
			t.Errorf("%q: %q", text, got)
		}
	})
}
