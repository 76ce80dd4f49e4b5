package listprices

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// columns are those of a table as a file.
var columns = []string{"provider", "region", "instanceType", "option", "os", "price", "currency", "asOf"}

// Purchase options of a table.
const (
	onDemand = "ondemand"
	spot     = "spot"
)

// Limits of tables. A number beyond them is a mistake.
const (
	maxPrice  = 1e6 // an hour
	maxPrices = 2_000_000
	maxText   = 100 // bytes of a cell
)

// Read reads a table from CSV: provider, region, instanceType, option (ondemand or spot), os, price (an hour), currency and asOf (a date), in any order. Lines
// that begin with # are comments. Errors name the line.
func Read(name string, r io.Reader) (*Table, error) {
	in := csv.NewReader(bufio.NewReader(r))
	in.Comment, in.ReuseRecord = '#', true
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read list prices %s: no header: %w: want the columns %s", name, noEOF(err), strings.Join(columns, ","))
	}
	var at [8]int // of each column
	for i, column := range columns {
		if at[i] = slices.Index(header, column); at[i] < 0 {
			return nil, fmt.Errorf("read list prices %s: the header lacks %s: want the columns %s", name, column, strings.Join(columns, ","))
		}
	}
	t := &Table{name: name, byType: map[typeKey][]listed{}}
	texts := map[string]string{} // each once
	for n := 0; ; n++ {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := in.FieldPos(0)
		if err == nil && n == maxPrices {
			err = fmt.Errorf("more than %d prices", maxPrices)
		}
		var row row
		if err == nil {
			row, err = parse(record, at, texts)
		}
		if err == nil && t.currency != "" && row.currency != t.currency {
			err = fmt.Errorf("currency is %q, and %s before: give each currency a table of its own", row.currency, t.currency)
		}
		if err == nil && slices.ContainsFunc(t.byType[row.key], func(x listed) bool { return x.region == row.region }) {
			err = errors.New("the same machine has a price already: keep one")
		}
		if err != nil {
			return nil, fmt.Errorf("read list prices %s: line %d: %w", name, line, err)
		}
		t.currency = row.currency
		t.byType[row.key] = append(t.byType[row.key], row.listed)
	}
	if len(t.byType) == 0 {
		return nil, fmt.Errorf("read list prices %s: no prices", name)
	}
	return t, nil
}

// noEOF is an error that says that something is missing.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// row is a line of a table.
type row struct {
	key typeKey
	listed
	currency string
}

// parse reads a line whose columns are at places.
func parse(record []string, at [8]int, texts map[string]string) (r row, err error) {
	cell := func(i int) string { return strings.TrimSpace(record[at[i]]) }
	for i, column := range columns {
		if text := cell(i); text == "" || len(text) > maxText {
			return r, fmt.Errorf("%s is %.120q: give a text of up to %d bytes", column, text, maxText)
		}
	}
	text := func(i int) string {
		of := cell(i)
		if known, ok := texts[of]; ok {
			return known
		}
		of = strings.Clone(of)
		texts[of] = of
		return of
	}
	switch cell(3) {
	case spot:
		r.key.spot = true
	case onDemand:
	default:
		return r, fmt.Errorf("option is %q, want %s or %s", cell(3), onDemand, spot)
	}
	r.key.provider, r.key.instanceType, r.key.os = strings.ToLower(text(0)), text(2), strings.ToLower(text(4))
	r.region, r.currency = text(1), text(6)
	if r.price, err = strconv.ParseFloat(cell(5), 64); err != nil || math.IsNaN(r.price) || r.price <= 0 || r.price > maxPrice {
		return r, fmt.Errorf("price is %q, want what the machine costs an hour, above 0 and at most %g", cell(5), maxPrice)
	}
	if r.asOf, err = time.Parse(time.DateOnly, cell(7)); err != nil {
		return r, fmt.Errorf("asOf is %q, want a date such as 2026-01-31", cell(7))
	}
	return r, nil
}
