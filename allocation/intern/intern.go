// Package intern gives equal texts and slices one number each, in the order in which they come. It takes little memory and has few
// pointers: allocation.Dict is made of it.
package intern

import (
	"hash/maphash"
	"slices"
)

// Index finds numbers, from 1 on, by hashes of what they stand for. It has 8 to 16 bytes for each, and no pointers. The zero value is
// empty.
type Index struct {
	slots []uint64 // a hash and an id each, 0 where there is none; their number is a power of two
	n     int      // of those that are not 0
}

// seed makes hashes differ from process to process: nobody can choose texts that collide. Numbers do not depend on it.
var seed = maphash.MakeSeed()

// Hash is the hash of a text for an Index.
func Hash(text string) uint32 { return uint32(maphash.String(seed, text)) }

// HashBytes is Hash of a text in bytes.
func HashBytes(text []byte) uint32 { return uint32(maphash.Bytes(seed, text)) }

// Find returns the number of a hash for which is holds, 0 if there is none.
func (x *Index) Find(hash uint32, is func(id uint32) bool) uint32 {
	if x.n == 0 {
		return 0
	}
	mask := uint32(len(x.slots) - 1)
	for i := hash & mask; x.slots[i] != 0; i = (i + 1) & mask {
		if slot := x.slots[i]; uint32(slot>>32) == hash && is(uint32(slot)) {
			return uint32(slot)
		}
	}
	return 0
}

// Add adds a number, not 0, that is not there.
func (x *Index) Add(hash, id uint32) {
	const least = 16
	if x.n++; 4*x.n > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint64, max(least, 2*len(old)))
		clear(x.slots) // pages of fresh memory that are read first cost two faults each
		for _, slot := range old {
			if slot != 0 {
				x.put(slot)
			}
		}
	}
	x.put(uint64(hash)<<32 | uint64(id))
}

func (x *Index) put(slot uint64) {
	mask := uint32(len(x.slots) - 1)
	i := uint32(slot>>32) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = slot
}

// Clone returns a copy to which more can be added.
func (x *Index) Clone() Index { return Index{slices.Clone(x.slots), x.n} }

// Table interns slices of T. The empty slice has the number 0.
type Table[T comparable] struct {
	pages  [][]T // slices, one after the other; none is moved when there are more
	places []place
	n      int // elements of all pages
	index  Index
	encode func(key []byte, x T) []byte // for hashes
	key    []byte                       // scratch space
}

// place is where a slice is.
type place struct{ page, from, to uint32 }

// mostOfPage is how many elements a page has room for at most, unless a single slice is longer.
const mostOfPage = 1 << 14

// NewTable returns a Table with the empty slice. encode appends to key the bytes of x that hashes are made of.
func NewTable[T comparable](encode func(key []byte, x T) []byte) Table[T] {
	return Table[T]{places: make([]place, 1), encode: encode}
}

// Len is one more than the highest number.
func (t *Table[T]) Len() int { return len(t.places) }

// Cap is how many elements there is memory for.
func (t *Table[T]) Cap() (n int) {
	for _, page := range t.pages {
		n += cap(page)
	}
	return n
}

// Row is the slice with a number. It must not be changed.
func (t *Table[T]) Row(id uint32) []T {
	if id == 0 {
		return nil
	}
	x := &t.places[id]
	return t.pages[x.page][x.from:x.to:x.to]
}

// Intern returns the number of row and keeps a copy of a new row.
func (t *Table[T]) Intern(row []T) uint32 {
	if len(row) == 0 {
		return 0
	}
	t.key = t.key[:0]
	for _, x := range row {
		t.key = t.encode(t.key, x)
	}
	hash := HashBytes(t.key)
	id := t.index.Find(hash, func(id uint32) bool { return slices.Equal(t.Row(id), row) })
	if id == 0 {
		id = uint32(len(t.places))
		t.places = append(t.places, t.put(row))
		t.index.Add(hash, id)
	}
	return id
}

// put copies row to the last page, or to a new page if the last has no room. The first pages are small.
func (t *Table[T]) put(row []T) place {
	last := len(t.pages) - 1
	if last < 0 || cap(t.pages[last])-len(t.pages[last]) < len(row) {
		const least = 16
		last++
		t.pages = append(t.pages, make([]T, 0, max(len(row), min(max(t.n, least), mostOfPage))))
	}
	from := len(t.pages[last])
	t.pages[last] = append(t.pages[last], row...)
	t.n += len(row)
	return place{uint32(last), uint32(from), uint32(from + len(row))}
}

// Clone returns a table with the same numbers. To add to either does not change the other.
func (t *Table[T]) Clone() Table[T] {
	pages := slices.Clone(t.pages)
	if n := len(pages); n > 0 {
		pages[n-1] = slices.Clip(pages[n-1])
	}
	return Table[T]{pages: pages, places: slices.Clip(t.places), n: t.n, index: t.index.Clone(), encode: t.encode}
}
