package blocks_test

import (
	"reflect"
	"testing"

	"github.com/promcost/promcost/promquery/blocks"
)

// TestPostingsTable reads tables that are well-formed, and refuses others.
func TestPostingsTable(t *testing.T) {
	for _, c := range []struct {
		name, entries string
		count         byte
		want          map[string][]string // nil if the table is malformed
	}{
		{"no entries", "", 0, map[string][]string{}},
		{"two labels", "\x02\x01a\x01x\x05\x02\x01a\x01y\x06\x02\x01b\x01x\x07", 3, map[string][]string{"a": {"x", "y"}, "b": {"x"}}},
		{"a label that begins with another", "\x02\x01a\x01x\x05\x02\x02ab\x01y\x06", 2, map[string][]string{"a": {"x"}, "ab": {"y"}}},
		{"an empty label and an empty value", "\x02\x00\x00\x05\x02\x01a\x00\x06", 2, map[string][]string{"": {""}, "a": {""}}},
		{"a long offset", "\x02\x01a\x01x\x80\x80\x80\x80\x80\x01", 1, map[string][]string{"a": {"x"}}},
		{"a label twice", "\x02\x01a\x01x\x05\x02\x01b\x01x\x06\x02\x01a\x01y\x07", 3, nil},
		{"a label twice, its length in two bytes", "\x02\x01a\x01x\x05\x02\x81\x00a\x01y\x06", 2, nil},
		{"fewer entries than it says", "\x02\x01a\x01x\x05", 2, nil},
		{"no label", "\x02", 1, nil},
		{"a label beyond its end", "\x02\x09a", 1, nil},
		{"a value beyond its end", "\x02\x01a\x09x", 1, nil},
		{"no offset", "\x02\x01a\x01x", 1, nil},
		{"an offset without an end", "\x02\x01a\x01x\x80", 1, nil},
		{"an entry of three strings", "\x03\x01a\x01x\x05", 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := blocks.ReadTable(append([]byte{0, 0, 0, c.count}, c.entries...))
			if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q and error %v, want %q", got, err, c.want)
			}
		})
	}
}
