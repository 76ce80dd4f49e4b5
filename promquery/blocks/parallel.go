package blocks

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// ctxEvery is how many series pass between looks at the context.
const ctxEvery = 64

// ahead is how many founds there are. Some selectors have few series, and of some it takes longer to look series up than to decode them:
// with several founds, neither waits for the other.
const ahead = 6

// read answers the selectors.
func (s *snapshot) read(ctx context.Context, sels []promquery.Selector, workers promquery.Workers, of *Session) (promquery.Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	to := pipe{free: make(chan *found, ahead), ready: make(chan *found, ahead)}
	held := newReadMemory(ctx)
	f := of.take(s.blocks, promquery.SymbolsOf(ctx), held)
	f.unwanted.begin(&workers)
	f.heads = fewHeads
	f.grade = workers.Grade
	for i := range f.founds {
		to.free <- &f.founds[i]
	}
	var broken error // of the goroutine; read once ready is closed
	go func() {
		defer close(to.ready)
		defer recovered(&broken)
		for i := range sels {
			if broken = f.find(ctx, i, &sels[i], &to); broken != nil {
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range to.ready {
			// The goroutine reads files that are let go of after this: it has to have ended.
		}
		if broken == nil {
			of.give(f)
		}
		held.release()
	}()
	r := newReader(s, workers)
	r.rest.drawn.of = held
	read := func() error { return r.readEach(ctx, &to) }
	if workers.N > 1 && workers.Of == nil && workers.Skip == nil {
		read = func() error { return r.readAhead(ctx, cancel, &to) }
	}
	if err := read(); err != nil {
		return r.stats, err
	}
	return r.stats, broken
}

// reader hands over the series that were found.
type reader struct {
	snap    *snapshot
	blocks  []*block
	workers promquery.Workers
	stats   promquery.Stats
	each    []*worker // and one more, for series that come last
	rest    found     // those series
}

func newReader(s *snapshot, workers promquery.Workers) *reader {
	r := &reader{snap: s, blocks: s.blocks, workers: workers}
	for n := range workers.N + 1 {
		r.each = append(r.each, &worker{blocks: s.blocks, yield: workers.Into(n), damage: make([]damage, len(s.blocks))})
	}
	return r
}

// readEach hands over what is found, by all workers.
func (r *reader) readEach(ctx context.Context, from *pipe) error {
	for f := range from.ready {
		if err := r.readFound(ctx, f); err != nil {
			return err
		}
		from.free <- f
	}
	return nil
}

// readFound hands over series of a selector.
func (r *reader) readFound(ctx context.Context, f *found) error {
	n := r.workers.N
	for _, l := range r.each[:n] {
		l.found, l.heads = f, l.heads[:0]
	}
	for k := range f.heads {
		worker, key := 0, f.key(&f.heads[k])
		if r.workers.Skip != nil && r.workers.Skip(f.i, key) {
			continue
		}
		if r.workers.Of != nil {
			worker = r.workers.Of(f.i, key)
		}
		if worker < n {
			r.each[worker].heads = append(r.each[worker].heads, int32(k))
		} else {
			r.rest.take(f, &f.heads[k])
		}
	}
	err := r.rest.draw()
	if err == nil {
		err = r.run(ctx)
	}
	if err == nil && f.last {
		err = r.readRest(ctx, f)
	}
	if f.last || err != nil {
		r.note(f)
		r.tell(f)
	}
	return err
}

// tell says whether unwanted series of a selector were left out.
func (r *reader) tell(f *found) {
	if f.left && r.workers.Left != nil {
		r.workers.Left(f.i)
	}
}

// readRest hands over the series of a selector that come last.
func (r *reader) readRest(ctx context.Context, f *found) error {
	r.rest.i, r.rest.sel = f.i, f.sel
	l := r.each[r.workers.N]
	l.found, l.heads = &r.rest, l.heads[:0]
	for k := range r.rest.heads {
		l.heads = append(l.heads, int32(k))
	}
	err := l.read(ctx)
	r.rest.begin(0, nil)
	return err
}

// note records what reading a selector took, and what of it could not be read. f is the last that was read of it.
func (r *reader) note(f *found) {
	damages := make([]damage, len(r.blocks))
	var skipped chunks.Skipped
	for _, l := range r.each {
		r.stats.Add(l.stats)
		r.stats.Sent = append(r.stats.Sent, promquery.Request{Of: []promquery.Portion{{Selector: f.i, Bytes: l.stats.Bytes}}})
		l.stats = promquery.Stats{}
		skipped.Join(l.skipped)
		l.skipped = chunks.Skipped{}
		for k := range damages {
			damages[k].join(l.damage[k])
			l.damage[k] = damage{}
		}
	}
	for k, b := range r.blocks {
		if f.last {
			damages[k].err = f.errs[k]
		}
		r.snap.note(b, &damages[k], f.sel.Metric)
	}
	r.stats.Warnings = append(r.stats.Warnings, skipped.Warnings(f.sel.Metric)...)
}

// run lets the workers read at the same time. The error is that of the first worker that failed.
func (r *reader) run(ctx context.Context) error {
	n := r.workers.N
	ctx, cancel := context.WithCancel(ctx)
	errs := make([]error, n)
	var wait sync.WaitGroup
	defer func() { // also if the first worker panics: the files are released after this
		cancel()
		wait.Wait()
	}()
	for i, l := range r.each[1:n] {
		if len(l.heads) > 0 {
			wait.Go(func() {
				defer func() {
					if p := recover(); p != nil { // the caller can recover from a panic of its own goroutine only
						errs[i+1] = fmt.Errorf("internal error: %v: report it with this stack:\n%s", p, debug.Stack())
						cancel()
					}
				}()
				if errs[i+1] = l.read(ctx); errs[i+1] != nil {
					cancel()
				}
			})
		}
	}
	if errs[0] = r.each[0].read(ctx); errs[0] != nil {
		cancel()
	}
	wait.Wait()
	return firstCause(errs)
}

// firstCause is the first error that did not come from stopping a worker after another one failed.
func firstCause(errs []error) error {
	var stopped error
	for _, err := range errs {
		if err != nil && err != context.Canceled { //nolint:errorlint // returned by a worker that is stopped
			return err
		}
		stopped = cmp.Or(stopped, err)
	}
	return stopped
}

// worker reads its part of the series, one after the other.
type worker struct {
	blocks []*block
	yield  chunks.Yield
	dec    chunks.Decoder
	list   []chunks.Encoded

	found   *found
	heads   []int32 // which series
	stats   promquery.Stats
	skipped chunks.Skipped
	damage  []damage // by block
}

// read hands over the worker's series.
func (l *worker) read(ctx context.Context) error {
	for n, head := range l.heads {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.readSeries(&l.found.heads[head]); err != nil {
			return err
		}
	}
	return nil
}

// readSeries decodes the chunks of a series in all blocks and hands it over.
func (l *worker) readSeries(s *series) error {
	f := l.found
	l.list = l.list[:0]
	for _, p := range f.parts[s.partAt:][:s.parts] {
		files, d := l.blocks[p.block].files, &l.damage[p.block]
		bad := false // its other chunks are not
		err := eachChunk(files.index.data[p.at:], func(m chunkMeta) {
			if m.mint > f.sel.End || m.maxt < f.sel.Start {
				return
			}
			enc, data, err := files.segments.chunk(m.ref)
			if err == nil {
				err = chunks.CheckStart(enc, data, m.mint)
			}
			if err != nil {
				if d.reach(m.mint, m.maxt); !bad {
					d.add(err)
				}
				bad = true
				return
			}
			l.list = append(l.list, chunks.Encoded{Encoding: enc, Data: data, MinTime: m.mint, MaxTime: m.maxt, Padded: true})
			l.stats.Bytes += int64(len(data))
		})
		if err != nil {
			d.reach(math.MinInt64, math.MaxInt64)
			d.add(err)
		}
	}
	samples, err := l.dec.Hand(f.i, f.key(s), s.told, l.list, f.sel.Start, f.sel.End, l.skipped.Add, l.yield)
	l.stats.Count(samples)
	return err
}

// key is the key of a series.
func (f *found) key(s *series) []promquery.Symbol { return f.keys[s.keyAt:][:s.keys:s.keys] }

// damage is what of a block could not be read for one metric. The zero value is none.
type damage struct {
	err      error // why the rest of the series cannot be read
	failed   int   // series with unreadable chunks
	chunkErr error // why the first of them is
	// first and last are the inclusive range of the times of unreadable chunks, if there are any.
	first, last int64
	spans       bool
}

// reach records the time of an unreadable chunk.
func (d *damage) reach(first, last int64) {
	if !d.spans {
		d.first, d.last, d.spans = first, last, true
	}
	d.first, d.last = min(d.first, first), max(d.last, last)
}

// span is the half-open time in which samples of the block could not be read; ok is false if all could.
func (d *damage) span(b *block) (from, to int64, ok bool) {
	if d.err != nil || d.failed > 0 && !d.spans {
		return b.meta.MinTime, b.meta.MaxTime, true
	}
	return max(d.first, b.meta.MinTime), min(d.last, b.meta.MaxTime-1) + 1, d.spans
}

// add counts a series that has unreadable chunks.
func (d *damage) add(err error) {
	if d.failed++; d.failed == 1 {
		d.chunkErr = err
	}
}

// join adds what another worker could not read.
func (d *damage) join(o damage) {
	if d.failed == 0 {
		d.chunkErr = o.chunkErr
	}
	d.failed += o.failed
	if o.spans {
		d.reach(o.first, o.last)
	}
}

// loss is the missing samples of a metric.
func (d *damage) loss(b *block, metric string) (l promquery.Loss, ok bool) {
	from, to, ok := d.span(b)
	cause := d.err
	if cause == nil {
		cause = d.chunkErr
	}
	if !ok || cause == nil {
		return l, false
	}
	return promquery.Loss{
		Of: fmt.Sprintf("block %s", b.id), From: from, To: to, Metrics: []string{metric}, Cause: oneLine(cause),
		Remedy: "restore the block from a copy or remove its directory",
	}, true
}
