package billing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/promcost/promcost/allocation/parquet"
)

// parquetReader reads the rows of a Parquet file.
type parquetReader struct {
	bill    string
	to      sink
	layout  *layout
	table   *parquet.Table
	texts   []*parquet.Texts // of the item's columns, in the order of the key
	byName  map[int]*parquet.Texts
	numbers [numAmounts]*parquet.Numbers // nil for columns that are not there
	times   [2]*parquet.Numbers
	items   map[string]uint32 // by the numbers of the texts
	epoch   int               // of the sink
	changed []bool            // rows that are available and have other texts than the row before
	key     []byte
	item    uint32 // of the row before
	amounts numbers
	full    []byte
}

// readParquet reads a Parquet file into a sink.
func readParquet(in io.ReaderAt, size int64, bill string, to sink) error {
	table, err := parquet.OpenTable(in, size, parquetForms())
	if err != nil {
		return &cutError{err: err} // what describes the columns stands at the end
	}
	r := &parquetReader{bill: bill, to: to, table: table, items: map[string]uint32{}, byName: map[int]*parquet.Texts{}, epoch: -1}
	if err := r.open(); err != nil {
		return err
	}
	err = table.Read(r.rows)
	if value, ok := errors.AsType[*parquet.ValueError](err); ok {
		return &cellError{row: value.Row, column: value.Column, err: value.Err}
	}
	return err
}

// parquetForms are the forms of texts that stand for other values.
func parquetForms() *parquet.Forms {
	return &parquet.Forms{
		Null: isNull, Number: parseNumber,
		Time: func(text string) (int64, error) {
			if isNull(text) {
				return 0, errNull
			}
			return parseTime(text)
		},
		Check: func(millis int64) error {
			_, err := checkTime(millis)
			return err
		},
		Pairs: func(pairs [][2]string) string { // of two tags with one name the later counts
			var tags Tags
			for _, p := range pairs {
				tags = append(tags, Tag{p[0], p[1]})
			}
			return tags.text()
		},
	}
}

// open finds the columns.
func (r *parquetReader) open() error {
	names := r.table.Names()
	var err error
	if r.layout, err = newLayout(names); err != nil {
		return err
	}
	for i, of := range r.layout.columns {
		for _, column := range of {
			if r.table.HasPairs(column) && r.layout.fields[i].column() != "Tags" {
				return fmt.Errorf("column %s is a map: want a text", names[column])
			}
			c := r.table.Texts(column)
			r.texts, r.byName[column] = append(r.texts, c), c
		}
	}
	for i, column := range r.layout.amounts {
		if column >= 0 {
			r.numbers[i] = r.table.Numbers(column)
		}
	}
	r.times = [2]*parquet.Numbers{r.table.Times(r.layout.start), r.table.Times(r.layout.end)}
	return nil
}

// rows hands on the rows that are available.
func (r *parquetReader) rows(first int64, n int, fresh bool) error {
	if fresh {
		clear(r.items)
	}
	r.findChanges(n)
	for i := range n {
		if err := r.line(i); err != nil {
			return atRow(err, first+int64(i))
		}
	}
	return nil
}

// findChanges marks which of the rows that are available have other texts than the row before. Rows of one thing often follow each other.
func (r *parquetReader) findChanges(n int) {
	r.changed = append(r.changed[:0], make([]bool, n)...)
	r.changed[0] = true
	for _, c := range r.texts {
		if c.Constant() {
			continue
		}
		last := c.ID(0)
		for i := 1; i < n; i++ {
			id := c.ID(i)
			if id != last {
				r.changed[i] = true
			}
			last = id
		}
	}
}

// line hands on the i-th of the rows that are available.
func (r *parquetReader) line(i int) error {
	epoch := r.to.epoch()
	if epoch != r.epoch {
		clear(r.items)
	}
	if epoch != r.epoch || r.changed[i] {
		r.epoch = epoch
		if err := r.findItem(i); err != nil {
			return err
		}
	}
	for k, c := range r.numbers {
		r.amounts[k] = math.NaN()
		if c != nil {
			r.amounts[k] = c.Value(i)
		}
	}
	var times [2]float64
	for k, c := range r.times {
		if times[k] = c.Value(i); math.IsNaN(times[k]) {
			return &cellError{column: r.table.Name([2]int{r.layout.start, r.layout.end}[k]), err: errNull}
		}
	}
	return r.to.add(r.item, int64(times[0]), int64(times[1]), &r.amounts)
}

// findItem finds the item of a row by the numbers of its texts, and by the texts where those are new.
func (r *parquetReader) findItem(i int) error {
	r.key = r.key[:0]
	for _, c := range r.texts {
		r.key = binary.LittleEndian.AppendUint32(r.key, c.ID(i))
	}
	item, ok := r.items[string(r.key)]
	if !ok {
		var err error
		if item, err = r.newItem(i); err != nil {
			return err
		}
		if len(r.items) >= maxShortcuts {
			clear(r.items)
		}
		r.items[string(r.key)] = item
	}
	r.item = item
	return nil
}

// maxShortcuts bounds the items that are found without their texts.
const maxShortcuts = 1 << 16

// newItem finds the item of a row by its texts.
func (r *parquetReader) newItem(i int) (uint32, error) {
	r.full = r.full[:0]
	for _, c := range r.texts {
		text := c.Text(i)
		r.full = binary.AppendUvarint(r.full, uint64(len(text)))
		r.full = append(r.full, text...)
	}
	return r.to.item(r.full, func() (*Item, error) {
		return r.layout.item(r.bill, func(column int) string { return r.byName[column].Text(i) }, r.table.Name)
	})
}
