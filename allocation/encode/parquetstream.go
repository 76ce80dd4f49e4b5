package encode

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// ParquetStream writes what follows each other into one Parquet file, a row group each, so that one of them is in memory
// at a time. It has the columns of Parquet, but no footer: it is for other tools, and is not read back.
type ParquetStream struct {
	w   io.Writer
	out *parquet.Writer // nil until the first
}

// NewParquetStream begins a file. Nothing is written yet.
func NewParquetStream(w io.Writer) *ParquetStream { return &ParquetStream{w: w} }

// Rows writes the rows of a set. All sets of a file must be made by the same passes.
func (p *ParquetStream) Rows(s *allocation.Set) error {
	return p.group(string(ParquetAllocations), allocationColumns(s))
}

// group writes a row group. The first one says what the columns are.
func (p *ParquetStream) group(name string, columns []column) error {
	if p.out == nil {
		root := group{Group: parquet.Group{}}
		for i := range columns {
			root.add(columns[i].name, columns[i].node)
		}
		p.out = parquet.NewWriter(p.w, parquet.NewSchema(name, &root), parquet.CreatedBy("promcost", "1", "parquet"),
			parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(pageBytes), parquet.DataPageStatistics(false))
	}
	err := writeLeaves(p.out, columns)
	if err == nil {
		err = p.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write Parquet %s: %w", name, err)
	}
	return nil
}

// Close ends the file. One without anything has the columns of rows.
func (p *ParquetStream) Close() error {
	if p.out == nil {
		if err := p.Rows(allocation.NewSet(allocation.Window{}, allocation.NewDict())); err != nil {
			return err
		}
	}
	if err := p.out.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}
