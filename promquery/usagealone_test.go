package promquery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// inPod is a series of life as one of another pod.
func inPod(n int, s promtest.Series) promtest.Series {
	s.Labels[slices.Index(s.Labels, "pod")+1] = fmt.Sprintf("other-%d", n)
	s.Labels[slices.Index(s.Labels, "uid")+1] = fmt.Sprintf("0f2d3c1a-0000-4000-8000-%012d", n)
	return s
}

// TestUsageAlone checks that a container that only its usage shows runs while it has usage, whatever kube-state-metrics says about
// others, and that its hours add up.
func TestUsageAlone(t *testing.T) {
	t.Parallel()
	const job = "kube-state-metrics"
	usage := usageOf("debug", 1200, 4800)
	for i := range usage {
		usage[i].Labels = append(usage[i].Labels, "node", "n1")
	}
	info := life(0, 7200, always(1), "kube_pod_info", "node", "n1", "job", job)
	running := life(0, 7200, always(1), "kube_pod_container_status_running", "container", "main", "job", job)
	odd := inPod(3, life(6000, 6400, always(1), "kube_pod_info", "node", "n1", "job", job))
	same := slices.Concat(usage, []promtest.Series{
		life(0, 7200, always(1), "kube_node_info", "node", "n1", "job", job),
		life(0, 7200, always(4), "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core", "job", job),
		inPod(2, life(0, 7200, always(1), "kube_pod_info", "node", "n1", "job", job)),
		inPod(2, life(0, 7200, always(1), "kube_pod_container_status_running", "container", "main", "job", job)),
	})
	at := func(second int) time.Time { return lifeStart.Add(time.Duration(second) * time.Second) }
	for kind, series := range map[string][]promtest.Series{
		"an ephemeral container":                      append(slices.Clone(same), info, running),
		"a pod that kube-state-metrics does not show": same,
	} {
		for beside, series := range map[string][]promtest.Series{
			"nothing":                  series,
			"a pod without a status":   append(slices.Clone(series), odd),
			"an outage":                interrupted(series, down{from: at(3700), to: at(4300), job: job, marked: true}),
			"an outage over its start": interrupted(series, down{from: at(1000), to: at(1500), job: job}),
			"an outage over a border":  interrupted(series, down{from: at(3000), to: at(4000), job: job}),
			"both":                     interrupted(append(slices.Clone(series), odd), down{from: at(3700), to: at(4300), job: job}),
		} {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			db := openBlocks(t, dir)
			for _, resolution := range grids() {
				t.Run(fmt.Sprintf("%s, beside %s, %s", kind, beside, allocation.ResolutionText(resolution)), func(t *testing.T) {
					q := allocation.Query{Window: allocation.Window{Start: at(0), End: at(7200)}, Resolution: resolution}
					ran := 0.0
					set := compute(t, db, q)[0]
					for row := range set.Len() {
						if set.Text(allocation.Container, row) == "debug" {
							ran += set.Value(allocation.RunningSeconds, row)
						}
					}
					if ran != 3600 {
						t.Errorf("ran %v s, want 3600 s", ran)
					}
					q.Step = time.Hour
					partsAddUp(t, db, q, overOutages)
				})
			}
		}
	}
}
