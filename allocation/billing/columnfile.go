package billing

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// columnFile is a Parquet file of one row group that is written column by column. The library's writer is given each value of each row,
// which took most of the time of taking a bill in. Most columns here are the same for all lines of an item, so this one writes runs.
type columnFile struct {
	data   []byte
	pages  []page
	schema []format.SchemaElement
	chunks []format.ColumnChunk
	plain  []byte // a page before its compression
	packed []byte // and after it
}

// page are rows that are written together. A reader has a page of each column in memory.
type page struct {
	from, to int
	runs     []itemRun
}

// itemRun are rows of one item that stand together.
type itemRun struct {
	item uint32
	rows int
}

// pageRows is how many rows a page has at most.
const pageRows = 1 << 13

// magic is at the beginning and the end of a file.
const magic = "PAR1"

// newColumnFile begins a file with the rows of a day.
func newColumnFile(lines []piece) *columnFile {
	const rowBytes, footerBytes = 16, 8 << 10 // about what they take
	f := &columnFile{data: append(make([]byte, 0, rowBytes*len(lines)+footerBytes), magic...)}
	for from := 0; from < len(lines); from += pageRows {
		p := page{from: from, to: min(from+pageRows, len(lines))}
		for i := from; i < p.to; i++ {
			if i == from || lines[i].item != lines[i-1].item {
				p.runs = append(p.runs, itemRun{item: lines[i].item})
			}
			p.runs[len(p.runs)-1].rows++
		}
		f.pages = append(f.pages, p)
	}
	return f
}

// chunk begins a column. Its node says the type.
func (f *columnFile) chunk(name string, node parquet.Node, encoding format.Encoding, size int) *format.ColumnMetaData {
	element := format.SchemaElement{Name: name, Type: thrift.New(*node.Type().PhysicalType()), RepetitionType: thrift.New(format.Required)}
	if node.Optional() {
		element.RepetitionType = thrift.New(format.Optional)
	}
	if t := node.Type().LogicalType(); t != nil {
		element.LogicalType = *t
	}
	if t := node.Type().ConvertedType(); t != nil {
		element.ConvertedType = thrift.New(*t)
	}
	f.schema = append(f.schema, element)
	meta := format.ColumnMetaData{
		Type: element.Type.V, Encoding: []format.Encoding{format.RLE, format.Plain, encoding}, PathInSchema: []string{name}, Codec: format.Zstd,
	}
	const worthwhile = 128 // bytes that compression can make fewer
	if size < worthwhile {
		meta.Codec = format.Uncompressed
	}
	f.chunks = append(f.chunks, format.ColumnChunk{MetaData: meta})
	return &f.chunks[len(f.chunks)-1].MetaData
}

// put adds what is in plain as a page.
func (f *columnFile) put(m *format.ColumnMetaData, h format.PageHeader) error {
	body := f.plain
	if m.Codec == format.Zstd {
		var err error
		// The library's own codec keeps its encoders: one of each file takes megabytes, which a bill of many days added up to gigabytes.
		if f.packed, err = parquet.Zstd.Encode(f.packed[:0], f.plain); err != nil {
			return fmt.Errorf("compress page: %w", err)
		}
		body = f.packed
	}
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(f.plain)), int32(len(body))
	head, err := thrift.Marshal(&thrift.CompactProtocol{}, &h)
	if err != nil {
		return fmt.Errorf("header of page: %w", err)
	}
	switch at := int64(len(f.data)); {
	case h.Type == format.DictionaryPage:
		m.DictionaryPageOffset = at
	case m.DataPageOffset == 0:
		m.DataPageOffset = at
	}
	f.data = append(append(f.data, head...), body...)
	m.NumValues += int64(h.DataPageHeader.V.NumValues)
	m.TotalUncompressedSize += int64(len(head) + len(f.plain))
	m.TotalCompressedSize += int64(len(head) + len(body))
	return nil
}

// values adds what is in plain as the page p of values.
func (f *columnFile) values(m *format.ColumnMetaData, p *page, encoding format.Encoding) error {
	return f.put(m, format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(p.to - p.from), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})})
}

// texts writes a column of texts: of are the numbers of the items' texts in list, 0 for none.
func (f *columnFile) texts(name string, list []string, of []uint32) error {
	dictionary, numbers, size := f.dictionary(list, of)
	m := f.chunk(name, parquet.Optional(parquet.String()), format.RLEDictionary, size)
	return f.indexed(m, dictionary, func(p *page, add func(number uint32, rows int)) {
		for _, r := range p.runs {
			add(numbers[of[r.item]], r.rows)
		}
	})
}

// indexed writes the pages of a column whose dictionary is in plain. rows calls add for rows of a page with the number of their value in
// the dictionary, from 1; 0 is null.
func (f *columnFile) indexed(m *format.ColumnMetaData, dictionary int, rows func(p *page, add func(number uint32, rows int))) error {
	err := f.put(m, format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(dictionary), Encoding: format.Plain,
	})})
	if err != nil {
		return err
	}
	width := max(bits.Len(uint(max(dictionary, 1)-1)), 1)
	for i := range f.pages {
		levels, indexes := runs{width: 1}, runs{width: width}
		rows(&f.pages[i], func(number uint32, n int) {
			if number == 0 {
				levels.add(0, n)
				return
			}
			levels.add(1, n)
			indexes.add(number-1, n)
		})
		f.plain = append(append(appendLevels(f.plain[:0], &levels), byte(width)), indexes.end()...)
		if err := f.values(m, &f.pages[i], format.RLEDictionary); err != nil {
			return err
		}
	}
	return nil
}

// dictionary puts the texts of the file's items into plain, each once. numbers are by number in list, from 1; 0 is none. size is about
// what the column takes.
func (f *columnFile) dictionary(list []string, of []uint32) (n int, numbers []uint32, size int) {
	numbers = make([]uint32, len(list))
	f.plain = f.plain[:0]
	for i := range f.pages {
		for _, r := range f.pages[i].runs {
			k := of[r.item]
			if k == 0 || numbers[k] > 0 {
				continue
			}
			n++
			numbers[k] = uint32(n)
			f.plain = append(binary.LittleEndian.AppendUint32(f.plain, uint32(len(list[k]))), list[k]...)
		}
		if n > 1 {
			size += len(f.pages[i].runs)
		}
	}
	return n, numbers, size + len(f.plain)
}

// times writes a column of Unix milliseconds.
func (f *columnFile) times(name string, of func(row int) int64) error {
	m := f.chunk(name, parquet.Timestamp(parquet.Millisecond), format.DeltaBinaryPacked, math.MaxInt)
	millis := make([]int64, 0, pageRows)
	for i := range f.pages {
		p := &f.pages[i]
		millis = millis[:0]
		for row := p.from; row < p.to; row++ {
			millis = append(millis, of(row))
		}
		var err error
		if f.plain, err = (&delta.BinaryPackedEncoding{}).EncodeInt64(f.plain[:0], millis); err != nil {
			return fmt.Errorf("encode page: %w", err)
		}
		if err := f.values(m, p, format.DeltaBinaryPacked); err != nil {
			return err
		}
	}
	return nil
}

// numbers writes a column of numbers. NaN is null. What is charged by the hour is mostly the same each hour, so the numbers are runs of
// a dictionary, unless there are too many different ones.
func (f *columnFile) numbers(name string, of func(row int) float64) error {
	node := parquet.Optional(parquet.Leaf(parquet.DoubleType))
	if known, ok := f.repeated(of); ok {
		m := f.chunk(name, node, format.RLEDictionary, math.MaxInt)
		return f.indexed(m, len(known), func(p *page, add func(number uint32, rows int)) {
			last, n := math.NaN(), uint32(0)
			for row := p.from; row < p.to; row++ {
				if v := of(row); v != last {
					last, n = v, known[v]
				}
				add(n, 1)
			}
		})
	}
	m := f.chunk(name, node, format.Plain, math.MaxInt)
	values := make([]byte, 0, 8*pageRows)
	for i := range f.pages {
		p := &f.pages[i]
		levels := runs{width: 1}
		values = values[:0]
		for row := p.from; row < p.to; row++ {
			v := of(row)
			if math.IsNaN(v) {
				levels.add(0, 1)
				continue
			}
			levels.add(1, 1)
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(v))
		}
		f.plain = append(appendLevels(slices.Grow(f.plain[:0], 8*pageRows), &levels), values...)
		if err := f.values(m, p, format.Plain); err != nil {
			return err
		}
	}
	return nil
}

// repeated puts the different numbers of a column into plain, and returns which each is, from 1. ok is false if they hardly repeat, or
// all are null.
func (f *columnFile) repeated(of func(row int) float64) (known map[float64]uint32, ok bool) {
	const times = 4 // a number repeats at least
	rows := f.pages[len(f.pages)-1].to
	most := rows / times
	eachRun := func(use func(v float64)) {
		last := math.NaN()
		for row := 0; row < rows && most >= 0; row++ {
			if v := of(row); v != last && !math.IsNaN(v) {
				use(v)
				last = v
			}
		}
	}
	if eachRun(func(float64) { most-- }); most < 0 {
		return nil, false
	}
	known = map[float64]uint32{}
	f.plain = f.plain[:0]
	eachRun(func(v float64) {
		if known[v] == 0 {
			known[v] = uint32(len(known) + 1)
			f.plain = binary.LittleEndian.AppendUint64(f.plain, math.Float64bits(v))
		}
	})
	return known, len(known) > 0
}

// close returns the file.
func (f *columnFile) close(rows int) ([]byte, error) {
	root := format.SchemaElement{Name: "bills", NumChildren: thrift.New(int32(len(f.schema)))}
	group := format.RowGroup{Columns: f.chunks, NumRows: int64(rows), FileOffset: int64(len(magic))}
	for i := range f.chunks {
		group.TotalByteSize += f.chunks[i].MetaData.TotalUncompressedSize
		group.TotalCompressedSize += f.chunks[i].MetaData.TotalCompressedSize
	}
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, &format.FileMetaData{
		Version: 2, Schema: append([]format.SchemaElement{root}, f.schema...), NumRows: int64(rows), RowGroups: []format.RowGroup{group}, CreatedBy: "promcost version 1 (build billing)",
	})
	if err != nil {
		return nil, fmt.Errorf("write footer: %w", err)
	}
	f.data = append(f.data, footer...)
	return append(binary.LittleEndian.AppendUint32(f.data, uint32(len(footer))), magic...), nil
}

// runs are numbers in Parquet's run-length encoding.
type runs struct {
	width int // bits of a number
	out   []byte
	value uint32
	rows  int
}

// add appends a number of rows with the same value.
func (r *runs) add(value uint32, rows int) {
	if value != r.value {
		r.end()
		r.value = value
	}
	r.rows += rows
}

// end returns the runs so far.
func (r *runs) end() []byte {
	if r.rows > 0 {
		r.out = binary.AppendUvarint(r.out, uint64(r.rows)<<1)
		for bit := 0; bit < r.width; bit += 8 {
			r.out = append(r.out, byte(r.value>>bit))
		}
		r.rows = 0
	}
	return r.out
}

// appendLevels appends which rows have a value.
func appendLevels(dst []byte, levels *runs) []byte {
	out := levels.end()
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(out))), out...)
}
