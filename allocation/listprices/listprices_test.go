package listprices_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
)

// TestEmbedded looks machines up in the built-in table. The prices of the first are those of lines of a real bill.
func TestEmbedded(t *testing.T) {
	table := listprices.Embedded()
	if table.Len() < 2500 || table.Currency() != "USD" {
		t.Fatalf("there are %d prices in %s", table.Len(), table.Currency())
	}
	for _, tt := range []struct {
		name      string
		machine   listprices.Machine
		want      float64 // 0 for none
		region    string
		estimated bool
	}{
		{"c5.2xlarge", aws("us-east-1", "c5.2xlarge"), 0.34, "us-east-1", false},
		{"c5.4xlarge", aws("us-east-1", "c5.4xlarge"), 0.68, "us-east-1", false},
		{"c5.large", aws("us-east-1", "c5.large"), 0.085, "us-east-1", false},
		{"g3.4xlarge", aws("us-east-1", "g3.4xlarge"), 1.14, "us-east-1", false},
		{"g5.4xlarge", aws("us-east-1", "g5.4xlarge"), 1.624, "us-east-1", false},
		{"m4.10xlarge", aws("us-east-1", "m4.10xlarge"), 2, "us-east-1", false},
		{"of another region", aws("eu-central-1", "m5.large"), 0.096, "us-east-1", false},
		{"without a region", aws("", "m5.large"), 0.096, "us-east-1", false},
		{"of a government", aws("us-gov-west-1", "m5.large"), 0.121, "us-gov-west-1", false},
		{"of the government's other region", aws("us-gov-central-1", "m5.large"), 0.121, "us-gov-east-1", false},
		{"of another partition", aws("cn-north-1", "m5.large"), 0, "", false},
		{"that nobody lists", aws("us-east-1", "m99.large"), 0, "", false},
		{"of another provider", listprices.Machine{Provider: "gcp", InstanceType: "m5.large"}, 0, "", false},
		{"with Windows", listprices.Machine{Provider: "aws", Region: "us-east-1", InstanceType: "m5.large", OS: "windows"}, 0, "", false},
		{"spot", listprices.Machine{Provider: "aws", Region: "us-east-1", InstanceType: "m5.large", Spot: true}, 0.0336, "us-east-1", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := table.Price(tt.machine)
			if ok != (tt.want > 0) || math.Abs(got.PerHour-tt.want) > 1e-12 || got.Region != tt.region || got.Estimated != tt.estimated {
				t.Errorf("got %+v, %v", got, ok)
			}
			if ok && got.AsOf.Before(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)) {
				t.Errorf("it is of %s", got.AsOf)
			}
		})
	}
}

func aws(region, instanceType string) listprices.Machine {
	return listprices.Machine{Provider: "aws", Region: region, InstanceType: instanceType}
}

const header = "provider,region,instanceType,option,os,price,currency,asOf\n"

// TestRead reads tables with a mistake each.
func TestRead(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"good":                    {header + "aws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31\n", ""},
		"in another order":        {"asOf,price,os,option,instanceType,region,provider,currency\n2026-01-31,0.1,linux,spot,m,eu-1,aws,USD\n", ""},
		"with more columns":       {"note," + header + "x,aws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31\n", ""},
		"empty":                   {"", "no header"},
		"no prices":               {header, "no prices"},
		"a column is missing":     {"provider,region\n", "the header lacks instanceType"},
		"a cell is missing":       {header + "aws,eu-1,m,ondemand,linux,0.1,USD\n", "line 2"},
		"cut":                     {header + "aws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31\naws,eu", "line 3"},
		"negative":                {header + "aws,eu-1,m,ondemand,linux,-0.1,USD,2026-01-31\n", "line 2: price is \"-0.1\""},
		"zero":                    {header + "aws,eu-1,m,ondemand,linux,0,USD,2026-01-31\n", "line 2: price is \"0\""},
		"no number":               {header + "aws,eu-1,m,ondemand,linux,NaN,USD,2026-01-31\n", "line 2: price is \"NaN\""},
		"another option":          {header + "aws,eu-1,m,reserved,linux,0.1,USD,2026-01-31\n", "line 2: option is \"reserved\""},
		"no date":                 {header + "aws,eu-1,m,ondemand,linux,0.1,USD,soon\n", "line 2: asOf is \"soon\""},
		"a second currency":       {header + "aws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31\naws,cn-1,m,ondemand,linux,0.1,CNY,2026-01-31\n", "line 3: currency is \"CNY\""},
		"twice":                   {header + strings.Repeat("aws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31\n", 2), "line 3: the same machine has a price already"},
		"nothing of its type":     {header + "aws,eu-1,,ondemand,linux,0.1,USD,2026-01-31\n", "line 2: instanceType is \"\""},
		"a text without an end":   {header + "aws,eu-1,\"m,ondemand,linux,0.1,USD,2026-01-31\n", "line"},
		"a text of a kilobyte":    {header + "aws,eu-1," + strings.Repeat("m", 1000) + ",ondemand,linux,0.1,USD,2026-01-31\n", "line 2: instanceType is"},
		"comments after the head": {"# of somebody\n" + header + "# a note\naws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := listprices.Read("prices.csv", strings.NewReader(tt.text))
			switch {
			case tt.want == "" && (err != nil || table.Len() != 1):
				t.Errorf("%v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "prices.csv")):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNearestRegion takes the price of the region whose name begins most like that of the machine's.
func TestNearestRegion(t *testing.T) {
	var text strings.Builder
	text.WriteString(header)
	for i, region := range []string{"ap-south-1", "eu-central-1", "eu-west-1", "us-east-1"} {
		fmt.Fprintf(&text, "aws,%s,m,ondemand,linux,%d,USD,2026-01-31\n", region, i+1)
	}
	table, err := listprices.Read("prices.csv", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	for region, want := range map[string]string{"eu-west-2": "eu-west-1", "eu-central-1": "eu-central-1", "eu-north-1": "eu-central-1", "us-west-2": "us-east-1", "sa-east-1": "ap-south-1"} {
		if got, ok := table.Price(aws(region, "m")); !ok || got.Region != want {
			t.Errorf("%s: got %+v, want %s", region, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(header + "aws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31\n")
	f.Add("# x\n" + header + "aws,eu-1,m,spot,windows,1e-9,EUR,2026-01-31\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := listprices.Read("prices.csv", strings.NewReader(text))
		if err == nil && table.Len() == 0 {
			t.Error("a table without prices is none")
		}
	})
}
