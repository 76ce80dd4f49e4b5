package costseries

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation"
)

// querier is a storage.Querier of one query.
type querier struct {
	*Queryable
	mint, maxt int64        // Unix milliseconds, both within
	used       atomic.Int64 // bytes of the series of all its selects
}

func (q *Queryable) querier(mint, maxt int64) *querier {
	return &querier{Queryable: q, mint: mint, maxt: maxt}
}

// chunkQuerier is a storage.ChunkQuerier of one query.
type chunkQuerier struct{ *querier }

// Select implements storage.ChunkQuerier.
func (q *chunkQuerier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.ChunkSeriesSet {
	return storage.NewSeriesSetToChunkSet(q.querier.Select(ctx, sortSeries, hints, matchers...))
}

// Select implements storage.Querier. The hours are read when the first series is asked for.
func (q *querier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	s := &seriesSet{at: -1}
	s.load = func() {
		r, err := q.read(ctx, hints, matchers)
		s.err, s.list, s.notes = err, r.series, r.notes
		if sortSeries {
			slices.SortFunc(s.list, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
		}
		if hints != nil && hints.Limit > 0 && len(s.list) > hints.Limit {
			s.list = s.list[:hints.Limit]
		}
	}
	return s
}

// Close implements storage.LabelQuerier: there is nothing to release.
func (q *querier) Close() error { return nil }

// seriesSet is a storage.SeriesSet that loads itself when it is first looked at.
type seriesSet struct {
	load  func()
	list  []*series
	at    int
	notes annotations.Annotations
	err   error
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	if s.load != nil {
		s.load()
		s.load = nil
	}
	if s.err != nil || s.at+1 >= len(s.list) {
		return false
	}
	s.at++
	return true
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.list[s.at] }

// Err implements storage.SeriesSet.
func (s *seriesSet) Err() error { return s.err }

// Warnings implements storage.SeriesSet.
func (s *seriesSet) Warnings() annotations.Annotations { return s.notes }

// answer is the series of a select and what is to be told of them.
type answer struct {
	series []*series
	notes  annotations.Annotations
}

// read makes the series of a select.
func (q *querier) read(ctx context.Context, hints *storage.SelectHints, matchers []*labels.Matcher) (answer, error) {
	mint, maxt := q.mint, q.maxt
	if hints != nil {
		mint, maxt = max(mint, hints.Start), min(maxt, hints.End)
	}
	selected := q.selections(hints, matchers)
	switch {
	case len(selected) == 0:
		return answer{}, nil
	case hints != nil && hints.Func == seriesFunc:
		return q.recent(ctx, mint, maxt, selected)
	}
	var all answer
	for _, pass := range q.passes(selected) {
		l := q.loader(pass.selected)
		if err := l.run(ctx, mint, maxt, pass.counting); err != nil {
			return answer{}, err
		}
		all.series, all.notes = append(all.series, l.series...), all.notes.Merge(l.told.annotations())
	}
	return all, nil
}

// pass is what is made of the same hours: gauges or counters.
type pass struct {
	selected []*selection
	counting bool
}

// passes are those that selections need.
func (q *querier) passes(selected []*selection) (list []pass) {
	for _, counting := range [...]bool{false, true} {
		of := slices.DeleteFunc(slices.Clone(selected), func(s *selection) bool { return s.counter != counting })
		if len(of) > 0 {
			list = append(list, pass{of, counting})
		}
	}
	return list
}

// maxHours bounds the hours that one select may be about.
const maxHours = allocation.MaxSets

// window is what hours have their samples from mint to maxt: those that end as much earlier as they are shown later. It is
// empty where there are none.
func (q *Queryable) window(mint, maxt int64) allocation.Window {
	from, until := time.UnixMilli(max(mint, 0)), time.UnixMilli(max(min(maxt, q.opts.Now().UnixMilli()), 0))
	if until.Before(from) {
		return allocation.Window{}
	}
	return q.samplesIn(from, until)
}

// asked is the window that is told of where it has nothing: as it was asked for where all of it is in the future.
func (q *Queryable) asked(mint, maxt int64) allocation.Window {
	if w := q.window(mint, maxt); w.Start.Before(w.End) {
		return w
	}
	return q.samplesIn(time.UnixMilli(mint), time.UnixMilli(maxt))
}

// samplesIn is what hours have their samples between two instants, whatever the clock says.
func (q *Queryable) samplesIn(from, until time.Time) allocation.Window {
	return allocation.Window{Start: from.Add(-q.opts.Grace - time.Hour), End: until.Add(-q.opts.Grace)}
}

// checkHours refuses windows of more hours than one select may be about.
func checkHours(w allocation.Window) error {
	if n := w.Duration() / time.Hour; n > maxHours {
		return fmt.Errorf("%w: select costs of %d hours, at most %d are read at once: ask for a shorter range", allocation.ErrTooMuch, n, maxHours)
	}
	return nil
}

// month is when the month of t began.
func (q *Queryable) month(t time.Time) time.Time {
	return allocation.Month.Round(allocation.Window{Start: t, End: t.Add(time.Millisecond)}, q.opts.Zone).Start
}
