package chunks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
)

// Padding is how far the decoder may load past the data of a chunk before it notices: one sample takes at most 145 bits, one
// load nine bytes. What lies there does not matter.
const Padding = 32

const (
	headerSize = 2 // bytes of the sample count
	// maxTime and maxDelta bound times and their distances so that no sum of 65,535 of them overflows.
	maxTime  = 1 << 61
	maxDelta = 1 << 46
)

// The causes of a chunk that cannot be decoded.
var (
	errTruncated = errors.New("data ends inside a sample")
	errRange     = errors.New("time out of range")
	errWindow    = errors.New("more than 64 significant bits")
)

// xorHead is what a float chunk starts with: its first sample in full and the distance to the second.
type xorHead struct {
	n     int    // samples
	t     int64  // first time
	v     uint64 // first value's bits
	delta int64  // second time - first time; 0 if n == 1
	rest  int    // offset of the bit stream that follows
}

// CheckStart returns an error where the first sample of an XOR chunk is not at the time that an index says: samples would be left
// out, or taken in another order. Chunks of other encodings are not looked into.
func CheckStart(enc chunkenc.Encoding, data []byte, said int64) error {
	if enc != chunkenc.EncXOR || len(data) <= headerSize {
		return nil
	}
	at, n := binary.Varint(data[headerSize:])
	if n > 0 && at != said {
		return fmt.Errorf("a chunk begins at %s, the index says at %s", timeText(at), timeText(said))
	}
	return nil
}

// timeText is a time in Unix milliseconds as text.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

// read parses the start of a chunk of at least one sample.
func (h *xorHead) read(data []byte) error {
	h.n = int(binary.BigEndian.Uint16(data))
	t, k := binary.Varint(data[headerSize:])
	if k <= 0 || len(data) < headerSize+k+8 {
		return errTruncated
	}
	if t < -maxTime || t > maxTime {
		return errRange
	}
	h.t, h.rest = t, headerSize+k+8
	h.v = binary.BigEndian.Uint64(data[headerSize+k:])
	if h.n < 2 {
		return nil
	}
	d, k := binary.Uvarint(data[h.rest:])
	switch {
	case k <= 0:
		return errTruncated
	case int64(d) <= 0:
		return ErrOrder
	case d > maxDelta:
		return errRange
	}
	h.delta, h.rest = int64(d), h.rest+k
	return nil
}

// constant reports whether all n samples have the first one's value at one distance: then, and only then, what follows
// the head is one bit for the second sample and two for each later one, all zero.
func (h *xorHead) constant(data []byte) bool {
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
func (d *Decoder) appendXOR(p *timeline.Points, data []byte, padded bool, mint, maxt int64) error {
	if len(data) < headerSize {
		return errTruncated
	}
	if binary.BigEndian.Uint16(data) == 0 {
		return nil
	}
	var h xorHead
	if err := h.read(data); err != nil {
		return err
	}
	if h.n == 1 {
		if mint <= h.t && h.t <= maxt {
			p.Append(h.t, math.Float64frombits(h.v))
		}
		return nil
	}
	if h.constant(data) {
		appendRun(p, &h, mint, maxt)
		return nil
	}
	buf := data
	if !padded || cap(data)-len(data) < Padding {
		d.buf = append(append(d.buf[:0], data...), make([]byte, Padding)...)
		buf = d.buf
	}
	buf = buf[:len(data)+Padding]
	ts, vs := p.Extend(h.n)
	level, widest, err := decodeXOR(buf, &h, ts, vs)
	if err != nil {
		p.Cut(h.n)
		return err
	}
	lo, hi := clip(p, ts, vs, mint, maxt)
	p.Level(hi-lo, min(level, hi)-lo, widest, math.Float64frombits(h.v))
	p.LevelEnd(hi-max(lo, level), minLevel)
	return nil
}

// appendRun appends the part of a constant chunk that lies in [mint, maxt].
func appendRun(p *timeline.Points, h *xorHead, mint, maxt int64) {
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

// clip takes back those of the just extended samples that lie outside [mint, maxt] and returns which are left.
func clip(p *timeline.Points, ts []int64, vs []float64, mint, maxt int64) (lo, hi int) {
	n := len(ts)
	hi = n
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
	return lo, hi
}

// load returns the 64 bits at bit position pos of buf.
func load(buf []byte, pos uint) uint64 {
	b := buf[pos>>3:][:9]
	sh := pos & 7
	return binary.BigEndian.Uint64(b)<<sh | uint64(b[8])>>(8-sh)
}

// decodeXOR fills ts and vs, both of length h.n ≥ 2, from buf, which is the chunk and padding bytes after it. Positions
// are checked once a sample against the end of the data: the padding takes what a single step can overrun.
//
// The first level samples have the first one's value and no two of them are further apart than widest; where level is not
// 0, vs is not filled for them.
func decodeXOR(buf []byte, h *xorHead, ts []int64, vs []float64) (level int, widest int64, err error) {
	c := bitStream{buf: buf, end: uint(len(buf)-Padding) * 8, pos: uint(h.rest) * 8, i: 1, t: h.t, delta: h.delta}
	c.win.bits = 64 // as Prometheus' iterator starts
	ts[0] = h.t
	v := h.v
	if load(buf, c.pos)>>63 == 0 { // the second sample has no change of distance, only a value
		c.t, c.pos, c.i = h.t+h.delta, c.pos+1, 2
		ts[1] = c.t
		if widest, err = c.level(ts); err != nil {
			return 0, 0, err
		}
	}
	if c.i < minLevel {
		for k := range c.i {
			vs[k] = math.Float64frombits(h.v)
		}
	} else {
		level = c.i
	}
	if c.i == 1 {
		v = c.second(v, ts, vs)
	}
	err = c.rest(v, ts, vs)
	switch {
	case err != nil:
	case c.pos > c.end:
		err = errTruncated
	case c.win.invalid:
		err = errWindow
	}
	return level, widest, err
}

// minLevel is how many samples of one value are worth a level of their own.
const minLevel = 8

// bitStream is a chunk's stream of bits, read up to sample i.
type bitStream struct {
	buf      []byte
	end, pos uint // in bits
	i        int
	t, delta int64 // of sample i-1; the distance to sample i before its change is added
	win      window
}

// Three samples at a time that each have a change of distance of 14 bits and no change of value: 10, the change, 0.
const (
	tripleBits = 3 * (2 + 14 + 1)
	tripleMask = 0b11_00000000000000_1_11_00000000000000_1_11_00000000000000_1 << (64 - tripleBits)
	tripleWant = 0b10_00000000000000_0_10_00000000000000_0_10_00000000000000_0 << (64 - tripleBits)
)

// A sample that has a change of distance of 14 bits and a value that changes in the same bits as before: 10, the change, 10.
const (
	jitterMask = 0b11_00000000000000_11 << (64 - 18)
	jitterWant = 0b10_00000000000000_10 << (64 - 18)
)

// signed14 is the change of distance of 14 bits that the lowest bits of w hold: from -8191 to 8192.
func signed14(w uint64) int64 { return int64((w+8191)&16383) - 8191 }

// level fills ts with the times of samples from c.i on, at least 2, as long as they have the value of the one before, and
// returns the largest distance of any two.
func (c *bitStream) level(ts []int64) (widest int64, err error) {
	buf, pos, i, t, delta := c.buf, c.pos, c.i, c.t, c.delta
	widest, narrowest := delta, delta
	for i < len(ts) && pos <= c.end {
		w := load(buf, pos)
		if w&tripleMask == tripleWant && i+3 <= len(ts) {
			d1 := delta + signed14(w>>(64-16))
			d2 := d1 + signed14(w>>(64-33))
			d3 := d2 + signed14(w>>(64-50))
			out := ts[i:][:3]
			out[0], out[1], out[2] = t+d1, t+d1+d2, t+d1+d2+d3
			widest, narrowest = max(widest, d1, d2, d3), min(narrowest, d1, d2, d3)
			i, pos, t, delta = i+3, pos+tripleBits, out[2], d3
			continue
		}
		if w < 1<<62 { // the same distance, perhaps many times
			k := min(bits.LeadingZeros64(w)/2, len(ts)-i)
			for j := i; j < i+k; j++ {
				t += delta
				ts[j] = t
			}
			i, pos = i+k, pos+uint(2*k)
			continue
		}
		dod, size := int64(0), uint(1)
		if w>>63 == 1 {
			dod, size = deltaOfDelta(buf, pos, w)
		}
		if size > 24 {
			w = load(buf, pos+size)
		} else {
			w <<= size
		}
		if w>>63 != 0 {
			break // another value
		}
		if delta += dod; delta > maxDelta { // bits of any size may have been added
			return 0, errRange
		}
		if narrowest, widest = min(narrowest, delta), max(widest, delta); narrowest <= 0 {
			return 0, ErrOrder
		}
		t += delta
		ts[i] = t
		i, pos = i+1, pos+size+1
	}
	switch {
	case narrowest <= 0:
		return 0, ErrOrder
	case widest > maxDelta:
		return 0, errRange
	}
	c.pos, c.i, c.t, c.delta = pos, i, t, delta
	return widest, nil
}

// second fills in the second sample and returns its value; v is that of the first.
func (c *bitStream) second(v uint64, ts []int64, vs []float64) uint64 {
	v, c.pos = c.win.value(c.buf, c.pos, load(c.buf, c.pos), v)
	c.t, c.i = c.t+c.delta, 2
	ts[1], vs[1] = c.t, math.Float64frombits(v)
	return v
}

// rest fills ts and vs from sample c.i on, which is not the second; v is the value of the one before.
func (c *bitStream) rest(v uint64, ts []int64, vs []float64) error {
	buf, pos, i, t, delta, win := c.buf, c.pos, c.i, c.t, c.delta, &c.win
	vs = vs[:len(ts)]
	for i < len(ts) && pos <= c.end {
		w := binary.BigEndian.Uint64(buf[pos>>3:]) << (pos & 7) // at least the first 57 bits are right
		head := uint(0)                                         // if the value changes in the same bits as before: how many bits precede these
		switch {
		case w < 1<<62: // same distance, same value, perhaps many times
			f := math.Float64frombits(v)
			k := min(bits.LeadingZeros64(w)/2, 57/2, len(ts)-i)
			for j := i; j < i+k; j++ {
				t += delta
				ts[j], vs[j] = t, f
			}
			i, pos = i+k, pos+uint(2*k)
			continue
		case w&jitterMask == jitterWant: // the usual case if times jitter
			delta, head = delta+signed14(w>>(64-16)), 16+2
		case w>>61 == 0b0_10: // the usual case if they do not
			head = 1 + 2
		case w&tripleMask == tripleWant:
			c.pos, c.i, c.t, c.delta = pos, i, t, delta
			if _, err := c.level(ts); err != nil {
				return err
			}
			for ; i < c.i; i++ {
				vs[i] = math.Float64frombits(v)
			}
			pos, t, delta = c.pos, c.t, c.delta
			continue
		case w>>63 == 0:
			w, pos = w<<1, pos+1
		case w>>62 == 0b10:
			delta, w, pos = delta+signed14(w>>(64-16)), w<<16, pos+16
		default:
			dod, size := deltaOfDelta(buf, pos, w)
			delta, pos = delta+dod, pos+size
			w = load(buf, pos)
		}
		if uint64(delta-1) >= maxDelta {
			return errDistance(delta)
		}
		t += delta
		if head > 0 {
			if pos += head; win.bits <= 57-18 {
				w <<= head
			} else {
				w = load(buf, pos)
			}
			v ^= w >> ((64 - win.bits) & 63) << (win.trailing & 63)
			pos += win.bits
		} else {
			v, pos = win.value(buf, pos, w, v)
		}
		ts[i], vs[i], i = t, math.Float64frombits(v), i+1
	}
	c.pos = pos
	return nil
}

// errDistance is what is wrong with the distance of two samples.
func errDistance(delta int64) error {
	if delta <= 0 {
		return ErrOrder
	}
	return errRange
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

// value reads the value after prev at pos. w holds at least the next 13 bits.
func (x *window) value(buf []byte, pos uint, w, prev uint64) (v uint64, next uint) {
	switch {
	case w>>63 == 0:
		return prev, pos + 1
	case w>>62 == 0b10:
		pos += 2
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
