package blocks

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/promcost/promcost/allocation/timeline"
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

func (f *files) close() error { return errors.Join(f.index.close(), f.segments.close()) }

// finder looks up series in blocks.
type finder struct {
	symbols  *symbols
	cursors  []cursor // by block
	same     []int    // scratch
	drawn    drawn
	founds   [ahead]found
	unwanted unwanted
	grade    func(i int, key []string) (id uint64, nothing bool)
	wants    func(i int, p *timeline.Points) bool // nil for all
	probe    worker                               // looks whether series have samples that are wanted
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
	lists   [][]chunks.Encoded // of the parts that Prometheus' reader has read
	lost    []damage           // of the last: what could not be read of each block
	left    bool               // series of unwanted pods were left out; known of the last
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
	*f = found{i: i, sels: sels, heads: f.heads[:0], parts: f.parts[:0], keys: f.keys[:0], numbers: f.numbers[:0], lists: f.lists[:0], drawn: f.drawn, shares: f.shares}
}

// take adds a copy of a series of another found.
func (f *found) take(of *found, s *series) {
	keep := *s
	keep.partAt, keep.keyAt = int32(len(f.parts)), int32(len(f.keys))
	f.heads = append(f.heads, keep)
	for _, p := range of.parts[s.partAt:][:s.parts] {
		if p.library {
			f.lists = append(f.lists, of.lists[p.at])
			p.at = uint64(len(f.lists) - 1)
		}
		f.parts = append(f.parts, p)
	}
	f.keys = append(f.keys, of.keys[s.keyAt:][:s.keys]...)
}

// series is a series of the selector: where its parts and its key begin.
type series struct {
	partAt, keyAt int32
	parts, keys   int32
	told          uint64 // what Points.SetSeries is to say, or the number of its text until it is looked up
}

// part is a series' chunks in one block.
type part struct {
	at      uint64 // where their list begins in the index file, or its place among found.lists
	block   int32
	library bool // Prometheus' reader has read them
}

// newFinder returns a finder for a read of the blocks of a snapshot. Keys are of table.
func newFinder(s *snapshot, table *promquery.Symbols) *finder {
	f := &finder{symbols: newSymbols(s, table), cursors: make([]cursor, len(s.blocks)), same: make([]int, 0, len(s.blocks))}
	f.probe = worker{blocks: s.blocks, overlap: s.overlap}
	for i := range f.cursors {
		f.cursors[i].view = f.symbols.views[i]
	}
	return f
}

// reads reports whether the finder is one for the blocks of a snapshot, and keys of table.
func (f *finder) reads(s *snapshot, table *promquery.Symbols) bool {
	views := f.symbols.views
	same := func(v *view, b *block) bool { return v.block == b && v.files == s.files[v.at] }
	return f.symbols.table == table && slices.EqualFunc(views, s.blocks, same)
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
	q.unwanted, q.inverted = f.unwanted.of(q.Selector, f.symbols), f.unwanted.only
	if f.grade != nil && q.Common != nil && q.Keep != nil {
		q.grade = func(key []string) (uint64, bool) { return f.grade(i, key) }
	}
	if f.wants != nil {
		q.wanted = func(of *found, s *series) bool { return f.probe.has(of, s, f.wants) }
	}
	defer f.end()
	var open []*cursor // those that have a series
	for k := range f.cursors {
		c := &f.cursors[k]
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
	if ctx.Err() != nil { // so that Prometheus' reader may have ended early
		return ctx.Err()
	}
	out.last, out.lost = true, make([]damage, len(f.cursors))
	for k := range f.cursors {
		out.lost[k] = f.cursors[k].lost
		out.lost[k].err = f.cursors[k].err
	}
	return f.hand(q, out, to)
}

// end ends what Prometheus' reader has begun: until then, blocks cannot be closed.
func (f *finder) end() {
	for k := range f.cursors {
		f.cursors[k].endLibrary()
	}
}

// hand hands over found series, once their keys are made and their memory is drawn.
func (f *finder) hand(q *query, out *found, to *pipe) error {
	if q.grade != nil {
		q.gradeAll(out)
	}
	if q.Keep != nil {
		q.lookUp(out)
	}
	out.left = q.left
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
		f.addPart(open[i])
	}
	if q.wanted == nil || q.wanted(f, s) {
		f.describe(q, labels, s)
	} else {
		f.heads, f.parts = f.heads[:len(f.heads)-1], f.parts[:s.partAt]
	}
	for _, i := range slices.Backward(same) {
		if !open[i].next(q) {
			open = slices.Delete(open, i, i+1)
		}
	}
	return open
}

// addPart adds the chunks of the series that a cursor is at.
func (f *found) addPart(c *cursor) {
	p := part{at: c.chunks, block: int32(c.at), library: c.files == nil}
	if p.library {
		p.at, f.lists = uint64(len(f.lists)), append(f.lists, c.list)
	}
	f.parts = append(f.parts, p)
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
