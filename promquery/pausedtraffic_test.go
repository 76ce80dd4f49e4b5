package promquery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestTrafficOfPausingPods checks that the traffic of a pod adds up over hours if its only container pauses between runs, as in
// back-off, while its counter rises.
func TestTrafficOfPausingPods(t *testing.T) {
	t.Parallel()
	const job = "kube-state-metrics"
	for _, pod := range []struct{ run, pause int }{{600, 150}, {45, 300}, {90, 700}, {300, 1500}} {
		runs := func(second int) float64 {
			if second%(pod.run+pod.pause) < pod.run {
				return 1
			}
			return 0
		}
		starts := func(second int) float64 {
			return float64(lifeStart.Unix()) + float64(second-second%(pod.run+pod.pause))
		}
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour,
			life(0, 14400, always(1), "kube_node_info", "node", "n1", "job", job),
			life(0, 14400, always(4), "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core", "job", job),
			life(0, 14400, always(1), "kube_pod_info", "node", "n1", "job", job),
			life(0, 14400, runs, "kube_pod_container_status_running", "container", "main", "job", job),
			life(0, 14400, starts, "kube_pod_container_state_started", "container", "main", "job", job),
			life(0, 14400, func(second int) float64 { return 1000 * float64(second) }, "container_network_transmit_bytes_total", "interface", "eth0", "job", "kubelet"),
		)
		db := openBlocks(t, dir)
		for _, resolution := range []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute} {
			t.Run(fmt.Sprintf("runs for %d s, pauses for %d s, %s", pod.run, pod.pause, allocation.ResolutionText(resolution)), func(t *testing.T) {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(4 * time.Hour)}, Resolution: resolution, Step: time.Hour}
				partsAddUp(t, db, q, nil)
				if resolution == 0 {
					q.Step = 41*time.Minute + 7*time.Second
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}
