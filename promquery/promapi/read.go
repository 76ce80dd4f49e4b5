package promapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/internal/anyselect"
)

// Limits of remote read.
const (
	maxReadBody    = 1 << 20 // bytes of a request, packed or not
	maxReadQueries = 1000    // of a request
	maxFrame       = 1 << 20 // bytes of a frame of an answer, as from Prometheus
)

// readType is the content type of remote-read requests, and of answers that are not streamed.
const readType = "application/x-protobuf"

// errRead says that a request is malformed.
var errRead = errors.New("it is no remote-read request")

// errLarge says that a request is too long.
var errLarge = errors.New("it is longer")

// errNotRead is an error of a body that is not compressed, or is damaged.
var errNotRead = fmt.Errorf("unpack remote-read request: %w: send a Prometheus ReadRequest that is compressed by snappy, in its block format", errRead)

// serveRead answers /api/v1/read with cost series. They are streamed where the client accepts that.
func (a *api) serveRead(w http.ResponseWriter, r *http.Request) {
	if !checkMethod(w, r, http.MethodPost) {
		return
	}
	req, err := decodeRead(http.MaxBytesReader(w, r.Body, maxReadBody))
	if err != nil {
		textError(w, err)
		return
	}
	kind, err := remote.NegotiateResponseType(req.AcceptedResponseTypes)
	if err != nil {
		http.Error(w, allocation.Brief(err.Error()), http.StatusBadRequest)
		return
	}
	if kind == prompb.ReadRequest_STREAMED_XOR_CHUNKS {
		a.streamRead(w, r, req)
		return
	}
	a.sampleRead(w, r, req)
}

// statusOf is the status of an error outside of Prometheus' JSON.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errRead):
		return http.StatusBadRequest
	case errors.Is(err, allocation.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	case errors.Is(err, allocation.ErrTooMuch):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// textError answers with an error outside of Prometheus' JSON.
func textError(w http.ResponseWriter, err error) {
	code := statusOf(err)
	if errors.Is(err, context.DeadlineExceeded) {
		err = tooLate(err)
	}
	http.Error(w, allocation.Brief(err.Error()), code)
}

// readQuery is a query of a remote-read request.
type readQuery struct {
	mint, maxt int64
	hints      *storage.SelectHints
	matchers   []*labels.Matcher
}

// readRequest is a remote-read request whose matchers are compiled.
type readRequest struct {
	*prompb.ReadRequest
	queries []readQuery
}

// decodeRead reads a request. It unpacks nothing that claims to be longer than a request may be.
func decodeRead(body io.Reader) (*readRequest, error) {
	packed, err := io.ReadAll(body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fmt.Errorf("read remote-read request: %w than %d bytes: ask for fewer or shorter queries at once", errLarge, tooLarge.Limit)
	case err != nil:
		return nil, fmt.Errorf("read remote-read request: %w", err)
	}
	size, err := snappy.DecodedLen(packed)
	if err != nil {
		return nil, errNotRead
	}
	if size > maxReadBody {
		return nil, fmt.Errorf("unpack remote-read request: %w: it is of %d bytes, at most %d are read: ask for fewer or shorter queries at once", errRead, size, maxReadBody)
	}
	text, err := snappy.Decode(nil, packed)
	if err != nil {
		return nil, errNotRead
	}
	req := &readRequest{ReadRequest: &prompb.ReadRequest{}}
	if err := req.Unmarshal(text); err != nil {
		return nil, errNotRead
	}
	if len(req.Queries) > maxReadQueries {
		return nil, fmt.Errorf("parse remote-read request: %w: it has %d queries, at most %d are answered: send several requests", errRead, len(req.Queries), maxReadQueries)
	}
	var check textCheck
	for _, q := range req.Queries {
		for _, m := range q.Matchers {
			if m.Type != prompb.LabelMatcher_RE && m.Type != prompb.LabelMatcher_NRE {
				continue
			}
			if err := check.regexp(m.Value); err != nil {
				return nil, fmt.Errorf("parse remote-read request: %w: %w", errRead, err)
			}
		}
		matchers, err := remote.FromLabelMatchers(q.Matchers)
		if err != nil {
			return nil, fmt.Errorf("parse remote-read request: %w: %w", errRead, err)
		}
		req.queries = append(req.queries, readQuery{q.StartTimestampMs, q.EndTimestampMs, readHints(q), matchers})
	}
	return req, nil
}

// readHints are the hints of a client, without those about sums: it asked for the series themselves, and may join others to them.
func readHints(q *prompb.Query) *storage.SelectHints {
	hints := &storage.SelectHints{Start: q.StartTimestampMs, End: q.EndTimestampMs}
	if h := q.Hints; h != nil {
		hints.Step, hints.Range = h.StepMs, h.RangeMs
		if h.Func == anyselect.LabelsOnly {
			hints.Func = anyselect.LabelsOnly
		}
	}
	return hints
}

// sampleRead answers with samples, all at once.
func (a *api) sampleRead(w http.ResponseWriter, r *http.Request, req *readRequest) {
	resp := prompb.ReadResponse{Results: make([]*prompb.QueryResult, len(req.queries))}
	left := a.o.MaxSamples
	for i, query := range req.queries {
		var err error
		if resp.Results[i], err = a.samples(r, query, left); err != nil {
			textError(w, err)
			return
		}
		for _, s := range resp.Results[i].Timeseries {
			left -= len(s.Samples)
		}
		left = max(left, 1) // 0 would be no limit
	}
	text, err := resp.Marshal()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", readType)
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(snappy.Encode(nil, text)) // a client that has gone needs no answer
}

// samples reads the series of a query, with at most so many samples.
func (a *api) samples(r *http.Request, query readQuery, most int) (*prompb.QueryResult, error) {
	q, err := a.own.Querier(query.mint, query.maxt)
	if err != nil {
		return nil, fmt.Errorf("open cost series: %w", err)
	}
	defer func() { _ = q.Close() }() // nothing was written
	result, _, err := remote.ToQueryResult(q.Select(r.Context(), false, query.hints, query.matchers...), most)
	if _, ok := errors.AsType[remote.HTTPError](err); ok {
		return nil, fmt.Errorf("%w: the answer would have more than %d samples: ask for streamed chunks, fewer series or a shorter range", allocation.ErrTooMuch, a.o.MaxSamples)
	}
	return result, err
}

// streamRead answers with chunks, series by series.
func (a *api) streamRead(w http.ResponseWriter, r *http.Request, req *readRequest) {
	f, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "the connection cannot be streamed to", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
	out := &begun{Writer: w}
	frames := remote.NewChunkedWriter(out, f)
	pool := &sync.Pool{}
	for i, query := range req.queries {
		if err := a.stream(r, frames, i, query, pool); err != nil {
			if out.yes {
				panic(http.ErrAbortHandler) // the client must not take a part for the whole
			}
			textError(w, err)
			return
		}
	}
	frames.Close()
}

// stream writes the series of the i-th query.
func (a *api) stream(r *http.Request, frames *remote.ChunkedWriter, i int, query readQuery, pool *sync.Pool) error {
	q, err := a.own.ChunkQuerier(query.mint, query.maxt)
	if err != nil {
		return fmt.Errorf("open cost series: %w", err)
	}
	defer func() { _ = q.Close() }() // nothing was written
	_, err = remote.StreamChunkedReadResponses(frames, int64(i), q.Select(r.Context(), true, query.hints, query.matchers...), nil, maxFrame, pool)
	return err
}

// begun is a writer that knows whether something was written.
type begun struct {
	io.Writer
	yes bool
}

// Write implements io.Writer.
func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.Writer.Write(p)
}
