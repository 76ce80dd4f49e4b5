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

	"github.com/prometheus/common/model"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// queries returns a task a selector.
func (r *run) queries() []func(context.Context) error {
	tasks := make([]func(context.Context) error, len(r.sels))
	for i, sel := range r.sels {
		q := &querier{run: r, i: i, sel: sel, keys: chunks.NewKeys(nil), seen: map[uint64]int64{}}
		tasks[i] = q.read
	}
	return tasks
}

// querier reads a selector through the query API, in pieces, oldest first. A piece may be asked for again, as a whole or
// in parts, at any time: what was handed on of it is passed over.
type querier struct {
	run  *run
	i    int
	sel  promquery.Selector
	keys *chunks.Keys
	p    timeline.Points
	hash maphash.Hash
	seen map[uint64]int64 // by hash of its labels, up to when a series has been handed on
	cuts cuts             // what was learned about how much the server can take
}

// read asks for the pieces, dividing those that are too much for the server.
func (q *querier) read(ctx context.Context) error {
	todo := split(q.sel)
	for len(todo) > 0 {
		if parts := q.cuts.apply(todo[0]); len(parts) > 1 {
			todo = append(parts, todo[1:]...)
			continue
		}
		err := q.readPiece(ctx, todo[0])
		if err == nil {
			todo = todo[1:]
			continue
		}
		n := tooMuch(err)
		if n == 0 || ctx.Err() != nil {
			return fmt.Errorf("metric %s: %w", q.sel.Metric, err)
		}
		if err := q.divide(ctx, todo[0], n, err); err != nil {
			return err
		}
	}
	return nil
}

// errTooMany says that an answer has more samples than Config.MaxSamples.
var errTooMany = errors.New("more samples than --query.max-samples allows")

// readPiece asks for one piece and yields its series.
func (q *querier) readPiece(ctx context.Context, p piece) error {
	var warnings []string
	n, requests, err := q.run.src.send(ctx, q.request(p), func(resp *http.Response, body io.Reader) (bool, error) {
		samples := int64(0)
		a := answer{s: newScanner(body), most: q.most(p)}
		ws, err := a.read(func(labels []label, points []point) error {
			if err := q.series(p, labels, points); err != nil {
				return err
			}
			if samples += int64(len(points)); samples > q.run.src.cfg.MaxSamples {
				return errTooMany
			}
			return nil
		})
		warnings = ws
		if errors.Is(err, errNotJSON) {
			return false, notAPI(resp)
		}
		return false, err
	})
	for _, w := range warnings {
		q.run.add(0, 0, q.i, fmt.Sprintf("metric %s: the server warns: %s", q.sel.Metric, w))
	}
	q.run.add(requests, n, q.i)
	return err
}

// most is how many points a series of a piece can have.
func (q *querier) most(p piece) int {
	if q.sel.Step > 0 {
		return int((p.end-p.start)/q.sel.Step) + 1
	}
	return maxRaw
}

// series yields those points of a series that have not been before.
func (q *querier) series(p piece, labels []label, points []point) error {
	q.hash.Reset()
	for _, l := range labels {
		_, _ = q.hash.WriteString(l.name + "\xff" + l.value + "\xff") // never fails
	}
	id := q.hash.Sum64()
	until, again := q.seen[id]
	start := p.start
	if again {
		start = max(start, until+1)
	}
	q.p.Reset()
	for _, s := range points {
		if start <= s.t && s.t <= p.end {
			q.p.Append(s.t, s.v)
		}
	}
	if q.p.Len() == 0 {
		return nil
	}
	q.seen[id] = p.end
	q.keys.Begin(q.sel.Keep)
	for _, l := range labels {
		if !q.run.src.isReplica(l.name) {
			q.keys.Label(l.name, l.value)
		}
	}
	if q.sel.Step > 0 {
		q.p.MarkSampled()
	}
	return q.run.emit(q.i, q.keys.Key(), &q.p, !again)
}

// request is the request for a piece: on a grid a range query, else a range selector. That is open at its start, from
// Prometheus 3 on, and in older ones closed: it reaches one millisecond further back, and the sample there is dropped.
func (q *querier) request(p piece) request {
	// Servers and caches that align queries to their own grid, as VictoriaMetrics does, leave these alone.
	params := url.Values{"nocache": {"1"}}
	maps.Copy(params, q.run.src.cfg.Params)
	expr := selectorText(q.sel, p.spaces)
	path := "/api/v1/query"
	if step := q.sel.Step; step > 0 {
		path += "_range"
		if lookback := q.sel.Lookback; lookback > 0 && q.run.src.cfg.Lookback == 0 {
			// Servers older than Prometheus 2.43 or so have no lookback that a request could set.
			expr = fmt.Sprintf("last_over_time(%s[%dms])", expr, lookback)
		}
		params.Set("query", expr)
		params.Set("start", seconds(p.start))
		params.Set("end", seconds(p.end))
		params.Set("step", seconds(step))
		q.run.src.setLookback(params, step)
	} else {
		params.Set("query", fmt.Sprintf("%s[%dms]", expr, p.end-p.start+1))
		params.Set("time", seconds(p.end))
	}
	req := get(path, params)
	req.tries, req.final = tries, func(err error) bool { return tooMuch(err) > 0 && !busy(err) }
	return req
}

// setLookback says how long an instant sees a sample. Servers of PromQL know it by themselves unless Config.Lookback says
// better, which is lookback_delta to them. VictoriaMetrics, which alone understands max_lookback, would see a sample for a
// whole step of the grid: it is always told not to look back further than Prometheus.
func (s *Source) setLookback(params url.Values, step int64) {
	given := s.cfg.Lookback.Milliseconds()
	if given > 0 {
		params.Set("lookback_delta", seconds(given))
	}
	if !params.Has("max_lookback") {
		params.Set("max_lookback", strconv.FormatInt(cmp.Or(given, min(timeline.Lookback, 2*step)), 10)+"ms")
	}
}

// isReplica reports whether a label only tells replicas apart.
func (s *Source) isReplica(name string) bool { return slices.Contains(s.cfg.ReplicaLabels, name) }

// seconds writes milliseconds as seconds.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// instant writes milliseconds as a time for errors.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// selectorText writes a selector, with further matchers, in PromQL. The name is a matcher like the others: it may hold any
// characters then.
func selectorText(sel promquery.Selector, further spaces) string {
	operators := [...]string{"=", "!=", "=~", "!~"}
	var b strings.Builder
	b.WriteString("{__name__=" + strconv.Quote(sel.Metric))
	for _, list := range [][]promquery.Matcher{sel.Matchers, further.matchers()} {
		for _, m := range list {
			name := m.Name
			if !model.LegacyValidation.IsValidLabelName(name) {
				name = strconv.Quote(name)
			}
			b.WriteString("," + name + operators[m.Type] + strconv.Quote(m.Value))
		}
	}
	b.WriteString("}")
	return b.String()
}
