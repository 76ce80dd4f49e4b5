package pricing_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
)

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
	m5 := allocation.NodeAttributes{Provider: "AWS", Region: "eu-central-1", InstanceType: "m5.large"}
	spot := m5
	spot.Spot = true
	elsewhere := m5
	elsewhere.Region = "us-east-1"
	rates := func(cpu, ram, gpu float64, source string, def bool) allocation.NodeRates {
		return allocation.NodeRates{Price: [allocation.NumResources]float64{cpu, ram, gpu}, Source: source, Default: def}
	}
	for _, tc := range []struct {
		name string
		node allocation.NodeAttributes
		want allocation.NodeRates
	}{
		{"first match wins", spot, rates(0.0101, 0.00135, 0.4, "example.yaml:11", false)},
		{"rule without spot takes the rest", m5, rates(0.0288, 0.00385, 0.9, "example.yaml:17", false)},
		{"no rule", elsewhere, rates(0.03, 0.004, 0.9, "example.yaml", true)},
		{"no rule, spot", allocation.NodeAttributes{Spot: true}, rates(0.007, 0.001, 0.4, "example.yaml", true)},
		{"prices missing in the rule", allocation.NodeAttributes{InstanceType: "g4dn.xlarge"}, rates(0.03, 0.004, 0.526, "example.yaml:22", false)},
		{"a type is not a prefix", allocation.NodeAttributes{InstanceType: "g4dn.xlarge2"}, rates(0.03, 0.004, 0.9, "example.yaml", true)},
		{"raw label", allocation.NodeAttributes{Labels: map[string]string{"example.com/rack": "r7"}}, rates(0.011, 0.0015, 0.9, "example.yaml:24", false)},
		{"sanitized label", allocation.NodeAttributes{Labels: map[string]string{"example_com_rack": "r7"}}, rates(0.011, 0.0015, 0.9, "example.yaml:24", false)},
		{"other value of the label", allocation.NodeAttributes{Labels: map[string]string{"example.com/rack": "r8"}}, rates(0.03, 0.004, 0.9, "example.yaml", true)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, example(t).Node(tc.node)); diff != "" {
				t.Error(diff)
			}
		})
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
		got := pricing.Default().Node(allocation.NodeAttributes{Spot: tc.spot})
		if got.Price != tc.want || !got.Default || got.Source != "built-in defaults" {
			t.Errorf("spot %v: got %+v, want %v", tc.spot, got, tc.want)
		}
	}
	if got := pricing.Default().StoragePerGiBHour(); got != 0.00005479452 {
		t.Errorf("storage: got %v", got)
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
		{"general after special", "nodes:\n- {provider: aws, spot: true, cpuPerCoreHour: 1}\n- {provider: aws, cpuPerCoreHour: 2}", 0.031611},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := pricing.Parse("p.yaml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Node(allocation.NodeAttributes{}).Price[allocation.CPU]; got != tc.cpu {
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
		{"two documents", "defaults: {cpuPerCoreHour: 1}\n---\nnodes: []", []string{"p.yaml", "line", "one document"}},
		{"a list", "- a", []string{"line 1", "a list", "defaults, nodes"}},
		{"unknown key", "default: {}", []string{"p.yaml", "line 1", `"default"`, "use defaults, nodes"}},
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
		{"spot is no bool", "nodes:\n- {spot: maybe, cpuPerCoreHour: 1}", []string{"spot", `"maybe"`, "true or false"}},
		{"empty attribute", "nodes:\n- {region: '', cpuPerCoreHour: 1}", []string{"region is empty", "leave the key out"}},
		{"labels not a mapping", "nodes:\n- {labels: a, cpuPerCoreHour: 1}", []string{"labels", "want keys with values"}},
		{"label repeated", "nodes:\n- {labels: {a: b, a: c}, cpuPerCoreHour: 1}", []string{`"a"`, "twice"}},
		{"label without text", "nodes:\n- {labels: {a: [b]}, cpuPerCoreHour: 1}", []string{`label "a"`, "a list"}},
		{"duplicate rule", "nodes:\n- {region: r, cpuPerCoreHour: 1}\n- {region: r, cpuPerCoreHour: 2}", []string{"line 3", "nodes[1]", "line 2", "remove"}},
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

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("nodes:\n- &a {region: r, labels: {x: y}, cpuPerCoreHour: 1}\n- *a")
	f.Add("defaults: &d\n  cpuPerCoreHour: 1\nnodes: [*d]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := pricing.Parse("p.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, spot := range []bool{false, true} {
			for r, v := range s.Node(allocation.NodeAttributes{Spot: spot, Region: "r"}).Price {
				if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("price of %s is %v", allocation.Resource(r), v)
				}
			}
		}
	})
}
