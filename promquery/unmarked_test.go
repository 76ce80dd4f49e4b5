package promquery_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestBoundsOfWhatEndsUnseen checks the bounds of a job that ends while Prometheus is down, which leaves no staleness markers: a server that answers on
// a grid shows the job for a lookback longer than it was seen.
func TestBoundsOfWhatEndsUnseen(t *testing.T) {
	t.Parallel()
	const began, ended, down, up = 1800, 2100, 2010, 2610 // seconds of the window
	var series []promtest.Series
	seen := func(pod string, start, to int) {
		from := start
		add := func(from, to int) {
			of := []string{"namespace", "batch", "pod", pod, "uid", "uid-" + pod}
			series = append(series,
				steadily(from, to, 1, "kube_pod_info", append(of, "node", "n1")...),
				steadily(from, to, 1, "kube_pod_container_status_running", append(of, "container", "c")...),
				steadily(from, to, float64(lifeStart.Unix())+float64(start), "kube_pod_container_state_started", append(of, "container", "c")...),
				steadily(from, to, 0, "kube_pod_container_status_restarts_total", append(of, "container", "c")...),
				steadily(from, to, 1, "kube_pod_container_resource_requests", append(of, "container", "c", "resource", "cpu", "unit", "core", "node", "n1")...),
			)
		}
		if from < down {
			add(from, min(to, down))
		}
		if to > up {
			add(max(from, up), to)
		}
	}
	seen("job", began, ended)
	seen("other", -600, 7800)
	for _, x := range []struct{ from, to int }{{-600, down}, {up, 7800}} {
		series = append(series, steadily(x.from, x.to, 1, "kube_node_info", "node", "n1"), steadily(x.from, x.to, 4, "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core"))
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	server, err := remote.New(remote.Config{URL: promtest.Start(t, dir, promtest.Config{}), Mode: remote.ModeQuery})
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]promquery.Source{"blocks": openBlocks(t, dir), "query API": server} {
		for _, resolution := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute} {
			set := compute(t, src, allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution})
			x := boundsOf(set, func(s *allocation.Set, row int) string { return s.Text(allocation.Pod, row) })["job"]
			if !x.holds(ended - began) {
				t.Errorf("%s at %s: %+v does not hold %d s", name, resolution, x, ended-began)
			}
		}
	}
}
