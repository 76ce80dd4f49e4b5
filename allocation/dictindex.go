package allocation

import (
	"hash/maphash"
	"slices"
)

// dictIndex finds ids by hashes of what they name. It has 8 to 16 bytes for each, and no pointers. The zero value is empty.
type dictIndex struct {
	slots []uint64 // a hash and an id each, 0 where there is none; their number is a power of two
	n     int      // of those that are not 0
}

// hashSeed makes hashes differ from process to process: nobody can choose names that collide. Ids do not depend on it.
var hashSeed = maphash.MakeSeed()

// find returns the id of a hash for which is holds, 0 if there is none.
func (x *dictIndex) find(hash uint32, is func(id ID) bool) ID {
	if x.n == 0 {
		return 0
	}
	mask := uint32(len(x.slots) - 1)
	for i := hash & mask; x.slots[i] != 0; i = (i + 1) & mask {
		if slot := x.slots[i]; uint32(slot>>32) == hash && is(ID(slot)) {
			return ID(slot)
		}
	}
	return 0
}

// add adds an id, not 0, that is not there.
func (x *dictIndex) add(hash uint32, id ID) {
	const least = 16
	if x.n++; 4*x.n > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint64, max(least, 2*len(old)))
		for _, slot := range old {
			if slot != 0 {
				x.put(slot)
			}
		}
	}
	x.put(uint64(hash)<<32 | uint64(id))
}

func (x *dictIndex) put(slot uint64) {
	mask := uint32(len(x.slots) - 1)
	i := uint32(slot>>32) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = slot
}

// clone returns a copy to which more can be added.
func (x *dictIndex) clone() dictIndex { return dictIndex{slices.Clone(x.slots), x.n} }

// table interns slices of T.
type table[T comparable] struct {
	all    []T      // one after the other
	ends   []uint32 // where each ends in all, by id
	index  dictIndex
	encode func(key []byte, x T) []byte // for hashes
	key    []byte                       // scratch space
}

func newTable[T comparable](encode func([]byte, T) []byte) table[T] {
	return table[T]{ends: make([]uint32, 1), encode: encode}
}

// row is the slice with an id. It must not be changed.
func (t *table[T]) row(id ID) []T {
	if id == 0 {
		return nil
	}
	from, to := t.ends[id-1], t.ends[id]
	return t.all[from:to:to]
}

// intern returns the id of row and keeps a copy of a new row.
func (t *table[T]) intern(row []T) ID {
	if len(row) == 0 {
		return 0
	}
	t.key = t.key[:0]
	for _, x := range row {
		t.key = t.encode(t.key, x)
	}
	hash := uint32(maphash.Bytes(hashSeed, t.key))
	id := t.index.find(hash, func(id ID) bool { return slices.Equal(t.row(id), row) })
	if id == 0 {
		id = ID(len(t.ends))
		t.all = append(t.all, row...)
		t.ends = append(t.ends, uint32(len(t.all)))
		t.index.add(hash, id)
	}
	return id
}

// clone returns a table with the same ids. Adding to either does not change the other.
func (t *table[T]) clone() table[T] {
	return table[T]{all: slices.Clip(t.all), ends: slices.Clip(t.ends), index: t.index.clone(), encode: t.encode}
}
