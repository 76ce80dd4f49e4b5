package pricing_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// TestMachinePrices divides prices of machines by hand: a core costs 0.03 at the defaults, a GiB 0.005 and a GPU 1.
func TestMachinePrices(t *testing.T) {
	const defaults = "defaults: {cpuPerCoreHour: 0.03, ramPerGiBHour: 0.005, gpuPerDeviceHour: 1}\nnodes:\n"
	for _, tc := range []struct {
		name, rules string
		size        [allocation.NumResources]float64
		want        [allocation.NumResources]float64
	}{
		{"in proportion", "- {instanceType: m, nodePerHour: 0.2}", [...]float64{2, 8, 0}, [...]float64{0.06, 0.01, 2}},
		{"by the month", "- {instanceType: m, nodePerMonth: 146}", [...]float64{2, 8, 0}, [...]float64{0.06, 0.01, 2}},
		{"with a multiplier", "- {instanceType: m, nodePerHour: 0.4, multiplier: 0.5}", [...]float64{2, 8, 0}, [...]float64{0.06, 0.01, 2}},
		{"the rest is the GPUs'", "- {instanceType: m, nodePerHour: 3.1}", [...]float64{2, 8, 2}, [...]float64{0.03, 0.005, 1.5}},
		{"too little is left for GPUs", "- {instanceType: m, nodePerHour: 0.105}", [...]float64{2, 8, 1}, [...]float64{0.03 * 0.105 / 1.1, 0.005 * 0.105 / 1.1, 0.105 / 1.1}},
		{"CPU and memory have prices of their own", "- {instanceType: m, nodePerHour: 1, cpuPerCoreHour: 0.05, ramPerGiBHour: 0.01}", [...]float64{2, 8, 1}, [...]float64{0.05, 0.01, 0.82}},
		{"which are more than the machine's", "- {instanceType: m, nodePerHour: 0.1, cpuPerCoreHour: 0.05, ramPerGiBHour: 0.01}", [...]float64{2, 8, 1}, [...]float64{0.05, 0.01, 0}},
		{"GPUs have a price of their own", "- {instanceType: m, nodePerHour: 1, gpuPerDeviceHour: 0.8}", [...]float64{2, 8, 1}, [...]float64{0.06, 0.01, 0.8}},
		{"a rule after it prices the same", "- {instanceType: m, nodePerHour: 0.2}\n- {instanceType: 'm*', cpuPerCoreHour: 1, ramPerGiBHour: 1}", [...]float64{2, 8, 0}, [...]float64{0.06, 0.01, 2}},
		{"a rule before it prices the same", "- {instanceType: 'm*', cpuPerCoreHour: 1, ramPerGiBHour: 1}\n- {instanceType: m, nodePerHour: 0.2}", [...]float64{2, 8, 0}, [...]float64{1, 1, 1}},
		{"of a machine whose size is not known", "- {instanceType: m, nodePerHour: 0.2}\n- {instanceType: 'm*', cpuPerCoreHour: 1, ramPerGiBHour: 2}", [...]float64{2, 0, 0}, [...]float64{1, 2, 1}},
		{"nothing", "- {instanceType: m, nodePerHour: 0}", [...]float64{2, 8, 0}, [...]float64{0, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := pricing.Parse("p.yaml", []byte(defaults+tc.rules))
			if err != nil {
				t.Fatal(err)
			}
			got := s.Node(rates.NodeAttributes{InstanceType: "m", Size: tc.size}, at)
			if diff := cmp.Diff(tc.want, got.Price, cmpopts.EquateApprox(1e-12, 1e-15)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !got.Ruled || got.Default || !strings.HasPrefix(got.Source, "p.yaml:") {
				t.Errorf("the prices are %+v", got)
			}
		})
	}
}

// TestMachinePricesAddUp checks that prices of resources add up to that of the machine, whatever it has and whatever the defaults are.
func TestMachinePricesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		price := math.Exp(r.Float64()*14 - 7)
		size := [...]float64{float64(1 + r.IntN(256)), float64(1+r.IntN(64)) / 2 * float64(1+r.IntN(100)), float64(r.IntN(3) * r.IntN(9))}
		s, err := pricing.Parse("p.yaml", []byte("nodes:\n- {instanceType: m, nodePerHour: "+format(price)+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got, sum := s.Node(rates.NodeAttributes{InstanceType: "m", Size: size, Spot: r.IntN(2) == 0}, at), 0.0
		for i, unit := range got.Price {
			if sum += unit * size[i]; unit < 0 {
				t.Fatalf("%v at %v: a price is negative: %v", size, price, got.Price)
			}
		}
		if math.Abs(sum-price) > 1e-12*price {
			t.Fatalf("%v at %v: prices %v sum to %v", size, price, got.Price, sum)
		}
	}
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
