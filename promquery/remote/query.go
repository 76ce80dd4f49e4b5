package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// queries returns a task for each group of selectors, whose indexes in the caller's list are in index.
func (r *run) queries(ctx context.Context, index []int, requests []promquery.Request) ([]func(context.Context) error, error) {
	metrics, lasts, err := byMetric(index, requests)
	if err != nil {
		return nil, err
	}
	for _, g := range metrics {
		g.raw = r.src.cfg.Lookback == 0 && betterRaw(&g.span.Grid)
	}
	scrapes, err := r.findScrapes(ctx, metrics)
	if err != nil {
		return nil, err
	}
	for _, g := range metrics {
		g.raw = g.raw && (scrapes != nil || !r.src.unmarked(g))
	}
	list := metrics
	if !r.src.isSingle() {
		most, err := r.estimate(ctx, metrics)
		if err != nil {
			return nil, err
		}
		list = together(metrics, most)
	}
	list = append(list, ends(lasts)...)
	symbols := promquery.SymbolsOf(ctx)
	tasks := make([]func(context.Context) error, len(list))
	for i, g := range list {
		q := &querier{run: r, group: g, keys: chunks.NewKeys(nil, chunks.NewSymbols(symbols)), handedUntil: map[uint64]int64{}, got: make([]int64, len(g.members))}
		if r.src.unmarked(g) {
			q.scrapes = scrapes
		}
		tasks[i] = q.read
	}
	return tasks, nil
}

// querier reads a group of selectors through the query API, in pieces, oldest first. It may ask for a piece again at any time, as
// a whole or in parts. It skips what it has passed on.
type querier struct {
	run         *run
	group       *group
	keys        *chunks.Keys
	p           timeline.Points
	hash        maphash.Hash
	scrapes     *scrapes         // by which raw samples get staleness markers, nil if they get none
	record      *scrapes         // takes the samples in place of the caller, nil if the caller does
	marked      []point          // samples of a series with staleness markers
	onGrid      []point          // of a series whose raw samples were asked for
	handedUntil map[uint64]int64 // by hash of its labels, up to when a series has been handed on
	got         []int64          // points of the answer, by member of the group
	cuts        cuts             // what was learned about the limits of the server
}

// first is the index of the group's first selector, which gets the group's warnings.
func (q *querier) first() int { return q.group.members[0].i }

// read asks for the group's pieces.
func (q *querier) read(ctx context.Context) error {
	todo := q.group.split()
	if err := q.spread(ctx, todo); err != nil {
		return err
	}
	return q.pieces(ctx, todo)
}

// pieces asks for pieces. It divides what is too much for the server: first the group, because one of many metrics may be to
// blame.
func (q *querier) pieces(ctx context.Context, todo []piece) error {
	for len(todo) > 0 {
		if groups := q.cuts.apply(todo[0]); len(groups) > 1 {
			todo = append(groups, todo[1:]...)
			continue
		}
		samples, err := q.readPiece(ctx, todo[0])
		if err == nil {
			todo = q.widen(todo[0], todo[1:], samples)
			continue
		}
		if parts := q.singles(ctx, err); parts != nil {
			return q.split(ctx, parts, todo)
		}
		n := tooMuch(err)
		if n == 0 || ctx.Err() != nil || busy(err) && !q.run.src.answers(ctx, q.sent) {
			return fmt.Errorf("%v: %w", q.group, err)
		}
		if halves := q.group.halves(); halves != nil {
			return q.split(ctx, halves, todo)
		}
		switch err := q.divide(ctx, todo[0], n, err); {
		case errors.Is(err, errLarge):
			q.cuts.whole = true
		case err != nil:
			return err
		}
	}
	return nil
}

// singles returns a group for each metric if the server has refused a question because it is about several; nil if it has not. Then it
// is asked about one metric at a time from here on.
func (q *querier) singles(ctx context.Context, cause error) []*group {
	if len(q.group.names) == 1 || !IsRefused(cause) {
		return nil
	}
	if !q.run.src.refusesSeveral(ctx, q.sent) {
		return nil
	}
	q.run.src.mu.Lock()
	q.run.src.single = true
	q.run.src.mu.Unlock()
	var out []*group
	for _, name := range q.group.names {
		out = append(out, q.group.part(func(m *member) bool { return m.name == name }))
	}
	return out
}

// isSingle reports whether the server takes questions about one metric only.
func (s *Source) isSingle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.single
}

// split asks for pieces of parts of the group, one part after the other.
func (q *querier) split(ctx context.Context, groups []*group, todo []piece) error {
	for _, g := range groups {
		part := &querier{run: q.run, group: g, keys: q.keys, handedUntil: q.handedUntil, got: make([]int64, len(g.members)), scrapes: q.scrapes, record: q.record}
		part.hash.SetSeed(q.hash.Seed()) // the same seed, to recognize what was seen
		if err := part.pieces(ctx, slices.Clone(todo)); err != nil {
			return err
		}
	}
	return nil
}

// errTooMany says that an answer has more samples than Config.MaxSamples, and errLarge that it has so many samples, or bytes, that parts of it
// are better.
var (
	errTooMany = errors.New("more samples than --query.max-samples allows")
	errLarge   = errors.New("a large answer")
)

// isLarge reports whether the answer about a piece may be large. An estimate that time was divided in spite of was wrong.
func (q *querier) isLarge(p piece) bool {
	if q.group.most == 0 || q.cuts.units > 0 {
		return q.group.span.End-q.group.span.Start >= worthAsking
	}
	return q.estimated(p) > smallAnswer
}

// readPiece asks for one piece, yields its series and counts the samples of the answer. It reads one large answer at a time.
func (q *querier) readPiece(ctx context.Context, p piece) (samples int64, err error) {
	if q.isLarge(p) {
		select {
		case q.run.src.large <- struct{}{}:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		defer func() { <-q.run.src.large }()
	}
	var warnings []string
	histograms := false
	err = q.run.src.send(ctx, q.request(p), func(resp *http.Response, body io.Reader) (bool, error) {
		samples = 0
		a := answer{s: newScanner(body), most: q.most(p)}
		ws, err := a.read(func(labels []label, points []point) error {
			if err := q.series(p, labels, points); err != nil {
				return err
			}
			samples += int64(len(points))
			switch {
			case samples > q.run.src.cfg.MaxSamples:
				return errTooMany
			case !q.cuts.whole && (samples > mostAnswer || a.s.n > mostBytes):
				return errLarge
			}
			return nil
		})
		warnings, histograms = ws, a.histograms
		if errors.Is(err, errNotJSON) {
			return false, notAPI(resp)
		}
		return false, err
	}, q.sent)
	for _, w := range warnings {
		q.run.warn(q.first(), fmt.Sprintf("%v: the server warns: %s", q.group, w))
	}
	if histograms {
		q.run.warn(q.first(), fmt.Sprintf("%v: native histograms are left out: cost is computed from float samples; record it as such", q.group))
	}
	return samples, err
}

// sent counts a request, for each selector as many bytes as it had points.
func (q *querier) sent(req promquery.Sent) {
	places := make([]int, len(q.group.members))
	for k := range q.group.members {
		places[k] = q.group.members[k].i
	}
	q.run.sent(req, places, q.got)
	clear(q.got)
}

// most is how many points a series of a piece can have.
func (q *querier) most(p piece) int {
	if step := q.group.span.Grid.Step; step > 0 && !q.group.raw {
		return int((p.end-p.start)/step) + 1
	}
	return maxRaw
}

// series yields those points of a series that have not been before, to each selector that wants it.
func (q *querier) series(p piece, labels []label, points []point) error {
	q.hash.Reset()
	for _, l := range labels {
		_, _ = q.hash.WriteString(l.name + "\xff" + l.value + "\xff") // never fails
	}
	id := q.hash.Sum64()
	until, again := q.handedUntil[id]
	start := p.start
	if again {
		start = max(start, until+1)
	}
	if byTime := func(a, b point) int { return cmp.Compare(a.t, b.t) }; !slices.IsSortedFunc(points, byTime) {
		slices.SortStableFunc(points, byTime) // of two at one time the first one counts
	}
	points = q.sampled(p, labels, points)
	points = slices.DeleteFunc(points, func(s point) bool { return s.t < start || p.end < s.t })
	if len(points) == 0 {
		return nil
	}
	q.handedUntil[id] = p.end
	if q.record != nil {
		return q.record.add(id, labels, points)
	}
	for i := range q.group.members {
		m := &q.group.members[i]
		if !q.group.wants(m, labels) {
			continue
		}
		q.got[i] += int64(len(points))
		wanted := m.wanted(points)
		if len(wanted) == 0 {
			continue
		}
		if err := q.hand(m, labels, wanted, !again || m.at != 0); err != nil {
			return err
		}
	}
	return nil
}

// sampled returns the samples of a series with staleness markers, or the points of the grid of a piece that are made of them. Samples that
// are not from known scrapes count for two scrape intervals.
func (q *querier) sampled(p piece, labels []label, points []point) []point {
	grid := &q.group.span.Grid
	lookback := cmp.Or(grid.Lookback, timeline.Lookback)
	if q.scrapes != nil && len(points) > 0 {
		if of := q.scrapes.of(labels, points); of != nil {
			q.marked = of.mark(q.marked[:0], points, p.end)
			points = q.marked
		} else {
			lookback = min(lookback, 2*max(grid.Interval, shortest(points)))
		}
	}
	if q.group.raw {
		q.onGrid = onGrid(q.onGrid[:0], points, p, lookback, grid.Lookback == 0)
		points = q.onGrid
	}
	return points
}

// hand yields points of a series to a selector, which may mark them: each gets its own.
func (q *querier) hand(m *member, labels []label, points []point, first bool) error {
	q.p.Reset()
	for _, s := range points {
		q.p.Append(s.t, s.v)
	}
	if q.group.span.Grid.Step > 0 {
		q.p.MarkSampled()
	}
	q.keys.Begin(m.sel)
	for _, l := range labels {
		if !q.run.src.isReplica(l.name) {
			q.keys.Label(l.name, l.value)
		}
	}
	q.p.SetSeries(q.keys.Series())
	return q.run.emit(m.i, q.keys, &q.p, first)
}

// request is the request for a piece: a range query on a grid, or a range selector where raw samples are wanted, or are as good. A range
// excludes its start from Prometheus 3 on, and includes it in older ones: without a grid it reaches one millisecond further back, and a
// sample there is dropped.
func (q *querier) request(p piece) request {
	// Servers and caches that align queries to their own grid, as VictoriaMetrics does, leave these alone.
	params := url.Values{"nocache": {"1"}}
	maps.Copy(params, q.run.src.cfg.Params)
	expr := q.group.text(p.spaces)
	path := "/api/v1/query"
	switch step := q.group.span.Grid.Step; {
	case q.group.raw:
		params.Set("query", fmt.Sprintf("%s[%dms]", expr, p.end-p.start+cmp.Or(q.group.span.Grid.Lookback, timeline.Lookback)))
		params.Set("time", seconds(p.end))
	case step > 0:
		path += "_range"
		if lookback := q.group.span.Grid.Lookback; lookback > 0 && q.run.src.cfg.Lookback == 0 {
			// Servers older than Prometheus 2.43 or so have no lookback that a request could set.
			expr = fmt.Sprintf("last_over_time(%s[%dms])", expr, lookback)
		}
		if q.group.span.Grid.Times {
			expr = fmt.Sprintf("max by (%s) (timestamp(%s))", strings.Join(q.group.kept(), ","), expr)
		}
		params.Set("query", expr)
		params.Set("start", seconds(p.start))
		params.Set("end", seconds(p.end))
		params.Set("step", seconds(step))
		q.run.src.setLookback(params, step)
	default:
		reach := p.end - p.start + 1
		if q.scrapes != nil {
			reach += timeline.Lookback // a series may have ended just before
		}
		params.Set("query", fmt.Sprintf("%s[%dms]", expr, reach))
		params.Set("time", seconds(p.end))
	}
	req := get(path, params)
	req.final = func(err error) bool { return tooMuch(err) > 0 && !busy(err) }
	return req
}

// setLookback sets how long an instant sees a sample. Servers of PromQL know it themselves unless Config.Lookback overrides it by
// lookback_delta. VictoriaMetrics would see a sample for a whole step of the grid. Only it understands max_lookback, and it always
// gets that, so that it looks back no further than Prometheus.
func (s *Source) setLookback(params url.Values, step int64) {
	given := s.cfg.Lookback.Milliseconds()
	if given > 0 {
		params.Set("lookback_delta", seconds(given))
	}
	if !params.Has("max_lookback") {
		params.Set("max_lookback", strconv.FormatInt(cmp.Or(given, min(timeline.Lookback, 2*step)), 10)+"ms")
	}
}

// isReplica reports whether a label only distinguishes replicas.
func (s *Source) isReplica(name string) bool { return slices.Contains(s.cfg.ReplicaLabels, name) }

// seconds writes milliseconds as seconds.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// instant writes milliseconds as a time for errors.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
