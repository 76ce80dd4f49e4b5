package democluster_test

import (
	"math"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/democluster"
)

// samplesAgreeWithTruth integrates the raw samples in the plainest way and compares with the analytic integrals: of every container
// that ran without a break for an hour or more within the window. When it ran is taken from the truth.
func samplesAgreeWithTruth(t *testing.T, d data) {
	cpu, ram := d.byContainer(t, "container_cpu_usage_seconds_total"), d.byContainer(t, "container_memory_working_set_bytes")
	worst := map[string]float64{}
	checked := 0
	for _, ct := range d.truth.Containers {
		if ct.RunningSeconds < 3600 || ct.RunningSeconds < ct.End.Sub(ct.Start).Seconds() {
			continue
		}
		checked++
		hours := ct.RunningSeconds / 3600
		key := ct.UID + "/" + ct.Container
		for _, row := range []struct {
			name      string
			got, want float64
		}{
			{"cpu", integrateCounter(cpu[key], ct, ct.CPURequestCoreHours/hours), ct.CPUCoreHours},
			{"cpu usage", integrateCounter(cpu[key], ct, 0), ct.CPUUsageCoreHours},
			{"ram", integrateGauge(ram[key], ct, ct.RAMRequestByteHours/hours), ct.RAMByteHours},
			{"ram usage", integrateGauge(ram[key], ct, 0), ct.RAMUsageByteHours},
		} {
			off := relative(row.got, row.want)
			worst[row.name] = max(worst[row.name], off)
			if off > 0.005 {
				t.Errorf("%s/%s/%s: %s: samples give %v, the truth is %v: off by %.2f %%", ct.Namespace, ct.Pod, ct.Container, row.name, row.got, row.want, 100*off)
			}
		}
	}
	t.Logf("%d containers, worst: %v", checked, worst)
	if checked < 150 {
		t.Errorf("only %d containers were checked", checked)
	}
}

func (d data) byContainer(t *testing.T, metric string) map[string][]point {
	out := map[string][]point{}
	for _, s := range d.name(t, metric) {
		if s.labels["container"] == "" {
			continue
		}
		_, uid, _ := strings.Cut(s.labels["id"], "-pod")
		uid, _, _ = strings.Cut(uid, ".slice")
		key := strings.ReplaceAll(uid, "_", "-") + "/" + s.labels["container"]
		for _, p := range s.points {
			if !isStale(p) {
				out[key] = append(out[key], p)
			}
		}
	}
	return out
}

// integrateCounter returns ∫ max(request, Δcounter/Δt) in core-hours; the first and last rates hold to the edges.
func integrateCounter(points []point, ct democluster.ContainerTruth, request float64) (sum float64) {
	start, end := ct.Start.UnixMilli(), ct.End.UnixMilli()
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		from, to := a.t, b.t
		if i == 1 {
			from = start
		}
		if i == len(points)-1 {
			to = end
		}
		sum += max(request, (b.v-a.v)/float64(b.t-a.t)*1000) * float64(to-from) / 3.6e6
	}
	return sum
}

// integrateGauge returns ∫ max(request, gauge) in byte-hours; a sample holds until the next.
func integrateGauge(points []point, ct democluster.ContainerTruth, request float64) (sum float64) {
	for i, p := range points {
		from, to := p.t, ct.End.UnixMilli()
		if i == 0 {
			from = ct.Start.UnixMilli()
		}
		if i+1 < len(points) {
			to = points[i+1].t
		}
		sum += max(request, p.v) * float64(to-from) / 3.6e6
	}
	return sum
}

func cgroups(t *testing.T, d data) {
	for _, metric := range []string{"container_cpu_usage_seconds_total", "container_memory_working_set_bytes"} {
		kinds := map[string]int{}
		for _, s := range d.name(t, metric) {
			switch id := s.labels["id"]; {
			case id == "/":
				kinds["node"]++
			case s.labels["container"] == "":
				kinds["pod"]++
			default:
				kinds["container"]++
				if !strings.Contains(id, "-pod") || !strings.HasSuffix(id, s.labels["name"]+".scope") || s.labels["image"] == "" {
					t.Errorf("container cgroup %v", s.labels)
				}
			}
			offGrid, last := 0, math.Inf(-1)
			for _, p := range s.points {
				if !isStale(p) {
					if p.t%30_000 != s.points[0].t%30_000 {
						offGrid++
					}
					if metric == "container_cpu_usage_seconds_total" && p.v < last {
						t.Fatalf("counter falls from %v to %v at %d: %v", last, p.v, p.t, s.labels)
					}
					last = p.v
				}
			}
			if len(s.points) > 100 && offGrid < len(s.points)*9/10 {
				t.Errorf("%v: %d of %d timestamps are off the grid", s.labels, offGrid, len(s.points))
			}
		}
		if kinds["node"] != 11 || kinds["pod"] < 150 || kinds["container"] < kinds["pod"] {
			t.Errorf("%s: %v", metric, kinds)
		}
	}
}
