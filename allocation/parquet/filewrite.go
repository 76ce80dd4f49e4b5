package parquet

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// fileWriter writes a file into its packer's out, which may be emptied between row groups.
type fileWriter struct {
	*packer
	name   string // of the schema
	footer string // of promcost, "" for none
	meta   format.FileMetaData
	offset int64 // how much of the file is not in out any more
	// kept says that promcost keeps the file and reads it itself: what compression does not make smaller stays as it is, and a large file
	// is compressed as well as possible. Some readers want a column to be compressed in all row groups or in none.
	kept bool
}

// rowBytes is about how many bytes a row takes before it is compressed.
const rowBytes = 1 << 8

// createdBy says which program writes files.
const createdBy = "promcost version 1(build parquet)"

// begin writes what is before the first row group, whose columns are those of the file.
func (f *fileWriter) begin(columns []column) {
	f.out.WriteString(magic)
	root := format.SchemaElement{Name: f.name, NumChildren: thrift.New(int32(len(columns)))}
	f.meta = format.FileMetaData{Version: 2, CreatedBy: createdBy, Schema: []format.SchemaElement{root}}
	for i := range columns {
		f.meta.Schema = append(f.meta.Schema, columns[i].schema...)
		for range columns[i].leaves {
			f.meta.ColumnOrders = append(f.meta.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
		}
	}
	if f.footer != "" {
		f.meta.KeyValueMetadata = []format.KeyValue{{Key: footerKey, Value: f.footer}}
	}
}

// group writes a row group.
func (f *fileWriter) group(columns []column, rows int) error {
	if len(f.meta.Schema) == 0 {
		f.begin(columns)
	}
	if rows == 0 {
		return nil
	}
	f.body, f.ends = slices.Grow(f.body[:0], rows*rowBytes), f.ends[:0]
	var packed []packedColumn
	for i := range columns {
		for k := range columns[i].leaves {
			c, err := f.column(&columns[i].leaves[k])
			if err != nil {
				return err
			}
			packed = append(packed, c)
		}
	}
	level := zstd.SpeedDefault
	if f.kept && len(f.body) >= largeFile {
		level = zstd.SpeedBestCompression
	}
	if err := f.use(level); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	g := format.RowGroup{NumRows: int64(rows), FileOffset: f.offset + int64(f.out.Len()), Ordinal: int16(len(f.meta.RowGroups))}
	for i := range packed {
		if err := f.write(&packed[i], f.offset, f.kept); err != nil {
			return err
		}
		m := &packed[i].meta
		g.TotalCompressedSize, g.TotalByteSize = g.TotalCompressedSize+m.TotalCompressedSize, g.TotalByteSize+m.TotalUncompressedSize
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: *m})
	}
	f.meta.RowGroups, f.meta.NumRows = append(f.meta.RowGroups, g), f.meta.NumRows+int64(rows)
	return nil
}

// end writes what is after the last row group.
func (f *fileWriter) end() error {
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, &f.meta)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	f.out.Write(footer)
	f.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	f.out.WriteString(magic)
	return nil
}
