package billing

import (
	"bytes"
	"context"
	"fmt"

	"github.com/promcost/promcost/allocation/parquet"
)

// WriteDay returns a day as a Parquet file with the columns of FOCUS, so that this package and others read it as a bill. The same
// day gives the same bytes.
func WriteDay(d *Day) ([]byte, error) {
	var columns []parquet.Column
	for _, of := range d.texts.columns(d.items) {
		columns = append(columns, parquet.OptionalTextColumn(of.name, of.list, func(row int) uint32 { return of.items[d.lines[row].item] }))
	}
	columns = append(columns,
		parquet.TimeColumn(startColumn, func(row int) int64 { return d.lines[row].start }),
		parquet.TimeColumn(endColumn, func(row int) int64 { return d.lines[row].end }))
	for k, name := range amounts() {
		columns = append(columns, parquet.OptionalNumberColumn(name, func(row int) float64 { return d.lines[row].numbers[k] }))
	}
	var file bytes.Buffer
	if err := parquet.WriteTable(&file, "bills", columns, len(d.lines)); err != nil {
		return nil, fmt.Errorf("write lines of bills: %w", err)
	}
	return file.Bytes(), nil
}

// itemTexts are the texts of items, made once for all days that share the items. The zero value is ready. It is not safe for
// concurrent use.
type itemTexts struct{ made []textColumn }

// textColumn are the texts of a field.
type textColumn struct {
	name  string
	list  []string // each once; the first is empty
	items []uint32 // the number of each item's text
}

// columns returns the texts by field.
func (t *itemTexts) columns(items []Item) []textColumn {
	if t.made != nil {
		return t.made
	}
	for _, f := range fields() {
		c := textColumn{name: f.column(), list: []string{""}, items: make([]uint32, len(items))}
		numbers := map[string]uint32{"": 0}
		for i := range items {
			text := f.get(&items[i])
			n, ok := numbers[text]
			if !ok {
				n = uint32(len(c.list))
				numbers[text] = n
				c.list = append(c.list, text)
			}
			c.items[i] = n
		}
		t.made = append(t.made, c)
	}
	return t.made
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
