package imported_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/pricing/imported"
	"github.com/promcost/promcost/allocation/rates"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// written is when the files of testdata were, and at is an instant of their prices.
var (
	written = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at      = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
)

// sheet imports a text, and reads the sheet that is made of it.
func sheet(t *testing.T, file string, text []byte, o imported.Options) (*pricing.Sheet, *imported.Prices, []byte) {
	t.Helper()
	prices, err := imported.Read(text, o)
	if err != nil {
		t.Fatal(err)
	}
	yaml := prices.Sheet(file, written)
	s, err := pricing.Parse("p.yaml", yaml)
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	return s, prices, yaml
}

// size is a machine of cores, GiB and GPUs.
type size = [allocation.NumResources]float64

// hourly is what a node costs an hour.
func hourly(s *pricing.Sheet, n rates.NodeAttributes) (sum float64) {
	for i, unit := range s.Node(n, at).Price {
		sum += unit * n.Size[i]
	}
	return sum
}

// Prices in US dollars that are built in: of a core, a GiB and a GPU.
const core, gib, gpu = 0.031611, 0.004237, 0.95

// TestPublicShapes imports a file of each shape, and checks prices that were computed by hand.
func TestPublicShapes(t *testing.T) {
	node := func(n rates.NodeAttributes, cores, gibs, gpus float64) rates.NodeAttributes {
		n.Size = size{cores, gibs, gpus}
		return n
	}
	type item struct {
		rates.Item
		want float64
	}
	type machine struct {
		rates.NodeAttributes
		want float64 // an hour
	}
	azure := "azure:///subscriptions/12AB-34/resourceGroups/case_rg/providers/Microsoft.Compute/virtualMachineScaleSets/vmss-agent/virtualMachines/"
	europe := rates.NodeAttributes{Provider: "gcp", Region: "europe-west1", InstanceType: "n2-standard-4"}
	america, cheap := europe, europe
	america.Region, cheap.Spot = "us-central1", true
	for _, tt := range []struct {
		file, format, currency string
		nodes                  []machine
		items                  []item
		warnings               int
		suspicious             int // warnings of the sheet
	}{
		{
			file: "default.json", format: "OpenCost's default.json",
			nodes: []machine{
				{node(rates.NodeAttributes{}, 4, 16, 2), 4*0.03 + 16*0.004 + 2*0.9},
				{node(rates.NodeAttributes{Spot: true}, 4, 16, 2), 4*0.007 + 16*0.001 + 2*0.4},
			},
			items: []item{
				{rates.Item{Kind: rates.ItemStorage}, 0.00005},
				{rates.Item{Kind: rates.ItemLoadBalancer}, 0.02},
				{rates.Item{Kind: rates.ItemEgressZone}, 0.02},
				{rates.Item{Kind: rates.ItemEgressRegion}, 0.03},
				{rates.Item{Kind: rates.ItemEgressInternet}, 0.1},
			},
		},
		{
			file: "pricing-configs.yaml", format: "a ConfigMap of prices of OpenCost or Kubecost", currency: "EUR",
			nodes: []machine{ // a month of 730 hours; 30 % and then 10 % off CPU and memory leave 0.63
				{node(rates.NodeAttributes{}, 4, 16, 1), (4*28+16*3.09)*0.63/730 + 693.5/730},
				{node(rates.NodeAttributes{Spot: true}, 4, 16, 1), (4*4.86+16*0.65)*0.63/730 + 225.0/730},
			},
			items: []item{{rates.Item{Kind: rates.ItemStorage}, 0.04 / 730}, {rates.Item{Kind: rates.ItemEgressInternet}, 0.12}, {rates.Item{Kind: rates.ItemLoadBalancer}, 0.025}},
		},
		{
			file: "configmap.json", format: "a ConfigMap of prices of OpenCost or Kubecost", suspicious: 2,
			nodes: []machine{{node(rates.NodeAttributes{}, 2, 4, 1), 2*1.25 + 4*0.5 + 0.95}},
			items: []item{{rates.Item{Kind: rates.ItemStorage}, 0.25}},
		},
		{
			file: "nested.yaml", format: "a ConfigMap of prices of OpenCost or Kubecost",
			nodes: []machine{{node(rates.NodeAttributes{}, 2, 8, 0), 2*0.02 + 8*0.003}},
			items: []item{{rates.Item{Kind: rates.ItemStorage}, 0.00006}},
		},
		{
			file: "prices.csv", format: "OpenCost's CSV of prices", warnings: 1,
			nodes: []machine{
				{node(rates.NodeAttributes{Name: "worker-1"}, 4, 16, 0), 0.40},
				{node(rates.NodeAttributes{Name: "worker-1", Region: "us-east-1"}, 4, 16, 0), 0.40},
				{node(rates.NodeAttributes{Name: "worker-1", Region: "eu-central-1"}, 4, 16, 0), 0.50},
				{node(rates.NodeAttributes{Name: "worker-1", InstanceType: "m5.2xlarge"}, 8, 32, 0), 0.40},
				{node(rates.NodeAttributes{Name: "worker-1", Region: "eu-central-1", Labels: map[string]string{"nvidia_com_gpu_type": "a100-ondemand"}}, 8, 32, 3), 0.50 + 3*0.5},
				{node(rates.NodeAttributes{ProviderID: "aws:///eu-central-1a/i-0abc", InstanceType: "m5.large"}, 2, 8, 0), 0.30},
				{node(rates.NodeAttributes{ProviderID: "aws:///eu-central-1a/i-0abd", InstanceType: "m5.large"}, 2, 8, 0), 2*core + 8*gib},
				{node(rates.NodeAttributes{ProviderID: azure + "7", Region: "eastus2", InstanceType: "Standard_F32s_v2"}, 32, 64, 0), 1.25},
				{node(rates.NodeAttributes{ProviderID: azure + "7", Region: "westus"}, 32, 64, 0), 32*core + 64*gib},
				{node(rates.NodeAttributes{ProviderID: azure + "8", Region: "eastus2"}, 32, 64, 0), 32*core + 64*gib},
				{node(rates.NodeAttributes{Labels: map[string]string{"TestClusterUsage": "Reserved"}, InstanceType: "m5.2xlarge"}, 8, 32, 0), 0.66},
				{node(rates.NodeAttributes{InstanceType: "m5.2xlarge", Region: "us-east-1"}, 8, 32, 0), 0.42},
				{node(rates.NodeAttributes{InstanceType: "m5.2xlarge", Region: "eu-central-1"}, 8, 32, 0), 0.45},
				{node(rates.NodeAttributes{InstanceType: "m5.2xlarge", Labels: map[string]string{"gpu_nvidia_com_class": "Quadro_RTX_4000"}}, 8, 32, 2), 0.42 + 2*0.75},
				{node(rates.NodeAttributes{InstanceType: "m5.2xlarge"}, 8, 32, 1), 0.42},
				{node(rates.NodeAttributes{Labels: map[string]string{"nvidia.com/gpu_type": "a100-ondemand"}}, 8, 32, 2), 8*core + 32*gib + 2*0.5},
				{node(rates.NodeAttributes{Name: "other"}, 4, 16, 1), 4*core + 16*gib + gpu},
			},
			items: []item{
				{rates.Item{Kind: rates.ItemStorage, Name: "pvc-08e1f205", StorageClass: "fast"}, 0.0002},
				{rates.Item{Kind: rates.ItemStorage, StorageClass: "fast"}, 0.0001},
				{rates.Item{Kind: rates.ItemStorage, StorageClass: "slow"}, 0.00005479452},
			},
		},
		{
			file: "initial-prices.json", format: "prices of Karpenter's provider for Google Cloud",
			nodes: []machine{
				{node(europe, 4, 16, 0), 0.2136},
				{node(america, 4, 16, 0), 0.194236},
				{node(cheap, 4, 16, 0), 0.0512},
				{node(rates.NodeAttributes{Provider: "gcp", Region: "europe-west1", InstanceType: "g2-standard-8"}, 8, 32, 1), 0.9384},
				{node(rates.NodeAttributes{Provider: "aws", Region: "europe-west1", InstanceType: "n2-standard-4"}, 4, 16, 0), 4*core + 16*gib},
			},
		},
		{file: "on-demand.json", format: "prices of Karpenter's provider for Google Cloud", currency: "USD", nodes: []machine{{node(europe, 4, 16, 0), 0.2136}, {node(cheap, 4, 16, 0), 0.0512}}},
		{file: "regions.json", format: "prices of Karpenter's provider for Google Cloud", nodes: []machine{{node(europe, 4, 16, 0), 0.2136}, {node(cheap, 4, 16, 0), 4*0.006655 + 16*0.000892}}},
		{file: "rows.json", format: "prices of Karpenter's provider for Google Cloud", nodes: []machine{{node(europe, 4, 16, 0), 0.2136}, {node(america, 4, 16, 0), 0.194236}, {node(cheap, 4, 16, 0), 0.0512}}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			s, prices, yaml := sheet(t, tt.file, text, imported.Options{})
			if got := imported.Format(text); got != tt.format || prices.Format() != tt.format || s.Currency() != tt.currency || len(prices.Warnings()) != tt.warnings {
				t.Errorf("it is %s, in %q, with warnings %q", got, s.Currency(), prices.Warnings())
			}
			for _, n := range tt.nodes {
				if got := hourly(s, n.NodeAttributes); math.Abs(got-n.want) > 1e-12 {
					t.Errorf("%+v costs %.12g, want %.12g", n.NodeAttributes, got, n.want)
				}
			}
			for _, i := range tt.items {
				if got := s.Item(i.Item, at).Price; math.Abs(got-i.want) > 1e-15 {
					t.Errorf("%+v costs %.12g, want %.12g", i.Item, got, i.want)
				}
			}
			if w := s.Warnings(); len(w) != tt.suspicious {
				t.Errorf("the sheet warns: %q", w)
			}
			checkGolden(t, tt.file+".golden.yaml", yaml)
		})
	}
}

// checkGolden compares a sheet with a file of testdata, or rewrites that.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", file, diff)
	}
}

// TestUnits finds out for what time prices of OpenCost and Kubecost are.
func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		name, fields string
		unit         imported.Unit
		want         float64 // of a core for an hour
		fails        string
	}{
		{"hourly", `"CPU": "0.031611"`, imported.Unknown, 0.031611, ""},
		{"monthly", `"CPU": "23.07"`, imported.Unknown, 23.07 / 730, ""},
		{"as numbers", `"CPU": 23.07, "RAM": 3.09`, imported.Unknown, 23.07 / 730, ""},
		{"in small letters", `"cpu": "0.03"`, imported.Unknown, 0.03, ""},
		{"another one is like a month's", `"CPU": "200", "RAM": "3.09"`, imported.Unknown, 200.0 / 730, ""},
		{"three times as much", `"CPU": "0.0948"`, imported.Unknown, 0.0948, ""},
		{"more than that", `"CPU": "0.0949"`, imported.Unknown, 0, "CPU of 0.0949 is usual neither for an hour nor for a month: give --hourly or --monthly"},
		{"as the user says", `"CPU": "0.0949"`, imported.Hourly, 0.0949, ""},
		{"as the user says, against what it is like", `"CPU": "0.0949"`, imported.Monthly, 0.0949 / 730, ""},
		{"some of each", `"CPU": "0.03", "RAM": "3.09"`, imported.Unknown, 0, "CPU of 0.03 is usual for an hour, and RAM of 3.09 for a month: give --hourly or --monthly"},
		{"nothing costs anything", `"CPU": "0", "RAM": "0"`, imported.Unknown, 0, ""},
		{"yen", `"CPU": "3.1", "currencyCode": "JPY"`, imported.Unknown, 3.1, ""},
		{"yen a month", `"CPU": "2307", "currencyCode": "JPY"`, imported.Unknown, 2307.0 / 730, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte("{" + tt.fields + "}")
			if tt.fails != "" {
				if _, err := imported.Read(text, imported.Options{Unit: tt.unit}); err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %v, want %q", err, tt.fails)
				}
				return
			}
			s, _, _ := sheet(t, "default.json", text, imported.Options{Unit: tt.unit})
			if got := s.Node(rates.NodeAttributes{}, at).Price[allocation.CPU]; math.Abs(got-tt.want) > 1e-15 {
				t.Errorf("a core costs %v, want %v", got, tt.want)
			}
		})
	}
}

const header = "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n"

// TestFilesInConfigMaps reads files that are the only ones of a ConfigMap, as kubectl writes it.
func TestFilesInConfigMaps(t *testing.T) {
	for name, text := range map[string]string{
		"JSON in JSON": `{"apiVersion": "v1", "data": {"default.json": "{\n  \"CPU\": \"0.05\"\n}"}, "kind": "ConfigMap"}`,
		"CSV in JSON":  `{"data": {"p.csv": ` + fmt.Sprintf("%q", header+",a,,node,metadata.name,,0.2,\n") + `, "README": "of the platform team"}, "kind": "ConfigMap"}`,
		"CSV in YAML":  "kind: ConfigMap\ndata:\n  p.csv: |\n    " + header + "    ,a,,node,metadata.name,,0.2,\n",
		"in a list":    "items:\n- kind: ConfigMap\n  data: {CPU: '0.05'}\nkind: List\n",
	} {
		s, _, yaml := sheet(t, "configmap", []byte(text), imported.Options{})
		n := rates.NodeAttributes{Name: "a", Size: size{4, 0, 0}}
		if strings.HasPrefix(name, "CSV") {
			n.Size[allocation.RAM] = 16
		}
		if got := hourly(s, n); math.Abs(got-0.2) > 1e-12 {
			t.Errorf("%s: it costs %v by\n%s", name, got, yaml)
		}
	}
}

// TestDiscounts reads discounts in percent, one after the other.
func TestDiscounts(t *testing.T) {
	for fields, want := range map[string]struct {
		discount float64
		warnings int
	}{
		`"discount": "30%"`: {0.3, 0},
		`"discount": "30"`:  {0.3, 0},
		`"discount": "30%", "negotiatedDiscount": " 10 % "`: {0.37, 0},
		`"negotiatedDiscount": "100%"`:                      {1, 0},
		`"discount": "0.3"`:                                 {0.003, 1},
		`"discount": "0.5%"`:                                {0.005, 0},
	} {
		s, prices, _ := sheet(t, "default.json", []byte(`{"CPU": "0.03", `+fields+`}`), imported.Options{})
		if got := s.Node(rates.NodeAttributes{}, at).Discount; math.Abs(got-want.discount) > 1e-12 || len(prices.Warnings()) != want.warnings {
			t.Errorf("%s: discount %v, warnings %q", fields, got, prices.Warnings())
		}
	}
}

// TestMonthlyForHourly compares prices of machines with what AWS lists: an m5.large costs 0.096 an hour.
func TestMonthlyForHourly(t *testing.T) {
	row := func(price string) []byte { return []byte(header + ",,us-east-1,node,,m5.large," + price + ",\n") }
	_, err := imported.Read(row("70.08"), imported.Options{})
	for _, want := range []string{"line 2", "m5.large", "70.08", "730 times", "0.096", "--monthly"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s, _, _ := sheet(t, "p.csv", row("70.08"), imported.Options{Unit: imported.Monthly})
	if got := hourly(s, rates.NodeAttributes{Region: "us-east-1", InstanceType: "m5.large", Size: size{2, 8, 0}}); math.Abs(got-0.096) > 1e-12 || len(s.Warnings()) > 0 {
		t.Errorf("it costs %v, with warnings %q", got, s.Warnings())
	}
	for name, tt := range map[string]struct {
		price string
		o     imported.Options
		want  string
	}{
		"monthly, which the user calls hourly": {"70.08", imported.Options{Unit: imported.Hourly}, "730 times"},
		"hourly, which the user calls monthly": {"0.096", imported.Options{Unit: imported.Monthly}, "a 730th"},
		"dear":                                 {"0.9", imported.Options{}, ""},
		"in another currency":                  {"70.08", imported.Options{Currency: "JPY"}, ""},
		"free":                                 {"0", imported.Options{}, ""},
	} {
		s, _, _ := sheet(t, "p.csv", row(tt.price), tt.o)
		if w := strings.Join(s.Warnings(), "\n"); (w != "") != (tt.want != "") || !strings.Contains(w, tt.want) {
			t.Errorf("%s: warnings %q, want %q", name, w, tt.want)
		}
	}
}

// TestNoCredentials checks that no value of a setting that is no price gets into the sheet, or into an error.
func TestNoCredentials(t *testing.T) {
	const secret = "AKIA-SECRET-0123"
	for _, field := range []string{"awsServiceKeyName", "awsServiceKeySecret", "azureClientSecret", "kubecostToken", "projectID", "masterPayerARN", "x", "description", "gpuLabel", "sharedNamespaces"} {
		text := fmt.Sprintf(`{"CPU": "0.03", %q: %q}`, field, secret)
		_, prices, yaml := sheet(t, "default.json", []byte(text), imported.Options{})
		if strings.Contains(string(yaml)+strings.Join(prices.Warnings(), ""), secret) {
			t.Errorf("%s: %s", field, yaml)
		}
		for _, bad := range []string{strings.Replace(text, "0.03", "-1", 1), text[:len(text)-1], text + "}", strings.Replace(text, "{", "{{", 1)} {
			if _, err := imported.Read([]byte(bad), imported.Options{}); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
}
