package democluster_test

import (
	"testing"

	"github.com/promcost/promcost/promquery/democluster"
)

func sharesOfGPUs(t *testing.T, d data) {
	capacity := map[string]float64{}
	for _, s := range d.name(t, "kube_node_status_capacity", "unit", "integer") {
		capacity[s.labels["resource"]] = s.points[0].v
	}
	count := d.name(t, "node_gpu_count", "instance_type", "g7e.8xlarge")
	if capacity["nvidia_com_gpu"] != 2 || capacity["nvidia_com_mig_1g_5gb"] != 7 || capacity["nvidia_com_gpu_shared"] != 4 || count[0].points[0].v != 4 {
		t.Fatalf("a GPU node has %v, worth %v", capacity, values(count[0]))
	}
	usage := gpuUsage(t, d)
	resources, kinds := map[string]int{}, map[string]int{}
	for i := range d.truth.Containers {
		x := &d.truth.Containers[i]
		if (x.GPU == nil) != (x.GPUCost == 0) {
			t.Errorf("%s: GPU %v costs %v", x.Pod, x.GPU, x.GPUCost)
		}
		if x.GPU == nil {
			continue
		}
		resources[x.GPU.Resource]++
		if relative(x.GPU.RequestHours, x.GPUHours) > 1e-12 || relative(x.GPUHours, x.RunningSeconds/3600*x.GPU.Devices) > 1e-12 || x.GPU.UsageHours > x.GPU.RequestHours {
			t.Errorf("%s: %v GPU hours, %+v", x.Pod, x.GPUHours, *x.GPU)
		}
		key := x.Namespace + "/" + x.Pod + "/" + x.Container
		u, ok := usage[key]
		if ok != x.GPU.Observed || x.GPU.Shared == ok {
			t.Errorf("%s is observed: %v, %+v", key, ok, *x.GPU)
		}
		if ok && x.RunningSeconds > 1200 && !endsUnseen(d.truth, x) {
			kinds[u.metric]++
			if got := u.ratio * x.GPU.Devices / x.GPU.Requested; relative(got, x.GPU.UsageHours) > 0.05 {
				t.Errorf("%s: samples give %v GPU hours of usage, the truth is %v", key, got, x.GPU.UsageHours)
			}
		}
	}
	if resources["nvidia_com_gpu"] < 2 || resources["nvidia_com_mig_1g_5gb"] < 4 || resources["nvidia_com_gpu_shared"] != 3 {
		t.Errorf("containers by resource: %v", resources)
	}
	if kinds["DCGM_FI_PROF_GR_ENGINE_ACTIVE"] < 3 || kinds["DCGM_FI_DEV_GPU_UTIL"] < 2 {
		t.Errorf("containers by metric: %v", kinds)
	}
}

type gpuSeries struct {
	metric string
	ratio  float64 // summed over slices, × hours
}

// gpuUsage reads the DCGM exporter by namespace/pod/container, and checks that no two containers have one GPU or slice at a time.
func gpuUsage(t *testing.T, d data) map[string]gpuSeries {
	t.Helper()
	out := map[string]gpuSeries{}
	taken := map[string]map[int64]bool{}
	for _, row := range []struct {
		metric, prefix string
		unit           float64
	}{{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "exported_", 1}, {"DCGM_FI_DEV_GPU_UTIL", "", 100}} {
		for _, s := range d.name(t, row.metric) {
			key := s.labels[row.prefix+"namespace"] + "/" + s.labels[row.prefix+"pod"] + "/" + s.labels[row.prefix+"container"]
			device := s.labels["UUID"] + s.labels["GPU_I_ID"]
			if taken[device] == nil {
				taken[device] = map[int64]bool{}
			}
			for _, p := range s.points {
				if isStale(p) {
					continue
				}
				if p.v < 0 || p.v > row.unit || taken[device][p.t] {
					t.Fatalf("%v is %v at %d, taken: %v", s.labels, p.v, p.t, taken[device][p.t])
				}
				taken[device][p.t] = true
			}
			sum := out[key]
			sum.metric, sum.ratio = row.metric, sum.ratio+integrateLast(s, d.from, d.to)/row.unit
			out[key] = sum
		}
	}
	return out
}

// TestGPUsOfLargeClusters checks that a GPU node has room for its pods, also if there are several.
func TestGPUsOfLargeClusters(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 110, Pods: 2000, Duration: clusters()["60 nodes"].Duration})
	tr := c.Truth(c.Start(), c.End())
	nodes := map[string]int{}
	for _, x := range tr.Containers {
		if x.GPU != nil {
			nodes[x.Node]++
		}
	}
	if len(nodes) != 3 {
		t.Errorf("containers with GPUs by node: %v", nodes)
	}
}
