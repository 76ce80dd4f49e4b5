package blocks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/promcost/promcost/allocation/timeline"
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
	views   []*view // of the blocks of the read, oldest first
	known   map[*block]*view
	symbols *symbols
	groups  map[identity]int32
	scans   []scan // one a goroutine
	drawn   drawn
	refused error // why more memory was refused
	cgroup  int   // place in keys of which only the pod's UID is wanted, -1 if none
	founds  [ahead]found

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

	drawn drawn
}

// series is a series of the selector: its first and last part, and where its key is.
type series struct {
	first, last    int32
	keyAt, keySize int32
	told           uint64 // what Points.SetSeries is to say
}

// part is a series' entry in one block, from the list of chunks on.
type part struct {
	at    uint64 // in the index file
	block int32
	next  int32 // -1: none
}

// newFinder returns a finder that knows nothing yet.
func newFinder() *finder {
	return &finder{symbols: newSymbols(), known: map[*block]*view{}, groups: map[identity]int32{}}
}

// use begins a read of blocks, of which it looks into so many at a time.
func (f *finder) use(blocks []*block, goroutines int, of *readMemory) {
	f.drawn, f.views = drawn{of: of}, nil
	n := max(1, min(goroutines, len(blocks)))
	f.scans = slices.Grow(f.scans[:0], n)[:n]
	for i := range f.scans {
		f.scans[i].drawn = drawn{of: of}
	}
	for i := range f.founds {
		f.founds[i].drawn = drawn{of: of}
	}
	for _, b := range blocks {
		v := f.known[b]
		if v == nil {
			n := len(b.files.index.symbols)
			v = &view{block: b, files: b.files, global: make([]uint32, n), sums: make([]uint64, n)}
			f.known[b] = v
		}
		f.views = append(f.views, v)
	}
}

// leave forgets what is as large as the series that were found last.
func (f *finder) leave() {
	for i := range f.scans {
		s := &f.scans[i]
		s.entries, s.local = nil, nil
		_ = s.draw()
	}
	f.groups = map[identity]int32{}
	_ = f.drawn.to(f.bytes())
}

// find fills out with the series of a selector in all blocks.
func (f *finder) find(ctx context.Context, i int, sel *promquery.Selector, out *found) error {
	matchers, err := compile(sel)
	if err != nil {
		return err
	}
	clear(f.groups)
	*out = found{i: i, sel: sel, heads: out.heads[:0], parts: out.parts[:0], keys: out.keys[:0], errs: make([]error, len(f.views)), drawn: out.drawn}
	f.found, f.cgroup = out, -1
	if sel.Cgroup != "" {
		f.cgroup = slices.Index(sel.Keep, sel.Cgroup)
	}
	var of []int // the blocks that can have samples
	for k, v := range f.views {
		if v.block.overlaps(sel.Start, sel.End) {
			of = append(of, k)
		}
	}
	for len(of) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(f.scans), len(of))
		var wait sync.WaitGroup
		for j := 1; j < n; j++ {
			wait.Go(func() { f.scans[j].run(f.views[of[j]], sel, matchers) })
		}
		f.scans[0].run(f.views[of[0]], sel, matchers)
		wait.Wait()
		for j, k := range of[:n] {
			out.errs[k] = f.join(int32(k), &f.scans[j])
			if err := cmp.Or(f.scans[j].refused, f.refused); err != nil {
				return err
			}
		}
		of = of[n:]
	}
	out.texts = f.symbols.texts // texts that are appended later lie beyond
	return nil
}

// scan looks up the series of a selector in one block.
type scan struct {
	entries  []entry
	local    []uint32    // of the entries' keys: symbols of the block
	pairs    [][2]uint32 // labels of the entry at hand
	matchers []match
	err      error // why the series after the entries cannot be read
	drawn    drawn
	refused  error // why memory for more entries was refused
}

// entry is a series of one block.
type entry struct {
	id       identity
	at       uint64 // of its list of chunks, in the index file
	localEnd int32  // of its part of local
	told     uint32 // the symbol of what tells series apart, or missing
}

// run collects the selector's series in one block.
func (s *scan) run(v *view, sel *promquery.Selector, matchers []match) {
	s.entries, s.local, s.matchers = s.entries[:0], s.local[:0], append(s.matchers[:0], matchers...)
	s.err = s.collect(v, sel)
	if s.refused == nil {
		s.refused = s.draw()
	}
}

func (s *scan) collect(v *view, sel *promquery.Selector) (err error) {
	defer recovered(&err)
	refs, err := v.index.postings(sel.Metric)
	if err != nil || len(refs) == 0 {
		return err
	}
	bind(s.matchers, v.index)
	wanted := roles(v.index, sel)
	name, _ := v.index.find(metric)
	for ; len(refs) >= 4; refs = refs[4:] {
		ref := uint32(refs[0])<<24 | uint32(refs[1])<<16 | uint32(refs[2])<<8 | uint32(refs[3])
		content, at, err := v.index.entry(ref)
		if err != nil {
			return err
		}
		keep := len(s.local)
		ok, err := s.add(v, sel, content, at, name, wanted)
		if !ok {
			s.local = s.local[:keep]
		}
		if err != nil {
			return err
		}
		if len(s.entries)%drawEvery == 0 {
			if s.refused = s.draw(); s.refused != nil {
				return nil
			}
		}
	}
	return nil
}

// add adds a series' entry if it matches. name is the symbol of __name__.
func (s *scan) add(v *view, sel *promquery.Selector, content []byte, at uint64, name uint32, wanted []role) (bool, error) {
	count, next, err := labelCount(content)
	if err != nil {
		return false, err
	}
	s.pairs = s.pairs[:0]
	met, w, key, told := uint64(0), 0, len(s.local), uint32(missing)
	for range sel.Keep {
		s.local = append(s.local, missing)
	}
	for range count {
		label, value, after, err := pair(content, next)
		if err != nil {
			return false, err
		}
		next = after
		s.pairs = append(s.pairs, [2]uint32{label, value})
		if sel.Keep == nil && label != name {
			s.local = append(s.local, label, value)
		}
		for w < len(wanted) && wanted[w].name < label {
			w++
		}
		for x := w; x < len(wanted) && wanted[x].name == label; x++ {
			if wanted[x].key >= 0 {
				s.local[key+wanted[x].key] = value
				continue
			}
			if wanted[x].told {
				told = value
				continue
			}
			m := wanted[x].matcher
			ok, err := s.matchers[m].holds(v.index, value)
			if err != nil || !ok {
				return false, err
			}
			met |= 1 << m
		}
	}
	for m := range s.matchers {
		if met&(1<<m) == 0 && !s.matchers[m].absent {
			return false, nil
		}
	}
	if meta := &v.block.meta; (meta.MinTime < sel.Start || meta.MaxTime > sel.End) && !hasChunk(content[next:], sel.Start, sel.End) {
		return false, nil
	}
	var id identity
	for _, label := range s.pairs {
		if err := id.addPair(v, label[0], label[1]); err != nil {
			return false, err
		}
	}
	s.entries = append(s.entries, entry{id, at + uint64(next), int32(len(s.local)), told})
	return true, nil
}

// missing stands for the value of a label that a series lacks.
const missing = 1<<32 - 1

// join adds the entries of a block to the series that they belong to. It returns why the following entries cannot be read.
func (f *finder) join(k int32, s *scan) error {
	from := int32(0)
	for i := range s.entries {
		e := &s.entries[i]
		if err := f.joinPart(f.views[k], e, s.local[from:e.localEnd], part{at: e.at, block: k, next: -1}); err != nil {
			return err
		}
		from = e.localEnd
		if i%drawEvery == 0 {
			if f.refused = f.draw(); f.refused != nil {
				return nil
			}
		}
	}
	f.refused = f.draw()
	return s.err
}

// joinPart adds a part to its series. Where that is new, its key is made of the block's symbols in local.
func (f *finder) joinPart(v *view, e *entry, local []uint32, p part) error {
	n := int32(len(f.parts))
	f.parts = append(f.parts, p)
	if at, ok := f.groups[e.id]; ok {
		s := &f.heads[at]
		f.parts[s.last].next, s.last = n, n
		return nil
	}
	head := series{first: n, last: n, keyAt: int32(len(f.keys)), keySize: int32(len(local))}
	if e.told != missing {
		text, err := v.index.text(e.told)
		if err != nil {
			return err
		}
		head.told = timeline.SeriesID(string(text))
	}
	for i, symbol := range local {
		number, err := uint32(0), error(nil)
		switch {
		case symbol == missing:
		case i == f.cgroup:
			number, err = v.uid(f.symbols, symbol)
		default:
			number, err = v.number(f.symbols, symbol)
		}
		if err != nil {
			return err
		}
		f.keys = append(f.keys, number)
	}
	f.groups[e.id] = int32(len(f.heads))
	f.heads = append(f.heads, head)
	return nil
}
