package pricing_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// TestProviderID matches ids in the forms that files have them in with those of nodes.
func TestProviderID(t *testing.T) {
	const azure = "azure:///subscriptions/0000-1111/resourceGroups/Pool_RG/providers/Microsoft.Compute/virtualMachineScaleSets/aks-np/virtualMachines/7"
	for _, tt := range []struct {
		name, given, node string
		want              bool
	}{
		{"the same", "aws:///eu-central-1a/i-0123", "aws:///eu-central-1a/i-0123", true},
		{"without the prefix", "i-0123", "aws:///eu-central-1a/i-0123", true},
		{"with a part of it", "eu-central-1a/i-0123", "aws:///eu-central-1a/i-0123", true},
		{"of another zone", "aws:///eu-central-1b/i-0123", "aws:///eu-central-1a/i-0123", false},
		{"another machine", "i-0124", "aws:///eu-central-1a/i-0123", false},
		{"the end of a name", "0123", "aws:///eu-central-1a/i-0123", false},
		{"longer than the node's", "aws:///eu-central-1a/i-0123", "i-0123", false},
		{"of Google", "gke-prod-pool-1", "gce://project/europe-west1-b/gke-prod-pool-1", true},
		{"of Google, of another project", "gce://other/europe-west1-b/gke-prod-pool-1", "gce://project/europe-west1-b/gke-prod-pool-1", false},
		{"of Azure", azure, azure, true},
		{"of Azure in another case", strings.ToUpper(azure[len("azure://"):]), azure, true},
		{"of Azure, without a slash", azure[len("azure:///"):], strings.ToLower(azure), true},
		{"of Azure, its number alone", "7", azure, false},
		{"of Azure, another number", azure[:len(azure)-1] + "8", azure, false},
		{"without slashes", "digitalocean://3164444", "digitalocean://3164444", true},
		{"not known", "i-0123", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, sheet := range [][2]string{
				{"p.yaml", fmt.Sprintf("nodes: [{providerID: %q, cpuPerCoreHour: 7}]", tt.given)},
				{"p.csv", "providerID,cpuPerCoreHour\n" + tt.given + ",7\n"},
			} {
				s, err := pricing.Parse(sheet[0], []byte(sheet[1]))
				if err != nil {
					t.Fatal(err)
				}
				got := s.Node(rates.NodeAttributes{ProviderID: tt.node}, at)
				if (got.Price[allocation.CPU] == 7) != tt.want {
					t.Errorf("%s: a core costs %v", sheet[0], got.Price[allocation.CPU])
				}
			}
		})
	}
}

// TestRulesOfOneThing compares rules that name nodes, machines and types, in a random order, with a search through all of them.
func TestRulesOfOneThing(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		pick := func(texts ...string) string { return texts[rng.IntN(len(texts))] }
		type named struct{ name, id, instanceType string }
		var rules []named
		text := "nodes:\n"
		for range 12 {
			r := named{pick("", "", "a", "b", "a*"), pick("", "", "i-1", "z/i-1", "i-2"), pick("", "m", "n", "m*")}
			if r == (named{}) {
				continue
			}
			var keys []string
			for key, v := range map[string]string{"name": r.name, "providerID": r.id, "instanceType": r.instanceType} {
				if v != "" {
					keys = append(keys, fmt.Sprintf("%s: %q", key, v))
				}
			}
			more := text + fmt.Sprintf("- {%s, cpuPerCoreHour: %d}\n", strings.Join(keys, ", "), len(rules)+1)
			if _, err := pricing.Parse("p.yaml", []byte(more)); err != nil {
				if !strings.Contains(err.Error(), "never win") {
					t.Fatal(err)
				}
				continue
			}
			rules, text = append(rules, r), more
		}
		s, err := pricing.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		is := func(given, have string) bool {
			prefix, open := strings.CutSuffix(given, "*")
			return given == "" || given == have || open && strings.HasPrefix(have, prefix)
		}
		for _, n := range []rates.NodeAttributes{
			{Name: "a", ProviderID: "aws:///z/i-1", InstanceType: "m"},
			{Name: "b", ProviderID: "aws:///y/i-1", InstanceType: "n"},
			{Name: "ab", ProviderID: "i-2", InstanceType: "mm"},
			{Name: "c"},
			{},
		} {
			want := pricing.Default().Node(n, at).Price[allocation.CPU]
			for i, r := range rules {
				if is(r.name, n.Name) && is(r.instanceType, n.InstanceType) && (r.id == "" || n.ProviderID == r.id || strings.HasSuffix(n.ProviderID, "/"+r.id)) {
					want = float64(i + 1)
					break
				}
			}
			if got := s.Node(n, at).Price[allocation.CPU]; got != want {
				t.Fatalf("seed %d: a core of %+v costs %v, want %v by\n%s", seed, n, got, want, text)
			}
		}
	}
}
