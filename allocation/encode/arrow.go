package encode

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
)

// ArrowBatchRows is the number of rows of a record batch. An Arrow stream keeps so many in memory besides the sets.
const ArrowBatchRows = 8192

// arrowColumn is a column of an Arrow stream of rows of type T.
type arrowColumn[T any] struct {
	field arrow.Field
	add   func(b array.Builder, row T)
}

// arrowStream writes record batches.
type arrowStream[T any] struct {
	columns []arrowColumn[T]
	builder *array.RecordBuilder
	out     *ipc.Writer
	rows    int
}

func newArrowStream[T any](w io.Writer, columns []arrowColumn[T]) *arrowStream[T] {
	fields := make([]arrow.Field, len(columns))
	for i := range columns {
		fields[i] = columns[i].field
	}
	schema := arrow.NewSchema(fields, nil)
	return &arrowStream[T]{
		columns: columns, builder: array.NewRecordBuilder(memory.DefaultAllocator, schema),
		out: ipc.NewWriter(w, ipc.WithSchema(schema)),
	}
}

// add adds a row, and writes a batch once there are many.
func (s *arrowStream[T]) add(row T) error {
	for i := range s.columns {
		s.columns[i].add(s.builder.Field(i), row)
	}
	if s.rows++; s.rows < ArrowBatchRows {
		return nil
	}
	return s.flush()
}

func (s *arrowStream[T]) flush() error {
	if s.rows == 0 {
		return nil
	}
	s.rows = 0
	batch := s.builder.NewRecordBatch()
	defer batch.Release()
	return s.out.Write(batch)
}

// close writes what is left and the end of the stream; err is what went wrong before.
func (s *arrowStream[T]) close(err error) error {
	if err == nil {
		err = s.flush()
	}
	s.builder.Release()
	if closeErr := s.out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write Arrow: %w", err)
	}
	return nil
}

// arrowRow is a row of a set, and its name on the page.
type arrowRow struct {
	set  *allocation.Set
	row  int
	name string
}

// Arrow writes sets as an Arrow IPC stream with a record for each row, in the order of the options' page. The columns are the
// name, the columns of Parquet without the shares of volumes and load balancers, and the numbers of JSON that are derived from
// them.
func Arrow(w io.Writer, sets []*allocation.Set, o Options) error {
	if err := o.require(ColumnsFormat, sets...); err != nil {
		return err
	}
	s := newArrowStream(w, arrowRowColumns())
	var err error
	for _, set := range sets {
		for _, r := range o.rows(set) {
			if err == nil {
				err = s.add(arrowRow{set, r.row, r.name})
			}
		}
	}
	return s.close(err)
}

// ArrowAssets writes sets of assets as an Arrow IPC stream with a record for each asset. The columns are those of AssetsCSV and
// the window.
func ArrowAssets(w io.Writer, sets []*assets.Set, o Options) error {
	s := newArrowStream(w, arrowAssetColumns())
	var err error
	for _, set := range sets {
		for _, a := range o.PageOf(set) {
			if err == nil {
				err = s.add(arrowAsset{set, a})
			}
		}
	}
	return s.close(err)
}
