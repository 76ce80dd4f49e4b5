package encode

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxPageBytes is the size that a page may have, uncompressed: those written are of a few megabytes at most.
const maxPageBytes = 1 << 26

// maxLeafValues is how many values a column may have in lists and maps.
const maxLeafValues = 1 << 24

// errShort says that data ends early.
var errShort = errors.New("it has too few values")

// chunk reads the pages of one column of one group of rows. They are read here, not by the library that writes them, for
// what is read may say anything: no more is taken for it than its size limits allow.
type chunk struct {
	to       *leaf
	zstd     *zstd.Decoder
	meta     *format.ColumnMetaData
	kind     parquet.Kind
	repeated bool
	optional bool
	values   int      // read, missing ones included
	scratch  *[]int32 // of indices

	numbers []float64 // the dictionary, of the kind that the column is
	ints    []int64
	base    int // of the dictionary in the table of strings
	entries int
	hasDict bool
}

// read reads the pages of the chunk.
func (c *chunk) read(data []byte) error {
	at := c.meta.DataPageOffset
	if d := c.meta.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	end := at + c.meta.TotalCompressedSize
	if at < 0 || end < at || end > int64(len(data)) {
		return errors.New("it lies outside of the file")
	}
	if c.meta.Codec != format.Zstd && c.meta.Codec != format.Uncompressed {
		return fmt.Errorf("it is compressed by %s", c.meta.Codec)
	}
	data = data[at:end]
	protocol := thrift.CompactProtocol{}
	for len(data) > 0 {
		in := bytes.NewReader(data)
		header := format.PageHeader{}
		if err := thrift.NewDecoder(protocol.NewReader(in)).Decode(&header); err != nil {
			return fmt.Errorf("header of page: %w", err)
		}
		data = data[len(data)-in.Len():]
		size := int(header.CompressedPageSize)
		if size < 0 || size > len(data) || header.UncompressedPageSize < 0 || header.UncompressedPageSize > maxPageBytes {
			return fmt.Errorf("a page says to have %d and %d bytes", size, header.UncompressedPageSize)
		}
		if header.CRC != 0 && crc32.ChecksumIEEE(data[:size]) != uint32(header.CRC) {
			return errors.New("the checksum of a page does not match")
		}
		if err := c.page(&header, data[:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	if int64(c.values) != c.meta.NumValues {
		return fmt.Errorf("it has %d values of %d", c.values, c.meta.NumValues)
	}
	return nil
}

func (c *chunk) page(header *format.PageHeader, body []byte) (err error) {
	switch {
	case header.Type == format.DictionaryPage && header.DictionaryPageHeader.Valid && !c.hasDict:
		if body, err = c.unpack(body, int(header.UncompressedPageSize), true); err != nil {
			return err
		}
		return c.dictionary(body, int(header.DictionaryPageHeader.V.NumValues))
	case header.Type == format.DataPageV2 && header.DataPageHeaderV2.Valid:
		return c.data(&header.DataPageHeaderV2.V, body, int(header.UncompressedPageSize))
	}
	return fmt.Errorf("a page of type %s is not known", header.Type)
}

// unpack is the content of a page of so many bytes.
func (c *chunk) unpack(body []byte, size int, compressed bool) ([]byte, error) {
	if c.meta.Codec == format.Uncompressed || !compressed {
		if len(body) != size {
			return nil, errShort
		}
		return body, nil
	}
	out, err := c.zstd.DecodeAll(body, make([]byte, 0, min(size, 1<<20)))
	if err != nil {
		return nil, err
	}
	if len(out) != size {
		return nil, fmt.Errorf("a page has %d bytes of %d", len(out), size)
	}
	return out, nil
}

// dictionary reads a page of distinct values.
func (c *chunk) dictionary(data []byte, n int) (err error) {
	if n < 0 || n > len(data) {
		return errShort
	}
	c.hasDict, c.entries = true, n
	switch c.kind {
	case parquet.ByteArray:
		c.base = len(c.to.table)
		c.to.table, err = appendTexts(c.to.table, data, n)
	case parquet.Double:
		c.numbers, err = appendFloats(nil, data, n)
	case parquet.Int64:
		c.ints, err = appendInts(nil, data, n)
	default:
		err = fmt.Errorf("a dictionary of %s is not known", c.kind)
	}
	return err
}

// data reads a page of values.
func (c *chunk) data(h *format.DataPageHeaderV2, body []byte, size int) error {
	n, repetition, definition := int(h.NumValues), int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if n < 0 || int64(c.values)+int64(n) > c.meta.NumValues {
		return fmt.Errorf("its pages have more values than %d", c.meta.NumValues)
	}
	if repetition < 0 || definition < 0 || repetition > len(body) || definition > len(body)-repetition || repetition+definition > size {
		return errors.New("the levels of a page are longer than it")
	}
	c.values += n
	present := n
	var err error
	if c.repeated {
		if c.to.repetition, err = appendLevels(c.to.repetition, body[:repetition], n, c.scratch); err != nil {
			return err
		}
	}
	if c.optional {
		from := len(c.to.definition)
		if c.to.definition, err = appendLevels(c.to.definition, body[repetition:repetition+definition], n, c.scratch); err != nil {
			return err
		}
		present -= bytes.Count(c.to.definition[from:], []byte{0})
	}
	compressed := !h.IsCompressed.Valid || h.IsCompressed.V
	if body, err = c.unpack(body[repetition+definition:], size-repetition-definition, compressed); err != nil {
		return err
	}
	if h.Encoding == format.RLEDictionary {
		return c.indexed(body, present)
	}
	return c.plain(h.Encoding, body, present)
}

// indexed reads indices into the dictionary.
func (c *chunk) indexed(data []byte, n int) error {
	if n == 0 {
		return nil
	}
	if len(data) == 0 {
		return errShort
	}
	indices, err := appendHybrid(slices.Grow((*c.scratch)[:0], n), data[1:], int(data[0]), n)
	if err != nil {
		return err
	}
	*c.scratch = indices
	for _, i := range indices {
		if i < 0 || int(i) >= c.entries {
			return fmt.Errorf("value %d of a dictionary of %d", i, c.entries)
		}
	}
	switch c.kind {
	case parquet.ByteArray:
		c.to.idx = slices.Grow(c.to.idx, n)
		for _, i := range indices {
			c.to.idx = append(c.to.idx, int32(c.base)+i)
		}
	case parquet.Double:
		c.to.numbers = slices.Grow(c.to.numbers, n)
		for _, i := range indices {
			c.to.numbers = append(c.to.numbers, c.numbers[i])
		}
	default: // dictionary has refused all others
		c.to.ints = slices.Grow(c.to.ints, n)
		for _, i := range indices {
			c.to.ints = append(c.to.ints, c.ints[i])
		}
	}
	return nil
}

// plain reads values that have no dictionary.
func (c *chunk) plain(e format.Encoding, data []byte, n int) (err error) {
	type way struct {
		kind     parquet.Kind
		encoding format.Encoding
	}
	switch (way{c.kind, e}) {
	case way{parquet.ByteArray, format.Plain}, way{parquet.ByteArray, format.DeltaByteArray}:
		base := len(c.to.table)
		if e == format.Plain {
			c.to.table, err = appendTexts(c.to.table, data, n)
		} else {
			c.to.table, err = appendPrefixed(c.to.table, data, n)
		}
		c.to.idx = slices.Grow(c.to.idx, n)
		for i := base; i < len(c.to.table); i++ {
			c.to.idx = append(c.to.idx, int32(i))
		}
	case way{parquet.Double, format.Plain}:
		c.to.numbers, err = appendFloats(c.to.numbers, data, n)
	case way{parquet.Double, format.ByteStreamSplit}:
		c.to.numbers, err = appendSplit(c.to.numbers, data, n)
	case way{parquet.Int64, format.Plain}:
		c.to.ints, err = appendInts(c.to.ints, data, n)
	case way{parquet.Int64, format.DeltaBinaryPacked}:
		c.to.ints, _, err = appendDeltas(c.to.ints, data, n)
	case way{parquet.Boolean, format.Plain}:
		if len(data) < (n+7)/8 {
			return errShort
		}
		for i := range n {
			c.to.bools = append(c.to.bools, data[i/8]>>(i%8)&1 != 0)
		}
	default:
		err = fmt.Errorf("%s encoded as %s is not known", c.kind, e)
	}
	return err
}
