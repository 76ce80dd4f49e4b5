package democluster_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/promquery/democluster"
)

// data is the default cluster, and the samples of its last day.
type data struct {
	c        *democluster.Cluster
	q        storage.Queryable
	from, to time.Time
	truth    *democluster.Truth
}

type timeSeries struct {
	labels map[string]string
	points []point
}

func lastDay(t *testing.T) data {
	c := plan(t, democluster.Config{})
	d := data{c: c, from: c.End().Add(-24 * time.Hour), to: c.End()}
	d.q = openBlocks(t, writeBlocks(t, c, d.from, d.to))
	d.truth = c.Truth(d.from, d.to)
	return d
}

// series returns the selected series, sorted by labels.
func (d data) series(t *testing.T, selector ...string) []timeSeries {
	t.Helper()
	raw := read(t, d.q, d.from, d.to, selector...)
	var keys []string
	for key := range raw {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var out []timeSeries
	for _, key := range keys {
		ls, err := parser.NewParser(parser.Options{}).ParseMetric(key)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, timeSeries{ls.Map(), raw[key]})
	}
	return out
}

func (d data) name(t *testing.T, name string, selector ...string) []timeSeries {
	t.Helper()
	return d.series(t, append([]string{"__name__", name}, selector...)...)
}

func values(s timeSeries) (distinct []float64) {
	for _, p := range s.points {
		if !isStale(p) && !slices.Contains(distinct, p.v) {
			distinct = append(distinct, p.v)
		}
	}
	return distinct
}

// ends returns the times of the staleness markers.
func ends(s timeSeries) (times []int64) {
	for _, p := range s.points {
		if isStale(p) {
			times = append(times, p.t)
		}
	}
	return times
}

// longestGap is the longest time between two samples, in milliseconds; markers are none.
func longestGap(s timeSeries) (gap int64) {
	last := int64(math.MaxInt64)
	for _, p := range s.points {
		if !isStale(p) {
			gap, last = max(gap, p.t-last), p.t
		}
	}
	return gap
}

func TestContent(t *testing.T) {
	d := lastDay(t)
	for _, tc := range []struct {
		name  string
		check func(*testing.T, data)
	}{
		{"every metric", everyMetric},
		{"labels", metricLabels},
		{"jobs of all lengths in the last 6h", jobsInLastHours},
		{"a node joins, one leaves", nodesComeAndGo},
		{"a price changes", priceChanges},
		{"kube-state-metrics outage", metricsOutage},
		{"cAdvisor outage on one node", cadvisorOutage},
		{"a pod's name is used again", nameReused},
		{"a container restarts in place", restartInPlace},
		{"a rollout", rollout},
		{"jobs in step", jobsInStep},
		{"Prometheus does not run", nothingIsScraped},
		{"a namespace is made again", namespaceMadeAgain},
		{"labels in camel case", camelCase},
		{"kinds of containers", kindsOfContainers},
		{"volumes", volumes},
		{"local disks", localDisks},
		{"GPUs and parts of them", sharesOfGPUs},
		{"traffic", traffic},
		{"native sidecars", sidecars},
		{"pods that wait for their images", pendingPods},
		{"what nodes were used for", breakdowns},
		{"load balancers", balancers},
		{"finished pods stay listed", finishedPodsStay},
		{"cgroups", cgroups},
		{"truth agrees with the infos", truthAgreesWithInfos},
		{"counters and gauges agree with the truth", samplesAgreeWithTruth},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.check(t, d) })
	}
}

func everyMetric(t *testing.T, d data) {
	d.from = d.to.Add(-time.Hour)
	for _, name := range []string{
		"up", "kube_pod_info", "kube_pod_owner", "kube_replicaset_owner", "kube_job_owner", "kube_pod_status_phase", "kube_pod_start_time",
		"kube_pod_completion_time", "kube_pod_container_info", "kube_pod_container_status_running", "kube_pod_container_state_started",
		"kube_pod_container_status_last_terminated_timestamp", "kube_pod_container_status_restarts_total", "kube_pod_container_resource_requests",
		"kube_pod_container_resource_limits", "kube_pod_init_container_info", "kube_pod_init_container_status_running",
		"kube_pod_init_container_resource_requests", "kube_pod_init_container_resource_limits", "kube_pod_labels", "kube_pod_annotations",
		"kube_namespace_labels", "kube_namespace_annotations", "kube_node_info", "kube_node_labels", "kube_node_created", "kube_node_status_capacity",
		"kube_node_status_allocatable", "kube_service_info", "kube_service_spec_type", "kube_service_status_load_balancer_ingress",
		"kube_endpointslice_endpoints", "kube_endpointslice_labels", "kube_persistentvolume_capacity_bytes", "kube_persistentvolume_info",
		"kube_persistentvolumeclaim_info", "kube_pod_spec_volumes_persistentvolumeclaims_info", "kube_persistentvolume_claim_ref",
		"kubelet_volume_stats_capacity_bytes", "kubelet_volume_stats_used_bytes", "container_fs_limit_bytes", "container_fs_usage_bytes",
		"kubecost_pod_network_egress_bytes_total", "kubecost_network_zone_egress_cost", "kubecost_network_region_egress_cost",
		"kubecost_network_internet_egress_cost", "kubecost_cluster_management_cost", "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
		"DCGM_FI_DEV_GPU_UTIL", "kube_pod_status_scheduled_time", "node_cpu_seconds_total", "node_memory_MemTotal_bytes",
		"node_memory_MemAvailable_bytes", "node_memory_Buffers_bytes", "node_memory_Cached_bytes", "container_cpu_usage_seconds_total",
		"container_memory_working_set_bytes", "container_network_transmit_bytes_total", "container_network_receive_bytes_total",
		"node_cpu_hourly_cost", "node_ram_hourly_cost", "node_gpu_hourly_cost", "node_gpu_count", "kubecost_node_is_spot",
		"node_total_hourly_cost", "pv_hourly_cost", "kubecost_load_balancer_cost",
	} {
		list := d.name(t, name)
		if len(list) == 0 {
			t.Errorf("no series %s", name)
		}
		for _, s := range list {
			if s.labels["job"] == "" || s.labels["instance"] == "" {
				t.Errorf("%s has no target labels: %v", name, s.labels)
			}
		}
	}
}

func jobsInLastHours(t *testing.T, d data) {
	since := d.to.Add(-6 * time.Hour)
	count := map[string]int{}
	for _, ct := range d.truth.Containers {
		if ct.ControllerKind != "job" && ct.ControllerKind != "cronjob" || ct.LifeStart.Before(since) || ct.LifeEnd.IsZero() || ct.LifeEnd.After(d.to) {
			continue
		}
		for length, name := range map[time.Duration]string{30 * time.Second: "30s", 5 * time.Minute: "5m", time.Hour: "1h"} {
			if lived := ct.LifeEnd.Sub(ct.LifeStart); lived >= length*9/10-time.Second && lived <= length*11/10 {
				count[ct.ControllerKind+" "+name]++
			}
		}
	}
	for _, kind := range []string{"job 30s", "job 5m", "job 1h", "cronjob 30s", "cronjob 5m", "cronjob 1h"} {
		if count[kind] < 2 {
			t.Errorf("%d of %s, want several", count[kind], kind)
		}
	}
}

func nodesComeAndGo(t *testing.T, d data) {
	var joined, left []string
	for _, n := range d.truth.Nodes {
		if n.Start.After(d.from) {
			joined = append(joined, n.Name)
		}
		if n.End.Before(d.to) {
			left = append(left, n.Name)
		}
	}
	if len(joined) != 1 || len(left) != 1 || len(d.truth.Nodes) != 11 {
		t.Fatalf("of %d nodes %v joined and %v left", len(d.truth.Nodes), joined, left)
	}
	for _, s := range d.name(t, "kube_node_info") {
		gone := ends(s)
		wantEnds := 1 // the outage
		if s.labels["node"] == left[0] {
			wantEnds = 2
		}
		if len(gone) != wantEnds {
			t.Errorf("%s has %d staleness markers, want %d", s.labels["node"], len(gone), wantEnds)
		}
		if late := s.points[0].t > d.from.Add(time.Minute).UnixMilli(); late != (s.labels["node"] == joined[0]) {
			t.Errorf("%s: first sample at %v", s.labels["node"], time.UnixMilli(s.points[0].t))
		}
	}
	moved := map[string]bool{}
	for _, ct := range d.truth.Containers {
		if ct.Node == joined[0] {
			moved[ct.Namespace] = true
		}
	}
	if len(moved) < 3 {
		t.Errorf("only pods of %v run on the new node", moved)
	}
}

func priceChanges(t *testing.T, d data) {
	changed, prices := map[string]bool{}, map[string]bool{}
	for _, s := range d.name(t, "node_cpu_hourly_cost") {
		prices[s.labels["instance_type"]] = true
		if len(values(s)) == 2 {
			changed[s.labels["instance_type"]] = true
		}
		if s.labels["instance"] != s.labels["node"] {
			t.Errorf("instance %q is not node %q", s.labels["instance"], s.labels["node"])
		}
	}
	if len(changed) != 1 || len(prices) != 3 {
		t.Errorf("prices of %v change, of %v", changed, prices)
	}
	spot := 0.0
	for _, s := range d.name(t, "kubecost_node_is_spot") {
		spot += s.points[0].v
	}
	if spot != 2 {
		t.Errorf("%v spot nodes, want 2: one that was there, one that joins", spot)
	}
}

func metricsOutage(t *testing.T, d data) {
	up := d.name(t, "up", "job", "kube-state-metrics")
	if len(up) != 1 || len(ends(up[0])) != 0 {
		t.Fatalf("up: %d series, or markers", len(up))
	}
	down := 0
	for _, p := range up[0].points {
		if p.v == 0 {
			down++
		}
	}
	if down != 24 { // 12 minutes
		t.Errorf("down for %d scrapes, want 24", down)
	}
	for _, s := range d.name(t, "kube_namespace_labels") {
		if n := s.labels["namespace"]; n == "previews" || n == "fraud" {
			continue // they come, or come and go
		}
		if len(ends(s)) != 1 || longestGap(s) != (12*time.Minute+30*time.Second).Milliseconds() {
			t.Errorf("%v: markers at %v, longest gap %d ms", s.labels, ends(s), longestGap(s))
		}
	}
}

func cadvisorOutage(t *testing.T, d data) {
	var down []string
	for _, s := range d.name(t, "up", "job", "kubelet") {
		if slices.Contains(values(s), 0) {
			down = append(down, s.labels["node"])
		}
	}
	if len(down) != 1 {
		t.Fatalf("cAdvisor was down on %v, want one node", down)
	}
	gaps := 0
	for _, s := range d.name(t, "container_memory_working_set_bytes") {
		if longestGap(s) > (9 * time.Minute).Milliseconds() {
			gaps++
			if s.labels["node"] != down[0] || len(ends(s)) > 0 {
				t.Errorf("gap in %v, with markers at %v", s.labels, ends(s))
			}
		}
	}
	if gaps < 10 {
		t.Errorf("only %d series have the gap", gaps)
	}
}

func nameReused(t *testing.T, d data) {
	uids, nodes := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, s := range d.name(t, "kube_pod_info", "created_by_kind", "StatefulSet") {
		name := s.labels["namespace"] + "/" + s.labels["pod"]
		if uids[name] == nil {
			uids[name], nodes[name] = map[string]bool{}, map[string]bool{}
		}
		uids[name][s.labels["uid"]] = true
		nodes[name][s.labels["node"]] = true
	}
	if name := "search/elasticsearch-0"; len(uids[name]) < 2 || len(nodes[name]) < 2 {
		t.Errorf("%s had uids %v on nodes %v", name, uids[name], nodes[name])
	}
}

func restartInPlace(t *testing.T, d data) {
	list := d.name(t, "kube_pod_container_status_last_terminated_timestamp", "container", "ledger")
	if len(list) != 1 {
		t.Fatalf("%d containers were restarted, want 1", len(list))
	}
	id := []string{"uid", list[0].labels["uid"], "container", list[0].labels["container"]}
	if n := len(d.name(t, "kube_pod_container_info", id...)); n != 2 {
		t.Errorf("%d container ids, want 2", n)
	}
	if n := values(d.name(t, "kube_pod_container_state_started", id...)[0]); len(n) != 2 {
		t.Errorf("starts %v, want 2", n)
	}
	if n := values(d.name(t, "kube_pod_container_status_restarts_total", id...)[0]); !slices.Equal(n, []float64{0, 1}) {
		t.Errorf("restarts %v, want 0 and 1", n)
	}
	if n := values(d.name(t, "kube_pod_container_status_running", id...)[0]); !slices.Equal(n, []float64{1, 0}) {
		t.Errorf("running %v, want 1 and 0", n)
	}
	counters := d.name(t, "container_cpu_usage_seconds_total", "pod", list[0].labels["pod"], "container", list[0].labels["container"])
	if len(counters) != 2 {
		t.Fatalf("%d counters, want 2", len(counters))
	}
	for _, ct := range d.truth.Containers {
		if ct.UID == list[0].labels["uid"] && ct.End.Sub(ct.Start).Seconds()-ct.RunningSeconds != 70 {
			t.Errorf("ran %v s from %v to %v, want 70 s less", ct.RunningSeconds, ct.Start, ct.End)
		}
	}
}

func rollout(t *testing.T, d data) {
	sets := map[string]bool{}
	for _, s := range d.name(t, "kube_pod_owner", "namespace", "payments", "owner_kind", "ReplicaSet") {
		if strings.HasPrefix(s.labels["owner_name"], "web-frontend-") {
			sets[s.labels["owner_name"]] = true
		}
	}
	if len(sets) != 2 {
		t.Errorf("web-frontend's pods are of %v, want two ReplicaSets", sets)
	}
	for set := range sets {
		owner := d.name(t, "kube_replicaset_owner", "replicaset", set)
		if len(owner) != 1 || owner[0].labels["owner_name"] != "web-frontend" || owner[0].labels["owner_kind"] != "Deployment" {
			t.Errorf("owner of %s: %v", set, owner)
		}
	}
}

func kindsOfContainers(t *testing.T, d data) {
	count, containers := map[string]int{}, map[string]int{}
	minute := d.c.Truth(d.to.Add(-time.Minute), d.to)
	pods := map[string]bool{}
	for _, ct := range minute.Containers {
		pods[ct.UID] = true
	}
	if len(pods) < 140 || len(pods) > 165 {
		t.Errorf("%d pods run at the end, want about 150", len(pods))
	}
	for _, ct := range d.truth.Containers {
		count[ct.ControllerKind]++
		if ct.Init {
			count["init"]++
		} else {
			containers[ct.UID]++
		}
		if ct.CPURequestCoreHours == 0 && ct.RAMRequestByteHours == 0 {
			count["no request"]++
		}
		if ct.CPURequestCoreHours > 0 && ct.CPUCoreHours > ct.CPURequestCoreHours && ct.CPUUsageCoreHours < ct.CPURequestCoreHours {
			count["cpu bursts"]++
		}
		if ct.RAMRequestByteHours > 0 && ct.RAMByteHours > ct.RAMRequestByteHours && ct.RAMUsageByteHours < ct.RAMRequestByteHours {
			count["ram bursts"]++
		}
		if ct.GPUCost > 0 {
			count["gpu"]++
		}
		if len(ct.Services) > 0 {
			count["service"]++
		}
		if ct.Labels["app_kubernetes_io_name"] == "" {
			t.Errorf("%s/%s has labels %v", ct.Namespace, ct.Pod, ct.Labels)
		}
	}
	for _, n := range containers {
		if n == 2 {
			count["two containers"]++
		}
	}
	for _, kind := range []string{
		"deployment", "statefulset", "daemonset", "cronjob", "job", "init", "no request", "cpu bursts", "ram bursts", "gpu", "service", "two containers",
	} {
		if count[kind] < 2 {
			t.Errorf("%d of %q, want several (%v)", count[kind], kind, count)
		}
	}
	var names []string
	for _, n := range d.truth.Namespaces {
		names = append(names, n.Namespace+"="+n.Labels["team"])
	}
	if want := []string{"fraud=team-d", "kube-system=platform", "ml=team-c", "payments=team-a", "previews=team-b", "previews=team-c", "search=team-b"}; !slices.Equal(names, want) {
		t.Errorf("namespaces %v, want %v", names, want)
	}
}

func finishedPodsStay(t *testing.T, d data) {
	finished := 0
	outage := ends(d.name(t, "kube_namespace_labels")[0])[0]
	jobs := map[string]string{} // by the pod's uid
	for _, s := range d.name(t, "kube_pod_owner", "owner_kind", "Job") {
		jobs[s.labels["uid"]] = s.labels["owner_name"]
	}
	running := map[string]timeSeries{}
	for _, s := range d.name(t, "kube_pod_container_status_running") {
		running[s.labels["uid"]] = s
	}
	for _, s := range d.name(t, "kube_pod_completion_time") {
		if jobs[s.labels["uid"]] == "" {
			continue
		}
		end := int64(s.points[0].v) * 1000
		gone := ends(s)
		if end < d.from.UnixMilli() || len(gone) != 1 || gone[0] == outage {
			continue
		}
		finished++
		if stayed := gone[0] - end; stayed < (10*time.Minute).Milliseconds() || stayed > (11*time.Minute).Milliseconds() {
			t.Errorf("%s stayed %d ms after its end", s.labels["pod"], stayed)
		}
		for _, p := range running[s.labels["uid"]].points {
			if !isStale(p) && p.t >= end && p.v != 0 {
				t.Errorf("%s runs at %d, after its end %d", s.labels["pod"], p.t, end)
			}
		}
	}
	if finished < 100 {
		t.Errorf("%d pods finished, want hundreds", finished)
	}
}

func truthAgreesWithInfos(t *testing.T, d data) {
	infos := map[string]timeSeries{}
	for _, s := range d.name(t, "kube_pod_info") {
		infos[s.labels["uid"]] = s
	}
	for _, ct := range d.truth.Containers {
		s, ok := infos[ct.UID]
		if !ok {
			t.Fatalf("no kube_pod_info for %s/%s", ct.Namespace, ct.Pod)
		}
		if s.labels["pod"] != ct.Pod || s.labels["node"] != ct.Node || s.labels["namespace"] != ct.Namespace {
			t.Errorf("kube_pod_info %v, truth %+v", s.labels, ct)
		}
	}
	for _, s := range d.name(t, "kube_pod_labels") {
		i := slices.IndexFunc(d.truth.Containers, func(ct democluster.ContainerTruth) bool { return ct.UID == s.labels["uid"] })
		if i < 0 {
			continue // finished before the day began
		}
		for name, v := range d.truth.Containers[i].Labels {
			if s.labels["label_"+name] != v {
				t.Errorf("kube_pod_labels %v, want %s=%s", s.labels, name, v)
			}
		}
	}
}
