package pricing_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// BenchmarkPrices prices 10,000 nodes by what is listed, and by the defaults alone.
func BenchmarkPrices(b *testing.B) {
	for name, sheet := range map[string]*pricing.Sheet{"listed": pricing.Default().WithList(listprices.Embedded()), "defaults": pricing.Default()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range 10_000 {
					n := rates.NodeAttributes{Provider: "aws", Region: "eu-west-1", InstanceType: [...]string{"m5.large", "c5.4xlarge", "p3.8xlarge"}[i%3], Size: [...]float64{2, 8, 0}, Spot: i%2 == 0}
					sheet.Node(n, at)
				}
			}
		})
	}
}
