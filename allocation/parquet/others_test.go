package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
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
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("column %v: %v", path, err)
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

// TestStreamForOthers reads row groups with another reader, of which each compresses other columns.
func TestStreamForOthers(t *testing.T) {
	var b bytes.Buffer
	p, want := parquet.NewStream(&b), map[string][][]string{}
	for i := range 3 {
		s := allocation.NewSet(parquetWindow, allocation.NewDict())
		for row := range 100 {
			r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End}
			r.Text[allocation.Pod], r.Text[allocation.PodUID] = "pod", fmt.Sprint("uid-", row*i)
			if i == 1 {
				r.Text[allocation.Pod], r.Text[allocation.PodUID] = fmt.Sprint("pod-", row*row*row), fmt.Sprintf("00000000-0000-0000-0000-%012x", row)
			}
			r.Values[allocation.PVCost] = float64(row * (i % 2))
			s.Append(&r)
			uid, other := "null", r.Text[allocation.PodUID]
			if i == 1 {
				uid, other = other, "null"
			}
			for name, value := range map[string]string{
				"pod": r.Text[allocation.Pod], "pod_uid": uid, "pod_uid_other": other, allocation.PVCost.Field(): parquetgo.DoubleValue(r.Values[allocation.PVCost]).String(),
			} {
				want[name] = append(want[name], []string{value})
			}
		}
		if err := p.Rows(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range want {
		got := leafOf(t, b.Bytes(), name)
		if name == "pod_uid" {
			for i := range got {
				if id := []byte(got[i][0]); len(id) == 16 {
					got[i][0] = fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
