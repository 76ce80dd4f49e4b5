package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/texttable"
)

// TestChangeTable prints rows, the parts that show, and the effects that matter; bars are for terminals.
func TestChangeTable(t *testing.T) {
	var answer changeAnswer
	if err := json.Unmarshal([]byte(`{"data":{
		"window":{"start":"2026-11-08T00:00:00Z","end":"2026-11-15T00:00:00Z"},"baselineWindow":{"start":"2026-11-01T00:00:00Z","end":"2026-11-08T00:00:00Z"},
		"total":{"baseline":3,"cost":5.5,"change":2.5,"effects":{"new":4,"price":-1.5}},
		"rows":[
			{"name":"web","baseline":1,"cost":5,"change":4,"since":"2026-11-10T07:00:00Z","owner":"jo","team":"a","effects":{"new":4,"price":0.01,"idle":0},"parts":[
				{"name":"deployment:a","team":"a","baseline":0,"cost":4,"change":4,"effects":{"new":4}},{"name":"job:b","team":"b","baseline":1,"cost":1,"change":0.001,"effects":{"new":0.001}}]},
			{"name":"","baseline":2,"cost":0.5,"change":-1.5,"withinBounds":true,"effects":{"price":-1.5}}]}}`), &answer); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := answer.print(&b, "EUR", texttable.Layout{}); err != nil {
		t.Fatal(err)
	}
	const want = `2026-11-08 00:00 UTC to 2026-11-15 00:00 UTC against 2026-11-01 00:00 UTC to 2026-11-08 00:00 UTC, costs in EUR at list prices

NAME            BEFORE  AFTER  CHANGE  SINCE             OWNER  WHY
web               1.00   5.00   +4.00  2026-11-10 07:00  a      New workloads +4.00
  deployment:a    0.00   4.00   +4.00                    a      New workloads +4.00
(all)             2.00   0.50   -1.50                           Node prices -1.50, (within the error bounds)
TOTAL             3.00   5.50   +2.50                           New workloads +4.00, Node prices -1.50
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := answer.print(&b, "EUR", texttable.Layout{Width: 70}); err != nil || strings.Contains(b.String(), "OWNER") || !strings.Contains(b.String(), "WHY") {
		t.Errorf("in 70 cells, %v:\n%s", err, b.String())
	}
	if got := answer.Data.Rows[1].line("x", 4); got[4] != strings.Repeat("█", 6) {
		t.Errorf("the bar of a change of 1.5 of 4 is %q", got[4])
	}
}

// TestChangeOthers sums up the effects that are not shown, so that what is shown comes to the change.
func TestChangeOthers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change float64
		of     map[string]float64
		want   string
	}{
		{"all are shown", 2.5, map[string]float64{"new": 4, "price": -1.5}, "New workloads +4.00, Node prices -1.50"},
		{"more than four", 15.5, map[string]float64{"new": 10, "price": 5, "idle": -4, "sizeBurst": 3, "sizeRequest": 2, "replicas": -0.5}, "New workloads +10.00, Node prices +5.00, Idle capacity -4.00, Usage above requests +3.00, others +1.50"},
		{"small ones", 100.5, map[string]float64{"new": 100, "price": 0.5}, "New workloads +100.00, others +0.50"},
		{"of which nothing is left", 10, map[string]float64{"new": 10, "price": 0.1, "idle": -0.1}, "New workloads +10.00"},
		{"what rounds to nothing", 10.004, map[string]float64{"new": 10, "price": 0.004}, "New workloads +10.00"},
	} {
		r := changeRow{Change: tt.change, Effects: tt.of}
		if got := r.why(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
