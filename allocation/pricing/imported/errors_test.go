package imported_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/pricing/imported"
)

// TestBadFiles reads files with a mistake each.
func TestBadFiles(t *testing.T) {
	configMap := func(data string) string { return "apiVersion: v1\nkind: ConfigMap\ndata:" + data }
	row := func(text string) string { return header + text + "\n" }
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"no known format", "default.json", "initial-prices.json"}},
		{"something else", "a: b", []string{"no known format"}},
		{"a sheet", "defaults: {cpuPerCoreHour: 1}", []string{"no known format"}},
		{"bytes", "\xff\xfe{\x00", []string{"UTF-8"}},
		{"too long", "{" + strings.Repeat(" ", imported.MaxSize), []string{"more than 16 MiB"}},

		{"default.json that is cut", "{\n\"CPU\": \"0.03\",\n\"RAM\": \"0.0", []string{"line ", "cut off"}},
		{"default.json with no number", "{\n\"CPU\": \"cheap\"}", []string{"line 2", "CPU", `"cheap" is no number`}},
		{"default.json with a negative price", "{\n\n\"GPU\": \"-0.9\"}", []string{"line 3", "GPU", "-0.9 is negative"}},
		{"default.json with minus zero", "{\"GPU\": \"-0\"}", []string{"negative"}},
		{"default.json with NaN", "{\"CPU\": \"NaN\"}", []string{"line 1", "no number"}},
		{"default.json that is too dear", "{\"internetNetworkEgress\": \"1e10\"}", []string{"line 1", "internetNetworkEgress", "too large"}},
		{"default.json with a list", "{\"CPU\": [1]}", []string{"line 1", "CPU has more than one value"}},
		{"default.json with a key twice", "{\"CPU\": \"0.03\",\n\"CPU\": \"0.04\"}", []string{"line 2", `"CPU" is there twice`}},
		{"default.json without a price", `{"CPU": "", "discount": "30%"}`, []string{"line 1", "no price", "CPU, RAM"}},
		{"default.json in euros, with a sign", `{"CPU": "€0.03"}`, []string{"not in dollars", "--currency"}},
		{"default.json in no currency", `{"CPU": "0.03", "currencyCode": "euro"}`, []string{"currencyCode", `"euro"`, "USD"}},
		{"a discount of more than all", `{"CPU": "0.03", "discount": "130%"}`, []string{"line 1", "discount", "more than 100%"}},
		{"no discount", `{"CPU": "0.03", "negotiatedDiscount": "some"}`, []string{"line 1", "negotiatedDiscount", `"some" is no number`}},

		{"ConfigMap without data", "kind: ConfigMap\nmetadata: {name: x}", []string{"line 1", "has no data"}},
		{"ConfigMap that is cut", configMap("\n  CPU: \"0.03"), []string{"line ", "cut off"}},
		{"ConfigMap with a bad price", configMap("\n  CPU: \"x\""), []string{"line 4", "CPU", "no number"}},
		{"ConfigMap of something else", configMap("\n  prometheus.yml: \"a: b\""), []string{"line 4", "no price"}},
		{"ConfigMap with two files", configMap("\n  a.json: '{\"CPU\": \"0.03\"}'\n  b.json: '{\"CPU\": \"0.03\"}'"), []string{"line 5", "a.json", "b.json"}},
		{"ConfigMap with a bad file", configMap("\n  default.json: |\n    {\n    \"CPU\": \"-1\"\n    }"), []string{"default.json", "line 4", "line 2", "negative"}},
		{"two documents", configMap(" {CPU: '0.03'}\n---\na: b"), []string{"more than one document"}},
		{"a reference", "kind: ConfigMap\nx: &x {CPU: '0.03'}\ndata: *x", []string{"line 3", "without references"}},

		{"ConfigMaps", "kind: List\nitems:\n- kind: ConfigMap\n  data: {CPU: '0.03'}\n- kind: ConfigMap", []string{"line 3", "list of 2 objects", "by its name"}},
		{"a list of ConfigMaps with a bad one", "items:\n- kind: ConfigMap\n  data: {CPU: '-1'}\n", []string{"line 3", "CPU", "negative"}},
		{"CSV with semicolons", strings.ReplaceAll(header, ",", ";"), []string{"commas"}},
		{"CSV without a column", "InstanceID,AssetClass,InstanceIDField\n", []string{"line 1", "lacks MarketPriceHourly"}},
		{"CSV without rows", header, []string{"no price"}},
		{"CSV that is cut", row(",a,,node,metadata.name,,0.1,") + ",b,,no", []string{"line 3", "4 cells", "cut off"}},
		{"CSV that is cut in quotes", row(",a,,node,metadata.name,,\"0.1"), []string{"line ", "cut off"}},
		{"CSV with a negative price", row(",a,,node,metadata.name,,-0.1,"), []string{"line 2", "MarketPriceHourly", "negative"}},
		{"CSV without a price", row(",a,,node,metadata.name,,,"), []string{"line 2", "there is none"}},
		{"CSV with a sign alone", row(",a,,node,metadata.name,,$,"), []string{"line 2", "there is none"}},
		{"CSV in pounds", row(",a,,node,metadata.name,,£0.1,"), []string{"line 2", "not in dollars", "--currency"}},
		{"CSV of another class", row(",a,,cluster,metadata.name,,1,"), []string{"line 2", `AssetClass is "cluster"`, "node, gpu or pv"}},
		{"CSV without a node", row(",,eu,node,metadata.name,,1,"), []string{"line 2", "neither InstanceID nor InstanceType"}},
		{"CSV without a label", row(",a,,gpu,,,1,"), []string{"line 2", "InstanceIDField is empty"}},
		{"CSV without a label's value", row(",,,gpu,nvidia.com/gpu_type,,1,"), []string{"line 2", "InstanceID is", "nvidia.com/gpu_type"}},
		{"CSV with a type that ends in *", row(",,,node,,m5.*,1,"), []string{"line 2", "InstanceType ends in *"}},
		{"CSV with a long name", row("," + strings.Repeat("a", 2000) + ",,node,metadata.name,,1,"), []string{"line 2", "more than 1000 bytes"}},
		{"CSV with an id of no machine", row(",aws:///,,node,spec.providerID,,1,"), []string{"line 2", "InstanceID is empty"}},

		{"Karpenter's, cut", "{\"prices\":{\"europe-west1\":{\"on_demand\":{\"a\":0.1", []string{"line ", "cut off"}},
		{"Karpenter's, negative", "{\"europe-west1\":{\n\"n2-standard-4\":-0.1}}", []string{"line 2", "europe-west1.n2-standard-4", "negative"}},
		{"Karpenter's, no number", `{"spot":{"europe-west1":{"a":"?"}}}`, []string{"spot.europe-west1.a", "no number"}},
		{"Karpenter's, null", `{"spot":{"europe-west1":{"a":null}}}`, []string{"spot.europe-west1.a", "no number"}},
		{"Karpenter's, too deep", `{"spot":{"europe-west1":{"a":{"b":1}}}}`, []string{"spot.europe-west1.a.b", "want a price by region"}},
		{"Karpenter's, without types", `{"spot":0.1}`, []string{"line 1, spot", "the region is empty"}},
		{"Karpenter's, without prices", `{"spot":{}}`, []string{"no price"}},
		{"Karpenter's, twice", `{"on_demand":{"europe-west1":{"a":0.1}},"prices":{"europe-west1":{"a":0.1}}}`, []string{"prices.europe-west1.a", "a price already"}},
		{"Karpenter's, in another currency", `{"currency":"Euro","spot":{"europe-west1":{"a":0.1}}}`, []string{"currency", "Euro"}},
		{"a row without a price", `[{"region":"europe-west1","machineType":"a"}]`, []string{"[0]", "no price"}},
		{"a row without a region", `[{"machineType":"a","spot":0.1}]`, []string{"[0]", "the region is empty"}},
		{"a row of another option", `[{"region":"r","machineType":"a","price":0.1,"option":"reserved"}]`, []string{"[0]", `"reserved"`, "on-demand or spot"}},
		{"rows of numbers", `{"spot":[1]}`, []string{"spot[0]", "want a row"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := imported.Read([]byte(tt.text), imported.Options{})
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

// TestOptions reads files whose currency the user gives.
func TestOptions(t *testing.T) {
	csv := []byte(header + ",a,,node,metadata.name,,0.1,\n")
	if s, _, _ := sheet(t, "p.csv", csv, imported.Options{Currency: "EUR"}); s.Currency() != "EUR" {
		t.Errorf("it is in %s", s.Currency())
	}
	for text, want := range map[string]string{
		header + ",a,,node,metadata.name,,$0.1,\n":                        "dollar sign",
		`{"CPU": "0.03", "currencyCode": "USD"}`:                          "the prices are in USD, not in EUR",
		`{"currency": "USD", "spot": {"europe-west1": {"a": 0.1}}}`:       "the prices are in USD, not in EUR",
		"kind: ConfigMap\ndata: {CPU: \"0.03\", currencyCode: \"GBP\"}\n": "the prices are in GBP, not in EUR",
	} {
		if _, err := imported.Read([]byte(text), imported.Options{Currency: "EUR"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := imported.Read([]byte(header+",a,,node,metadata.name,,$0.1,\n"), imported.Options{Currency: "AUD"}); err != nil {
		t.Error(err)
	}
}

// TestManyRows reads as many rows as a file may have, and one more.
func TestManyRows(t *testing.T) {
	var text strings.Builder
	text.WriteString(header)
	for i := range 100_001 {
		text.WriteString(",n" + strconv.Itoa(i) + ",,node,metadata.name,,0.1,\n")
	}
	all := text.String()
	if _, err := imported.Read([]byte(all), imported.Options{}); err == nil || !strings.Contains(err.Error(), "line 100002: there are more than 100000 rows") {
		t.Errorf("got %v", err)
	}
	all = all[:strings.LastIndexByte(all[:len(all)-1], '\n')+1]
	if p, err := imported.Read([]byte(all), imported.Options{}); err != nil || p.Rules() != 100_000 {
		t.Errorf("got %v", err)
	}
}

// fuzz reads texts that are like files of testdata. What is taken makes a sheet that is read without an error.
func fuzz(f *testing.F, files ...string) {
	f.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		imported.Format([]byte(text))
		for _, o := range []imported.Options{{}, {Unit: imported.Monthly, Currency: "EUR"}} {
			p, err := imported.Read([]byte(text), o)
			if err != nil {
				continue
			}
			yaml := p.Sheet("file", written)
			if _, err := pricing.Parse("p.yaml", yaml); err != nil {
				t.Errorf("%v:\n%s", err, yaml)
			}
		}
	})
}

func FuzzCustom(f *testing.F)    { fuzz(f, "default.json") }
func FuzzConfigMap(f *testing.F) { fuzz(f, "pricing-configs.yaml", "nested.yaml", "configmap.json") }
func FuzzCSV(f *testing.F)       { fuzz(f, "prices.csv") }
func FuzzKarpenter(f *testing.F) {
	fuzz(f, "initial-prices.json", "on-demand.json", "regions.json", "rows.json")
}
