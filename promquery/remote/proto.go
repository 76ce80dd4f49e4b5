package remote

import (
	"encoding/binary"

	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery/chunks"
)

// The protobuf wire types, and the fields of ChunkedReadResponse and ChunkedSeries.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5

	fieldSeries = 1
	fieldQuery  = 2
	fieldLabels = 1
	fieldChunks = 2
)

// fields walks the fields of a protobuf message in their order. It is a struct with a method rather than a function that
// calls back: the messages are small and many, and most of the time would go into the calls.
type fields struct {
	msg []byte
	pos int // of what follows the current field
	err error

	// The current field.
	num, wire uint64
	value     uint64 // of a varint
	data      []byte // of bytes; part of the message
}

// next goes to the next field and reports whether there is one.
func (f *fields) next() bool {
	if p := f.pos; p+3 <= len(f.msg) { // a tag of one byte and a length of one or two are what nearly all messages have
		tag, size, at := f.msg[p], int(f.msg[p+1]), p+2
		if size >= 0x80 {
			size, at = size&0x7f|int(f.msg[p+2])<<7, p+3
		}
		if tag < 0x80 && tag&7 == wireBytes && size < 0x80<<7 && size <= len(f.msg)-at {
			f.num, f.wire, f.data, f.pos = uint64(tag>>3), wireBytes, f.msg[at:at+size], at+size
			return true
		}
	}
	return f.nextOfAny()
}

// nextOfAny is next for fields of any kind and length.
func (f *fields) nextOfAny() bool {
	if f.pos >= len(f.msg) {
		return false
	}
	tag, ok := f.uvarint()
	if !ok {
		return false
	}
	f.num, f.wire = tag>>3, tag&7
	size := uint64(0) // of what is left of the field
	switch f.wire {
	case wireVarint:
		if f.value, ok = f.uvarint(); !ok {
			return false
		}
	case wire64:
		size = 8
	case wireBytes:
		if size, ok = f.uvarint(); !ok {
			return false
		}
	case wire32:
		size = 4
	default:
		f.err = errMessage
		return false
	}
	if size > uint64(len(f.msg)-f.pos) {
		f.err = errMessage
		return false
	}
	f.data = f.msg[f.pos : f.pos+int(size)]
	f.pos += int(size)
	return true
}

// uvarint reads a number; most are of one byte.
func (f *fields) uvarint() (uint64, bool) {
	if f.pos < len(f.msg) && f.msg[f.pos] < 0x80 {
		f.pos++
		return uint64(f.msg[f.pos-1]), true
	}
	v, n := binary.Uvarint(f.msg[f.pos:])
	if n <= 0 {
		f.err = errMessage
		return 0, false
	}
	f.pos += n
	return v, true
}

// bytes reports whether the current field is num and holds bytes.
func (f *fields) bytes(num uint64) bool { return f.num == num && f.wire == wireBytes }

// queryIndex returns which query of its request a ChunkedReadResponse answers.
func queryIndex(msg []byte) (int64, error) {
	index := int64(0)
	f := fields{msg: msg}
	for f.next() {
		if f.num == fieldQuery && f.wire == wireVarint {
			index = int64(f.value)
		}
	}
	return index, f.err
}

// The tags of a label's fields.
const (
	tagName  = 1<<3 | wireBytes
	tagValue = 2<<3 | wireBytes
)

// parseLabel reads the name and value of a label. Nearly all are a short name and a short value, in this order.
func parseLabel(msg []byte) (name, value []byte, err error) {
	const short = 0x80 // a length below it takes one byte
	if len(msg) > 2 && msg[0] == tagName && int(msg[1]) < min(len(msg)-3, short) {
		at := 2 + int(msg[1])
		if msg[at] == tagValue && msg[at+1] < short && int(msg[at+1]) == len(msg)-at-2 {
			return msg[2:at], msg[at+2:], nil
		}
	}
	return parseAnyLabel(msg)
}

// parseAnyLabel is parseLabel for fields of any length in any order.
func parseAnyLabel(msg []byte) (name, value []byte, err error) {
	f := fields{msg: msg}
	for f.next() {
		switch {
		case f.bytes(1):
			name = f.data
		case f.bytes(2):
			value = f.data
		}
	}
	return name, value, f.err
}

// The tags of a chunk's fields, in the order in which servers write them.
const (
	tagMinTime  = 1<<3 | wireVarint
	tagMaxTime  = 2<<3 | wireVarint
	tagEncoding = 3<<3 | wireVarint
	tagData     = 4<<3 | wireBytes
)

// parseChunk reads a chunk; its data is part of msg. A stream is mostly chunks, all with the same fields in the same order.
func parseChunk(msg []byte) (chunks.Encoded, error) {
	if len(msg) == 0 || msg[0] != tagMinTime {
		return parseAnyChunk(msg)
	}
	mint, n := binary.Uvarint(msg[1:])
	rest := msg[1+max(n, 0):]
	if n <= 0 || len(rest) == 0 || rest[0] != tagMaxTime {
		return parseAnyChunk(msg)
	}
	maxt, n := binary.Uvarint(rest[1:])
	rest = rest[1+max(n, 0):]
	if n <= 0 || len(rest) < 4 || rest[0] != tagEncoding || rest[1] >= 0x80 || rest[2] != tagData {
		return parseAnyChunk(msg)
	}
	encoding := chunkenc.Encoding(rest[1])
	size, n := binary.Uvarint(rest[3:])
	if n <= 0 || uint64(len(rest)-3-n) != size {
		return parseAnyChunk(msg)
	}
	return chunks.Encoded{Encoding: encoding, Data: rest[3+n:], MinTime: int64(mint), MaxTime: int64(maxt), Padded: true}, nil
}

// parseAnyChunk is parseChunk for fields in any order.
func parseAnyChunk(msg []byte) (c chunks.Encoded, err error) {
	c.Padded = true // see frameReader.next
	f := fields{msg: msg}
	for f.next() {
		switch {
		case f.bytes(4):
			c.Data = f.data
		case f.wire != wireVarint:
		case f.num == 1:
			c.MinTime = int64(f.value)
		case f.num == 2:
			c.MaxTime = int64(f.value)
		case f.num == 3:
			c.Encoding = chunkenc.Encoding(min(f.value, 255))
		}
	}
	return c, f.err
}
