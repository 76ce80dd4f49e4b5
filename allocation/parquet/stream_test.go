package parquet_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/parquet"
)

// TestStream writes sets into one file, each as a row group, and counts what another reader finds there.
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

// TestStreamAssets writes the assets of two sets into one file, and reads their costs as others do.
func TestStreamAssets(t *testing.T) {
	set := allocation.NewSet(allocation.Window{Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC)}, allocation.NewDict())
	set.Disks = []allocation.Disk{{Cluster: "c", Name: "a", Start: set.Window.Start, End: set.Window.End, Cost: 3}, {Cluster: "c", Name: "b", Start: set.Window.Start, End: set.Window.End, Cost: 4}}
	var b bytes.Buffer
	p := parquet.NewStream(&b)
	for range 2 {
		all := assets.List(set, assets.Options{})
		var list []*allocation.Asset
		for i := range all.Assets {
			list = append(list, &all.Assets[i])
		}
		if err := p.Assets(all, list); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Name string  `parquet:"name"`
		Cost float64 `parquet:"total_cost"`
	}
	got, err := parquetgo.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if want := []row{{"a", 3}, {"b", 4}, {"a", 3}, {"b", 4}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, want %v (%v)", got, want, err)
	}
}
