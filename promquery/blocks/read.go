package blocks

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/promcost/promcost/promquery"
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

func (f *files) close() error { return errors.Join(f.index.close(), f.segments.close()) }

// plain reports whether the blocks hold what Prometheus' own readers have to sort out: overlapping blocks, deleted
// samples, or an index of another version.
func (s *snapshot) plain() bool {
	for i, b := range s.blocks {
		if i > 0 && b.meta.MinTime < s.blocks[i-1].meta.MaxTime || b.foreign {
			return true
		}
	}
	return false
}

// hasTombstones reports whether samples of the block in dir were deleted, or may have been.
func hasTombstones(dir string) bool {
	r, _, err := tombstones.ReadTombstones(dir)
	if err != nil {
		return true
	}
	defer r.Close()
	return r.Total() > 0
}

// finder looks up series in the files of blocks that do not overlap.
type finder struct {
	symbols *symbols
	cursors []cursor // by block
	same    []int    // scratch
	drawn   drawn
	founds  [ahead]found
}

// found is series of a selector that follow each other, at most mostHeads. Their entries in blocks are parts. Selectors that want the same
// series at other times share it.
type found struct {
	i       int                  // the index of the first selector
	sels    []promquery.Selector // those that share it
	heads   []series
	parts   []part
	keys    []promquery.Symbol // made of numbers before it is handed over, unless Selector.Keep is nil
	numbers []uint32           // of the elements of keys
	last    bool               // the selector has no more series
	errs    []error            // of the last: why the rest of a block's series cannot be read, by block
	drawn   drawn

	outcome *outcome     // of the last, if workers read it
	shares  [][]int32    // which heads each worker reads
	readers atomic.Int32 // how many have not left it yet, if workers read it
}

// mostHeads is how many series are found at once: so few that they are still in the cache when they are decoded.
const mostHeads = 1 << 9

// mostKeys is about how many symbols of keys are found at once: series of pods' labels have many.
const mostKeys = 1 << 15

// begin begins the next series of selectors.
func (f *found) begin(i int, sels []promquery.Selector) {
	*f = found{i: i, sels: sels, heads: f.heads[:0], parts: f.parts[:0], keys: f.keys[:0], numbers: f.numbers[:0], drawn: f.drawn, shares: f.shares}
}

// take adds a copy of a series of another found.
func (f *found) take(of *found, s *series) {
	keep := *s
	keep.partAt, keep.keyAt = int32(len(f.parts)), int32(len(f.keys))
	f.heads = append(f.heads, keep)
	f.parts = append(f.parts, of.parts[s.partAt:][:s.parts]...)
	f.keys = append(f.keys, of.keys[s.keyAt:][:s.keys]...)
}

// series is a series of the selector: where its parts and its key begin.
type series struct {
	partAt, keyAt int32
	parts, keys   int32
	told          uint64 // what Points.SetSeries is to say, or the number of its text until it is looked up
}

// part is a series' entry in one block, from the list of chunks on.
type part struct {
	at    uint64 // in the index file
	block int32
}

// newFinder returns a finder for a read of blocks, oldest first. Keys are of table.
func newFinder(blocks []*block, table *promquery.Symbols) *finder {
	f := &finder{symbols: newSymbols(blocks, table), cursors: make([]cursor, len(blocks)), same: make([]int, 0, len(blocks))}
	for i := range f.cursors {
		f.cursors[i].at, f.cursors[i].view = int32(i), f.symbols.views[i]
	}
	return f
}

// reads reports whether the finder is one for these blocks, and keys of table.
func (f *finder) reads(blocks []*block, table *promquery.Symbols) bool {
	return f.symbols.table == table && slices.EqualFunc(f.symbols.views, blocks, func(v *view, b *block) bool { return v.block == b })
}

// account makes the finder and what it finds draw from the memory of a read.
func (f *finder) account(of *readMemory) {
	f.drawn = drawn{of: of}
	for i := range f.founds {
		f.founds[i].drawn = drawn{of: of}
	}
}

// pipe is the way of what is found to its reader, and of what was read back.
type pipe struct{ free, ready chan *found }

// next begins the next series of selectors.
func (p *pipe) next(ctx context.Context, i int, sels []promquery.Selector) (*found, error) {
	select {
	case out := <-p.free:
		out.begin(i, sels)
		return out, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// alike is how many of the selectors, from the first one on, want the same series, though at other times.
func alike(sels []promquery.Selector) int {
	n := 1
	for n < len(sels) {
		next := sels[n]
		next.Start, next.End, next.Last = sels[0].Start, sels[0].End, sels[0].Last
		if !reflect.DeepEqual(&next, &sels[0]) {
			break
		}
		n++
	}
	return n
}

// find hands over the series of selectors that are alike, in all blocks, in the order of their labels. The first selector has the index i.
func (f *finder) find(ctx context.Context, i int, sels []promquery.Selector, to *pipe) error {
	out, err := to.next(ctx, i, sels)
	if err != nil {
		return err
	}
	q, err := newQuery(sels, f.symbols)
	if err != nil {
		return err
	}
	var open []*cursor // those that have a series
	for k := range f.cursors {
		c := &f.cursors[k]
		if c.begin(q); c.next(q) {
			open = append(open, c)
		}
	}
	for n := 0; len(open) > 0; n++ {
		if n%drawEvery == 0 {
			if err := cmp.Or(ctx.Err(), f.draw(out)); err != nil {
				return err
			}
		}
		if len(out.heads) == mostHeads || max(len(out.keys), len(out.numbers)) >= mostKeys {
			if err := f.hand(q, out, to); err != nil {
				return err
			}
			if out, err = to.next(ctx, i, sels); err != nil {
				return err
			}
		}
		open = out.add(q, open, f.same)
	}
	out.last, out.errs = true, make([]error, len(f.cursors))
	for k := range f.cursors {
		out.errs[k] = f.cursors[k].err
	}
	return f.hand(q, out, to)
}

// hand hands over found series, once their keys are made and their memory is drawn.
func (f *finder) hand(q *query, out *found, to *pipe) error {
	if q.Keep != nil {
		q.lookUp(out)
	}
	if err := f.draw(out); err != nil {
		return err
	}
	to.ready <- out
	return nil
}

// add adds the first of the series that cursors are at, with its parts in all blocks that have it, and returns the cursors that have
// more.
func (f *found) add(q *query, open []*cursor, scratch []int) []*cursor {
	same := least(scratch, len(open), func(i, k int) int { return slices.Compare(open[i].labels, open[k].labels) })
	labels := open[same[0]].labels
	f.heads = append(f.heads, series{partAt: int32(len(f.parts)), parts: int32(len(same)), keyAt: int32(len(f.keys))})
	s := &f.heads[len(f.heads)-1]
	for _, i := range same {
		f.parts = append(f.parts, part{open[i].chunks, open[i].at})
	}
	f.describe(q, labels, s)
	for _, i := range slices.Backward(same) {
		if !open[i].next(q) {
			open = slices.Delete(open, i, i+1)
		}
	}
	return open
}

// describe adds the key of a series whose parts are there, or the numbers of its elements.
func (f *found) describe(q *query, labels []pair, s *series) {
	if q.Keep == nil {
		f.keys = q.allLabels(f.keys, labels)
		s.keys = int32(len(f.keys)) - s.keyAt
		return
	}
	s.keyAt, s.keys = int32(len(f.numbers)), int32(len(q.Keep))
	f.numbers = q.key(f.numbers, labels)
	s.told = uint64(q.series(labels))
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
