package democluster_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/promquery/democluster"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The truth of a fixed configuration may change only on purpose: people compare with it over versions.
func TestTruthGolden(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: 6 * time.Hour})
	tr := c.Truth(c.End().Add(-10*time.Minute), c.End())
	got, err := json.MarshalIndent(tr, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "truth.golden.json")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var wanted democluster.Truth
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatal(err)
	}
	// Some processors fuse multiplication and addition: the last bits may differ.
	if diff := cmp.Diff(&wanted, tr, cmpopts.EquateApprox(1e-12, 0), cmpopts.IgnoreFields(democluster.ContainerTruth{}, "Used")); diff != "" {
		t.Errorf("truth changed; -update if it was meant to (-want +got):\n%s", diff)
	}
}
