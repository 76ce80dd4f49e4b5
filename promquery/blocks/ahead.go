package blocks

import (
	"context"
	"sync"

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
	home   chan *batch // where it goes back to
}

// mostDecoders is how many goroutines decode at most. What they decode is added by one, which has less to do than two of them.
const mostDecoders = 2

// decoding is found series that are being decoded.
type decoding struct {
	*found
	ready chan *batch
	notes []notes // by selector, once ready is closed, as the error is
	err   error
}

// decoders are goroutines that decode found series. Each takes the next when it is done with one.
type decoders struct {
	mu   sync.Mutex
	from *pipe
	next chan *decoding // in the order in which series were found
}

// take takes the next found series. It is nil if there are no more.
func (d *decoders) take() *decoding {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := <-d.from.ready
	if !ok {
		return nil
	}
	out := &decoding{found: f, ready: make(chan *batch, batches)}
	d.next <- out
	return out
}

// readAhead hands over series one after the other, while goroutines decode those that follow. It ends the read with cancel.
func (r *reader) readAhead(ctx context.Context, cancel func(), from *pipe) error {
	d := decoders{from: from, next: make(chan *decoding, ahead)} // as many as are found at a time
	var ended sync.WaitGroup
	for range min(mostDecoders, r.workers.N-1) {
		ended.Go(func() { newDecoder(ctx, r.snap).run(&d) })
	}
	go func() {
		ended.Wait()
		close(d.next)
	}()
	defer func() {
		cancel()
		for range d.next {
			// The goroutines read files that are let go of after this: they have to have ended.
		}
	}()
	yield, all := r.workers.Into(0), []notes(nil)
	tell := func(i int, keys [][]promquery.Symbol) { r.workers.Tell(0, i, keys) }
	for f := range d.next {
		for b := range f.ready {
			if err := b.hand(yield, tell); err != nil {
				return err
			}
			b.home <- b
		}
		if f.err != nil {
			return f.err
		}
		if all = joined(all, f.notes); f.last {
			o := r.newOutcome(f.found)
			o.notes[0], all = all, nil
			r.note(o)
		}
		from.free <- f.found
	}
	return nil
}

// decoder decodes series into batches, of which it has some that come back to it.
type decoder struct {
	ctx  context.Context //nolint:containedctx // the context of one read
	free chan *batch
	of   *decoding
	at   *batch // the one that is being filled, nil if there is none
	worker
}

func newDecoder(ctx context.Context, of *snapshot) *decoder {
	d := &decoder{ctx: ctx, free: make(chan *batch, batches), worker: worker{blocks: of.blocks, overlap: of.overlap}}
	d.yield = d.add
	for range batches {
		d.free <- &batch{home: d.free}
	}
	return d
}

// run decodes what is found, until one of it cannot be decoded.
func (d *decoder) run(all *decoders) {
	for d.of = all.take(); d.of != nil && d.decode(); {
		d.of = all.take()
	}
}

// decode decodes what was taken.
func (d *decoder) decode() (ok bool) {
	defer close(d.of.ready)
	defer recovered(&d.of.err)
	if d.of.err = d.readAll(d.ctx, d.of.found); d.of.err != nil {
		return false
	}
	if d.at != nil {
		d.end()
	}
	d.of.notes = d.noted()
	return true
}

// begin makes sure that there is a batch to be filled.
func (d *decoder) begin() error {
	if d.at != nil {
		return nil
	}
	select {
	case d.at = <-d.free:
		return nil
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
}

// end lets the reader have the batch.
func (d *decoder) end() {
	d.of.ready <- d.at
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
