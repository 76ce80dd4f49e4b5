package blocks_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/chunks"
	"github.com/promcost/promcost/promquery/promtest"
)

// merged are blocks as Prometheus' querier merges them.
type merged []*tsdb.Block

// openMerged opens the blocks in a directory. They ascend by their start, as those of a Prometheus do.
func openMerged(t *testing.T, dir string) (m merged) {
	t.Helper()
	metas, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range metas {
		block, err := tsdb.OpenBlock(promslog.NewNopLogger(), filepath.Dir(meta), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := block.Close(); err != nil {
				t.Error(err)
			}
		})
		m = append(m, block)
	}
	slices.SortStableFunc(m, func(x, y *tsdb.Block) int { return int(x.MinTime() - y.MinTime()) })
	return m
}

// ChunkQuerier implements storage.ChunkQueryable.
func (m merged) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	var list []storage.ChunkQuerier
	for _, block := range m {
		if block.OverlapsClosedInterval(mint, maxt) {
			q, err := tsdb.NewBlockChunkQuerier(block, mint, maxt)
			if err != nil {
				return nil, err
			}
			list = append(list, q)
		}
	}
	return storage.NewMergeChunkQuerier(list, nil, storage.NewCompactingChunkSeriesMerger(storage.ChainedSeriesMerge)), nil
}

// readers are the blocks in a directory as our own reader reads them, as Prometheus' reader does, and as both do in turns.
func readers(t *testing.T, dir string) map[string]*blocks.DB {
	t.Helper()
	dbs := map[string]*blocks.DB{}
	for n, name := range []string{"own reader", "Prometheus' reader", "both readers"} {
		dbs[name] = open(t, dir)
		dbs[name].UseLibrary(n)
	}
	return dbs
}

// sameAsPrometheus compares what the readers read with what Prometheus' querier merges, and returns how many series that is.
func sameAsPrometheus(t *testing.T, dbs map[string]*blocks.DB, want merged, sels ...promquery.Request) (series int) {
	t.Helper()
	theirs := answers(t, chunks.New(want, chunks.Options{}), sels)
	for name, db := range dbs {
		ours := answers(t, db, sels)
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Fatalf("%s, %+v (-Prometheus' querier +ours):\n%.2000s", name, sels, diff)
		}
	}
	return len(theirs) - 1
}

// endLater moves the end of a block, as its meta.json says it, by a millisecond.
func endLater(t *testing.T, dir string) {
	t.Helper()
	damage(t, filepath.Join(dir, "meta.json"), func(data []byte) []byte {
		text := string(data)
		_, after, _ := strings.Cut(text, `"maxTime": `)
		end, _, _ := strings.Cut(after, ",")
		n, err := strconv.ParseInt(end, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(strings.Replace(text, end, strconv.FormatInt(n+1, 10), 1))
	})
}

// deleteSamples marks the samples of a block's series in [from, to] as deleted, but for each second series.
func deleteSamples(t *testing.T, dir string, from, to int64) {
	t.Helper()
	block := openMerged(t, filepath.Dir(dir))
	i := slices.IndexFunc(block, func(b *tsdb.Block) bool { return b.Dir() == dir })
	index, err := block[i].Index()
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	postings, err := index.Postings(t.Context(), "", "") // of all
	if err != nil {
		t.Fatal(err)
	}
	stones := tombstones.NewMemTombstones()
	for postings.Next() {
		stones.AddInterval(postings.At(), tombstones.Interval{Mint: from, Maxt: to})
		postings.Next()
	}
	if _, err := tombstones.WriteFile(promslog.NewNopLogger(), dir, stones); err != nil {
		t.Fatal(err)
	}
}

// TestOverlapByAMillisecond sees to it that our own reader reads blocks of which one ends after the next one begins.
func TestOverlapByAMillisecond(t *testing.T) {
	dir := t.TempDir()
	list := pods(3, 0, 4)
	for i := range list { // the last sample of a block is a millisecond before the first of the next
		list[i].Samples = slices.Insert(list[i].Samples, 120, promtest.Sample{T: list[i].Samples[120].T - 1, V: 7})
	}
	endLater(t, promtest.WriteBlocks(t, dir, 2*time.Hour, list...)[0])
	if n := sameAsPrometheus(t, readers(t, dir), openMerged(t, dir), all); n != 3 {
		t.Errorf("%d series, want 3", n)
	}
	db := open(t, dir)
	if got, stats := count(t, db, all); got["pa"] != 241 || stats.Requests != 2 {
		t.Errorf("%d samples of %d blocks, want 241 of 2", got["pa"], stats.Requests)
	}
	if by := db.ByLibrary(); by != nil {
		t.Errorf("Prometheus' reader reads the blocks %q", by)
	}
}

// TestOneBlockByLibrary sees to it that Prometheus' reader reads only the block that needs it.
func TestOneBlockByLibrary(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, dir string)
		from   int64 // hour at which the selection begins
		want   bool
	}{
		"deleted samples":         {func(t *testing.T, dir string) { deleteSamples(t, dir, begin+2*hour, begin+3*hour) }, 0, true},
		"deleted samples earlier": {func(t *testing.T, dir string) { deleteSamples(t, dir, begin+2*hour, begin+3*hour-1) }, 3, false},
		"a stray file": {func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "chunks", ".stray"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0, true},
		"deleted samples, and overlapping": {func(t *testing.T, dir string) {
			deleteSamples(t, dir, begin+2*hour, begin+3*hour)
			endLater(t, dir)
		}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			block := promtest.WriteBlocks(t, dir, 2*time.Hour, pods(3, 0, 8)...)[1]
			tc.change(t, block)
			sel := all
			sel.Start += tc.from * hour
			sameAsPrometheus(t, readers(t, dir), openMerged(t, dir), sel)
			db := open(t, dir)
			count(t, db, sel)
			var want []string
			if tc.want {
				want = []string{filepath.Base(block)}
			}
			if diff := cmp.Diff(want, db.ByLibrary()); diff != "" {
				t.Errorf("blocks that Prometheus' reader reads (-want +got):\n%s", diff)
			}
		})
	}
}
