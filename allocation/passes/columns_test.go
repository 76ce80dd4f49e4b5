package passes_test

import (
	"math"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestColumnsMerge checks the traits of every column: rows merge by maximum or by sum, and money counts towards the total cost, each
// column under one kind.
func TestColumnsMerge(t *testing.T) {
	kinds := map[allocation.Column]int{}
	for kind := range allocation.NumSharedKinds {
		for _, c := range kind.Columns() {
			kinds[c]++
		}
		for _, c := range kind.ListColumns() {
			kinds[c] += 10
		}
	}
	fields := map[string]bool{}
	for c := range allocation.NumColumns {
		s := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(3600e9)}, allocation.NewDict())
		for _, v := range []float64{3, 4} {
			row := allocation.Row{Start: testStart, End: testStart.Add(3600e9)}
			row.Text[allocation.Namespace] = "a"
			row.Values[c] = v
			s.Append(&row)
		}
		sets, err := passes.Apply([]*allocation.Set{s}, passes.Options{Aggregate: keys(t, "namespace")})
		if err != nil {
			t.Fatal(err)
		}
		merged, want := sets[0], 7.0
		if c.Maximum() {
			want = 4
		}
		values, err := merged.Column(c)
		if err != nil || len(values) != 1 || values[0] != want || merged.Value(c, 0) != want {
			t.Errorf("%s: 3 and 4 are merged to %v, want %v (%v)", c, values, want, err)
		}
		total, n := 0.0, kinds[c]
		if c.Money() {
			total = want
		}
		if got := merged.TotalCost(0); math.Abs(got-total) > 1e-12 || c.Money() != (n == 1 || n == 11) {
			t.Errorf("%s: money is %v, the total is %v, it is of %d kinds", c, c.Money(), got, n)
		}
		if c.String() == "" || c.Field() == "" || fields[c.Field()] {
			t.Errorf("column %d has the name %q and the field %q", c, c, c.Field())
		}
		fields[c.Field()] = true
	}
}
