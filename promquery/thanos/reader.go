package thanos

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// reader is one Select.
type reader struct {
	src   *Source
	yield promquery.Yield
	stats promquery.Stats
	keys  *chunks.Keys
	dec   chunks.Decoder
}

// request reads all series of a request. If an answer breaks off, the question is asked again, and what was passed on is passed over: stores
// answer in the order of labels.
func (r *reader) request(ctx context.Context, i int, q *promquery.Request) error {
	var done []label // of the last series that was passed on
	var skipped chunks.Skipped
	var stop error // of the caller
	again := false
	err := r.src.repeat(ctx, func() (bool, error) {
		sent, began := promquery.Sent{Again: again}, time.Now()
		again = true
		err := r.src.series(ctx, question{request: q, whole: r.src.cfg.Whole}, &sent, func(m *merged) error {
			r.lose(q, m.warnings)
			if len(m.labels) == 0 || done != nil && compare(m.labels, done) <= 0 {
				return nil
			}
			if stop = r.hand(i, q, m, skipped.Add); stop != nil {
				return stop
			}
			done = owned(m.labels)
			return nil
		})
		sent.Took, sent.Failed = time.Since(began), err != nil && stop == nil && ctx.Err() == nil
		sent.Of = []promquery.Portion{{Request: i, Bytes: sent.Bytes}}
		r.stats.Ask(sent)
		return stop != nil, err
	})
	r.stats.Warnings = append(r.stats.Warnings, skipped.Warnings(q.Metric)...)
	return err
}

// owned copies labels from their message.
func owned(lset []label) []label {
	out := make([]label, len(lset))
	for i, l := range lset {
		out[i] = label{string([]byte(l.name)), string([]byte(l.value))}
	}
	return out
}

// lose notes what stores left out.
func (r *reader) lose(q *promquery.Request, warnings []warning) {
	for _, w := range warnings {
		r.stats.Lose(promquery.Loss{
			Of: "the store " + w.store, From: q.Start, To: q.End + 1, Metrics: []string{q.Metric}, Cause: w.text,
			Remedy: "see the state of the stores behind it, or give --prometheus.partial-response=false to have an error in place of a part",
		})
	}
}

// hand decodes a series and passes it on.
func (r *reader) hand(i int, q *promquery.Request, m *merged, skip func(error)) error {
	r.keys.Begin(q)
	for _, l := range m.labels {
		if l.name != "__name__" && !slices.Contains(r.src.cfg.ReplicaLabels, l.name) {
			r.keys.Label(l.name, l.value)
		}
	}
	samples, err := r.dec.Hand(i, r.keys.Key(), r.keys.Series(), m.chunks, q.Start, q.End, skip, r.yield)
	r.stats.Count(samples)
	return err
}

// merged is a series with its chunks in all stores, or only what stores left out.
type merged struct {
	series
	warnings []warning
}

// warning says what a store left out.
type warning struct{ store, text string }

// The causes of an answer that cannot be read.
var (
	errOrder = errors.New("its series are not in the order of their labels")
	errLong  = fmt.Errorf("a series of it has more than %d MB", maxSeries>>20)
)

// series asks all stores, and passes their series on in the order of labels.
func (s *Source) series(ctx context.Context, q question, sent *promquery.Sent, visit func(*merged) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cursors := make([]*cursor, len(s.stores))
	for i, x := range s.stores {
		cursors[i] = &cursor{store: x, timeout: s.cfg.Timeout, cancel: cancel}
		if err := cursors[i].open(ctx, q); err != nil {
			return err
		}
	}
	for _, c := range cursors {
		if err := c.next(sent); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		var m merged
		first := -1
		for i, c := range cursors {
			m.warnings, c.warnings = append(m.warnings, c.warnings...), nil
			if !c.ended && (first < 0 || compare(c.at.labels, cursors[first].at.labels) < 0) {
				first = i
			}
		}
		if first < 0 {
			if len(m.warnings) > 0 {
				return visit(&m)
			}
			return nil
		}
		m.labels = cursors[first].at.labels
		for _, c := range cursors {
			if c.ended || compare(c.at.labels, m.labels) != 0 {
				continue
			}
			m.chunks = append(m.chunks, c.at.chunks...)
			if err := c.next(sent); err != nil {
				return err
			}
		}
		m.chunks = once(m.chunks)
		if err := visit(&m); err != nil {
			return err
		}
	}
}

// once leaves out chunks that are there twice, and sorts them by time.
func once(list []chunks.Encoded) []chunks.Encoded {
	slices.SortStableFunc(list, func(a, b chunks.Encoded) int {
		return cmp.Or(cmp.Compare(a.MinTime, b.MinTime), cmp.Compare(a.MaxTime, b.MaxTime))
	})
	return slices.CompactFunc(list, func(a, b chunks.Encoded) bool {
		return a.MinTime == b.MinTime && a.MaxTime == b.MaxTime && a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data)
	})
}

// maxSeries bounds the chunks of a series, in bytes.
const maxSeries = 64 << 20

// cursor is the answer of a store, read up to a series.
type cursor struct {
	store   *store
	stream  grpc.ClientStream
	timeout time.Duration
	cancel  context.CancelFunc
	pending []series // that have come
	at      series
	ended   bool
	closed  bool // no more messages come

	warnings []warning
}

// open asks the store.
func (c *cursor) open(ctx context.Context, q question) (err error) {
	c.stream, err = c.store.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, seriesMethod, grpc.WaitForReady(false))
	if err == nil {
		err = c.stream.SendMsg(q.marshal())
	}
	if err == nil {
		err = c.stream.CloseSend()
	}
	if err != nil {
		return c.explain(err)
	}
	return nil
}

// next goes to the next series, whose chunks may come in several messages.
func (c *cursor) next(sent *promquery.Sent) error {
	before, size := c.at.labels, 0
	c.at = series{}
	for {
		for len(c.pending) > 0 && (c.at.labels == nil || compare(c.pending[0].labels, c.at.labels) == 0) {
			c.at.labels, c.at.chunks = c.pending[0].labels, append(c.at.chunks, c.pending[0].chunks...)
			for _, x := range c.pending[0].chunks {
				size += len(x.Data)
			}
			c.pending = c.pending[1:]
		}
		if len(c.pending) > 0 || c.closed {
			break
		}
		if size > maxSeries {
			return c.explain(errLong)
		}
		if err := c.receive(sent); err != nil {
			return err
		}
	}
	if c.ended = c.at.labels == nil; !c.ended && before != nil && compare(c.at.labels, before) < 0 {
		return c.explain(errOrder)
	}
	return nil
}

// receive takes the next message.
func (c *cursor) receive(sent *promquery.Sent) error {
	expired := false
	timer := time.AfterFunc(c.timeout, c.cancel)
	var msg []byte
	err := c.stream.RecvMsg(&msg)
	expired = !timer.Stop()
	sent.Bytes += int64(len(msg))
	switch {
	case errors.Is(err, io.EOF):
		c.closed = true
		return nil
	case err != nil && expired:
		return c.explain(fmt.Errorf("no data for %v: %w", c.timeout, context.DeadlineExceeded))
	case err != nil:
		return c.explain(err)
	}
	var text string
	if c.pending, text, err = parseResponse(c.pending[:0], msg); err != nil {
		return c.explain(err)
	}
	if text != "" {
		c.warnings = append(c.warnings, warning{c.store.address, text})
	}
	return nil
}

// explain words an error for the user.
func (c *cursor) explain(err error) error {
	return fmt.Errorf("read from the Thanos store %s: %w; see --thanos.store, and the store's log", c.store.address, err)
}
