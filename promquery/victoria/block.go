package victoria

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery/chunks"
)

// What a block has at most: rows, as VictoriaMetrics checks when it reads one, and bytes of its numbers.
const (
	maxRows  = 2 * 8192
	maxPlain = maxRows * binary.MaxVarintLen64
)

// Encodings of the times or values of a block.
const (
	zstdDelta2  = 1 // as delta2, compressed
	deltaConst  = 2 // all at one distance
	constant    = 3
	zstdDelta   = 4 // as delta, compressed
	plainDelta2 = 5 // how much the distances change
	plainDelta  = 6 // distances
)

// Values that stand for what is no number.
const (
	positiveInf = math.MaxInt64
	negativeInf = math.MinInt64
	stale       = math.MaxInt64 - 1
)

// staleMarker is Prometheus' staleness marker.
var staleMarker = math.Float64frombits(0x7ff0000000000002)

// block is some samples of a series, as they are stored. A value is a whole number × 10^scale.
type block struct {
	min, max int64 // first and last time, Unix milliseconds
	first    int64 // value
	rows     int
	scale    int
	// Encodings, and what is encoded.
	timeKind, valueKind byte
	times, values       []byte
}

// parseBlock reads a block, which it refers to afterwards.
func parseBlock(data []byte) (b block, err error) {
	r := varints{data: data}
	b.min, b.max, b.first = r.signed(), r.signed(), r.signed()
	rows, scale := r.unsigned(), r.signed()
	b.timeKind, b.valueKind = r.byte(), r.byte()
	r.byte() // bits of precision: times that are not in order tell that they were too few
	b.times, b.values = r.bytes(), r.bytes()
	switch {
	case r.cut:
		return b, formatErrorf("a block ends within its header")
	case len(r.data) > 0:
		return b, formatErrorf("a block has %d bytes too many", len(r.data))
	case rows == 0 || rows > maxRows:
		return b, formatErrorf("a block has %d samples, of 1 to %d", rows, maxRows)
	case scale < math.MinInt16 || scale > math.MaxInt16:
		return b, formatErrorf("a block has the exponent %d", scale)
	case b.min > b.max:
		return b, formatErrorf("a block begins at %d and ends at %d", b.min, b.max)
	}
	b.rows, b.scale = int(rows), int(scale)
	return b, nil
}

// varints reads numbers from the start of data. After one that is cut off, all that it reads is 0.
type varints struct {
	data []byte
	cut  bool
}

func (r *varints) unsigned() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.cut, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *varints) signed() int64 { return zigzag(r.unsigned()) }

func (r *varints) byte() byte {
	if len(r.data) == 0 {
		r.cut = true
		return 0
	}
	c := r.data[0]
	r.data = r.data[1:]
	return c
}

func (r *varints) bytes() []byte {
	n := r.unsigned()
	if n > uint64(len(r.data)) {
		r.cut, r.data = true, nil
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

// zigzag is the signed number of an unsigned one.
func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// decoder decodes blocks. It keeps buffers for the next one, and is not safe for concurrent use.
type decoder struct {
	zstd   *zstd.Decoder
	plain  []byte
	times  []int64
	values []int64
}

func newDecoder() (*decoder, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPlain), zstd.WithDecoderLowmem(true))
	return &decoder{zstd: z}, err
}

// series decodes the samples of a series in [mint, maxt]. It sorts the blocks. Where they overlap, of samples at one time that of the
// block which begins first counts.
func (d *decoder) series(p *timeline.Points, blocks []block, mint, maxt int64) error {
	slices.SortStableFunc(blocks, func(a, b block) int { return cmp.Compare(a.min, b.min) })
	p.Reset()
	for len(blocks) > 0 {
		n, last := 1, blocks[0].max
		for n < len(blocks) && blocks[n].min <= last {
			last = max(last, blocks[n].max)
			n++
		}
		var err error
		if n == 1 {
			err = d.append(p, &blocks[0], mint, maxt)
		} else {
			err = d.merge(p, blocks[:n], mint, maxt)
		}
		if err != nil {
			return err
		}
		blocks = blocks[n:]
	}
	return nil
}

// merge appends the samples of blocks that overlap.
func (d *decoder) merge(p *timeline.Points, blocks []block, mint, maxt int64) error {
	var all chunks.Overlap
	var part timeline.Points
	for i := range blocks {
		part.Reset()
		if err := d.append(&part, &blocks[i], mint, maxt); err != nil {
			return err
		}
		all.Add(&part)
	}
	all.AppendTo(p)
	return nil
}

// append appends the samples of a block in [mint, maxt].
func (d *decoder) append(p *timeline.Points, b *block, mint, maxt int64) (err error) {
	if d.times, err = d.numbers(d.times[:0], b.timeKind, b.times, b.min, b.rows); err != nil {
		return err
	}
	if d.values, err = d.numbers(d.values[:0], b.valueKind, b.values, b.first, b.rows); err != nil {
		return err
	}
	times, values := d.times, d.values
	if times[0] != b.min || times[b.rows-1] != b.max {
		return formatErrorf("a block has times from %d to %d, and says %d to %d", times[0], times[b.rows-1], b.min, b.max)
	}
	distinct, steady := true, true
	for i := 1; i < len(times); i++ {
		step := times[i] - times[i-1]
		if step < 0 {
			return formatErrorf("a block has a sample at %d after one at %d", times[i], times[i-1])
		}
		distinct, steady = distinct && step > 0, steady && step == times[1]-times[0]
	}
	from, _ := slices.BinarySearch(times, mint)
	to, _ := slices.BinarySearch(times, maxt+1)
	if times, values = times[from:to], values[from:to]; len(times) == 0 {
		return nil
	}
	switch {
	case !distinct:
		for i, t := range times {
			p.Append(t, number(values[i], b.scale))
		}
	case steady && b.valueKind == constant && len(times) > 1:
		p.AppendRun(times[0], times[1]-times[0], len(times), number(values[0], b.scale))
	default:
		t, v := p.Extend(len(times))
		copy(t, times)
		appendNumbers(v, values, b.scale)
	}
	return nil
}

// numbers decodes n numbers, of which the first one is known.
func (d *decoder) numbers(dst []int64, kind byte, data []byte, first int64, n int) (_ []int64, err error) {
	dst = slices.Grow(dst, n)
	switch kind {
	case constant, deltaConst:
		step := int64(0)
		if kind == deltaConst {
			r := varints{data: data}
			step, data = r.signed(), r.data
			if r.cut {
				return nil, formatErrorf("a block lacks the distance of its numbers")
			}
		}
		if len(data) > 0 {
			return nil, formatErrorf("a block has %d bytes after its numbers", len(data))
		}
		for range n {
			dst = append(dst, first)
			first += step
		}
		return dst, nil
	case zstdDelta, zstdDelta2:
		if d.plain, err = d.zstd.DecodeAll(data, d.plain[:0]); err != nil {
			return nil, formatErrorf("decompress a block: %w", err)
		}
		data = d.plain
	case plainDelta, plainDelta2:
	default:
		return nil, formatErrorf("a block has numbers of the unknown kind %d", kind)
	}
	return appendDeltas(dst, data, first, n, kind == zstdDelta2 || kind == plainDelta2)
}

// appendDeltas appends n numbers by how far each is from the one before, or by how much that changes.
func appendDeltas(dst []int64, data []byte, first int64, n int, changes bool) ([]int64, error) {
	dst = append(dst, first)
	step := int64(0)
	at := 0
	for range n - 1 {
		if at == len(data) {
			return nil, formatErrorf("a block has fewer than %d numbers", n)
		}
		u := uint64(data[at])
		at++
		if u >= 0x80 {
			long, k := binary.Uvarint(data[at-1:])
			if k <= 0 {
				return nil, formatErrorf("a block ends within a number")
			}
			u, at = long, at-1+k
		}
		if changes {
			step += zigzag(u)
		} else {
			step = zigzag(u)
		}
		first += step
		dst = append(dst, first)
	}
	if at < len(data) {
		return nil, formatErrorf("a block has %d bytes after its %d numbers", len(data)-at, n)
	}
	return dst, nil
}

// appendNumbers writes the values that whole numbers stand for. It divides by powers of ten, as VictoriaMetrics does, for these are exact.
func appendNumbers(dst []float64, values []int64, scale int) {
	dst = dst[:len(values)]
	if scale >= 0 {
		unit := math.Pow10(scale)
		for i, v := range values {
			dst[i] = float64(v) * unit
			if v >= stale || v == negativeInf {
				dst[i] = number(v, scale)
			}
		}
		return
	}
	unit := math.Pow10(-scale)
	for i, v := range values {
		dst[i] = float64(v) / unit
		if v >= stale || v == negativeInf {
			dst[i] = number(v, scale)
		}
	}
}

// number is the value that a whole number stands for.
func number(v int64, scale int) float64 {
	switch {
	case v == positiveInf:
		return math.Inf(1)
	case v == negativeInf:
		return math.Inf(-1)
	case v == stale:
		return staleMarker
	case scale >= 0:
		return float64(v) * math.Pow10(scale)
	}
	return float64(v) / math.Pow10(-scale)
}

// label is a label of a series.
type label struct{ name, value string }

// Bytes in the names of series: the end of a text, and what one of the bytes up to \x02 is written with, as a digit after it.
const (
	endOfText = 1
	escape    = 0
)

// parseName reads the labels of a series, the metric's name first. Their texts are views of data, except for those with odd characters.
func parseName(dst []label, data []byte) ([]label, error) {
	metric, rest, err := nextText(data)
	if err != nil {
		return nil, err
	}
	dst = append(dst, label{"__name__", metric})
	for len(rest) > 0 {
		var l label
		if l.name, rest, err = nextText(rest); err != nil {
			return nil, err
		}
		if l.value, rest, err = nextText(rest); err != nil {
			return nil, err
		}
		dst = append(dst, l)
	}
	return dst, nil
}

// nextText reads a text up to its end.
func nextText(data []byte) (text string, rest []byte, err error) {
	written, rest, ok := bytes.Cut(data, []byte{endOfText})
	if !ok {
		return "", nil, formatErrorf("a label of a series does not end")
	}
	if bytes.IndexByte(written, escape) < 0 {
		return view(written), rest, nil
	}
	var plain []byte
	for i := 0; i < len(written); i++ {
		c := written[i]
		if c == escape {
			if i++; i == len(written) || written[i] < '0' || written[i] > '2' {
				return "", nil, formatErrorf("a label of a series has an unknown escape")
			}
			c = written[i] - '0'
		}
		plain = append(plain, c)
	}
	return string(plain), rest, nil
}
