package blocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/prometheus/prometheus/tsdb/fileutil"
	tsdbindex "github.com/prometheus/prometheus/tsdb/index"
)

const (
	tocSize   = 6*8 + crc32.Size
	entrySize = 16 // series entries are aligned to it, and named by their offset divided by it
	metric    = "__name__"
)

// errMalformed is the cause of an index or chunk file that does not hold what its format says.
var errMalformed = errors.New("malformed data")

// castagnoli is the table of all checksums in a block.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// index reads the parts of a block's index file (version 2) that a selection by metric needs, from a mapping of it.
// The byte slices that it returns are views of the mapping and must not outlive it; strings are copies. See Prometheus' tsdb/docs/format/index.md.
type index struct {
	file    *fileutil.MmapFile
	data    []byte
	symbols []uint32          // offset of each symbol's length, by id; symbols are in ascending order
	metrics map[string]uint64 // offset of the postings of each metric's name
	labels  map[string]valueTable
}

// valueTable is the part of the postings table that has the values of one label, in ascending order.
type valueTable struct {
	entries []byte // of these values, and of those of later labels
	count   uint32
}

// openIndex opens the index of the block in dir. A version that is not known is an error.
func openIndex(dir string) (*index, error) {
	file, err := fileutil.OpenMmapFile(filepath.Join(dir, "index"))
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	x := &index{file: file, data: file.Bytes(), metrics: map[string]uint64{}, labels: map[string]valueTable{}}
	if err := x.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open index: %w", err), file.Close())
	}
	return x, nil
}

func (x *index) close() error { return x.file.Close() }

func (x *index) open() error {
	n := len(x.data)
	if n < tsdbindex.HeaderLen+tocSize || binary.BigEndian.Uint32(x.data) != tsdbindex.MagicIndex {
		return fmt.Errorf("%w: no index header", errMalformed)
	}
	if v := x.data[4]; v != tsdbindex.FormatV2 {
		return fmt.Errorf("version %d, want %d", v, tsdbindex.FormatV2)
	}
	toc := x.data[n-tocSize:]
	if !sealed(toc[:6*8], toc[6*8:]) {
		return fmt.Errorf("%w: checksum of the table of contents", errMalformed)
	}
	if err := x.readSymbols(binary.BigEndian.Uint64(toc)); err != nil {
		return fmt.Errorf("read symbols: %w", err)
	}
	if err := x.readLabels(binary.BigEndian.Uint64(toc[5*8:])); err != nil {
		return fmt.Errorf("read labels: %w", err)
	}
	return nil
}

// sealed reports whether sum starts with the checksum of content.
func sealed(content, sum []byte) bool {
	return len(sum) >= crc32.Size && crc32.Checksum(content, castagnoli) == binary.BigEndian.Uint32(sum)
}

// section is the content of a section that starts with its length at offset, without checking its sum.
func (x *index) section(offset uint64) ([]byte, error) {
	if offset > uint64(len(x.data)) || uint64(len(x.data))-offset < 4+crc32.Size {
		return nil, fmt.Errorf("%w: section at %d is beyond the file", errMalformed, offset)
	}
	size := uint64(binary.BigEndian.Uint32(x.data[offset:]))
	if size+4+crc32.Size > uint64(len(x.data))-offset {
		return nil, fmt.Errorf("%w: section at %d is longer than the file", errMalformed, offset)
	}
	return x.data[offset+4:][:size:size], nil
}

// readSymbols finds the offset of every symbol.
func (x *index) readSymbols(offset uint64) error {
	section, err := x.section(offset)
	if err != nil {
		return err
	}
	if len(section) < 4 || !sealed(section, x.data[offset+4+uint64(len(section)):]) {
		return fmt.Errorf("%w: checksum", errMalformed)
	}
	count := int(binary.BigEndian.Uint32(section))
	if count > len(section) || offset+uint64(len(section)) > 1<<32-16 {
		return fmt.Errorf("%w: %d symbols in %d bytes at %d", errMalformed, count, len(section), offset)
	}
	x.symbols = make([]uint32, count)
	at := 4
	for i := range x.symbols {
		x.symbols[i] = uint32(offset) + 4 + uint32(at)
		size, n := binary.Uvarint(section[at:])
		if n <= 0 || size > uint64(len(section)-at-n) {
			return fmt.Errorf("%w: symbol %d", errMalformed, i)
		}
		at += n + int(size)
	}
	return nil
}

// readLabels finds where the values of each label begin in the postings table. It verifies the checksum of the table: with a corrupt
// name, the block would seem to lack a metric.
func (x *index) readLabels(offset uint64) error {
	table, err := x.section(offset)
	if err != nil {
		return err
	}
	if len(table) < 4 || !sealed(table, x.data[offset+4+uint64(len(table)):]) {
		return fmt.Errorf("%w: checksum of the postings table", errMalformed)
	}
	var label, head []byte // all entries of the label begin with head
	var of valueTable
	for count, rest := binary.BigEndian.Uint32(table), table[4:]; count > 0; count-- {
		if of.count == 0 || !bytes.HasPrefix(rest, head) {
			if of.count > 0 {
				x.labels[string(label)] = of
			}
			label, head = tableLabel(rest)
			if _, twice := x.labels[string(label)]; twice || label == nil {
				return fmt.Errorf("%w: postings table", errMalformed)
			}
			of = valueTable{entries: rest}
		}
		_, _, size := tableValue(rest[len(head):])
		if size == 0 {
			return fmt.Errorf("%w: postings table", errMalformed)
		}
		of.count++
		rest = rest[len(head)+size:]
	}
	if of.count > 0 {
		x.labels[string(label)] = of
	}
	x.labels[metric].each(func(value []byte, offset uint64) bool {
		x.metrics[string(value)] = offset
		return true
	})
	return nil
}

// tableLabel returns the label of the first entry of a part of the postings table, and the bytes of the entry up to the label's end. Both
// are nil if the entry is malformed.
func tableLabel(table []byte) (label, head []byte) {
	if len(table) == 0 || table[0] != 2 {
		return nil, nil
	}
	length, n := binary.Uvarint(table[1:])
	if n <= 0 || length > uint64(len(table)-1-n) {
		return nil, nil
	}
	head = table[:1+n+int(length)]
	return head[1+n:], head
}

// tableValue returns what follows the label in an entry of the postings table: the value and the offset of its postings. size is how many
// bytes both take, 0 if they are malformed.
func tableValue(table []byte) (value []byte, offset uint64, size int) {
	length, n := binary.Uvarint(table)
	if n <= 0 || length > uint64(len(table)-n) {
		return nil, 0, 0
	}
	at := n + int(length)
	offset, k := binary.Uvarint(table[at:])
	if k <= 0 {
		return nil, 0, 0
	}
	return table[n:at], offset, at + k
}

// each calls f for each value and the offset of its postings, until f returns false. The value is a view that must not be kept.
func (t valueTable) each(f func(value []byte, offset uint64) bool) {
	_, head := tableLabel(t.entries) // readLabels has read it
	for ; t.count > 0; t.count-- {
		value, offset, size := tableValue(t.entries[len(head):])
		if !f(value, offset) {
			return
		}
		t.entries = t.entries[len(head)+size:]
	}
}

// text is the symbol of an id, a view that must not be kept.
func (x *index) text(id uint32) ([]byte, error) {
	if uint64(id) >= uint64(len(x.symbols)) {
		return nil, fmt.Errorf("%w: symbol %d of %d", errMalformed, id, len(x.symbols))
	}
	b := x.data[x.symbols[id]:]
	size, n := binary.Uvarint(b) // checked by readSymbols
	return b[n:][:size:size], nil
}

// touch reads a byte of each page of the symbols, and returns their sum.
func (x *index) touch(page int) (sum byte) {
	if len(x.symbols) == 0 {
		return 0
	}
	first, last := int(x.symbols[0]), int(x.symbols[len(x.symbols)-1])
	size, n := binary.Uvarint(x.data[last:])
	end := last + n + int(size)
	for at := first; at < end; at += page {
		sum += x.data[at]
	}
	return sum + x.data[end-1]
}

// postings are the references of a metric's series, four bytes each, big endian; nil if the block has none.
func (x *index) postings(name string) ([]byte, error) {
	offset, ok := x.metrics[name]
	if !ok {
		return nil, nil
	}
	return x.postingsAt(offset)
}

// postingsAt is the list of references at an offset.
func (x *index) postingsAt(offset uint64) ([]byte, error) {
	list, err := x.section(offset)
	if err != nil {
		return nil, err
	}
	if len(list) < 4 || uint64(binary.BigEndian.Uint32(list))*4 != uint64(len(list)-4) || !sealed(list, x.data[offset+4+uint64(len(list)):]) {
		return nil, fmt.Errorf("%w: postings at %d", errMalformed, offset)
	}
	return list[4:], nil
}

// entry is the content of a series' entry, its checksum verified, and where it begins in the file.
func (x *index) entry(ref uint32) (content []byte, at uint64, err error) {
	offset := uint64(ref) * entrySize
	if offset >= uint64(len(x.data)) {
		return nil, 0, fmt.Errorf("%w: series at %d is beyond the file", errMalformed, offset)
	}
	b := x.data[offset:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) || !sealed(b[n:n+int(size)], b[n+int(size):]) {
		return nil, 0, fmt.Errorf("%w: series at %d", errMalformed, offset)
	}
	return b[n:][:size:size], offset + uint64(n), nil
}
