package cloudcost_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/cloudcost"
	"github.com/promcost/promcost/allocation/reconcile"
)

// lines are a source of lines, each of a cost.
type lines []billing.Line

func (list lines) Read(_ context.Context, _ allocation.Window, f func(*billing.Line) error) error {
	for i := range list {
		if err := f(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

func line(cost, quantity float64, change func(*billing.Item)) billing.Line {
	item := &billing.Item{Account: billing.Account{Provider: "AWS", ID: "payer"}, Charge: billing.Charge{ConsumedUnit: "Hours"}}
	change(item)
	return billing.Line{Item: item, Costs: billing.Costs{cost, cost, cost, cost}, Known: [billing.NumCosts]bool{true, true, true, true}, Quantity: quantity}
}

func read(t *testing.T, q cloudcost.Query, keys string, list ...billing.Line) cloudcost.Set {
	t.Helper()
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	q.Windows = []allocation.Window{{Start: start, End: start.AddDate(0, 0, 1)}}
	var err error
	if q.Keys, err = cloudcost.ParseKeys(keys, q.Custom); err != nil {
		t.Fatal(err)
	}
	sets, err := cloudcost.Read(t.Context(), lines(list), q)
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

// TestCategories names the category of lines by what they say.
func TestCategories(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		change     func(*billing.Item)
	}{
		{"instance", "Virtual Machine", func(i *billing.Item) { i.Service.Category, i.Resource.Type = "Compute", "Instance" }},
		{"meter of instances", "Virtual Machine", func(i *billing.Item) { i.Service.Category, i.Charge.Meter = "Compute", "BoxUsage:m5.large" }},
		{"function", "Other", func(i *billing.Item) { i.Service.Category, i.Service.Name = "Compute", "AWS Lambda" }},
		{"volume", "Disk", func(i *billing.Item) { i.Service.Category, i.Charge.Meter = "Storage", "EBS:VolumeUsage.gp3" }},
		{"bucket", "Other", func(i *billing.Item) { i.Service.Category, i.Service.Name = "Storage", "Amazon S3" }},
		{"traffic of an instance", "Network", func(i *billing.Item) {
			i.Service.Category, i.Charge.Description = "Compute", "$0.01 per GB - data transfer"
		}},
		{"balancer", "Load Balancer", func(i *billing.Item) { i.Service.Name = "Elastic Load Balancing" }},
		{"gateway", "Network", func(i *billing.Item) { i.Service.Category, i.Service.Name = "Networking", "NAT" }},
		{"control plane", "Cluster Management", func(i *billing.Item) { i.Service.Name = "Amazon Elastic Container Service for Kubernetes" }},
		{"tax", "Other", func(i *billing.Item) {
			i.Service.Category, i.Resource.Type, i.Charge.Category = "Compute", "Instance", billing.Tax
		}},
		{"unused commitment", "Other", func(i *billing.Item) {
			i.Service.Category, i.Resource.Type, i.Commitment.Status = "Compute", "Instance", "Unused"
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := read(t, cloudcost.Query{}, "category", line(1, 1, tc.change))
			if got := set.Rows[0].Name; got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestRowsKeepWhatIsCommon merges lines that differ in a text, a tag and a unit.
func TestRowsKeepWhatIsCommon(t *testing.T) {
	tags := func(team string) billing.Tags {
		return billing.Tags{{Name: "env", Value: "prod"}, {Name: "team", Value: team}}
	}
	set := read(t, cloudcost.Query{}, "provider",
		line(1, 2, func(i *billing.Item) { i.Resource.Region, i.Service.Name, i.Tags = "r", "a", tags("x") }),
		line(2, 3, func(i *billing.Item) { i.Resource.Region, i.Service.Name, i.Tags = "r", "b", tags("y") }),
	)
	if len(set.Rows) != 1 {
		t.Fatalf("%d rows", len(set.Rows))
	}
	r := set.Rows[0]
	if r.Texts[cloudcost.RegionID] != "r" || r.Texts[cloudcost.Service] != "" || r.Costs[billing.List] != 3 || r.Quantity != 5 {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(map[string]string{"env": "prod"}, r.Labels()); diff != "" {
		t.Error(diff)
	}
	set = read(t, cloudcost.Query{}, "provider", line(1, 2, func(*billing.Item) {}), line(2, 3, func(i *billing.Item) { i.Charge.ConsumedUnit = "GB" }))
	if !math.IsNaN(set.Rows[0].Quantity) {
		t.Errorf("hours and gigabytes are %v", set.Rows[0].Quantity)
	}
}

// TestUnknownCostsAreCounted sums lines of which one has no list cost.
func TestUnknownCostsAreCounted(t *testing.T) {
	lacking := line(2, 1, func(*billing.Item) {})
	lacking.Costs[billing.List], lacking.Known[billing.List] = 0, false
	set := read(t, cloudcost.Query{}, "provider", line(1, 1, func(*billing.Item) {}), lacking)
	if diff := cmp.Diff([billing.NumCosts]int{billing.List: 1}, set.Unknown); diff != "" {
		t.Error(diff)
	}
}

// TestVendors keeps lines of those who sell software.
func TestVendors(t *testing.T) {
	of := func(provider string) billing.Line {
		return line(1, 1, func(i *billing.Item) { i.Account.Provider = provider })
	}
	set := read(t, cloudcost.Query{Custom: true}, "domain", of("AWS"), of("GCP"), of("Azure"), of("Oracle Cloud Infrastructure"), of("Datadog"), of("Snowflake"), of(""))
	var names []string
	for i := range set.Rows {
		names = append(names, set.Rows[i].Name)
	}
	if diff := cmp.Diff([]string{"Datadog", "Snowflake"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestReadStops ends when no row may be added.
func TestReadStops(t *testing.T) {
	full := errors.New("full")
	keys, err := cloudcost.ParseKeys("", false)
	if err != nil {
		t.Fatal(err)
	}
	q := cloudcost.Query{Windows: make([]allocation.Window, 1), Keys: keys, Grow: func() error { return full }}
	if _, err := cloudcost.Read(t.Context(), lines{line(1, 1, func(*billing.Item) {})}, q); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// TestSpecialNames keeps lines apart that lack a tag or a service from those with values that look so, by all texts that tenants choose.
func TestSpecialNames(t *testing.T) {
	const name, shown = allocation.UnallocatedName, `\` + allocation.UnallocatedName
	lacking := line(1, 1, func(*billing.Item) {})
	named := line(2, 1, func(i *billing.Item) {
		i.Tags, i.Service.Name, i.Resource.ID = billing.Tags{{Name: "team", Value: name}}, name, name
	})
	for _, keys := range []string{"label:team", "service", "providerID"} {
		set := read(t, cloudcost.Query{}, keys, lacking, named)
		got := map[string]float64{}
		for _, r := range set.Rows {
			got[r.Name] = r.Costs[billing.Effective]
		}
		if diff := cmp.Diff(map[string]float64{name: 1, shown: 2}, got); diff != "" {
			t.Errorf("%s: %s", keys, diff)
		}
	}
	selected := func(r *cloudcost.Row) bool { return r.Labels()["team"] == shown }
	if set := read(t, cloudcost.Query{Filter: selected}, "service", lacking, named); len(set.Rows) != 1 || set.Rows[0].Costs[billing.Effective] != 2 {
		t.Errorf("the tag %s selects %v", shown, set.Rows)
	}
}

// TestParts divides a line among the assets that it charges: rows add up to the line, and assets can be selected.
func TestParts(t *testing.T) {
	of := func(kind reconcile.Kind, name string, share float64) reconcile.Part {
		return reconcile.Part{Asset: reconcile.Asset{Kind: kind, AssetKey: allocation.AssetKey{Cluster: "one", Name: name}}, Share: share}
	}
	scaleSet := line(8, 4, func(i *billing.Item) { i.Resource.ID = "set" })
	tax := line(3, 1, func(i *billing.Item) {
		i.Charge.Category, i.Charge.Description = billing.Tax, "VAT"
	})
	parts := func(l *billing.Line) ([]reconcile.Part, error) {
		if l.Resource.ID == "set" {
			return []reconcile.Part{of(reconcile.Node, "a", 0.25), of(reconcile.Node, "b", 0.75)}, nil
		}
		return []reconcile.Part{{Asset: reconcile.Asset{Kind: reconcile.Cloud}, Share: 1}}, nil
	}
	for _, tc := range []struct {
		name, keys string
		filter     func(*cloudcost.Row) bool
		want       map[string]float64
	}{
		{"by asset", "kind,cluster,asset", nil, map[string]float64{"node/one/a": 2, "node/one/b": 6, "cloud/__unallocated__/__unallocated__": 3}},
		{"by kind", "kind", nil, map[string]float64{"node": 8, "cloud": 3}},
		{"of one asset", "provider", func(r *cloudcost.Row) bool { return r.Texts[cloudcost.Asset] == "b" }, map[string]float64{"AWS": 6}},
		{"by description", "chargeCategory,description", nil, map[string]float64{"Usage/__unallocated__": 8, "Tax/VAT": 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := read(t, cloudcost.Query{Parts: parts, Filter: tc.filter}, tc.keys, scaleSet, tax)
			got := map[string]float64{}
			for i := range set.Rows {
				r := &set.Rows[i]
				got[r.Name] = r.Costs[billing.Effective]
				if share := r.KubernetesShare(billing.Effective); (share == 1) != (r.Texts[cloudcost.Kind] == "node") {
					t.Errorf("%s: clusters explain %v", r.Name, share)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
