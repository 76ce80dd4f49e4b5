package chunks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/promcost/promcost/allocation/timeline"
)

const (
	headerSize = 2 // bytes of the sample count
	// padding is how far the decoder may load past the data before it notices: one sample takes at most 145 bits, one
	// load nine bytes.
	padding = 32
	// maxTime and maxDelta bound times and their distances so that no sum of 65,535 of them overflows.
	maxTime  = 1 << 61
	maxDelta = 1 << 46
)

// The causes of a chunk that cannot be decoded.
var (
	errTruncated = errors.New("data ends inside a sample")
	errOrder     = errors.New("times do not ascend")
	errRange     = errors.New("time out of range")
	errWindow    = errors.New("more than 64 significant bits")
)

// xorHead is what a float chunk starts with: its first sample in full and the distance to the second.
type xorHead struct {
	n     int    // samples
	t     int64  // first time
	v     uint64 // first value's bits
	delta int64  // second time - first time; 0 where n == 1
	rest  int    // offset of the bit stream that follows
}

// readHead parses the start of a chunk of n ≥ 1 samples.
func readHead(data []byte) (xorHead, error) {
	h := xorHead{n: int(binary.BigEndian.Uint16(data))}
	t, k := binary.Varint(data[headerSize:])
	if k <= 0 || len(data) < headerSize+k+8 {
		return h, errTruncated
	}
	if t < -maxTime || t > maxTime {
		return h, errRange
	}
	h.t, h.rest = t, headerSize+k+8
	h.v = binary.BigEndian.Uint64(data[headerSize+k:])
	if h.n < 2 {
		return h, nil
	}
	d, k := binary.Uvarint(data[h.rest:])
	switch {
	case k <= 0:
		return h, errTruncated
	case int64(d) <= 0:
		return h, errOrder
	case d > maxDelta:
		return h, errRange
	}
	h.delta, h.rest = int64(d), h.rest+k
	return h, nil
}

// constant reports whether all n samples have the first one's value at one distance: then, and only then, what follows
// the head is one bit for the second sample and two for each later one, all zero.
func (h xorHead) constant(data []byte) bool {
	rest := data[h.rest:]
	if len(rest) != (2*h.n-3+7)/8 {
		return false
	}
	for len(rest) >= 8 {
		if binary.LittleEndian.Uint64(rest) != 0 {
			return false
		}
		rest = rest[8:]
	}
	for _, b := range rest {
		if b != 0 {
			return false
		}
	}
	return true
}

// appendXOR appends the samples in [mint, maxt] of an XOR float chunk. It needs mint > p.Last() where p has samples.
func (d *Decoder) appendXOR(p *timeline.Points, data []byte, mint, maxt int64) error {
	if len(data) < headerSize {
		return errTruncated
	}
	if binary.BigEndian.Uint16(data) == 0 {
		return nil
	}
	h, err := readHead(data)
	if err != nil {
		return err
	}
	if h.n == 1 {
		if mint <= h.t && h.t <= maxt {
			p.Append(h.t, math.Float64frombits(h.v))
		}
		return nil
	}
	if h.constant(data) {
		appendRun(p, h, mint, maxt)
		return nil
	}
	d.buf = append(d.buf[:0], data...)
	d.buf = append(d.buf, make([]byte, padding)...)
	ts, vs := p.Extend(h.n)
	if err := decodeXOR(d.buf, h, ts, vs); err != nil {
		p.Cut(h.n)
		return err
	}
	clip(p, ts, vs, mint, maxt)
	return nil
}

// appendRun appends the part of a constant chunk that lies in [mint, maxt].
func appendRun(p *timeline.Points, h xorHead, mint, maxt int64) {
	last := h.t + int64(h.n-1)*h.delta
	if h.t > maxt || last < mint {
		return
	}
	lo, hi := int64(0), int64(h.n-1)
	if h.t < mint {
		lo = (mint - h.t + h.delta - 1) / h.delta
	}
	if last > maxt {
		hi = (maxt - h.t) / h.delta
	}
	p.AppendRun(h.t+lo*h.delta, h.delta, int(hi-lo+1), math.Float64frombits(h.v))
}

// clip takes back those of the just extended samples that lie outside [mint, maxt].
func clip(p *timeline.Points, ts []int64, vs []float64, mint, maxt int64) {
	n := len(ts)
	lo, hi := 0, n
	for lo < n && ts[lo] < mint {
		lo++
	}
	for hi > lo && ts[hi-1] > maxt {
		hi--
	}
	if lo > 0 {
		copy(ts, ts[lo:hi])
		copy(vs, vs[lo:hi])
	}
	if cut := n - (hi - lo); cut > 0 {
		p.Cut(cut)
	}
}

// load returns the 64 bits at bit position pos of buf.
func load(buf []byte, pos uint) uint64 {
	b := buf[pos>>3:][:9]
	sh := pos & 7
	return binary.BigEndian.Uint64(b)<<sh | uint64(b[8])>>(8-sh)
}

// decodeXOR fills ts and vs, both of length h.n ≥ 2, from buf, which is the chunk and padding bytes after it. Positions
// are checked once a sample against the end of the data: the padding takes what a single sample can overrun.
func decodeXOR(buf []byte, h xorHead, ts []int64, vs []float64) error {
	end := uint(len(buf)-padding) * 8
	pos := uint(h.rest) * 8
	t, v, delta := h.t, h.v, h.delta
	win := window{bits: 64} // as Prometheus' iterator starts
	ts[0], vs[0] = t, math.Float64frombits(v)

	t += delta
	v, pos = win.value(buf, pos, load(buf, pos), v)
	ts[1], vs[1] = t, math.Float64frombits(v)
	for i := 2; i < h.n; {
		if pos > end {
			return errTruncated
		}
		w := load(buf, pos)
		if w < 1<<62 { // same distance, same value, perhaps many times
			f := math.Float64frombits(v)
			k := min(bits.LeadingZeros64(w)/2, h.n-i)
			for j := i; j < i+k; j++ {
				t += delta
				ts[j], vs[j] = t, f
			}
			i, pos = i+k, pos+uint(2*k)
			continue
		}
		if w>>63 == 0 {
			w, pos = w<<1, pos+1
		} else {
			dod, size := deltaOfDelta(buf, pos, w)
			if delta += dod; delta <= 0 {
				return errOrder
			} else if delta > maxDelta {
				return errRange
			}
			if pos += size; size > 24 {
				w = load(buf, pos)
			} else {
				w <<= size
			}
		}
		t += delta
		v, pos = win.value(buf, pos, w, v)
		ts[i], vs[i] = t, math.Float64frombits(v)
		i++
	}
	switch {
	case pos > end:
		return errTruncated
	case win.invalid:
		return errWindow
	}
	return nil
}

// deltaOfDelta reads the change of distance whose first bit, a one, heads w, and how many bits it takes.
func deltaOfDelta(buf []byte, pos uint, w uint64) (dod int64, size uint) {
	var prefix, width uint
	switch {
	case w>>62 == 0b10:
		prefix, width = 2, 14
	case w>>61 == 0b110:
		prefix, width = 3, 17
	case w>>60 == 0b1110:
		prefix, width = 4, 20
	default:
		return int64(load(buf, pos+4)), 4 + 64
	}
	x := int64(w << prefix >> (64 - width))
	if x > 1<<(width-1) { // the ranges are (-2^(width-1), 2^(width-1)]
		x -= 1 << width
	}
	return x, prefix + width
}

// window is where the significant bits of a value's change lie.
type window struct {
	bits, trailing uint
	invalid        bool // a window of more than 64 bits was seen
}

// value reads the value after prev at pos. w holds at least the next 40 bits.
func (x *window) value(buf []byte, pos uint, w, prev uint64) (v uint64, next uint) {
	switch {
	case w>>63 == 0:
		return prev, pos + 1
	case w>>62 == 0b10:
		pos += 2
		if x.bits <= 38 {
			return prev ^ w<<2>>(64-x.bits)<<x.trailing, pos + x.bits
		}
	default:
		leading, n := uint(w>>57&31), uint(w>>51&63)
		if n == 0 {
			n = 64
		}
		if pos += 13; leading+n > 64 {
			x.invalid, n = true, 64-leading
		}
		x.bits, x.trailing = n, 64-leading-n
	}
	return prev ^ load(buf, pos)>>(64-x.bits)<<x.trailing, pos + x.bits
}

// wrap names what failed.
func wrap(err error, enc fmt.Stringer) error { return fmt.Errorf("decode %s chunk: %w", enc, err) }
