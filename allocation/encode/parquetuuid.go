package encode

import "github.com/parquet-go/parquet-go"

// uuidBytes are the bytes of a UUID.
const uuidBytes = 16

// uuidOf is the UUID that a text is the canonical form of.
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

// nibble is the value of a digit, as UUIDs have them, or -1.
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

// uuidColumns are two columns of ids: of those that are UUIDs, and of those that are something else. Both are null where
// an id is empty.
func uuidColumns(name, other string, n int, text func(row int) string) []column {
	node := parquet.UUID() // byte by byte they would take a twentieth less, but DuckDB does not read that
	if fewer(n, repeatedUUIDs, text) {
		node = parquet.Encoded(node, &parquet.RLEDictionary)
	}
	return []column{
		{name, parquet.Optional(node), []func(*leafWriter) error{maybeRows(n, func(row int) (parquet.Value, bool) {
			id, ok := uuidOf(text(row))
			return parquet.FixedLenByteArrayValue(id[:]), ok
		})}},
		{other, parquet.Optional(textNode()), []func(*leafWriter) error{maybeRows(n, func(row int) (parquet.Value, bool) {
			t := text(row)
			_, is := uuidOf(t)
			return parquet.ByteArrayValue([]byte(t)), t != "" && !is
		})}},
	}
}

// repeatedUUIDs is the part of rows that may have different ones for their numbers to be worth their bytes.
const repeatedUUIDs = 0.75
