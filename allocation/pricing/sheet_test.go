package pricing_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// fullSheets are the sheet with every kind of rule, by its form.
func fullSheets(t *testing.T) map[string]*pricing.Sheet {
	t.Helper()
	sheets := map[string]*pricing.Sheet{}
	for _, name := range []string{"full.yaml", "full.csv"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sheets[name], err = pricing.Parse(name, data); err != nil {
			t.Fatal(err)
		}
	}
	return sheets
}

func TestFullSheetNodes(t *testing.T) {
	july := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	p4d := rates.NodeAttributes{Provider: "aws", InstanceType: "p4d.24xlarge", GPUModel: "NVIDIA-A100-SXM4-40GB"}
	lab := rates.NodeAttributes{Cluster: "lab", Name: "n1", Labels: map[string]string{"example_com_rack": "r7"}}
	spot := lab
	spot.Spot = true
	machine := rates.NodeAttributes{ProviderID: "aws:///eu-central-1a/i-0123", Size: [allocation.NumResources]float64{2, 8, 4}}
	l4 := machine
	l4.GPUModel = "NVIDIA-L4"
	const host = 2*.02 + 8*.004237 // what CPU and memory of the machine cost at the defaults
	type found struct {
		cpu, ram, gpu, discount float64
		builtIn                 bool
	}
	const ram, gpu = 0.004237 * .9 * 1.5, .95 * 1.5 // built-in, by the sheet's terms
	for _, tt := range []struct {
		name string
		node rates.NodeAttributes
		at   time.Time
		want found
		from []int // lines of full.yaml; 0 is the sheet's defaults, -1 the built-in ones
	}{
		{"terms of the rule", p4d, july.Add(-time.Millisecond), found{.04 * .5, .005 * .5, 2.5 * 1.5, .5, false}, []int{10, 12}},
		{"from its first instant on", p4d, july, found{.03 * .9 * 1.5, .005 * .9 * 1.5, 2.5 * 1.5, .1, false}, []int{11, 12}},
		{"per month", lab, july, found{.01 * .9 * 1.5, ram, gpu, .1, true}, []int{13, -1}},
		{"spot is built in", spot, july, found{.006655 * .9 * 1.5, .000892 * .9 * 1.5, gpu, .1, true}, []int{-1}},
		{"by provider id", machine, july, found{.02 * .9 * 1.5, .004237 * .9 * 1.5, (1 - host) / 4 * 1.5, .1, false}, []int{15}},
		{"GPUs come on top", l4, july, found{.02 / host * .9 * 1.5, .004237 / host * .9 * 1.5, .5 * 1.5, .1, false}, []int{14, 15}},
		{"nothing known", rates.NodeAttributes{}, july, found{.02 * .9 * 1.5, ram, gpu, .1, true}, []int{0, -1}},
	} {
		for name, sheet := range fullSheets(t) {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				got := sheet.Node(tt.node, tt.at)
				have := found{got.Price[allocation.CPU], got.Price[allocation.RAM], got.Price[allocation.GPU], got.Discount, got.Default}
				if diff := cmp.Diff(tt.want, have, cmp.AllowUnexported(found{}), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
					t.Error(diff)
				}
				if n := strings.Count(got.Source, ",") + 1; n != len(tt.from) {
					t.Errorf("%d sources in %q, want those of lines %v", n, got.Source, tt.from)
				}
			})
		}
	}
}

func TestFullSheetItems(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		item    rates.Item
		want    float64 // before the multiplier of 1.5
		builtIn bool
	}{
		{"storage class", rates.Item{Kind: rates.ItemStorage, Provider: "aws", StorageClass: "gp3", Namespace: "db"}, .0876 / 730, false},
		{"storage class and namespace", rates.Item{Kind: rates.ItemStorage, StorageClass: "gp3", Namespace: "db"}, .0001, false},
		{"storage by default", rates.Item{Kind: rates.ItemStorage, StorageClass: "standard"}, .0001, false},
		{"load balancer", rates.Item{Kind: rates.ItemLoadBalancer, Provider: "aws", Region: "eu-west-1"}, .0225, false},
		{"service", rates.Item{Kind: rates.ItemLoadBalancer, Namespace: "shop", Name: "web", Labels: map[string]string{"tier": "front"}}, .02, false},
		{"other service", rates.Item{Kind: rates.ItemLoadBalancer, Namespace: "shop", Name: "web"}, 0.025, true},
		{"control plane", rates.Item{Kind: rates.ItemManagement, Cluster: "prod"}, .1, false},
		{"other control plane", rates.Item{Kind: rates.ItemManagement, Cluster: "lab"}, 0, true},
		{"internet", rates.Item{Kind: rates.ItemEgressInternet, Provider: "GCP"}, .085, false},
		{"each price by its own rule", rates.Item{Kind: rates.ItemEgressZone, Provider: "gcp", Zone: "eu-west-1a"}, .02, false},
		{"region", rates.Item{Kind: rates.ItemEgressRegion, Zone: "eu-west-1a"}, .03, false},
		{"region by default", rates.Item{Kind: rates.ItemEgressRegion}, .01, true},
	} {
		for name, sheet := range fullSheets(t) {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				got := sheet.Item(tt.item, now)
				if math.Abs(got.Price-tt.want*1.5) > 1e-12 || got.Default != tt.builtIn || got.Source == "" {
					t.Errorf("got %+v, want %v × 1.5, built in %v", got, tt.want, tt.builtIn)
				}
			})
		}
	}
}

func TestSheetSettings(t *testing.T) {
	for name, sheet := range fullSheets(t) {
		if sheet.Name() != name || sheet.Currency() != "EUR" || !sheet.AsOf().Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)) || len(sheet.Warnings()) > 0 {
			t.Errorf("%s: name %s, currency %s, as of %s, warnings %q", name, sheet.Name(), sheet.Currency(), sheet.AsOf(), sheet.Warnings())
		}
		if _, ok := sheet.Custom(); ok {
			t.Errorf("%s has custom prices", name)
		}
	}
	sheet, err := pricing.Parse("p.yaml", []byte("custom: {cpuPerCoreHour: 1, ramPerGiBMonth: 1460, gpuPerDeviceHour: 3, storagePerGiBHour: 4, loadBalancerPerHour: 5, egressPerGiB: 6}"))
	if err != nil {
		t.Fatal(err)
	}
	want := allocation.CustomPrices{Node: [allocation.NumResources]float64{1, 2, 3}, Storage: 4, LoadBalancer: 5, Egress: 6}
	if got, ok := sheet.Custom(); !ok || got != want {
		t.Errorf("custom prices %+v, %v; want %+v", got, ok, want)
	}
}

func TestChanges(t *testing.T) {
	sheet, err := pricing.Parse("p.yaml", []byte(`
nodes:
- {from: 2026-01-01, to: 2026-03-01T00:00:00+01:00, cpuPerCoreHour: 1}
- {from: 2026-03-01T00:00:00+01:00, region: r, cpuPerCoreHour: 2}
storage:
- {to: 2026-02-01, storagePerGiBHour: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	day := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at.UTC()
	}
	jan, feb, mar := day("2026-01-01T00:00:00Z"), day("2026-02-01T00:00:00Z"), day("2026-02-28T23:00:00Z")
	for _, tt := range []struct {
		name     string
		from, to time.Time
		want     []time.Time
	}{
		{"all", jan.Add(-1e6), mar.Add(1e6), []time.Time{jan, feb, mar}},
		{"the ends are not within", jan, mar, []time.Time{feb}},
		{"none", feb, mar, nil},
		{"empty", feb, feb, nil},
		{"backward", mar, jan, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sheet.Changes(tt.from, tt.to)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := pricing.Default().Changes(jan, mar); got != nil {
		t.Errorf("the built-in prices change at %v", got)
	}
}

func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // of each warning
	}{
		{"month as hour", "defaults: {storagePerGiBHour: 0.04}", []string{"p.yaml: line 1: storagePerGiBHour of 0.04 is 800 times what is usual: did you mean storagePerGiBMonth?"}},
		{"hour as month", "storage:\n- {storageClass: a,\n   storagePerGiBMonth: 0.00005}", []string{"p.yaml: line 3: storagePerGiBMonth of 5e-05 is 0.00137 times what is usual: did you mean storagePerGiBHour?"}},
		{"month of a core", "nodes: [{region: r, cpuPerCoreHour: 22}]", []string{"cpuPerCoreHour of 22 is 733 times what is usual: did you mean cpuPerCoreMonth?"}},
		{"by TiB", "defaults: {egressInternetPerGiB: 90}", []string{"egressInternetPerGiB of 90 is 900 times what is usual: check its unit"}},
		{"a high multiplier", "multiplier: 10", []string{"p.yaml: line 1: multiplier is 10: prices are multiplied by it, check it"}},
		{"a low multiplier", "nodes: [{region: r, cpuPerCoreHour: 1, multiplier: 0.1}]", []string{"p.yaml: line 1: multiplier is 0.1: prices"}},
		{"a multiplier", "multiplier: 1.2\ndiscount: 0.99", nil},
		{"a discount of all", "discount: 0.5\nnodes:\n- {region: r, discount: 1, cpuPerCoreHour: 1}", []string{"p.yaml: line 3: discount is 1: CPU and RAM of nodes cost nothing by it, check it"}},
		{"free cores", "storage: [{storageClass: a, storagePerGiBHour: 0}]\ndefaults: {ramPerGiBHour: 0, cpuPerCoreHour: 0}", []string{"p.yaml: line 2: cpuPerCoreHour is 0: what it prices costs nothing, check it"}},
		{"absurd month", "defaults: {managementPerMonth: 73000}", []string{"is 1000 times what is usual: check its unit"}},
		{"in order of lines", "storage: [{storageClass: a, storagePerGiBHour: 1}]\ndefaults: {cpuPerCoreHour: 30}\n", []string{"line 1: ", "line 2: "}},
		{"custom too", "custom: {cpuPerCoreHour: 22}", []string{"cpuPerCoreMonth"}},
		{"yen", "currency: JPY\ndefaults: {cpuPerCoreHour: 5, storagePerGiBMonth: 6}", nil},
		{"yen by the month", "defaults: {storagePerGiBHour: 6}\ncurrency: JPY", []string{"1200 times what is usual: did you mean storagePerGiBMonth?"}},
		{"a machine by the month", "nodes: [{instanceType: m5.large, nodePerHour: 70.08}]", []string{"p.yaml: line 1: a whole m5.large costs 70.1 an hour, about 730 times what built-in list prices of 2026-07-20"}},
		{"a machine by the hour", "nodes: [{instanceType: m5.large, provider: AWS, region: us-east-1, nodePerMonth: 0.096}]", []string{"a 730th of what"}},
		{"machines as listed, or not listed", "nodes: [{instanceType: m5.large, nodePerHour: 0.2}, {instanceType: m5.*, nodePerHour: 70}, {instanceType: x, nodePerHour: 70}]", nil},
		{"a machine with many GPUs, and one that nothing has", "nodes: [{instanceType: a3-megagpu-8g, nodePerHour: 135}, {instanceType: x, nodePerHour: 1001}]", []string{"nodePerHour of 1001 is 1001 times what is usual: did you mean nodePerMonth?"}},
		{"a machine in another currency", "currency: EUR\nnodes: [{instanceType: m5.large, nodePerHour: 70.08}]", nil},
		{"dear and cheap", "defaults: {gpuPerDeviceHour: 40, storagePerGiBMonth: 0.00099, egressZonePerGiB: 0}", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := pricing.Parse("p.yaml", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			got := s.Warnings()
			if len(got) != len(tt.want) {
				t.Fatalf("warnings %q, want %d", got, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("warning %q lacks %q", got[i], want)
				}
			}
		})
	}
}

func TestParseNode(t *testing.T) {
	var doc struct{ Prices yaml.Node }
	if err := yaml.Unmarshal([]byte("a: 1\nprices:\n  defaults:\n    cpuPerCoreHour: 2\n"), &doc); err != nil {
		t.Fatal(err)
	}
	s, err := pricing.ParseNode("config.yaml", &doc.Prices)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Node(rates.NodeAttributes{}, time.Now()); got.Price[allocation.CPU] != 2 || got.Source != "config.yaml, built-in defaults" {
		t.Errorf("got %+v", got)
	}
	if _, err := pricing.ParseNode("config.yaml", &yaml.Node{Kind: yaml.SequenceNode, Line: 7}); err == nil || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkNode prices a node by a list of 20,000 instance types.
func BenchmarkNode(b *testing.B) {
	var text strings.Builder
	text.WriteString("provider,region,instanceType,cpuPerCoreHour,ramPerGiBHour\n")
	for i := range 20_000 {
		text.WriteString("aws,region-" + string(rune('a'+i%20)) + ",type-" + time.Duration(i/20).String() + ",0.03,0.004\n")
	}
	s, err := pricing.Parse("p.csv", []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	n := rates.NodeAttributes{Provider: "aws", Region: "region-t", InstanceType: "type-999ns"}
	now := time.Now()
	if got := s.Node(n, now); got.Default {
		b.Fatalf("got %+v", got)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Node(n, now)
	}
}

// BenchmarkParse reads a list of 20,000 instance types.
func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("provider,region,instanceType,cpuPerCoreHour,ramPerGiBHour\n")
	for i := range 20_000 {
		text.WriteString("aws,region-" + string(rune('a'+i%20)) + ",type-" + time.Duration(i/20).String() + ",0.03,0.004\n")
	}
	data := []byte(text.String())
	for b.Loop() {
		if _, err := pricing.Parse("p.csv", data); err != nil {
			b.Fatal(err)
		}
	}
}
