package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"unsafe"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

const (
	readPath     = "/api/v1/read"
	streamedType = "application/x-streamed-protobuf"
)

// readRequest is the remote-read request of the selectors.
func readRequest(requests []promquery.Request) request {
	types := [...]prompb.LabelMatcher_Type{prompb.LabelMatcher_EQ, prompb.LabelMatcher_NEQ, prompb.LabelMatcher_RE, prompb.LabelMatcher_NRE}
	msg := prompb.ReadRequest{AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}}
	for _, sel := range requests {
		q := &prompb.Query{StartTimestampMs: sel.Start, EndTimestampMs: sel.End}
		q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: prompb.LabelMatcher_EQ, Name: "__name__", Value: sel.Metric})
		for _, m := range sel.Matchers {
			q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: types[m.Type], Name: m.Name, Value: m.Value})
		}
		msg.Queries = append(msg.Queries, q)
	}
	body, err := msg.Marshal()
	if err != nil {
		panic("BUG: marshal remote-read request: " + err.Error()) // the message has nothing that can fail
	}
	return request{
		method: http.MethodPost, path: readPath, body: snappy.Encode(nil, body), tries: tries,
		header: map[string]string{
			"Content-Type":                     "application/x-protobuf",
			"Content-Encoding":                 "snappy",
			"X-Prometheus-Remote-Read-Version": "0.1.0",
		},
	}
}

// read asks for the selectors by remote read.
func (r *run) read(ctx context.Context, srv *server) error {
	sample, err := r.src.sampleKnown(ctx, r.requests[0].End)
	if err != nil {
		return err
	}
	return r.parallel(ctx, r.readers(srv, sample, chunks.NewSymbols(promquery.SymbolsOf(ctx))))
}

// One request asks for selectors that are few, or that span less time than longRead together: answering several at a time pays
// for what takes long.
const (
	fewSelectors = 4
	longRead     = 24 * hour
)

// isSmall reports whether the answer to all selectors comes soon.
func (r *run) isSmall() bool {
	span := int64(0)
	for i := range r.requests {
		span += r.requests[i].End - r.requests[i].Start
	}
	return len(r.requests) <= fewSelectors || span < longRead
}

// readers divides the selectors among as many requests as may run at a time, each of which ends with a query for the sample.
func (r *run) readers(srv *server, sample *promquery.Request, symbols *chunks.Symbols) []func(context.Context) error {
	n := min(r.src.cfg.MaxConcurrency, len(r.requests))
	if r.isSmall() {
		n = 1
	}
	tasks := make([]func(context.Context) error, 0, n)
	for k := range n {
		whole := &share{at: newPosition()}
		for i := k; i < len(r.requests); i += n {
			whole.index = append(whole.index, i)
			whole.requests = append(whole.requests, r.requests[i])
		}
		rd := &streamReader{
			run: r, srv: srv, share: whole, sample: sample, keys: chunks.NewKeys(srv.external, symbols),
			skipped: make([]chunks.Skipped, len(r.requests)), got: make([]int64, len(whole.requests)),
		}
		tasks = append(tasks, rd.read)
	}
	return tasks
}

// streamReader reads the answers of some selectors' remote-read requests: of one, unless that is too much.
type streamReader struct {
	run     *run
	srv     *server
	keys    *chunks.Keys // shares symbols with other readers: call Key with the run locked
	dec     chunks.Decoder
	p       timeline.Points
	list    []chunks.Encoded
	skipped []chunks.Skipped   // by selector of the caller's list
	got     []int64            // bytes of the answer's frames, by selector of the share
	sample  *promquery.Request // that is known to be there; nil if none is
	ended   bool               // the answer is there up to the sample

	*share // being asked for
}

// read asks for the share, in parts if the server cannot answer it at once, and yields what comes.
func (rd *streamReader) read(ctx context.Context) error {
	todo := []*share{rd.share}
	var err error
	for err == nil && len(todo) > 0 {
		rd.share, todo = todo[0], todo[1:]
		failed := rd.run.src.send(ctx, readRequest(rd.queries()), rd.readBody, rd.sent)
		if failed == nil {
			continue
		}
		if errors.Is(failed, errCutBetween) {
			rd.run.src.forgetSample()
		}
		var shares []*share
		if ctx.Err() == nil && tooMuch(failed) > 0 && !busy(failed) {
			shares = rd.divide()
		}
		if len(shares) == 0 && ctx.Err() == nil && rd.run.src.fails(failed) {
			if ok, broken := rd.instead(ctx, todo, failed); ok {
				err = broken
				break
			}
		}
		if todo = append(shares, todo...); len(shares) == 0 {
			err = failed
		}
	}
	for i, s := range rd.skipped {
		rd.run.warn(i, s.Warnings(rd.run.requests[i].Metric)...)
	}
	return err
}

// queries are those of the share's request.
func (rd *streamReader) queries() []promquery.Request {
	if rd.sample == nil {
		return rd.requests
	}
	return append(slices.Clip(rd.requests), *rd.sample)
}

// sent counts a request, for each selector what its frames had.
func (rd *streamReader) sent(req promquery.Sent) {
	rd.run.sent(req, rd.index, rd.got[:len(rd.index)])
	clear(rd.got)
}

// readBody reads frames until the stream ends. If it breaks off, it can be called again, and skips what was passed on.
func (rd *streamReader) readBody(resp *http.Response, body io.Reader) (handed bool, err error) {
	if mt := mediaType(resp); mt != streamedType {
		return false, &notPrometheusError{"content type " + mt + ", want " + streamedType}
	}
	if endsByClose(resp) {
		return false, errEndedByClose
	}
	rd.at.rewind()
	rd.ended = rd.sample == nil
	frames := newFrameReader(body)
	for {
		data, err := frames.next()
		if errors.Is(err, io.EOF) && rd.ended {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return rd.at.mixed, streamError{errCutBetween}
		}
		if err != nil {
			return rd.at.mixed, streamError{err}
		}
		if err := rd.frame(data); err != nil {
			return rd.at.mixed, err
		}
	}
}

// frame decodes a frame and yields its series.
func (rd *streamReader) frame(data []byte) error {
	query, err := queryIndex(data)
	if err != nil {
		return streamError{err}
	}
	if rd.sample != nil && query == int64(len(rd.requests)) {
		rd.ended = true
		return nil
	}
	if query < 0 || query >= int64(len(rd.requests)) {
		return streamError{errQuery}
	}
	rd.got[query] += int64(len(data))
	if !rd.at.query(query) {
		return nil
	}
	f := fields{msg: data}
	for f.next() {
		if !f.bytes(fieldSeries) {
			continue
		}
		if err := rd.series(query, f.data); err != nil {
			return err
		}
	}
	if f.err != nil {
		return streamError{f.err}
	}
	return nil
}

// series yields a series, or the part of one that a frame has room for.
func (rd *streamReader) series(query int64, msg []byte) error {
	sel := &rd.requests[query]
	labelsEnd, err := rd.parseSeries(sel, msg)
	if err != nil {
		return streamError{err}
	}
	if !rd.at.series(msg[:labelsEnd]) {
		return nil
	}
	mint := sel.Start
	if rd.at.started {
		mint = max(mint, rd.at.time+1)
	}
	i := rd.index[query]
	if rd.at.before(rd.list) {
		rd.skipped[i].Add(fmt.Errorf("it lies before those of the series that came earlier: %w", chunks.ErrOrder))
	}
	return rd.dec.Each(&rd.p, rd.list, mint, sel.End, rd.skipped[i].Add, func() error {
		first := !rd.at.started && !rd.later
		if end := rd.run.requests[i].End; sel.End < end && rd.p.Last() > sel.End-timeline.Lookback {
			rd.p.MarkContinued() // by a later share
		}
		rd.at.started, rd.at.time = true, rd.p.Last()
		rd.p.SetSeries(rd.keys.Series())
		return rd.run.emit(i, rd.keys, &rd.p, first)
	})
}

// parseSeries reads the labels of a series into keys and its chunks into list. Labels come first: the bytes of the message up to
// labelsEnd identify the series.
func (rd *streamReader) parseSeries(sel *promquery.Request, msg []byte) (labelsEnd int, err error) {
	rd.keys.Begin(sel)
	rd.list = rd.list[:0]
	f := fields{msg: msg}
	for f.next() {
		switch {
		case f.bytes(fieldLabels):
			labelsEnd = f.pos
			name, value, err := parseLabel(f.data)
			if err != nil {
				return 0, err
			}
			if !rd.run.src.isReplica(view(name)) {
				rd.keys.Label(view(name), view(value))
			}
		case f.bytes(fieldChunks):
			c, err := parseChunk(f.data)
			if err != nil {
				return 0, err
			}
			rd.list = append(rd.list, c)
		}
	}
	return labelsEnd, f.err
}

// view returns b as a string without copying it. Keys does not retain it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
