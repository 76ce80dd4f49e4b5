package promquery_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// anew is a container of life's pod when the pod was made anew: with another UID, seen from one second to another.
type anew struct {
	from, to int // of its samples
	started  int // as reported; noStart where it is not
}

const noStart = math.MinInt

// podsOfName are the series of pods of one name, the n-th with a UID that ends in n.
func podsOfName(pods ...anew) (out []promtest.Series) {
	const job = "kube-state-metrics"
	for n, p := range pods {
		of := func(name string, value func(int) float64, labels ...string) {
			s := life(p.from, p.to, value, name, append(labels, "job", job)...)
			s.Labels[slices.Index(s.Labels, "uid")+1] = fmt.Sprintf("0f2d3c1a-0000-4000-8000-%012d", 10+n)
			out = append(out, s)
		}
		of("kube_pod_info", always(1), "node", "n1", "created_by_kind", "Node", "created_by_name", "n1")
		of("kube_pod_container_status_running", always(1), "container", "etcd")
		of("kube_pod_container_resource_requests", always(0.1), "container", "etcd", "resource", "cpu", "unit", "core", "node", "n1")
		if p.started != noStart {
			of("kube_pod_start_time", moment(p.started))
			of("kube_pod_container_state_started", moment(p.started), "container", "etcd")
		}
	}
	return out
}

// TestSuccessions checks when pods of one name run that follow each other (SEMANTICS §2): in whole minutes or seconds, how long all of them
// ran, and that their hours add up. A container of theirs uses half a core all the time, which only the name of the pod connects with it.
func TestSuccessions(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return lifeStart.Add(time.Duration(second) * time.Second) }
	for name, tt := range map[string]struct {
		pods []anew
		want []float64 // seconds that each ran in exact mode
	}{
		"a static pod whose mirror is made anew":           {[]anew{{0, 3577, -7200}, {3607, 9000, -7200}}, []float64{3592, 3608}},
		"its mirror is made anew twice":                    {[]anew{{0, 2377, -7200}, {2407, 4777, -7200}, {4807, 9000, -7200}}, []float64{2392, 2400, 2408}},
		"a node whose clock is three minutes behind":       {[]anew{{0, 3577, -7200}, {3607, 9000, 3420}}, []float64{3592, 3608}},
		"a start after the last sight ends the pod before": {[]anew{{0, 3577, -7200}, {3607, 9000, 3585}}, []float64{3585, 3615}},
		"one scrape shows both":                            {[]anew{{0, 3607, -7200}, {3607, 9000, 3000}}, []float64{3622, 3893}},
		"the next one starts much later":                   {[]anew{{0, 1777, -7200}, {3607, 9000, 3600}}, []float64{1792, 3600}},
		"a start long before it is seen":                   {[]anew{{3607, 9000, 100}}, []float64{3893}}, // no further than the evidence
	} {
		series := append(podsOfName(tt.pods...),
			life(-600, 9000, always(1), "kube_node_info", "node", "n1", "job", "kube-state-metrics"),
			life(-600, 9000, always(4), "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core", "job", "kube-state-metrics"),
			inPod(1, life(-600, 9000, always(1), "kube_pod_container_status_running", "container", "other", "job", "kube-state-metrics")),
			life(0, 9000, func(second int) float64 { return float64(second+7200) / 2 }, "container_cpu_usage_seconds_total",
				"container", "etcd", "node", "n1", "id", "/kubepods.slice/kubepods-podc3d05bf7e9527688f7468ed3a0cf1a40.slice/cri-x.scope"),
		)
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
		db := openBlocks(t, dir)
		for _, resolution := range grids() {
			t.Run(fmt.Sprintf("%s %s", name, allocation.ResolutionText(resolution)), func(t *testing.T) {
				q := allocation.Query{Window: allocation.Window{Start: at(0), End: at(7200)}, Resolution: resolution}
				set := compute(t, db, q)[0]
				ran, cores, all := make([]float64, len(tt.pods)), 0.0, 0.0
				for row := range set.Len() {
					if set.Text(allocation.Container, row) != "etcd" {
						continue
					}
					uid := set.Text(allocation.PodUID, row)
					seconds := set.Value(allocation.RunningSeconds, row)
					ran[int(uid[len(uid)-1]-'0')] = seconds
					cores += set.Value(allocation.Hours.Of(allocation.CPU), row)
					all += seconds
				}
				switch {
				case resolution == 0 && !slices.Equal(ran, tt.want):
					t.Errorf("ran %v s, want %v s", ran, tt.want)
				case math.Abs(cores-all/3600/2) > 0.02:
					t.Errorf("used %.3f core hours in %.3f hours, want half of that", cores, all/3600)
				}
				for _, step := range []time.Duration{time.Hour, 20 * time.Minute} {
					q.Step = step
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}
