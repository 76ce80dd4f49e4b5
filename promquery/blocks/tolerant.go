package blocks

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	own "github.com/promcost/promcost/promquery/chunks"
)

// tolerant is the querier of one block that answers what can be read of it and turns the rest into warnings.
type tolerant struct {
	storage.ChunkQuerier
	snap  *snapshot
	block *block
}

// Select implements storage.ChunkQuerier.
func (t *tolerant) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, ms ...*labels.Matcher) (answer storage.ChunkSeriesSet) {
	set := &tolerantSet{ChunkSeriesSet: storage.EmptyChunkSeriesSet(), snap: t.snap, block: t.block, metric: metricOf(ms)}
	answer = set // even if the index is so damaged that selecting panics
	defer recovered(&set.err)
	set.ChunkSeriesSet = t.ChunkQuerier.Select(ctx, sortSeries, hints, ms...)
	return set
}

// metricOf returns the metric's name that the matchers ask for.
func metricOf(ms []*labels.Matcher) string {
	for _, m := range ms {
		if m.Name == "__name__" {
			return m.Value
		}
	}
	return "any name"
}

// tolerantSet ends at the first unreadable entry of the block's index. Its series end at their first unreadable chunk.
type tolerantSet struct {
	storage.ChunkSeriesSet
	snap   *snapshot
	block  *block
	metric string
	damage
}

// Next implements storage.ChunkSeriesSet.
func (s *tolerantSet) Next() (ok bool) {
	if s.err != nil {
		return false
	}
	defer func() { ok = ok && s.err == nil }()
	defer recovered(&s.err)
	if s.ChunkSeriesSet.Next() {
		return true
	}
	s.err = s.ChunkSeriesSet.Err()
	return false
}

// At implements storage.ChunkSeriesSet.
func (s *tolerantSet) At() storage.ChunkSeries {
	series := s.ChunkSeriesSet.At()
	return &storage.ChunkSeriesEntry{
		Lset: series.Labels(),
		ChunkIteratorFn: func(it chunks.Iterator) chunks.Iterator {
			if old, ok := it.(*tolerantIterator); ok {
				old.Iterator, old.set, old.ended = series.Iterator(old.Iterator), s, false
				return old
			}
			return &tolerantIterator{Iterator: series.Iterator(nil), set: s}
		},
	}
}

// Err implements storage.ChunkSeriesSet: only the end of the caller's patience is an error.
func (s *tolerantSet) Err() error {
	if errors.Is(s.err, context.Canceled) || errors.Is(s.err, context.DeadlineExceeded) {
		return s.err
	}
	return nil
}

// Warnings implements storage.ChunkSeriesSet.
func (s *tolerantSet) Warnings() annotations.Annotations {
	var ws annotations.Annotations
	ws.Merge(s.ChunkSeriesSet.Warnings())
	d := s.damage
	if s.Err() != nil {
		d.err = nil
	}
	if l, ok := s.snap.note(s.block, &d, s.metric); ok && !s.snap.notes {
		ws.Add(errors.New(l.String()))
	}
	return ws
}

// tolerantIterator ends at the first unreadable chunk and counts its series as failed.
type tolerantIterator struct {
	chunks.Iterator
	set   *tolerantSet
	ended bool
}

// Next implements chunks.Iterator.
func (it *tolerantIterator) Next() (ok bool) {
	if it.ended {
		return false
	}
	var err error
	defer func() {
		if it.ended = !ok || err != nil; err == nil {
			return
		}
		ok = false
		it.set.add(err)
	}()
	defer recovered(&err)
	if !it.Iterator.Next() {
		err = it.Iterator.Err()
		return false
	}
	c := it.At()
	err = own.CheckStart(c.Chunk.Encoding(), c.Chunk.Bytes(), c.MinTime)
	return err == nil
}

// Err implements chunks.Iterator.
func (*tolerantIterator) Err() error { return nil }
