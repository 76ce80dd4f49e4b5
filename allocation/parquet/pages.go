package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// maxPageBytes is the largest uncompressed size of a page. Pages are written with a few megabytes at most.
const maxPageBytes = 1 << 26

// maxLeafValues is how many values a column may have in lists and maps.
const maxLeafValues = 1 << 24

// errShort says that data ends too early.
var errShort = errors.New("it has too few values")

// chunk reads the pages of one column of one row group. The library decodes their values. Before, what they claim is checked,
// because a file may contain anything, and reading must not take more memory than the limits allow.
type chunk struct {
	to       *leaf
	reader   *reader
	at       *chunkLayout
	kind     parquet.Kind
	repeated bool
	optional bool
	values   int64 // read, missing ones included
	budget   *budget
	need     int64 // how many values are needed; only for a column with one value a row

	numbers []float64 // the dictionary, in the field for the kind of the column
	fixed   []byte
	ints    []int64
	base    int // where the dictionary begins in the table of strings
	entries int
	hasDict bool
}

// read reads the pages of the chunk.
func (c *chunk) read(data []byte) error {
	at := c.at.data
	if d := c.at.dictionary; d > 0 && d < at {
		at = d
	}
	end := at + c.at.compressed
	if at < 0 || end < at || end > int64(len(data)) {
		return errors.New("it lies outside of the file")
	}
	if codec := format.CompressionCodec(c.at.codec); codec != format.Zstd && codec != format.Uncompressed {
		return fmt.Errorf("it is compressed by %s", codec)
	}
	data = data[at:end]
	for len(data) > 0 {
		if c.values >= c.need && !c.repeated && !c.optional && (c.hasDict || c.values > 0) {
			return nil
		}
		page, rest, err := readPageHeader(data)
		if err != nil {
			return fmt.Errorf("header of page: %w", err)
		}
		data = rest
		size := int64(page.Compressed)
		if size < 0 || size > int64(len(data)) || page.Uncompressed < 0 || page.Uncompressed > maxPageBytes {
			return fmt.Errorf("a page claims %d and %d bytes", size, page.Uncompressed)
		}
		if page.CRC != 0 && crc32.ChecksumIEEE(data[:size]) != uint32(page.CRC) {
			return errors.New("the checksum of a page does not match")
		}
		if err := c.page(&page, data[:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	if c.values != c.at.values {
		return fmt.Errorf("it has %d values of %d", c.values, c.at.values)
	}
	return nil
}

func (c *chunk) page(page *pageHeader, body []byte) (err error) {
	dictionary := page.Kind == int32(format.DictionaryPage) && page.Dictionary != nil && !c.hasDict
	if !dictionary && (page.Kind != int32(format.DataPage) || page.Data == nil) {
		return fmt.Errorf("a page of type %s is not known", format.PageType(page.Kind))
	}
	// A dictionary has memory of its own: it is used while values are read.
	memory := &c.reader.pages[1]
	if dictionary {
		memory = &c.reader.pages[0]
	}
	if body, err = c.unpack(memory, body, int(page.Uncompressed)); err != nil {
		return err
	}
	if dictionary {
		return c.dictionary(body, int(page.Dictionary.Values))
	}
	return c.data(page.Data, body)
}

// unpack returns the content of a page, which has size bytes. It may use memory, and grow it.
func (c *chunk) unpack(memory *[]byte, body []byte, size int) ([]byte, error) {
	if format.CompressionCodec(c.at.codec) == format.Uncompressed {
		if len(body) != size {
			return nil, errShort
		}
		return body, nil
	}
	if err := c.budget.take(size, 0); err != nil {
		return nil, err
	}
	if cap(*memory) < size {
		*memory = make([]byte, 0, size)
	}
	out, err := c.reader.zstd.DecodeAll(body, (*memory)[:0:size])
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
		c.base = len(c.to.table.ends)
		err = c.texts(&parquet.Plain, data, n)
	case parquet.FixedLenByteArray:
		if len(data) != n*uuidBytes {
			return errShort
		}
		c.fixed = data
	case parquet.Double:
		c.numbers, err = parquet.Plain.DecodeDouble(c.reader.numbers[:0], data)
		c.reader.numbers, err = c.numbers, enough(len(c.numbers), n, err)
	case parquet.Int64:
		c.ints, err = parquet.Plain.DecodeInt64(nil, data)
		err = enough(len(c.ints), n, err)
	default:
		err = fmt.Errorf("a dictionary of %s is not known", c.kind)
	}
	return err
}

// levels splits a page into its levels, which are stored first after their length, and the rest.
func levels(body []byte) (levels, rest []byte, err error) {
	if len(body) < 4 {
		return nil, nil, errShort
	}
	n := int64(binary.LittleEndian.Uint32(body))
	if body = body[4:]; n > int64(len(body)) {
		return nil, nil, errors.New("the levels of a page are longer than it")
	}
	return body[:n], body[n:], nil
}

// data reads a page of values.
func (c *chunk) data(page *pageContent, body []byte) (err error) {
	if page.Values < 0 || int64(page.Values) > c.at.values-c.values {
		return fmt.Errorf("its pages have more values than %d", c.at.values)
	}
	n := int(page.Values)
	if err := c.budget.take(0, n); err != nil {
		return err
	}
	c.values += int64(n)
	present := n
	var bits []byte
	if c.repeated {
		if bits, body, err = levels(body); err != nil {
			return err
		}
		if c.to.repetition, err = c.reader.appendLevels(c.to.repetition, bits, n); err != nil {
			return err
		}
	}
	if c.optional {
		if bits, body, err = levels(body); err != nil {
			return err
		}
		from := len(c.to.definition)
		if c.to.definition, err = c.reader.appendLevels(c.to.definition, bits, n); err != nil {
			return err
		}
		present -= bytes.Count(c.to.definition[from:], []byte{0})
	}
	if encoding := format.Encoding(page.Encoding); encoding != format.RLEDictionary {
		return c.direct(encoding, body, present)
	}
	return c.indexed(body, present)
}

// indexed reads n indices into the dictionary.
func (c *chunk) indexed(data []byte, n int) error {
	if n == 0 {
		return nil
	}
	if len(data) == 0 {
		return errShort
	}
	indices, err := c.indices(data[1:], int(data[0]), n)
	if err != nil {
		return err
	}
	switch l := c.to; c.kind {
	case parquet.ByteArray:
		l.idx = slices.Grow(l.idx, n)
		for _, i := range indices {
			l.idx = append(l.idx, int32(c.base)+i)
		}
	case parquet.FixedLenByteArray:
		l.fixed = slices.Grow(l.fixed, uuidBytes*n)
		for _, i := range indices {
			l.fixed = append(l.fixed, c.fixed[uuidBytes*int(i):uuidBytes*(int(i)+1)]...)
		}
	case parquet.Double:
		l.numbers = appendIndexed(l.numbers, c.numbers, indices)
	default: // dictionary has refused all other kinds
		l.ints = appendIndexed(l.ints, c.ints, indices)
	}
	return nil
}

// appendIndexed appends the values of a table at valid indices.
func appendIndexed[T any](dst, table []T, indices []int32) []T {
	at := len(dst)
	dst = slices.Grow(dst, len(indices))[:at+len(indices)]
	for k, i := range indices {
		dst[at+k] = table[i]
	}
	return dst
}

// indices returns n valid indices into the dictionary.
func (c *chunk) indices(data []byte, width, n int) ([]int32, error) {
	if width == 0 {
		c.reader.indices = slices.Grow(c.reader.indices[:0], n)[:n]
		clear(c.reader.indices)
	} else {
		data, err := cutRuns(data, width, n)
		if err != nil {
			return nil, err
		}
		if c.reader.indices, err = (&rle.Encoding{BitWidth: width}).DecodeInt32(c.reader.indices[:0], data); err != nil {
			return nil, err
		}
	}
	if len(c.reader.indices) < n {
		return nil, errShort
	}
	indices, highest := c.reader.indices[:n], uint32(0)
	for _, i := range indices {
		highest = max(highest, uint32(i)) // that of a negative index is higher than any
	}
	if int64(highest) >= int64(c.entries) {
		return nil, fmt.Errorf("index %d into a dictionary of %d values", highest, c.entries)
	}
	return indices, nil
}

// texts appends n strings to the table.
func (c *chunk) texts(by encoding.Encoding, data []byte, n int) (err error) {
	r, table := c.reader, &c.to.table
	if r.text, r.offsets, err = by.DecodeByteArray(r.text[:0], data, r.offsets[:0]); err != nil {
		return err
	}
	if err := enough(len(r.offsets)-1, n, nil); err != nil {
		return err
	}
	base := len(table.data)
	table.data, table.ends = append(table.data, r.text[:r.offsets[n]]...), slices.Grow(table.ends, n)
	for _, end := range r.offsets[1 : n+1] {
		table.ends = append(table.ends, int32(base)+int32(end))
	}
	return table.limit()
}

// direct reads n values without a dictionary.
func (c *chunk) direct(e format.Encoding, data []byte, n int) (err error) {
	type way struct {
		kind     parquet.Kind
		encoding format.Encoding
	}
	l, by := c.to, parquet.LookupEncoding(e)
	switch (way{c.kind, e}) {
	case way{parquet.ByteArray, format.DeltaByteArray}:
		size, err := prefixedSize(data, n)
		if err == nil {
			err = c.budget.take(size, 0)
		}
		if err != nil {
			return err
		}
		fallthrough
	case way{parquet.ByteArray, format.Plain}:
		base := len(l.table.ends)
		if err := c.texts(by, data, n); err != nil {
			return err
		}
		l.idx = slices.Grow(l.idx, n)
		for i := base; i < len(l.table.ends); i++ {
			l.idx = append(l.idx, int32(i))
		}
	case way{parquet.Double, format.Plain}, way{parquet.Double, format.ByteStreamSplit}:
		l.numbers, err = appendDecoded(l.numbers, data, n, by.DecodeDouble)
	case way{parquet.Int64, format.DeltaBinaryPacked}:
		if _, err := deltaSize(data, n); err != nil {
			return err
		}
		fallthrough
	case way{parquet.Int64, format.Plain}:
		l.ints, err = appendDecoded(l.ints, data, n, by.DecodeInt64)
	case way{parquet.FixedLenByteArray, format.Plain}, way{parquet.FixedLenByteArray, format.ByteStreamSplit}:
		values, err := by.DecodeFixedLenByteArray(nil, data, uuidBytes)
		if err := enough(len(values)/uuidBytes, n, err); err != nil {
			return err
		}
		l.fixed = append(l.fixed, values[:uuidBytes*n]...)
	case way{parquet.Boolean, format.Plain}:
		if len(data) < (n+7)/8 {
			return errShort
		}
		for i := range n {
			l.bools = append(l.bools, data[i/8]>>(i%8)&1 != 0)
		}
	default:
		err = fmt.Errorf("%s encoded as %s is not known", c.kind, e)
	}
	return err
}

// appendDecoded appends n values that the library decodes.
func appendDecoded[T any](dst []T, data []byte, n int, decode func(dst []T, data []byte) ([]T, error)) ([]T, error) {
	at := len(dst)
	dst = slices.Grow(dst, n)
	values, err := decode(dst[at:at:at+n], data)
	if err := enough(len(values), n, err); err != nil {
		return nil, err
	}
	return append(dst, values[:n]...), nil // they are there already if the room was enough
}

// enough is an error if the library decoded fewer values than a page claims.
func enough(have, want int, err error) error {
	if err == nil && have < want {
		return errShort
	}
	return err
}
