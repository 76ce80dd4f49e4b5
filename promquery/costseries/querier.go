package costseries

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/internal/anyselect"
)

// querier is the storage.Querier of one query.
type querier struct {
	*Queryable
	mint, maxt int64 // Unix milliseconds, both within

	mu      sync.Mutex
	waiting []*seriesSet // that nobody has looked at yet
}

func (q *Queryable) querier(mint, maxt int64) *querier {
	return &querier{Queryable: q, mint: mint, maxt: maxt}
}

// chunkQuerier is the storage.ChunkQuerier of one query.
type chunkQuerier struct{ *querier }

// Select implements storage.ChunkQuerier.
func (q *chunkQuerier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.ChunkSeriesSet {
	return storage.NewSeriesSetToChunkSet(q.querier.Select(ctx, sortSeries, hints, matchers...))
}

// Select implements storage.Querier. Hours are read when the first series of any set of the query is asked for.
func (q *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return q.selectAny(ctx, sorted, hints, matchers)
}

// SelectAny implements anyselect.Querier.
func (q *querier) SelectAny(ctx context.Context, hints *storage.SelectHints, selectors [][]*labels.Matcher) storage.SeriesSet {
	return q.selectAny(ctx, true, hints, selectors...)
}

// selectAny selects the series that any of the selectors matches.
func (q *querier) selectAny(ctx context.Context, sorted bool, hints *storage.SelectHints, selectors ...[]*labels.Matcher) storage.SeriesSet {
	s := &seriesSet{at: -1, steps: 1, mint: q.mint, maxt: q.maxt, sorted: sorted, selected: q.selections(ctx, hints, selectors...)}
	if hints != nil {
		s.mint, s.maxt, s.limit = max(q.mint, hints.Start), min(q.maxt, hints.End), hints.Limit
		s.labelsOnly = hints.Func == anyselect.LabelsOnly
		if hints.Step > 0 {
			s.steps = (hints.End-hints.Start)/hints.Step + 1
		}
	}
	s.load = func() { q.load(ctx, s) }
	if len(s.selected) > 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiting = append(q.waiting, s)
	}
	return s
}

// Close implements storage.LabelQuerier: there is nothing to release.
func (q *querier) Close() error { return nil }

// seriesSet is a storage.SeriesSet that is loaded when it, or another one of the same query, is first looked at.
type seriesSet struct {
	mint, maxt int64
	selected   []*selection
	labelsOnly bool // no samples are wanted
	sorted     bool
	limit      int
	steps      int64  // how many times the engine evaluates it
	load       func() // nil once it was called

	loaded bool // guarded by the querier's mu
	list   []*series
	at     int
	warn   annotations.Annotations
	err    error
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
func (s *seriesSet) Warnings() annotations.Annotations { return s.warn }

// pass is a part of the selections that is made from the same hours.
type pass struct {
	selected []*selection
	kind     kind
}

// passes are the passes that selections need.
func (q *querier) passes(selected []*selection) (list []pass) {
	for of := range numKinds {
		part := slices.DeleteFunc(slices.Clone(selected), func(s *selection) bool { return s.kind != of })
		if len(part) > 0 {
			list = append(list, pass{part, of})
		}
	}
	return list
}

// hoursOf are the hours that metrics of a kind are made from.
func (q *Queryable) hoursOf(of kind) Hours {
	return [...]Hours{gauges: q.sets.Hours, counters: q.sets.Counted, billed: q.opts.Billed}[of]
}

// maxHours bounds the hours that one selection may need.
const maxHours = allocation.MaxSets

// window holds the hours whose samples are between mint and maxt, but not after now. It is empty where there are none.
func (q *Queryable) window(mint, maxt int64) allocation.Window {
	from, until := time.UnixMilli(max(mint, 0)), time.UnixMilli(max(min(maxt, q.opts.Now().UnixMilli()), 0))
	if until.Before(from) {
		return allocation.Window{}
	}
	return q.samplesIn(from, until)
}

// asked is the window that a warning names where there are no costs. Where all of it is in the future, it is as it was asked for.
func (q *Queryable) asked(mint, maxt int64) allocation.Window {
	if w := q.window(mint, maxt); w.Start.Before(w.End) {
		return w
	}
	return q.samplesIn(time.UnixMilli(mint), time.UnixMilli(maxt))
}

// samplesIn holds the hours whose samples are between two instants: samples come the grace period after the end of their hour.
func (q *Queryable) samplesIn(from, until time.Time) allocation.Window {
	return allocation.Window{Start: from.Add(-q.opts.Grace - time.Hour), End: until.Add(-q.opts.Grace)}
}

// checkHours refuses windows of more hours than one selection may need.
func checkHours(w allocation.Window) error {
	if n := w.Duration() / time.Hour; n > maxHours {
		return fmt.Errorf("%w: select costs of %d hours, at most %d are read at once: ask for a shorter range", allocation.ErrTooMuch, n, maxHours)
	}
	return nil
}

// month is the beginning of the month of t.
func (q *Queryable) month(t time.Time) time.Time {
	return allocation.Month.Round(allocation.Window{Start: t, End: t.Add(time.Millisecond)}, q.opts.Zone).Start
}
