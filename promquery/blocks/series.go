package blocks

import (
	"fmt"

	"github.com/prometheus/prometheus/tsdb/encoding"
)

// eachLabel calls f for the symbols of each label of a series' entry, and returns what follows the labels in the entry's content. f reports
// whether the block has these symbols.
func eachLabel(content []byte, f func(name, value uint64) bool) (rest []byte, err error) {
	d := encoding.Decbuf{B: content}
	for count := d.Uvarint64(); count > 0; count-- {
		name, value := d.Uvarint64(), d.Uvarint64()
		if d.Err() != nil || !f(name, value) {
			return nil, fmt.Errorf("%w: labels of a series", errMalformed)
		}
	}
	if d.Err() != nil {
		return nil, fmt.Errorf("%w: labels of a series", errMalformed)
	}
	return d.Get(), nil
}

// chunkMeta is the place and the time of a chunk.
type chunkMeta struct {
	ref        uint64
	mint, maxt int64
}

// hasChunk reports whether the chunks listed in content span any of the time from start to end, both inclusive. Where the list cannot be
// read, it may.
func hasChunk(content []byte, start, end int64) (found bool) {
	err := eachChunk(content, func(m chunkMeta) bool {
		found = m.mint <= end && m.maxt >= start
		return !found
	})
	return found || err != nil
}

// eachChunk calls f for the chunks listed in content, which is what follows an entry's labels, until f returns false. Times and places are
// written as their distance from those of the chunk before.
func eachChunk(content []byte, f func(chunkMeta) bool) error {
	d := encoding.Decbuf{B: content}
	var c chunkMeta
	for i, count := uint64(0), d.Uvarint64(); i < count; i++ {
		if i == 0 {
			c.mint = d.Varint64()
			c.maxt = c.mint + int64(d.Uvarint64())
			c.ref = d.Uvarint64()
		} else {
			c.mint = c.maxt + int64(d.Uvarint64())
			c.maxt = c.mint + int64(d.Uvarint64())
			c.ref += uint64(d.Varint64())
		}
		if d.Err() != nil {
			break
		}
		if !f(c) {
			return nil
		}
	}
	if d.Err() != nil {
		return fmt.Errorf("%w: chunks of a series", errMalformed)
	}
	return nil
}
