package blocks

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// ctxEvery is how many series pass between looks at the context.
const ctxEvery = promquery.SoonAtOnce

// ahead is how many founds there are. Some selectors have few series, and of some it takes longer to look series up than to decode them:
// with several founds, neither waits for the other.
const ahead = 6

// read answers the selectors.
func (s *snapshot) read(ctx context.Context, sels []promquery.Selector, workers promquery.Workers, of *Session) (promquery.Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	to := pipe{free: make(chan *found, ahead), ready: make(chan *found, ahead)}
	held := newReadMemory(ctx)
	f := of.take(s, promquery.SymbolsOf(ctx), held)
	f.unwanted.begin(&workers)
	f.grade, f.wants = workers.Grade, workers.Wants
	for i := range f.founds {
		to.free <- &f.founds[i]
	}
	var broken error // of the goroutine; read once ready is closed
	go func() {
		defer close(to.ready)
		defer recovered(&broken)
		for i, n := 0, 0; i < len(sels); i += n {
			n = alike(sels[i:])
			if broken = f.find(ctx, i, sels[i:][:n], &to); broken != nil {
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
	read := func() error { return r.readEach(ctx, cancel, &to) }
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
	each    []*worker            // and one more, for series that come last
	keys    [][]promquery.Symbol // scratch of deal
	rest    found                // those series
}

func newReader(s *snapshot, workers promquery.Workers) *reader {
	r := &reader{snap: s, blocks: s.blocks, workers: workers}
	for n := range workers.N + 1 {
		tell := func(i int, keys [][]promquery.Symbol) { workers.Tell(n, i, keys) }
		r.each = append(r.each, &worker{blocks: s.blocks, overlap: s.overlap, yield: workers.Into(n), tell: tell})
	}
	return r
}

// readEach hands over what is found, by all workers. Each reads its series in their order, and waits for the others only if series of a
// selector come last.
func (r *reader) readEach(ctx context.Context, cancel func(), from *pipe) error {
	c := r.begin(ctx, cancel, from)
	defer c.end() // also if Of panics: the files are released after this
	var all []*outcome
	for f := range from.ready {
		err := r.deal(f)
		if f.last {
			f.outcome = r.newOutcome(f)
			all = append(all, f.outcome)
		}
		c.give(f)
		if err == nil && f.last && len(r.rest.heads) > 0 {
			if err = c.wait(); err == nil {
				err = r.readRest(ctx, f)
			}
		}
		if err != nil {
			return err
		}
		c.leave(f)
	}
	err := c.wait()
	for _, o := range all {
		r.note(o)
	}
	return err
}

// deal shares out found series among the workers.
func (r *reader) deal(f *found) error {
	n := r.workers.N
	f.shares = append(f.shares, make([][]int32, max(0, n-len(f.shares)))...)
	for i := range f.shares {
		f.shares[i] = f.shares[i][:0]
	}
	for k := range f.heads {
		if k%promquery.SoonAtOnce == 0 && r.workers.Of != nil {
			r.keys = r.keys[:0]
			for next := k; next < min(k+promquery.SoonAtOnce, len(f.heads)); next++ {
				r.keys = append(r.keys, f.key(&f.heads[next]))
			}
			r.workers.Tell(n, f.i, r.keys)
		}
		worker, key := 0, f.key(&f.heads[k])
		if r.workers.Skip != nil && r.skips(f, key) {
			continue
		}
		if r.workers.Of != nil {
			worker = r.workers.Of(f.i, key)
		}
		if worker < n {
			f.shares[worker] = append(f.shares[worker], int32(k))
		} else {
			r.rest.take(f, &f.heads[k])
		}
	}
	return r.rest.draw()
}

// skips reports whether nobody wants a series for any of the selectors.
func (r *reader) skips(f *found, key []promquery.Symbol) bool {
	for k := range f.sels {
		if !r.workers.Skip(f.i+k, key) {
			return false
		}
	}
	return true
}

// readRest hands over the series of selectors that come last.
func (r *reader) readRest(ctx context.Context, f *found) error {
	r.rest.i, r.rest.sels = f.i, f.sels
	l := r.each[r.workers.N]
	err := l.readAll(ctx, &r.rest)
	f.outcome.notes[r.workers.N] = l.noted()
	r.rest.begin(0, nil)
	return err
}

// crew are the workers of a read. Each reads on its goroutine what it is given, in that order; a single one on that of the caller.
type crew struct {
	ctx    context.Context //nolint:containedctx // the context of one read
	cancel func()
	from   *pipe
	each   []*worker
	queues []chan *found  // by worker
	errs   []error        // why a worker stopped
	unread sync.WaitGroup // founds, by worker
	ended  sync.WaitGroup // goroutines
}

// begin lets the workers begin.
func (r *reader) begin(ctx context.Context, cancel func(), from *pipe) *crew {
	n := r.workers.N
	if r.workers.Of == nil {
		n = 1
	}
	c := &crew{ctx: ctx, cancel: cancel, from: from, each: r.each[:n], queues: make([]chan *found, n), errs: make([]error, n)}
	for i := range c.queues {
		c.queues[i] = make(chan *found, ahead) // as many as there are
		if n > 1 {
			c.ended.Go(func() {
				for f := range c.queues[i] {
					c.read(i, f)
				}
			})
		}
	}
	return c
}

// give gives found series to their workers.
func (c *crew) give(f *found) {
	f.readers.Store(int32(len(c.each)) + 1)
	c.unread.Add(len(c.each))
	if len(c.each) == 1 {
		c.read(0, f)
		return
	}
	for _, queue := range c.queues {
		queue <- f
	}
}

// read lets a worker read its share of found series. If it fails, all stop.
func (c *crew) read(i int, f *found) {
	defer c.unread.Done()
	defer func() {
		if p := recover(); p != nil { // the caller could only recover from one of its own goroutine
			c.errs[i] = fmt.Errorf("internal error: %v: report it with this stack:\n%s", p, debug.Stack())
			c.cancel()
		}
	}()
	if c.errs[i] == nil {
		if c.errs[i] = c.each[i].readShare(c.ctx, f, i); c.errs[i] != nil {
			c.cancel()
		}
	}
	if f.outcome != nil {
		f.outcome.notes[i] = c.each[i].noted()
	}
	c.leave(f)
}

// leave lets go of found series. They are free once all workers have left them, and the caller.
func (c *crew) leave(f *found) {
	if f.readers.Add(-1) == 0 {
		c.from.free <- f
	}
}

// wait waits until all is read that was given. The error is that of the first worker that failed.
func (c *crew) wait() error {
	c.unread.Wait()
	return firstCause(c.errs)
}

// end ends the read.
func (c *crew) end() {
	c.cancel()
	for _, queue := range c.queues {
		close(queue)
	}
	c.ended.Wait()
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
	blocks  []*block
	overlap bool // of blocks, in time
	yield   chunks.Yield
	tell    func(i int, keys [][]promquery.Symbol) // that yield gets series with these keys next
	keys    [][]promquery.Symbol                   // scratch of it
	dec     chunks.Decoder
	points  timeline.Points // scratch of has
	list    []chunks.Encoded
	ends    []int   // where those of each block end in list
	notes   []notes // by selector of those that are alike
}

// readShare hands over a share of found series, for one selector after the other.
func (l *worker) readShare(ctx context.Context, f *found, share int) error {
	for k := range f.sels {
		if err := l.readHeads(ctx, f, k, f.shares[share]); err != nil {
			return err
		}
	}
	return nil
}

// readHeads hands over some of the found series, for the selector with the index k among those of f.
func (l *worker) readHeads(ctx context.Context, f *found, k int, heads []int32) error {
	for n, head := range heads {
		if n%ctxEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.keys = l.keys[:0]
			for _, next := range heads[n:min(n+ctxEvery, len(heads))] {
				l.keys = append(l.keys, f.key(&f.heads[next]))
			}
			l.tell(f.i+k, l.keys)
		}
		if err := l.readSeries(f, k, &f.heads[head]); err != nil {
			return err
		}
	}
	return nil
}

// readAll hands over all found series, for one selector after the other.
func (l *worker) readAll(ctx context.Context, f *found) error {
	for n := range len(f.sels) * len(f.heads) {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.readSeries(f, n/len(f.heads), &f.heads[n%len(f.heads)]); err != nil {
			return err
		}
	}
	return nil
}

// readSeries decodes the chunks of a series in all blocks and hands it over, for the selector with the index k among those of f.
func (l *worker) readSeries(f *found, k int, s *series) error {
	l.collect(f, k, s)
	n, sel := l.of(k), &f.sels[k]
	samples, err := l.dec.Hand(f.i+k, f.key(s), s.told, l.list, sel.Start, sel.End, n.skipped.Add, l.yield)
	n.stats.Count(samples)
	return err
}

// collect collects the chunks of a series in all blocks, at the times of the selector with the index k among those of f.
func (l *worker) collect(f *found, k int, s *series) {
	l.list, l.ends = l.list[:0], l.ends[:0]
	for _, p := range f.parts[s.partAt:][:s.parts] {
		if p.library {
			l.collectListed(&f.sels[k], f.lists[p.at])
		} else {
			l.collectPart(&f.sels[k], p, &l.of(k).damage[p.block])
		}
		l.ends = append(l.ends, len(l.list))
	}
	for _, c := range l.list {
		l.of(k).stats.Bytes += int64(len(c.Data))
	}
	if l.overlap && s.parts > 1 {
		l.list = chunks.Merge(l.list, l.ends)
	}
}

// collectListed collects chunks that Prometheus' reader has read.
func (l *worker) collectListed(sel *promquery.Selector, list []chunks.Encoded) {
	for _, c := range list {
		if c.MinTime <= sel.End && c.MaxTime >= sel.Start {
			l.list = append(l.list, c)
		}
	}
}

// collectPart collects chunks from the files of a block.
func (l *worker) collectPart(sel *promquery.Selector, p part, d *damage) {
	files := l.blocks[p.block].files
	bad := false // its other chunks are not
	err := eachChunk(files.index.data[p.at:], func(m chunkMeta) bool {
		if m.mint > sel.End || m.maxt < sel.Start {
			return true
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
			return true
		}
		l.list = append(l.list, chunks.Encoded{Encoding: enc, Data: data, MinTime: m.mint, MaxTime: m.maxt, Padded: true})
		return true
	})
	if err != nil {
		d.reach(math.MinInt64, math.MaxInt64)
		d.add(err)
	}
}

// has reports whether a series of a found has samples that may be wanted, or some that cannot be read.
func (l *worker) has(of *found, s *series, wants func(i int, p *timeline.Points) bool) (some bool) {
	for k := range of.sels {
		l.collect(of, k, s)
		d, sel := l.of(k).damage, &of.sels[k]
		for i := range d {
			some = some || d[i].failed > 0
			d[i] = damage{}
		}
		err := l.dec.Each(&l.points, l.list, sel.Start, sel.End, func(error) { some = true }, func() error {
			some = some || wants(of.i+k, &l.points)
			return nil
		})
		some = some || err != nil
	}
	return some
}

// key is the key of a series.
func (f *found) key(s *series) []promquery.Symbol { return f.keys[s.keyAt:][:s.keys:s.keys] }
