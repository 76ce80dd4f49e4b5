// Package upstream joins the series of another Prometheus, or of a server with its API, to those of a storage.Queryable, so that
// one expression may name both.
package upstream

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation/places"
	"github.com/promcost/promcost/promquery/internal/anyselect"
)

// Defaults of Config.
const (
	DefaultLookback = 5 * time.Minute
	DefaultTimeout  = 2 * time.Minute
	DefaultMaxBytes = 256 << 20
)

// Config says which server has the series that are not cost. URL, Owned, External and Streams are required.
type Config struct {
	// URL is what stands before /api/v1.
	URL *url.URL
	// Client sends the requests, with whatever credentials it has. The default is http.DefaultClient.
	Client *http.Client
	// Params are sent with every query, such as dedup=false for Thanos.
	Params url.Values
	// Owned are the names of cost series: what the server has of them, scraped from a promcost, is never read.
	Owned []string
	// External are the server's external labels, which are taken off the series that it gives, unless a query names them:
	// without them the same query gives the same as from the server itself.
	External func(ctx context.Context) (map[string]string, error)
	// Streams says whether the server streams remote read; one that does not is asked by the query API.
	Streams func(ctx context.Context) (bool, error)
	// Lookback is how long an instant sees a sample of the server's. That of the engine is made for hours. The default is
	// DefaultLookback.
	Lookback time.Duration
	// Timeout bounds a request. The default is DefaultTimeout.
	Timeout time.Duration
	// MaxConcurrency bounds the requests that run at a time, but one more of a small question. The default is 2.
	MaxConcurrency int
	// MaxBytes bounds an answer. The default is DefaultMaxBytes.
	MaxBytes int64
}

// Server is a server whose series queries may name beside those of cost. It is best effort: where it fails, that is a
// warning, and cost series answer alone. It is safe for concurrent use.
type Server struct {
	cfg   Config
	base  *url.URL
	slots places.Places // of requests that run

	mu        sync.Mutex
	down      error // why it could not be found out what the server is
	downUntil time.Time
}

// New returns the server as cfg says. It sends nothing yet.
func New(cfg Config) *Server {
	if cfg.Client == nil {
		cfg.Client = http.DefaultClient
	}
	cfg.Lookback = cmp.Or(cfg.Lookback, DefaultLookback)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.MaxConcurrency = cmp.Or(cfg.MaxConcurrency, 2)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	cfg.Owned = slices.Sorted(slices.Values(cfg.Owned))
	base := *cfg.URL
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	base.RawQuery, base.Fragment = "", ""
	return &Server{cfg: cfg, base: &base, slots: places.New(cfg.MaxConcurrency)}
}

// Join is cost series and the upstream's together. Lookback is the engine's.
func (u *Server) Join(own storage.SampleAndChunkQueryable, lookback time.Duration) storage.SampleAndChunkQueryable {
	return &joined{SampleAndChunkQueryable: own, upstream: u, lookback: lookback}
}

// joined is cost series and another server's. Chunks are of cost series alone.
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

// joinedQuerier reads both over a range of time.
type joinedQuerier struct {
	*joined
	own        storage.Querier
	mint, maxt int64
	cancels    []context.CancelFunc // of what is being read of the upstream
}

// sides says who may have series that match. What the upstream is asked for has theirs, which leave out what is ours.
func (u *Server) sides(matchers []*labels.Matcher) (ours bool, theirs []*labels.Matcher) {
	var names []*labels.Matcher
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel {
			names = append(names, m)
		}
	}
	var quoted []string
	for _, name := range u.cfg.Owned {
		if !slices.ContainsFunc(names, func(m *labels.Matcher) bool { return !m.Matches(name) }) {
			quoted = append(quoted, regexp.QuoteMeta(name))
		}
	}
	if len(quoted) == 0 {
		return false, matchers
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
	other := q.theirs(ctx, hints, theirs) // it begins to read
	return storage.NewMergeSeriesSet([]storage.SeriesSet{q.own.Select(ctx, true, hints, matchers...), other}, hintedLimit(hints), storage.ChainedSeriesMerge)
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
		sets = append(sets, q.theirs(ctx, hints, other...)) // it begins to read
	}
	if len(own) > 0 {
		sets = append(sets, anyselect.Select(ctx, q.own, hints, own))
	}
	return storage.NewMergeSeriesSet(sets, hintedLimit(hints), storage.ChainedSeriesMerge)
}

// theirs begins to read the upstream's series that any of the selectors matches. Several are only of series without samples.
func (q *joinedQuerier) theirs(ctx context.Context, hints *storage.SelectHints, selectors ...[]*labels.Matcher) storage.SeriesSet {
	ctx, cancel := context.WithCancel(ctx)
	q.cancels = append(q.cancels, cancel)
	sel := wanted{mint: q.mint, maxt: q.maxt, lookback: q.upstream.cfg.Lookback, matchers: selectors[0]}
	engines := q.lookback
	if given, ok := lookbackOf(ctx); ok {
		sel.lookback, engines = given, given
	}
	if hints != nil {
		sel.mint, sel.maxt, sel.limit = hints.Start, hints.End, hints.Limit
		if hints.Func == anyselect.LabelsOnly {
			sel.bare = selectors
		} else if hints.Range == 0 {
			sel.mint += max(0, engines-sel.lookback).Milliseconds() // read as far back as an instant looks
		}
	}
	set := &seriesSet{ready: make(chan struct{})}
	go func() {
		defer close(set.ready)
		defer func() {
			if p := recover(); p != nil { // what no handler of the request would catch
				set.list, set.err = nil, fmt.Errorf("read from the upstream: internal error: %v: report it", p)
			}
		}()
		set.list, set.warnings, set.err = q.upstream.read(ctx, sel)
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

// both are the words that own and a path of the upstream's API give.
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
		theirs = nil // rather than all that are not cost, which would have it look at every series
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

// namesPath gives the names of metrics.
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

// WithLookback is a context of queries that look back for d, whatever the engine and the server do otherwise.
func WithLookback(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, lookbackKey{}, d)
}

// lookbackOf is the lookback that the request asks for.
func lookbackOf(ctx context.Context) (time.Duration, bool) {
	d, ok := ctx.Value(lookbackKey{}).(time.Duration)
	return d, ok
}
