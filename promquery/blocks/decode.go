package blocks

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// ctxEvery is how many series pass between looks at the context.
const ctxEvery = 64

// Reading runs on several goroutines, each of which has something to do while the others do: one finds series, page by page, up to
// mostDecoders decode them into batches, and the caller's takes the batches in the order in which series were found.
const (
	mostPages    = 6 // between finding and the caller: finding may take longer than decoding, or the other way round
	mostDecoders = 2 // the caller alone uses what they decode, and takes less time for a series than two decoders
)

// Decoded series wait in batches. With small ones, goroutines would often wake each other.
const (
	batches     = 4       // of each decoder
	batchSeries = 512     // in a batch
	batchRoom   = 1 << 15 // samples beside runs, or those of one series more
)

// batch is decoded series of a request, or stretches of series, that follow each other.
type batch struct {
	request int
	keys    [][]promquery.Symbol
	points  timeline.Copies
	home    chan *batch // where it goes back to
}

// read answers the requests.
func (s *snapshot) read(ctx context.Context, rs []promquery.Request, of *Session, yield promquery.Yield) (promquery.Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := pipe{free: make(chan *page, mostPages), ready: make(chan *page, mostPages)}
	held := newReadMemory(ctx)
	f, err := of.take(s, promquery.SymbolsOf(ctx), held)
	if err != nil {
		cancel()
		return promquery.Stats{}, err
	}
	for i := range f.pages {
		p.free <- &f.pages[i]
	}
	var broken error // of the goroutine; read once ready is closed
	go func() {
		defer close(p.ready)
		defer recovered(&broken)
		debug.SetPanicOnFault(true)
		broken = f.findAll(ctx, rs, &p)
	}()
	defer func() {
		cancel()
		for range p.ready {
			// The goroutine reads files that are let go of after this: it has to have ended.
		}
		if broken == nil {
			of.give(f)
		}
		held.release()
	}()
	r := reader{snap: s}
	if err := r.read(ctx, cancel, &p, yield); err != nil {
		return r.stats, err
	}
	return r.stats, broken
}

// findAll finds the series of all requests.
func (f *finder) findAll(ctx context.Context, rs []promquery.Request, to *pipe) error {
	for i, n := 0, 0; i < len(rs); i += n {
		n = alike(rs[i:])
		if err := f.find(ctx, i, rs[i:][:n], to); err != nil {
			return err
		}
	}
	return nil
}

// reader hands over the series that were found.
type reader struct {
	snap  *snapshot
	stats promquery.Stats
}

// decoding is a page that is being decoded.
type decoding struct {
	*page
	ready    chan *batch
	outcomes []outcome // by request, once ready is closed, as the error is
	err      error
}

// decoders are goroutines that decode pages. Each takes the next one when it is done with one.
type decoders struct {
	mu   sync.Mutex
	from *pipe
	next chan *decoding // in the order in which series were found
}

// take takes the next page. It is nil if there are no more.
func (d *decoders) take() *decoding {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := <-d.from.ready
	if !ok {
		return nil
	}
	out := &decoding{page: p, ready: make(chan *batch, batches)}
	d.next <- out
	return out
}

// read hands over series one after the other, while goroutines decode those that follow. It ends the reading with cancel.
func (r *reader) read(ctx context.Context, cancel func(), from *pipe, yield promquery.Yield) error {
	d := decoders{from: from, next: make(chan *decoding, mostPages)}
	var ended sync.WaitGroup
	for range max(1, min(mostDecoders, runtime.GOMAXPROCS(0)-1)) {
		ended.Go(func() {
			debug.SetPanicOnFault(true)
			newDecoder(ctx, r.snap).run(&d)
		})
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
	var all []outcome
	for p := range d.next {
		for b := range p.ready {
			if err := b.hand(yield); err != nil {
				return err
			}
			b.home <- b
		}
		if p.err != nil {
			return p.err
		}
		if all = joined(all, p.outcomes); p.last {
			r.record(p.page, all)
			all = nil
		}
		from.free <- p.page
	}
	return nil
}

// hand gives the series to yield.
func (b *batch) hand(yield promquery.Yield) error {
	for k, key := range b.keys {
		if err := yield(b.request, key, b.points.At(k)); err != nil {
			return err
		}
	}
	b.keys = b.keys[:0]
	b.points.Reset(2 * batchRoom)
	return nil
}

// decoder decodes pages into batches, which come back to it.
type decoder struct {
	ctx      context.Context //nolint:containedctx // the context of one read
	snap     *snapshot
	free     chan *batch
	page     *decoding
	batch    *batch // the one that is being filled, nil if there is none
	chunks   chunks.Decoder
	list     []chunks.Encoded
	ends     []int     // where those of each block end in list
	outcomes []outcome // by request of those that are alike
}

func newDecoder(ctx context.Context, snap *snapshot) *decoder {
	d := &decoder{ctx: ctx, snap: snap, free: make(chan *batch, batches)}
	for range batches {
		d.free <- &batch{home: d.free}
	}
	return d
}

// run decodes pages until there are no more, or one of them cannot be decoded.
func (d *decoder) run(all *decoders) {
	for d.page = all.take(); d.page != nil && d.decode(); {
		d.page = all.take()
	}
}

// decode decodes the page.
func (d *decoder) decode() (ok bool) {
	p := d.page
	defer close(p.ready)
	defer recovered(&p.err)
	for n := range len(p.requests) * len(p.series) {
		if n%ctxEvery == 0 && d.ctx.Err() != nil {
			p.err = d.ctx.Err()
			return false
		}
		if p.err = d.decodeSeries(n/len(p.series), &p.series[n%len(p.series)]); p.err != nil {
			return false
		}
	}
	if d.batch != nil {
		d.handOver()
	}
	p.outcomes, d.outcomes = d.outcomes, nil
	return true
}

// decodeSeries decodes the chunks of a series in all blocks, for the request with the index k among those of the page.
func (d *decoder) decodeSeries(k int, s *series) error {
	p := d.page
	d.collect(k, s)
	n, r := d.outcomeOf(k), &p.requests[k]
	samples, err := d.chunks.Hand(p.first+k, p.key(s), s.id, d.list, r.Start, r.End, n.skipped.Add, d.add)
	n.stats.Count(samples)
	return err
}

// collect collects the chunks of a series in all blocks, at the times of the request with the index k among those of the page.
func (d *decoder) collect(k int, s *series) {
	n, r := d.outcomeOf(k), &d.page.requests[k]
	d.list, d.ends = d.list[:0], d.ends[:0]
	for _, p := range d.page.chunkLists[s.listAt:][:s.lists] {
		if p.library {
			d.collectListed(r, d.page.libraryLists[p.at])
		} else {
			d.collectList(r, p, &n.damage[p.block])
		}
		d.ends = append(d.ends, len(d.list))
	}
	for i := range d.list {
		n.stats.Bytes += int64(len(d.list[i].Data))
	}
	if d.snap.overlap && s.lists > 1 {
		d.list = chunks.Merge(d.list, d.ends)
	}
}

// collectListed collects chunks that Prometheus' reader has read.
func (d *decoder) collectListed(r *promquery.Request, list []chunks.Encoded) {
	for _, c := range list {
		if c.MinTime <= r.End && c.MaxTime >= r.Start {
			d.list = append(d.list, c)
		}
	}
}

// collectList collects chunks from the files of a block.
func (d *decoder) collectList(r *promquery.Request, p chunkList, lost *damage) {
	files := d.snap.files[p.block]
	bad := false // its other chunks are not
	err := files.eachChunk(p.at, func(m chunkMeta) bool {
		if m.mint > r.End || m.maxt < r.Start {
			return true
		}
		enc, data, err := files.chunk(m.ref)
		if err == nil {
			err = chunks.CheckStart(enc, data, m.mint)
		}
		if err != nil {
			if lost.reach(m.mint, m.maxt); !bad {
				lost.add(err)
			}
			bad = true
			return true
		}
		d.list = append(d.list, chunks.Encoded{Encoding: enc, Data: data, MinTime: m.mint, MaxTime: m.maxt, Padded: true})
		return true
	})
	if err != nil {
		lost.reach(math.MinInt64, math.MaxInt64)
		lost.add(err)
	}
}

// add adds a copy of a decoded series to the batch.
func (d *decoder) add(i int, key []promquery.Symbol, p *timeline.Points) error {
	if d.batch != nil && d.batch.request != i {
		d.handOver()
	}
	if d.batch == nil {
		select {
		case d.batch = <-d.free:
		case <-d.ctx.Done():
			return d.ctx.Err()
		}
	}
	b := d.batch
	b.request, b.keys = i, append(b.keys, key)
	b.points.Add(p)
	if len(b.keys) == batchSeries || b.points.Room() >= batchRoom {
		d.handOver()
	}
	return nil
}

// handOver lets the reader have the batch.
func (d *decoder) handOver() {
	d.page.ready <- d.batch
	d.batch = nil
}
