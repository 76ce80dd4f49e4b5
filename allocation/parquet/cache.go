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

// columnCache caches decoded columns of strings. While the pods of a cluster do not change, the files of two hours have the same bytes
// in these columns, which are decoded once. There is room for the files of a few clusters that are read in turn. The zero value is
// ready for use. It is safe for concurrent use.
type columnCache struct {
	mu     sync.Mutex
	byName map[string]*columnsOfName
	bytes  int // of all columns
}

// columnsOfName are the cached columns of a name. The one at next is the oldest.
type columnsOfName struct {
	columns [8]cachedColumn
	next    int
}

// cachedColumn is a column of a file that was read.
type cachedColumn struct {
	from  pageForm
	sum   uint32 // of the pages
	pages []byte
	leaf  *leaf // the decoded pages, which nobody may change; nil if they were seen only once and are not cached yet
}

// pageForm says how to read the pages of a column.
type pageForm struct {
	kind                   parquet.Kind
	repetition, definition int
	rows                   int         // of the file
	chunk                  chunkLayout // without its offsets
}

// maxCachedBytes bounds the pages of a cached column and their decoded values, and maxCacheBytes the whole cache.
const (
	maxCachedBytes = 1 << 20
	maxCacheBytes  = 16 << 20
)

// cacheable returns the pages of a column that may be cached: a column of strings that is not too large. For others it returns nil.
func (c *leafColumn) cacheable() (from pageForm, pages []byte) {
	pages = c.pages()
	if len(pages) == 0 || len(pages) > maxCachedBytes || c.at.kind != parquet.ByteArray && c.at.kind != parquet.FixedLenByteArray {
		return from, nil
	}
	from = pageForm{c.at.kind, c.at.repetition, c.at.definition, c.rows, c.at.chunks[0]}
	from.chunk.data, from.chunk.dictionary = 0, 0
	return from, pages
}

// cached returns the column from the cache. It decodes and caches a column that is seen for the second time, and returns nil for one
// that is seen for the first time.
func (c *leafColumn) cached(r *reader) (*leaf, error) {
	from, pages := c.cacheable()
	if pages == nil {
		return nil, nil
	}
	if was := r.cache.get(c.name, func(k *cachedColumn) bool { return k.leaf != nil && k.from == from && bytes.Equal(k.pages, pages) }); was != nil {
		return was, nil
	}
	now := cachedColumn{from: from, sum: crc32.ChecksumIEEE(pages)}
	if !r.cache.remember(c.name, now) {
		return nil, nil
	}
	l, b := &leaf{interned: &atomic.Pointer[internedMaps]{}}, newBudget(len(c.data))
	err := c.read(r, &b, l, everyRow)
	if err != nil {
		return nil, err
	}
	if c.at.repetition > 0 {
		l.runs, _ = l.ends(nil, c.rows, len(l.idx)) // later calls of ends return the error
	}
	if l.bytes() <= maxCachedBytes {
		now.pages, now.leaf = slices.Clone(pages), l
		r.cache.put(c.name, now)
	}
	return l, nil
}

// get returns the leaf of the first column that matches as, nil if there is none.
func (k *columnCache) get(name string, as func(*cachedColumn) bool) *leaf {
	k.mu.Lock()
	defer k.mu.Unlock()
	if of := k.byName[name]; of != nil {
		if i := slices.IndexFunc(of.columns[:], func(c cachedColumn) bool { return as(&c) }); i >= 0 {
			return of.columns[i].leaf
		}
	}
	return nil
}

// remember records a column, and reports whether it was recorded before.
func (k *columnCache) remember(name string, c cachedColumn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := k.named(name)
	if of.find(&c) >= 0 {
		return true
	}
	k.bytes -= of.columns[of.next].bytes()
	of.columns[of.next] = c
	of.next = (of.next + 1) % len(of.columns)
	return false
}

// put caches a column that is recorded. If the cache would become too large, it is emptied first.
func (k *columnCache) put(name string, c cachedColumn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bytes+c.bytes() > maxCacheBytes {
		k.byName, k.bytes = nil, 0
	}
	of := k.named(name)
	i := of.find(&c)
	if i < 0 {
		i, of.next = of.next, (of.next+1)%len(of.columns)
	}
	k.bytes += c.bytes() - of.columns[i].bytes()
	of.columns[i] = c
}

// named returns the cached columns of a name.
func (k *columnCache) named(name string) *columnsOfName {
	if k.byName == nil {
		k.byName = map[string]*columnsOfName{}
	}
	of := k.byName[name]
	if of == nil {
		of = &columnsOfName{}
		k.byName[name] = of
	}
	return of
}

// find returns the index of the column with the same form and sum, below 0 if there is none.
func (k *columnsOfName) find(c *cachedColumn) int {
	return slices.IndexFunc(k.columns[:], func(was cachedColumn) bool { return was.from == c.from && was.sum == c.sum })
}

// bytes is the memory that a column takes.
func (c *cachedColumn) bytes() int {
	if c.leaf == nil {
		return 0
	}
	return len(c.pages) + c.leaf.bytes()
}

// bytes is the memory of a leaf of strings.
func (l *leaf) bytes() int {
	return cap(l.repetition) + cap(l.definition) + 4*cap(l.idx) + cap(l.table.data) + 4*cap(l.table.ends) + 4*cap(l.runs) + cap(l.fixed)
}

// internedMaps has the ids of a cached column of maps in a Dict, which may have been collected. keys is the column of the maps' keys.
type internedMaps struct {
	dict weak.Pointer[allocation.Dict]
	keys *leaf
	ids  []allocation.ID
}

// intern returns the ids of the rows' maps. If both columns are cached, the ids may be, too.
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
