package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

func TestViews(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []config.View
		wrong      string // "" where it is read
	}{
		{"two", "views:\n- {name: Last week, query: view=why&window=lastweek}\n- {name: Team A, query: 'filter=team%3A%22a%22'}", []config.View{{"Last week", "view=why&window=lastweek"}, {"Team A", "filter=team%3A%22a%22"}}, ""},
		{"no list", "views: {a: b}", nil, "views is no list"},
		{"no query", "views:\n- {name: a}", nil, "views[0] lacks a key"},
		{"one name", "views:\n- {name: a, query: view=why}\n- {name: a, query: view=bill}", nil, "line 3"},
		{"a path", "views: [{name: a, query: '/ui/?view=why'}]", nil, "behind the question mark"},
		{"no query of an address", "views: [{name: a, query: 'view=%zz'}]", nil, "behind the question mark"},
		{"a long name", "views: [{name: " + strings.Repeat("a", 101) + ", query: view=why}]", nil, "a shorter one"},
		{"many", "views:\n" + strings.Repeat("- {name: a, query: b}\n", 101), nil, "at most 100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := config.ReadFile(file)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("%v, want %q", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Views); diff != "" {
				t.Error(diff)
			}
		})
	}
}
