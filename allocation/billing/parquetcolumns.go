package billing

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// valueError is the error for a value of a page.
type valueError struct {
	row int // of those that are available
	err error
}

// Error is the cause's: the column and the row are put in front of it.
func (e *valueError) Error() string { return e.err.Error() }

// pageReader reads the pages of a column that has at most one value a row.
type pageReader struct {
	column     *parquet.Column
	at         int // the rows of the page before are done
	pages      parquet.Pages
	dictionary parquet.Dictionary // of the page before
}

func (p *pageReader) begin(group parquet.RowGroup) {
	p.end()
	p.pages = group.ColumnChunks()[p.column.Index()].Pages()
}

func (p *pageReader) end() {
	if p.pages != nil {
		_ = p.pages.Close()
	}
	p.pages, p.dictionary = nil, nil
}

// next calls page with the next page that has rows: its values, and for each row the index of its value, -1 for null.
// fresh says that it has another dictionary, which is nil for values that are there in full.
func (p *pageReader) next(optional bool, rows []int32, use func(values encoding.Values, rows []int32, dictionary parquet.Dictionary, fresh bool) error) ([]int32, error) {
	for {
		page, err := p.pages.ReadPage()
		if err != nil {
			return rows, err
		}
		n := int(page.NumRows())
		if n == 0 {
			parquet.Release(page)
			continue
		}
		rows = rows[:0]
		levels, value := page.DefinitionLevels(), int32(0)
		for i := range n {
			if optional && i < len(levels) && levels[i] == 0 {
				rows = append(rows, -1)
				continue
			}
			rows = append(rows, value)
			value++
		}
		dictionary := page.Dictionary()
		fresh := dictionary == nil || dictionary != p.dictionary
		p.dictionary = dictionary
		err = use(page.Data(), rows, dictionary, fresh)
		parquet.Release(page)
		return rows, err
	}
}

// textCursor reads a column of texts, or of tags.
type textCursor struct {
	pageReader
	leaves []*parquet.Column // of tags; nil for others
	tags   *tagReader

	texts []string // by id; 0 is null
	of    []uint32 // ids of the dictionary's values
	ids   []uint32 // of the rows of the page
	rows  []int32
	known map[string]uint32
}

func (c *textCursor) text(i int) string { return c.texts[c.ids[c.at+i]] }

func (c *textCursor) begin(group parquet.RowGroup) {
	c.ids, c.at = c.ids[:0], 0
	if c.leaves != nil {
		c.tags = newTagReader(group, c.leaves)
		return
	}
	c.pageReader.begin(group)
}

func (c *textCursor) end() {
	c.pageReader.end()
	if c.tags != nil {
		c.tags.end()
	}
}

// fill implements cursor.
func (c *textCursor) fill() (rows int, changed bool, err error) {
	if left := len(c.ids) - c.at; left > 0 {
		return left, false, nil
	}
	c.at, c.ids = 0, c.ids[:0]
	if c.tags != nil {
		c.forget()
		err = c.tags.read(func(text string) { c.ids = append(c.ids, c.intern(text)) })
		return len(c.ids), true, err
	}
	c.rows, err = c.next(c.column.Optional(), c.rows, func(values encoding.Values, rows []int32, dictionary parquet.Dictionary, fresh bool) error {
		changed = fresh
		in := values
		if dictionary != nil {
			in = dictionary.Page().Data()
		}
		if fresh {
			if err := c.learn(in); err != nil {
				return err
			}
		}
		for i, k := range rows {
			switch {
			case k < 0:
				c.ids = append(c.ids, 0)
				continue
			case dictionary != nil:
				k = values.Int32()[k]
			}
			if int(k) >= len(c.of) || k < 0 {
				return &valueError{i, fmt.Errorf("value %d is none of %d", k, len(c.of))}
			}
			c.ids = append(c.ids, c.of[k])
		}
		return nil
	})
	return len(c.ids), changed, err
}

// forget empties the texts.
func (c *textCursor) forget() {
	c.texts, c.known = append(c.texts[:0], ""), map[string]uint32{}
}

// intern returns the id of a text.
func (c *textCursor) intern(text string) uint32 {
	if isNull(text) {
		return 0
	}
	id, ok := c.known[text]
	if !ok {
		id = uint32(len(c.texts))
		c.texts = append(c.texts, text)
		c.known[text] = id
	}
	return id
}

// learn takes the values of a dictionary, or of a page that has none.
func (c *textCursor) learn(values encoding.Values) error {
	c.forget()
	c.of = c.of[:0]
	texts, err := decodeTexts(values, c.column)
	for _, text := range texts {
		c.of = append(c.of, c.intern(text))
	}
	return err
}

// numberCursor reads a column of numbers or times. Unknown ones are NaN.
type numberCursor struct {
	pageReader
	convert func(encoding.Values, *parquet.Column, []float64) ([]float64, error)

	known  []float64 // of the dictionary
	plain  []float64 // of the page
	values []float64 // of its rows
	rows   []int32
}

func (c *numberCursor) begin(group parquet.RowGroup) {
	c.values, c.at = c.values[:0], 0
	c.pageReader.begin(group)
}

// fill implements cursor.
func (c *numberCursor) fill() (rows int, changed bool, err error) {
	if left := len(c.values) - c.at; left > 0 {
		return left, false, nil
	}
	c.at, c.values = 0, c.values[:0]
	c.rows, err = c.next(c.column.Optional(), c.rows, func(values encoding.Values, rows []int32, dictionary parquet.Dictionary, fresh bool) (err error) {
		of := &c.plain
		switch {
		case dictionary == nil:
			c.plain, err = c.convert(values, c.column, c.plain[:0])
		case fresh:
			of = &c.known
			c.known, err = c.convert(dictionary.Page().Data(), c.column, c.known[:0])
		default:
			of = &c.known
		}
		if err != nil && len(*of) == 0 {
			return err
		}
		return c.take(values, rows, *of, dictionary != nil, err)
	})
	return len(c.values), false, err
}

// take takes the values of the rows. of ends before the first value that could not be converted, for which err is.
func (c *numberCursor) take(values encoding.Values, rows []int32, of []float64, indexed bool, err error) error {
	for i, k := range rows {
		if k < 0 {
			c.values = append(c.values, math.NaN())
			continue
		}
		if indexed {
			k = values.Int32()[k]
		}
		if int(k) >= len(of) || k < 0 {
			if err == nil {
				err = fmt.Errorf("value %d is none of %d", k, len(of))
			}
			return &valueError{i, err}
		}
		c.values = append(c.values, of[k])
	}
	return nil
}
