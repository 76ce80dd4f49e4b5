package promtest

import (
	"encoding/json"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

// WriteSorted writes a block like WriteBlocks, of many series: it keeps none of them, so they come in the order of their labels, each
// with 120 samples at most, and as often as they are asked for.
func WriteSorted(t testing.TB, dir string, start time.Time, length time.Duration, series iter.Seq[Series]) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatalf("write block of many series: %v", err)
		}
	}
	meta := tsdb.BlockMeta{ULID: ulid.MustNew(ulid.Timestamp(start), nil), MinTime: start.UnixMilli(), MaxTime: start.Add(length).UnixMilli(), Version: 1}
	meta.Compaction = tsdb.BlockMetaCompaction{Level: 1, Sources: []ulid.ULID{meta.ULID}}
	dir = filepath.Join(dir, meta.ULID.String())
	must(os.MkdirAll(dir, 0o755))
	contents, err := chunks.NewWriter(filepath.Join(dir, "chunks"))
	must(err)
	entries, err := index.NewWriter(t.Context(), filepath.Join(dir, "index"))
	must(err)
	symbols := map[string]bool{}
	for s := range series {
		for _, text := range s.Labels {
			symbols[text] = true
		}
	}
	for _, symbol := range slices.Sorted(maps.Keys(symbols)) {
		must(entries.AddSymbol(symbol))
	}
	var chunk *chunkenc.XORChunk
	var encoded *Sample // the first of chunk: series that share their samples share it
	for s := range series {
		if encoded != &s.Samples[0] {
			encoded, chunk = &s.Samples[0], chunkenc.NewXORChunk()
			samples, err := chunk.Appender()
			must(err)
			for _, p := range s.Samples {
				samples.Append(0, p.T, p.V)
			}
		}
		list := []chunks.Meta{{Chunk: chunk, MinTime: s.Samples[0].T, MaxTime: s.Samples[len(s.Samples)-1].T}}
		must(contents.WriteChunks(list...))
		must(entries.AddSeries(storage.SeriesRef(meta.Stats.NumSeries), labels.FromStrings(s.Labels...), list...))
		meta.Stats.NumSeries++
	}
	must(contents.Close())
	must(entries.Close())
	text, err := json.Marshal(meta)
	must(err)
	must(os.WriteFile(filepath.Join(dir, "meta.json"), text, 0o600))
}
