package encode_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
)

// TestArrow reads streams of several batches back and compares their sums with those of the sets.
func TestArrow(t *testing.T) {
	const rows = encode.ArrowBatchRows + 100
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	set := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
	want := 0.0
	for i := range rows {
		row := allocation.Row{Start: start, End: start.Add(time.Hour), Labels: map[string]string{"app": "web"}, Services: []string{"web"}}
		row.Values[allocation.Cost.Of(allocation.CPU)] = float64(i)
		set.Append(&row)
		want += float64(i)
	}
	for name, sets := range map[string][]*allocation.Set{"none": nil, "two": {set, set}} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := encode.Arrow(&b, sets, encode.Options{}); err != nil {
				t.Fatal(err)
			}
			in, err := ipc.NewReader(&b)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Release()
			n, sum := int64(0), 0.0
			for in.Next() {
				batch := in.RecordBatch()
				n += batch.NumRows()
				at := batch.Schema().FieldIndices("cpu_cost")
				for _, v := range batch.Column(at[0]).(*array.Float64).Float64Values() {
					sum += v
				}
				for _, name := range []string{"cpuCoreUsageAverage", "cpuEfficiency", "totalEfficiency"} { // of which nothing is known
					if c := batch.Column(batch.Schema().FieldIndices(name)[0]); c.NullN() != c.Len() {
						t.Errorf("%d of %d of %s are null", c.NullN(), c.Len(), name)
					}
				}
			}
			if in.Err() != nil || n != int64(rows*len(sets)) || math.Abs(sum-want*float64(len(sets))) > 1e-6*want {
				t.Errorf("%d rows that cost %v: %v", n, sum, in.Err())
			}
		})
	}
}
