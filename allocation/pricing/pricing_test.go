package pricing_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// at is a time at which all rules without validity hold.
var at = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func example(t *testing.T) *pricing.Sheet {
	t.Helper()
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := pricing.Parse("example.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNode(t *testing.T) {
	m5 := rates.NodeAttributes{Provider: "AWS", Region: "eu-central-1", InstanceType: "m5.large"}
	spot := m5
	spot.Spot = true
	elsewhere := m5
	elsewhere.Region = "us-east-1"
	nodeRates := func(cpu, ram, gpu float64, source string, def bool) rates.NodeRates {
		return rates.NodeRates{Price: [allocation.NumResources]float64{cpu, ram, gpu}, Source: source, Default: def, Ruled: strings.HasPrefix(source, "example.yaml:")}
	}
	for _, tc := range []struct {
		name string
		node rates.NodeAttributes
		want rates.NodeRates
	}{
		{"first match wins", spot, nodeRates(0.0101, 0.00135, 0.4, "example.yaml:11", false)},
		{"rule without spot takes the rest", m5, nodeRates(0.0288, 0.00385, 0.9, "example.yaml:17", false)},
		{"no rule", elsewhere, nodeRates(0.03, 0.004, 0.9, "example.yaml", false)},
		{"no rule, spot", rates.NodeAttributes{Spot: true}, nodeRates(0.007, 0.001, 0.4, "example.yaml", false)},
		{"prices missing in the rule", rates.NodeAttributes{InstanceType: "g4dn.xlarge"}, nodeRates(0.03, 0.004, 0.526, "example.yaml, example.yaml:22", false)},
		{"a type is not a prefix", rates.NodeAttributes{InstanceType: "g4dn.xlarge2"}, nodeRates(0.03, 0.004, 0.9, "example.yaml", false)},
		{"raw label", rates.NodeAttributes{Labels: map[string]string{"example.com/rack": "r7"}}, nodeRates(0.011, 0.0015, 0.9, "example.yaml:24", false)},
		{"sanitized label", rates.NodeAttributes{Labels: map[string]string{"example_com_rack": "r7"}}, nodeRates(0.011, 0.0015, 0.9, "example.yaml:24", false)},
		{"other value of the label", rates.NodeAttributes{Labels: map[string]string{"example.com/rack": "r8"}}, nodeRates(0.03, 0.004, 0.9, "example.yaml", false)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := example(t).Node(tc.node, at)
			got.Sources = tc.want.Sources // see TestSources
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSources checks that each resource's price says where it comes from, also that of GPUs which the sheet leaves out.
func TestSources(t *testing.T) {
	s, err := pricing.Parse("p.yaml", []byte("defaults: {ramPerGiBHour: 0.004}\nnodes:\n- {instanceType: a, cpuPerCoreHour: 0.03}\n- {instanceType: g, cpuPerCoreHour: 0.03, gpuPerDeviceHour: 0.5}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for instanceType, want := range map[string][allocation.NumResources]string{
		"a": {"p.yaml:3", "p.yaml", rates.BuiltInPrices},
		"g": {"p.yaml:4", "p.yaml", "p.yaml:4"},
		"x": {rates.BuiltInPrices, "p.yaml", rates.BuiltInPrices},
	} {
		if got := s.Node(rates.NodeAttributes{InstanceType: instanceType}, at).Sources; got != want {
			t.Errorf("%s: got %v, want %v", instanceType, got, want)
		}
	}
}

func TestDefaultIsThatOfTheSemantics(t *testing.T) {
	for _, tc := range []struct {
		spot bool
		want [allocation.NumResources]float64
	}{
		{false, [allocation.NumResources]float64{0.031611, 0.004237, 0.95}},
		{true, [allocation.NumResources]float64{0.006655, 0.000892, 0.95}},
	} {
		got := pricing.Default().Node(rates.NodeAttributes{Spot: tc.spot}, at)
		if got.Price != tc.want || !got.Default || got.Source != "built-in defaults" {
			t.Errorf("spot %v: got %+v, want %v", tc.spot, got, tc.want)
		}
	}
	for kind, want := range [rates.NumItemKinds]float64{
		rates.ItemStorage: 0.00005479452, rates.ItemLoadBalancer: .025, rates.ItemEgressZone: .01, rates.ItemEgressRegion: .01, rates.ItemEgressInternet: .12,
	} {
		item := rates.Item{Kind: rates.ItemKind(kind)}
		if got := pricing.Default().Item(item, at); got != (rates.Rate{Price: want, Source: "built-in defaults", Default: true}) {
			t.Errorf("item %d: got %+v, want %v", kind, got, want)
		}
	}
}

func TestParseGood(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		cpu        float64
	}{
		{"empty", "", 0.031611},
		{"comment", "# nothing\n", 0.031611},
		{"one default", "defaults: {cpuPerCoreHour: 2}", 2},
		{"zero price", "defaults: {cpuPerCoreHour: 0}", 0},
		{"alias", "defaults: &d {cpuPerCoreHour: 3}\nnodes: []\n", 3},
		{"consecutive times", "nodes:\n- {to: 2026-02-01, cpuPerCoreHour: 1}\n- {from: 2026-02-01, cpuPerCoreHour: 2}", 2},
		{"second rule has another price", "nodes:\n- {region: '*', to: 2027-01-01, ramPerGiBHour: 1}\n- {to: 2026-12-31, cpuPerCoreHour: 2}", 2},
		{"general after special", "nodes:\n- {provider: aws, spot: true, cpuPerCoreHour: 1}\n- {provider: aws, cpuPerCoreHour: 2}", 0.031611},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := pricing.Parse("p.yaml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Node(rates.NodeAttributes{}, at).Price[allocation.CPU]; got != tc.cpu {
				t.Errorf("cpu: got %v, want %v", got, tc.cpu)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"not YAML", "defaults: {", []string{"p.yaml", "line 1", "give YAML"}},
		{"price of something that is not measured", "defaults: {natEgressPerGiB: 0.045}", []string{"line 1", `"natEgressPerGiB"`, "egressInternetPerGiB"}},
		{"key unlike any other", "pods: {}", []string{"line 1", `"pods"`, "use currency, asOf", "defaults, nodes, storage"}},
		{"two documents", "defaults: {cpuPerCoreHour: 1}\n---\nnodes: []", []string{"p.yaml", "line", "one document"}},
		{"a list", "- a", []string{"line 1", "a list", "defaults, nodes"}},
		{"unknown key", "default: {}", []string{"p.yaml", "line 1", `"default"`, "did you mean defaults?"}},
		{"unknown price", "defaults:\n  cpu: 1", []string{"line 2", `"cpu"`, "in defaults", "cpuPerCoreHour"}},
		{"unknown in a rule", "nodes:\n- {provider: aws, storagePerGiBHour: 1}", []string{"line 2", "nodes[0]", `"storagePerGiBHour"`}},
		{"negative", "defaults:\n  ramPerGiBHour: -0.5", []string{"line 2", "ramPerGiBHour", "negative (-0.5)", "0 or more"}},
		{"minus zero", "defaults: {ramPerGiBHour: -0.0}", []string{"negative"}},
		{"NaN", "defaults: {ramPerGiBHour: .nan}", []string{"line 1", "ramPerGiBHour", "finite"}},
		{"infinite", "defaults: {ramPerGiBHour: .inf}", []string{"finite"}},
		{"too large", "defaults: {ramPerGiBHour: 1e999}", []string{"ramPerGiBHour", "number"}},
		{"text as price", "defaults: {cpuPerCoreHour: cheap}", []string{`"cheap"`, "want a number"}},
		{"empty price", "defaults:\n  cpuPerCoreHour:", []string{"line 2", "is empty"}},
		{"repeated key", "defaults: {cpuPerCoreHour: 1}\ndefaults: {}", []string{"line 2", `"defaults"`, "twice", "line 1"}},
		{"repeated price", "defaults:\n  cpuPerCoreHour: 1\n  cpuPerCoreHour: 2", []string{"line 3", "twice"}},
		{"rules not a list", "nodes: {a: b}", []string{"a mapping", "list of rules"}},
		{"rule that matches all", "nodes:\n- cpuPerCoreHour: 1", []string{"line 2", "nodes[0]", "every node", "defaults"}},
		{"rule that matches all by *", "nodes:\n- {region: '*', cpuPerCoreHour: 1}", []string{"every node"}},
		{"rule without price", "nodes:\n- provider: aws", []string{"no price", "cpuPerCoreHour"}},
		{"spot is not a boolean", "nodes:\n- {spot: maybe, cpuPerCoreHour: 1}", []string{"spot", `"maybe"`, "true or false"}},
		{"empty attribute", "nodes:\n- {region: '', cpuPerCoreHour: 1}", []string{"region is empty", "leave the key out"}},
		{"labels not a mapping", "nodes:\n- {labels: a, cpuPerCoreHour: 1}", []string{"labels", "want keys with values"}},
		{"label repeated", "nodes:\n- {labels: {a: b, a: c}, cpuPerCoreHour: 1}", []string{`"a"`, "twice"}},
		{"label without text", "nodes:\n- {labels: {a: [b]}, cpuPerCoreHour: 1}", []string{`label "a"`, "a list"}},
		{"duplicate rule", "nodes:\n- {region: r, cpuPerCoreHour: 1}\n- {region: r, cpuPerCoreHour: 2}", []string{"line 3", "nodes[1]", "line 2", "remove"}},
		{"rule of another list", "storage:\n- {instanceType: a, storagePerGiBHour: 1}", []string{"line 2", "storage[0]", `"instanceType"`, "use provider"}},
		{"rule for every volume", "storage: [{storagePerGiBHour: 1}]", []string{"storage[0]", "every volume", "defaults"}},
		{"hour and month", "defaults:\n  storagePerGiBHour: 1\n  storagePerGiBMonth: 1", []string{"line 3", "storagePerGiBMonth", "already", "keep one"}},
		{"absurd", "defaults: {cpuPerCoreHour: 1e10}", []string{"line 1", "cpuPerCoreHour", "1e+09"}},
		{"discount in percent", "discount: 15", []string{"discount is 15", "0.15"}},
		{"negative discount", "discount: -0.1", []string{"negative"}},
		{"multiplier of 0", "multiplier: 0", []string{"multiplier is 0", "above 0"}},
		{"multiplier in a rule", "nodes: [{region: r, cpuPerCoreHour: 1, multiplier: 5000}]", []string{"multiplier is 5000", "at most 1000"}},
		{"gpuExtra without a price", "nodes: [{region: r, cpuPerCoreHour: 1, gpuExtra: true}]", []string{"line 1", "gpuExtra", "gpuPerDeviceHour"}},
		{"gpuExtra of a number", "nodes: [{region: r, gpuPerDeviceHour: 1, gpuExtra: 2}]", []string{"line 1", `gpuExtra is "2"`, "true or false"}},
		{"providerID of many", "nodes: [{providerID: aws:///eu-central-1a/*, nodePerHour: 1}]", []string{"line 1", "providerID", "names no machine"}},
		{"providerID of none", "nodes: [{providerID: aws:///, nodePerHour: 1}]", []string{"line 1", "providerID", "names no machine"}},
		{"providerID of a part", "nodes:\n- {providerID: i-1, nodePerHour: 1}\n- {providerID: aws:///z/i-1, nodePerHour: 1}", []string{"line 3", "never win", "line 2"}},
		{"billedBy of nodes", "nodes: [{region: r, cpuPerCoreHour: 1, billedBy: nodes}]", []string{`billedBy is "nodes", want pods`, "line 1"}},
		{"spotLabels without any", "spotLabels: {}", []string{"spotLabels is empty", "line 1"}},
		{"spotLabels of a list", "spotLabels: [spot]", []string{"spotLabels is a list"}},
		{"spotLabels without a value", "spotLabels: {pool: }", []string{`label "pool" of spotLabels is empty`}},
		{"spotLabels of a mapping", "spotLabels: {pool: [{a: b}]}", []string{`label "pool" of spotLabels is a mapping`}},
		{"billedBy of volumes", "storage: [{region: r, storagePerGiBHour: 1, billedBy: pods}]", []string{`"billedBy"`, "storage[0]"}},
		{"discount of volumes", "storage: [{region: r, storagePerGiBHour: 1, discount: 0.1}]", []string{`"discount"`, "storage[0]"}},
		{"currency", "currency: dollars", []string{`"dollars"`, "USD"}},
		{"date", "asOf: yesterday", []string{"asOf", `"yesterday"`, "2026-01-31"}},
		{"time", "nodes: [{from: 2026-01-01 10:00, cpuPerCoreHour: 1}]", []string{"from", "2026-01-31T00:00:00+01:00"}},
		{"ends before it begins", "nodes:\n- {from: 2026-02-01, to: 2026-01-01, cpuPerCoreHour: 1}", []string{"line 2", "nodes[0]", "to must be after from"}},
		{"shadowed within its time", "nodes:\n- {from: 2026-01-01, region: r, cpuPerCoreHour: 1}\n- {from: 2026-02-01, region: r, cpuPerCoreHour: 1}", []string{"line 3", "never win", "line 2"}},
		{"unknown custom price", "custom: {cpu: 1}", []string{"custom", `"cpu"`, "egressPerGiB"}},
		{"near miss", "nodes: [{region: r, cpuPerCoreHours: 1}]", []string{`"cpuPerCoreHours"`, "did you mean cpuPerCoreHour?"}},
		{"shadowed rule", "nodes:\n- {instanceType: m5.*, cpuPerCoreHour: 1}\n- {instanceType: m5.large, spot: true, cpuPerCoreHour: 2}", []string{"line 3", "never win"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := pricing.Parse("p.yaml", []byte(tc.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestParseCSVErrors(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"unknown column", "region,cpu\n", []string{"p.csv", "line 1", `unknown column "cpu"`, "cpuPerCoreHour", "label:KEY"}},
		{"near miss", "regoin\n", []string{"did you mean region?"}},
		{"column twice", "region,region\n", []string{`"region"`, "twice"}},
		{"label without a key", "label:\n", []string{`"label:"`}},
		{"semicolons", "region;cpuPerCoreHour\nr;0,03", []string{"line 1", "semicolons", "commas"}},
		{"ragged", "region,cpuPerCoreHour\nr", []string{"line 2", "as many cells"}},
		{"quotes", "region,cpuPerCoreHour\n\"r,1", []string{"line 2", "quote"}},
		{"no price", "region,cpuPerCoreHour\n# a comment\nr,\n", []string{"line 3", "no price"}},
		{"text as price", "region,cpuPerCoreHour\nr,cheap", []string{"line 2", "cpuPerCoreHour", `"cheap"`}},
		{"negative", "region,cpuPerCoreHour\nr,-1", []string{"line 2", "negative (-1)"}},
		{"NaN", "region,cpuPerCoreHour\nr,NaN", []string{"finite"}},
		{"duplicate", "region,cpuPerCoreHour\nr,1\nr,2", []string{"line 3", "never win", "line 2"}},
		{"defaults twice", "region,cpuPerCoreHour\n,1\n,2", []string{"line 3", "everything", "keep one"}},
		{"attribute without effect", "instanceType,storagePerGiBMonth\na,0.1", []string{"line 2", "instanceType", "storage"}},
		{"spot without effect", "spot,egressZonePerGiB\ntrue,0.1", []string{"spot", "network"}},
		{"label without effect", "label:a,managementPerHour\nb,0.1", []string{"label:a", "management"}},
		{"gpuExtra without effect", "gpuExtra,region,storagePerGiBHour\ntrue,r,1", []string{"gpuExtra", "storage"}},
		{"discount without effect", "discount,region,storagePerGiBHour\n0.1,r,1", []string{"discount", "storage"}},
		{"spot price in a rule", "region,spotCPUPerCoreHour\nr,0.1", []string{"spotCPUPerCoreHour", "true into spot"}},
		{"two currencies", "region,currency,cpuPerCoreHour\nr,USD,1\ns,EUR,1", []string{"line 3", "EUR", "USD", "has one"}},
		{"spot", "spot,cpuPerCoreHour\nmaybe,1", []string{`"maybe"`, "true or false"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := pricing.Parse("p.csv", []byte(tt.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

// checkPrices reports prices that nothing can be computed with.
func checkPrices(t *testing.T, s *pricing.Sheet) {
	t.Helper()
	var all []float64
	for _, spot := range []bool{false, true} {
		rates := s.Node(rates.NodeAttributes{Spot: spot, Region: "r"}, at)
		all = append(append(all, rates.Price[:]...), rates.Discount)
	}
	for kind := range rates.NumItemKinds {
		all = append(all, s.Item(rates.Item{Kind: kind, Region: "r"}, at).Price)
	}
	for _, v := range all {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("a price is %v", v)
		}
	}
	s.Changes(at.Add(-time.Hour), at)
	s.Warnings()
}

func FuzzParseCSV(f *testing.F) {
	data, err := os.ReadFile("testdata/full.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("region,label:a,cpuPerCoreHour,storagePerGiBMonth\nr,b,1,2\n,,3,4\n")
	f.Add("\ufeffspot,from,to,cpuPerCoreMonth\nTRUE,2026-01-01,2027-01-01T00:00:00Z,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := pricing.Parse("p.csv", []byte(text)); err == nil {
			checkPrices(t, s)
		}
	})
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(full))
	f.Add("nodes:\n- &a {region: r, labels: {x: y}, cpuPerCoreHour: 1}\n- *a")
	f.Add("defaults: &d\n  cpuPerCoreHour: 1\nnodes: [*d]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := pricing.Parse("p.yaml", []byte(text))
		if err != nil {
			return
		}
		checkPrices(t, s)
	})
}

// TestNodeNeeds checks which attributes rules ask for that a node does not have.
func TestNodeNeeds(t *testing.T) {
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		sheet string
		known rates.NodeAttributes
		want  rates.NodeNeeds
	}{
		"no rules":              {sheet: "defaults: {cpuPerCoreHour: 1}"},
		"provider and cluster":  {sheet: "nodes: [{provider: aws, cluster: c, cpuPerCoreHour: 1}]"},
		"texts":                 {sheet: "nodes: [{instanceType: m5.*, region: r, zone: z, gpuModel: A100, cpuPerCoreHour: 1}]", want: rates.NodeNeeds{InstanceType: true, Region: true, Zone: true, GPUModel: true}},
		"texts that are known":  {sheet: "nodes: [{instanceType: m5.*, region: r, cpuPerCoreHour: 1}]", known: rates.NodeAttributes{InstanceType: "x", Region: "y"}},
		"spot":                  {sheet: "nodes: [{spot: true, cpuPerCoreHour: 1}]", want: rates.NodeNeeds{Spot: true}},
		"spot that is known":    {sheet: "nodes: [{spot: true, cpuPerCoreHour: 1}]", known: rates.NodeAttributes{Spot: true}},
		"on demand":             {sheet: "nodes: [{spot: false, cpuPerCoreHour: 1}]"},
		"labels":                {sheet: "nodes: [{labels: {b: x, a.b/C: y}, cpuPerCoreHour: 1}, {labels: {b: z}, cpuPerCoreHour: 2}]", want: rates.NodeNeeds{Labels: []string{"a.b/C", "b"}}},
		"labels that are known": {sheet: "nodes: [{labels: {b: x, a.b/C: y}, cpuPerCoreHour: 1}]", known: rates.NodeAttributes{Labels: map[string]string{"a_b_c": "n"}}, want: rates.NodeNeeds{Labels: []string{"b"}}},
		"of another provider":   {sheet: "nodes: [{provider: aws, zone: z, cpuPerCoreHour: 1}]", known: rates.NodeAttributes{Provider: "gcp"}},
		"of a provider":         {sheet: "nodes: [{provider: AWS, zone: z, cpuPerCoreHour: 1}]", known: rates.NodeAttributes{Provider: "aws"}, want: rates.NodeNeeds{Zone: true}},
		"of another cluster":    {sheet: "nodes: [{cluster: 'prod-*', zone: z, cpuPerCoreHour: 1}]", known: rates.NodeAttributes{Cluster: "test-1"}},
		"rules that have ended": {sheet: "nodes: [{zone: z, to: 2026-03-01, cpuPerCoreHour: 1}]"},
	} {
		t.Run(name, func(t *testing.T) {
			sheet, err := pricing.Parse("p.yaml", []byte(tt.sheet))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, sheet.NodeNeeds(tt.known, at)); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSpotLabels checks which nodes are spot nodes by the labels that a sheet names.
func TestSpotLabels(t *testing.T) {
	sheet, err := pricing.Parse("p.yaml", []byte("spotLabels: {example.com/pool-Kind: [spot, preemptible], cheap: true}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		label, value string
		want         bool
	}{
		{"example_com_pool_Kind", "spot", true},
		{"example_com_pool_kind", "Preemptible", true},
		{"example_com_pool_kind", "regular", false},
		{"cheap", "true", true},
		{"cheap", "spot", false},
		{"pool", "spot", false},
	} {
		if got := sheet.IsSpot(map[string]string{tt.label: tt.value}); got != tt.want {
			t.Errorf("%s=%s: %t, want %t", tt.label, tt.value, got, tt.want)
		}
	}
}

// TestBilledByPods checks that any rule that matches a node says that it is billed by its pods, wherever its prices are from.
func TestBilledByPods(t *testing.T) {
	const priced, billed = "{region: r, cpuPerCoreHour: 1, ramPerGiBHour: 1, gpuPerDeviceHour: 1}", "{labels: {a: b}, billedBy: pods, cpuPerCoreHour: 2}"
	for _, rules := range []string{priced + ", " + billed, billed + ", " + priced} {
		sheet, err := pricing.Parse("p.yaml", []byte("nodes: ["+rules+"]"))
		if err != nil {
			t.Fatal(err)
		}
		for labels, want := range map[string]bool{"a": true, "c": false} {
			if got := sheet.Node(rates.NodeAttributes{Region: "r", Labels: map[string]string{labels: "b"}}, time.Time{}).ByPods; got != want {
				t.Errorf("%s: %s=b is billed by its pods: %t", rules, labels, got)
			}
		}
	}
}

// TestLabelSpellings prices by labels as kube-state-metrics exports them, names that collide among them.
func TestLabelSpellings(t *testing.T) {
	sheet, err := pricing.Parse("p.yaml", []byte("nodes: [{labels: {example.com/nodePool: batch}, cpuPerCoreHour: 1}, {labels: {Tier: a}, cpuPerCoreHour: 2}, {labels: {tier: b}, cpuPerCoreHour: 3}]\ndefaults: {cpuPerCoreHour: 4}"))
	if err != nil {
		t.Fatal(err)
	}
	for labels, want := range map[[4]string]float64{
		{"example_com_node_pool", "batch"}:                1,
		{"example_com_nodePool", "batch"}:                 1,
		{"tier", "a"}:                                     2,
		{"tier_conflict1", "a", "tier_conflict2", "x"}:    2,
		{"tier_conflict1", "b", "tier_conflict2", "a"}:    4,
		{"tier_conflict1", "x", "tier_conflict2", "b"}:    3,
		{"example_com_node_pool", "other", "team", "any"}: 4,
	} {
		rates := sheet.Node(rates.NodeAttributes{Labels: map[string]string{labels[0]: labels[1], labels[2]: labels[3]}}, time.Time{})
		if got := rates.Price[allocation.CPU]; got != want {
			t.Errorf("%q cost %v, want %v", labels, got, want)
		}
	}
}
