package parquet

import (
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// uuidBytes is the size of a UUID.
const uuidBytes = 16

// uuidOf returns the UUID of a text. ok is false if the text is not the canonical form of one.
func uuidOf(text string) (id [uuidBytes]byte, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, false
	}
	at := 0
	for i := range id {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		high, low := nibble(text[at]), nibble(text[at+1])
		if high < 0 || low < 0 {
			return id, false
		}
		id[i], at = byte(high<<4|low), at+2
	}
	return id, true
}

// nibble is the value of a lower-case hexadecimal digit, or -1.
func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// appendUUID appends the canonical form of a UUID.
func appendUUID(dst, id []byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// uuidColumns returns two columns of ids: one for UUIDs, and one for other texts. Both are null if an id is empty.
func uuidColumns(name, other string, text func(row int) string) []Column {
	return []Column{
		optional(name, parquet.UUID(), func(row int) parquet.Value {
			id, ok := uuidOf(text(row))
			return orNull(parquet.FixedLenByteArrayValue(id[:]), ok)
		}),
		optional(other, parquet.String(), func(row int) parquet.Value {
			t := text(row)
			_, ok := uuidOf(t)
			return orNull(textValue(t), !ok && t != "")
		}),
	}
}

// uuids reads the ids of pods that are UUIDs. It returns nil if the file has no ids.
func (f *File) uuids() (*leaf, error) {
	l, ok, err := f.leaf(parquet.FixedLenByteArray, allocation.PodUID.Field())
	if err != nil || !ok {
		return nil, err
	}
	if len(l.definition) != f.Rows || len(l.fixed)%uuidBytes != 0 {
		return nil, fmt.Errorf("column %s: it has %d values of %d rows", allocation.PodUID.Field(), len(l.definition), f.Rows)
	}
	return l, nil
}

// uids reads the ids of pods as strings: UUIDs and others.
func (f *File) uids() (*leaf, error) {
	l, err := f.uuids()
	if err != nil || l == nil {
		return nil, err
	}
	ids, err := l.texts(len(l.fixed)/uuidBytes, func(dst []byte, i int) []byte { return appendUUID(dst, l.fixed[uuidBytes*i:uuidBytes*(i+1)]) })
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", allocation.PodUID.Field(), err)
	}
	others, ok, err := f.leaf(parquet.ByteArray, otherUIDs)
	if err != nil || !ok || len(others.idx) == 0 {
		return ids, err
	}
	if len(others.definition) != f.Rows {
		return nil, fmt.Errorf("column %s: it has %d values of %d rows", otherUIDs, len(others.definition), f.Rows)
	}
	base, next := int32(len(ids.table.ends)), 0
	for i := range others.table.ends {
		ids.table.data = append(ids.table.data, others.table.text(int32(i))...)
		if err := ids.table.end(); err != nil {
			return nil, fmt.Errorf("column %s: %w", otherUIDs, err)
		}
	}
	for row, level := range others.definition {
		if level == 0 {
			continue
		}
		if next >= len(others.idx) {
			return nil, fmt.Errorf("column %s: %w", otherUIDs, errShort)
		}
		ids.idx[row] = base + others.idx[next]
		next++
	}
	return ids, nil
}
