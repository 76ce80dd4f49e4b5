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

// parseLabel reads the name and value of a label.
func parseLabel(msg []byte) (name, value []byte, err error) {
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

// parseChunk reads a chunk; its data is part of msg.
func parseChunk(msg []byte) (c chunks.Encoded, err error) {
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
