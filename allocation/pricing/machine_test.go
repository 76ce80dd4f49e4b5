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
	"github.com/promcost/promcost/allocation/listprices"
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
		{"which are more than the machine's", "- {instanceType: m, nodePerHour: 0.1, cpuPerCoreHour: 0.05, ramPerGiBHour: 0.01}", [...]float64{2, 8, 1}, [...]float64{0.05, 0.01, 1}}, // a GPU is not free
		{"GPUs have a price of their own", "- {instanceType: m, nodePerHour: 1, gpuPerDeviceHour: 0.8}", [...]float64{2, 8, 1}, [...]float64{0.06, 0.01, 0.8}},
		{"a rule after it prices the same", "- {instanceType: m, nodePerHour: 0.2}\n- {instanceType: 'm*', cpuPerCoreHour: 1, ramPerGiBHour: 1}", [...]float64{2, 8, 0}, [...]float64{0.06, 0.01, 2}},
		{"a rule before it prices the same", "- {instanceType: 'm*', cpuPerCoreHour: 1, ramPerGiBHour: 1}\n- {instanceType: m, nodePerHour: 0.2}", [...]float64{2, 8, 0}, [...]float64{1, 1, 1}},
		{"of a machine whose size is not known", "- {instanceType: m, nodePerHour: 0.2}\n- {instanceType: 'm*', cpuPerCoreHour: 1, ramPerGiBHour: 2}", [...]float64{2, 0, 0}, [...]float64{1, 2, 1}},
		{"GPUs come on top", "- {instanceType: m, gpuPerDeviceHour: 0.75, gpuExtra: true}\n- {instanceType: m, nodePerHour: 0.2}", [...]float64{2, 8, 2}, [...]float64{0.06, 0.01, 0.75}},
		{"GPUs of the rule itself come on top", "- {instanceType: m, gpuPerDeviceHour: 0.75, gpuExtra: true, nodePerHour: 0.2}", [...]float64{2, 8, 2}, [...]float64{0.06, 0.01, 0.75}},
		{"GPUs of a rule after it do not", "- {instanceType: m, nodePerHour: 3.1}\n- {instanceType: m, gpuPerDeviceHour: 0.75, gpuExtra: true}", [...]float64{2, 8, 2}, [...]float64{0.03, 0.005, 1.5}},
		{"GPUs that are no extra", "- {instanceType: m, gpuPerDeviceHour: 0.75, gpuExtra: false}\n- {instanceType: m, nodePerHour: 1.7}", [...]float64{2, 8, 2}, [...]float64{0.06, 0.01, 0.75}},
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

// TestMachinePricesAddUp checks that prices of resources add up to that of the machine, and of GPUs that are extra, whatever it has.
func TestMachinePricesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		price := math.Exp(r.Float64()*14 - 7)
		size := [...]float64{float64(1 + r.IntN(256)), float64(1+r.IntN(64)) / 2 * float64(1+r.IntN(100)), float64(r.IntN(3) * r.IntN(9))}
		text, want := "nodes:\n", price
		if r.IntN(2) == 0 {
			gpu := math.Exp(r.Float64()*14 - 7)
			text, want = text+"- {instanceType: m, gpuExtra: true, gpuPerDeviceHour: "+format(gpu)+"}\n", price+gpu*size[2]
		}
		s, err := pricing.Parse("p.yaml", []byte(text+"- {instanceType: m, nodePerHour: "+format(price)+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got, sum := s.Node(rates.NodeAttributes{InstanceType: "m", Size: size, Spot: r.IntN(2) == 0}, at), 0.0
		for i, unit := range got.Price {
			if sum += unit * size[i]; unit < 0 {
				t.Fatalf("%v at %v: a price is negative: %v", size, price, got.Price)
			}
		}
		if math.Abs(sum-want) > 1e-12*want {
			t.Fatalf("%v at %v: prices %v sum to %v", size, want, got.Price, sum)
		}
	}
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// TestListPrices checks when what a provider lists counts, and that prices of resources then add up to it. m5.large costs 0.096 in us-east-1.
func TestListPrices(t *testing.T) {
	const list = "built-in list prices of 2026-07-20"
	node := func(change func(*rates.NodeAttributes)) rates.NodeAttributes {
		n := rates.NodeAttributes{Provider: "aws", Region: "us-east-1", InstanceType: "m5.large", Size: [...]float64{2, 8, 0}}
		if change != nil {
			change(&n)
		}
		return n
	}
	for _, tc := range []struct {
		name, sheet string
		node        rates.NodeAttributes
		want        float64 // of the whole node
		source      string
		isDefault   bool
	}{
		{"listed", "", node(nil), 0.096, list, false},
		{"listed for another region", "", node(func(n *rates.NodeAttributes) { n.Region = "eu-central-1" }), 0.096, list + " for region us-east-1", false},
		{"spot", "", node(func(n *rates.NodeAttributes) { n.Spot = true }), 0.0336, list + ", estimated from on demand", false},
		{"with a multiplier", "multiplier: 0.5", node(nil), 0.048, list, false},
		{"not listed", "", node(func(n *rates.NodeAttributes) { n.InstanceType = "m99.large" }), 2*0.031611 + 8*0.004237, rates.BuiltInPrices, true},
		{"without a type", "", node(func(n *rates.NodeAttributes) { n.InstanceType = "" }), 2*0.031611 + 8*0.004237, rates.BuiltInPrices, true},
		{"of a size that is not known", "", node(func(n *rates.NodeAttributes) { n.Size = [...]float64{2, 0, 0} }), 2 * 0.031611, rates.BuiltInPrices, true},
		{"with Windows", "", node(func(n *rates.NodeAttributes) { n.Labels = map[string]string{"kubernetes_io_os": "windows"} }), 2*0.031611 + 8*0.004237, rates.BuiltInPrices, true},
		{"a rule comes first", "nodes: [{instanceType: m5.*, cpuPerCoreHour: 0.01, ramPerGiBHour: 0.01}]", node(nil), 0.1, "p.yaml:1", false},
		{"defaults of the sheet come first", "defaults: {cpuPerCoreHour: 0.01, ramPerGiBHour: 0.01}", node(nil), 0.1, "p.yaml", false},
		{"defaults of the sheet of nodes on demand say nothing of spot", "defaults: {cpuPerCoreHour: 0.01, ramPerGiBHour: 0.01}", node(func(n *rates.NodeAttributes) { n.Spot = true }), 0.0336, list + ", estimated from on demand", false},
		{"the sheet prices CPU alone", "defaults: {cpuPerCoreHour: 0.01}", node(nil), 0.096, "p.yaml, " + list, false},
		{"in another currency", "currency: EUR", node(nil), 2*0.031611 + 8*0.004237, rates.BuiltInPrices, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := pricing.Parse("p.yaml", []byte(tc.sheet))
			if err != nil {
				t.Fatal(err)
			}
			got, sum := s.WithList(listprices.Embedded()).Node(tc.node, at), 0.0
			for i, unit := range got.Price {
				sum += unit * tc.node.Size[i]
			}
			if math.Abs(sum-tc.want) > 1e-12 || got.Source != tc.source || got.Default != tc.isDefault {
				t.Errorf("the node costs %g by %+v, want %g by %q", sum, got, tc.want, tc.source)
			}
		})
	}
}
