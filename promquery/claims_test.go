package promquery_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestDevicesByClaims checks what pods are charged for GPUs that they hold by claims (dynamic resource allocation, SEMANTICS §3), on nodes whose
// capacity does not tell of devices.
func TestDevicesByClaims(t *testing.T) {
	t.Parallel()
	const uid = "44440000-0000-4000-8000-000000000000"
	of := []string{"namespace", "db", "pod", "db-0", "uid", uid}
	claim := func(name string) promtest.Series {
		return steadily(-600, 7800, 1, "kube_pod_resourceclaim_info", append(of[:6:6], "claim_name", name, "resourceclaim_name", "db-0-"+name)...)
	}
	gpu := func(uuid string, use float64, labels ...string) promtest.Series {
		return steadily(-600, 7800, use, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", append([]string{"UUID", uuid, "gpu", uuid, "modelName", "A100", "Hostname", "n1"}, labels...)...)
	}
	held := []string{"namespace", "db", "pod", "db-0", "container", "a", "dra_claim_name", "db-0-gpu"}
	slice := append(held[:8:8], "GPU_I_ID", "1", "GPU_I_PROFILE", "3g.20gb")
	count := func(n float64) promtest.Series {
		return steadily(-600, 7800, n, "node_gpu_count", "node", "n1", "instance", "n1")
	}
	capacity := steadily(-600, 7800, 2, "kube_node_status_capacity", "node", "n1", "resource", "nvidia_com_gpu", "unit", "integer")
	request := steadily(-600, 7800, 1, "kube_pod_container_resource_requests", append(of[:6:6], "container", "a", "resource", "nvidia_com_gpu", "unit", "integer", "node", "n1")...)
	one := []reserving{{"a", -3600, 9000, 0.5, 0.1, false}}
	for _, tt := range []struct {
		name       string
		containers []reserving
		series     []promtest.Series
		want, node float64 // GPU hours of the pod and of the node
	}{
		{"only exporters know of devices", one, []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), gpu("b", 0)}, 2, 4},
		{"a count", one, []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), count(4)}, 2, 8},
		{"a count of none", one, []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), count(0)}, 2, 2},
		{"capacity and a count", one, []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), capacity, count(4)}, 2, 4},
		{"two devices by one claim", one, []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), gpu("b", 0, held...)}, 4, 4},
		{"a slice", one, []promtest.Series{claim("gpu"), gpu("a", 0.1, slice...), count(1)}, 6. / 7, 2},
		{"no exporter of devices", one, []promtest.Series{claim("gpu"), count(4)}, 2, 8},
		{"two claims, two containers, no exporter", append(one[:1:1], reserving{"b", -3600, 9000, 0.5, 0.1, false}), []promtest.Series{claim("gpu"), claim("other"), count(4)}, 4, 8},
		{"another claim beside that of a GPU", one, []promtest.Series{claim("gpu"), claim("nic"), gpu("a", 0.4, held...), count(4)}, 2, 8},
		{"a request that a claim serves", one, []promtest.Series{claim("gpu"), request, gpu("a", 0.4, held...), count(1)}, 2, 2},
		{"a request that a claim serves, no exporter", one, []promtest.Series{claim("gpu"), request, count(1)}, 2, 2},
		{"a claim on a node without GPUs", one, []promtest.Series{claim("nic")}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			series := slices.Concat(reservesNode(), tt.series, []promtest.Series{steadily(-600, 7800, 1, "kube_pod_info", append(of[:6:6], "node", "n1")...), steadily(-600, 7800, 2, "node_gpu_hourly_cost", "node", "n1")})
			for _, c := range tt.containers {
				series = append(series, c.series()...)
			}
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			db := openBlocks(t, dir)
			for _, resolution := range []time.Duration{0, time.Minute} {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
				set := compute(t, db, q)[0]
				hours, cost := 0.0, 0.0
				for row := range set.Len() {
					hours, cost = hours+set.Value(allocation.Hours.Of(allocation.GPU), row), cost+set.Value(allocation.Cost.Of(allocation.GPU), row)
				}
				if math.Abs(hours-tt.want) > 0.02 || math.Abs(cost-2*tt.want) > 0.04 || math.Abs(set.Nodes[0].Hours[allocation.GPU]-tt.node) > 0.02 {
					t.Errorf("%s: %.3f GPU hours for %.3f of %.3f, want %.3f for %.3f of %.3f", allocation.ResolutionText(resolution), hours, cost, set.Nodes[0].Hours[allocation.GPU], tt.want, 2*tt.want, tt.node)
				}
				nodesConserve(t, set)
				q.Step = time.Hour
				partsAddUp(t, db, q, nil)
			}
		})
	}
}

// TestNamesOfGPUs checks which extended resources are GPUs, and what is said of those that look like some.
func TestNamesOfGPUs(t *testing.T) {
	t.Parallel()
	const resource = "google_com_tpu"
	of := []string{"namespace", "db", "pod", "db-0", "uid", "44440000-0000-4000-8000-000000000000"}
	series := slices.Concat(reservesNode(), reserving{"a", -3600, 9000, 0.5, 0.1, false}.series(), []promtest.Series{
		steadily(-600, 7800, 1, "kube_pod_info", append(of[:6:6], "node", "n1")...),
		steadily(-600, 7800, 4, "kube_pod_container_resource_requests", append(of[:6:6], "container", "a", "resource", resource, "unit", "integer", "node", "n1")...),
		steadily(-600, 7800, 3000, "kube_pod_container_resource_requests", append(of[:6:6], "container", "a", "resource", "nvidia_com_gpumem", "unit", "integer", "node", "n1")...),
		steadily(-600, 7800, 4, "kube_node_status_capacity", "node", "n1", "resource", resource, "unit", "integer"),
		steadily(-600, 7800, 2, "node_gpu_hourly_cost", "node", "n1"),
	})
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	db := openBlocks(t, dir)
	for _, tt := range []struct {
		names []string
		hours float64
	}{{nil, 0}, {[]string{"example.com/gpu"}, 0}, {[]string{"google.com/tpu"}, 8}, {[]string{"example.com/gpu", "google.com/*"}, 8}} {
		cfg := config
		cfg.GPUResources = tt.names
		sets, err := promquery.NewEngine(db, cfg).Compute(t.Context(), allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := sets[0].Value(allocation.Hours.Of(allocation.GPU), 0); math.Abs(got-tt.hours) > 1e-6 {
			t.Errorf("%q: %v GPU hours, want %v", tt.names, got, tt.hours)
		}
		said := slices.ContainsFunc(sets[0].Warnings, func(w string) bool { return strings.Contains(w, "db/db-0/a: "+resource) })
		if said != (tt.hours == 0) || slices.ContainsFunc(sets[0].Warnings, func(w string) bool { return strings.Contains(w, "gpumem") }) {
			t.Errorf("%q: warnings %q", tt.names, sets[0].Warnings)
		}
	}
}
