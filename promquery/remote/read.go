package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"unsafe"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

const (
	readPath     = "/api/v1/read"
	streamedType = "application/x-streamed-protobuf"
)

// readRequest is the remote-read request of the selectors.
func readRequest(sels []promquery.Selector) request {
	types := [...]prompb.LabelMatcher_Type{prompb.LabelMatcher_EQ, prompb.LabelMatcher_NEQ, prompb.LabelMatcher_RE, prompb.LabelMatcher_NRE}
	msg := prompb.ReadRequest{AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}}
	for _, sel := range sels {
		q := &prompb.Query{StartTimestampMs: sel.Start, EndTimestampMs: sel.End}
		q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: prompb.LabelMatcher_EQ, Name: "__name__", Value: sel.Metric})
		for _, m := range sel.Matchers {
			q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: types[m.Type], Name: m.Name, Value: m.Value})
		}
		msg.Queries = append(msg.Queries, q)
	}
	body, err := msg.Marshal()
	if err != nil {
		panic("BUG: marshal remote-read request: " + err.Error()) // the message holds nothing that can fail
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

// readers divides the selectors among as many requests as may run at a time.
func (r *run) readers(external map[string]string) []func(context.Context) error {
	n := min(r.src.cfg.MaxConcurrency, len(r.sels))
	tasks := make([]func(context.Context) error, 0, n)
	for k := range n {
		rd := &streamReader{run: r, keys: chunks.NewKeys(external), at: newPosition()}
		for i := k; i < len(r.sels); i += n {
			rd.index = append(rd.index, i)
			rd.sels = append(rd.sels, r.sels[i])
		}
		rd.skipped = make([]chunks.Skipped, len(rd.sels))
		tasks = append(tasks, rd.read)
	}
	return tasks
}

// streamReader reads the answer of one remote-read request.
type streamReader struct {
	run   *run
	index []int // the selectors' places in the caller's list
	sels  []promquery.Selector

	keys    *chunks.Keys
	dec     chunks.Decoder
	p       timeline.Points
	list    []chunks.Encoded
	skipped []chunks.Skipped // by selector
	at      position
}

// read sends the request and yields what it brings.
func (rd *streamReader) read(ctx context.Context) error {
	n, requests, err := rd.run.src.send(ctx, readRequest(rd.sels), rd.readBody)
	rd.run.add(requests, n, 0)
	for k, s := range rd.skipped {
		rd.run.add(0, 0, rd.index[k], s.Warnings(rd.sels[k].Metric)...)
	}
	return err
}

// readBody reads frames until the stream ends. One that breaks off can be repeated: what was handed on is passed over.
func (rd *streamReader) readBody(resp *http.Response, body io.Reader) (handed bool, err error) {
	if mt := mediaType(resp); mt != streamedType {
		return false, &foreignError{"content type " + mt + ", want " + streamedType}
	}
	rd.at.rewind()
	frames := newFrameReader(body)
	for {
		data, err := frames.next()
		if errors.Is(err, io.EOF) {
			return false, nil
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
	if query < 0 || query >= int64(len(rd.sels)) {
		return streamError{errQuery}
	}
	if !rd.at.query(query) {
		return nil
	}
	return eachField(data, func(f field) error {
		if f.num != fieldSeries || f.wire != wireBytes {
			return nil
		}
		return rd.series(query, f.data)
	})
}

// series yields a series, or the part of one that a frame has room for.
func (rd *streamReader) series(query int64, msg []byte) error {
	sel := &rd.sels[query]
	rd.keys.Begin(sel.Keep)
	rd.list = rd.list[:0]
	labelsEnd := 0 // labels come first: the message up to their end tells series apart
	err := eachField(msg, func(f field) error {
		switch {
		case f.wire != wireBytes:
		case f.num == fieldLabels:
			labelsEnd = f.end
			name, value, err := parseLabel(f.data)
			if !rd.run.src.isReplica(view(name)) {
				rd.keys.Label(view(name), view(value))
			}
			return err
		case f.num == fieldChunks:
			c, err := parseChunk(f.data)
			rd.list = append(rd.list, c)
			return err
		}
		return nil
	})
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
	key := rd.keys.Key()
	return rd.dec.Each(&rd.p, rd.list, mint, sel.End, rd.skipped[query].Add, func() error {
		first := !rd.at.started
		rd.at.started, rd.at.time = true, rd.p.Last()
		return rd.run.emit(rd.index[query], key, &rd.p, first)
	})
}

// view returns b as a string without copying it: Keys does not retain what it is shown.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// parseLabel reads the name and value of a label.
func parseLabel(msg []byte) (name, value []byte, err error) {
	err = eachField(msg, func(f field) error {
		switch {
		case f.wire != wireBytes:
		case f.num == 1:
			name = f.data
		case f.num == 2:
			value = f.data
		}
		return nil
	})
	return name, value, err
}

// parseChunk reads a chunk; its data is part of msg.
func parseChunk(msg []byte) (chunks.Encoded, error) {
	var c chunks.Encoded
	err := eachField(msg, func(f field) error {
		switch {
		case f.num == 4 && f.wire == wireBytes:
			c.Data = f.data
		case f.wire != wireVarint:
		case f.num == 1:
			c.MinTime = int64(f.value)
		case f.num == 2:
			c.MaxTime = int64(f.value)
		case f.num == 3:
			c.Encoding = chunkenc.Encoding(min(f.value, 255))
		}
		return nil
	})
	return c, err
}
