package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// add appends n strings that are stored one after another, each after its length.
func (t *texts) add(data []byte, n int) error {
	if n > len(data)/4 {
		return errShort
	}
	out, ends := t.data, slices.Grow(t.ends, n) // local, so that no pointer is written for each string
	for range n {
		if len(data) < 4 {
			return errShort
		}
		size := int(binary.LittleEndian.Uint32(data))
		if data = data[4:]; size > len(data) {
			return errShort
		}
		out, data = append(out, data[:size]...), data[size:]
		ends = append(ends, int32(len(out)))
	}
	t.data, t.ends = out, ends
	return t.limit()
}

// addPrefixed appends the first wanted of n strings. Each is stored as the length of the prefix that it shares with the string before,
// and the rest. memory is scratch.
func (t *texts) addPrefixed(data []byte, n, wanted int, b *budget, memory *[2][]int64) (err error) {
	for i := range memory {
		if memory[i], data, err = appendDeltas(memory[i][:0], data, n); err != nil {
			return err
		}
	}
	prefixes, lengths := memory[0], memory[1]
	if len(prefixes) != n || len(lengths) != n {
		return errShort
	}
	prefixes, lengths = prefixes[:wanted], lengths[:wanted]
	size, last := int64(0), int64(0)
	for i, prefix := range prefixes {
		if prefix < 0 || prefix > last || lengths[i] < 0 || lengths[i] > int64(len(data)) {
			return errors.New("a string is longer than its page")
		}
		last = prefix + lengths[i]
		size += last
		if size > int64(b.bytes) {
			break // take refuses it
		}
	}
	if err := b.take(int(size), 0); err != nil {
		return err
	}
	out, ends := slices.Grow(t.data, int(size)), slices.Grow(t.ends, wanted)
	from := len(out)
	for i, prefix := range prefixes {
		if lengths[i] > int64(len(data)) {
			return errors.New("a string is longer than its page")
		}
		start := len(out)
		out = append(append(out, out[from:from+int(prefix)]...), data[:lengths[i]]...)
		data, from = data[lengths[i]:], start
		ends = append(ends, int32(len(out)))
	}
	t.data, t.ends = out, ends
	return t.limit()
}

func appendFloats(dst []float64, data []byte, n int) ([]float64, error) {
	if len(data)/8 < n {
		return nil, errShort
	}
	dst = slices.Grow(dst, n)
	for i := range n {
		dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])))
	}
	return dst, nil
}

// splitPlanes is the number of planes of BYTE_STREAM_SPLIT: one for each byte of a number.
const splitPlanes = 8

// appendSplit appends numbers [from, to) of n. The first bytes of all numbers are stored first, then all second bytes, and so on.
func appendSplit(dst []float64, data []byte, n, from, to int) ([]float64, error) {
	if len(data) != splitPlanes*n {
		return nil, errShort
	}
	at, m := len(dst), to-from
	dst = slices.Grow(dst, m)[:at+m]
	out := dst[at:]
	// Slices of exactly this length let the compiler drop checks of bounds.
	plane := func(k int) []byte { return data[k*n+from:][:len(out):len(out)] }
	a, b, c, d, e, f, g, h := plane(0), plane(1), plane(2), plane(3), plane(4), plane(5), plane(6), plane(7)
	i := 0
	for ; i <= len(out)-8; i += 8 { // eight bytes of each plane make eight numbers
		const low = 1<<32 - 1
		w0, w1, w2, w3 := transpose(wordAt(a, i), wordAt(b, i), wordAt(c, i), wordAt(d, i))
		w4, w5, w6, w7 := transpose(wordAt(e, i), wordAt(f, i), wordAt(g, i), wordAt(h, i))
		out := out[i : i+8]
		out[0], out[4] = math.Float64frombits(w0&low|w4<<32), math.Float64frombits(w0>>32|w4&^low)
		out[1], out[5] = math.Float64frombits(w1&low|w5<<32), math.Float64frombits(w1>>32|w5&^low)
		out[2], out[6] = math.Float64frombits(w2&low|w6<<32), math.Float64frombits(w2>>32|w6&^low)
		out[3], out[7] = math.Float64frombits(w3&low|w7<<32), math.Float64frombits(w3>>32|w7&^low)
	}
	for ; i < len(out); i++ {
		v := uint64(0)
		for k := range splitPlanes {
			v |= uint64(plane(k)[i]) << (8 * k)
		}
		out[i] = math.Float64frombits(v)
	}
	return dst, nil
}

// wordAt returns the eight bytes from i on.
func wordAt(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8]) }

// transpose takes four words that each have one byte of eight numbers. It returns four words that each have four bytes of two numbers: of
// the first and the fifth, and so on.
func transpose(a, b, c, d uint64) (first, second, third, fourth uint64) {
	const twos, ones = 0x0000ffff0000ffff, 0x00ff00ff00ff00ff
	t := (a>>16 ^ c) & twos
	a ^= t << 16
	c ^= t
	t = (b>>16 ^ d) & twos
	b ^= t << 16
	d ^= t
	t = (a>>8 ^ b) & ones
	a ^= t << 8
	b ^= t
	t = (c>>8 ^ d) & ones
	return a, b, c ^ t<<8, d ^ t
}

func appendInts(dst []int64, data []byte, n int) ([]int64, error) {
	if len(data)/8 < n {
		return nil, errShort
	}
	dst = slices.Grow(dst, n)
	for i := range n {
		dst = append(dst, int64(binary.LittleEndian.Uint64(data[8*i:])))
	}
	return dst, nil
}

// appendLevels appends n levels of 0 or 1. They are stored as runs of one level, or with eight levels in a byte.
func appendLevels(dst, data []byte, n int) ([]byte, error) {
	dst = slices.Grow(dst, n)
	for end := len(dst) + n; len(dst) < end; {
		header, k := binary.Uvarint(data)
		if k <= 0 || header>>1 == 0 || header>>1 > math.MaxInt32 || k == len(data) {
			return nil, fmt.Errorf("levels: %w", errShort)
		}
		data = data[k:]
		count, at := int(header>>1), len(dst)
		if header&1 == 0 {
			dst = dst[:at+min(count, end-at)]
			fill(dst[at:], data[0]&1)
			data = data[1:]
			continue
		}
		if count > len(data) {
			return nil, fmt.Errorf("levels: %w", errShort)
		}
		dst = dst[:at+min(8*count, end-at)]
		unpackBits(dst[at:], data)
		data = data[count:]
	}
	return dst, nil
}

// unpackBits sets each element of dst to a bit of data, from the lowest bit of each byte.
func unpackBits(dst, data []byte) {
	const each, low, high = 0x0101010101010101, 0x8040201008040201, 0x7f7f7f7f7f7f7f7f
	for len(dst) >= 8 { // keep one bit in each of eight copies of a byte; adding high moves it to the highest bit
		binary.LittleEndian.PutUint64(dst, (uint64(data[0])*each&low+high)>>7&each)
		dst, data = dst[8:], data[1:]
	}
	for i := range dst {
		dst[i] = data[0] >> i & 1
	}
}

// fill sets all elements of dst to a value.
func fill[T any](dst []T, v T) {
	const some = 16
	first := dst[:min(some, len(dst))]
	for i := range first {
		first[i] = v
	}
	for n := len(first); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// constantHybrid returns the value of n values of width bits, if they begin with a run of n.
func constantHybrid(data []byte, width, n int) (v uint64, ok bool) {
	if width == 0 {
		return 0, true
	}
	header, k := binary.Uvarint(data)
	size := (width + 7) / 8
	if k <= 0 || header&1 != 0 || header>>1 < uint64(n) || width > 31 || len(data)-k < size {
		return 0, false
	}
	return packedAt(data[k:k+size], 0, 8*size), true
}

// packedRun returns n values of width bits, if they are one packed run of one or two bytes each.
func packedRun(data []byte, width, n int) ([]byte, bool) {
	header, k := binary.Uvarint(data)
	if width != 8 && width != 16 || k <= 0 || header&1 == 0 || header>>1 < uint64(n+7)/8 || len(data)-k < n*width/8 {
		return nil, false
	}
	return data[k : k+n*width/8], true
}

// maxWidth is the largest width of a packed value, in bits. A value of that width lies within 8 bytes wherever it begins.
const maxWidth = 56

// packedAt returns the i-th value of width bits.
func packedAt(data []byte, i, width int) uint64 {
	bit := i * width
	var word uint64
	if at := bit / 8; at+8 <= len(data) {
		word = binary.LittleEndian.Uint64(data[at:])
	} else {
		var tail [8]byte
		copy(tail[:], data[at:])
		word = binary.LittleEndian.Uint64(tail[:])
	}
	return word >> (bit % 8) & (1<<width - 1)
}

// appendHybrid appends n values of width bits, which T can hold. They are stored as runs of one value and packed runs.
func appendHybrid[T int32 | uint8](dst []T, data []byte, width, n int) ([]T, error) {
	if width > 31 {
		return nil, fmt.Errorf("values of %d bits", width)
	}
	dst = slices.Grow(dst, n)[:len(dst)+n]
	rest := dst[len(dst)-n:]
	if width == 0 {
		clear(rest)
		return dst, nil
	}
	for size := (width + 7) / 8; len(rest) > 0; {
		header, k := binary.Uvarint(data)
		count := int(header >> 1)
		if k <= 0 || count == 0 || header>>1 > math.MaxInt32 {
			return nil, errShort
		}
		data = data[k:]
		if header&1 == 0 {
			if len(data) < size {
				return nil, errShort
			}
			out := rest[:min(count, len(rest))]
			fill(out, T(packedAt(data[:size], 0, 8*size)))
			rest, data = rest[len(out):], data[size:]
			continue
		}
		if count > len(data)/width {
			return nil, errShort
		}
		out := rest[:min(8*count, len(rest))]
		switch out := any(out).(type) {
		case []uint8:
			unpackBytes(out, data, width) // other data may follow
		case []int32:
			unpackIndices(out, data, width)
		}
		rest, data = rest[len(out):], data[count*width:]
	}
	return dst, nil
}

// unpackBytes sets dst to packed values of at most eight bits. Other data may follow them.
func unpackBytes(dst, packed []byte, width int) {
	// Eight values lie in width bytes. They are split into halves, these again, and once more.
	one := uint64(1)<<width - 1
	ones, twos, fours := one*0x0001000100010001, (one<<width|one)*0x0000000100000001, uint64(1)<<(4*width)-1
	for w := uint(width); len(dst) >= 8 && len(packed) >= 8; dst, packed = dst[8:], packed[w:] {
		word := binary.LittleEndian.Uint64(packed)
		word = word&fours | word>>(4*w&63)&fours<<32
		word = word&twos | word>>(2*w&63)&twos<<16
		binary.LittleEndian.PutUint64(dst, word&ones|word>>(w&63)&ones<<8)
	}
	for i := range dst {
		dst[i] = byte(packedAt(packed, i, width))
	}
}

// unpackIndices sets dst to packed values of width bits. Other data may follow them.
func unpackIndices(dst []int32, packed []byte, width int) {
	switch width {
	case 8:
		for i, v := range packed[:len(dst)] {
			dst[i] = int32(v)
		}
	case 16:
		for i := range dst {
			dst[i] = int32(binary.LittleEndian.Uint16(packed[2*i:]))
		}
	default:
		unpackNarrow(dst, packed, width)
	}
}

// unpackNarrow sets dst to packed values of width bits. Other data may follow them.
func unpackNarrow(dst []int32, packed []byte, width int) {
	done, mask := 0, uint64(1)<<width-1
	if width <= 8 { // eight values lie in width bytes
		for at := 0; len(dst)-done >= 8 && len(packed)-at >= 8; at, done = at+width, done+8 {
			word, out := binary.LittleEndian.Uint64(packed[at:]), dst[done:done+8]
			for i := range out {
				out[i] = int32(word & mask)
				word >>= width
			}
		}
	}
	if shift := uint(width) & 63; width > 8 && width <= 14 { // four values lie in a word, wherever the first begins
		for bit := uint(0); len(dst)-done >= 4 && bit/8+8 <= uint(len(packed)); bit, done = bit+4*shift, done+4 {
			word, out := binary.LittleEndian.Uint64(packed[bit/8:])>>(bit%8), dst[done:done+4]
			out[0], out[1] = int32(word&mask), int32(word>>shift&mask)
			out[2], out[3] = int32(word>>(2*shift)&mask), int32(word>>(3*shift)&mask)
		}
	}
	for i := done; i < len(dst); i++ {
		dst[i] = int32(packedAt(packed, i, width))
	}
}

// appendDeltas appends n integers that are stored as differences, and returns the data after them.
func appendDeltas(dst []int64, data []byte, n int) ([]int64, []byte, error) {
	var head [3]uint64 // values of a block, blocks within it, values in all
	for i := range head {
		v, k := binary.Uvarint(data)
		if k <= 0 {
			return nil, nil, errShort
		}
		head[i], data = v, data[k:]
	}
	value, k := binary.Varint(data)
	if k <= 0 || head[0] > 1<<16 || head[1] == 0 || head[1] > head[0] || head[0]%head[1] != 0 || head[0]/head[1]%8 != 0 || head[2] != uint64(n) {
		return nil, nil, errors.New("the head of its differences is not one")
	}
	data = data[k:]
	if n == 0 {
		return dst, data, nil
	}
	dst = append(dst, value)
	per := int(head[0] / head[1])
	for left := n - 1; left > 0; {
		least, k := binary.Varint(data)
		if k <= 0 || len(data)-k < int(head[1]) {
			return nil, nil, errShort
		}
		widths := data[k : k+int(head[1])]
		data = data[k+int(head[1]):]
		for _, w := range widths {
			if left == 0 {
				break
			}
			size := per / 8 * int(w)
			if w > maxWidth || size > len(data) {
				return nil, nil, errShort
			}
			at, n := len(dst), min(per, left)
			dst = slices.Grow(dst, n)[:at+n]
			var few [64]int32
			if out := dst[at:]; w <= 14 && n <= len(few) {
				unpackNarrow(few[:n], data, int(w)) // it may read words beyond the values
				for i, delta := range few[:n] {
					value += least + int64(delta)
					out[i] = value
				}
			} else {
				for i := range out {
					value += least + int64(packedAt(data, i, int(w)))
					out[i] = value
				}
			}
			data, left = data[size:], left-n
		}
	}
	return dst, data, nil
}
