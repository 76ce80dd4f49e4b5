package parquet

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// ValueError is the error for a value of a Table.
type ValueError struct {
	Row    int64 // of the file, from 1
	Column string
	Err    error
}

// Error names the row and the column.
func (e *ValueError) Error() string {
	return fmt.Sprintf("row %d, column %s: %v", e.Row, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// valueError is the error for the value of the i-th row of a page.
func valueError(i int, err error) error { return &ValueError{Row: int64(i), Err: err} }

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

// pageValues are the values of a page.
type pageValues struct {
	encoding.Values
	rows       int
	levels     []byte             // by row: 0 for null; nil if no row is null
	dictionary parquet.Dictionary // nil for values that are there in full
	indexes    []int32            // of the values in the dictionary
	fresh      bool               // no page before had the same dictionary
}

// known are the values that are there in full.
func (v *pageValues) known() encoding.Values {
	if v.dictionary != nil {
		return v.dictionary.Page().Data()
	}
	return v.Values
}

// constant reports whether all rows have the first value of the dictionary.
func (v *pageValues) constant() bool {
	return v.levels == nil && v.dictionary != nil && len(v.indexes) == v.rows && !slices.ContainsFunc(v.indexes, func(at int32) bool { return at != 0 })
}

// next calls use with the next page that has rows.
func (p *pageReader) next(use func(v *pageValues) error) error {
	for {
		page, err := p.pages.ReadPage()
		if err != nil {
			return err
		}
		if page.NumRows() == 0 {
			parquet.Release(page)
			continue
		}
		v := pageValues{Values: page.Data(), rows: int(page.NumRows()), dictionary: page.Dictionary()}
		if p.column.Optional() && page.NumNulls() > 0 {
			v.levels = page.DefinitionLevels()
		}
		if v.dictionary != nil {
			v.indexes = v.Int32()
		}
		v.fresh = v.dictionary == nil || v.dictionary != p.dictionary
		p.dictionary = v.dictionary
		err = use(&v)
		parquet.Release(page)
		return err
	}
}

// gather appends for each row of a page the value that known has for it, or null.
func gather[T any](v *pageValues, known []T, null T, dst []T) ([]T, error) {
	dst = slices.Grow(dst, v.rows)
	next := 0
	for i := range v.rows {
		if v.levels != nil && v.levels[i] == 0 {
			dst = append(dst, null)
			continue
		}
		at := next
		if v.dictionary != nil {
			if next >= len(v.indexes) {
				return dst, valueError(i, errors.New("its page has fewer values than rows"))
			}
			at = int(v.indexes[next])
		}
		if at < 0 || at >= len(known) {
			return dst, valueError(i, fmt.Errorf("index %d into a dictionary of %d values", at, len(known)))
		}
		dst = append(dst, known[at])
		next++
	}
	return dst, nil
}

// Texts are a column of texts, or of pairs that become texts, of the rows of a Table that are available.
type Texts struct {
	pageReader
	forms  *Forms
	leaves []*parquet.Column // of pairs; nil for others
	pairs  *pairReader

	texts []string // by id; 0 is null
	of    []uint32 // ids of the dictionary's values
	rows  int      // of the page
	ids   []uint32 // of the rows; only one if all have the same text
	known map[string]uint32
}

// Text returns the text of the i-th row, empty for null.
func (c *Texts) Text(i int) string { return c.texts[c.ID(i)] }

// Constant reports whether all rows have the same text.
func (c *Texts) Constant() bool { return len(c.ids) == 1 }

// ID returns the id of the text of the i-th row. Equal texts have equal ids, as long as Table.Read does not say otherwise.
func (c *Texts) ID(i int) uint32 {
	if c.Constant() {
		return c.ids[0]
	}
	return c.ids[c.at+i]
}

func (c *Texts) begin(group parquet.RowGroup) {
	c.ids, c.rows, c.at = c.ids[:0], 0, 0
	if c.leaves != nil {
		c.pairs = newPairReader(group, c.leaves, c.forms)
		return
	}
	c.pageReader.begin(group)
}

func (c *Texts) end() {
	c.pageReader.end()
	if c.pairs != nil {
		c.pairs.end()
	}
}

// fill implements columnReader.
func (c *Texts) fill() (rows int, changed bool, err error) {
	if left := c.rows - c.at; left > 0 {
		return left, false, nil
	}
	c.at, c.rows, c.ids = 0, 0, c.ids[:0]
	if c.pairs != nil {
		c.forget()
		err = c.pairs.read(func(text string) { c.ids = append(c.ids, c.intern(text)) })
		c.rows = len(c.ids)
		return c.rows, true, err
	}
	err = c.next(func(v *pageValues) (err error) {
		if changed = v.fresh; changed {
			if err := c.learn(v.known()); err != nil {
				return err
			}
		}
		c.rows = v.rows
		if v.constant() && len(c.of) == 1 {
			c.ids = append(c.ids, c.of[0])
			return nil
		}
		c.ids, err = gather(v, c.of, 0, c.ids)
		return err
	})
	return c.rows, changed, err
}

// forget empties the texts.
func (c *Texts) forget() {
	c.texts, c.known = append(c.texts[:0], ""), map[string]uint32{}
}

// intern returns the id of a text.
func (c *Texts) intern(text string) uint32 {
	if c.forms.Null(text) {
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
func (c *Texts) learn(values encoding.Values) error {
	c.forget()
	c.of = c.of[:0]
	texts, err := c.forms.texts(values, c.column)
	for _, text := range texts {
		c.of = append(c.of, c.intern(text))
	}
	return err
}

// converter appends the values of a page to others.
type converter func(encoding.Values, *parquet.Column, []float64) ([]float64, error)

// Numbers are a column of numbers or times of the rows of a Table that are available. Unknown ones are NaN.
type Numbers struct {
	pageReader
	convert converter

	known  []float64 // of the dictionary
	values []float64 // of the rows of the page
}

// Value returns the value of the i-th row. A time is in Unix milliseconds.
func (c *Numbers) Value(i int) float64 { return c.values[c.at+i] }

func (c *Numbers) begin(group parquet.RowGroup) {
	c.values, c.at = c.values[:0], 0
	c.pageReader.begin(group)
}

// fill implements columnReader.
func (c *Numbers) fill() (rows int, changed bool, err error) {
	if left := len(c.values) - c.at; left > 0 {
		return left, false, nil
	}
	c.at, c.values = 0, c.values[:0]
	err = c.next(func(v *pageValues) (err error) {
		if v.dictionary == nil && v.levels == nil {
			c.values, err = c.convert(v.Values, c.column, c.values)
			if err == nil && len(c.values) != v.rows {
				err = errors.New("its page has fewer values than rows")
			}
			if err != nil {
				err = valueError(len(c.values), err)
			}
			return err
		}
		var failed error // of a value that may be used by no row
		if v.fresh {
			c.known, failed = c.convert(v.known(), c.column, c.known[:0])
		}
		if failed != nil && len(c.known) == 0 {
			return failed
		}
		c.values, err = gather(v, c.known, math.NaN(), c.values)
		if value, ok := errors.AsType[*ValueError](err); ok && failed != nil {
			value.Err = failed
		}
		return err
	})
	return len(c.values), false, err
}
