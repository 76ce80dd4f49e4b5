package promquery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// life is a series of a pod or container that was scraped every 30 s between two times, in seconds of a test's window, after
// which a staleness marker follows.
func life(from, to int, value func(second int) float64, name string, labels ...string) promtest.Series {
	out := promtest.Series{Labels: append([]string{"__name__", name, "namespace", "shop", "pod", "web-0", "uid", "0f2d3c1a-0000-4000-8000-000000000001"}, labels...)}
	for t := 7; t < to+30; t += 30 {
		switch at := lifeStart.Add(time.Duration(t) * time.Second).UnixMilli(); {
		case t > to:
			out.Samples = append(out.Samples, promtest.Stale(at))
		case t >= from:
			out.Samples = append(out.Samples, promtest.Sample{T: at, V: value(t)})
		}
	}
	return out
}

var lifeStart = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

func always(v float64) func(int) float64 { return func(int) float64 { return v } }

// moment is a time that Kubernetes reports.
func moment(second int) func(int) float64 { return always(float64(lifeStart.Unix()) + float64(second)) }

// usageOf is what cAdvisor tells of a container of life's pod.
func usageOf(container string, from, to int) []promtest.Series {
	of := []string{"container", container, "id", "/kubepods/pod0f2d3c1a-0000-4000-8000-000000000001/" + container}
	return []promtest.Series{
		life(from, to, always(1<<30), "container_memory_working_set_bytes", of...),
		life(from, to, moment(from), "container_start_time_seconds", of...),
	}
}

// lived is how long the containers of life's pod ran in two hours, with another pod beside it.
func lived(t *testing.T, resolution time.Duration, series ...promtest.Series) map[string]bounded {
	t.Helper()
	set, out := livedSet(t, resolution, series...), map[string]bounded{}
	for row := range set.Len() {
		out[set.Text(allocation.Container, row)] = bounded{set.Value(allocation.RunningSeconds, row), set.Value(allocation.LeastSeconds, row), set.Value(allocation.MostSeconds, row)}
	}
	return out
}

// livedSet are two hours of life's pod, with another pod beside it.
func livedSet(t *testing.T, resolution time.Duration, series ...promtest.Series) *allocation.Set {
	t.Helper()
	other := life(0, 7200, always(1), "kube_pod_container_status_running", "container", "other")
	other.Labels[slices.Index(other.Labels, "web-0")] = "other"
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, append(series, other, life(0, 7200, always(1), "kube_node_info", "node", "n1"))...)
	return compute(t, openBlocks(t, dir), allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution})[0]
}

// TestInitSeconds counts the time of init containers and native sidecars apart. Of a container that only cAdvisor shows nobody knows what it is.
func TestInitSeconds(t *testing.T) {
	running := func(container, metric string, from, to int) promtest.Series {
		return life(from, to, always(1), metric, "container", container)
	}
	pod := append(usageOf("debug", 1800, 3600), life(600, 4200, always(1), "kube_pod_info", "node", "n1"), running("main", "kube_pod_container_status_running", 1200, 4200),
		running("prepare", "kube_pod_init_container_status_running", 600, 1200), running("proxy", "kube_pod_init_container_status_running", 1200, 4200))
	for _, resolution := range grids() {
		set := livedSet(t, resolution, pod...)
		for row := range set.Len() {
			name, init := set.Text(allocation.Container, row), set.Value(allocation.InitSeconds, row)
			if want := set.Value(allocation.RunningSeconds, row); name != "prepare" && name != "proxy" && init != 0 || (name == "prepare" || name == "proxy") && (init != want || init == 0) {
				t.Errorf("%s at %s: ran %v s, %v of them as an init container", name, resolution, want, init)
			}
		}
		if set.Len() != 5 {
			t.Errorf("%d rows, want five containers", set.Len())
		}
	}
}

// TestSidecarWithoutStatus checks that a native sidecar with known requests is charged by other metrics of it if
// kube_pod_init_container_status_running is missing.
func TestSidecarWithoutStatus(t *testing.T) {
	const from, to = 600, 4200
	pod := []promtest.Series{
		life(from, to, always(1), "kube_pod_info", "node", "n1"),
		life(from, to, always(1), "kube_pod_status_phase", "phase", "Running"),
		life(from, to, always(1), "kube_pod_container_status_running", "container", "main"),
		life(from, to, always(0.5), "kube_pod_init_container_resource_requests", "container", "proxy", "resource", "cpu"),
	}
	info := []promtest.Series{life(from, to, always(1), "kube_pod_init_container_info", "container", "proxy", "restart_policy", "Always")}
	for name, series := range map[string][]promtest.Series{
		"info": info, "usage": usageOf("proxy", from, to), "both": slices.Concat(info, usageOf("proxy", from, to)),
	} {
		for _, resolution := range grids() {
			got, ok := lived(t, resolution, slices.Concat(pod, series)...)["proxy"]
			if !ok || !got.holds(to-from) || got.counted < 3500 {
				t.Errorf("%s at %s: ran %+v, want %d s", name, resolution, got, to-from)
			}
		}
	}
}

// TestInitByUsage checks that the completion of a pod does not end an init container that only cAdvisor shows.
func TestInitByUsage(t *testing.T) {
	pod := slices.Concat(usageOf("init", 600, 660), usageOf("main", 665, 1200), []promtest.Series{
		life(598, 3000, always(1), "kube_pod_info", "node", "n1"),
		life(598, 3000, always(1), "kube_pod_container_resource_requests", "container", "main", "resource", "cpu"),
		life(1200, 3000, moment(1200), "kube_pod_completion_time"),
	})
	request := life(598, 3000, always(1), "kube_pod_init_container_resource_requests", "container", "init", "resource", "cpu")
	for name, series := range map[string][]promtest.Series{"with a request": append(slices.Clone(pod), request), "without": pod} {
		for _, resolution := range grids() {
			got := lived(t, resolution, series...)
			for container, truth := range map[string]float64{"init": 60, "main": 535} {
				if x, ok := got[container]; !ok || !x.holds(truth) || x.counted > truth+60 {
					t.Errorf("%s at %s: %s ran %+v, want %v s", name, resolution, container, x, truth)
				}
			}
		}
	}
}
