package upstream

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// stale is a stale marker.
var stale = math.Float64frombits(value.StaleNaN)

// seriesSet is a storage.SeriesSet that is read in the background. Its methods wait until it is there.
type seriesSet struct {
	ready    chan struct{} // closed once the fields below are set
	list     []*series
	warnings annotations.Annotations
	err      error

	next      int
	replacing int // series that stand in place of cost series
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	<-s.ready
	s.next++
	return s.next <= len(s.list)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.list[s.next-1] }

// Err implements storage.SeriesSet.
func (s *seriesSet) Err() error {
	<-s.ready
	return s.err
}

// Warnings implements storage.SeriesSet.
func (s *seriesSet) Warnings() annotations.Annotations {
	<-s.ready
	if s.replacing == 0 {
		return s.warnings
	}
	return s.warnings.Add(fmt.Errorf("%w: %d series of the Prometheus stand in place of promcost's of the same labels", annotations.PromQLInfo, s.replacing))
}

// besideSet counts the series of both sides as they come: where both have some of a metric, a sum over it is that of both.
type besideSet struct {
	storage.SeriesSet
	byName map[string]*beside
}

// beside is how many series of a metric are cost series, and how many the server's with labels that no cost series has.
type beside struct{ ours, theirs int }

// Next implements storage.SeriesSet.
func (s *besideSet) Next() bool {
	if !s.SeriesSet.Next() {
		return false
	}
	one := s.At()
	name := one.Labels().Get(model.MetricNameLabel)
	if s.byName[name] == nil {
		s.byName[name] = &beside{}
	}
	switch theirs, ok := one.(*series); {
	case !ok:
		s.byName[name].ours++
	case !theirs.replaces:
		s.byName[name].theirs++
	}
	return true
}

// Warnings implements storage.SeriesSet.
func (s *besideSet) Warnings() annotations.Annotations {
	notes := s.SeriesSet.Warnings()
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if n := s.byName[name]; n.ours > 0 && n.theirs > 0 {
			notes = notes.Add(fmt.Errorf("%w: %d series of %s are promcost's, and %d with other labels the Prometheus': sums have both. Add job!=\"\" for the Prometheus' alone, or job=\"\" for promcost's",
				annotations.PromQLInfo, n.ours, name, n.theirs))
		}
	}
	return notes
}

// series is a series of the server. Its samples are packed as they came.
type series struct {
	labels   labels.Labels
	chunks   []chunkenc.Chunk
	in       *seriesSet
	replaces bool // a cost series with its labels
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	if len(s.chunks) == 0 {
		return chunkenc.NewNopIterator()
	}
	its := make([]chunkenc.Iterator, len(s.chunks))
	for i, c := range s.chunks {
		its[i] = c.Iterator(nil)
	}
	return storage.ChainSampleIteratorFromIterators(nil, its)
}

// expire adds a stale marker wherever the next sample is further away than lookback, so that an engine with a longer lookback sees
// what the server's own engine sees. It reads all samples, and fails if they cannot be read.
func (s *series) expire(lookback time.Duration) error {
	after := lookback.Milliseconds()
	var markers []point
	last, lives := int64(0), false
	it := s.Iterator(nil)
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		t := it.AtT()
		if lives && t-last > after {
			markers = append(markers, point{last + after, stale})
		}
		last, lives = t, true
		if kind == chunkenc.ValFloat {
			_, v := it.At()
			lives = !value.IsStaleNaN(v)
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("decode samples of %s: %w", s.labels, err)
	}
	if lives {
		markers = append(markers, point{last + after, stale})
	}
	packed, err := packPoints(markers)
	s.chunks = append(s.chunks, packed...)
	return err
}

// maxChunk is how many samples of the query API are packed into a chunk.
const maxChunk = 1000

// packPoints packs samples, which are in ascending time, into chunks.
func packPoints(points []point) ([]chunkenc.Chunk, error) {
	var list []chunkenc.Chunk
	for part := range slices.Chunk(points, maxChunk) {
		c := chunkenc.NewXORChunk()
		app, err := c.Appender()
		if err != nil {
			return nil, err
		}
		for _, p := range part {
			app.Append(0, p.t, p.v)
		}
		list = append(list, c)
	}
	return list, nil
}
