package upstream

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/promquery/internal/anyselect"
)

// Join returns a queryable of the cost series and the server's series, for an engine with that lookback.
func (u *Server) Join(own storage.SampleAndChunkQueryable, lookback time.Duration) storage.SampleAndChunkQueryable {
	return &joined{SampleAndChunkQueryable: own, upstream: u, lookback: lookback}
}

// joined is the cost series and the series of a server. Only the cost series have chunks.
type joined struct {
	storage.SampleAndChunkQueryable
	upstream *Server
	lookback time.Duration // of the engine
}

// Querier implements storage.Queryable.
func (j *joined) Querier(mint, maxt int64) (storage.Querier, error) {
	own, err := j.SampleAndChunkQueryable.Querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	return &joinedQuerier{joined: j, own: own, mint: mint, maxt: maxt}, nil
}

// joinedQuerier reads both within a range of time.
type joinedQuerier struct {
	*joined
	own        storage.Querier
	mint, maxt int64
	cancels    []context.CancelFunc // of requests to the server that still run
}

// sides says whether cost series may match, and which matchers the server is asked with, nil for none. They leave out series that only
// promcost has.
func (u *Server) sides(matchers []*labels.Matcher) (ours bool, theirs []*labels.Matcher) {
	var names []*labels.Matcher
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel {
			names = append(names, m)
		}
	}
	matches := func(name string) bool {
		return !slices.ContainsFunc(names, func(m *labels.Matcher) bool { return !m.Matches(name) })
	}
	var quoted []string
	for _, name := range u.cfg.Owned {
		if matches(name) {
			quoted = append(quoted, regexp.QuoteMeta(name))
		}
	}
	if len(quoted) == 0 {
		return slices.ContainsFunc(u.cfg.Shared, matches), matchers
	}
	if slices.ContainsFunc(names, func(m *labels.Matcher) bool { return m.Type == labels.MatchEqual }) {
		return true, nil
	}
	without := labels.MustNewMatcher(labels.MatchNotRegexp, model.MetricNameLabel, strings.Join(quoted, "|"))
	return true, append(slices.Clone(matchers), without)
}

// Select implements storage.Querier.
func (q *joinedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	ours, theirs := q.upstream.sides(matchers)
	switch {
	case theirs == nil:
		return q.own.Select(ctx, sorted, hints, matchers...)
	case !ours:
		return q.theirs(ctx, hints, theirs)
	}
	other := q.theirs(ctx, hints, theirs) // it is read in the background
	merged := storage.NewMergeSeriesSet([]storage.SeriesSet{q.own.Select(ctx, true, hints, matchers...), other}, hintedLimit(hints), preferTheirs)
	return &besideSet{SeriesSet: merged, byName: map[string]*beside{}}
}

// preferTheirs is the server's series of those with equal labels.
func preferTheirs(list ...storage.Series) storage.Series {
	for _, s := range list {
		if theirs, ok := s.(*series); ok && len(list) > 1 {
			if !theirs.replaces { // a set may be asked for it twice
				theirs.replaces = true
				theirs.in.replacing++
			}
			return theirs
		}
	}
	return storage.ChainedSeriesMerge(list...)
}

// hintedLimit is the limit of hints, 0 for none.
func hintedLimit(hints *storage.SelectHints) int {
	if hints == nil {
		return 0
	}
	return hints.Limit
}

// SelectAny implements anyselect.Querier.
func (q *joinedQuerier) SelectAny(ctx context.Context, hints *storage.SelectHints, selectors [][]*labels.Matcher) storage.SeriesSet {
	var own, other [][]*labels.Matcher
	for _, matchers := range selectors {
		ours, theirs := q.upstream.sides(matchers)
		if ours {
			own = append(own, matchers)
		}
		if theirs != nil {
			other = append(other, theirs)
		}
	}
	var sets []storage.SeriesSet
	if len(other) > 0 {
		sets = append(sets, q.theirs(ctx, hints, other...)) // they are read in the background
	}
	if len(own) > 0 {
		sets = append(sets, anyselect.Select(ctx, q.own, hints, own))
	}
	return storage.NewMergeSeriesSet(sets, hintedLimit(hints), preferTheirs)
}

// theirs begins to read the series of the server that any of the selectors matches. Several selectors are given only where no
// samples are wanted.
func (q *joinedQuerier) theirs(ctx context.Context, hints *storage.SelectHints, selectors ...[]*labels.Matcher) storage.SeriesSet {
	ctx, cancel := context.WithCancel(ctx)
	q.cancels = append(q.cancels, cancel)
	for i := range selectors {
		selectors[i] = slices.Clone(selectors[i]) // a TSDB sorts those that it is given, at the same time
	}
	sel := selection{mint: q.mint, maxt: q.maxt, lookback: q.upstream.cfg.Lookback, matchers: selectors[0]}
	engine := q.lookback
	if given, ok := lookbackOf(ctx); ok {
		sel.lookback, engine = given, given
	}
	if hints != nil {
		sel.mint, sel.maxt, sel.limit = hints.Start, hints.End, hints.Limit
		if hints.Func == anyselect.LabelsOnly {
			sel.labelsOnly = selectors
		} else if hints.Range == 0 {
			sel.mint += max(0, engine-sel.lookback).Milliseconds() // the hints reach as far back as the engine looks, which is too far
		}
	}
	set := &seriesSet{ready: make(chan struct{})}
	go func() {
		defer close(set.ready)
		defer func() {
			if p := recover(); p != nil { // no handler of the request would catch it
				set.list, set.err = nil, fmt.Errorf("read from the upstream: internal error: %v: report it", p)
			}
		}()
		set.list, set.warnings, set.err = q.upstream.read(ctx, sel)
		for _, s := range set.list {
			s.in = set
		}
	}()
	return set
}

// LabelValues implements storage.Querier.
func (q *joinedQuerier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	own := func() ([]string, annotations.Annotations, error) {
		return q.own.LabelValues(ctx, name, hints, matchers...)
	}
	return q.both(ctx, "/label/"+url.PathEscape(model.EscapeName(name, model.ValueEncodingEscaping))+"/values", hints, matchers, own)
}

// LabelNames implements storage.Querier.
func (q *joinedQuerier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	own := func() ([]string, annotations.Annotations, error) { return q.own.LabelNames(ctx, hints, matchers...) }
	return q.both(ctx, "/labels", hints, matchers, own)
}

// both merges the words that own returns with those of a path of the server's API.
func (q *joinedQuerier) both(ctx context.Context, path string, hints *storage.LabelHints, matchers []*labels.Matcher, own func() ([]string, annotations.Annotations, error)) ([]string, annotations.Annotations, error) {
	ours, theirs := q.upstream.sides(matchers)
	var words []string
	var notes annotations.Annotations
	if ours {
		var err error
		if words, notes, err = own(); err != nil {
			return nil, notes, err
		}
	}
	if theirs == nil {
		return words, notes, nil
	}
	if len(matchers) == 0 {
		theirs = nil // a selector for everything but cost would have the server look at every series
	}
	limit := 0
	if hints != nil {
		limit = hints.Limit
	}
	others, warnings := q.upstream.words(ctx, path, q.mint, q.maxt, limit, theirs)
	for _, w := range warnings {
		notes = notes.Add(w)
	}
	for _, word := range others {
		if path != namesPath || !slices.Contains(q.upstream.cfg.Owned, word) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if limit > 0 && len(words) > limit {
		words = words[:limit]
	}
	return words, notes, nil
}

// namesPath lists the names of metrics.
const namesPath = "/label/" + model.MetricNameLabel + "/values"

// Close implements storage.Querier.
func (q *joinedQuerier) Close() error {
	for _, cancel := range q.cancels {
		cancel()
	}
	return q.own.Close()
}

// lookbackKey is the context's key of the lookback that a request asks for.
type lookbackKey struct{}

// WithLookback returns a context for queries with the lookback d instead of the engine's and the server's.
func WithLookback(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, lookbackKey{}, d)
}

// lookbackOf is the lookback that WithLookback has set.
func lookbackOf(ctx context.Context) (time.Duration, bool) {
	d, ok := ctx.Value(lookbackKey{}).(time.Duration)
	return d, ok
}
