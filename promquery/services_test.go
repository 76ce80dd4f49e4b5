package promquery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// serviced are pods of which one moves from service old to service new after 2h20m, and one ends after 1h40m, before a service is
// made, after 3h10m, that selects its like. A load balancer is in front of each service.
func serviced(start time.Time, bySelector bool) (list []promtest.Series) {
	const end = 4 * time.Hour
	scraped := func(from, to time.Duration, v float64, labels ...string) {
		samples := promtest.Regular(start.Add(from+7*time.Second).UnixMilli(), start.Add(to).UnixMilli(), 30_000, func(int64) float64 { return v })
		if to < end {
			samples = append(samples, promtest.Stale(samples[len(samples)-1].T+30_000))
		}
		list = append(list, promtest.Series{Labels: append([]string{"__name__"}, labels...), Samples: samples})
	}
	scraped(-time.Hour, end, 1, "kube_node_info", "node", "n1")
	scraped(-time.Hour, end, 4, "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core")
	behind := func(pod, service, app string, from, to time.Duration) {
		if bySelector {
			scraped(from, to, 1, "kube_pod_labels", "namespace", "ns", "pod", pod, "uid", "uid-"+pod, "label_app", app)
		} else if service != "" {
			scraped(from, to, 1, "kube_endpointslice_endpoints", "namespace", "ns", "endpointslice", service+"-x1", "targetref_kind", "Pod", "targetref_name", pod, "targetref_namespace", "ns")
		}
	}
	const moves, early, made = 140 * time.Minute, 100 * time.Minute, 190 * time.Minute
	for pod, to := range map[string]time.Duration{"mover": end, "early": early, "late": end} {
		scraped(-time.Hour, to, 1, "kube_pod_info", "namespace", "ns", "pod", pod, "uid", "uid-"+pod, "node", "n1")
		scraped(-time.Hour, to, 1, "kube_pod_container_status_running", "namespace", "ns", "pod", pod, "uid", "uid-"+pod, "container", "main")
	}
	behind("mover", "old", "old", -time.Hour, moves)
	behind("mover", "new", "new", moves, end)
	if bySelector {
		behind("early", "", "made", -time.Hour, early)
		behind("late", "", "made", -time.Hour, end)
	} else {
		behind("late", "made", "", made, end)
	}
	for service, from := range map[string]time.Duration{"old": -time.Hour, "new": -time.Hour, "made": made} {
		scraped(from, end, 1, "kube_service_info", "namespace", "ns", "service", service)
		scraped(from, end, 1, "kube_service_spec_type", "namespace", "ns", "service", service, "type", "LoadBalancer")
		if bySelector {
			scraped(from, end, 1, "service_selector_labels", "namespace", "ns", "service", service, "label_app", service)
		}
	}
	return list
}

// TestServicesOverTime checks that each hour, computed or stored, keeps the services that pods had in it, as a window has those at
// its end. The costs of load balancers in hours add up to those in the window.
func TestServicesOverTime(t *testing.T) {
	start := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	window := allocation.Window{Start: start, End: start.Add(4 * time.Hour)}
	want := []map[string]string{
		{"mover": "old", "early": "", "late": ""},
		{"mover": "old", "early": "", "late": ""},
		{"mover": "new", "late": ""},
		{"mover": "new", "late": "made"},
		{"mover": "new", "early": "", "late": "made"}, // of the window
	}
	for _, bySelector := range []bool{false, true} {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, serviced(start, bySelector)...)
		db := openBlocks(t, dir)
		for _, resolution := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprintf("by selector %t/%s", bySelector, allocation.ResolutionText(resolution)), func(t *testing.T) {
				now := func() time.Time { return window.End.Add(2 * time.Hour) }
				kept := ledger.New(promquery.NewEngine(db, config), log.NewNopLogger(), ledger.Options{Now: now, Resolution: resolution, Grace: 10 * time.Minute})
				whole := only(t, kept, allocation.Query{Window: window, Resolution: resolution})
				sources := map[string][]*allocation.Set{
					"computed": compute(t, db, allocation.Query{Window: window, Step: time.Hour, Resolution: resolution}),
					"alone":    compute(t, db, allocation.Query{Window: window, Step: time.Hour, Resolution: resolution, Alone: true, After: time.Hour}),
				}
				for s, err := range kept.Hours(t.Context(), window, nil) {
					if err != nil {
						t.Fatal(err)
					}
					sources["kept"] = append(sources["kept"], s)
				}
				for name, hours := range sources {
					var got []map[string]string
					for _, s := range append(hours, whole) {
						got = append(got, servicesOfPods(s))
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s: hours and the window (-want +got):\n%s", name, diff)
					}
					compareFigures(t, figuresOf([]*allocation.Set{whole}), figuresOf(hours), nil)
				}
			})
		}
	}
}

// servicesOfPods are the services of rows by pod.
func servicesOfPods(s *allocation.Set) map[string]string {
	out := map[string]string{}
	for row := range s.Len() {
		if s.Special(row) == allocation.Workload {
			out[s.Text(allocation.Pod, row)] = strings.Join(texts(s, row), " ")
		}
	}
	return out
}
