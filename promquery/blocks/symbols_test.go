package blocks_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/blocks"
)

// TestSymbolsOfSeveralBlocks compares the table of all blocks' symbols with the symbols that Prometheus reads of each.
func TestSymbolsOfSeveralBlocks(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	for range 5 {
		dir := randomBlocks(t, rng, start)
		texts, numbers, err := open(t, dir).Numbers()
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

// TestLabelAt compares it with two calls of binary.Uvarint, for symbols of all lengths and data that ends anywhere.
func TestLabelAt(t *testing.T) {
	const seed = 6
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		var content []byte
		for range 1 + rng.IntN(3) {
			content = binary.AppendUvarint(content, rng.Uint64()>>rng.IntN(64))
		}
		content = content[:rng.IntN(len(content)+1)]
		var wantName, wantValue uint32
		want := 0
		a, n := binary.Uvarint(content)
		if n > 0 && a < 1<<32 {
			if b, k := binary.Uvarint(content[n:]); k > 0 && b < 1<<32 {
				wantName, wantValue, want = uint32(a), uint32(b), n+k
			}
		}
		if name, value, size := blocks.LabelAt(content); name != wantName || value != wantValue || size != want {
			t.Fatalf("%x: symbols %d and %d in %d bytes, want %d and %d in %d", content, name, value, size, wantName, wantValue, want)
		}
	}
}

// TestAfterLabels compares it with reading one label after the other, in entries of any size that end anywhere.
func TestAfterLabels(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	whole := 0
	for range 20_000 {
		count := rng.IntN(20)
		content := binary.AppendUvarint(nil, uint64(count))
		for range 2*count + rng.IntN(9) {
			content = binary.AppendUvarint(content, rng.Uint64N(1<<32)>>rng.IntN(32))
		}
		content = content[:1+rng.IntN(len(content))]
		want, ok := content[1:], true
		for range count {
			_, _, size := blocks.LabelAt(want)
			if ok = ok && size > 0; ok {
				want = want[size:]
			}
		}
		got, gotOK := blocks.AfterLabels(content)
		if gotOK != ok || ok && !bytes.Equal(got, want) {
			t.Fatalf("%x: %x, %v, want %x, %v", content, got, gotOK, want, ok)
		}
		if ok {
			whole++
		}
	}
	if whole < 2_000 {
		t.Errorf("only %d entries were whole", whole)
	}
}
