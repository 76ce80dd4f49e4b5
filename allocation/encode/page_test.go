package encode_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestPages checks which rows are on a page, and their order.
func TestPages(t *testing.T) {
	set := applied(t, "pod", passes.Options{Idle: true}, 1)[0] // idle 0.623, web-0 0.517, job-x1 0.2000001
	for _, tc := range []struct {
		page encode.Page
		want string
	}{
		{encode.Page{}, "__idle__ job-x1 web-0"},
		{encode.Page{Limit: 1}, "__idle__ web-0"}, // idle stands beside each page
		{encode.Page{Limit: 2}, "__idle__ web-0 job-x1"},
		{encode.Page{Offset: 1}, "__idle__ job-x1"},
		{encode.Page{Offset: 1, Limit: 1}, "__idle__ job-x1"},
		{encode.Page{Offset: 2, Limit: 1}, "__idle__"},
		{encode.Page{Offset: 9, Limit: 1}, "__idle__"},
		{encode.Page{By: "totalCost", Ascending: true}, "job-x1 web-0 __idle__"},
		{encode.Page{By: "name"}, "web-0 job-x1 __idle__"},
		{encode.Page{By: "name", Ascending: true, Limit: 1}, "__idle__ job-x1"},
		{encode.Page{By: "cpuCoreHours"}, "web-0 job-x1 __idle__"},
		{encode.Page{By: "cpuEfficiency"}, "web-0 job-x1 __idle__"},
		{encode.Page{By: "cpuEfficiency", Ascending: true}, "job-x1 web-0 __idle__"}, // what is not known comes last in both orders
		{encode.Page{By: "externalCost"}, "__idle__ job-x1 web-0"},
	} {
		t.Run(fmt.Sprint(tc.page), func(t *testing.T) {
			var b bytes.Buffer
			o := encode.Options{Page: tc.page, Fields: []string{"name"}}
			if err := encode.Allocations(&b, []*allocation.Set{set}, o); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(keys(t, b.Bytes()), " "); got != tc.want {
				t.Errorf("JSON has %q, want %q", got, tc.want)
			}
			b.Reset()
			if err := encode.FullCSV(&b, set, o); err != nil {
				t.Fatal(err)
			}
			records, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, r := range records[1:] {
				names = append(names, r[0])
			}
			want := tc.want
			if tc.page.IsZero() {
				want = "__idle__ web-0 job-x1" // the dearest first
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("CSV has %q, want %q", got, want)
			}
		})
	}
	numbers, assets := encode.PageOrders()
	if !slices.Contains(numbers, "totalCost") || !slices.Contains(assets, "totalCost") {
		t.Errorf("orders %v, %v", numbers, assets)
	}
}

// TestPagesOfSets checks that the answer about several sets of equal size is that about each of them.
func TestPagesOfSets(t *testing.T) {
	sets := []*allocation.Set{
		applied(t, "pod", passes.Options{Idle: true}, 1)[0], applied(t, "cluster", passes.Options{}, 1)[0],
		applied(t, "pod", passes.Options{Idle: true}, 1)[0], applied(t, "cluster", passes.Options{Idle: true}, 1)[0],
	}
	data := func(page encode.Page, sets ...*allocation.Set) (list []string) {
		var b bytes.Buffer
		if err := encode.Allocations(&b, sets, encode.Options{Page: page}); err != nil {
			t.Fatal(err)
		}
		var body struct{ Data []json.RawMessage }
		if err := json.Unmarshal(b.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		for _, set := range body.Data {
			list = append(list, string(set))
		}
		return list
	}
	for _, page := range []encode.Page{{}, {Limit: 1}, {Limit: 2}, {Offset: 1}, {Offset: 1, Limit: 1}, {By: "name", Limit: 2}} {
		var want []string
		for _, set := range sets {
			want = append(want, data(page, set)...)
		}
		if diff := cmp.Diff(want, data(page, sets...)); diff != "" {
			t.Errorf("%v (-alone +together):\n%s", page, diff)
		}
	}
}

// keys are those of the first map of data, in the order they were sent.
func keys(t *testing.T, body []byte) []string {
	t.Helper()
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &envelope); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(envelope.Data))
	var names []string
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return names
		}
		switch x := token.(type) {
		case json.Delim:
			if depth++; x == '}' || x == ']' {
				depth -= 2
			}
		case string:
			if depth == 2 {
				names = append(names, x)
				var skipped json.RawMessage
				if err := d.Decode(&skipped); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestFields checks that each row has the members that were asked for, unchanged, and no others.
func TestFields(t *testing.T) {
	sets := applied(t, "", passes.Options{Idle: true}, 1)
	whole := rowsOf(t, sets, encode.Options{})
	for _, fields := range [][]string{{}, {"name"}, {"errorBounds", "name", "properties"}, {"window", "totalCost"}, {"nothing"}, encode.Members()} {
		got := rowsOf(t, sets, encode.Options{Fields: fields})
		for name, row := range whole {
			want := map[string]any{}
			for _, f := range fields {
				if v, ok := row[f]; ok {
					want[f] = v
				}
			}
			if diff := cmp.Diff(want, got[name]); diff != "" {
				t.Errorf("%v of %s: %s", fields, name, diff)
			}
		}
	}
	for name, row := range whole {
		for _, member := range slices.Sorted(maps.Keys(row)) {
			if !slices.Contains(encode.Members(), member) {
				t.Errorf("%s has %s, which is not among the members", name, member)
			}
		}
	}
	var b bytes.Buffer
	if err := encode.AssetMap(&b, assetSets(sets...)[0], encode.Options{}); err != nil {
		t.Fatal(err)
	}
	var body struct{ Data map[string]map[string]any }
	if err := json.Unmarshal(b.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	for name, a := range body.Data {
		for _, member := range slices.Sorted(maps.Keys(a)) {
			if !slices.Contains(encode.AssetMembers(), member) {
				t.Errorf("%s has %s, which is not among the members", name, member)
			}
		}
	}
}

func rowsOf(t *testing.T, sets []*allocation.Set, o encode.Options) map[string]map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := encode.Allocations(&b, sets, o); err != nil {
		t.Fatal(err)
	}
	var body struct{ Data []map[string]map[string]any }
	if err := json.Unmarshal(b.Bytes(), &body); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	return body.Data[0]
}

// FuzzFields selects members of rows with any text in them.
func FuzzFields(f *testing.F) {
	f.Add("a\"}{b\\", "x,]y", true)
	f.Fuzz(func(t *testing.T, label, value string, first bool) {
		s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
		s.Append(&allocation.Row{Labels: map[string]string{label: value}, Start: start, End: start.Add(time.Hour)})
		fields := []string{"properties"}
		if first {
			fields = append(fields, "name", "errorBounds")
		}
		rows := rowsOf(t, []*allocation.Set{s}, encode.Options{Fields: fields})
		for _, row := range rows {
			if len(row) != len(fields) {
				t.Errorf("%v of %q", row, fields)
			}
		}
	})
}

// TestRates checks that costs are multiplied, those inside lists too, and nothing else.
func TestRates(t *testing.T) {
	sets := applied(t, "pod", passes.Options{}, 1)
	whole, daily := rowsOf(t, sets, encode.Options{}), rowsOf(t, sets, encode.Options{RateHours: 24})
	half := rowsOf(t, sets, encode.Options{RateHours: 24, Now: start.Add(30 * time.Minute)})
	for name, row := range whole {
		for field, v := range row {
			number, ok := v.(float64)
			if !ok {
				continue
			}
			factor, twice := 1.0, 1.0
			if strings.Contains(field, "Cost") {
				factor, twice = 24, 48
			}
			if daily[name][field] != number*factor || half[name][field] != number*twice {
				t.Errorf("%s of %s: %v, a day %v, of half an hour %v", field, name, v, daily[name][field], half[name][field])
			}
		}
	}
}

// discard counts what is written to it.
type discard struct{ size, largest int }

func (d *discard) Write(p []byte) (int, error) {
	d.size, d.largest = d.size+len(p), max(d.largest, len(p))
	return len(p), nil
}

// TestMemoryIsFlat checks that encoders write an answer in pieces of limited size. With -soak it also measures that they keep a
// name and a number for each row and some buffers, not the answer.
func TestMemoryIsFlat(t *testing.T) {
	const (
		rows    = 20_000
		piece   = 1 << 20
		buffers = 4 << 20 // the answer as JSON takes 24 MB
	)
	dict := allocation.NewDict()
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, dict)
	for i := range rows {
		r := allocation.Row{Start: start, End: start.Add(time.Hour)}
		r.Text[allocation.Pod] = fmt.Sprintf("pod-%d", i)
		r.Values[allocation.SharedCost] = float64(i)
		s.Append(&r)
	}
	sets, err := passes.Apply([]*allocation.Set{s}, passes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(w *discard) error{
		"json":    func(w *discard) error { return encode.Allocations(w, sets, encode.Options{}) },
		"summary": func(w *discard) error { return encode.Summary(w, sets, time.Hour, encode.Options{}) },
		"csv":     func(w *discard) error { return encode.CSV(w, sets[0], encode.Options{}) },
		"full":    func(w *discard) error { return encode.FullCSV(w, sets[0], encode.Options{}) },
	} {
		var before, after runtime.MemStats
		var written discard
		runtime.ReadMemStats(&before)
		if err := write(&written); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if written.largest > piece {
			t.Errorf("%s: a piece of %d bytes of an answer of %d", name, written.largest, written.size)
		}
		if took := after.TotalAlloc - before.TotalAlloc; soak.On() && took > 64*rows+buffers {
			t.Errorf("%s: %d bytes of memory for an answer of %d", name, took, written.size)
		}
	}
}
