package rates_test

import (
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
)

// TestKind tells sources of prices by their names.
func TestKind(t *testing.T) {
	day := time.Date(2026, 7, 7, 0, 0, 0, 0, time.UTC)
	for source, want := range map[string]rates.SourceKind{
		"node_cpu_hourly_cost":              rates.MetricSource,
		"pv_hourly_cost":                    rates.MetricSource,
		"kubecost_load_balancer_cost":       rates.MetricSource,
		"kubecost_network_zone_egress_cost": rates.MetricSource,
		"prices.yaml:12":                    rates.SheetSource,
		"prices.yaml":                       rates.SheetSource,
		"my_cost":                           rates.MetricSource,
		"dir/node_cpu_cost.yaml":            rates.SheetSource,
		"cloudcost-exporter":                rates.ExporterSource,
		"Karpenter":                         rates.ExporterSource,
		"built-in defaults":                 rates.DefaultSource,
		"prices.yaml:3, built-in defaults":  rates.DefaultSource,
		"":                                  rates.UnknownSource,
		rates.ListName("built-in list prices", day, "", false):          rates.ListSource,
		rates.ListName("built-in list prices", day, "us-east-1", false): rates.EstimateSource,
		rates.ListName("built-in list prices", day, "", true):           rates.EstimateSource,
		rates.ListName("AWS list prices", day, "us-gov-east-1", true):   rates.EstimateSource,
		rates.ListName("prices/aws.csv", day, "eu-1", true):             rates.EstimateSource,
		rates.ListName("of the month.csv", day, "", false):              rates.ListSource,
	} {
		if got := rates.Kind(source); got != want {
			t.Errorf("%q is %s, want %s", source, got, want)
		}
		at, dated := rates.AsOf(source)
		if listed := want == rates.ListSource || want == rates.EstimateSource; dated != listed || listed && !at.Equal(day) {
			t.Errorf("%q is of %s, %v", source, at, dated)
		}
	}
}

// TestDefaultShare adds up what rests on defaults and estimates.
func TestDefaultShare(t *testing.T) {
	for _, tt := range []struct {
		by                  []allocation.SourceCost
		defaults, estimates float64
	}{
		{nil, 0, 0},
		{[]allocation.SourceCost{{Source: "node_cpu_hourly_cost", Cost: 3}}, 0, 0},
		{[]allocation.SourceCost{{Source: "node_cpu_hourly_cost", Cost: 3}, {Source: "built-in defaults", Cost: 1}}, 0.25, 0},
		{[]allocation.SourceCost{{Source: "built-in defaults", Cost: 1}, {Source: "a.yaml, built-in defaults", Cost: 1}, {Source: rates.ListName("list prices", time.Time{}, "r", false), Cost: 2}}, 0.5, 0.5},
	} {
		defaults, estimates := rates.DefaultShare(tt.by)
		if math.Abs(defaults-tt.defaults) > 1e-12 || math.Abs(estimates-tt.estimates) > 1e-12 {
			t.Errorf("%v: got %g and %g, want %g and %g", tt.by, defaults, estimates, tt.defaults, tt.estimates)
		}
	}
}
