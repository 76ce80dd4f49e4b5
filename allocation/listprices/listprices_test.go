package listprices_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		"another kind":            {strings.Replace(header, "asOf", "asOf,kind", 1) + "aws,eu-1,m,ondemand,linux,0.1,USD,2026-01-31,disk\n", "line 2: kind is \"disk\""},
		"with a kind":             {strings.Replace(header, "asOf", "asOf,kind", 1) + "aws,eu-1,gp3,ondemand,linux,0.1,USD,2026-01-31,volume\n", ""},
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
	f.Add(header + "0\"00")
	f.Add("# x\n" + header + "aws,eu-1,m,spot,windows,1e-9,EUR,2026-01-31\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := listprices.Read("prices.csv", strings.NewReader(text))
		if err == nil && table.Len() == 0 {
			t.Error("a table without prices is none")
		}
	})
}

// kinds is a table with prices of all kinds.
const kinds = "provider,region,instanceType,option,os,price,currency,asOf,kind\n" +
	"aws,eu-central-1,m5.large,ondemand,linux,0.115,USD,2026-11-30,machine\n" +
	"aws,eu-central-1,gp3,ondemand,linux,0.00013,USD,2026-11-30,volume\n" +
	"aws,eu-central-1,network,ondemand,linux,0.027,USD,2026-11-30,loadBalancer\n" +
	"gcp,europe-west3,e2,ondemand,linux,0.02,USD,2026-11-29,core\n" +
	"gcp,europe-west3,e2,ondemand,linux,0.003,USD,2026-11-30,memory\n" +
	"gcp,europe-west3,n1,ondemand,linux,0.04,USD,2026-11-30,core\n" +
	"gcp,europe-west3,n1,ondemand,linux,0.005,USD,2026-11-30,memory\n" +
	"gcp,europe-west3,n1,spot,linux,0.01,USD,2026-11-30,core\n" +
	"gcp,europe-west3,n1,spot,linux,0.001,USD,2026-11-30,memory\n" +
	"gcp,europe-west3,nvidia-t4,ondemand,linux,0.41,USD,2026-11-30,gpu\n" +
	"gcp,europe-west3,n3,ondemand,linux,0.04,USD,2026-11-30,core\n"

// TestSums prices machines by what they have.
func TestSums(t *testing.T) {
	table, err := listprices.Read("prices.csv", strings.NewReader(kinds))
	if err != nil {
		t.Fatal(err)
	}
	machine := func(instanceType string, change func(*listprices.Machine)) listprices.Machine {
		m := listprices.Machine{Provider: "gcp", Region: "europe-west3", InstanceType: instanceType, Cores: 8, GiB: 30}
		if change != nil {
			change(&m)
		}
		return m
	}
	for _, tt := range []struct {
		name      string
		machine   listprices.Machine
		want      float64 // 0 for none
		estimated bool
	}{
		{"cores and memory", machine("n1-standard-8", nil), 8*0.04 + 30*0.005, false},
		{"custom", machine("n1-custom-8-30720", nil), 8*0.04 + 30*0.005, false},
		{"spot", machine("n1-standard-8", func(m *listprices.Machine) { m.Spot = true }), 8*0.01 + 30*0.001, false},
		{"spot without a price", machine("e2-standard-8", func(m *listprices.Machine) { m.Spot = true }), 0.35 * (8*0.02 + 30*0.003), true},
		{"with GPUs", machine("n1-standard-8", func(m *listprices.Machine) { m.GPUs, m.GPUModel = 2, "nvidia-tesla-t4" }), 8*0.04 + 30*0.005 + 2*0.41, false},
		{"with GPUs by another name", machine("n1-standard-8", func(m *listprices.Machine) { m.GPUs, m.GPUModel = 2, "Tesla T4" }), 8*0.04 + 30*0.005 + 2*0.41, false},
		{"with GPUs that are not listed", machine("n1-standard-8", func(m *listprices.Machine) { m.GPUs, m.GPUModel = 2, "nvidia-b200" }), 0, false},
		{"a part of a core", machine("e2-small", func(m *listprices.Machine) { m.Cores, m.GiB = 2, 2 }), 0.5*0.02 + 2*0.003, false},
		{"without a price of memory", machine("n3-standard-8", nil), 0, false},
		{"of a size that is not known", machine("n1-standard-8", func(m *listprices.Machine) { m.Cores = 0 }), 0, false},
		{"with Windows", machine("n1-standard-8", func(m *listprices.Machine) { m.OS = "windows" }), 0, false},
		{"of another provider", machine("n1-standard-8", func(m *listprices.Machine) { m.Provider = "aws" }), 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := table.Price(tt.machine)
			if ok != (tt.want > 0) || ok && math.Abs(got.PerHour-tt.want) > 1e-12 || ok && got.Estimated != tt.estimated {
				t.Errorf("got %+v, %v, want %g", got, ok, tt.want)
			}
		})
	}
	if got, ok := table.Price(machine("n1-standard-8", func(m *listprices.Machine) { m.Region = "us-east1" })); !ok || got.Region != "europe-west3" {
		t.Errorf("elsewhere: %+v, %v", got, ok)
	}
	if got, ok := table.Volume("aws", "eu-central-1", "gp3"); !ok || got.PerHour != 0.00013 {
		t.Errorf("a volume: %+v, %v", got, ok)
	}
	if got, ok := table.Volume("aws", "eu-central-1", "m5.large"); ok {
		t.Errorf("a volume by a machine's name: %+v", got)
	}
	if got, ok := table.LoadBalancer("aws", "eu-west-1"); !ok || got.PerHour != 0.027 || got.Region != "eu-central-1" {
		t.Errorf("a load balancer: %+v, %v", got, ok)
	}
	if _, ok := table.LoadBalancer("", ""); ok {
		t.Error("a load balancer of nobody")
	}
	if got := table.AsOf().Format(time.DateOnly); got != "2026-11-29" || !table.Has("gcp") || table.Has("azure") {
		t.Errorf("as of %s", got)
	}
}

// TestWrite writes a table and reads it again.
func TestWrite(t *testing.T) {
	table, err := listprices.Read("prices.csv", strings.NewReader(kinds))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := listprices.Write(&b, []string{"of somebody"}, table.Rows()); err != nil || !strings.HasPrefix(b.String(), "# of somebody\nprovider,") {
		t.Fatalf("%v: %s", err, b.String())
	}
	again, err := listprices.Read("prices.csv", strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table.Rows(), again.Rows()); diff != "" {
		t.Error(diff)
	}
	made, err := listprices.New("prices.csv", table.Rows())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table.Rows(), made.Rows()); diff != "" {
		t.Error(diff)
	}
	rows := table.Rows()[:1]
	for want, change := range map[string]func(*listprices.Row){
		"currency is \"EUR\"":                       func(r *listprices.Row) { r.Currency, r.Name = "EUR", "other" },
		"the same loadBalancer has a price already": func(*listprices.Row) {},
		"price is -1":                               func(r *listprices.Row) { r.Price, r.Name = -1, "other" },
	} {
		next := rows[0]
		next.Kind, next.Name = listprices.LoadBalancers, "network"
		first := next
		change(&next)
		if _, err := listprices.New("prices.csv", []listprices.Row{first, next}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := listprices.New("prices.csv", nil); err == nil {
		t.Error("a table without prices")
	}
}
