package encode

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// lateOf gives a frame the properties that get ids where they are needed, and says which these are.
func (d *Decoded) lateOf(f *allocation.Frame) (late [allocation.NumProperties]bool) {
	for _, p := range d.late {
		switch {
		case p.IsMap():
			if d.maps[p] != nil {
				f.Late[p] = d.maps[p].late()
			}
		case p.IsList():
			if d.list != nil {
				f.Late[p] = d.list.late()
			}
		case p == allocation.PodUID && d.uuids != nil:
			f.Late[p] = d.uuids
		case d.texts[p] != nil:
			f.Late[p] = lateTexts{d.texts[p]}
		}
		late[p] = f.Late[p] != nil
	}
	return late
}

// lateTexts are strings that have no ids yet.
type lateTexts struct{ *leaf }

// Same implements allocation.Late.
func (l lateTexts) Same(a, b int) bool { return sameAt(l.leaf, int32(a), int32(b)) }

// ID implements allocation.Late.
func (l lateTexts) ID(d *allocation.Dict, row int) allocation.ID { return d.Add(l.table[l.idx[row]]) }

// sameAt reports whether two values of a leaf are the same. A table may have a string more than once.
func sameAt(l *leaf, a, b int32) bool {
	x, y := l.idx[a], l.idx[b]
	return x == y || l.table[x] == l.table[y]
}

// within are the elements of a row.
func within(ends []int32, row int) (from, to int32) {
	if row > 0 {
		from = ends[row-1]
	}
	return from, ends[row]
}

func (l *listLeaf) late() *lateRuns { return &lateRuns{l.ends, []*leaf{l.leaf}, l.add} }

func (m *mapLeaf) late() *lateRuns { return &lateRuns{m.ends, []*leaf{m.keys, m.values}, m.add} }

// lateRuns are lists or maps that have no ids yet: each row is a run of elements, which all leaves have.
type lateRuns struct {
	ends   []int32
	leaves []*leaf
	add    func(d *allocation.Dict, from, to int32) allocation.ID
}

// Same implements allocation.Late. Keys of maps are sorted, as they were written.
func (l *lateRuns) Same(a, b int) bool {
	from, to := within(l.ends, a)
	other, end := within(l.ends, b)
	if to-from != end-other {
		return false
	}
	for _, leaf := range l.leaves {
		for i := range to - from {
			if !sameAt(leaf, from+i, other+i) {
				return false
			}
		}
	}
	return true
}

// ID implements allocation.Late.
func (l *lateRuns) ID(d *allocation.Dict, row int) allocation.ID {
	from, to := within(l.ends, row)
	if from == to {
		return 0
	}
	return l.add(d, from, to)
}

// lateUUIDs are ids of pods that are not even texts yet.
type lateUUIDs struct {
	fixed []byte
	at    []int32 // of each row in fixed, from 1; 0 where it has none
}

// lateUIDs reads the ids of pods as UUIDs where all are; else as texts.
func (f *ParquetFile) lateUIDs() (*lateUUIDs, *leaf, error) {
	if others, ok, err := f.leaf(parquet.ByteArray, otherUIDs); err != nil || ok && len(others.idx) > 0 {
		texts, other := f.uids()
		return nil, texts, errors.Join(err, other)
	}
	l, err := f.uuids()
	if err != nil || l == nil {
		return nil, nil, err
	}
	u, next := &lateUUIDs{l.fixed, make([]int32, len(l.definition))}, int32(0)
	for row, level := range l.definition {
		if level > 0 {
			next++
			u.at[row] = next
		}
	}
	if int(next)*uuidBytes != len(l.fixed) {
		return nil, nil, fmt.Errorf("column %s: it has not as many values as its levels say", propertyFields[allocation.PodUID])
	}
	return u, nil, nil
}

func (u *lateUUIDs) of(row int) []byte {
	end := uuidBytes * int(u.at[row])
	return u.fixed[max(0, end-uuidBytes):end]
}

// Same implements allocation.Late.
func (u *lateUUIDs) Same(a, b int) bool { return bytes.Equal(u.of(a), u.of(b)) }

// ID implements allocation.Late.
func (u *lateUUIDs) ID(d *allocation.Dict, row int) allocation.ID {
	if u.at[row] == 0 {
		return 0
	}
	return d.Add(string(appendUUID(nil, u.of(row))))
}
