package blocks

import (
	"context"
	"errors"

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
		if i > 0 && b.meta.MinTime < s.blocks[i-1].meta.MaxTime || b.files == nil || b.deleted {
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
	views   []*view // oldest first
	symbols *symbols
	groups  map[identity]int32
	local   []uint32 // of the entry at hand: symbols of its block

	*found // being filled
}

// found is the series of a selector: parts are their entries in blocks, chained; keys are symbols.
type found struct {
	i     int // the selector's index
	sel   *promquery.Selector
	heads []series
	parts []part
	keys  []uint32
	texts []promquery.Symbol // of symbols
	errs  []error            // why the rest of a block's series cannot be read, by block
}

// series is a series of the selector: its first and last part, and where its key is.
type series struct {
	first, last    int32
	keyAt, keySize int32
}

// part is a series' entry in one block, from the list of chunks on.
type part struct {
	at    uint64 // in the index file
	block int32
	next  int32 // -1: none
}

func newFinder(blocks []*block) *finder {
	f := &finder{symbols: newSymbols(), groups: map[identity]int32{}}
	for _, b := range blocks {
		n := len(b.files.index.symbols)
		f.views = append(f.views, &view{block: b, files: b.files, global: make([]uint32, n), sums: make([]uint64, n)})
	}
	return f
}

// find fills out with the series of a selector in all blocks.
func (f *finder) find(ctx context.Context, i int, sel *promquery.Selector, out *found) error {
	matchers, err := compile(sel)
	if err != nil {
		return err
	}
	clear(f.groups)
	*out = found{i: i, sel: sel, heads: out.heads[:0], parts: out.parts[:0], keys: out.keys[:0], errs: make([]error, len(f.views))}
	f.found = out
	for k, v := range f.views {
		if err := ctx.Err(); err != nil {
			return err
		}
		if v.block.overlaps(sel.Start, sel.End) {
			out.errs[k] = f.findSeries(int32(k), matchers)
		}
	}
	out.texts = f.symbols.texts // what is appended later lies beyond
	return nil
}

// findSeries adds the selector's series in one block. An error leaves out those that follow.
func (f *finder) findSeries(k int32, matchers []match) error {
	v := f.views[k]
	refs, err := v.index.postings(f.sel.Metric)
	if err != nil || len(refs) == 0 {
		return err
	}
	bind(matchers, v.index)
	wanted := roles(v.index, f.sel)
	name, _ := v.index.find(metric)
	for ; len(refs) >= 4; refs = refs[4:] {
		ref := uint32(refs[0])<<24 | uint32(refs[1])<<16 | uint32(refs[2])<<8 | uint32(refs[3])
		content, at, err := v.index.entry(ref)
		if err != nil {
			return err
		}
		if err := f.addSeries(k, content, at, name, wanted, matchers); err != nil {
			return err
		}
	}
	return nil
}

// addSeries adds a series' entry, if it matches, to the series it is a part of. name is the symbol of __name__.
func (f *finder) addSeries(k int32, content []byte, at uint64, name uint32, wanted []role, matchers []match) error {
	v := f.views[k]
	count, next, err := labelCount(content)
	if err != nil {
		return err
	}
	var id identity
	met, w := uint64(0), 0
	f.local = f.local[:0]
	for range f.sel.Keep {
		f.local = append(f.local, missing)
	}
	for range count {
		label, value, after, err := pair(content, next)
		if err != nil {
			return err
		}
		next = after
		if err := id.addPair(v, label, value); err != nil {
			return err
		}
		if f.sel.Keep == nil && label != name {
			f.local = append(f.local, label, value)
		}
		for w < len(wanted) && wanted[w].name < label {
			w++
		}
		for x := w; x < len(wanted) && wanted[x].name == label; x++ {
			if wanted[x].key >= 0 {
				f.local[wanted[x].key] = value
				continue
			}
			m := wanted[x].matcher
			ok, err := matchers[m].holds(v.index, value)
			if err != nil || !ok {
				return err
			}
			met |= 1 << m
		}
	}
	for m := range matchers {
		if met&(1<<m) == 0 && !matchers[m].absent {
			return nil
		}
	}
	return f.join(v, id, part{at: at + uint64(next), block: k, next: -1})
}

// missing stands for the value of a label that a series lacks.
const missing = 1<<32 - 1

// join adds a part to its series. Where that is new, its key is made of the local symbols in f.local.
func (f *finder) join(v *view, id identity, p part) error {
	n := int32(len(f.parts))
	f.parts = append(f.parts, p)
	if at, ok := f.groups[id]; ok {
		s := &f.heads[at]
		f.parts[s.last].next, s.last = n, n
		return nil
	}
	keyAt := int32(len(f.keys))
	for _, local := range f.local {
		number := uint32(0)
		if local != missing {
			var err error
			if number, err = v.number(f.symbols, local); err != nil {
				return err
			}
		}
		f.keys = append(f.keys, number)
	}
	f.groups[id] = int32(len(f.heads))
	f.heads = append(f.heads, series{n, n, keyAt, int32(len(f.local))})
	return nil
}
