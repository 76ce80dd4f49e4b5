package bucket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/encoding"
	tsdbindex "github.com/prometheus/prometheus/tsdb/index"
)

// Sizes in an index file. See Prometheus' tsdb/docs/format/index.md.
const (
	tocSize      = 6*8 + crc32.Size
	entryAlign   = 16       // series entries are aligned to it, and named by their offset divided by it
	mostEntry    = 16 << 10 // bytes of an entry whose end is not known; a longer one is read again
	mostChunk    = 4 << 10  // bytes of a chunk whose end is not known, likewise
	mostPostings = 64 << 10 // bytes of the postings of the last metric, likewise
	maxSection   = 1 << 30  // of a section that is read whole
)

// castagnoli is the table of all checksums in a block.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// index is what is kept of a block's index: its symbols, and where the postings of each metric are.
type index struct {
	block    *block
	symbols  *tsdbindex.Symbols
	postings map[string]span // of the metrics' names
	bytes    int64           // that it takes
}

// section is bytes as Prometheus' readers take them.
type section []byte

// Len implements encoding.ByteSlice.
func (b section) Len() int { return len(b) }

// Range implements encoding.ByteSlice.
func (b section) Range(start, end int) []byte { return b[start:end] }

// recovered turns a panic into an error: Prometheus' readers trust parts of damaged files.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errBroken, r)
	}
}

// index reads what is kept of a block's index, unless it is still there. It draws memory for it before, also where it fails.
func (r *reader) index(ctx context.Context, b *block) (x *index, drawn int64, err error) {
	if x = r.src.indexes.get(b); x != nil {
		if err = r.draw(x.bytes); err != nil {
			return nil, 0, err
		}
		return x, x.bytes, nil
	}
	toc, last, err := r.src.toc(ctx, &r.meter, b)
	if err != nil {
		return nil, 0, err
	}
	size := int64(toc.Series) + last - int64(toc.PostingsTable)
	if err = r.draw(size); err != nil {
		return nil, 0, err
	}
	head, err := r.src.get(ctx, &r.meter, b.dir+"index", 0, int64(toc.Series))
	if err != nil {
		return nil, size, err
	}
	table, err := r.src.get(ctx, &r.meter, b.dir+"index", int64(toc.PostingsTable), last-int64(toc.PostingsTable))
	if err != nil {
		return nil, size, err
	}
	if x, err = newIndex(head, int(toc.Symbols), table); err != nil {
		return nil, size, err
	}
	x.block = b
	r.src.indexes.put(x)
	return x, size, nil
}

// toc reads the table of contents of a block's index, and where that begins.
func (s *Source) toc(ctx context.Context, m *meter, b *block) (toc *tsdbindex.TOC, last int64, err error) {
	object := b.dir + "index"
	var size int64
	err = s.cfg.Requests.Do(ctx, s.cfg.Bucket, "read attributes", object, func(ctx context.Context) error {
		m.reads.Add(1)
		a, err := s.cfg.Bucket.Attributes(ctx, object)
		size = a.Size
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if size < tsdbindex.HeaderLen+tocSize {
		return nil, 0, fmt.Errorf("%w: the index has %d bytes", errBroken, size)
	}
	end, err := s.get(ctx, m, object, size-tocSize, tocSize)
	if err != nil {
		return nil, 0, err
	}
	toc, err = tsdbindex.NewTOCFromByteSlice(section(end))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w: it was cut, or its upload was broken off", errBroken, err)
	}
	last = size - tocSize
	if end := uint64(last); toc.Symbols < tsdbindex.HeaderLen || toc.Symbols >= toc.Series || toc.Series > toc.PostingsTable || toc.PostingsTable >= end || toc.Series > maxSection || end-toc.PostingsTable > maxSection {
		return nil, 0, fmt.Errorf("%w: table of contents", errBroken)
	}
	return toc, last, nil
}

// newIndex reads an index: what comes before its series, with the symbols at an offset in it, and the table of postings.
func newIndex(head []byte, symbols int, table []byte) (x *index, err error) {
	defer recovered(&err)
	if len(head) < tsdbindex.HeaderLen || binary.BigEndian.Uint32(head) != tsdbindex.MagicIndex {
		return nil, fmt.Errorf("%w: no index header", errBroken)
	}
	if v := head[4]; v != tsdbindex.FormatV2 {
		return nil, fmt.Errorf("%w: the index is of version %d, want %d", errBroken, v, tsdbindex.FormatV2)
	}
	if n := len(head) - symbols; n < 8 || uint64(binary.BigEndian.Uint32(head[symbols+4:])) > uint64(n) { // room is made for so many
		return nil, fmt.Errorf("%w: number of symbols", errBroken)
	}
	x = &index{postings: map[string]span{}, bytes: int64(len(head))}
	if x.symbols, err = tsdbindex.NewSymbols(section(head), tsdbindex.FormatV2, symbols); err != nil {
		return nil, fmt.Errorf("%w: symbols: %w", errBroken, err)
	}
	var last string // metric
	err = tsdbindex.ReadPostingsOffsetTable(section(table), 0, func(name, value []byte, offset uint64, _ int) error {
		if offset > math.MaxInt64/2 {
			return errBroken
		}
		if p, ok := x.postings[last]; ok && int64(offset) > p.from {
			p.to = int64(offset)
			x.postings[last] = p
		}
		if last = ""; string(name) == model.MetricNameLabel {
			last = string(value)
			x.postings[last] = span{int64(offset), int64(offset) + mostPostings}
			x.bytes += int64(len(last)) + 64
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: table of postings: %w", errBroken, err)
	}
	return x, nil
}

// postingsSize is how many bytes a list of postings takes.
func postingsSize(b []byte) int64 {
	if len(b) < 4 {
		return 0
	}
	return 4 + int64(binary.BigEndian.Uint32(b)) + crc32.Size
}

// entrySize is how many bytes a series' entry takes.
func entrySize(b []byte) int64 {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > math.MaxInt32 {
		return 0
	}
	return int64(n) + int64(size) + crc32.Size
}

// refs reads where the entries of the series of metrics are, in the order of the index. A metric that the block does not have has none.
func (s *Source) refs(ctx context.Context, m *meter, x *index, metrics []string) (out []entry, err error) {
	var lists []entry // of postings
	for i, name := range metrics {
		if p, ok := x.postings[name]; ok {
			lists = append(lists, entry{p, i})
		}
	}
	inOrder(lists)
	spans := make([]span, len(lists))
	for i := range lists {
		spans[i] = lists[i].span
	}
	read, err := s.records(ctx, m, x.block.dir+"index", spans, postingsSize)
	if err != nil {
		return nil, err
	}
	for i, b := range read {
		if out, err = appendRefs(out, b, lists[i].metric); err != nil {
			return nil, fmt.Errorf("%w: postings of metric %s: %w", errBroken, metrics[lists[i].metric], err)
		}
	}
	inOrder(out)
	return out, nil
}

// appendRefs appends where the entries are that a list of postings names.
func appendRefs(out []entry, postings []byte, metric int) (_ []entry, err error) {
	defer recovered(&err)
	_, p, err := tsdbindex.DecodePostingsRaw(encoding.NewDecbufAt(section(postings), 0, castagnoli))
	if err != nil {
		return nil, err
	}
	for first := len(out); p.Next(); {
		at := int64(p.At()) * entryAlign
		if n := len(out); n > first {
			if at <= out[n-1].from {
				return nil, errors.New("they are not in order")
			}
			out[n-1].to = min(at, out[n-1].to)
		}
		out = append(out, entry{span{at, at + mostEntry}, metric})
	}
	return out, p.Err()
}

// decoder decodes series' entries of one index.
type decoder struct {
	tsdbindex.Decoder
	builder labels.ScratchBuilder
	list    []chunks.Meta
}

// newDecoder returns a decoder that keeps symbols which it has looked up.
func newDecoder(x *index) *decoder {
	known := map[uint32]string{}
	return &decoder{Decoder: tsdbindex.Decoder{LookupSymbol: func(_ context.Context, n uint32) (text string, err error) {
		text, ok := known[n]
		if !ok {
			text, err = x.symbols.Lookup(n)
			known[n] = text
		}
		return text, err
	}}}
}

// entry decodes an entry. The list of chunks is valid until the next one.
func (d *decoder) entry(b []byte) (lset labels.Labels, list []chunks.Meta, err error) {
	defer recovered(&err)
	buf := encoding.NewDecbufUvarintAt(section(b), 0, castagnoli)
	if err = buf.Err(); err == nil {
		err = d.Series(buf.Get(), &d.builder, &d.list)
	}
	if err != nil {
		return labels.EmptyLabels(), nil, fmt.Errorf("%w: a series' entry: %w", errBroken, err)
	}
	return d.builder.Labels(), d.list, nil
}

// isLoss reports whether an error says that a block is damaged, rather than that the store does not answer.
func isLoss(err error) bool { return errors.Is(err, errBroken) || errors.Is(err, fs.ErrNotExist) }
