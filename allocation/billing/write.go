package billing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
)

// dayWriter writes one day.
type dayWriter struct {
	fields []field
	values []parquet.Value
}

// columnGroup is a group of columns in the order in which they were added; parquet.Group sorts them by name.
type columnGroup struct {
	parquet.Group
	names []string
}

func (g *columnGroup) add(name string, node parquet.Node) {
	g.Group[name] = node
	g.names = append(g.names, name)
}

// Fields returns the columns in their order.
func (g *columnGroup) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.names))
	for i, name := range g.names {
		fields[i] = byName[name]
	}
	return fields
}

// newOutput returns the library's writer of a file with that many rows. It cannot be used twice: after Reset, version 0.32 loses the
// names of columns.
func (w *dayWriter) newOutput(to io.Writer, rows int) *parquet.GenericWriter[any] {
	root := &columnGroup{Group: parquet.Group{}}
	for i := range w.fields {
		root.add(w.fields[i].column(), parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary)))
	}
	for _, name := range [...]string{startColumn, endColumn} {
		root.add(name, parquet.Encoded(parquet.Timestamp(parquet.Millisecond), &parquet.DeltaBinaryPacked))
	}
	for _, name := range amounts() {
		root.add(name, parquet.Optional(parquet.Leaf(parquet.DoubleType)))
	}
	const pageBytes, rowBytes = 1 << 16, 16
	// The library's own codec keeps its encoders: one of each file takes megabytes, which a bill of many days added up to gigabytes.
	return parquet.NewGenericWriter[any](to, parquet.NewSchema("bills", root), parquet.CreatedBy("promcost", "1", "billing"),
		parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(min(pageBytes, (rows+1)*rowBytes)), parquet.DataPageStatistics(false))
}

// WriteDay returns a day as a Parquet file with the columns of FOCUS, so that this package and others read it as a bill. The same
// day gives the same bytes.
func WriteDay(d *Day) ([]byte, error) {
	var file bytes.Buffer
	w := &dayWriter{fields: fields()}
	out := w.newOutput(&file, d.Len())
	writers := out.ColumnWriters()
	write := func(column int) error {
		_, err := writers[column].WriteRowValues(w.values)
		w.values = w.values[:0]
		return err
	}
	for i := range w.fields {
		w.text(d, i)
		if err := write(i); err != nil {
			return nil, fmt.Errorf("write column %s: %w", w.fields[i].column(), err)
		}
	}
	n := len(w.fields)
	for k := range 2 {
		for i := range d.lines {
			at := d.lines[i].start
			if k == 1 {
				at = d.lines[i].end
			}
			w.values = append(w.values, parquet.Int64Value(at).Level(0, 0, n+k))
		}
		if err := write(n + k); err != nil {
			return nil, fmt.Errorf("write charge periods: %w", err)
		}
	}
	for k, name := range amounts() {
		for i := range d.lines {
			v := d.lines[i].numbers[k]
			if math.IsNaN(v) {
				w.values = append(w.values, parquet.NullValue().Level(0, 0, n+2+k))
				continue
			}
			w.values = append(w.values, parquet.DoubleValue(v).Level(0, 1, n+2+k))
		}
		if err := write(n + 2 + k); err != nil {
			return nil, fmt.Errorf("write column %s: %w", name, err)
		}
	}
	if err := out.Close(); err != nil {
		return nil, fmt.Errorf("write lines of bills: %w", err)
	}
	return file.Bytes(), nil
}

// text makes the values of a field. Lines of one item stand together, so each text is made once.
func (w *dayWriter) text(d *Day, field int) {
	var value parquet.Value
	for i := range d.lines {
		if item := d.lines[i].item; i == 0 || item != d.lines[i-1].item {
			value = parquet.NullValue().Level(0, 0, field)
			if text := w.fields[field].get(&d.items[item]); text != "" {
				value = parquet.ByteArrayValue([]byte(text)).Level(0, 1, field)
			}
		}
		w.values = append(w.values, value)
	}
}

// ReadDay calls f for each line of a file that WriteDay has returned. The line is valid during the call; its Item stays.
func ReadDay(ctx context.Context, file []byte, bill string, f func(*Line) error) error {
	return readParquet(bytes.NewReader(file), int64(len(file)), bill, &lineSink{ctx: ctx, items: map[string]uint32{}, f: f})
}

// lineSink hands lines on as they come.
type lineSink struct {
	ctx   context.Context
	items map[string]uint32
	list  []*Item
	line  Line
	f     func(*Line) error
}

func (s *lineSink) epoch() int { return 0 }

func (s *lineSink) item(key []byte, build func() (*Item, error)) (uint32, error) {
	if n, ok := s.items[string(key)]; ok {
		return n, nil
	}
	item, err := build()
	if err != nil {
		return 0, err
	}
	n := uint32(len(s.list))
	s.items[string(key)] = n
	s.list = append(s.list, item)
	return n, s.ctx.Err()
}

func (s *lineSink) add(item uint32, start, end int64, n *numbers) error {
	s.line.Item = s.list[item]
	s.line.fill(&piece{start: start, end: end, numbers: *n})
	return s.f(&s.line)
}
