package blocks

import (
	"context"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// Decoded series wait in batches. With small ones, goroutines would often wake each other.
const (
	batches     = 4
	batchSeries = 512     // in a batch
	batchRoom   = 1 << 16 // samples that a batch has memory for, or of one series more
)

// batch is decoded series of a selector, or stretches of series, that follow each other.
type batch struct {
	i      int // the selector's index
	series []decoded
	room   int
	of     *found // that these are the last series of; nil if more follow
}

// decoded is a series, or a stretch of one.
type decoded struct {
	key    []promquery.Symbol
	points timeline.Points
}

// decoding is the way of decoded series to their reader, and of batches back.
type decoding struct {
	ctx         context.Context //nolint:containedctx // the context of one read
	free, ready chan *batch
	at          *batch // the one that is being filled, nil if there is none
}

// readAhead hands over series one after the other, while a goroutine decodes those that follow. It ends the read with cancel.
func (r *reader) readAhead(ctx context.Context, cancel func(), from *pipe) error {
	d := decoding{ctx: ctx, free: make(chan *batch, batches), ready: make(chan *batch, batches)}
	for range batches {
		d.free <- &batch{}
	}
	l := r.each[0]
	l.yield = d.take
	var broken error // of the goroutine; read once ready is closed
	go func() {
		defer close(d.ready)
		defer recovered(&broken)
		broken = r.decode(ctx, l, from, &d)
	}()
	defer func() {
		cancel()
		for range d.ready {
			// The goroutine reads files that are let go of after this: it has to have ended.
		}
	}()
	yield := r.workers.Into(0)
	for b := range d.ready {
		if err := b.hand(yield); err != nil {
			return err
		}
		if b.of != nil {
			r.tell(b.of)
			from.free <- b.of
		}
		d.free <- b
	}
	return broken
}

// decode decodes what is found.
func (r *reader) decode(ctx context.Context, l *worker, from *pipe, d *decoding) error {
	for f := range from.ready {
		l.found, l.heads = f, l.heads[:0]
		for k := range f.heads {
			l.heads = append(l.heads, int32(k))
		}
		if err := l.read(ctx); err != nil {
			return err
		}
		if f.last {
			r.note(f)
		}
		if len(f.heads) == 0 && !f.left {
			from.free <- f
			continue
		}
		if err := d.begin(); err != nil {
			return err
		}
		d.at.of = f
		d.end()
	}
	return nil
}

// begin makes sure that there is a batch to be filled.
func (d *decoding) begin() error {
	if d.at != nil {
		return nil
	}
	select {
	case d.at = <-d.free:
		*d.at = batch{series: d.at.series[:0]}
		return nil
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
}

// end lets the reader have the batch.
func (d *decoding) end() {
	d.ready <- d.at
	d.at = nil
}

// take takes a copy of a decoded series.
func (d *decoding) take(i int, key []promquery.Symbol, p *timeline.Points) error {
	if err := d.begin(); err != nil {
		return err
	}
	b := d.at
	n := len(b.series)
	if n == cap(b.series) {
		b.series = append(b.series, decoded{})
	}
	b.series = b.series[:n+1]
	s := &b.series[n]
	p.CopyTo(&s.points)
	b.i, s.key, b.room = i, key, b.room+s.points.Room()
	if n+1 == batchSeries || b.room >= batchRoom {
		d.end()
	}
	return nil
}

// hand gives the series to yield. It keeps their memory for others, but no more than a batch may have.
func (b *batch) hand(yield promquery.Yield) error {
	kept := 0
	for k := range b.series {
		s := &b.series[k]
		if err := yield(b.i, s.key, &s.points); err != nil {
			return err
		}
		if kept += s.points.Room(); kept > batchRoom {
			kept, s.points = kept-s.points.Room(), timeline.Points{}
		}
	}
	return nil
}
