package promquery_test

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// cgroup is what cAdvisor shows of a cgroup of the pod db-0 between two seconds: a usage of so many cores and GiB.
func cgroup(from, to int, usage float64, labels ...string) []promtest.Series {
	of := append([]string{"namespace", "db", "pod", "db-0", "node", "n1"}, labels...)
	counter := regularly(30, max(-600, from), min(7800, to), func(t int) (float64, bool) { return usage * float64(t-from), true }, "container_cpu_usage_seconds_total", of[4:]...)
	return []promtest.Series{counter, steadily(max(-600, from), min(7800, to), usage*(1<<30), "container_memory_working_set_bytes", of...)}
}

// relabeled is series with other labels for their namespace, pod and container.
func relabeled(list []promtest.Series, labels ...string) []promtest.Series {
	for i := range list {
		list[i].Labels = slices.Concat(list[i].Labels[:2], list[i].Labels[6:], labels)
	}
	return list
}

// TestUsageOfPodsOnly checks who is charged for usage where only the cgroup of a pod shows it, as with Kata Containers and cri-dockerd (SEMANTICS §3).
func TestUsageOfPodsOnly(t *testing.T) {
	t.Parallel()
	const (
		cgroupfs = "/kubepods/burstable/pod44440000-0000-4000-8000-000000000000"
		systemd  = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod44440000_0000_4000_8000_000000000000.slice"
		static   = "/kubepods/burstable/podc3d05bf7e9527688f7468ed3a0cf1a40" // the hash of its manifest
	)
	always := func(name string, request float64) reserving { return reserving{name, -3600, 9000, request, 0, false} }
	two := []reserving{always("a", 0), always("b", 0)}
	for _, tt := range []struct {
		name       string
		containers []reserving
		usage      []promtest.Series
		want       map[string]float64 // core hours, and GiB hours, by container
	}{
		{"evenly", two, cgroup(-3600, 9000, 1, "id", cgroupfs), map[string]float64{"a": 1, "b": 1}},
		{"systemd", two, cgroup(-3600, 9000, 1, "id", systemd), map[string]float64{"a": 1, "b": 1}},
		{"a static pod", two, cgroup(-3600, 9000, 1, "id", static), map[string]float64{"a": 1, "b": 1}},
		{"by request", []reserving{always("a", 0.25), always("b", 0.75)}, cgroup(-3600, 9000, 4, "id", cgroupfs), map[string]float64{"a": 2, "b": 6}},
		{"below requests", []reserving{always("a", 1)}, cgroup(-3600, 9000, 0.5, "id", cgroupfs), map[string]float64{"a": 2}},
		{"one ends", []reserving{always("a", 0), {"b", -3600, 3600, 0, 0, false}}, cgroup(-3600, 9000, 1, "id", cgroupfs), map[string]float64{"a": 1.5, "b": 0.5}},
		{"the pod starts", []reserving{{"a", 1800, 9000, 0, 0, false}}, cgroup(1800, 9000, 2, "id", cgroupfs), map[string]float64{"a": 3}},
		{"not beside usage of containers", two, slices.Concat(cgroup(-3600, 9000, 1, "id", cgroupfs), cgroup(-3600, 9000, 0.8, "id", cgroupfs+"/x", "container", "a"), cgroup(-3600, 9000, 0.1, "id", cgroupfs+"/y", "container", "b")), map[string]float64{"a": 1.6, "b": 0.2}},
		{"not beside usage of one container", two, slices.Concat(cgroup(-3600, 9000, 1, "id", cgroupfs), cgroup(-3600, 9000, 0.8, "id", cgroupfs+"/x", "container", "a")), map[string]float64{"a": 1.6, "b": 0}},
		{"usage of containers from the middle on", two, slices.Concat(cgroup(-3600, 9000, 1, "id", cgroupfs), cgroup(3600, 9000, 0.8, "id", cgroupfs+"/x", "container", "a"), cgroup(3600, 9000, 0.1, "id", cgroupfs+"/y", "container", "b")), map[string]float64{"a": 0.5 + 0.8, "b": 0.5 + 0.1}},
		{"not of cgroups below", two, slices.Concat(cgroup(-3600, 9000, 1, "id", cgroupfs), cgroup(-3600, 9000, 0.5, "id", cgroupfs+"/pause", "image", "pause"), cgroup(-3600, 9000, 3, "id", cgroupfs+"/crio-conmon-x")), map[string]float64{"a": 1, "b": 1}},
		{"without labels", two, relabeled(cgroup(-3600, 9000, 1, "id", cgroupfs)), map[string]float64{"a": 1, "b": 1}},
		{"without labels, systemd", two, relabeled(cgroup(-3600, 9000, 1, "id", systemd)), map[string]float64{"a": 1, "b": 1}},
		{"without labels, not of other pods", two, relabeled(cgroup(-3600, 9000, 1, "id", static)), map[string]float64{"a": 0, "b": 0}},
		{"without labels, not beside usage of containers", two, slices.Concat(relabeled(cgroup(-3600, 9000, 1, "id", cgroupfs)), cgroup(-3600, 9000, 0.8, "id", cgroupfs+"/x", "container", "a"), cgroup(-3600, 9000, 0.1, "id", cgroupfs+"/y", "container", "b")), map[string]float64{"a": 1.6, "b": 0.2}},
		{"labels of a cAdvisor that runs as a DaemonSet", two, relabeled(cgroup(-3600, 9000, 1, "id", cgroupfs), "namespace", "monitoring", "pod", "cadvisor-x", "container", "cadvisor"), map[string]float64{"a": 1, "b": 1}},
		{"labels of a cAdvisor that runs as a DaemonSet, at cgroups of containers, too", two, relabeled(slices.Concat(cgroup(-3600, 9000, 1, "id", cgroupfs), cgroup(-3600, 9000, 0.8, "id", cgroupfs+"/x"), cgroup(-3600, 9000, 0.2, "id", cgroupfs+"/y")), "namespace", "monitoring", "pod", "cadvisor-x", "container", "cadvisor"), map[string]float64{"a": 1, "b": 1}},
		{"a node that is overcommitted", two, cgroup(-3600, 9000, 20, "id", cgroupfs), map[string]float64{"a": 20, "b": 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			series := slices.Concat(reservesNode(), tt.usage, []promtest.Series{steadily(-600, 7800, 1, "kube_pod_info", "namespace", "db", "pod", "db-0", "uid", "44440000-0000-4000-8000-000000000000", "node", "n1")})
			for _, c := range tt.containers {
				series = append(series, slices.DeleteFunc(c.series(), func(s promtest.Series) bool { return strings.HasPrefix(s.Labels[1], "container_") })...)
			}
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			db := openBlocks(t, dir)
			for _, resolution := range []time.Duration{0, time.Minute} {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
				set := compute(t, db, q)[0]
				for r, unit := range map[allocation.Resource]float64{allocation.CPU: 1, allocation.RAM: 1 << 30} {
					for row := range set.Len() {
						name := set.Text(allocation.Container, row)
						if got, want := set.Value(allocation.Hours.Of(r), row)/unit, tt.want[name]; math.Abs(got-want) > 0.02*want+0.01 {
							t.Errorf("%s: %s of %s is allocated %.4f hours, want %.4f", allocation.ResolutionText(resolution), r, name, got, want)
						}
					}
				}
				nodesConserve(t, set)
				q.Step = time.Hour
				partsAddUp(t, db, q, regexp.MustCompile("cpu idle")) // which is rounding where nothing is left
			}
		})
	}
}

// TestUsageOfShortPodsOnly checks that usage counts of a pod that ran for less than a lookback. On a grid, a cell of it is too little.
func TestUsageOfShortPodsOnly(t *testing.T) {
	t.Parallel()
	const uid, from, to = "44440000-0000-4000-8000-000000000000", 3480, 3720
	dir := t.TempDir()
	pod := steadily(from, to, 1, "kube_pod_info", "namespace", "db", "pod", "db-0", "uid", uid, "node", "n1")
	running := reserving{"a", from, to, 0, 0, false}.series()[:2]
	promtest.WriteBlocks(t, dir, 2*time.Hour, slices.Concat(reservesNode(), cgroup(from, to, 15, "id", "/kubepods/burstable/pod"+uid), running, []promtest.Series{pod})...)
	db := openBlocks(t, dir)
	for resolution, least := range map[time.Duration]float64{0: 0.93, time.Minute: 0.75} {
		q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
		if cores, gibs := coresAndGibs(compute(t, db, q)[0]); cores < least || cores > 1.05 || gibs < least || gibs > 1.05 {
			t.Errorf("%s: %v core hours and %v GiB hours, want 1", allocation.ResolutionText(resolution), cores, gibs)
		}
		q.Step = time.Hour
		partsAddUp(t, db, q, nil)
	}
}
