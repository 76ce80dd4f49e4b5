package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic is at the beginning and the end of files.
const magic = "PAR1"

// packer compresses an uncompressed file, page by page, better than the library would. Indices into dictionaries take whole bytes,
// so that zstd finds equal rows. Each plane of BYTE_STREAM_SPLIT, which has one byte of every value, is a block with its own code, so
// that random planes do not make others compress worse. Indexes of pages are left out, because there are few pages.
type packer struct {
	zstd    *zstd.Encoder
	out     bytes.Buffer
	scratch []int32
}

// pageWindow is the window of the compression: how much a reader of a page has to keep.
const pageWindow = 1 << 20

// largeFile is the uncompressed size from which the best compression is worth its time and its tables of 40 MB.
const largeFile = 1 << 20

// minBlock is the size below which a block costs more than it saves.
const minBlock = 64

// pack compresses a file. The same one gives the same bytes.
func pack(data []byte) ([]byte, error) {
	p := &packer{}
	level := zstd.SpeedDefault
	if len(data) >= largeFile {
		level = zstd.SpeedBestCompression
	}
	var err error
	p.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(pageWindow),
		zstd.WithEncoderLevel(level), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	tail := len(data) - len(magic) - 4
	var meta format.FileMetaData
	protocol := &thrift.CompactProtocol{}
	if err := thrift.Unmarshal(protocol, data[tail-int(binary.LittleEndian.Uint32(data[tail:])):tail], &meta); err != nil {
		return nil, fmt.Errorf("pack footer: %w", err)
	}
	p.out.WriteString(magic)
	for i := range meta.RowGroups {
		if err := p.group(&meta.RowGroups[i], data); err != nil {
			return nil, err
		}
	}
	footer, err := thrift.Marshal(protocol, &meta)
	if err != nil {
		return nil, fmt.Errorf("pack footer: %w", err)
	}
	p.out.Write(footer)
	return append(binary.LittleEndian.AppendUint32(p.out.Bytes(), uint32(len(footer))), magic...), nil
}

func (p *packer) group(g *format.RowGroup, data []byte) error {
	g.FileOffset, g.TotalCompressedSize, g.TotalByteSize = int64(p.out.Len()), 0, 0
	for i := range g.Columns {
		c := &g.Columns[i]
		if err := p.chunk(&c.MetaData, data); err != nil {
			return fmt.Errorf("pack column %d: %w", i, err)
		}
		c.OffsetIndexOffset, c.OffsetIndexLength, c.ColumnIndexOffset, c.ColumnIndexLength = 0, 0, 0, 0
		g.TotalCompressedSize += c.MetaData.TotalCompressedSize
		g.TotalByteSize += c.MetaData.TotalUncompressedSize
	}
	return nil
}

// packedPage is a page that is packed.
type packedPage struct {
	header format.PageHeader
	body   []byte
	packed []byte
}

// chunk packs the pages of a column. If that does not make them smaller, they stay uncompressed.
func (p *packer) chunk(m *format.ColumnMetaData, data []byte) error {
	at := m.DataPageOffset
	if m.DictionaryPageOffset > 0 {
		at = m.DictionaryPageOffset
	}
	data = data[at : at+m.TotalCompressedSize]
	var pages []packedPage
	plain, packed := 0, 0
	for len(data) > 0 {
		in := bytes.NewReader(data)
		page := packedPage{}
		if err := thrift.NewDecoder((&thrift.CompactProtocol{}).NewReader(in)).Decode(&page.header); err != nil {
			return fmt.Errorf("header of page: %w", err)
		}
		data = data[len(data)-in.Len():]
		page.body = data[:page.header.CompressedPageSize]
		data = data[page.header.CompressedPageSize:]
		if err := p.page(m, &page); err != nil {
			return err
		}
		pages = append(pages, page)
		plain, packed = plain+len(page.body), packed+len(page.packed)
	}
	m.Codec = format.Zstd
	if packed >= plain {
		m.Codec = format.Uncompressed
	}
	return p.write(m, pages)
}

// page packs a page. A data page becomes one of version 1, which compresses levels, too.
func (p *packer) page(m *format.ColumnMetaData, page *packedPage) (err error) {
	if !page.header.DataPageHeaderV2.Valid {
		page.packed, err = p.compress([][]byte{page.body})
		return err
	}
	h := page.header.DataPageHeaderV2.V
	var levels []byte
	values := page.body
	for _, n := range [...]int32{h.RepetitionLevelsByteLength, h.DefinitionLevelsByteLength} {
		if n > 0 {
			levels = append(binary.LittleEndian.AppendUint32(levels, uint32(n)), values[:n]...)
			values = values[n:]
		}
	}
	blocks := [][]byte{levels}
	page.header = format.PageHeader{Type: format.DataPage}
	page.header.DataPageHeader.Valid = true
	page.header.DataPageHeader.V = format.DataPageHeader{
		NumValues: h.NumValues, Encoding: h.Encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	}
	switch h.Encoding {
	case format.RLEDictionary:
		if values, err = p.widen(m, values, int(h.NumValues-h.NumNulls)); err != nil {
			return err
		}
		blocks = append(blocks, values)
	case format.ByteStreamSplit:
		const planes = 8
		for size := len(values) / planes; len(values) > 0; values = values[size:] {
			blocks = append(blocks, values[:size])
		}
	case format.DeltaByteArray:
		return p.strings(page, levels, values)
	default:
		blocks = append(blocks, values)
	}
	page.body = bytes.Join(blocks, nil)
	page.packed, err = p.compress(blocks)
	return err
}

// strings packs a page of strings that share prefixes with the string before. It shortens shared prefixes to the last hyphen: how many
// characters two random parts of names share is random, and does not compress.
func (p *packer) strings(page *packedPage, levels, values []byte) error {
	most := budget{bytes: math.MaxInt}
	var all texts
	n := int(page.header.DataPageHeader.V.NumValues)
	err := all.addPrefixed(values, n, n, &most, &[2][]int64{})
	if err != nil {
		return err
	}
	prefixes, lengths := make([]int32, len(all.ends)), make([]int32, len(all.ends))
	var rest, last []byte
	for i := range prefixes {
		text, n := all.at(int32(i)), 0
		for n < min(len(last), len(text)) && last[n] == text[n] {
			n++
		}
		if n < len(text) {
			n = bytes.LastIndexByte(text[:n], '-') + 1
		}
		prefixes[i], lengths[i] = int32(n), int32(len(text)-n)
		rest, last = append(rest, text[n:]...), text
	}
	blocks := [][]byte{levels}
	for _, numbers := range [...][]int32{prefixes, lengths} {
		block, err := (&delta.BinaryPackedEncoding{}).EncodeInt32(nil, numbers)
		if err != nil {
			return fmt.Errorf("lengths of strings: %w", err)
		}
		blocks = append(blocks, block)
	}
	blocks = append(blocks, rest)
	page.body = bytes.Join(blocks, nil)
	page.packed, err = p.compress(blocks)
	return err
}

// widen writes indices of more than 4 bits as whole bytes. Narrower indices of amounts, which are read most often, become one packed run
// unless all are equal: many short runs take longer to read.
func (p *packer) widen(m *format.ColumnMetaData, body []byte, n int) ([]byte, error) {
	if n == 0 || body[0] <= 4 && m.Type != format.Double {
		return body, nil
	}
	if _, one := constantHybrid(body[1:], int(body[0]), n); one {
		return body, nil
	}
	var err error
	if p.scratch, err = appendHybrid(p.scratch[:0], body[1:], int(body[0]), n); err != nil {
		return nil, err
	}
	width := int(body[0])
	if width > 4 {
		width = (bits.Len32(uint32(slices.Max(p.scratch))) + 7) / 8 * 8
	}
	groups := (n + 7) / 8
	out := binary.AppendUvarint([]byte{byte(width)}, uint64(groups)<<1|1)
	return appendPacked(out, append(p.scratch, make([]int32, 8*groups-n)...), width), nil
}

// appendPacked appends values of width bits each. Together they fill whole bytes.
func appendPacked(dst []byte, values []int32, width int) []byte {
	word, have := uint64(0), 0
	for _, v := range values {
		word |= uint64(v) << have
		for have += width; have >= 8; have -= 8 {
			dst, word = append(dst, byte(word)), word>>8
		}
	}
	return dst
}

// compress makes one zstd frame of the blocks of a page, which hold different kinds of data. The first blocks that hardly compress are
// stored as they are before those that the library writes: the library would compress them, which costs more to read than it saves.
func (p *packer) compress(blocks [][]byte) ([]byte, error) {
	src := bytes.Join(blocks, nil)
	if len(src) < len(blocks)*minBlock {
		return p.zstd.EncodeAll(src, nil), nil
	}
	var first []byte
	for len(blocks) > 1 && len(blocks[len(blocks)-1]) > 0 { // the library writes a frame only for some data
		stored, ok := p.store(blocks[0])
		if !ok {
			break
		}
		first, blocks = append(first, stored...), blocks[1:]
	}
	var out bytes.Buffer
	p.zstd.Reset(&out)
	for _, block := range blocks {
		if _, err := p.zstd.Write(block); err != nil {
			return nil, fmt.Errorf("compress page: %w", err)
		}
		if err := p.zstd.Flush(); err != nil {
			return nil, fmt.Errorf("compress page: %w", err)
		}
	}
	if err := p.zstd.Close(); err != nil {
		return nil, fmt.Errorf("compress page: %w", err)
	}
	return slices.Insert(out.Bytes(), frameHeader, first...), nil
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
	if saved := len(data) - len(p.zstd.EncodeAll(data, nil)); worthwhile*saved > len(data) {
		return nil, false
	}
	for block := range slices.Chunk(data, mostBlock) {
		head := binary.LittleEndian.AppendUint32(nil, uint32(len(block))<<3)
		stored = append(append(stored, head[:3]...), block...)
	}
	return stored, true
}

// write writes the pages of a column, and sets their offsets in its metadata.
func (p *packer) write(m *format.ColumnMetaData, pages []packedPage) error {
	start := p.out.Len()
	m.TotalUncompressedSize, m.EncodingStats, m.SizeStatistics = 0, nil, format.SizeStatistics{}
	if m.Type == format.Double || len(m.PathInSchema) > 1 { // no query uses their minimum and maximum
		m.Statistics = format.Statistics{}
	}
	for i := range pages {
		page := &pages[i]
		if page.header.Type == format.DictionaryPage {
			m.DictionaryPageOffset = int64(p.out.Len())
		} else if i == 0 || pages[i-1].header.Type == format.DictionaryPage {
			m.DataPageOffset = int64(p.out.Len())
		}
		stored := page.packed
		if m.Codec == format.Uncompressed {
			stored = page.body
		}
		h := &page.header
		h.CompressedPageSize, h.UncompressedPageSize, h.CRC = int32(len(stored)), int32(len(page.body)), 0 // manifests have a checksum
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
