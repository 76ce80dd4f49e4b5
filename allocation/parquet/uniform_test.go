package parquet_test

import (
	"math"
	"testing"

	"github.com/promcost/promcost/allocation"
)

// TestParquetUniformColumns reads columns of several pages with a single value, and columns in which only the first or the last row has
// another value.
func TestParquetUniformColumns(t *testing.T) {
	const rows = 70_000 // which are two pages
	for _, tc := range []struct {
		name string
		has  func(row int) bool
	}{
		{"all", func(int) bool { return true }},
		{"all but the first", func(row int) bool { return row > 0 }},
		{"the last", func(row int) bool { return row == rows-1 }},
		{"those of the second page", func(row int) bool { return row >= 1<<16 }},
		{"none", func(int) bool { return false }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := allocation.NewSet(parquetWindow, allocation.NewDict())
			for i := range rows {
				r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End}
				r.Values[allocation.MostSeconds] = math.NaN()
				if tc.has(i) {
					r.Start, r.Special = parquetWindow.Start.Add(1e9), allocation.Unmounted
					r.Text[allocation.Cluster], r.Text[allocation.Pod], r.Labels = "c", "p", map[string]string{"k": "v"}
					r.Values[allocation.RunningSeconds], r.Values[allocation.MostSeconds], r.Values[allocation.PVCost] = 3600, 3660, math.Copysign(0, -1)
				}
				s.Append(&r)
			}
			file, _ := files(t, s)
			got, err := readBack(nil, file)
			if err != nil {
				t.Fatal(err)
			}
			for row := range rows {
				if got.Start(row) != s.Start(row) || got.End(row) != s.End(row) || got.Special(row) != s.Special(row) {
					t.Fatalf("row %d has other times, or is of another kind", row)
				}
				for c := range allocation.NumColumns {
					if a, b := s.Value(c, row), got.Value(c, row); math.Float64bits(a) != math.Float64bits(b) && !(math.IsNaN(a) && math.IsNaN(b)) {
						t.Fatalf("%s of row %d: %g, want %g", c, row, b, a)
					}
				}
				for p := range allocation.Services {
					if got.Text(p, row) != s.Text(p, row) {
						t.Fatalf("%s of row %d: %q, want %q", p, row, got.Text(p, row), s.Text(p, row))
					}
				}
			}
			deferred, err := readBack(deferring(), file)
			answer, err := byNamespace(t, deferred, err)
			if want, wantErr := byNamespace(t, got, nil); err != nil || wantErr != nil || answer != want {
				t.Errorf("what is read deferred differs: %v %v\n%.200s\n%.200s", err, wantErr, answer, want)
			}
		})
	}
}
