package build_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
)

// asked are rates that note the items they are asked for. The builders of a test ask one at a time.
type asked struct {
	flat
	items map[rates.ItemKind]rates.Item
}

func (a asked) Item(i rates.Item, at time.Time) rates.Rate {
	a.items[i.Kind] = i
	return a.flat.Item(i, at)
}

// TestItems checks which properties of everything besides nodes a price sheet gets.
func TestItems(t *testing.T) {
	node := func(name, id, region, zone string) []given {
		return []given{
			{signal: signals.NodeInfo, key: "c|" + name + "|" + id, points: minutes(1, 1, 121)},
			{signal: signals.NodeLabels, key: "c|" + name + "|topology_kubernetes_io_region|" + region + "|topology_kubernetes_io_zone|" + zone, points: minutes(1, 1, 121)},
		}
	}
	const aws = "aws:///eu-1a/i-1"
	nodes := concat(node("n", aws, "eu-1", "eu-1a"), node("n2", aws, "eu-1", "eu-1b"), node("n3", "gce://p/z/i", "us-1", "us-1a"))
	volume := func(handle, driver string, more ...given) []given {
		return concat([]given{
			{signal: signals.VolumeInfo, key: "c|v|fast|" + handle + "|" + driver + "|||||", points: minutes(1, 1, 121)},
			{signal: signals.VolumeClaim, key: "c|a|data|v", points: minutes(1, 61, 121)},
			{signal: signals.VolumeClaim, key: "c|z|old|v", points: minutes(1, 1, 61)},
		}, more)
	}
	inTree := func(ebs, gce, azure string) []given {
		list := volume("", "")
		list[0].key = "c|v|fast|||" + ebs + "|" + gce + "|" + azure + "||"
		return list
	}
	labels := given{signal: signals.VolumeLabels, key: "c|v|tier|gold|topology_kubernetes_io_region|eu-2|topology_kubernetes_io_zone|eu-2c", points: minutes(1, 1, 121)}
	gold := map[string]string{"tier": "gold", "topology_kubernetes_io_region": "eu-2", "topology_kubernetes_io_zone": "eu-2c"}
	base := rates.Item{Kind: rates.ItemStorage, Cluster: "c", Namespace: "a", Name: "v", StorageClass: "fast"}
	at := func(i rates.Item, provider, region, zone string, labels map[string]string) rates.Item {
		i.Provider, i.Region, i.Zone, i.Labels = provider, region, zone, labels
		return i
	}
	web := rates.Item{Kind: rates.ItemLoadBalancer, Cluster: "c", Namespace: "ns", Name: "web"}
	service := []given{
		{signal: signals.Balancer, key: "c|ns|web", points: minutes(1, 1, 121)},
		{signal: signals.ServiceLabels, key: "c|ns|web|team|x", points: minutes(1, 1, 121)},
		{signal: signals.ServiceLabels, key: "c|ns|inner|team|y", points: minutes(1, 1, 121)},
	}
	for _, tt := range []struct {
		name   string
		series []given
		want   rates.Item
	}{
		{"volume where most nodes are", concat(nodes, volume("vol-1", "ebs.csi.aws.com")), at(base, "aws", "eu-1", "", nil)},
		{"volume in the zone of all nodes", concat(node("n", aws, "eu-1", "eu-1a"), volume("", "")), at(base, "aws", "eu-1", "eu-1a", nil)},
		{"volume of another provider", concat(nodes, volume("vol-1", "disk.csi.azure.com")), at(base, "azure", "", "", nil)},
		{"volume by its labels", concat(nodes, volume("vol-1", "ebs.csi.aws.com", labels)), at(base, "aws", "eu-2", "eu-2c", gold)},
		{"volume of Google", concat(nodes, volume("projects/p/zones/us-2-b/disks/d", "pd.csi.storage.gke.io")), at(base, "gcp", "us-2", "us-2-b", nil)},
		{"volume of a region of Google", concat(nodes, volume("projects/p/regions/us-2/disks/d", "pd.csi.storage.gke.io")), at(base, "gcp", "us-2", "", nil)},
		{"volume of Amazon without CSI", concat(nodes, inTree("aws://us-2b/vol-1", "", "")), at(base, "aws", "us-2", "us-2b", nil)},
		{"volume of Google without CSI", concat(nodes, inTree("", "pd-1", "")), at(base, "gcp", "", "", nil)},
		{"volume of Azure without CSI", concat(nodes, inTree("", "", "disk-1")), at(base, "azure", "", "", nil)},
		{"volume without nodes that say where", volume("vol-1", ""), at(base, "", "r", "", nil)},
		{"load balancer", concat(nodes, service), at(web, "aws", "eu-1", "", map[string]string{"team": "x"})},
		{"management", nodes, at(rates.Item{Kind: rates.ItemManagement, Cluster: "c"}, "aws", "eu-1", "", nil)},
		{
			"traffic", concat(nodes, []given{{signal: signals.PodEgress, key: "c|ns|p|uid|true|false|false||i", points: counted(gib, 1, 121)}}),
			at(rates.Item{Kind: rates.ItemEgressInternet, Cluster: "c"}, "aws", "eu-1", "", nil),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rates := asked{flat{cpu: 1}, map[rates.ItemKind]rates.Item{}}
			sets := buildRated(t, allocation.Query{Resolution: time.Minute}, rates, tt.series)
			if diff := cmp.Diff(tt.want, rates.items[tt.want.Kind]); diff != "" {
				t.Errorf("item differs (-want +got):\n%s", diff)
			}
			if n := len(sets[0].Balancers); n > 1 {
				t.Errorf("%d load balancers: labels make none", n)
			}
			if maps.Equal(tt.want.Labels, gold) && len(sets[0].Disks) != 1 {
				t.Errorf("%d disks", len(sets[0].Disks))
			}
		})
	}
}

// dearDefaults are default prices with a price for control planes.
type dearDefaults struct{ flat }

func (dearDefaults) Item(i rates.Item, _ time.Time) rates.Rate {
	return rates.Rate{Price: 1, Source: rates.BuiltInPrices, Default: i.Kind == rates.ItemManagement}
}

// TestDefaultsWarn checks that there is a warning if default prices of control planes or of traffic are used.
func TestDefaultsWarn(t *testing.T) {
	sent := []given{{signal: signals.PodEgress, key: sentInternet, points: counted(gib, 1, 121)}}
	priced := []given{
		{signal: signals.InternetEgressPrice, key: "c", points: minutes(1, 1, 121)},
		{signal: signals.ManagementPrice, key: "c/EKS", points: minutes(0.1, 1, 121)},
	}
	const management, traffic = "management of 1 cluster lacks a price", "network traffic of 1 cluster lacks a price"
	for _, tt := range []struct {
		name   string
		rates  rates.Rates
		series []given
		want   []string
	}{
		{"nothing costs", flat{cpu: 1}, nil, nil},
		{"traffic", flat{cpu: 1}, sent, []string{traffic}},
		{"management", dearDefaults{flat{cpu: 1}}, sent, []string{management}},
		{"prices by metrics", dearDefaults{flat{cpu: 1}}, concat(sent, priced), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := buildRated(t, allocation.Query{Resolution: time.Minute}, tt.rates, tt.series)[0]
			var got []string
			for _, w := range s.Warnings {
				if head, _, ok := strings.Cut(w, ":"); ok && strings.Contains(head, "lacks a price") {
					got = append(got, head)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings differ (-want +got):\n%s", diff)
			}
		})
	}
}
