package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

// The library takes memory for as many values as encoded data claims. The functions here check that before.

// cutRuns returns the runs at the beginning of data that have n values of width bits, which are more than 0. They are stored as runs of one
// value and packed runs. The last packed run may have more values.
func cutRuns(data []byte, width, n int) ([]byte, error) {
	at := 0
	for n > 0 {
		header, k := binary.Uvarint(data[at:])
		count := header >> 1
		if k <= 0 || count == 0 || count > math.MaxInt32 || width > 31 {
			return nil, errShort
		}
		at += k
		if header&1 == 0 {
			if n -= int(count); n < 0 {
				return nil, errors.New("it has more values than its page says")
			}
			at += (width + 7) / 8
		} else {
			n -= 8 * int(count)
			at += int(count) * width
		}
		if at > len(data) {
			return nil, errShort
		}
	}
	return data[:at], nil
}

// appendLevels appends n levels of 0 or 1.
func (r *reader) appendLevels(dst, data []byte, n int) ([]byte, error) {
	data, err := cutRuns(data, 1, n)
	if err != nil {
		return nil, fmt.Errorf("levels: %w", err)
	}
	if r.levels, err = (&rle.Encoding{BitWidth: 1}).DecodeLevels(r.levels[:0], data); err != nil {
		return nil, fmt.Errorf("levels: %w", err)
	}
	for _, level := range r.levels[:n] {
		dst = append(dst, level&1)
	}
	return dst, nil
}

// constantRun returns the value of n values of width bits, if they begin with a run of n.
func constantRun(data []byte, width, n int) (v uint64, ok bool) {
	if width == 0 {
		return 0, true
	}
	header, k := binary.Uvarint(data)
	size := (width + 7) / 8
	if k <= 0 || header&1 != 0 || header>>1 < uint64(n) || width > 31 || len(data)-k < size {
		return 0, false
	}
	for i, b := range data[k : k+size] {
		v |= uint64(b) << (8 * i)
	}
	return v, true
}

// deltaSize is how many bytes n whole numbers take at the beginning of data, which are stored as differences.
func deltaSize(data []byte, n int) (size int, err error) {
	var head [4]uint64 // values of a block, blocks within it, values in all, the first value
	for i := range head {
		v, k := binary.Uvarint(data[size:])
		if k <= 0 {
			return 0, errShort
		}
		head[i], size = v, size+k
	}
	if head[0] > 1<<16 || head[1] == 0 || head[1] > head[0] || head[0]%head[1] != 0 || head[0]/head[1]%8 != 0 || head[2] != uint64(n) {
		return 0, errors.New("the header of its differences is malformed")
	}
	per, blocks := int(head[0]/head[1]), int(head[1])
	for left := n - 1; left > 0; {
		_, k := binary.Varint(data[size:])
		if k <= 0 || len(data)-size-k < blocks {
			return 0, errShort
		}
		widths := data[size+k : size+k+blocks]
		size += k + blocks
		for _, width := range widths {
			if left <= 0 {
				break
			}
			if size += per / 8 * int(width); width > 64 || size > len(data) {
				return 0, errShort
			}
			left -= per
		}
	}
	return size, nil
}

// prefixedSize is how many bytes n strings have that are each stored as the length of the prefix that it shares with the string before,
// and the rest.
func prefixedSize(data []byte, n int) (bytes int, err error) {
	for range 2 { // lengths of prefixes, and of what follows
		size, err := deltaSize(data, n)
		if err != nil {
			return 0, err
		}
		lengths, err := (&delta.BinaryPackedEncoding{}).DecodeInt32(nil, data[:size:size])
		if err != nil {
			return 0, err
		}
		for _, length := range lengths {
			if length < 0 {
				return 0, errors.New("a string has a length below 0")
			}
			bytes += int(length)
		}
		data = data[size:]
	}
	return bytes, nil
}
