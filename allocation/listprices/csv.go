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

// columns are those of a table as a file. A file without the last one has machines only.
var columns = [...]string{"provider", "region", "instanceType", "option", "os", "price", "currency", "asOf", "kind"}

// kindColumn is the index of the column that files may lack.
const kindColumn = len(columns) - 1

// Purchase options of a table.
const (
	onDemand = "ondemand"
	spot     = "spot"
)

// option is the purchase option in words.
func option(isSpot bool) string {
	if isSpot {
		return spot
	}
	return onDemand
}

// Limits of tables. A number beyond them is a mistake.
const (
	maxPrice  = 1e6 // an hour
	maxPrices = 2_000_000
	maxText   = 100 // bytes of a cell
)

// Read reads a table from CSV: provider, region, instanceType, option (ondemand or spot), os, price (an hour), currency and asOf (a date), in any order, and kind
// (machine, core, memory, gpu, volume or loadBalancer), without which all are machines: instanceType is the name of whatever it is. Lines
// that begin with # are comments. Errors name the line.
func Read(name string, r io.Reader) (*Table, error) {
	in := csv.NewReader(bufio.NewReader(r))
	in.Comment, in.ReuseRecord = '#', true
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read list prices %s: no header: %w: want the columns %s", name, noEOF(err), strings.Join(columns[:kindColumn], ","))
	}
	var at [len(columns)]int // of each column
	for i, column := range columns {
		if at[i] = slices.Index(header, column); at[i] < 0 && i != kindColumn {
			return nil, fmt.Errorf("read list prices %s: the header lacks %s: want the columns %s", name, column, strings.Join(columns[:kindColumn], ","))
		}
	}
	t := newTable(name)
	texts := map[string]string{} // each once
	for n := 0; ; n++ {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read list prices %s: %w", name, err) // it names the line
		}
		line, _ := in.FieldPos(0)
		if n == maxPrices {
			err = fmt.Errorf("more than %d prices", maxPrices)
		}
		var row Row
		if err == nil {
			row, err = parse(record, at, texts)
		}
		if err == nil {
			err = t.add(&row)
		}
		if err != nil {
			return nil, fmt.Errorf("read list prices %s: line %d: %w", name, line, err)
		}
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

// parse reads a line whose columns are at places.
func parse(record []string, at [len(columns)]int, texts map[string]string) (r Row, err error) {
	cell := func(i int) string { return strings.TrimSpace(record[at[i]]) }
	for i, column := range columns {
		if at[i] < 0 {
			continue
		}
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
		r.Spot = true
	case onDemand:
	default:
		return r, fmt.Errorf("option is %q, want %s or %s", cell(3), onDemand, spot)
	}
	if at[kindColumn] >= 0 {
		i := slices.Index(kindNames[:], cell(kindColumn))
		if i < 0 {
			return r, fmt.Errorf("kind is %q, want one of %s", cell(kindColumn), strings.Join(kindNames[:], ", "))
		}
		r.Kind = Kind(i)
	}
	r.Provider, r.Name, r.OS = strings.ToLower(text(0)), text(2), strings.ToLower(text(4))
	r.Region, r.Currency = text(1), text(6)
	if r.Price, err = strconv.ParseFloat(cell(5), 64); err != nil || checkPrice(r.Price) != nil {
		return r, fmt.Errorf("price is %q, want what it costs an hour, above 0 and at most %g", cell(5), maxPrice)
	}
	if r.AsOf, err = time.Parse(time.DateOnly, cell(7)); err != nil {
		return r, fmt.Errorf("asOf is %q, want a date such as 2026-01-31", cell(7))
	}
	return r, nil
}

// checkPrice is an error for a number that no price is.
func checkPrice(v float64) error {
	if math.IsNaN(v) || v <= 0 || v > maxPrice {
		return fmt.Errorf("price is %v, want what it costs an hour, above 0 and at most %g", v, maxPrice)
	}
	return nil
}

// Write writes rows as Read reads them, below lines of comments.
func Write(w io.Writer, comments []string, rows []Row) error {
	for _, c := range comments {
		if _, err := fmt.Fprintf(w, "# %s\n", strings.ReplaceAll(c, "\n", " ")); err != nil {
			return err
		}
	}
	out := csv.NewWriter(w)
	if err := out.Write(columns[:]); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		os := r.OS
		if os == "" {
			os = linux
		}
		err := out.Write([]string{r.Provider, r.Region, r.Name, option(r.Spot), os, strconv.FormatFloat(r.Price, 'g', -1, 64), r.Currency, r.AsOf.Format(time.DateOnly), r.Kind.String()})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
