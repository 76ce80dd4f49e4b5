package blocks_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/tsdb/index"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

func TestDamagedBlockIsSkipped(t *testing.T) {
	flip := func(from, to float64) func([]byte) []byte {
		return func(data []byte) []byte {
			for i := int(from * float64(len(data))); i < int(to*float64(len(data))); i++ {
				data[i] ^= 0x5a
			}
			return data
		}
	}
	truncate := func(data []byte) []byte { return data[:len(data)/2] }
	for _, tc := range []struct {
		name, file string
		change     func([]byte) []byte
		want       string // in the warning
	}{
		{"meta.json is no JSON", "meta.json", func([]byte) []byte { return []byte("{") }, "meta.json"},
		{"meta.json of another version", "meta.json", func(d []byte) []byte { return bytes.Replace(d, []byte(`"version": 1`), []byte(`"version": 9`), 1) }, "version 9"},
		{"index truncated", "index", truncate, "skipped"},
		{"index empty", "index", func([]byte) []byte { return nil }, "skipped"},
		{"index garbage at its start", "index", flip(0, 0.1), ""},
		{"index garbage in the midst", "index", flip(0.2, 0.6), ""},
		{"a metric's name in the index", "index", func(d []byte) []byte {
			return bytes.Replace(d, []byte("\x02\x08__name__\x01m"), []byte("\x02\x08__name__\x01o"), 1)
		}, "skipped"},
		{"chunks empty", "chunks/000001", func([]byte) []byte { return nil }, "skipped"},
		{"chunks truncated", "chunks/000001", truncate, "cannot be read"},
		{"chunks garbage", "chunks/000001", flip(0.05, 1), "cannot be read"},
		{"tombstones garbage", "tombstones", func([]byte) []byte { return []byte("nothing of the kind") }, "skipped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(4, 0, 6)...)
			sound := t.TempDir()
			if err := os.CopyFS(sound, os.DirFS(dirs[1])); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dirs[1], tc.file), tc.change)
			db := open(t, dir)
			got, stats := count(t, db, all)
			for _, pod := range []string{"pa", "pb", "pc", "pd"} {
				if n := got[pod]; n < 240 || n > 360 {
					t.Errorf("pod %s: got %d samples, want those of the sound blocks, 240, and at most all, 360", pod, n)
				}
			}
			if len(stats.Missing()) != 1 {
				t.Fatalf("got warnings %q, want one", stats.Missing())
			}
			for _, want := range []string{"block " + filepath.Base(dirs[1]), tc.want, "remove its directory"} {
				if !strings.Contains(stats.Missing()[0], want) {
					t.Errorf("warning %q lacks %q", stats.Missing()[0], want)
				}
			}
			if err := os.Rename(filepath.Join(sound, tc.file), filepath.Join(dirs[1], tc.file)); err != nil {
				t.Fatal(err)
			}
			got, stats = count(t, db, all)
			if diff := cmp.Diff(map[string]int{"pa": 360, "pb": 360, "pc": 360, "pd": 360}, got); diff != "" || len(stats.Missing()) > 0 {
				t.Errorf("once the file was restored: warnings %q, samples (-want +got):\n%s", stats.Missing(), diff)
			}
		})
	}
}

// TestSeveralDamagedBlocks sees to it that blocks, which are opened side by side, are told in the order of time, and the others read.
func TestSeveralDamagedBlocks(t *testing.T) {
	dir := t.TempDir()
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 16)...)
	bad := []int{0, 3, 4, 7}
	for _, i := range bad {
		damage(t, filepath.Join(dirs[i], "index"), func([]byte) []byte { return nil })
	}
	got, stats := count(t, open(t, dir), all)
	if diff := cmp.Diff(map[string]int{"pa": 480, "pb": 480}, got); diff != "" {
		t.Errorf("samples of the sound blocks (-want +got):\n%s", diff)
	}
	told := stats.Missing()
	if len(told) != len(bad) {
		t.Fatalf("got warnings %q, want one of each damaged block", told)
	}
	for i, at := range bad {
		if want := "block " + filepath.Base(dirs[at]); !strings.Contains(told[i], want) {
			t.Errorf("warning %d is %q, which lacks %q", i+1, told[i], want)
		}
	}
}

// TestOneDamagedChunk sees to it that the other series of the block are answered in full.
func TestOneDamagedChunk(t *testing.T) {
	dir := t.TempDir()
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(4, 0, 2)...)
	damage(t, filepath.Join(dirs[0], "chunks/000001"), func(d []byte) []byte {
		d[20] ^= 1 // in the first series' only chunk
		return d
	})
	for name, db := range readers(t, dir) {
		got, stats := count(t, db, all)
		if diff := cmp.Diff(map[string]int{"pb": 120, "pc": 120, "pd": 120}, got); diff != "" {
			t.Errorf("%s: samples (-want +got):\n%s", name, diff)
		}
		if len(stats.Missing()) != 1 || !strings.Contains(stats.Missing()[0], "missing of these metrics: m; ") {
			t.Errorf("%s: got warnings %q", name, stats.Missing())
		}
	}
}

// damageEntry damages the entry of the n-th series of metric m in the index of the block in dir.
func damageEntry(t *testing.T, dir string, n int) {
	t.Helper()
	path := filepath.Join(dir, "index")
	theirs, err := index.NewFileReader(path, index.DecodePostingsRaw)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	postings, err := theirs.Postings(t.Context(), "__name__", "m")
	if err != nil {
		t.Fatal(err)
	}
	for range n + 1 {
		postings.Next()
	}
	damage(t, path, func(d []byte) []byte {
		d[16*postings.At()+2] ^= 1 // behind its length and the number of its labels
		return d
	})
}

// TestSeriesBeforeDamagedEntry sees to it that the series that come before one whose entry is damaged are answered, also those that were
// read at once with it.
func TestSeriesBeforeDamagedEntry(t *testing.T) {
	var list []promtest.Series
	for n := range 100 {
		samples := promtest.Regular(begin, begin+hour-1, minute, func(int64) float64 { return 1 })
		list = append(list, promtest.Series{Labels: []string{"__name__", "m", "pod", fmt.Sprintf("pod-%02d", n)}, Samples: samples})
	}
	for _, at := range []int{0, 1, 31, 32, 40, 99} {
		dir := t.TempDir()
		damageEntry(t, promtest.WriteBlocks(t, dir, 2*time.Hour, list...)[0], at)
		for name, db := range readers(t, dir) {
			got, stats := count(t, db, all)
			if _, last := got[fmt.Sprintf("pod-%02d", at-1)]; len(got) != at || at > 0 && !last || len(stats.Missing()) != 1 {
				t.Errorf("%s, entry %d is damaged: %d series, warnings %q, want the %d before it and one warning", name, at, len(got), stats.Missing(), at)
			}
		}
	}
}

// laterChunk moves all samples of a file's first chunk to a later time, which its index does not know of.
func laterChunk(t *testing.T, by time.Duration) func([]byte) []byte {
	return func(d []byte) []byte {
		t.Helper()
		const header = 8 // bytes of the file
		size, n := binary.Uvarint(d[header:])
		chunk := d[header+n : header+n+1+int(size)] // its encoding and its data, which begins with the count of its samples
		at, length := binary.Varint(chunk[3:])
		if binary.PutVarint(chunk[3:], at+by.Milliseconds()) != length {
			t.Fatal("the time has another length")
		}
		binary.BigEndian.PutUint32(d[header+n+len(chunk):], crc32.Checksum(chunk, crc32.MakeTable(crc32.Castagnoli)))
		return d
	}
}

// TestChunkOfAnotherTime checks that both readers leave out a chunk with a warning if its first sample is not at the index's time.
func TestChunkOfAnotherTime(t *testing.T) {
	dir := t.TempDir()
	dirs := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(4, 0, 2)...)
	damage(t, filepath.Join(dirs[0], "chunks/000001"), laterChunk(t, time.Minute))
	for name, db := range readers(t, dir) {
		t.Run(name, func(t *testing.T) {
			seen := 0
			stats, err := promtest.Select(t.Context(), db, []promquery.Request{all}, func(int, []promquery.Symbol, *timeline.Points) error {
				seen++
				return nil
			})
			if told := strings.Join(stats.Missing(), "\n"); err != nil || seen != 3 || !strings.Contains(told, "block "+filepath.Base(dirs[0])) || !strings.Contains(told, "the index says") {
				t.Errorf("%d series, %v, %q; want those of 3 whole chunks, and a warning that names the block", seen, err, told)
			}
		})
	}
}
