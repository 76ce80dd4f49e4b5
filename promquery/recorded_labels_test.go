package promquery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest"
)

// computeRecorded computes the time of a recording.
func computeRecorded(t *testing.T, r promtest.Recording) *allocation.Set {
	t.Helper()
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, r.Samples("job", "kube-state-metrics", "instance", "ksm:8080")...)
	first, last := time.UnixMilli(r.Scrapes[0]), time.UnixMilli(r.Scrapes[len(r.Scrapes)-1])
	return compute(t, openBlocks(t, dir), allocation.Query{Window: allocation.Window{Start: first, End: last}, Resolution: last.Sub(first) / time.Duration(len(r.Scrapes)-1)})[0]
}

// TestLabelsOfKubeStateMetrics aggregates by labels and annotations with capitals, dots and collisions, as a real
// kube-state-metrics exports them; the names and values are those of promtest's objects.yaml.
func TestLabelsOfKubeStateMetrics(t *testing.T) {
	set := computeRecorded(t, promtest.Recorded(t, "kube-state-metrics-allowlists"))
	spot := map[string]bool{}
	for i := range set.Nodes {
		spot[set.Nodes[i].Name] = set.Nodes[i].Spot
	}
	if diff := cmp.Diff(map[string]bool{
		"ip-10-0-1-11.eu-west-1.compute.internal": true, "ip-10-0-2-22.eu-west-1.compute.internal": false, "ip-10-0-3-33.eu-west-1.compute.internal": false,
	}, spot); diff != "" {
		t.Errorf("spot nodes (-want +got):\n%s", diff)
	}
	for aggregate, want := range map[string][]string{
		"label:Team":                             {"Team=Checkout", "Team=Data", "Team=Frontend", "Team=Platform", "__unallocated__"}, // batch was of Data before it was of Platform
		"label:app.kubernetes.io/name":           {"__unallocated__", "app_kubernetes_io_name=web"},
		"label:env.example.com/stage":            {"__unallocated__", "env_example_com_stage=Prod"},
		"annotation:example.com/onCall":          {"__unallocated__", "example_com_onCall=alice"},
		"annotation:example.com/Owner":           {"__unallocated__", "example_com_Owner=shop@example.com"},
		"label:costCenter":                       {"__unallocated__", "costCenter=CC-42"}, // the labels of web collide
		"label:costCenter,label:cost-center":     {"__unallocated__/__unallocated__", "costCenter=CC-42/cost_center=CC-42", "costCenter=a-side/cost_center=b-side"},
		"label:cost_center_conflict1":            {"__unallocated__", "cost_center_conflict1=b-side"},
		"label:kubernetes.io/metadata.name":      {"kubernetes_io_metadata_name=batch", "kubernetes_io_metadata_name=kube-system", "kubernetes_io_metadata_name=shop"},
		"label:node.kubernetes.io/instance-type": {"node_kubernetes_io_instance_type=g5.4xlarge", "node_kubernetes_io_instance_type=m5.2xlarge", "node_kubernetes_io_instance_type=m5.xlarge"},
		"label:eks.amazonaws.com/capacityType":   {"__unallocated__", "eks_amazonaws_com_capacityType=ON_DEMAND", "eks_amazonaws_com_capacityType=SPOT"},
		"label:eks_amazonaws_com_capacity_type":  {"__unallocated__", "eks_amazonaws_com_capacity_type=ON_DEMAND", "eks_amazonaws_com_capacity_type=SPOT"},
	} {
		t.Run(aggregate, func(t *testing.T) {
			keys, err := allocation.ParseKeys(aggregate, nil)
			if err != nil {
				t.Fatal(err)
			}
			sums, err := passes.Apply([]*allocation.Set{set}, passes.Options{Aggregate: keys, Filter: workloads{}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for row := range sums[0].Len() {
				got = append(got, sums[0].Name(row))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// workloads is a filter that selects all of them.
type workloads struct{}

func (workloads) Needs() *allocation.Projection { return allocation.OfRows(nil) }

func (workloads) Bind(s *allocation.Set) (func(row int) bool, error) {
	return func(row int) bool { return s.Special(row) == allocation.Workload }, nil
}

// TestServicesOfKubeStateMetrics checks that what kube-state-metrics exports by default says which pods are behind services:
// the cost of load balancers reaches them.
func TestServicesOfKubeStateMetrics(t *testing.T) {
	for _, name := range []string{"kube-state-metrics", "kube-state-metrics-allowlists"} {
		t.Run(name, func(t *testing.T) {
			r := promtest.Recorded(t, name)
			if len(r.Scrapes) == 1 {
				at := promtest.Recorded(t, "kube-state-metrics-allowlists").Scrapes
				r = r.Held(at)
			}
			set := computeRecorded(t, r)
			want := map[string][]string{"shop/db-headless": {"db-0"}, "shop/web": {"web", "web", "web", "web"}} // two containers each
			got, cost := map[string][]string{}, map[string]float64{}
			for row := range set.Len() {
				for _, id := range set.List(allocation.Services, row) {
					service := set.Text(allocation.Namespace, row) + "/" + set.Dict().Text(id)
					pod := set.Text(allocation.Pod, row)
					if set.Text(allocation.Controller, row) == "web" {
						pod = "web"
					}
					got[service] = append(got[service], pod)
				}
				for _, share := range set.LoadBalancerShares(row) {
					cost[fmt.Sprint(set.Dict().Text(share.Service), " of ", set.Text(allocation.Controller, row))] += share.Cost
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("services (-want +got):\n%s", diff)
			}
			if len(cost) != 2 || cost["shop/web of web"] <= 0 || cost["shop/web of web"] != cost["shop/idle-balancer of "] {
				t.Errorf("costs of load balancers: %v", cost)
			}
		})
	}
}
