package parquet_test

import (
	"math/rand/v2"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
)

// BenchmarkAmounts decodes a column of 10,000 rows by how it is stored.
func BenchmarkAmounts(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, bc := range []struct {
		name  string
		value func(row int) float64
	}{
		{"one", func(int) float64 { return 3600 }},
		{"eight", func(row int) float64 { return float64(row / 10 % 8) }},
		{"many", func(int) float64 { return float64(rng.IntN(1000)) }},
		{"distinct", func(int) float64 { return rng.Float64() }},
		{"whole", func(int) float64 { return float64(rng.IntN(1 << 36)) }},
	} {
		s := allocation.NewSet(parquetWindow, allocation.NewDict())
		for row := range 10_000 {
			r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End}
			r.Values[allocation.PVCost] = bc.value(row)
			s.Append(&r)
		}
		b.Run(bc.name, func(b *testing.B) {
			data, _ := files(b, s)
			file, err := new(parquet.Readers).Open(data, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := file.Decode(&allocation.Projection{Columns: []allocation.Column{allocation.PVCost}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
