package parquet

import (
	"bytes"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// keptColumns are columns of names as they were decoded last: of a cluster whose pods stay as they are, what an hour says of
// them is stored byte for byte as in the hour before. Files of a few clusters may be read in turn. Their zero value is ready for
// use. They are safe for concurrent use.
type keptColumns struct {
	mu     sync.Mutex
	byName map[string]*keptOfName
	bytes  int // of all
}

// keptOfName are columns of a name; the one at next is the oldest.
type keptOfName struct {
	columns [8]keptColumn
	next    int
}

// keptColumn is a column of a file that was read.
type keptColumn struct {
	from  stored
	sum   uint32 // of the pages
	pages []byte
	leaf  *leaf // of the pages, which nobody may change; nil where they were seen once, and not kept yet
}

// stored is how the pages of a column are to be read.
type stored struct {
	kind                   parquet.Kind
	repetition, definition int
	rows                   int         // of the file
	chunk                  chunkLayout // wherever it begins
}

// maxKeptBytes bounds what is kept of a column: its pages, and what they are decoded; maxAllKept what is kept in all.
const (
	maxKeptBytes = 1 << 20
	maxAllKept   = 16 << 20
)

// names are the pages of a column of names that may be kept; nil of others.
func (c *leafColumn) names() (from stored, pages []byte) {
	pages = c.pages()
	if len(pages) == 0 || len(pages) > maxKeptBytes || c.at.kind != parquet.ByteArray && c.at.kind != parquet.FixedLenByteArray {
		return from, nil
	}
	from = stored{c.at.kind, c.at.repetition, c.at.definition, c.rows, c.at.chunks[0]}
	from.chunk.data, from.chunk.dictionary = 0, 0
	return from, pages
}

// keep is the column as it was decoded before, or now, if it is the same for the second time; nil where it is not, and is to be
// read where it is needed only.
func (c *leafColumn) keep(r *reader) (*leaf, error) {
	from, pages := c.names()
	if pages == nil {
		return nil, nil
	}
	if was := r.kept.get(c.name, func(k *keptColumn) bool { return k.leaf != nil && k.from == from && bytes.Equal(k.pages, pages) }); was != nil {
		return was, nil
	}
	now := keptColumn{from: from, sum: crc32.ChecksumIEEE(pages)}
	if !r.kept.seen(c.name, now) {
		return nil, nil
	}
	l, b := &leaf{interned: &atomic.Pointer[internedMaps]{}}, newBudget(len(c.data))
	err := c.read(r, &b, l, everyRow)
	if err != nil {
		return nil, err
	}
	if c.at.repetition > 0 {
		l.runs, _ = l.ends(nil, c.rows, len(l.idx)) // who asks for them is told what is wrong
	}
	if l.bytes() <= maxKeptBytes {
		now.pages, now.leaf = slices.Clone(pages), l
		r.kept.put(c.name, now)
	}
	return l, nil
}

// get is the leaf of a column that is as asked for, nil if there is none.
func (k *keptColumns) get(name string, as func(*keptColumn) bool) *leaf {
	k.mu.Lock()
	defer k.mu.Unlock()
	if of := k.byName[name]; of != nil {
		if i := slices.IndexFunc(of.columns[:], func(c keptColumn) bool { return as(&c) }); i >= 0 {
			return of.columns[i].leaf
		}
	}
	return nil
}

// seen reports whether a column was seen before, and notes it.
func (k *keptColumns) seen(name string, c keptColumn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := k.of(name)
	if of.find(&c) >= 0 {
		return true
	}
	k.bytes -= of.columns[of.next].bytes()
	of.columns[of.next] = c
	of.next = (of.next + 1) % len(of.columns)
	return false
}

// put keeps a column that was seen. Where that is too much in all, nothing else is kept any more.
func (k *keptColumns) put(name string, c keptColumn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bytes+c.bytes() > maxAllKept {
		k.byName, k.bytes = nil, 0
	}
	of := k.of(name)
	i := of.find(&c)
	if i < 0 {
		i, of.next = of.next, (of.next+1)%len(of.columns)
	}
	k.bytes += c.bytes() - of.columns[i].bytes()
	of.columns[i] = c
}

// of are the columns of a name.
func (k *keptColumns) of(name string) *keptOfName {
	if k.byName == nil {
		k.byName = map[string]*keptOfName{}
	}
	of := k.byName[name]
	if of == nil {
		of = &keptOfName{}
		k.byName[name] = of
	}
	return of
}

// find is where a column is that is stored as another is.
func (k *keptOfName) find(c *keptColumn) int {
	return slices.IndexFunc(k.columns[:], func(was keptColumn) bool { return was.from == c.from && was.sum == c.sum })
}

// bytes is the memory that a column takes.
func (c *keptColumn) bytes() int {
	if c.leaf == nil {
		return 0
	}
	return len(c.pages) + c.leaf.bytes()
}

// bytes is the memory of a leaf of names.
func (l *leaf) bytes() int {
	return cap(l.repetition) + cap(l.definition) + 4*cap(l.idx) + cap(l.table.data) + 4*cap(l.table.ends) + 4*cap(l.runs) + cap(l.fixed)
}

// internedMaps are the ids that rows of maps have in a Dict, which may be gone, with keys that are kept too.
type internedMaps struct {
	dict weak.Pointer[allocation.Dict]
	keys *leaf
	ids  []allocation.ID
}

// intern gives the maps of the rows their ids: where both columns are kept, those they have already.
func (m *mapLeaf) intern(dict *allocation.Dict) []allocation.ID {
	if m.values.interned == nil || m.keys.interned == nil {
		return m.internMaps(dict)
	}
	if was := m.values.interned.Load(); was != nil && was.keys == m.keys && len(was.ids) == len(m.ends) && was.dict.Value() == dict {
		return slices.Clone(was.ids)
	}
	ids := m.internMaps(dict)
	m.values.interned.Store(&internedMaps{weak.Make(dict), m.keys, slices.Clone(ids)})
	return ids
}
