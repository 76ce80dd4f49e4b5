package promquery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// cronSeries are a node and the pods of a CronJob in an hour, one every period, which run from 3 seconds after the full minute on
// for 25 seconds and are kept for two minutes more. They are scraped every 15 seconds.
func cronSeries(start time.Time, period time.Duration) []promtest.Series {
	const scrape = 15_000
	first, last := start.UnixMilli(), start.Add(time.Hour).UnixMilli()
	node := func(v float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: append(labels, "node", "n1"), Samples: promtest.Regular(first-600_000, last, scrape, func(int64) float64 { return v })}
	}
	list := []promtest.Series{
		node(1, "__name__", "kube_node_info"),
		node(4, "__name__", "kube_node_status_capacity", "resource", "cpu", "unit", "core"),
		node(16<<30, "__name__", "kube_node_status_capacity", "resource", "memory", "unit", "byte"),
	}
	for i, at := 0, first; at < last; i, at = i+1, at+period.Milliseconds() {
		began := at + 3000
		seen := func(from, to int64, v float64, name string, labels ...string) promtest.Series {
			samples := promtest.Regular((from+scrape-1)/scrape*scrape, to, scrape, func(int64) float64 { return v })
			samples = append(samples, promtest.Stale(samples[len(samples)-1].T+scrape))
			return promtest.Series{Labels: append([]string{"__name__", name, "namespace", "batch", "pod", fmt.Sprint("tick-", i), "uid", fmt.Sprint("u", i)}, labels...), Samples: samples}
		}
		end, gone := began+25_000, began+145_000
		list = append(list,
			seen(began, gone, 1, "kube_pod_info", "node", "n1"),
			seen(began, gone, 1, "kube_pod_owner", "owner_kind", "Job", "owner_name", fmt.Sprint("tick-", i), "owner_is_controller", "true"),
			seen(began, gone, float64(began)/1000, "kube_pod_start_time"),
			seen(began, end, 1, "kube_pod_container_status_running", "container", "main"),
			seen(began, end, float64(began)/1000, "kube_pod_container_state_started", "container", "main"),
			seen(began, gone, 2, "kube_pod_container_resource_requests", "container", "main", "node", "n1", "resource", "cpu", "unit", "core"),
			promtest.Series{
				Labels:  []string{"__name__", "kube_job_owner", "namespace", "batch", "job_name", fmt.Sprint("tick-", i), "owner_kind", "CronJob", "owner_name", "tick"},
				Samples: promtest.Regular((began+scrape-1)/scrape*scrape, gone, scrape, func(int64) float64 { return 1 }),
			},
		)
	}
	return list
}

// TestCronInStep: the pods of a CronJob that run between the points of a grid of a minute are all seen by default, and where a grid
// is asked for, the answer says that it does not see them.
func TestCronInStep(t *testing.T) {
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name       string
		period     time.Duration
		resolution time.Duration
		pods       int
		warned     bool
	}{
		{"by default", time.Minute, allocation.AutoResolution, 60, false},
		{"on a grid of a minute", time.Minute, time.Minute, 0, true},
		{"on a grid that five periods fill", time.Minute, 5 * time.Minute, 0, true},
		{"every five minutes on a grid of five", 5 * time.Minute, 5 * time.Minute, 0, true},
		{"every seven minutes on a grid of 45 seconds", 7 * time.Minute, 45 * time.Second, 3, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, cronSeries(start, tt.period)...)
			w := allocation.Window{Start: start, End: start.Add(time.Hour)}
			s := compute(t, openBlocks(t, dir), allocation.Query{Window: w, Resolution: tt.resolution})[0]
			if s.Len() != tt.pods {
				t.Errorf("%d pods were seen, want %d", s.Len(), tt.pods)
			}
			for row := range s.Len() {
				if seconds := s.Value(allocation.RunningSeconds, row); tt.resolution < 0 && (seconds < 12 || seconds > 28) {
					t.Errorf("%s ran for %v s, want 25, or as much of them as was seen", s.Name(row), seconds)
				}
			}
			if warned := slices.ContainsFunc(s.Warnings, func(w string) bool {
				return strings.HasPrefix(w, "CronJobs start their pods in step with the grid") && strings.Contains(w, "1 of them (batch/tick)") && strings.Contains(w, "resolution=exact")
			}); warned != tt.warned {
				t.Errorf("warned %t, want %t: %q", warned, tt.warned, s.Warnings)
			}
		})
	}
}
