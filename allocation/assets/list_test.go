package assets_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
)

// assetSet has two nodes, disks, a load balancer, a network, a management fee and a line of a bill.
func assetSet(from time.Time, dict *allocation.Dict) *allocation.Set {
	until := from.Add(time.Hour)
	s := allocation.NewSet(allocation.Window{Start: from, End: until}, dict)
	s.Nodes = []allocation.Node{
		{
			Cluster: "a/b:c", Name: "n1", ProviderID: "aws:///z/i-1", InstanceType: "m5", Pool: "p", Start: from, End: until, Labels: map[string]string{"team": "red", "rack": "r"},
			Hours: [allocation.NumResources]float64{2, 4, 0}, Cost: [allocation.NumResources]float64{1, 1, 0}, Discount: 0.5,
			Overhead: [allocation.NumResources]float64{0.5, 0, 0}, CPUBreakdown: allocation.Breakdown{Idle: 1}, Adjustment: [allocation.NumResources]float64{-0.5, 0, 0},
		},
		{
			Cluster: "a/b:c", Name: "n2", ProviderID: "aws:///z/i-2", InstanceType: "m6", Pool: "p", Spot: true, Start: from.Add(-time.Hour), End: until, Labels: map[string]string{"team": "blue", "rack": "r"},
			Hours: [allocation.NumResources]float64{6, 4, 0}, Cost: [allocation.NumResources]float64{3, 3, 0}, CPUBreakdown: allocation.Breakdown{User: 1},
		},
	}
	s.Disks = []allocation.Disk{
		{Cluster: "a/b:c", Name: "pv", ProviderID: "vol", StorageClass: "ssd", ByteHours: 8, UsedByteHours: 4, UsedMax: 6, Cost: 1, Start: from, End: until},
		{Cluster: "a/b:c", Name: "pv2", StorageClass: "ssd", ByteHours: 8, UsedByteHours: math.NaN(), UsedMax: math.NaN(), Cost: 1, Start: from, End: until},
	}
	s.Balancers = []allocation.LoadBalancer{{Cluster: "a/b:c", Namespace: "web", Service: "front", IP: "10.0.0.1", Private: true, Hours: 1, Cost: 2, Start: from, End: until}}
	s.Networks = []allocation.Network{{Cluster: "a/b:c", CrossZone: 1, Internet: 2, Start: from, End: until}}
	s.Management = []allocation.Management{{Cluster: "a/b:c", Cost: 0.5, Adjustment: 0.25, Start: from, End: until}}
	s.Cloud = []allocation.CloudCost{{Name: "bucket", Provider: "AWS", Category: "Storage", Service: "S3", Cost: 3, Credit: -1, Start: from, End: until}}
	return s
}

func TestListAssets(t *testing.T) {
	s := assetSet(time.Unix(0, 0).UTC(), allocation.NewDict())
	list := assets.List(s, assets.Options{})
	var got []string
	for _, a := range list.Assets {
		got = append(got, a.Name)
	}
	want := []string{
		"AWS/__undefined__/__undefined__/Compute/a_b_c/Node/Kubernetes/i-1/n1",
		"AWS/__undefined__/__undefined__/Compute/a_b_c/Node/Kubernetes/i-2/n2",
		"AWS/__undefined__/__undefined__/Management/a_b_c/ClusterManagement/Kubernetes/__undefined__/management",
		"AWS/__undefined__/__undefined__/Network/a_b_c/LoadBalancer/Kubernetes/10.0.0.1/web/front",
		"AWS/__undefined__/__undefined__/Network/a_b_c/Network/Kubernetes/__undefined__/network",
		"AWS/__undefined__/__undefined__/Storage/__undefined__/Cloud/S3/__undefined__/bucket",
		"AWS/__undefined__/__undefined__/Storage/a_b_c/Disk/Kubernetes/__undefined__/pv2",
		"AWS/__undefined__/__undefined__/Storage/a_b_c/Disk/Kubernetes/vol/pv",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if cost, adjustment := list.TotalCost(); cost != 2-0.5+6+2+2+3+0.75+2 || adjustment != -0.25 {
		t.Errorf("cost %v, adjustment %v", cost, adjustment)
	}
	without := assets.List(s, assets.Options{WithoutAdjustments: true, Filter: func(a *allocation.Asset) bool { return a.Type == allocation.NodeAsset }})
	if cost, adjustment := without.TotalCost(); cost != 8 || adjustment != 0 || len(without.Assets) != 2 {
		t.Errorf("%d nodes, cost %v, adjustment %v", len(without.Assets), cost, adjustment)
	}
}

// TestMergeAssets merges assets by dimensions: fractions are weighted means, and the set does not change.
func TestMergeAssets(t *testing.T) {
	s, untouched := assetSet(time.Unix(3600, 0).UTC(), allocation.NewDict()), assetSet(time.Unix(3600, 0).UTC(), allocation.NewDict())
	types := merged(t, s, "type")
	n := types["Node"]
	if n.Cost != 8 || n.Adjustment != -0.5 || n.Minutes() != 120 || n.Preemptible != 0.75 || n.Title != "" || n.Cluster != "a/b:c" {
		t.Errorf("nodes %+v", n)
	}
	if diff := cmp.Diff(map[string]string{"rack": "r"}, n.Labels); diff != "" {
		t.Error(diff)
	}
	d := n.Node
	// List prices are 4 and 6, hours of CPU 2 and 6.
	if d.Discount != 0.2 || d.Overhead[allocation.CPU] != 0.125 || d.CPUBreakdown != (allocation.Breakdown{Idle: 0.25, User: 0.75}) || d.InstanceType != "" || d.Pool != "p" || d.Hours[allocation.CPU] != 8 {
		t.Errorf("nodes %+v", d)
	}
	if d := types["Disk"].Disk; d.ByteHours != 16 || !math.IsNaN(d.UsedByteHours) || !math.IsNaN(d.UsedMax) || d.StorageClass != "ssd" || d.Name != "" {
		t.Errorf("disks %+v", d)
	}
	all := merged(t, s, "category,team")
	if a := all["Network/__unallocated__"]; a.Type != allocation.MixedAsset || a.Balancer != nil || a.Cost != 5 || a.Service != "Kubernetes" {
		t.Errorf("networks %+v", a)
	}
	if _, ok := all["Compute/red"]; !ok || len(merged(t, s, "label:team,label:none")) != 3 {
		t.Errorf("by team %v", all)
	}
	if diff := cmp.Diff(untouched.Nodes, s.Nodes); diff != "" {
		t.Errorf("the set was changed: %s", diff)
	}
}

func merged(t *testing.T, s *allocation.Set, aggregate string) map[string]allocation.Asset {
	t.Helper()
	keys, err := assets.ParseDimensions(aggregate, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]allocation.Asset{}
	total := 0.0
	for _, a := range assets.List(s, assets.Options{Aggregate: keys}).Assets {
		out[a.Name] = a
		total += a.TotalCost()
	}
	if want, _ := assets.List(s, assets.Options{}).TotalCost(); math.Abs(total-want) > 1e-9 {
		t.Errorf("by %s all cost %v, want %v", aggregate, total, want)
	}
	return out
}

func TestParseAssetDimensions(t *testing.T) {
	for text, want := range map[string]string{
		"typ": `did you mean "type"?`, "label:": "label:app", "type,": "unknown field", "namespace": "use one of account",
		strings.Repeat("type,", 100) + "type": "it has 101 fields, at most 100 are allowed",
	} {
		if _, err := assets.ParseDimensions(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := assets.ParseDimensions("team", allocation.LabelMapping{}); err == nil {
		t.Error("an alias of nothing is taken")
	}
	if keys, err := assets.ParseDimensions(" ", nil); keys != nil || err != nil {
		t.Errorf("got %v, %v", keys, err)
	}
	if keys, err := assets.ParseDimensions("Type, providerID, owner,label:a", nil); len(keys) != 4 || err != nil {
		t.Errorf("got %v, %v", keys, err)
	}
}

// TestAssetsByNodePool merges nodes and their own disks by pool.
func TestAssetsByNodePool(t *testing.T) {
	s := assetSet(time.Unix(0, 0).UTC(), allocation.NewDict())
	s.Nodes[1].Pool = ""
	s.Disks = append(s.Disks, allocation.Disk{Cluster: "a/b:c", Name: "n1", Local: true, Cost: 0.5}, allocation.Disk{Cluster: "other", Name: "n1", Local: true, Cost: 4})
	got := map[string]float64{}
	for name, a := range merged(t, s, "NodePool,type") {
		if a.Type <= allocation.DiskAsset {
			got[name] = a.TotalCost()
		}
	}
	want := map[string]float64{"p/Node": 1.5, "p/Disk": 0.5, "__undefined__/Node": 6, "__undefined__/Disk": 6}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
