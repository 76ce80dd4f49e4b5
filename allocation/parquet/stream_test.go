package parquet_test

import (
	"bytes"
	"testing"
	"time"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
)

// TestStream writes sets into one file, of a row group each, and counts what other readers find there.
func TestStream(t *testing.T) {
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, n := range []int{0, 1, 3} {
		var b bytes.Buffer
		p := parquet.NewStream(&b)
		for i := range n {
			set := allocation.NewSet(allocation.Window{Start: start.Add(time.Duration(i) * time.Hour), End: start.Add(time.Duration(i+1) * time.Hour)}, allocation.NewDict())
			for range 10 + i {
				set.Append(&allocation.Row{Start: set.Window.Start, End: set.Window.End})
			}
			if err := p.Rows(set); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		in, err := parquetgo.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(10*n + n*(n-1)/2); in.NumRows() != want {
			t.Errorf("%d sets: %d rows, want %d", n, in.NumRows(), want)
		}
	}
}
