package promquery_test

import (
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestStartByCadvisor checks that containers begin with container_start_time_seconds, with the labels of current and of old
// kubelets, if kube-state-metrics has no start.
func TestStartByCadvisor(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	start := end.Add(-90*time.Minute - 20*time.Second)
	const id = "/kubepods/burstable/pod0f2d3c1a-0000-4000-8000-000000000001/abc"
	for _, tt := range []struct {
		name   string
		labels []string
	}{
		{"current", []string{"namespace", "shop", "pod", "web-0", "container", "app", "id", id}},
		{"kubelets before 1.16", []string{"namespace", "shop", "pod_name", "web-0", "container_name", "app", "id", id}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			series := func(name string, from time.Time, v float64, labels ...string) promtest.Series {
				value := func(int64) float64 { return v }
				return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: promtest.Regular(from.UnixMilli(), end.UnixMilli(), 30_000, value)}
			}
			first := end.Add(-90 * time.Minute)
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour,
				series("kube_node_info", end.Add(-4*time.Hour), 1, "node", "n1"),
				series("container_memory_working_set_bytes", first, 1<<30, "namespace", "shop", "pod", "web-0", "container", "app", "id", id),
				series("container_start_time_seconds", first, float64(start.Unix()), tt.labels...),
			)
			q := allocation.Query{Window: allocation.Window{Start: end.Add(-2 * time.Hour), End: end}}
			s := compute(t, openBlocks(t, dir), q)[0]
			if s.Len() != 1 {
				t.Fatalf("%d allocations, want 1", s.Len())
			}
			if got, want := s.Value(allocation.RunningSeconds, 0), end.Sub(start).Seconds(); math.Abs(got-want) > 0.001 {
				t.Errorf("ran for %v s, want %v", got, want)
			}
		})
	}
}
