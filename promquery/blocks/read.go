package blocks

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// ctxEvery is how many series pass between looks at the context.
const ctxEvery = 64

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

// reader is one Select over the files of blocks that do not overlap.
type reader struct {
	views   []*view // oldest first
	symbols *symbols
	yield   chunks.Yield
	stats   promquery.Stats
	dec     chunks.Decoder
	key     []promquery.Symbol

	i       int // the selector's index
	sel     *promquery.Selector
	skipped chunks.Skipped
	damage  []damage // by block

	// The series of the selector: parts are their entries in blocks, chained; keys are symbols.
	groups map[identity]int32
	heads  []series
	parts  []part
	keys   []uint32
	local  []uint32 // of the entry at hand: symbols of its block
	list   []chunks.Encoded
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

// read answers the selectors.
func (s *snapshot) read(ctx context.Context, sels []promquery.Selector, yield chunks.Yield) (promquery.Stats, error) {
	r := &reader{symbols: newSymbols(), yield: yield, groups: map[identity]int32{}, damage: make([]damage, len(s.blocks))}
	for _, b := range s.blocks {
		n := len(b.files.index.symbols)
		r.views = append(r.views, &view{block: b, files: b.files, global: make([]uint32, n), sums: make([]uint64, n)})
	}
	for i := range sels {
		r.i, r.sel = i, &sels[i]
		err := r.readSelector(ctx)
		for k, b := range s.blocks {
			r.stats.Warnings = append(r.stats.Warnings, r.damage[k].warnings(b, r.sel.Metric)...)
			r.damage[k] = damage{}
		}
		r.stats.Warnings = append(r.stats.Warnings, r.skipped.Warnings(r.sel.Metric)...)
		r.skipped = chunks.Skipped{}
		if err != nil {
			return r.stats, err
		}
	}
	return r.stats, nil
}

// readSelector finds the series of the selector in all blocks, then decodes one after the other.
func (r *reader) readSelector(ctx context.Context) error {
	matchers, err := compile(r.sel)
	if err != nil {
		return err
	}
	clear(r.groups)
	r.heads, r.parts, r.keys = r.heads[:0], r.parts[:0], r.keys[:0]
	for k, v := range r.views {
		if err := ctx.Err(); err != nil {
			return err
		}
		if v.block.overlaps(r.sel.Start, r.sel.End) {
			r.damage[k].err = r.findSeries(int32(k), matchers)
		}
	}
	for n := range r.heads {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.readSeries(&r.heads[n]); err != nil {
			return err
		}
	}
	return nil
}

// findSeries adds the selector's series in one block. An error leaves out those that follow.
func (r *reader) findSeries(k int32, matchers []match) error {
	v := r.views[k]
	refs, err := v.index.postings(r.sel.Metric)
	if err != nil || len(refs) == 0 {
		return err
	}
	bind(matchers, v.index)
	wanted := roles(v.index, r.sel)
	name, _ := v.index.find(metric)
	for ; len(refs) >= 4; refs = refs[4:] {
		ref := uint32(refs[0])<<24 | uint32(refs[1])<<16 | uint32(refs[2])<<8 | uint32(refs[3])
		content, at, err := v.index.entry(ref)
		if err != nil {
			return err
		}
		if err := r.addSeries(k, content, at, name, wanted, matchers); err != nil {
			return err
		}
	}
	return nil
}

// addSeries adds a series' entry, if it matches, to the series it is a part of. name is the symbol of __name__.
func (r *reader) addSeries(k int32, content []byte, at uint64, name uint32, wanted []role, matchers []match) error {
	v := r.views[k]
	count, next, err := labelCount(content)
	if err != nil {
		return err
	}
	var id identity
	met, w := uint64(0), 0
	r.local = r.local[:0]
	for range r.sel.Keep {
		r.local = append(r.local, missing)
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
		if r.sel.Keep == nil && label != name {
			r.local = append(r.local, label, value)
		}
		for w < len(wanted) && wanted[w].name < label {
			w++
		}
		for x := w; x < len(wanted) && wanted[x].name == label; x++ {
			if wanted[x].key >= 0 {
				r.local[wanted[x].key] = value
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
	return r.join(v, id, part{at: at + uint64(next), block: k, next: -1})
}

// missing stands for the value of a label that a series lacks.
const missing = 1<<32 - 1

// join adds a part to its series. Where that is new, its key is made of the local symbols in r.local.
func (r *reader) join(v *view, id identity, p part) error {
	n := int32(len(r.parts))
	r.parts = append(r.parts, p)
	if at, ok := r.groups[id]; ok {
		s := &r.heads[at]
		r.parts[s.last].next, s.last = n, n
		return nil
	}
	keyAt := int32(len(r.keys))
	for _, local := range r.local {
		number := uint32(0)
		if local != missing {
			var err error
			if number, err = v.number(r.symbols, local); err != nil {
				return err
			}
		}
		r.keys = append(r.keys, number)
	}
	r.groups[id] = int32(len(r.heads))
	r.heads = append(r.heads, series{n, n, keyAt, int32(len(r.local))})
	return nil
}

// readSeries decodes the chunks of a series in all blocks and hands it over.
func (r *reader) readSeries(s *series) error {
	r.list = r.list[:0]
	for n := s.first; n >= 0; n = r.parts[n].next {
		p := &r.parts[n]
		files, d := r.views[p.block].files, &r.damage[p.block]
		bad := false
		err := eachChunk(files.index.data[p.at:], func(m chunkMeta) {
			if bad || m.mint > r.sel.End || m.maxt < r.sel.Start {
				return
			}
			c, err := files.segments.chunk(m.ref)
			if err != nil {
				bad = true
				d.add(err)
				return
			}
			c.MinTime, c.MaxTime = m.mint, m.maxt
			r.list = append(r.list, c)
			r.stats.Bytes += int64(len(c.Data))
		})
		if err != nil {
			d.add(err)
		}
	}
	r.key = r.key[:0]
	for _, id := range r.keys[s.keyAt : s.keyAt+s.keySize] {
		r.key = append(r.key, r.symbols.texts[id])
	}
	samples, err := r.dec.Hand(r.i, r.key, r.list, r.sel.Start, r.sel.End, r.skipped.Add, r.yield)
	r.stats.Count(samples)
	return err
}

// damage is what of a block could not be read for one metric. The zero value is none.
type damage struct {
	err      error // why the rest of the series cannot be read
	failed   int   // series with unreadable chunks
	chunkErr error // why the first of them is
}

// add counts a series whose chunks end at an unreadable one.
func (d *damage) add(err error) {
	if d.failed++; d.failed == 1 {
		d.chunkErr = err
	}
}

// warnings words what is missing of a metric.
func (d *damage) warnings(b *block, metric string) []string {
	span := fmt.Sprintf("between %s and %s", stamp(b.meta.MinTime), stamp(b.meta.MaxTime))
	const remedy = "restore the block from a copy or remove its directory"
	var out []string
	if d.err != nil {
		out = append(out, fmt.Sprintf("block %s: series of metric %s cannot be read: %s; samples %s are missing: %s", b.id, metric, oneLine(d.err), span, remedy))
	}
	if d.failed > 0 {
		out = append(out, fmt.Sprintf("block %s: chunks of %d series of metric %s cannot be read (first: %s); samples %s are missing: %s", b.id, d.failed, metric, oneLine(d.chunkErr), span, remedy))
	}
	return out
}
