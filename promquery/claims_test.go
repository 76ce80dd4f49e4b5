package promquery_test

import (
	"math"
	"regexp"
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
	none := steadily(-600, 7800, 0, "kube_node_status_capacity", "node", "n1", "resource", "nvidia_com_gpu", "unit", "integer")
	ofOther := append(slices.Clone(held[:4]), "container", "b", "dra_claim_name", "db-0-gpu")
	host := func(s promtest.Series, name string) promtest.Series {
		s.Labels[slices.Index(s.Labels, "Hostname")+1] = name
		return s
	}
	until := func(second int, s promtest.Series) promtest.Series {
		s.Samples = s.Samples[:(second+600)/30]
		return s
	}
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
		{"an exporter that names its own pod as the host", one, []promtest.Series{claim("gpu"), host(gpu("a", 0.4, held...), "dcgm-exporter-x")}, 2, 2},
		{"a capacity of none and a count", one, []promtest.Series{claim("gpu"), request, none, count(2)}, 2, 4},
		{"a capacity of none, and exporters", one, []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), none}, 2, 2},
		{"a slice by labels of the claim", one, []promtest.Series{claim("gpu"), gpu("a", 0.1, append(held[:8:8], "dra_mig_profile", "3g.20gb", "dra_mig_device_uuid", "MIG-1")...), count(1)}, 6. / 7, 2},
		{"one device of two containers", append(one[:1:1], reserving{"b", -3600, 9000, 0.5, 0.1, false}), []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), gpu("a", 0.4, ofOther...), count(2)}, 2, 4},
		{"one device of two containers, which is busy", append(one[:1:1], reserving{"b", -3600, 9000, 0.5, 0.1, false}), []promtest.Series{claim("gpu"), gpu("a", 0.9, held...), gpu("a", 0.9, ofOther...), count(2)}, 2, 4},
		{"one device of two containers, one of which ends", append(one[:1:1], reserving{"b", -3600, 3600, 0.5, 0.1, false}), []promtest.Series{claim("gpu"), gpu("a", 0.4, held...), until(3600, gpu("a", 0.4, ofOther...)), count(2)}, 2, 4},
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

// TestClaimsOfPods checks what pods on two nodes of one GPU each are charged for claims, and that their hours add up.
func TestClaimsOfPods(t *testing.T) {
	t.Parallel()
	exported := func(pod string, from int) promtest.Series {
		return steadily(from, 7800, 0.4, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "UUID", "GPU-"+pod[:2], "modelName", "A100", "Hostname", pod[:2], "namespace", "ml", "pod", pod, "container", "c", "dra_claim_name", pod)
	}
	both := exported("n1-b", -600) // of the claim that n1-a has, too
	both.Labels[3] = "GPU-n1"
	for _, tt := range []struct {
		name   string
		claims map[string]string // by pods, whose names begin with their node's
		ends   int               // of all but the first pod
		series []promtest.Series
		want   map[string]float64 // GPU hours
	}{
		{"one each", map[string]string{"n1-a": "x", "n2-a": "y"}, 9000, nil, map[string]float64{"n1-a": 2, "n2-a": 2}},
		{"one of two pods", map[string]string{"n1-a": "x", "n1-b": "x"}, 9000, nil, map[string]float64{"n1-a": 1, "n1-b": 1}},
		{"one of two pods, one of which has ended", map[string]string{"n1-a": "x", "n1-b": "x"}, 3600, nil, map[string]float64{"n1-a": 1.5, "n1-b": 0.5}},
		{"a claim whose name is not known yet", map[string]string{"n1-a": "", "n2-a": ""}, 9000, nil, map[string]float64{"n1-a": 2, "n2-a": 2}},
		{"one of two pods, and an exporter", map[string]string{"n1-a": "x", "n1-b": "x"}, 9000, []promtest.Series{exported("n1-a", -600), both}, map[string]float64{"n1-a": 1, "n1-b": 1}},
		{"an exporter on one of the nodes", map[string]string{"n1-a": "x", "n2-a": "y"}, 9000, []promtest.Series{exported("n1-a", -600)}, map[string]float64{"n1-a": 2, "n2-a": 2}},
		{"an exporter that comes later on one of the nodes", map[string]string{"n1-a": "x", "n2-a": "y"}, 9000, []promtest.Series{exported("n1-a", -600), exported("n2-a", 3000)}, map[string]float64{"n1-a": 2, "n2-a": 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var series []promtest.Series
			for _, n := range []string{"n1", "n2"} {
				series = append(series, steadily(-600, 7800, 1, "kube_node_info", "node", n), steadily(-600, 7800, 1, "node_gpu_count", "node", n), steadily(-600, 7800, 2, "node_gpu_hourly_cost", "node", n),
					steadily(-600, 7800, 16, "kube_node_status_capacity", "node", n, "resource", "cpu", "unit", "core"))
			}
			for pod, claim := range tt.claims {
				of, to := []string{"namespace", "ml", "pod", pod, "uid", "uid-" + pod}, 7800
				if pod != "n1-a" {
					to = min(to, tt.ends)
				}
				series = append(series, steadily(-600, 7800, 1, "kube_pod_info", append(of[:6:6], "node", pod[:2])...),
					steadily(-600, 7800, 1, "kube_pod_resourceclaim_info", append(of[:6:6], "claim_name", "gpu", "resourceclaim_name", claim)...),
					steadily(-600, to, 1, "kube_pod_container_status_running", append(of[:6:6], "container", "c")...))
			}
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, append(series, tt.series...)...)
			db := openBlocks(t, dir)
			for _, resolution := range []time.Duration{0, time.Minute} {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
				set := compute(t, db, q)[0]
				for row := range set.Len() {
					pod := set.Text(allocation.Pod, row)
					if got := set.Value(allocation.Hours.Of(allocation.GPU), row); math.Abs(got-tt.want[pod]) > 0.02 {
						t.Errorf("%s: %s has %.3f GPU hours, want %.3f", allocation.ResolutionText(resolution), pod, got, tt.want[pod])
					}
				}
				nodesConserve(t, set)
				q.Step = time.Hour
				partsAddUp(t, db, q, regexp.MustCompile("gpu idle")) // which is rounding where nothing is left
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
