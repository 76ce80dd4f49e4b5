package encode_test

import (
	"bytes"
	"encoding/csv"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
)

// TestFOCUSResourceIDs verifies that charges name nodes, volumes and load balancers by the ids of the provider's bill, and by
// ids of promcost's own where such are not known or not unique.
func TestFOCUSResourceIDs(t *testing.T) {
	for _, tt := range []struct{ name, node, volume, wantNode, wantVolume string }{
		{"AWS", "aws:///eu-1a/i-1", "vol-1", "i-1", "vol-1"},
		{"AWS in-tree and EFS", "aws:///eu-1a/i-1", "fs-1:/x", "i-1", "fs-1:/x"},
		{"Google", "gce://p/z/node-a", "projects/p/zones/z/disks/d", "//compute.googleapis.com/projects/p/zones/z/instances/node-a", "projects/p/zones/z/disks/d"},
		{"Azure", "azure:///subscriptions/s/vm", "/subscriptions/s/disks/d", "/subscriptions/s/vm", "/subscriptions/s/disks/d"},
		{"own machines", "kind://docker/kind/node-a", "local-7", "c1/Node/node-a", "c1/Disk/pv-1"},
		{"no ids", "", "", "c1/Node/node-a", "c1/Disk/pv-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
			d := s.Dict()
			r := allocation.Row{Start: start, End: start.Add(time.Hour)}
			r.Text[allocation.Cluster], r.Text[allocation.NodeName], r.Text[allocation.ProviderID], r.Text[allocation.Pod] = "c1", "node-a", tt.node, "pod"
			r.Values[allocation.Cost.Of(allocation.CPU)], r.Values[allocation.PVCost], r.Values[allocation.LoadBalancerCost] = 1, 2, 3
			r.Volumes = []allocation.VolumeShare{{Key: d.Add(allocation.VolumeKey("c1", "pv-1")), ProviderID: d.Add(tt.volume), Cost: 2}}
			r.LoadBalancers = []allocation.LoadBalancerShare{{Key: d.Add(allocation.LoadBalancerKey("c1", "web", "front")), Service: d.Add("web/front"), IP: d.Add("10.0.0.1"), Cost: 3}}
			s.Append(&r)
			s.Nodes = []allocation.Node{{Cluster: "c1", Name: "node-a", ProviderID: tt.node, Start: r.Start, End: r.End, Cost: [allocation.NumResources]float64{1}}}
			var b bytes.Buffer
			f, err := encode.NewFOCUS(&b, "1.2", "USD")
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Write(s); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			records, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			at := slices.Index(records[0], "ResourceId")
			var got []string
			for _, record := range records[1:] {
				got = append(got, record[at])
			}
			if want := []string{tt.wantNode, tt.wantVolume, "c1/LoadBalancer/web/front"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
