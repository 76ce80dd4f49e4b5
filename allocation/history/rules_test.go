package history_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
)

// TestRules checks that sets keep the version of the rules that they were computed by, in manifests and in the footers of files. What
// says none is of the oldest one, and a sum of sets is of the oldest of its parts.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rules      int // of a set
		kept, with int // of the set as it is read back, and of it together with a current one
	}{
		{"none", 0, allocation.OldestRules, allocation.OldestRules},
		{"the oldest", allocation.OldestRules, allocation.OldestRules, allocation.OldestRules},
		{"the current one", allocation.RulesVersion, allocation.RulesVersion, allocation.RulesVersion},
		{"a newer one", allocation.RulesVersion + 1, allocation.RulesVersion + 1, allocation.RulesVersion},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			store := history.New(open(t, dir), history.Options{})
			set := soundSet(1, hour(0), 3, "c1")
			set.Rules = tt.rules
			stored, err := store.Write(t.Context(), set, history.WriteOptions{Complete: true})
			if err != nil {
				t.Fatal(err)
			}
			back, err := store.Read(t.Context(), []history.Stored{stored}, nil)
			if err != nil {
				t.Fatal(err)
			}
			sum, err := passes.Merge(allocation.Window{Start: hour(0).Start, End: hour(1).End}, []*allocation.Set{back[0], soundSet(1, hour(1), 3, "c1")})
			if err != nil {
				t.Fatal(err)
			}
			if stored.Rules != tt.kept || back[0].Rules != tt.kept || sum.Rules != tt.with {
				t.Errorf("listed as %d, read as %d, want %d; with another %d, want %d", stored.Rules, back[0].Rules, tt.kept, sum.Rules, tt.with)
			}
			for _, name := range stored.Files() {
				if !strings.HasSuffix(name, ".parquet") {
					continue
				}
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				f, err := new(parquet.Readers).Open(data, nil)
				if err != nil {
					t.Fatal(err)
				}
				if f.Footer.Rules != tt.kept {
					t.Errorf("the footer of %s says %d, want %d", name, f.Footer.Rules, tt.kept)
				}
			}
		})
	}
}
