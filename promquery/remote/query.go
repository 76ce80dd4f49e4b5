package remote

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

const (
	// maxPoints is how many points of a series a server gives in one answer.
	maxPoints = 11_000
	// rawPiece is how much time one request for raw samples spans: the server holds a whole answer in memory.
	rawPiece = int64(6 * 60 * 60 * 1000)
	// minPiece is the time below which a request is not divided further.
	minPiece = int64(60 * 1000)
)

// queries returns a task a selector.
func (r *run) queries() []func(context.Context) error {
	tasks := make([]func(context.Context) error, len(r.sels))
	for i, sel := range r.sels {
		q := &querier{run: r, i: i, sel: sel, keys: chunks.NewKeys(nil), seen: map[uint64]bool{}}
		tasks[i] = q.read
	}
	return tasks
}

// querier reads a selector through the query API, in pieces of time, oldest first.
type querier struct {
	run  *run
	i    int
	sel  promquery.Selector
	keys *chunks.Keys
	p    timeline.Points
	hash maphash.Hash
	seen map[uint64]bool // hashes of the series yielded, so that a series is counted once
}

// piece is a part of a selector's time, both ends inclusive.
type piece struct{ start, end int64 }

// split divides the selector's time into pieces for one request each.
func split(sel promquery.Selector) []piece {
	if sel.Start > sel.End {
		return nil
	}
	// Even pieces, a little longer than rawPiece rather than one of an instant at the end.
	n := max(1, (sel.End-sel.Start-minPiece+rawPiece-1)/rawPiece)
	width, first := (sel.End-sel.Start)/n+1, sel.Start
	if sel.Step > 0 {
		width = maxPoints * sel.Step
		first = sel.End - (sel.End-sel.Start)/sel.Step*sel.Step
	}
	var pieces []piece
	for t := first; t <= sel.End; t += width {
		end := min(t+width-1, sel.End)
		if sel.Step > 0 {
			end = min(t+width-sel.Step, sel.End)
		}
		pieces = append(pieces, piece{t, end})
	}
	return pieces
}

// halve divides a piece in two where it is not too small for that.
func (q *querier) halve(p piece) (older, newer piece, ok bool) {
	if p.end-p.start < 2*max(minPiece, q.sel.Step) {
		return p, p, false
	}
	mid := p.start + (p.end-p.start)/2
	if step := q.sel.Step; step > 0 {
		mid = p.start + (mid-p.start)/step*step
		return piece{p.start, mid}, piece{mid + step, p.end}, true
	}
	return piece{p.start, mid}, piece{mid + 1, p.end}, true
}

// read asks for the pieces, dividing those that are too much for the server.
func (q *querier) read(ctx context.Context) error {
	todo := split(q.sel)
	for len(todo) > 0 {
		err := q.readPiece(ctx, todo[0])
		if err == nil {
			todo = todo[1:]
			continue
		}
		older, newer, ok := q.halve(todo[0])
		if !tooMuch(err) || !ok {
			return fmt.Errorf("metric %s: %w", q.sel.Metric, err)
		}
		todo = append([]piece{older, newer}, todo[1:]...)
	}
	return nil
}

// tooMuch reports whether the server refused because of the number of samples.
func tooMuch(err error) bool {
	var serr *statusError
	return errors.As(err, &serr) && (strings.Contains(serr.message, "too many samples") || strings.Contains(serr.message, "maximum number of samples"))
}

// readPiece asks for one piece and yields its series.
func (q *querier) readPiece(ctx context.Context, p piece) error {
	var warnings []string
	n, requests, err := q.run.src.send(ctx, q.request(p), func(resp *http.Response, body io.Reader) (bool, error) {
		handed := false
		a := answer{s: newScanner(body)}
		ws, err := a.read(func(labels []label, points []point) error {
			q.p.Reset()
			for _, s := range points {
				if p.start <= s.t && s.t <= p.end {
					q.p.Append(s.t, s.v)
				}
			}
			if q.p.Len() == 0 {
				return nil
			}
			handed = true
			return q.emit(labels)
		})
		warnings = ws
		if errors.Is(err, errNotJSON) {
			return handed, notAPI(resp)
		}
		return handed, err
	})
	for _, w := range warnings {
		q.run.add(0, 0, q.i, fmt.Sprintf("metric %s: the server warns: %s", q.sel.Metric, w))
	}
	q.run.add(requests, n, q.i)
	return err
}

// emit yields the points of a series.
func (q *querier) emit(labels []label) error {
	q.keys.Begin(q.sel.Keep)
	q.hash.Reset()
	for _, l := range labels {
		q.keys.Label(l.name, l.value)
		_, _ = q.hash.WriteString(l.name + "\xff" + l.value + "\xff") // never fails
	}
	id := q.hash.Sum64()
	first := !q.seen[id]
	q.seen[id] = true
	if q.sel.Step > 0 {
		q.p.MarkSampled()
	}
	return q.run.emit(q.i, q.keys.Key(), &q.p, first)
}

// request is the request for a piece: on a grid a range query, else a range selector. That is open at its start, from
// Prometheus 3 on, and in older ones closed: it reaches one millisecond further back, and the sample there is dropped.
func (q *querier) request(p piece) request {
	expr := selectorText(q.sel)
	if q.sel.Step > 0 {
		return get("/api/v1/query_range", url.Values{
			"query": {expr}, "nocache": {"1"},
			"start": {seconds(p.start)}, "end": {seconds(p.end)}, "step": {seconds(q.sel.Step)},
		})
	}
	return get("/api/v1/query", url.Values{
		"query": {fmt.Sprintf("%s[%dms]", expr, p.end-p.start+1)}, "nocache": {"1"}, "time": {seconds(p.end)},
	})
}

// seconds writes milliseconds as seconds.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// selectorText writes a selector in PromQL. The name is a matcher like the others: it may hold any characters then.
func selectorText(sel promquery.Selector) string {
	operators := [...]string{"=", "!=", "=~", "!~"}
	var b strings.Builder
	b.WriteString("{__name__=" + strconv.Quote(sel.Metric))
	for _, m := range sel.Matchers {
		name := m.Name
		if !model.LegacyValidation.IsValidLabelName(name) {
			name = strconv.Quote(name)
		}
		b.WriteString("," + name + operators[m.Type] + strconv.Quote(m.Value))
	}
	b.WriteString("}")
	return b.String()
}
