package promquery_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestEvidenceOfRuns checks that inputs that are asked for only when needed reach their containers in exact mode: minutes by
// container. Scrapes are half a minute apart.
func TestEvidenceOfRuns(t *testing.T) {
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	unix := func(minute float64) float64 { return float64(start.Unix()) + minute*60 }
	series := func(name string, from, to, v float64, labels ...string) promtest.Series {
		at := func(minute float64) int64 { return start.UnixMilli() + int64(minute*60_000) }
		value := func(int64) float64 { return v }
		samples := promtest.Regular(at(from), at(to)-1, 30_000, value)
		if to < 120 {
			samples = append(samples, promtest.Stale(at(to)))
		}
		return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: samples}
	}
	of := func(pod string, more ...string) []string {
		return append([]string{"namespace", "shop", "pod", pod, "uid", "0f2d3c1a-0000-4000-8000-00000000000" + pod[len(pod)-1:]}, more...)
	}
	cgroup := func(pod, container string) []string {
		return []string{"namespace", "shop", "pod", pod, "container", container, "id", "/kubepods/pod0f2d3c1a-0000-4000-8000-00000000000" + pod[len(pod)-1:] + "/" + container}
	}
	node := func(more ...promtest.Series) []promtest.Series {
		return append([]promtest.Series{
			series("kube_node_info", -10, 120, 1, "node", "n1", "internal_ip", "10.0.0.7"),
			series("kube_node_status_capacity", -10, 120, 4, "node", "n1", "resource", "cpu", "unit", "core"),
			series("kube_pod_info", -10, 120, 1, of("other-9", "node", "n1")...),
			series("kube_pod_container_status_running", -10, 120, 1, of("other-9", "container", "other")...),
		}, more...)
	}
	for _, tt := range []struct {
		name   string
		series []promtest.Series
		want   map[string]float64
	}{
		{
			"a native sidecar starts when cAdvisor says", node(
				series("kube_pod_info", 30.5, 40, 1, of("job-1", "node", "n1")...),
				series("kube_pod_init_container_status_running", 30.5, 40, 1, of("job-1", "container", "proxy")...),
				series("kube_pod_container_status_running", 31, 40, 1, of("job-1", "container", "main")...),
				series("container_start_time_seconds", 30.5, 40, unix(30.1), cgroup("job-1", "proxy")...),
			), map[string]float64{"proxy": 39.75 - 30.1, "main": 39.75 - 30.75},
		},
		{
			"no scrape saw it, the pod says when it started and that it succeeded", node(
				series("kube_pod_info", 30.5, 40, 1, of("job-1", "node", "n1")...),
				series("kube_pod_container_status_running", 30.5, 40, 0, of("job-1", "container", "main")...),
				series("kube_pod_container_status_restarts_total", 30.5, 40, 0, of("job-1", "container", "main")...),
				series("kube_pod_status_phase", 30.5, 40, 1, of("job-1", "phase", "Succeeded")...),
				series("kube_pod_start_time", 30.5, 40, unix(30.1), of("job-1")...),
				series("kube_pod_completion_time", 30.5, 40, unix(30.4), of("job-1")...),
			), map[string]float64{"main": 0.3},
		},
		{
			"only cAdvisor saw it, by the address of its kubelet", node(
				series("container_memory_working_set_bytes", 30.5, 31, 1<<30, append(cgroup("job-1", "main"), "instance", "10.0.0.7:10250")...),
			), map[string]float64{"main": 0.5},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, tt.series...)
			q := allocation.Query{Window: allocation.Window{Start: start, End: start.Add(2 * time.Hour)}}
			s := compute(t, openBlocks(t, dir), q)[0]
			got := map[string]float64{}
			for row := range s.Len() {
				if name := s.Text(allocation.Container, row); name != "other" {
					got[name] += s.Value(allocation.RunningSeconds, row) / 60
					if on := s.Text(allocation.NodeName, row); on != "n1" {
						t.Errorf("%s is on node %q", name, on)
					}
				}
			}
			if d := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-3)); d != "" {
				t.Errorf("minutes (-want +got):\n%s", d)
			}
		})
	}
}

// TestLazyInputs checks that inputs which are asked for only of some pods or containers are not asked for where there are none.
func TestLazyInputs(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	series := func(metric string, v float64) promtest.Series {
		return promtest.Series{
			Labels:  []string{"__name__", metric, "namespace", "shop", "pod", "web-0", "container", "app"},
			Samples: promtest.Regular(start.UnixMilli(), start.Add(time.Hour).UnixMilli(), 30_000, func(int64) float64 { return v }),
		}
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, series("kube_pod_container_status_running", 1), series("kube_pod_container_state_started", float64(start.Unix())))
	src := &listening{Source: openBlocks(t, dir)}
	compute(t, src, allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Hour)}})
	for _, input := range []string{"init started", "restarts", "init restarts", "pod ended"} {
		if slices.Contains(src.inputs, input) {
			t.Errorf("%s was asked for", input)
		}
	}
	if !slices.Contains(src.inputs, "running") {
		t.Errorf("the running signal was not asked for: %q", src.inputs)
	}
}

// listening records which inputs are asked for.
type listening struct {
	promquery.Source
	inputs []string
}

func (l *listening) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		for i := range sels {
			l.inputs = append(l.inputs, sels[i].Input)
		}
		return promtest.Select(ctx, l.Source, sels, yield)
	})
}
