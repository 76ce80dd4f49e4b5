// Package chunks is a promquery.Source over any storage.ChunkQueryable: a TSDB, its blocks, a fan-out of several.
//
// Float chunks are decoded straight into the points' buffers. Constant chunks are passed on undecoded as runs. Chunks of one value
// at times that jitter are passed on as levels, and only their times are decoded. A series' labels become symbols without building
// a string. Rare cases (other encodings, overlapping chunks) go through Prometheus' own iterators. Decoder and Keys are exported
// for sources that get chunks in other ways.
package chunks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/promquery"
)

// ctxEvery is how many series pass between looks at the context.
const ctxEvery = 64

// Options configure a Source. The zero value is useful.
type Options struct {
	// External are labels treated as absent from series that carry them with these values.
	External map[string]string
}

// Source reads series of a storage.ChunkQueryable. It is safe for concurrent use if that is.
type Source struct {
	q    storage.ChunkQueryable
	opts Options
}

// New returns a Source over q.
func New(q storage.ChunkQueryable, opts Options) *Source { return &Source{q: q, opts: opts} }

// Select implements promquery.Source. Requests counts queriers opened. Chunks that cannot be decoded, and histograms, are
// skipped with a warning.
func (s *Source) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		r := reader{yield: yield, keys: NewKeys(s.opts.External, NewSymbols(promquery.SymbolsOf(ctx)))}
		for i := range rs {
			r.i, r.request, r.bytes = i, &rs[i], 0
			began := time.Now()
			err := r.readRequest(ctx, s.q)
			if r.opened {
				r.stats.Ask(promquery.Sent{Took: time.Since(began), Bytes: r.bytes, Of: []promquery.Portion{{Request: i, Bytes: r.bytes}}})
			}
			r.warnSkipped()
			if err != nil {
				return r.stats, err
			}
		}
		return r.stats, nil
	})
}

// Name implements promquery.Named.
func (*Source) Name(context.Context) string { return "tsdb" }

// reader is the state of one Select.
type reader struct {
	yield promquery.Yield
	stats promquery.Stats
	keys  *Keys
	dec   Decoder
	list  []Encoded

	i       int // the request's index
	request *promquery.Request
	opened  bool  // a querier, for this request
	bytes   int64 // of this request

	skipped Skipped // chunks of this request
}

// readRequest reads all series that a request asks for.
func (r *reader) readRequest(ctx context.Context, q storage.ChunkQueryable) (err error) {
	r.opened = false
	if err := ctx.Err(); err != nil {
		return err
	}
	ms, err := Matchers(r.request)
	if err != nil {
		return err
	}
	cq, err := q.ChunkQuerier(r.request.Start, r.request.End)
	if err != nil {
		return fmt.Errorf("open querier for metric %s: %w", r.request.Metric, err)
	}
	r.opened = true
	defer func() {
		if cerr := cq.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("close querier for metric %s: %w", r.request.Metric, cerr)
		}
	}()
	// Chunks are clipped here, while they are decoded; trimming there would encode them anew.
	hints := &storage.SelectHints{Start: r.request.Start, End: r.request.End, DisableTrimming: true}
	set := cq.Select(ctx, false, hints, ms...)
	var it chunks.Iterator
	for n := 0; set.Next(); n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		series := set.At()
		it = series.Iterator(it)
		r.list = r.list[:0]
		for it.Next() {
			m := it.At()
			r.list = append(r.list, Encoded{Encoding: m.Chunk.Encoding(), Data: m.Chunk.Bytes(), MinTime: m.MinTime, MaxTime: m.MaxTime})
		}
		if err := it.Err(); err != nil {
			return fmt.Errorf("read chunks of metric %s: %w", r.request.Metric, err)
		}
		if err := r.readSeries(series.Labels()); err != nil {
			return err
		}
	}
	r.warn(set.Warnings())
	if err := set.Err(); err != nil {
		return fmt.Errorf("read metric %s: %w", r.request.Metric, err)
	}
	return ctx.Err()
}

// readSeries decodes the collected chunks and hands them over.
func (r *reader) readSeries(lset labels.Labels) error {
	r.keys.Begin(r.request)
	lset.Range(func(l labels.Label) { r.keys.Label(l.Name, l.Value) })
	key := r.keys.Key()
	for _, c := range r.list {
		r.bytes += int64(len(c.Data))
	}
	samples, err := r.dec.Hand(r.i, key, r.keys.Series(), r.list, r.request.Start, r.request.End, r.skipped.Add, r.yield)
	r.stats.Count(samples)
	return err
}

// warnSkipped turns what was left out of a request's answer into warnings.
func (r *reader) warnSkipped() {
	r.stats.Warnings = append(r.stats.Warnings, r.skipped.Warnings(r.request.Metric)...)
	r.skipped = Skipped{}
}

// warn adds a storage's warnings in a fixed order.
func (r *reader) warn(ws annotations.Annotations) {
	texts := make([]string, 0, len(ws))
	for text := range ws {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	for _, text := range texts {
		if !slices.Contains(r.stats.Warnings, text) {
			r.stats.Warnings = append(r.stats.Warnings, text)
		}
	}
}

// Skipped counts the chunks of a metric that were left out. The zero value is ready.
type Skipped struct {
	histograms, malformed int
	first                 error // why the first malformed one was
}

// Add counts a chunk that Decoder gave err for.
func (s *Skipped) Add(err error) {
	if errors.Is(err, ErrHistogram) {
		s.histograms++
		return
	}
	if s.malformed++; s.malformed == 1 {
		s.first = err
	}
}

// Join adds what was left out elsewhere.
func (s *Skipped) Join(o Skipped) {
	if s.malformed == 0 {
		s.first = o.first
	}
	s.histograms += o.histograms
	s.malformed += o.malformed
}

// Warnings words what was left out of metric.
func (s *Skipped) Warnings(metric string) []string {
	return promquery.SkippedChunks(metric, s.histograms, s.malformed, s.first)
}

// Matchers returns the matchers of a request as those of Prometheus, the metric's name first.
func Matchers(r *promquery.Request) ([]*labels.Matcher, error) {
	ms := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", r.Metric)}
	for _, m := range r.Matchers {
		lm, err := Matcher(m)
		if err != nil {
			return nil, fmt.Errorf("match label %s of metric %s: %w", m.Name, r.Metric, err)
		}
		ms = append(ms, lm)
	}
	return ms, nil
}

// Matcher returns a matcher as one of Prometheus.
func Matcher(m promquery.Matcher) (*labels.Matcher, error) {
	types := [...]labels.MatchType{labels.MatchEqual, labels.MatchNotEqual, labels.MatchRegexp, labels.MatchNotRegexp}
	if int(m.Type) >= len(types) {
		return nil, fmt.Errorf("unknown match type %d", m.Type)
	}
	return labels.NewMatcher(types[m.Type], m.Name, m.Value)
}
