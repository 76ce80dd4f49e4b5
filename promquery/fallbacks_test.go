package promquery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestFallbacksInOutages checks the fallbacks of a running signal that is missing for a while: infos of containers only where kube-state-metrics is not
// down, for kube_pod_info would else be there, and usage by cAdvisor in any case.
func TestFallbacksInOutages(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	window := allocation.Window{Start: start, End: start.Add(2 * time.Hour)}
	const scrape = 30_000
	from, to := start.Add(40*time.Minute).UnixMilli(), start.Add(60*time.Minute).UnixMilli()
	// steady is a series with a hole from from to to if holed is set.
	steady := func(v float64, holed bool, labels ...string) promtest.Series {
		s := promtest.Series{Labels: labels}
		for _, x := range promtest.Regular(start.UnixMilli()-10*scrape, window.End.UnixMilli(), scrape, func(int64) float64 { return v }) {
			if !holed || x.T <= from || x.T >= to {
				s.Samples = append(s.Samples, x)
			}
		}
		return s
	}
	for _, tt := range []struct {
		name  string
		holed func(metric string) bool
		infos bool    // are read
		hours float64 // that the container ran
	}{
		{"nothing is missing", func(string) bool { return false }, false, 2},
		{"only the running signal is", func(metric string) bool { return metric == "kube_pod_container_status_running" }, true, 2},
		{"all of kube-state-metrics is", func(metric string) bool { return strings.HasPrefix(metric, "kube_") }, false, 2},
		{"all is missing", func(string) bool { return true }, false, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := []string{"namespace", "shop", "pod", "web", "uid", "u1"}
			add := func(list []promtest.Series, v float64, metric string, labels ...string) []promtest.Series {
				return append(list, steady(v, tt.holed(metric), append(append([]string{"__name__", metric}, labels...), of...)...))
			}
			list := []promtest.Series{
				steady(1, tt.holed("kube_node_info"), "__name__", "kube_node_info", "node", "n1"),
				steady(4, tt.holed("kube_node_status_capacity"), "__name__", "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core"),
			}
			list = add(list, 1, "kube_pod_info", "node", "n1")
			list = add(list, 1, "kube_pod_status_phase", "phase", "Running")
			list = add(list, 1, "kube_pod_container_status_running", "container", "main")
			list = add(list, 1, "kube_pod_container_info", "container", "main")
			list = append(list, steady(1<<20, tt.holed("container_memory_working_set_bytes"), "__name__", "container_memory_working_set_bytes", "container", "main", "namespace", "shop", "pod", "web", "id", "/kubepods/podu1/c1"))
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
			for _, resolution := range grids() {
				s := compute(t, openBlocks(t, dir), allocation.Query{Window: window, Resolution: resolution})[0]
				if n := seriesRead(s, "kube_pod_container_info"); (n > 0) != tt.infos {
					t.Errorf("%v: %d infos were read, want some: %t", resolution, n, tt.infos)
				}
				hours := 0.0
				for row := range s.Len() {
					if s.Text(allocation.Pod, row) == "web" {
						hours += s.Value(allocation.RunningSeconds, row) / 3600
					}
				}
				if hours != tt.hours {
					t.Errorf("%v: it ran for %v h, want %v", resolution, hours, tt.hours)
				}
			}
		})
	}
}
