package blocks

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// files are the mapped files of a block.
type files struct {
	index    *index
	segments *segments
}

// mapFiles maps the files of the block in dir.
func mapFiles(dir string) (*files, error) {
	x, err := openIndex(dir)
	if err != nil {
		return nil, err
	}
	s, err := openSegments(dir)
	if err != nil {
		return nil, errors.Join(err, x.close())
	}
	return &files{x, s}, nil
}

// eachChunk is eachChunk of the list at a place of the index file. What the system cannot read of the list is an error.
func (f *files) eachChunk(at uint64, do func(chunkMeta) bool) (err error) {
	defer recovered(&err)
	return eachChunk(f.index.data[at:], do)
}

// chunk is a chunk of the segments. What the system cannot read of it is an error.
func (f *files) chunk(ref uint64) (enc chunkenc.Encoding, data []byte, err error) {
	defer recovered(&err)
	return f.segments.chunk(ref)
}

func (f *files) close() error { return errors.Join(f.index.close(), f.segments.close()) }

// finder looks up series in blocks.
type finder struct {
	symbols *symbols
	walkers []blockWalker // by block
	same    []int         // scratch
	drawn   drawn
	pages   [mostPages]page
}

// page is series of a request that follow each other, at most mostSeries. A series has a chunk list in each block
// that has the series. Requests for the same series at other times share the page.
type page struct {
	first        int                 // the index of the first request
	requests     []promquery.Request // those that share it
	series       []series
	chunkLists   []chunkList
	keys         []promquery.Symbol // made of numbers before it is handed over, unless Request.Keep is nil
	numbers      []uint32           // of the elements of keys
	last         bool               // the request has no more series
	libraryLists [][]chunks.Encoded // of the chunk lists that Prometheus' reader has read
	lost         []damage           // of the last: what could not be read of each block
	drawn        drawn
}

// mostSeries is how many series are found at once: so few that they are still in the cache when they are decoded.
const mostSeries = 1 << 9

// mostKeys is about how many symbols of keys are found at once: series of pods' labels have many.
const mostKeys = 1 << 15

// begin begins the next series of requests.
func (p *page) begin(first int, rs []promquery.Request) {
	*p = page{first: first, requests: rs, series: p.series[:0], chunkLists: p.chunkLists[:0], keys: p.keys[:0], numbers: p.numbers[:0], libraryLists: p.libraryLists[:0], drawn: p.drawn}
}

// key is the key of a series.
func (p *page) key(s *series) []promquery.Symbol { return p.keys[s.keyAt:][:s.keys:s.keys] }

// series is a series of a request: where its chunk lists and its key begin.
type series struct {
	listAt, keyAt int32
	lists, keys   int32
	id            uint64 // what Points.SetSeries is to say, or the number of its text until it is looked up
}

// chunkList is a series' chunks in one block.
type chunkList struct {
	at      uint64 // where their list begins in the index file, or its place among page.libraryLists
	block   int32
	library bool // Prometheus' reader has read them
}

// newFinder returns a finder for a read of the blocks of a snapshot. Keys are of table.
func newFinder(s *snapshot, table *promquery.Symbols) *finder {
	f := &finder{symbols: newSymbols(s, table), walkers: make([]blockWalker, len(s.blocks)), same: make([]int, 0, len(s.blocks))}
	for i := range f.walkers {
		f.walkers[i].view = f.symbols.views[i]
	}
	return f
}

// reads reports whether the finder is one for the blocks of a snapshot, and keys of table.
func (f *finder) reads(s *snapshot, table *promquery.Symbols) bool {
	same := func(v *view, b *block) bool { return v.block == b && v.files == s.files[v.at] }
	return f.symbols.table == table && slices.EqualFunc(f.symbols.views, s.blocks, same)
}

// account makes the finder and what it finds draw from the memory of a read.
func (f *finder) account(of *readMemory) {
	f.drawn = drawn{of: of}
	for i := range f.pages {
		f.pages[i].drawn = drawn{of: of}
	}
}

// pipe is the way of pages to the decoders, and back once they were read.
type pipe struct{ free, ready chan *page }

// next begins the next page of requests.
func (p *pipe) next(ctx context.Context, first int, rs []promquery.Request) (*page, error) {
	select {
	case out := <-p.free:
		out.begin(first, rs)
		return out, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// alike is how many of the requests, from the first one on, are for the same series, though at other times.
func alike(rs []promquery.Request) int {
	n := 1
	for n < len(rs) {
		next := rs[n]
		next.Start, next.End, next.Grid.Last = rs[0].Start, rs[0].End, rs[0].Grid.Last
		if !reflect.DeepEqual(&next, &rs[0]) {
			break
		}
		n++
	}
	return n
}

// find hands over the series of requests that are alike, in all blocks, in the order of their labels. The first request has the index
// first.
func (f *finder) find(ctx context.Context, first int, rs []promquery.Request, to *pipe) error {
	out, err := to.next(ctx, first, rs)
	if err != nil {
		return err
	}
	q, err := newQuery(rs, f.symbols)
	if err != nil {
		return err
	}
	defer f.end()
	var open []*blockWalker // those that have a series
	for k := range f.walkers {
		c := &f.walkers[k]
		if c.begin(ctx, q); c.next(q) {
			open = append(open, c)
		}
	}
	for n := 0; len(open) > 0; n++ {
		if n%drawEvery == 0 {
			if err := cmp.Or(ctx.Err(), f.draw(out)); err != nil {
				return err
			}
		}
		if len(out.series) == mostSeries || max(len(out.keys), len(out.numbers)) >= mostKeys {
			if err := f.hand(q, out, to); err != nil {
				return err
			}
			if out, err = to.next(ctx, first, rs); err != nil {
				return err
			}
		}
		open = out.add(q, open, f.same)
	}
	if ctx.Err() != nil { // so that Prometheus' reader may have ended early
		return ctx.Err()
	}
	out.last, out.lost = true, make([]damage, len(f.walkers))
	for k := range f.walkers {
		out.lost[k] = f.walkers[k].lost
		out.lost[k].err = f.walkers[k].err
	}
	return f.hand(q, out, to)
}

// end ends what Prometheus' reader has begun: until then, blocks cannot be closed.
func (f *finder) end() {
	for k := range f.walkers {
		f.walkers[k].endLibrary()
	}
}

// hand hands over a page, once the keys are made and their memory is drawn.
func (f *finder) hand(q *query, out *page, to *pipe) error {
	if q.Keep != nil {
		q.lookUp(out)
	}
	if err := f.draw(out); err != nil {
		return err
	}
	to.ready <- out
	return nil
}

// add adds the first of the series that walkers are at, with its chunk lists in all blocks that have it, and returns the walkers that
// have more.
func (p *page) add(q *query, open []*blockWalker, scratch []int) []*blockWalker {
	same := least(scratch, len(open), func(i, k int) int { return slices.Compare(open[i].labels, open[k].labels) })
	labels := open[same[0]].labels
	p.series = append(p.series, series{listAt: int32(len(p.chunkLists)), lists: int32(len(same)), keyAt: int32(len(p.keys))})
	for _, i := range same {
		p.addChunkList(open[i])
	}
	p.describe(q, labels, &p.series[len(p.series)-1])
	for _, i := range slices.Backward(same) {
		if !open[i].next(q) {
			open = slices.Delete(open, i, i+1)
		}
	}
	return open
}

// addChunkList adds the chunks of the series that a walker is at.
func (p *page) addChunkList(c *blockWalker) {
	x := chunkList{at: c.chunks, block: int32(c.at), library: c.files == nil}
	if x.library {
		x.at, p.libraryLists = uint64(len(p.libraryLists)), append(p.libraryLists, c.list)
	}
	p.chunkLists = append(p.chunkLists, x)
}

// describe adds the key of a series, or the numbers of its elements.
func (p *page) describe(q *query, labels []pair, s *series) {
	if q.Keep == nil {
		p.keys = q.allLabels(p.keys, labels)
		s.keys = int32(len(p.keys)) - s.keyAt
		return
	}
	s.keyAt, s.keys = int32(len(p.numbers)), int32(len(q.Keep))
	p.numbers = q.key(p.numbers, labels)
	s.id = uint64(q.series(labels))
}

// least appends to dst, which it empties, the indexes below n, at least one, of what comes first and is equal.
func least(dst []int, n int, compare func(i, k int) int) []int {
	dst = append(dst[:0], 0)
	for i := 1; i < n; i++ {
		switch c := compare(i, dst[0]); {
		case c < 0:
			dst = append(dst[:0], i)
		case c == 0:
			dst = append(dst, i)
		}
	}
	return dst
}
