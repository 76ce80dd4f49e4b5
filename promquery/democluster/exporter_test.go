package democluster_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

func sidecars(t *testing.T, d data) {
	always := map[string]bool{}
	for _, s := range d.name(t, "kube_pod_init_container_info", "restart_policy", "Always") {
		always[s.labels["uid"]+"/"+s.labels["container"]] = true
	}
	running := map[string]timeSeries{}
	for _, s := range d.name(t, "kube_pod_init_container_status_running") {
		running[s.labels["uid"]+"/"+s.labels["container"]] = s
	}
	found := 0
	for _, x := range d.truth.Containers {
		key := x.UID + "/" + x.Container
		if x.Sidecar != always[key] {
			t.Errorf("%s/%s is a sidecar: %v, its restart policy is Always: %v", x.Pod, x.Container, x.Sidecar, always[key])
		}
		if !x.Sidecar {
			continue
		}
		found++
		got := integrateLast(running[key], d.from, d.to) * 3600
		if x.Init || x.CPURequestCoreHours == 0 || got < x.RunningSeconds-13*60 || got > x.RunningSeconds+60 {
			t.Errorf("sidecar %s ran %v s, by its samples %v", x.Pod, x.RunningSeconds, got)
		}
		if n := len(d.name(t, "kube_pod_container_info", "uid", x.UID, "container", x.Container)); n > 0 {
			t.Errorf("sidecar %s is told as a main container too", x.Pod)
		}
	}
	if found < 5 {
		t.Errorf("%d sidecars", found)
	}
}

func pendingPods(t *testing.T, d data) {
	scheduled := map[string]float64{}
	for _, s := range d.name(t, "kube_pod_status_scheduled_time") {
		scheduled[s.labels["uid"]] = s.points[0].v
	}
	started := map[string]*democluster.ContainerTruth{}
	for i := range d.truth.Containers {
		x := &d.truth.Containers[i]
		started[x.UID+"/"+x.Container] = x
		if at := scheduled[x.UID]; int64(at) != x.Scheduled.Unix() || x.Scheduled.After(x.LifeStart) {
			t.Errorf("%s was scheduled at %v, by its samples at %v, and started at %s", x.Pod, x.Scheduled, at, x.LifeStart)
		}
	}
	waited := 0
	for _, p := range d.truth.Pending {
		x := started[p.UID+"/"+p.Container]
		if x == nil || p.Start.Before(d.from) || x.Scheduled.After(d.from) && !p.Start.Equal(x.Scheduled) || !p.End.Equal(x.LifeStart) {
			t.Fatalf("%+v of %+v", p, x)
		}
		wait, hours := p.End.Sub(p.Start).Hours(), x.RunningSeconds/3600
		if x.RAMRequestByteHours == x.RAMByteHours && relative(p.RAMCost*hours, x.RAMCost*wait) > 1e-9 {
			t.Errorf("%s cost %v while pending, %v while running", x.Pod, p.RAMCost, x.RAMCost)
		}
		if wait > 110.0/3600 {
			waited++
			if x.Controller != "batch-scoring" || p.CPUCost <= 0 || p.GPUCost <= 0 {
				t.Errorf("%+v", p)
			}
		}
	}
	if waited < 8 {
		t.Errorf("%d pods waited for minutes", waited)
	}
}

func breakdowns(t *testing.T, d data) {
	compared := 0
	for _, n := range d.truth.Nodes {
		modes := map[string]float64{}
		for _, s := range d.name(t, "node_cpu_seconds_total", "instance", n.Name) {
			modes[s.labels["mode"]] += increase(s)
		}
		if (n.CPUBreakdown == nil) != (len(modes) == 0) || (n.RAMBreakdown == nil) != (n.CPUBreakdown == nil) {
			t.Fatalf("node %s: %v, %+v", n.Name, modes, n.CPUBreakdown)
		}
		if n.CPUBreakdown == nil {
			continue
		}
		compared++
		all := modes["idle"] + modes["iowait"] + modes["system"] + modes["user"]
		memory := func(name string) float64 {
			return integrateLast(d.name(t, "node_memory_"+name+"_bytes", "instance", n.Name)[0], d.from, d.to)
		}
		cache, total, available := memory("Buffers")+memory("Cached"), memory("MemTotal"), memory("MemAvailable")
		for _, row := range []struct {
			name      string
			got, want democluster.BreakdownTruth
		}{
			{"cpu", democluster.BreakdownTruth{Idle: modes["idle"] / all, Other: modes["iowait"] / all, System: modes["system"] / all, User: modes["user"] / all}, *n.CPUBreakdown},
			{"ram", democluster.BreakdownTruth{Idle: (available - cache) / total, Other: cache / total, User: 1 - available/total}, *n.RAMBreakdown},
		} {
			for _, pair := range [][2]float64{{row.got.Idle, row.want.Idle}, {row.got.Other, row.want.Other}, {row.got.System, row.want.System}, {row.got.User, row.want.User}} {
				if relative(pair[0], pair[1]) > 0.01 || pair[0] < 0 {
					t.Errorf("node %s: %s: samples give %+v, the truth is %+v", n.Name, row.name, row.got, row.want)
				}
			}
		}
	}
	if compared < 3 || compared == len(d.truth.Nodes) {
		t.Errorf("%d nodes have a node exporter", compared)
	}
}

// TestClockChange checks the days of a window in which clocks change: the sums of its days are those of the whole.
func TestClockChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	midnight := func(day int) time.Time { return time.Date(2026, 3, day, 0, 0, 0, 0, berlin) }
	c := plan(t, democluster.Config{End: midnight(31), Duration: 72 * time.Hour})
	whole, parts := 0.0, 0.0
	for _, n := range c.Truth(midnight(28), midnight(31)).Nodes {
		whole += n.RAMByteHours
	}
	for day, hours := range map[int]float64{28: 24, 29: 23, 30: 24} {
		tr := c.Truth(midnight(day), midnight(day+1))
		sharesConserve(t, tr)
		if got := tr.ClusterManagement[0].Hours; got != hours {
			t.Errorf("%d March has %v hours, want %v", day, got, hours)
		}
		for _, n := range tr.Nodes {
			parts += n.RAMByteHours
		}
	}
	if relative(whole, parts) > 1e-9 {
		t.Errorf("the days add up to %v byte-hours, the whole has %v", parts, whole)
	}
}
