package encode_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
)

// formulaSet is a set in which every text is a formula to a spreadsheet.
func formulaSet(formula string) *allocation.Set {
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
	r := allocation.Row{Start: start, End: start.Add(time.Hour), Labels: map[string]string{formula: formula}}
	for i := range r.Text {
		r.Text[i] = formula
	}
	fill(&r, allocation.CPU, 1, 1, 1, 0.25)
	r.Values[allocation.Adjustment.Of(allocation.CPU)] = -0.5
	s.Append(&r)
	s.Nodes = []allocation.Node{{Cluster: formula, Name: formula, ProviderID: formula, Start: start, End: start.Add(time.Hour), Adjustment: [allocation.NumResources]float64{-0.5}}}
	s.Disks = []allocation.Disk{{Cluster: formula, Name: formula, ProviderID: formula, Start: start, End: start.Add(time.Hour), Cost: 0.25}}
	return s
}

// TestFormulasInCSV checks that no cell is a formula that a spreadsheet would run, and that numbers are unchanged.
func TestFormulasInCSV(t *testing.T) {
	doors := map[string]func(w io.Writer, s *allocation.Set) error{
		"CSV":  func(w io.Writer, s *allocation.Set) error { return encode.CSV(w, s, encode.Options{}) },
		"full": func(w io.Writer, s *allocation.Set) error { return encode.FullCSV(w, s, encode.Options{}) },
		"assets": func(w io.Writer, s *allocation.Set) error {
			return encode.AssetsCSV(w, assetSets(s)[0], encode.Options{})
		},
		"ACK": func(w io.Writer, s *allocation.Set) error {
			return encode.ACKCSV(w, []encode.ACK{{Set: s, Bill: func(int) float64 { return 1 }, Custom: func(int) float64 { return -0.5 }, OneCluster: true}}, encode.Options{})
		},
		"FOCUS": func(w io.Writer, s *allocation.Set) error {
			f, err := encode.NewFOCUS(w, encode.FOCUSVersions()[0], "USD")
			if err != nil {
				return err
			}
			if err := f.Write(s); err != nil {
				return err
			}
			return f.Close()
		},
	}
	for _, formula := range []string{"=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", `=cmd|' /C "calc"'!A0`} {
		for name, write := range doors {
			var b bytes.Buffer
			if err := write(&b, formulaSet(formula)); err != nil {
				t.Fatal(name, err)
			}
			records, err := csv.NewReader(&b).ReadAll()
			if err != nil || len(records) < 2 {
				t.Fatalf("%s: %v of %d lines", name, err, len(records))
			}
			cells := slices.Concat(records[1:]...)
			negative := false
			for _, cell := range cells {
				v, err := strconv.ParseFloat(cell, 64)
				negative = negative || v < 0
				if err != nil && strings.ContainsAny(cell[:min(len(cell), 1)], "=+-@\t\r\n") {
					t.Errorf("%s: cell %q", name, cell)
				}
			}
			// A CSV reader turns \r\n into \n.
			if !slices.ContainsFunc(cells, func(cell string) bool { return strings.HasPrefix(cell, "'"+formula[:1]) }) && formula[0] != '\r' {
				t.Errorf("%s: no cell tells of %q: %q", name, formula, cells)
			}
			if !negative {
				t.Errorf("%s: no number is below 0: %q", name, cells)
			}
		}
	}
}
