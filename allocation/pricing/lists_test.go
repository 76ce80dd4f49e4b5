package pricing_test

import (
	"math"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// list reads a table of rows without their currency and date.
func list(t *testing.T, name, currency string, rows ...string) *listprices.Table {
	t.Helper()
	ending := "," + currency + ",2026-11-30\n"
	text := "provider,region,instanceType,option,os,price,kind,currency,asOf\n" + strings.Join(rows, ending) + ending
	table, err := listprices.Read(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestItemsByLists prices volumes and load balancers by lists, where neither rules nor defaults of the sheet do.
func TestItemsByLists(t *testing.T) {
	prices := list(t, "a list", "USD",
		"aws,eu-central-1,gp3,ondemand,linux,0.0001,volume", "aws,eu-central-1,network,ondemand,linux,0.03,loadBalancer",
		"azure,westeurope,StandardSSD_LRS,ondemand,linux,0.0002,volume", "gcp,europe-west3,pd-balanced,ondemand,linux,0.0003,volume", "gcp,europe-west3,forwarding-rule,ondemand,linux,0.02,loadBalancer")
	const by = "list prices in a list of 2026-11-30"
	volume := func(provider, region, class string) rates.Item {
		return rates.Item{Kind: rates.ItemStorage, Provider: provider, Region: region, StorageClass: class}
	}
	balancer := rates.Item{Kind: rates.ItemLoadBalancer, Provider: "aws", Region: "eu-central-1"}
	for _, tt := range []struct {
		name, sheet string
		item        rates.Item
		want        float64
		source      string
		isDefault   bool
	}{
		{"a volume", "", volume("aws", "eu-central-1", "gp3"), 0.0001, by, false},
		{"by a part of the class", "", volume("aws", "eu-central-1", "gp3-encrypted"), 0.0001, by, false},
		{"of another region", "", volume("aws", "eu-west-1", "ebs-gp3"), 0.0001, by + " for region eu-central-1", false},
		{"of a class that does not tell", "", volume("aws", "eu-central-1", "ebs-sc"), 0.00005479452, rates.BuiltInPrices, true},
		{"of a class that tells two", "", volume("aws", "eu-central-1", "gp2-gp3"), 0.00005479452, rates.BuiltInPrices, true},
		{"of a type that is not listed", "", volume("aws", "eu-central-1", "io1"), 0.00005479452, rates.BuiltInPrices, true},
		{"of a class of another provider", "", volume("gcp", "europe-west3", "gp3"), 0.00005479452, rates.BuiltInPrices, true},
		{"a node's own disk", "", volume("aws", "eu-central-1", ""), 0.00005479452, rates.BuiltInPrices, true},
		{"Azure's", "", volume("Azure", "westeurope", "managed-csi"), 0.0002, by, false},
		{"Google's", "", volume("gcp", "europe-west3", "standard-rwo"), 0.0003, by, false},
		{"Google's by its type", "", volume("gcp", "europe-west3", "pd-balanced"), 0.0003, by, false},
		{"a load balancer", "", balancer, 0.03, by, false},
		{"with a multiplier", "multiplier: 2", balancer, 0.06, by, false},
		{"a default of the sheet comes first", "defaults: {loadBalancerPerHour: 1}", balancer, 1, "p.yaml", false},
		{"a rule comes first", "loadBalancers: [{provider: aws, loadBalancerPerHour: 2}]", balancer, 2, "p.yaml:1", false},
		{"a rule of others", "loadBalancers: [{provider: gcp, loadBalancerPerHour: 2}]", balancer, 0.03, by, false},
		{"in another currency", "currency: EUR", balancer, 0.025, rates.BuiltInPrices, true},
		{"traffic", "", rates.Item{Kind: rates.ItemEgressInternet, Provider: "aws", Region: "eu-central-1"}, 0.12, rates.BuiltInPrices, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := pricing.Parse("p.yaml", []byte(tt.sheet))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.WithList(prices).Item(tt.item, at); math.Abs(got.Price-tt.want) > 1e-12 || got.Source != tt.source || got.Default != tt.isDefault {
				t.Errorf("got %+v, want %g by %q", got, tt.want, tt.source)
			}
		})
	}
}

// TestOrderOfLists takes the first table that has the region, else the first that has the machine.
func TestOrderOfLists(t *testing.T) {
	fetched := list(t, "fetched", "USD", "aws,eu-central-1,m,ondemand,linux,1,machine")
	builtIn := list(t, "built in", "USD", "aws,eu-central-1,m,ondemand,linux,2,machine", "aws,us-east-1,m,ondemand,linux,3,machine", "aws,us-east-1,n,ondemand,linux,4,machine")
	euros := list(t, "euros", "EUR", "aws,eu-central-1,m,ondemand,linux,9,machine")
	s, err := pricing.Parse("p.yaml", []byte("currency: USD"))
	if err != nil {
		t.Fatal(err)
	}
	s = s.WithList(euros, fetched, builtIn)
	for _, tt := range []struct {
		region, instanceType string
		want                 float64
		source               string
	}{
		{"eu-central-1", "m", 1, "list prices in fetched of 2026-11-30"},
		{"us-east-1", "m", 3, "list prices in built in of 2026-11-30"},
		{"eu-west-1", "m", 1, "list prices in fetched of 2026-11-30 for region eu-central-1"},
		{"eu-central-1", "n", 4, "list prices in built in of 2026-11-30 for region us-east-1"},
	} {
		got := s.Node(rates.NodeAttributes{Provider: "aws", Region: tt.region, InstanceType: tt.instanceType, Size: [...]float64{2, 8, 0}}, at)
		if sum := 2*got.Price[0] + 8*got.Price[1]; math.Abs(sum-tt.want) > 1e-12 || got.Source != tt.source {
			t.Errorf("%s in %s: %g by %q", tt.instanceType, tt.region, sum, got.Source)
		}
	}
	if n := len(s.Lists()); n != 2 {
		t.Errorf("%d lists count", n)
	}
}
