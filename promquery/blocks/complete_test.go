package blocks_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestComplete finds up to when all that came in order is in blocks: one of samples that came late says nothing of that.
func TestComplete(t *testing.T) {
	const hours = 60 * 60 * 1000
	first := int64(100 * hours)
	dir := t.TempDir()
	one := promtest.Regular(first, first+6*hours-1, 60_000, func(int64) float64 { return 1 })
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, promtest.Series{Labels: []string{"__name__", "m"}, Samples: one})
	complete := func() int64 {
		t.Helper()
		db, err := blocks.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		until, err := db.Complete()
		if err != nil {
			t.Fatal(err)
		}
		return until
	}
	last := one[len(one)-1].T
	if got := complete(); got <= last || got > first+6*hours {
		t.Errorf("complete until %d, want the end of the newest block, after %d", got, last)
	}
	file := filepath.Join(dirs[2], "meta.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var meta tsdb.BlockMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		t.Fatal(err)
	}
	meta.Compaction.SetOutOfOrder()
	if text, err = json.Marshal(meta); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := complete(); got > meta.MinTime || got < meta.MinTime-2*hours {
		t.Errorf("complete until %d, want the end of the block before the one from %d", got, meta.MinTime)
	}
}
