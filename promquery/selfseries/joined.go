package selfseries

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Beside returns the series of others, and the ring's series of names that others does not have: others knows more about its own.
// A nil ring has nothing.
func (r *Ring) Beside(others storage.SampleAndChunkQueryable, theirs []string) storage.SampleAndChunkQueryable {
	if r == nil {
		return others
	}
	return &joined{SampleAndChunkQueryable: others, ring: r, theirs: slices.Sorted(slices.Values(theirs))}
}

// joined is a storage.SampleAndChunkQueryable.
type joined struct {
	storage.SampleAndChunkQueryable // the others
	ring                            *Ring
	theirs                          []string // names, sorted
}

// Querier implements storage.Queryable.
func (j *joined) Querier(mint, maxt int64) (storage.Querier, error) {
	others, err := j.SampleAndChunkQueryable.Querier(mint, maxt)
	if err != nil {
		return nil, fmt.Errorf("open series beside own: %w", err)
	}
	return &querier{others, j, mint, maxt}, nil
}

// ChunkQuerier implements storage.ChunkQueryable.
func (j *joined) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	others, err := j.SampleAndChunkQueryable.ChunkQuerier(mint, maxt)
	if err != nil {
		return nil, fmt.Errorf("open chunks beside own: %w", err)
	}
	return &chunkQuerier{others, &querier{joined: j, mint: mint, maxt: maxt}}, nil
}

// chunkQuerier is a storage.ChunkQuerier. It looks up labels in others only: a caller that asks for labels needs no chunks.
type chunkQuerier struct {
	storage.ChunkQuerier // of the others
	own                  *querier
}

// Select implements storage.ChunkQuerier.
func (q *chunkQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.ChunkSeriesSet {
	found := q.own.find(hints, matchers)
	if len(found.list) == 0 {
		return q.ChunkQuerier.Select(ctx, sorted, hints, matchers...)
	}
	return storage.NewMergeChunkSeriesSet([]storage.ChunkSeriesSet{
		q.ChunkQuerier.Select(ctx, true, hints, matchers...), storage.NewSeriesSetToChunkSet(found),
	}, limitOf(hints), storage.NewConcatenatingChunkSeriesMerger())
}

// querier is a storage.Querier.
type querier struct {
	storage.Querier // of the others
	*joined
	mint, maxt int64
}

// Select implements storage.Querier.
func (q *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := q.find(hints, matchers)
	if len(found.list) == 0 {
		return q.Querier.Select(ctx, sorted, hints, matchers...)
	}
	others := q.Querier.Select(ctx, true, hints, matchers...)
	return &mergingSet{SeriesSet: storage.EmptySeriesSet(), merge: func() storage.SeriesSet {
		return storage.NewMergeSeriesSet([]storage.SeriesSet{others, found}, limitOf(hints), storage.ChainedSeriesMerge)
	}}
}

// mergingSet is a storage.SeriesSet that is merged when the engine first looks at it. Merging looks at the sets that it merges, and the
// other queryable must first know all that a query selects, because it reads that together.
type mergingSet struct {
	storage.SeriesSet
	merge func() storage.SeriesSet // nil once it was looked at
}

// Next implements storage.SeriesSet.
func (s *mergingSet) Next() bool {
	if s.merge != nil {
		s.SeriesSet, s.merge = s.merge(), nil
	}
	return s.SeriesSet.Next()
}

// SelectAny selects the series that any of the selectors matches, each once and sorted.
func (q *querier) SelectAny(ctx context.Context, hints *storage.SelectHints, selectors [][]*labels.Matcher) storage.SeriesSet {
	sets := []storage.SeriesSet{q.find(hints, selectors...)}
	others, ok := q.Querier.(interface {
		SelectAny(context.Context, *storage.SelectHints, [][]*labels.Matcher) storage.SeriesSet
	})
	if ok {
		sets = append(sets, others.SelectAny(ctx, hints, selectors))
	} else {
		for _, matchers := range selectors {
			sets = append(sets, q.Querier.Select(ctx, true, hints, matchers...))
		}
	}
	return storage.NewMergeSeriesSet(sets, limitOf(hints), storage.ChainedSeriesMerge)
}

func limitOf(hints *storage.SelectHints) int {
	if hints == nil {
		return 0
	}
	return hints.Limit
}

// find are the ring's series that any of the selectors matches.
func (q *querier) find(hints *storage.SelectHints, selectors ...[]*labels.Matcher) *seriesSet {
	mint, maxt := q.mint, q.maxt
	if hints != nil {
		mint, maxt = max(mint, hints.Start), min(maxt, hints.End)
	}
	found := &seriesSet{at: -1}
	q.each(mint, maxt, selectors, func(s *series, from, to int) {
		if samples := q.ring.samples(s, from, to); len(samples) > 0 {
			found.list = append(found.list, storage.NewListSeries(s.labels, samples))
		}
	})
	return found
}

// each yields the series that any of the selectors matches, by their labels, with the scrapes of a range of time: from the first to before the last. The
// ring does not change meanwhile.
func (q *querier) each(mint, maxt int64, selectors [][]*labels.Matcher, yield func(s *series, from, to int)) {
	r := q.ring
	r.mu.RLock()
	defer r.mu.RUnlock()
	from, _ := slices.BinarySearch(r.times, mint)
	to, _ := slices.BinarySearch(r.times, maxt+1)
	if from >= to {
		return
	}
	for _, s := range r.list {
		if _, theirs := slices.BinarySearch(q.theirs, s.labels.Get(model.MetricNameLabel)); theirs {
			continue
		}
		if slices.ContainsFunc(selectors, func(matchers []*labels.Matcher) bool {
			return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) })
		}) {
			yield(s, r.first+from, r.first+to)
		}
	}
}

// samples are those of a series in scrapes. Of stale markers, the first of a row is enough.
func (r *Ring) samples(s *series, from, to int) (list []chunks.Sample) {
	for i, c := range s.changes {
		until := to
		if i+1 < len(s.changes) {
			until = min(to, s.changes[i+1].scrape)
		}
		if value.IsStaleNaN(c.value) {
			until = min(until, c.scrape+1)
		}
		for scrape := max(c.scrape, from); scrape < until; scrape++ {
			list = append(list, sample{r.times[scrape-r.first], c.value})
		}
	}
	return list
}

// LabelValues implements storage.LabelQuerier.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	words, notes, err := q.Querier.LabelValues(ctx, name, hints, matchers...)
	if err != nil {
		return nil, notes, err //nolint:wrapcheck // it is theirs, and as they have it
	}
	q.each(q.mint, q.maxt, [][]*labels.Matcher{matchers}, func(s *series, _, _ int) {
		if v := s.labels.Get(name); v != "" {
			words = append(words, v)
		}
	})
	return sorted(words, hints), notes, nil
}

// LabelNames implements storage.LabelQuerier.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	words, notes, err := q.Querier.LabelNames(ctx, hints, matchers...)
	if err != nil {
		return nil, notes, err //nolint:wrapcheck // it is theirs, and as they have it
	}
	q.each(q.mint, q.maxt, [][]*labels.Matcher{matchers}, func(s *series, _, _ int) {
		s.labels.Range(func(l labels.Label) { words = append(words, l.Name) })
	})
	return sorted(words, hints), notes, nil
}

// sorted are words once each, as many as hints allow.
func sorted(words []string, hints *storage.LabelHints) []string {
	slices.Sort(words)
	words = slices.Compact(words)
	if hints != nil && hints.Limit > 0 && len(words) > hints.Limit {
		words = words[:hints.Limit]
	}
	return words
}

// seriesSet is a storage.SeriesSet.
type seriesSet struct {
	list []storage.Series
	at   int
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	s.at++
	return s.at < len(s.list)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.list[s.at] }

// Err implements storage.SeriesSet.
func (*seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a chunks.Sample.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                    { return s.t }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.v }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
