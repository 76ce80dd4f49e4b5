package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic is at the beginning and the end of files.
const magic = "PAR1"

// packer makes pages of columns and compresses them. We do not use the library here: what it does with values takes several times as
// long, and ours compress better. Indices into dictionaries take whole bytes, so that zstd finds equal rows. Each plane of
// BYTE_STREAM_SPLIT, which has one byte of every value, is a block with its own code, so that random planes do not make others compress
// worse. There are no indexes of pages, because there are few pages.
type packer struct {
	leaf   leafWriter
	body   []byte // of the pages of a row group, one after another
	ends   []int  // of the blocks of these pages
	frame  bytes.Buffer
	packed []byte // of the pages of a column
	out    bytes.Buffer
	levels []byte

	encoders [zstd.SpeedBestCompression + 1]*zstd.Encoder // by level; nil until needed
	zstd     *zstd.Encoder                                // the one in use
}

const (
	// pageWindow is the window of the compression: how much a reader of a page has to keep.
	pageWindow = 1 << 20
	// pageValues is after how many values a page ends, at the end of a row.
	pageValues = 1 << 15
	// largeFile is the uncompressed size from which the best compression is worth its time and its tables of 40 MB.
	largeFile = 1 << 20
	// minBlock is the size below which a block costs more than it saves.
	minBlock = 64
)

// page is a page that is not compressed yet.
type page struct {
	header                format.PageHeader
	from, to              int // in the packer's body
	firstBlock, lastBlock int // of its blocks, in the packer's ends
}

// packedColumn is a leaf column of a row group: what its footer says, and its pages.
type packedColumn struct {
	meta  format.ColumnMetaData
	pages []page
}

// use makes the packer compress at a level. Encoders keep no more than a window of what they have written: that saves a megabyte and
// changes nothing in what they write.
func (p *packer) use(level zstd.EncoderLevel) (err error) {
	if p.encoders[level] == nil {
		p.encoders[level], err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(pageWindow),
			zstd.WithEncoderLevel(level), zstd.WithAllLitEntropyCompression(true), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
	}
	p.zstd = p.encoders[level]
	return err
}

// column makes the pages of a leaf.
func (p *packer) column(source *leafSource) (packedColumn, error) {
	w := &p.leaf
	w.reset(source.kind)
	source.fill(w)
	c := packedColumn{meta: format.ColumnMetaData{Type: source.kind, PathInSchema: source.path, NumValues: int64(max(w.values(), len(w.definition)))}}
	c.meta.Encoding = append(c.meta.Encoding, w.encoding)
	if len(w.definition) > 0 {
		c.meta.Encoding = append(c.meta.Encoding, format.RLE)
	}
	if len(source.path) == 1 && source.kind != format.Double { // no query uses the smallest and the largest value of others
		c.meta.Statistics = w.statistics()
	}
	if w.encoding == format.RLEDictionary {
		c.meta.Encoding = append(c.meta.Encoding, format.Plain)
		h := format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(w.distinct()), Encoding: format.Plain})}
		c.pages = append(c.pages, p.begin(h))
		p.body = w.appendPlain(p.body, 0, w.distinct())
		p.end(&c.pages[0])
	}
	slices.Sort(c.meta.Encoding)
	value := 0
	for from, total := 0, int(c.meta.NumValues); from < total; {
		to := min(from+pageValues, total)
		for to < total && len(w.repetition) > 0 && w.repetition[to] > 0 {
			to++
		}
		count := to - from
		if len(w.definition) > 0 {
			count = bytes.Count(w.definition[from:to], []byte{1})
		}
		h := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(to - from), Encoding: w.encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		})}
		c.pages = append(c.pages, p.begin(h))
		if err := p.data(source.kind, from, to, value, value+count); err != nil {
			return c, fmt.Errorf("column %v: %w", source.path, err)
		}
		p.end(&c.pages[len(c.pages)-1])
		from, value = to, value+count
	}
	return c, nil
}

// begin begins a page.
func (p *packer) begin(h format.PageHeader) page {
	return page{header: h, from: len(p.body), firstBlock: len(p.ends)}
}

// block ends a block of a page.
func (p *packer) block() { p.ends = append(p.ends, len(p.body)) }

// end ends a page and its last block.
func (p *packer) end(g *page) {
	p.block()
	g.to, g.lastBlock = len(p.body), len(p.ends)
}

// data makes a page of the entries [first, last) of the leaf, which have the values [from, to). It leaves its last block open.
func (p *packer) data(kind format.Type, first, last, from, to int) (err error) {
	w := &p.leaf
	for _, levels := range [...][]byte{w.repetition, w.definition} {
		if len(levels) == 0 {
			continue
		}
		if p.levels, err = (&rle.Encoding{BitWidth: 1}).EncodeLevels(p.levels[:0], levels[first:last]); err != nil {
			return fmt.Errorf("encode levels: %w", err)
		}
		p.body = append(binary.LittleEndian.AppendUint32(p.body, uint32(len(p.levels))), p.levels...)
	}
	p.block()
	switch w.encoding {
	case format.RLEDictionary:
		return p.indices(w.idx[from:to], kind == format.Double)
	case format.DeltaByteArray:
		return p.strings(from, to)
	case format.DeltaBinaryPacked:
		return p.deltas(func() ([]byte, error) { return (&delta.BinaryPackedEncoding{}).EncodeInt64(nil, w.words[from:to]) })
	case format.ByteStreamSplit:
		for plane := range splitPlanes {
			for _, v := range w.words[from:to] {
				p.body = append(p.body, byte(v>>(8*plane)))
			}
			if plane < splitPlanes-1 && to > from {
				p.block()
			}
		}
	default:
		p.body = w.appendPlain(p.body, from, to)
	}
	return nil
}

// deltas appends whole numbers that the library encodes.
func (p *packer) deltas(encode func() ([]byte, error)) error {
	block, err := encode()
	if err != nil {
		return fmt.Errorf("encode numbers: %w", err)
	}
	p.body = append(p.body, block...)
	return nil
}

// strings appends strings that share prefixes with the string before. Shared prefixes end at a hyphen: how many characters two random
// parts of names share is random, and does not compress.
func (p *packer) strings(from, to int) error {
	prefixes, lengths := make([]int32, 0, to-from), make([]int32, 0, to-from)
	var last []byte
	for i := from; i < to; i++ {
		text, n := p.leaf.table.at(int32(i)), 0
		for n < min(len(last), len(text)) && last[n] == text[n] {
			n++
		}
		if n < len(text) {
			n = bytes.LastIndexByte(text[:n], '-') + 1
		}
		prefixes, lengths = append(prefixes, int32(n)), append(lengths, int32(len(text)-n))
		last = text
	}
	for _, numbers := range [...][]int32{prefixes, lengths} {
		if err := p.deltas(func() ([]byte, error) { return (&delta.BinaryPackedEncoding{}).EncodeInt32(nil, numbers) }); err != nil {
			return err
		}
		p.block()
	}
	for i, n := range prefixes {
		p.body = append(p.body, p.leaf.table.at(int32(from + i))[n:]...)
	}
	return nil
}

// indices appends indices into a dictionary. Those of more than 4 bits take whole bytes. Narrower ones of amounts, which are read most
// often, become one packed run unless all are equal: many short runs take longer to read.
func (p *packer) indices(idx []int32, amounts bool) error {
	most := int32(0)
	equal := true
	for _, i := range idx {
		most, equal = max(most, i), equal && i == idx[0]
	}
	width := bits.Len32(uint32(most))
	narrow := width <= 4 && !amounts
	if narrow || equal {
		var err error
		if p.levels, err = (&rle.DictionaryEncoding{}).EncodeInt32(p.levels[:0], idx); err != nil {
			return fmt.Errorf("encode indices: %w", err)
		}
		if _, one := constantHybrid(p.levels[1:], width, len(idx)); narrow || one {
			p.body = append(p.body, p.levels...)
			return nil
		}
	}
	if width > 4 {
		width = (width + 7) / 8 * 8
	}
	groups := (len(idx) + 7) / 8
	p.body = binary.AppendUvarint(append(p.body, byte(width)), uint64(groups)<<1|1)
	p.body = appendPacked(p.body, idx, width)
	return nil
}

// appendPacked appends values of width bits each, and zeros until there is a multiple of eight.
func appendPacked(dst []byte, values []int32, width int) []byte {
	word, have := uint64(0), 0
	for _, v := range values {
		word |= uint64(v) << have
		for have += width; have >= 8; have -= 8 {
			dst, word = append(dst, byte(word)), word>>8
		}
	}
	for have += (8 - len(values)%8) % 8 * width; have >= 8; have -= 8 {
		dst, word = append(dst, byte(word)), word>>8
	}
	return dst
}

// write compresses the pages of a column and writes them, at an offset of the file. If smaller says so, they stay uncompressed unless
// that makes them smaller.
func (p *packer) write(c *packedColumn, offset int64, smaller bool) error {
	p.packed = p.packed[:0]
	m := &c.meta
	plain, ends := 0, make([]int, len(c.pages))
	for i := range c.pages {
		if err := p.compress(&c.pages[i]); err != nil {
			return err
		}
		plain += c.pages[i].to - c.pages[i].from
		ends[i] = len(p.packed)
	}
	m.Codec = format.Zstd
	if smaller && len(p.packed) >= plain {
		m.Codec = format.Uncompressed
	}
	start, from := p.out.Len(), 0
	for i := range c.pages {
		g := &c.pages[i]
		switch at := offset + int64(p.out.Len()); {
		case g.header.Type == format.DictionaryPage:
			m.DictionaryPageOffset = at
		case m.DataPageOffset == 0:
			m.DataPageOffset = at
		}
		stored := p.packed[from:ends[i]]
		if m.Codec == format.Uncompressed {
			stored = p.body[g.from:g.to]
		}
		from = ends[i]
		h := &g.header
		h.CompressedPageSize, h.UncompressedPageSize = int32(len(stored)), int32(g.to-g.from) // manifests have a checksum
		text, err := thrift.Marshal(&thrift.CompactProtocol{}, h)
		if err != nil {
			return fmt.Errorf("header of page: %w", err)
		}
		p.out.Write(text)
		p.out.Write(stored)
		m.TotalUncompressedSize += int64(len(text)) + int64(h.UncompressedPageSize)
	}
	m.TotalCompressedSize = int64(p.out.Len() - start)
	return nil
}

// compress appends one zstd frame of the blocks of a page, which hold different kinds of data, to packed. The first blocks that hardly
// compress are stored as they are before those that the library writes: the library would compress them, which costs more to read than
// it saves.
func (p *packer) compress(g *page) error {
	src, ends, at := p.body[g.from:g.to], p.ends[g.firstBlock:g.lastBlock], g.from
	if len(src) < len(ends)*minBlock {
		p.packed = p.zstd.EncodeAll(src, p.packed)
		return nil
	}
	var first []byte
	for len(ends) > 1 && ends[len(ends)-1] > ends[len(ends)-2] { // the library writes a frame only for some data
		stored, ok := p.store(p.body[at:ends[0]])
		if !ok {
			break
		}
		first, at, ends = append(first, stored...), ends[0], ends[1:]
	}
	p.frame.Reset()
	p.zstd.Reset(&p.frame)
	for _, end := range ends {
		if _, err := p.zstd.Write(p.body[at:end]); err != nil {
			return fmt.Errorf("compress page: %w", err)
		}
		if err := p.zstd.Flush(); err != nil {
			return fmt.Errorf("compress page: %w", err)
		}
		at = end
	}
	if err := p.zstd.Close(); err != nil {
		return fmt.Errorf("compress page: %w", err)
	}
	frame := p.frame.Bytes()
	p.packed = append(append(append(p.packed, frame[:frameHeader]...), first...), frame[frameHeader:]...)
	return nil
}

const (
	// frameHeader is the size of the header of a frame: a magic number, a descriptor and the window.
	frameHeader = 6
	// mostBlock is the largest size of a block.
	mostBlock = 1 << 17
	// worthwhile says that compression must save an eighth of a block.
	worthwhile = 8
)

// store makes uncompressed blocks of a frame of data that hardly compresses. ok is false if it compresses.
func (p *packer) store(data []byte) (stored []byte, ok bool) {
	p.levels = p.zstd.EncodeAll(data, p.levels[:0])
	if saved := len(data) - len(p.levels); worthwhile*saved > len(data) {
		return nil, false
	}
	for block := range slices.Chunk(data, mostBlock) {
		head := binary.LittleEndian.AppendUint32(nil, uint32(len(block))<<3)
		stored = append(append(stored, head[:3]...), block...)
	}
	return stored, true
}
