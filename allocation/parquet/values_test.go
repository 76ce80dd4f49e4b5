package parquet_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// amounts has values of columns by how they are stored: as a single value, as indices of few bits and of bytes, plain, and split into
// planes of bytes.
func amounts(rng *rand.Rand) []func(row int) float64 {
	all := []func(int) float64{
		func(int) float64 { return 0 },
		func(int) float64 { return math.Copysign(0, -1) },
		func(int) float64 { return 3600 },
		func(row int) float64 { return float64(row / 100) }, // runs
		func(row int) float64 { return float64(row % 5) },   // a run of packed ones, of three values that no number has
		func(int) float64 { return rng.Float64() },
		func(int) float64 { return float64(rng.IntN(1 << 40)) },
		func(row int) float64 { return math.Float64frombits(rng.Uint64()&0xffff | 0x4028<<48 | uint64(row)<<20) },
		func(row int) float64 { return []float64{0, 0, 0, 0, 0, 0, 0, float64(row)}[row%8] },
	}
	for width := range 12 {
		n := 1<<width + rng.IntN(1<<width)
		all = append(all, func(row int) float64 { return float64(rng.IntN(n)) / 7 })
	}
	return all
}

// spanFilter selects the rows from one to another.
type spanFilter struct{ from, to int }

func (spanFilter) Needs() *allocation.Projection { return allocation.OfRows(nil) }

func (f spanFilter) Bind(*allocation.Set) (func(int) bool, error) {
	return func(row int) bool { return f.from <= row && row < f.to }, nil
}

// TestParquetAmounts decodes columns that are stored in all ways: all rows, and only some.
func TestParquetAmounts(t *testing.T) {
	const rows = 4099
	rng := rand.New(rand.NewPCG(7, 1))
	columns := []allocation.Column{allocation.MostSeconds} // of which some may be null
	for c := range allocation.NumColumns {
		if c != allocation.MostSeconds {
			columns = append(columns, c)
		}
	}
	kinds := amounts(rng)
	s := allocation.NewSet(parquetWindow, allocation.NewDict())
	for row := range rows {
		r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End}
		r.Text[allocation.Pod] = strconv.Itoa(row)
		r.Values[columns[0]] = []float64{math.NaN(), rng.Float64()}[row%2]
		for i, value := range kinds {
			r.Values[columns[1+i]] = value(row)
		}
		s.Append(&r)
	}
	data, _ := files(t, s)
	keys, err := allocation.ParseKeys("pod", allocation.LabelMapping{})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*allocation.Projection{"everything": nil, "columns": {Columns: columns, Properties: []allocation.Property{allocation.Pod}}} {
		got, err := readBack(p, data)
		if err != nil {
			t.Fatal(err)
		}
		sameColumns(t, name, s, got)
		for _, span := range []spanFilter{{0, 3}, {1, 2}, {3, 4090}, {13, 29}, {8, 4096}, {4091, rows}, {rows, rows}} {
			var out [2][]*allocation.Set
			for i, of := range []*allocation.Set{s, got} {
				if out[i], err = passes.Apply([]*allocation.Set{of}, passes.Options{Filter: span, Aggregate: keys}); err != nil {
					t.Fatal(err)
				}
			}
			sameColumns(t, fmt.Sprintf("%s: rows %+v", name, span), out[0][0], out[1][0])
		}
	}
}

// sameColumns checks that sets have the same amounts.
func sameColumns(t *testing.T, name string, want, got *allocation.Set) {
	t.Helper()
	for c := range allocation.NumColumns {
		want, got := column(want, c), column(got, c)
		if len(want) != len(got) {
			t.Errorf("%s: %s has %d values, not %d", name, c, len(got), len(want))
			continue
		}
		for row := range want {
			if math.Float64bits(want[row]) != math.Float64bits(got[row]) && !(math.IsNaN(want[row]) && math.IsNaN(got[row])) {
				t.Errorf("%s: %s of row %d is %g, not %g", name, c, row, got[row], want[row])
				break
			}
		}
	}
}

// TestParquetIndicesAreInTheDictionary refuses indices of few bits, which are looked up without a check of each.
func TestParquetIndicesAreInTheDictionary(t *testing.T) {
	cost := allocation.Cost.Of(allocation.CPU)
	s := allocation.NewSet(parquetWindow, allocation.NewDict())
	for row := range 8 {
		r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End}
		r.Values[cost] = float64(row % 5)
		s.Append(&r)
	}
	data, _ := files(t, s)
	word := uint32(0)
	for row := range 8 {
		word |= uint32(row%5) << (3 * row)
	}
	at := bytes.Index(data, []byte{3, 1<<1 | 1, byte(word), byte(word >> 8), byte(word >> 16)}) // eight of three bits, packed
	if at < 0 {
		t.Fatal("the indices are not where they can be changed")
	}
	data[at+2] |= 7
	if _, err := readBack(nil, data); err == nil {
		t.Error("no error")
	}
}
