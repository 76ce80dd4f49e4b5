package blocks_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestSymbolsOfSeveralBlocks compares the table of all blocks' symbols with the symbols that Prometheus reads of each.
func TestSymbolsOfSeveralBlocks(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	for n := range 5 {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, randomSeries(rng, start)...)
		db := open(t, dir)
		db.UseLibrary(n)
		texts, numbers, err := db.Numbers()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(texts) || len(slices.Compact(slices.Clone(texts))) != len(texts) || texts[0] != "" {
			t.Errorf("the strings do not ascend from \"\": %q", texts)
		}
		for i, block := range theirs.Blocks() {
			index, err := block.Index()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for symbols := index.Symbols(); symbols.Next(); n++ {
				if text := symbols.At(); texts[numbers[i][text]] != text {
					t.Errorf("block %d: %q has the number of %q", i, text, texts[numbers[i][text]])
				}
			}
			if n != len(numbers[i]) {
				t.Errorf("block %d: %d symbols, want %d", i, len(numbers[i]), n)
			}
			if err := index.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := theirs.Close(); err != nil {
			t.Error(err)
		}
	}
}
