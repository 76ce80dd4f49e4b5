package encode_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
)

// TestMembers compares the documented names of members with those in answers.
func TestMembers(t *testing.T) {
	sets := applied(t, "namespace", passes.Options{Idle: true}, 1)
	cost := func(int) float64 { return 10 }
	for name, tc := range map[string]struct {
		write func(w io.Writer) error
		want  []string
	}{
		"summary": {func(w io.Writer) error { return encode.Summary(w, sets, time.Hour, encode.Options{}) }, encode.SummaryMembers()},
		"ACK": {func(w io.Writer) error {
			return encode.ACKAllocations(w, []encode.ACK{{Set: sets[0], Bill: cost, Custom: cost}}, encode.Options{})
		}, encode.ACKMembers()},
	} {
		var b bytes.Buffer
		var body any
		if err := tc.write(&b); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if got, want := members(body), slices.Sorted(slices.Values(tc.want)); !cmp.Equal(got, want) {
			t.Errorf("members of %s: %s in %s", name, cmp.Diff(want, got), b.Bytes())
		}
	}
}

// members are the names of the members of the first row within an answer, sorted.
func members(v any) []string {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			if found := members(e); found != nil {
				return found
			}
		}
	case map[string]any:
		if _, row := x["name"]; row && x["start"] != nil {
			return slices.Sorted(maps.Keys(x))
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if found := members(x[name]); found != nil {
				return found
			}
		}
	}
	return nil
}

// TestNeeds compares the data that a format and a page declare with the data that they show.
func TestNeeds(t *testing.T) {
	for _, tc := range []struct {
		name     string
		of       *allocation.Projection
		has, not []allocation.Column
	}{
		{"summary", (&encode.Options{}).Needs(encode.SummaryFormat), []allocation.Column{allocation.PVCost}, []allocation.Column{allocation.NetworkReceiveBytes}},
		{"trends", (&encode.Options{}).Needs(encode.TrendsFormat), []allocation.Column{allocation.PVCost}, []allocation.Column{allocation.PVByteHours}},
		{"CSV by bytes", (&encode.Options{Page: encode.Page{By: "networkReceiveBytes"}}).Needs(encode.CSVFormat), []allocation.Column{allocation.PVCost, allocation.NetworkReceiveBytes}, []allocation.Column{allocation.PVByteHours}},
		{"all of CSV", (&encode.Options{}).Needs(encode.FullCSVFormat), []allocation.Column{allocation.PVByteHours, allocation.NetworkReceiveBytes}, nil},
		{"one field", (&encode.Options{Fields: []string{"pvByteHours"}}).Needs(encode.AllocationsFormat), []allocation.Column{allocation.PVByteHours, allocation.PVCost}, []allocation.Column{allocation.NetworkReceiveBytes}},
		{"a page", encode.Page{}.Needs(), []allocation.Column{allocation.PVCost}, []allocation.Column{allocation.PVByteHours}},
		{"a page by bytes", encode.Page{By: "pvByteHours"}.Needs(), []allocation.Column{allocation.PVByteHours}, []allocation.Column{allocation.PVCost}},
	} {
		if tc.of == nil {
			t.Errorf("%s needs everything", tc.name)
			continue
		}
		for _, c := range tc.has {
			if !slices.Contains(tc.of.Columns, c) {
				t.Errorf("%s does not need %s", tc.name, c)
			}
		}
		for _, c := range tc.not {
			if slices.Contains(tc.of.Columns, c) {
				t.Errorf("%s needs %s", tc.name, c)
			}
		}
	}
}
