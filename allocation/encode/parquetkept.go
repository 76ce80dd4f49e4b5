package encode

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
// them is stored byte for byte as in the hour before. Their zero value is ready for use. They are safe for concurrent use.
type keptColumns struct {
	mu     sync.Mutex
	byName map[string]keptColumn
}

// keptColumn is a column of the file that was read last.
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

// maxKeptBytes bounds what is kept of a column: its pages, and what they are decoded.
const maxKeptBytes = 1 << 20

// names are the pages of a column of names that may be kept; nil of others.
func (c *leafColumn) names() (from stored, pages []byte) {
	pages = c.pages()
	if !c.kept || len(pages) < fewBytes || len(pages) > maxKeptBytes || c.at.kind != parquet.ByteArray && c.at.kind != parquet.FixedLenByteArray {
		return from, nil
	}
	from = stored{c.at.kind, c.at.repetition, c.at.definition, c.rows, c.at.chunks[0]}
	from.chunk.data, from.chunk.dictionary = 0, 0
	return from, pages
}

// keep is the column as it was decoded before, or now, if it is the same for the second time; nil where it is not, and is to be
// read where it is needed only.
func (c *leafColumn) keep(r *parquetReader) (*leaf, error) {
	from, pages := c.names()
	if pages == nil {
		return nil, nil
	}
	was := r.kept.get(c.name)
	if was.from == from && was.leaf != nil && bytes.Equal(was.pages, pages) {
		return was.leaf, nil
	}
	now := keptColumn{from: from, sum: crc32.ChecksumIEEE(pages)}
	if was.from == from && was.leaf == nil && was.sum == now.sum {
		l, b := &leaf{interned: &atomic.Pointer[internedMaps]{}}, newBudget(len(c.data))
		if err := c.read(r, &b, l, everyRow); err != nil {
			return nil, err
		}
		if l.bytes() > maxKeptBytes {
			return l, nil
		}
		now.pages, now.leaf = slices.Clone(pages), l
	}
	r.kept.put(c.name, now)
	return now.leaf, nil
}

func (k *keptColumns) get(name string) keptColumn {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byName[name]
}

func (k *keptColumns) put(name string, c keptColumn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byName == nil {
		k.byName = map[string]keptColumn{}
	}
	k.byName[name] = c
}

// bytes is the memory of a leaf of names.
func (l *leaf) bytes() int {
	return cap(l.repetition) + cap(l.definition) + 4*cap(l.idx) + cap(l.table.data) + 4*cap(l.table.ends) + cap(l.fixed)
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
