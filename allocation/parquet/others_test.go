package parquet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// leafOf is what another reader finds of a leaf column in each row: its values, "null" for none.
func leafOf(t *testing.T, data []byte, path ...string) (rows [][]string) {
	t.Helper()
	f, err := parquetgo.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	column, ok := f.Schema().Lookup(path...)
	if !ok {
		t.Fatalf("no column %v", path)
	}
	for _, group := range f.RowGroups() {
		pages := group.ColumnChunks()[column.ColumnIndex].Pages()
		for {
			page, err := pages.ReadPage()
			if err != nil {
				break
			}
			values := make([]parquetgo.Value, page.NumValues())
			if n, _ := page.Values().ReadValues(values); n != len(values) {
				t.Fatalf("column %v: %d values of %d", path, n, len(values))
			}
			for _, v := range values {
				text := v.String()
				if v.IsNull() {
					text = "null"
				}
				if v.RepetitionLevel() == 0 {
					rows = append(rows, nil)
				}
				rows[len(rows)-1] = append(rows[len(rows)-1], text)
			}
		}
		if err := pages.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// TestParquetForOthers reads files with another reader: leaves of each type and encoding, with levels, in several pages.
func TestParquetForOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	s := randomSet(rng, 40)
	for i := range 40_000 {
		s.Append(randomRow(rng, s.Dict(), i))
	}
	rows, _ := files(t, s)
	orNull := func(list []string) []string {
		if len(list) == 0 {
			return []string{"null"}
		}
		return list
	}
	for _, tc := range []struct {
		path string
		want func(row int) []string
	}{
		{"window_start", func(int) []string { return []string{strconv.FormatInt(s.Window.Start.UnixMilli(), 10)} }},
		{"end", func(row int) []string { return []string{strconv.FormatInt(s.End(row).UnixMilli(), 10)} }},
		{"pod", func(row int) []string { return []string{s.Text(allocation.Pod, row)} }},
		{"namespace", func(row int) []string { return []string{s.Text(allocation.Namespace, row)} }},
		{"services.list.element", func(row int) (list []string) {
			for _, id := range s.List(allocation.Services, row) {
				list = append(list, s.Dict().Text(id))
			}
			return orNull(list)
		}},
		{"labels.key_value.key", func(row int) (list []string) {
			for _, p := range s.Pairs(allocation.Labels, row) {
				list = append(list, s.Dict().Text(p.Key))
			}
			return orNull(list)
		}},
		{"labels.key_value.value", func(row int) (list []string) {
			for _, p := range s.Pairs(allocation.Labels, row) {
				list = append(list, s.Dict().Text(p.Value))
			}
			return orNull(list)
		}},
		{"volumes.list.element.cost", func(row int) (list []string) {
			for _, v := range s.Volumes(row) {
				list = append(list, parquetgo.DoubleValue(v.Cost).String())
			}
			return orNull(list)
		}},
		{"load_balancers.list.element.private", func(row int) (list []string) {
			for _, l := range s.LoadBalancerShares(row) {
				list = append(list, strconv.FormatBool(l.Private))
			}
			return orNull(list)
		}},
	} {
		var want [][]string
		for row := range s.Len() {
			want = append(want, tc.want(row))
		}
		if got := leafOf(t, rows, strings.Split(tc.path, ".")...); !slices.EqualFunc(want, got, slices.Equal) {
			t.Errorf("%s: another reader finds something else", tc.path)
		}
	}
	for c := range allocation.NumColumns {
		var want [][]string
		for row := range s.Len() {
			want = append(want, []string{parquetgo.DoubleValue(s.Value(c, row)).String()})
		}
		if got := leafOf(t, rows, c.Field()); !slices.EqualFunc(want, got, slices.Equal) {
			t.Errorf("%s: another reader finds something else", c.Field())
		}
	}
}

// TestParquetStatistics reads the smallest and the largest values of columns, by which readers leave files out, and counts nulls.
func TestParquetStatistics(t *testing.T) {
	s := allocation.NewSet(parquetWindow, allocation.NewDict())
	for _, namespace := range []string{"search", "", "web"} {
		r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End}
		r.Text[allocation.Namespace], r.Text[allocation.PodUID] = namespace, "uid-"+namespace
		s.Append(&r)
	}
	rows, _ := files(t, s)
	f, err := parquetgo.OpenFile(bytes.NewReader(rows), int64(len(rows)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range f.Metadata().RowGroups[0].Columns {
		if m := c.MetaData; slices.Contains([]string{"namespace", "pod_uid", "pod_uid_other", "cpu_cost"}, m.PathInSchema[0]) {
			got[m.PathInSchema[0]] = fmt.Sprintf("%q to %q, %d nulls", m.Statistics.MinValue, m.Statistics.MaxValue, m.Statistics.NullCount)
		}
	}
	want := map[string]string{
		"namespace": `"" to "web", 0 nulls`, "pod_uid": `"" to "", 3 nulls`, "pod_uid_other": `"uid-" to "uid-web", 0 nulls`, "cpu_cost": `"" to "", 0 nulls`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
