package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// maxPageBytes is the largest uncompressed size of a page. Pages are written with a few megabytes at most.
const maxPageBytes = 1 << 26

// maxLeafValues is how many values a column may have in lists and maps.
const maxLeafValues = 1 << 24

// errShort says that data ends too early.
var errShort = errors.New("it has too few values")

// chunk reads the pages of one column of one row group. We do not use the library here, because a file may contain anything, and
// reading must not take more memory than the limits allow.
type chunk struct {
	to       *leaf
	reader   *reader
	at       *chunkLayout
	kind     parquet.Kind
	repeated bool
	optional bool
	values   int64 // read, missing ones included
	budget   *budget
	rows     rowSpan // the rows that are needed; only for a column with one value a row
	before   int64   // number of values in the chunks before

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
		page, rest, err := readPageLayout(data)
		if err != nil {
			return fmt.Errorf("header of page: %w", err)
		}
		data = rest
		size := page.compressed
		if size < 0 || size > int64(len(data)) || page.uncompressed < 0 || page.uncompressed > maxPageBytes {
			return fmt.Errorf("a page says to have %d and %d bytes", size, page.uncompressed)
		}
		if page.crc != 0 && crc32.ChecksumIEEE(data[:size]) != uint32(page.crc) {
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

func (c *chunk) page(page *pageLayout, body []byte) (err error) {
	dictionary := page.kind == int64(format.DictionaryPage) && page.dictionary && !c.hasDict
	if !dictionary && (page.kind != int64(format.DataPage) || !page.data) {
		return fmt.Errorf("a page of type %s is not known", format.PageType(page.kind))
	}
	// A dictionary has memory of its own: it is used while values are read.
	memory := &c.reader.pages[1]
	if dictionary {
		memory = &c.reader.pages[0]
	}
	if body, err = c.unpack(memory, body, int(page.uncompressed)); err != nil {
		return err
	}
	if dictionary {
		return c.dictionary(body, page.values)
	}
	return c.data(page, body)
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
func (c *chunk) dictionary(data []byte, values int64) (err error) {
	if values < 0 || values > int64(len(data)) {
		return errShort
	}
	n := int(values)
	c.hasDict, c.entries = true, n
	switch c.kind {
	case parquet.ByteArray:
		c.base = len(c.to.table.ends)
		err = c.to.table.add(data, n)
	case parquet.FixedLenByteArray:
		if len(data) != n*uuidBytes {
			return errShort
		}
		c.fixed = data
	case parquet.Double:
		c.numbers, err = appendFloats(c.reader.numbers[:0], data, n)
		c.reader.numbers = c.numbers
	case parquet.Int64:
		c.ints, err = appendInts(nil, data, n)
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
func (c *chunk) data(page *pageLayout, body []byte) (err error) {
	if page.values < 0 || page.values > c.at.values-c.values {
		return fmt.Errorf("its pages have more values than %d", c.at.values)
	}
	n := int(page.values)
	if err := c.budget.take(0, n); err != nil {
		return err
	}
	before := c.before + c.values
	c.values += page.values
	present := n
	var bits []byte
	if c.repeated {
		if bits, body, err = levels(body); err != nil {
			return err
		}
		if c.to.repetition, err = appendLevels(c.to.repetition, bits, n); err != nil {
			return err
		}
	}
	if c.optional {
		if bits, body, err = levels(body); err != nil {
			return err
		}
		from := len(c.to.definition)
		if c.to.definition, err = appendLevels(c.to.definition, bits, n); err != nil {
			return err
		}
		present -= bytes.Count(c.to.definition[from:], []byte{0})
	}
	from, to := 0, present
	if !c.repeated && !c.optional {
		from, to = c.rows.within(before, n)
	}
	if encoding := format.Encoding(page.encoding); encoding != format.RLEDictionary {
		return c.plain(encoding, body, present, from, to)
	}
	return c.indexed(body, present, from, to)
}

// indexed reads n indices into the dictionary, of which [from, to) are needed.
func (c *chunk) indexed(data []byte, n, from, to int) (err error) {
	if n == 0 {
		return nil
	}
	if len(data) == 0 {
		return errShort
	}
	width, data := int(data[0]), data[1:]
	if c.kind == parquet.Double {
		return c.amounts(data, width, n, from, to)
	}
	if c.kind == parquet.ByteArray {
		at := len(c.to.idx)
		if c.to.idx, err = appendHybrid(slices.Grow(c.to.idx, to), data, width, to); err != nil {
			return err
		}
		return c.based(c.to.idx[at:])
	}
	if v, ok := constantHybrid(data, width, n); ok && c.kind == parquet.Int64 && int64(v) < int64(c.entries) {
		at := len(c.to.ints)
		c.to.ints = slices.Grow(c.to.ints, n)[:at+n]
		fill(c.to.ints[at:], c.ints[v])
		return nil
	}
	indices, err := c.indices(data, width, n)
	if err != nil {
		return err
	}
	if c.kind == parquet.FixedLenByteArray {
		c.to.fixed = slices.Grow(c.to.fixed, uuidBytes*n)
		for _, i := range indices {
			c.to.fixed = append(c.to.fixed, c.fixed[uuidBytes*int(i):uuidBytes*(int(i)+1)]...)
		}
		return nil
	}
	c.to.ints = slices.Grow(c.to.ints, n) // dictionary has refused all other kinds
	for _, i := range indices {
		c.to.ints = append(c.to.ints, c.ints[i])
	}
	return nil
}

// indices returns n valid indices into the dictionary.
func (c *chunk) indices(data []byte, width, n int) ([]int32, error) {
	indices, err := appendHybrid(slices.Grow(c.reader.indices[:0], n), data, width, n)
	if err != nil {
		return nil, err
	}
	c.reader.indices = indices
	return indices, c.within(indices)
}

// within checks that indices lie within the dictionary.
func (c *chunk) within(indices []int32) error {
	some := [4]uint32{} // bits that any index has; a negative index has the highest bit
	rest := indices
	for ; len(rest) >= len(some); rest = rest[len(some):] {
		some[0] |= uint32(rest[0])
		some[1] |= uint32(rest[1])
		some[2] |= uint32(rest[2])
		some[3] |= uint32(rest[3])
	}
	for _, i := range rest {
		some[0] |= uint32(i)
	}
	highest := some[0] | some[1] | some[2] | some[3]
	if int64(highest) < int64(c.entries) {
		return nil
	}
	highest = 0
	for _, i := range indices {
		highest = max(highest, uint32(i))
	}
	if int64(highest) >= int64(c.entries) {
		return fmt.Errorf("value %d of a dictionary of %d", highest, c.entries)
	}
	return nil
}

// based turns indices into the dictionary into indices into the table that it was appended to.
func (c *chunk) based(indices []int32) error {
	if err := c.within(indices); err != nil || c.base == 0 {
		return err
	}
	for k := range indices {
		indices[k] += int32(c.base)
	}
	return nil
}

// amounts reads n indices of amounts, of which [from, to) are needed. Most columns have a single value, or indices of whole bytes.
func (c *chunk) amounts(data []byte, width, n, from, to int) error {
	wanted := to - from
	if v, ok := constantHybrid(data, width, n); ok && int64(v) < int64(c.entries) {
		number := c.numbers[v]
		if math.Float64bits(number) == 0 {
			c.to.addZeros(wanted)
			return nil
		}
		fill(c.to.more(wanted), number)
		return nil
	}
	packed, ok := packedRun(data, width, n)
	switch {
	case width <= 8 && !ok:
		var err error
		if packed, err = appendHybrid(c.reader.bytes[:0], data, width, to); err != nil {
			return err
		}
		c.reader.bytes = packed
		fallthrough
	case width <= 8:
		return c.narrow(packed[from:to])
	case ok:
		return c.wide(packed[2*from : 2*to])
	}
	indices, err := c.indices(data, width, n)
	if err != nil {
		return err
	}
	out := c.to.more(wanted)
	for k, i := range indices[from:to] {
		out[k] = c.numbers[i]
	}
	return nil
}

// narrow adds amounts of the dictionary by indices of one byte.
func (c *chunk) narrow(indices []byte) error {
	var table [1 << 8]float64
	if copy(table[:], c.numbers) < len(table) && int(anyBits(indices)) >= c.entries && len(indices) > 0 {
		if highest := slices.Max(indices); int(highest) >= c.entries {
			return fmt.Errorf("value %d of a dictionary of %d", highest, c.entries)
		}
	}
	out := c.to.more(len(indices))
	for ; len(indices) >= 8 && len(out) >= 8; indices, out = indices[8:], out[8:] {
		word := binary.LittleEndian.Uint64(indices)
		out[0], out[1], out[2], out[3] = table[uint8(word)], table[uint8(word>>8)], table[uint8(word>>16)], table[uint8(word>>24)]
		out[4], out[5], out[6], out[7] = table[uint8(word>>32)], table[uint8(word>>40)], table[uint8(word>>48)], table[word>>56]
	}
	for k, i := range indices {
		out[k] = table[i]
	}
	return nil
}

// anyBits returns the bits that any byte of b has.
func anyBits(b []byte) (bits byte) {
	var words uint64
	for ; len(b) >= 8; b = b[8:] {
		words |= binary.LittleEndian.Uint64(b)
	}
	for ; words > 0; words >>= 8 {
		bits |= byte(words)
	}
	for _, v := range b {
		bits |= v
	}
	return bits
}

// wide adds amounts of the dictionary by indices of two bytes.
func (c *chunk) wide(indices []byte) error {
	out, table := c.to.more(len(indices)/2), c.numbers
	for k := range out {
		i := int(indices[2*k]) | int(indices[2*k+1])<<8
		if i >= len(table) {
			return fmt.Errorf("value %d of a dictionary of %d", i, c.entries)
		}
		out[k] = table[i]
	}
	return nil
}

// plain reads n values without a dictionary, of which [from, to) are needed.
func (c *chunk) plain(e format.Encoding, data []byte, n, from, to int) (err error) {
	type way struct {
		kind     parquet.Kind
		encoding format.Encoding
	}
	switch (way{c.kind, e}) {
	case way{parquet.ByteArray, format.Plain}, way{parquet.ByteArray, format.DeltaByteArray}:
		base := len(c.to.table.ends)
		if e == format.Plain {
			err = c.to.table.add(data, to)
		} else {
			err = c.to.table.addPrefixed(data, n, to, c.budget, &c.reader.deltas)
		}
		c.to.idx = slices.Grow(c.to.idx, to)
		for i := base; i < len(c.to.table.ends); i++ {
			c.to.idx = append(c.to.idx, int32(i))
		}
	case way{parquet.Double, format.Plain}:
		if len(data)/8 < n {
			return errShort
		}
		c.to.begin(to - from)
		c.to.numbers, err = appendFloats(c.to.numbers, data[8*from:], to-from)
	case way{parquet.Double, format.ByteStreamSplit}:
		c.to.begin(to - from)
		c.to.numbers, err = appendSplit(c.to.numbers, data, n, from, to)
	case way{parquet.FixedLenByteArray, format.Plain}, way{parquet.FixedLenByteArray, format.ByteStreamSplit}:
		if len(data) != n*uuidBytes {
			return errShort
		}
		c.to.fixed = slices.Grow(c.to.fixed, len(data))
		if e == format.Plain {
			c.to.fixed = append(c.to.fixed, data...)
			break
		}
		for i := range n {
			for k := range uuidBytes {
				c.to.fixed = append(c.to.fixed, data[k*n+i])
			}
		}
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
