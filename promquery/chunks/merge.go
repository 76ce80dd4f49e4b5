package chunks

import (
	"fmt"

	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// Merge merges the chunks of one series in several blocks. list has the chunks of one block after the other, and ends says where those of
// each block end. Prometheus' own code merges chunks that overlap, so that of several samples at one time the same one stays as in
// Prometheus. Of chunks that begin and end at the same times, that of the first block comes first; in Prometheus, that depends on which other
// series are read. If no chunks overlap, or some are malformed, Merge returns list.
func Merge(list []Encoded, ends []int) []Encoded {
	blocks, from := make([][]Encoded, 0, len(ends)), 0
	for _, end := range ends {
		if end > from {
			blocks = append(blocks, list[from:end])
		}
		from = end
	}
	if !overlap(blocks) {
		return list
	}
	merged, err := merge(blocks)
	if err != nil {
		return list
	}
	return merged
}

// overlap reports whether any of the blocks' chunks, of which each block has some, may overlap.
func overlap(blocks [][]Encoded) bool {
	for i, a := range blocks {
		for _, b := range blocks[:i] {
			if a[0].MinTime <= b[len(b)-1].MaxTime && b[0].MinTime <= a[len(a)-1].MaxTime {
				return true
			}
		}
	}
	return false
}

// merge merges chunks by Prometheus' own code.
func merge(blocks [][]Encoded) (merged []Encoded, err error) {
	defer func() {
		if r := recover(); r != nil { // it trusts chunks
			err = fmt.Errorf("malformed: %v", r)
		}
	}()
	series := make([]storage.ChunkSeries, len(blocks))
	for i, list := range blocks {
		metas := make([]chunks.Meta, len(list))
		for k, c := range list {
			metas[k] = chunks.Meta{MinTime: c.MinTime, MaxTime: c.MaxTime}
			if metas[k].Chunk, err = chunkenc.FromData(c.Encoding, c.Data); err != nil {
				return nil, err
			}
		}
		series[i] = &storage.ChunkSeriesEntry{ChunkIteratorFn: func(chunks.Iterator) chunks.Iterator { return storage.NewListChunkSeriesIterator(metas...) }}
	}
	it := storage.NewCompactingChunkSeriesMerger(storage.ChainedSeriesMerge)(series...).Iterator(nil)
	for it.Next() {
		m := it.At()
		merged = append(merged, Encoded{Encoding: m.Chunk.Encoding(), Data: m.Chunk.Bytes(), MinTime: m.MinTime, MaxTime: m.MaxTime})
	}
	return merged, it.Err()
}
