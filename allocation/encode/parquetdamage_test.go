package encode_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestParquetOldFiles reads the files that version 1 of the schema was introduced with, for good: -update writes them
// only where there are none.
func TestParquetOldFiles(t *testing.T) {
	s := randomSet(rand.New(rand.NewPCG(42, 1)), 20)
	rows, assets := files(t, s)
	var data [2][]byte
	for i, name := range [...]string{"allocations.v1.parquet", "assets.v1.parquet"} {
		path := filepath.Join("testdata", name)
		if _, err := os.Stat(path); err != nil && *update {
			if err := os.WriteFile(path, [][]byte{rows, assets}[i], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if data[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readBack(nil, data[:]...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain(s), plain(got), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// maxDamaged is how much may be allocated to read a small file, whatever it says.
const maxDamaged = 64 << 20

// readDamaged reads a file that may say anything: it is an error or a set, and takes little memory.
func readDamaged(t *testing.T, data []byte) {
	t.Helper()
	before := allocated()
	s, err := readBack(nil, data)
	if n := allocated() - before; n > maxDamaged {
		t.Errorf("%d bytes were allocated for a file of %d", n, len(data))
	}
	if err == nil {
		_, _ = files(t, s) // what is read can be written
	}
}

// allocated is the memory that was ever allocated, in bytes.
func allocated() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// TestParquetDamaged reads files with flipped bytes, of which only some are found by the checksums of pages.
func TestParquetDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	rows, assets := files(t, randomSet(rng, 8))
	for _, whole := range [][]byte{rows, assets} {
		for range 1500 {
			data := bytes.Clone(whole)
			for range 1 + rng.IntN(3) {
				data[rng.IntN(len(data))] = byte(rng.IntN(256))
			}
			readDamaged(t, data)
		}
	}
}

func FuzzParquet(f *testing.F) {
	rows, assets := files(f, randomSet(rand.New(rand.NewPCG(1, 5)), 3))
	f.Add(rows)
	f.Add(assets)
	f.Add([]byte("PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := readBack(nil, data); err == nil {
			_, _ = files(t, s)
		}
	})
}
