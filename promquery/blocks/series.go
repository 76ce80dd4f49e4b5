package blocks

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// labelCount is the number of labels at the head of an entry's content; next is the offset of the first.
func labelCount(content []byte) (count uint64, next int, err error) {
	count, next = uvarint(content)
	if next <= 0 || count > uint64(len(content)) {
		return 0, 0, fmt.Errorf("%w: labels of a series", errMalformed)
	}
	return count, next, nil
}

// short is the varint of at most four bytes that x begins with, the lowest byte first, and its length; 0 where it is longer.
func short(x uint32) (v uint32, size uint) {
	switch {
	case x&0x80 == 0:
		return x & 0x7f, 1
	case x&0x8000 == 0:
		return x&0x7f | x>>1&0x3f80, 2
	case x&0x800000 == 0:
		return x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000, 3
	case x&0x80000000 == 0:
		return x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000 | x>>3&0xfe00000, 4
	}
	return 0, 0
}

// labelAt are the symbols of the label that content begins with, and its size; 0 where it is malformed.
func labelAt(content []byte) (name, value uint32, size int) {
	if len(content) >= 8 { // two varints of at most four bytes, mostly. A branch for each length would often be mispredicted.
		w := binary.LittleEndian.Uint64(content)
		ends := ^w & 0x8080808080808080 // the highest bits of the last bytes of varints
		n := bits.TrailingZeros64(ends) + 1
		end := bits.TrailingZeros64(ends&(ends-1)) + 1
		if n <= 32 && end <= n+32 {
			x := w&(1<<n-1) | w&(1<<end-1)>>n<<32 // each in a half; then their digits of seven bits are joined
			x = x&0x7f_0000007f | x>>1&0x3f80_00003f80 | x>>2&0x1fc000_001fc000 | x>>3&0xfe00000_0fe00000
			return uint32(x), uint32(x >> 32), end / 8
		}
	}
	a, n := binary.Uvarint(content)
	if n <= 0 || a >= 1<<32 {
		return 0, 0, 0
	}
	b, k := binary.Uvarint(content[n:])
	if k <= 0 || b >= 1<<32 {
		return 0, 0, 0
	}
	return uint32(a), uint32(b), n + k
}

// afterLabels is what follows the labels in an entry's content; false if the entry ends before. It does not read the labels but counts the
// last bytes of varints: where a window only touches a block, many series have no sample in the window, and nobody needs their labels.
func afterLabels(content []byte) (rest []byte, ok bool) {
	count, at, err := labelCount(content)
	if err != nil {
		return nil, false
	}
	left := 2 * int(count) // varints
	for ; left > 0 && at+8 <= len(content); at += 8 {
		ends := ^binary.LittleEndian.Uint64(content[at:]) & 0x8080808080808080
		n := bits.OnesCount64(ends)
		if n >= left {
			for ; left > 1; left-- {
				ends &= ends - 1
			}
			return content[at+bits.TrailingZeros64(ends)/8+1:], true
		}
		left -= n
	}
	for ; left > 0 && at < len(content); at++ {
		if content[at] < 0x80 {
			left--
		}
	}
	return content[at:], left == 0
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

// eachChunk calls f for the chunks listed in content, which is what follows an entry's labels, until f returns false.
func eachChunk(content []byte, f func(chunkMeta) bool) error {
	count, at := uvarint(content)
	if at <= 0 {
		return fmt.Errorf("%w: chunks of a series", errMalformed)
	}
	var c chunkMeta
	for i := range count {
		if i > 0 && at+12 <= len(content) {
			rest := content[at:][:12]
			d, n := short(binary.LittleEndian.Uint32(rest))
			length, m := short(binary.LittleEndian.Uint32(rest[n:]))
			r, k := short(binary.LittleEndian.Uint32(rest[n+m:]))
			if n > 0 && m > 0 && k > 0 { // mostly
				start := c.maxt + int64(d)
				c = chunkMeta{uint64(int64(c.ref) + int64(int32(r>>1)^-int32(r&1))), start, start + int64(length)}
				at += int(n + m + k)
				if !f(c) {
					return nil
				}
				continue
			}
		}
		var start, ref int64
		var n, m, k int
		if i == 0 {
			start, n = binary.Varint(content[at:])
		} else {
			var d uint64
			d, n = uvarint(content[at:])
			start = c.maxt + int64(d)
		}
		if n <= 0 {
			return fmt.Errorf("%w: chunks of a series", errMalformed)
		}
		length, m := uvarint(content[at+n:])
		if m <= 0 {
			return fmt.Errorf("%w: chunks of a series", errMalformed)
		}
		if i == 0 {
			var r uint64
			r, k = uvarint(content[at+n+m:])
			ref = int64(r)
		} else {
			var r uint64
			r, k = uvarint(content[at+n+m:])
			ref = int64(c.ref) + (int64(r>>1) ^ -int64(r&1)) // as binary.Varint
		}
		if k <= 0 {
			return fmt.Errorf("%w: chunks of a series", errMalformed)
		}
		at += n + m + k
		c = chunkMeta{uint64(ref), start, start + int64(length)}
		if !f(c) {
			return nil
		}
	}
	return nil
}
