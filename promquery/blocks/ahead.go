package blocks

import (
	"cmp"
	"context"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// Decoded series wait in batches. With small ones, goroutines would often wake each other.
const (
	batches     = 4
	batchSeries = 512     // in a batch
	batchRoom   = 1 << 15 // samples beside runs, or those of one series more
)

// batch is decoded series of a selector, or stretches of series, that follow each other.
type batch struct {
	i      int // the selector's index
	keys   [][]promquery.Symbol
	points timeline.Copies
	of     *found // what its series are of, if all of that is decoded; else nil
	notes  notes  // of that
}

// readAhead hands over series one after the other, while a goroutine decodes those that follow: a single one, as they take longer to look up
// and to hand over than to decode. It ends the read with cancel.
func (r *reader) readAhead(ctx context.Context, cancel func(), from *pipe) error {
	d := newDecoder(ctx, r.blocks)
	go d.run(from)
	defer func() {
		cancel()
		for range d.ready {
			// The goroutine reads files that are let go of after this: it has to have ended.
		}
	}()
	yield, all := r.workers.Into(0), newNotes(r.blocks)
	tell := func(i int, keys [][]promquery.Symbol) { r.workers.Tell(0, i, keys) }
	for b := range d.ready {
		if err := b.hand(yield, tell); err != nil {
			return err
		}
		if f := b.of; f != nil {
			if all.join(&b.notes); f.last {
				o := r.newOutcome(f)
				o.notes[0], all = all, newNotes(r.blocks)
				r.note(o)
			}
			from.free <- f
		}
		d.free <- b
	}
	return d.err
}

// decoder decodes series into batches, which come back to it.
type decoder struct {
	ctx   context.Context //nolint:containedctx // the context of one read
	free  chan *batch
	ready chan *batch
	err   error  // why the rest is not decoded; read once ready is closed
	at    *batch // the one that is being filled, nil if there is none
	worker
}

func newDecoder(ctx context.Context, blocks []*block) *decoder {
	d := &decoder{ctx: ctx, free: make(chan *batch, batches), ready: make(chan *batch, batches), worker: worker{blocks: blocks, notes: newNotes(blocks)}}
	d.yield = d.add
	for range batches {
		d.free <- &batch{}
	}
	return d
}

// run decodes what is found, until one of it cannot be decoded.
func (d *decoder) run(from *pipe) {
	defer close(d.ready)
	defer recovered(&d.err)
	for f := range from.ready {
		if d.err = cmp.Or(d.readAll(d.ctx, f), d.begin()); d.err != nil {
			return
		}
		d.at.of, d.at.notes = f, d.noted()
		d.end()
	}
}

// begin makes sure that there is a batch to be filled.
func (d *decoder) begin() error {
	if d.at != nil {
		return nil
	}
	select {
	case d.at = <-d.free:
		d.at.of = nil
		return nil
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
}

// end lets the reader have the batch.
func (d *decoder) end() {
	d.ready <- d.at
	d.at = nil
}

// add adds a copy of a decoded series.
func (d *decoder) add(i int, key []promquery.Symbol, p *timeline.Points) error {
	if d.at != nil && d.at.i != i {
		d.end()
	}
	if err := d.begin(); err != nil {
		return err
	}
	b := d.at
	b.i, b.keys = i, append(b.keys, key)
	b.points.Add(p)
	if len(b.keys) == batchSeries || b.points.Room() >= batchRoom {
		d.end()
	}
	return nil
}

// hand gives the series to yield. It tells keys before, some at a time.
func (b *batch) hand(yield promquery.Yield, tell func(i int, keys [][]promquery.Symbol)) error {
	for k, key := range b.keys {
		if k%promquery.SoonAtOnce == 0 {
			tell(b.i, b.keys[k:min(k+promquery.SoonAtOnce, len(b.keys))])
		}
		if err := yield(b.i, key, b.points.At(k)); err != nil {
			return err
		}
	}
	b.keys = b.keys[:0]
	b.points.Reset(2 * batchRoom)
	return nil
}
