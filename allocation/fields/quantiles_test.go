package fields_test

import (
	"math"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
)

// TestQuantiles computes quantiles of usage by hand.
func TestQuantiles(t *testing.T) {
	level := func(usage float64, millis int64) allocation.Level {
		return allocation.Level{Bucket: allocation.BucketOf(usage), Millis: millis}
	}
	for name, tt := range map[string]struct {
		levels []allocation.Level
		most   float64 // the highest usage
		want   map[string]float64
	}{
		"unknown":          {nil, 0, map[string]float64{"P50": math.NaN(), "P95": math.NaN(), "P99": math.NaN()}},
		"never used":       {[]allocation.Level{level(0, 1000)}, 0, map[string]float64{"P50": 0, "P99": 0}},
		"mostly low":       {[]allocation.Level{level(0.1, 900), level(1, 80), level(2, 20)}, 2, map[string]float64{"P50": 0.1, "P95": 1, "P99": 2}},
		"exactly half":     {[]allocation.Level{level(0.1, 500), level(1, 500)}, 1, map[string]float64{"P50": 0.1, "P95": 1}},
		"above its bucket": {[]allocation.Level{level(0.92, 1000)}, 0.92, map[string]float64{"P50": 0.92}}, // its middle is 0.958
	} {
		t.Run(name, func(t *testing.T) {
			for r, of := range map[allocation.Resource]string{allocation.CPU: "cpuCoreUsage", allocation.RAM: "ramByteUsage"} {
				s := allocation.NewSet(allocation.Window{}, allocation.NewDict())
				row := allocation.Row{}
				row.Levels[r], row.Values[allocation.UsageMax.Of(r)] = tt.levels, tt.most
				s.Append(&row)
				for _, f := range fields.Quantiles() {
					want, ok := tt.want[f.Name[max(0, len(f.Name)-3):]]
					if got := f.Value(s, 0); ok && f.Name[:len(f.Name)-3] == of && !(math.Abs(got-want) <= 0.045*want || math.IsNaN(got) && math.IsNaN(want)) {
						t.Errorf("%s is %v, want %v", f.Name, got, want)
					}
				}
			}
		})
	}
}
