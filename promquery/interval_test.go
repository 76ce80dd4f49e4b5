package promquery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestScrapeInterval is the longer one of kube-state-metrics and cAdvisor, whichever of cAdvisor's series are left.
func TestScrapeInterval(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	series := func(every time.Duration, labels ...string) promtest.Series {
		return promtest.Series{Labels: labels, Samples: promtest.Regular(end.Add(-2*time.Hour).UnixMilli(), end.UnixMilli(), every.Milliseconds(), func(int64) float64 { return 1 << 30 })}
	}
	kubeState := []promtest.Series{
		series(15*time.Second, "__name__", "kube_node_info", "node", "n1"),
		series(15*time.Second, "__name__", "kube_pod_info", "node", "n1", "namespace", "a", "pod", "p", "uid", "u"),
	}
	const usage = "container_memory_working_set_bytes"
	for _, tt := range []struct {
		name     string
		cadvisor []promtest.Series
		want     time.Duration
	}{
		{"no cAdvisor", nil, 15 * time.Second},
		{"the root cgroup", []promtest.Series{series(2*time.Minute, "__name__", usage, "node", "n1", "id", "/")}, 2 * time.Minute},
		{"what nodes have", []promtest.Series{series(2*time.Minute, "__name__", "machine_memory_bytes", "node", "n1")}, 2 * time.Minute},
		{"containers only", []promtest.Series{series(2*time.Minute, "__name__", usage, "node", "n1", "namespace", "a", "pod", "p", "container", "c", "id", "/kubepods/podu/c")}, 2 * time.Minute},
		{"more often than kube-state-metrics", []promtest.Series{series(10*time.Second, "__name__", usage, "node", "n1", "namespace", "a", "pod", "p", "container", "c", "id", "/kubepods/podu/c")}, 15 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, slices.Concat(kubeState, tt.cadvisor)...)
			s := compute(t, openBlocks(t, dir), allocation.Query{Window: lastHour(end)})[0]
			if got := s.Reading.ScrapeInterval; got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestScrapeIntervalOfParts: an outage leaves parts of a window with few samples, whose times jitter, or with none of the kubelets.
// All find the same interval, and a resolution as long as that is never made longer.
func TestScrapeIntervalOfParts(t *testing.T) {
	t.Parallel()
	at := func(h, m, s int) time.Time { return time.Date(2026, 3, 2, h, m, s, 0, time.UTC) }
	_, intact := promtest.WriteDemo(t, democluster.New, democluster.Config{End: at(18, 0, 0), Duration: 6 * time.Hour, Nodes: 4, Pods: 60, Seed: 5, ScrapeInterval: time.Minute})
	original := seriesOf(t, intact)
	for _, d := range []down{{from: at(14, 59, 39), to: at(15, 37, 48)}, {from: at(14, 37, 5), to: at(14, 55, 57), job: "kubelet", marked: true}} {
		t.Run(d.String(), func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, interrupted(original, d)...)
			w := allocation.Window{Start: at(14, 31, 0), End: at(15, 51, 0)}
			for _, s := range compute(t, openBlocks(t, dir), allocation.Query{Window: w, Step: 10 * time.Minute, Alone: true, Resolution: time.Minute, After: time.Hour}) {
				if s.ScrapeInterval != time.Minute || s.Resolution != time.Minute {
					t.Errorf("%s: scrape interval %s, resolution %s", s.Window, s.ScrapeInterval, s.Resolution)
				}
			}
		})
	}
}

// byRootCgroup are the inputs without an alternative, and what is null without them.
var byRootCgroup = map[string]string{"node disk usage": "byteHoursUsed and byteUsageMax of nodes' own disks"}

// TestNothingHangsOnTheRootCgroup checks that other series replace those of a node's root cgroup, because kube-prometheus-stack
// drops them.
func TestNothingHangsOnTheRootCgroup(t *testing.T) {
	for _, in := range promquery.Inputs {
		if byRootCgroup[in.Name] == "" && !slices.ContainsFunc(in.Alternatives, func(a promquery.Alternative) bool {
			return !slices.ContainsFunc(a.Matchers, func(m promquery.Matcher) bool { return m.Name == "id" && m.Value == "/" })
		}) {
			t.Errorf("%s is only told by the root cgroup", in.Name)
		}
	}
}
