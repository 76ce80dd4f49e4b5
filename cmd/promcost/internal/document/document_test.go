package document_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/cmd/promcost/internal/document"
)

// TestReadDocument reads one document, and nothing that may mean something else.
func TestReadDocument(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       any
		err        string
	}{
		{"nothing", "", nil, ""},
		{"JSON", `{"a": [1, "x", {"a": null}], "b": {"a": 1}}` + "\n", map[string]any{"a": []any{1.0, "x", map[string]any{"a": nil}}, "b": map[string]any{"a": 1.0}}, ""},
		{"a string of JSON", `"x"`, "x", ""},
		{"keys of quotes in YAML", `"a": b`, map[string]any{"a": "b"}, ""},
		{"braces of YAML", "{a: 1}", map[string]any{"a": 1.0}, ""},
		{"braces in YAML", "# c\n[a,\n b]", []any{"a", "b"}, ""},
		{"one document of YAML", "---\na: 1\n", map[string]any{"a": 1.0}, ""},
		{"a long integer", `{"a": 9007199254740993}`, map[string]any{"a": 9007199254740992.0}, ""},
		{"two of JSON", "{} \n{}", nil, "byte 5: found '{' after the document: give one document"},
		{"text after JSON", "[1] x", nil, "byte 5: found 'x' after"},
		{"two of YAML", "a: 1\n---\nb: 2\n", nil, "line 2: another document begins"},
		{"JSON, then YAML", "{}\n---\nb: 2\n", nil, "byte 4: found '-' after"},
		{"a number out of range", `{"a": 1e400}`, nil, "1e400"},
		{"a key twice in JSON", `{"a": {"b": 1, "c": [{"b": 2}], "b": 3}}`, nil, `byte 35: key "b" is there already`},
		{"a key twice in YAML", "a: 1\na: 2\n", nil, `"a" already`},
		{"cut off JSON", `{"a": [1`, nil, "unexpected EOF"},
		{"bad YAML", "a: [", nil, "give one document"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := document.Read([]byte(tt.text))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); tt.err == "" && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadBounded refuses input that is too long.
func TestReadBounded(t *testing.T) {
	if _, err := document.ReadText("", bytes.NewReader(make([]byte, document.MaxBytes+1)), ""); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB: split it") {
		t.Errorf("got %v", err)
	}
	if text, err := document.ReadText("", strings.NewReader("x"), ""); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
}
