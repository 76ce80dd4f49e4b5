package promtest

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"
)

// chunkSamples is how many samples Prometheus puts into a chunk.
const chunkSamples = 120

// WriteBlocks writes the series to dir as blocks that each cover blockRange, aligned to a multiple of it, and returns
// the directories of the blocks, oldest first. Series of the same labels are one.
func WriteBlocks(t testing.TB, dir string, blockRange time.Duration, series ...Series) []string {
	t.Helper()
	parts := map[int64][]labeled{}
	width := blockRange.Milliseconds()
	for _, s := range sortSeries(series) {
		for i := 0; i < len(s.samples); {
			k := s.samples[i].T / width
			j := i
			for j < len(s.samples) && s.samples[j].T/width == k {
				j++
			}
			parts[k] = append(parts[k], labeled{s.labels, s.samples[i:j]})
			i = j
		}
	}
	dirs := make([]string, 0, len(parts))
	for _, k := range slices.Sorted(maps.Keys(parts)) {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for _, s := range parts[k] {
			first, last = min(first, s.samples[0].T), max(last, s.samples[len(s.samples)-1].T)
		}
		dirs = append(dirs, writeBlock(t, dir, ulid.Make(), first, last+1, slices.Values(parts[k])))
	}
	return dirs
}

// WriteSorted writes a block like WriteBlocks, of many series: it keeps none of them, so they come in the order of their labels, and as
// often as they are asked for.
func WriteSorted(t testing.TB, dir string, start time.Time, length time.Duration, series iter.Seq[Series]) {
	t.Helper()
	id := ulid.MustNew(ulid.Timestamp(start), nil)
	writeBlock(t, dir, id, start.UnixMilli(), start.Add(length).UnixMilli(), func(yield func(labeled) bool) {
		for s := range series {
			if !yield(labeled{labelsOf(s), s.Samples}) {
				return
			}
		}
	})
}

// labeled is a series with its labels in order.
type labeled struct {
	labels  labels.Labels
	samples []Sample
}

func labelsOf(s Series) labels.Labels { return labels.FromStrings(s.Labels...).WithoutEmpty() }

// sortSeries sorts series by their labels, and joins those of the same labels.
func sortSeries(series []Series) []labeled {
	list := make([]labeled, 0, len(series))
	for _, s := range series {
		list = append(list, labeled{labelsOf(s), s.Samples})
	}
	slices.SortStableFunc(list, func(a, b labeled) int { return labels.Compare(a.labels, b.labels) })
	joined := list[:0]
	for _, s := range list {
		if n := len(joined); n > 0 && labels.Equal(joined[n-1].labels, s.labels) {
			joined[n-1].samples = slices.Concat(joined[n-1].samples, s.samples)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// writeBlock writes a block of [first, end) in milliseconds and returns its directory. The series come in the order of their labels, and
// twice.
func writeBlock(t testing.TB, dir string, id ulid.ULID, first, end int64, series iter.Seq[labeled]) string {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatalf("write block: %v", err)
		}
	}
	meta := tsdb.BlockMeta{ULID: id, MinTime: first, MaxTime: end, Version: 1, Compaction: tsdb.BlockMetaCompaction{Level: 1, Sources: []ulid.ULID{id}}}
	dir = filepath.Join(dir, id.String())
	must(os.MkdirAll(dir, 0o755))
	contents, err := chunks.NewWriter(filepath.Join(dir, "chunks"))
	must(err)
	entries, err := index.NewWriter(t.Context(), filepath.Join(dir, "index"))
	must(err)
	for _, symbol := range symbolsOf(series) {
		must(entries.AddSymbol(symbol))
	}
	var list []chunks.Meta
	var cut *Sample // the first of list: series that share their samples share its chunks
	for s := range series {
		if name, twice := s.labels.HasDuplicateLabelNames(); twice {
			t.Fatalf("write block: %s has %s twice", s.labels, name)
		}
		if cut != &s.samples[0] {
			cut, list = &s.samples[0], cutChunks(t, s)
		}
		must(contents.WriteChunks(list...))
		must(entries.AddSeries(storage.SeriesRef(meta.Stats.NumSeries), s.labels, list...))
		meta.Stats.NumSeries++
		meta.Stats.NumChunks += uint64(len(list))
		meta.Stats.NumSamples += uint64(len(s.samples))
	}
	meta.Stats.NumFloatSamples = meta.Stats.NumSamples
	must(contents.Close())
	must(entries.Close())
	_, err = tombstones.WriteFile(promslog.NewNopLogger(), dir, tombstones.NewMemTombstones())
	must(err)
	text, err := json.MarshalIndent(meta, "", "\t")
	must(err)
	must(os.WriteFile(filepath.Join(dir, "meta.json"), text, 0o600))
	return dir
}

// symbolsOf are the names and values of all labels, sorted.
func symbolsOf(series iter.Seq[labeled]) []string {
	symbols := map[string]bool{}
	for s := range series {
		s.labels.Range(func(l labels.Label) { symbols[l.Name], symbols[l.Value] = true, true })
	}
	return slices.Sorted(maps.Keys(symbols))
}

// cutChunks encodes the samples of a series.
func cutChunks(t testing.TB, s labeled) (list []chunks.Meta) {
	t.Helper()
	for samples := range slices.Chunk(s.samples, chunkSamples) {
		chunk := chunkenc.NewXORChunk()
		appender, err := chunk.Appender()
		if err != nil {
			t.Fatalf("write block: %v", err)
		}
		for i, p := range samples {
			if i > 0 && p.T <= samples[i-1].T || i == 0 && len(list) > 0 && p.T <= list[len(list)-1].MaxTime {
				t.Fatalf("write block: samples of %s are not in ascending time at %d", s.labels, p.T)
			}
			appender.Append(0, p.T, p.V)
		}
		list = append(list, chunks.Meta{Chunk: chunk, MinTime: samples[0].T, MaxTime: samples[len(samples)-1].T})
	}
	return list
}
