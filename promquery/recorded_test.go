package promquery_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

// gkeNode is the node of the published exposition of a kubelet.
const gkeNode = "gke-dev-1-kc-cloud-pool-80a91fb4-s5hh"

// collected is the recording of an OpenTelemetry Collector. It tells what others do, so that it counts where these are not there.
const collected = "opentelemetry"

// recordedTargets are the labels that a Prometheus gives the targets of the recordings.
var recordedTargets = map[string][]string{
	"kube-state-metrics":            {"job", "kube-state-metrics", "instance", "10.9.0.100:8080"},
	"kube-state-metrics-allowlists": {"job", "kube-state-metrics", "instance", "10.9.0.101:8080"},
	"kube-state-metrics-more":       {"job", "kube-state-metrics", "instance", "10.9.0.102:8080"},
	"node-exporter":                 {"job", "node-exporter", "instance", "10.0.1.11:9100"},
	"opencost":                      {"job", "opencost", "instance", "10.9.0.103:9003"},
	"opencost-gke":                  {"job", "opencost", "instance", "10.9.0.104:9003"},
	"network-costs":                 {"job", "network-costs", "instance", "10.9.0.105:3001"},
	"kubelet-cadvisor":              {"job", "kubelet", "instance", "10.128.0.4:10250", "node", gkeNode},
	"kubelet-cadvisor-disks":        {"job", "kubelet", "instance", "10.128.0.5:10250", "node", "gke-haissam-default-pool-be5066f1-wnvn"},
	"kubelet":                       {"job", "kubelet", "instance", "10.128.0.4:10250", "node", gkeNode},
	"dcgm-exporter":                 {"job", "dcgm-exporter", "instance", "10.128.0.4:9400"},
	collected:                       {"job", "otel-collector", "instance", "10.9.0.106:9464"},
}

// recordedWindow is from the first scrape of the recordings to the last.
func recordedWindow(t testing.TB) (scrapes []int64, w allocation.Window) {
	t.Helper()
	scrapes = promtest.Recorded(t, "kube-state-metrics-allowlists").Scrapes
	return scrapes, allocation.Window{Start: time.UnixMilli(scrapes[0]).UTC(), End: time.UnixMilli(scrapes[len(scrapes)-1]).UTC()}
}

// recordedBlocks are recordings as the blocks of a Prometheus that scraped them.
func recordedBlocks(t testing.TB, names ...string) *blocks.DB {
	t.Helper()
	scrapes, _ := recordedWindow(t)
	var all []promtest.Series
	for _, name := range names {
		target, ok := recordedTargets[name]
		if !ok {
			t.Fatalf("recording %s: no target has it", name)
		}
		all = append(all, recordedAt(t, name, scrapes).Samples(target...)...)
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, all...)
	return openBlocks(t, dir)
}

// recordedAt is a recording at these times; one of a single scrape exposes the same at all of them.
func recordedAt(t testing.TB, name string, scrapes []int64) promtest.Recording {
	t.Helper()
	r := promtest.Recorded(t, name)
	if len(r.Scrapes) == 1 {
		r = r.Held(scrapes)
	}
	return r
}

// unrecorded are the alternatives of inputs that no recording has, and why.
var unrecorded = map[string]string{
	"kube_pod_container_resource_limits_cpu_cores":      "kube-state-metrics 1, which promcost still reads",
	"kube_pod_container_resource_limits_memory_bytes":   "kube-state-metrics 1",
	"kube_pod_container_resource_requests_cpu_cores":    "kube-state-metrics 1",
	"kube_pod_container_resource_requests_memory_bytes": "kube-state-metrics 1",
	"DCGM_FI_DEV_GPU_UTIL":                              "the published example has the profiling metric in its place",

	"kube_pod_init_container_state_started":                    "kube-state-metrics 2.20, newer than the recorded one",
	"kube_pod_init_container_status_last_terminated_timestamp": "kube-state-metrics 2.20",
	"kube_pod_container_status_resource_requests":              "proposed for kube-state-metrics",
	"kube_pod_resourceclaim_info":                              "newer than the recorded kube-state-metrics",
	"kube_pod_resource_request":                                "no recording has a kube-scheduler's /metrics/resources",
	"kube_pod_overhead_cpu_cores":                              "no recorded pod has a RuntimeClass with overhead",
	"kube_pod_overhead_memory_bytes":                           "no recorded pod has a RuntimeClass with overhead",
	"kube_node_spec_taint":                                     "no recorded node is virtual",
	"container_cpu_cfs_periods_total":                          "the recording has the metrics that costs need",
	"container_cpu_cfs_throttled_periods_total":                "the recording has the metrics that costs need",
	"container_oom_events_total":                               "the recording has the metrics that costs need",
	"container_pressure_cpu_waiting_seconds_total":             "the recording has the metrics that costs need",
	"kube_pod_container_status_last_terminated_reason":         "no recorded container was killed for its memory",
	"kube_horizontalpodautoscaler_info":                        "the recorded cluster has no autoscaler",
	"kube_horizontalpodautoscaler_spec_target_metric":          "the recorded cluster has no autoscaler",
	"kube_pod_annotations":                                     "no recorded pod runs on AWS Fargate, which annotates it",

	"k8s_container_cpu_request_current":                "semantic conventions that no receiver has yet",
	"k8s_container_memory_request_current_bytes":       "semantic conventions that no receiver has yet",
	"k8s_persistentvolumeclaim_storage_capacity_bytes": "a Collector newer than the recorded one",
	"k8s_pod_volume_usage_bytes":                       "a metric that the recorded Collector does not send unless it is told to",

	"cloudcost_aws_ec2_instance_cpu_usd_per_core_hour":              "cloudcost-exporter wants a cloud",
	"cloudcost_aws_ec2_instance_memory_usd_per_gib_hour":            "cloudcost-exporter wants a cloud",
	"cloudcost_gcp_gke_instance_cpu_usd_per_core_hour":              "cloudcost-exporter wants a cloud",
	"cloudcost_gcp_gke_instance_memory_usd_per_gib_hour":            "cloudcost-exporter wants a cloud",
	"cloudcost_azure_aks_instance_cpu_usd_per_core_hour":            "cloudcost-exporter wants a cloud",
	"cloudcost_azure_aks_instance_memory_usd_per_gib_hour":          "cloudcost-exporter wants a cloud",
	"cloudcost_aws_ec2_instance_total_usd_per_hour":                 "cloudcost-exporter wants a cloud",
	"cloudcost_azure_aks_instance_total_usd_per_hour":               "cloudcost-exporter wants a cloud",
	"cloudcost_aws_ec2_persistent_volume_usd_per_hour":              "cloudcost-exporter wants a cloud",
	"cloudcost_gcp_gke_persistent_volume_usd_per_hour":              "cloudcost-exporter wants a cloud",
	"cloudcost_azure_aks_storage_by_location_total_usd_per_hour":    "cloudcost-exporter wants a cloud",
	"cloudcost_azure_aks_storage_by_location_usd_per_gibyte_hour":   "cloudcost-exporter wants a cloud",
	"karpenter_cloudprovider_instance_type_offering_price_estimate": "Karpenter wants a cloud",
}

// TestEveryInputIsRecorded feeds every input, and every alternative of one, with what a real exporter exposes.
func TestEveryInputIsRecorded(t *testing.T) {
	_, w := recordedWindow(t)
	others := slices.DeleteFunc(promtest.Recordings(t), func(name string) bool { return name == collected })
	fed := map[string]map[string]bool{} // by input, by metric
	for _, names := range [][]string{others, {collected}} {
		d, err := promquery.NewEngine(recordedBlocks(t, names...), config).Diagnose(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Clusters) != 1 {
			t.Fatalf("%d clusters, want 1", len(d.Clusters))
		}
		for _, in := range d.Clusters[0].Inputs {
			if fed[in.Name] == nil {
				fed[in.Name] = map[string]bool{}
			}
			for _, alt := range in.Alternatives {
				fed[in.Name][alt.Metric] = fed[in.Name][alt.Metric] || alt.Series > 0
			}
		}
	}
	needed := map[string]bool{}
	for _, in := range promquery.Inputs {
		if in.Name == "other devices" {
			continue // no recorded pod requests any
		}
		if len(fed[in.Name]) == 0 && unrecorded[in.Alternatives[0].Metric] == "" {
			t.Errorf("input %q: no recording feeds it", in.Name)
		}
		for _, alt := range in.Alternatives {
			if !fed[in.Name][alt.Metric] && unrecorded[alt.Metric] == "" {
				t.Errorf("input %q: no recording has a series of %s that it can use", in.Name, alt.Metric)
			}
			needed[alt.Metric] = needed[alt.Metric] || !fed[in.Name][alt.Metric]
		}
	}
	for metric := range unrecorded {
		if !needed[metric] {
			t.Errorf("%s is recorded, or no input reads it: take it off the list", metric)
		}
	}
}

// recordedRow is what is known of a container in the recorded time, by namespace, controller, container: in the recordings
// all pods of a controller are alike.
type recordedRow struct {
	Kind     string
	Services []string
	Team     string // the label Team, as kube-state-metrics spells it
	Volume   bool
	Balancer bool // it has a part of a load balancer's cost
}

// recordedRows are what the objects of the recordings say.
var recordedRows = map[string]recordedRow{
	"shop/web/nginx":               {Kind: "deployment", Services: []string{"web"}, Team: "Frontend", Balancer: true},
	"shop/web/log-agent":           {Kind: "deployment", Services: []string{"web"}, Team: "Frontend", Balancer: true},
	"shop/db/postgres":             {Kind: "statefulset", Services: []string{"db-headless"}, Team: "Checkout", Volume: true},
	"shop/mesh/app":                {Kind: "deployment", Services: []string{}, Team: "Checkout"},
	"shop/mesh/proxy":              {Kind: "deployment", Services: []string{}, Team: "Checkout"},
	"shop/crasher/main":            {Kind: "deployment", Services: []string{}, Team: "Checkout"},
	"shop//sleep":                  {Services: []string{}, Team: "Checkout"},
	"batch/trainer/train":          {Kind: "deployment", Services: []string{}, Team: "Platform"}, // relabeled meanwhile
	"batch/trainer/infer":          {Kind: "deployment", Services: []string{}, Team: "Platform"},
	"batch/blink/work":             {Kind: "job", Services: []string{}, Team: "Data"},
	"batch/crunch/work":            {Kind: "job", Services: []string{}, Team: "Data"},
	"batch/tick/work":              {Kind: "cronjob", Services: []string{}, Team: "any"}, // one before that, one after
	"batch//slow":                  {Services: []string{}, Team: "any"},                  // ends between two scrapes
	"kube-system/node-agent/agent": {Kind: "daemonset", Services: []string{}},
}

// TestAllocationsOfRecordings computes the recordings, and compares the result with the objects and with the times in the status
// of the pods.
func TestAllocationsOfRecordings(t *testing.T) {
	_, w := recordedWindow(t)
	t.Run("while it was scraped", func(t *testing.T) {
		gib := 0.0
		for row, s := 0, compareRecorded(t, w); row < s.Len(); row++ {
			if s.Text(allocation.Controller, row) == "db" {
				gib += s.Value(allocation.PVByteHours, row) / (1 << 30) / w.End.Sub(w.Start).Hours()
			}
		}
		if math.Abs(gib-20) > 1e-9 {
			t.Errorf("the database has %g GiB, want 20", gib)
		}
	})
}

// compareRecorded compares the rows of a window.
func compareRecorded(t *testing.T, w allocation.Window) *allocation.Set {
	s := compute(t, recordedBlocks(t, "kube-state-metrics-allowlists"), allocation.Query{Window: w})[0]
	type instance struct{ uid, container string }
	want := map[instance]float64{} // running seconds
	cpu := map[instance]float64{}
	for _, r := range promtest.RecordedRuns(t) {
		// Init containers that no scrape saw cost nothing; here those are all but the sidecar.
		if from, to := later(r.Start, w.Start), earlier(r.End, w.End); from.Before(to) && (!r.Init || r.End.IsZero()) {
			want[instance{r.UID, r.Container}] += to.Sub(from).Seconds()
			cpu[instance{r.UID, r.Container}] = r.CPU
		}
	}
	for row := range s.Len() {
		if s.Special(row) != allocation.Workload {
			continue
		}
		id := instance{s.Text(allocation.PodUID, row), s.Text(allocation.Container, row)}
		name := s.Text(allocation.Namespace, row) + "/" + s.Text(allocation.Controller, row) + "/" + id.container
		expect, ok := recordedRows[name]
		if !ok {
			t.Errorf("%s is not expected", name)
			continue
		}
		got, least, most := s.Value(allocation.RunningSeconds, row), 0.0, 0.0
		lower, upper, ok := fields.ErrorBounds(s, row)
		if least, most = got/upper, got/lower; !ok || want[id] < least-1e-6 || lower > 0 && want[id] > most+1e-6 {
			t.Errorf("%s runs for %.1fs of %.1fs, and says {%.3f, %.3f}", name, got, want[id], lower, upper)
		}
		if requested := 3600 * s.Value(allocation.RequestHours.Of(allocation.CPU), row); math.Abs(requested-got*cpu[id]) > 1e-6 {
			t.Errorf("%s requests %.3f core-seconds in %.1fs, want %g cores", name, requested, got, cpu[id])
		}
		labels := asMap(s, allocation.Labels, row)
		gotRow := recordedRow{
			Kind: s.Text(allocation.ControllerKind, row), Services: texts(s, row), Team: labels["team"],
			Volume: s.Value(allocation.PVByteHours, row) > 0, Balancer: s.Value(allocation.LoadBalancerCost, row) > 0,
		}
		if expect.Team == "any" {
			gotRow.Team = "any"
		}
		if diff := cmp.Diff(expect, gotRow); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		delete(want, id)
	}
	for id, seconds := range want {
		t.Errorf("%v ran for %.0fs and has no row", id, seconds)
	}
	return s
}

// TestAssetsOfRecordings computes the assets of the recordings, with and without OpenCost's prices.
func TestAssetsOfRecordings(t *testing.T) {
	_, w := recordedWindow(t)
	hours := w.End.Sub(w.Start).Hours()
	type asset struct {
		Name, ProviderID, Type, Region string
		Cores, Price                   float64
	}
	const suffix = ".eu-west-1.compute.internal"
	nodes := []asset{
		{"ip-10-0-1-11" + suffix, "aws:///eu-west-1a/i-0a1b2c3d4e5f60001", "m5.xlarge", "eu-west-1", 4, 0.012},
		{"ip-10-0-2-22" + suffix, "aws:///eu-west-1b/i-0a1b2c3d4e5f60002", "m5.2xlarge", "eu-west-1", 8, 0.04},
		{"ip-10-0-3-33" + suffix, "aws:///eu-west-1b/i-0a1b2c3d4e5f60003", "g5.4xlarge", "eu-west-1", 16, 0.000506},
	}
	for _, priced := range []bool{false, true} {
		recordings := []string{"kube-state-metrics-allowlists"}
		if priced {
			recordings = append(recordings, "opencost")
		}
		s := computeUnlisted(t, recordedBlocks(t, recordings...), allocation.Query{Window: w})[0]
		var got []asset
		for i := range s.Nodes {
			n := &s.Nodes[i]
			cores := n.Hours[allocation.CPU] / hours
			got = append(got, asset{n.Name, n.ProviderID, n.InstanceType, n.Region, cores, n.Cost[allocation.CPU] / hours / cores})
		}
		want := slices.Clone(nodes)
		if !priced {
			want[0].Price, want[1].Price, want[2].Price = 0.006655, 0.031611, 0.031611 // the defaults, of a spot node and of others
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("nodes, with OpenCost's prices %t (-want +got):\n%s", priced, diff)
		}
		var unmounted, unallocated float64
		for row := range s.Len() {
			switch s.Special(row) {
			case allocation.Unmounted:
				unmounted += s.Value(allocation.PVByteHours, row) / (1 << 30) / hours
			case allocation.Unallocated:
				unallocated += s.Value(allocation.LoadBalancerCost, row)
			default:
			}
		}
		if math.Abs(unmounted-100) > 1e-9 || unallocated <= 0 || len(s.Balancers) != 2 {
			t.Errorf("with OpenCost's prices %t: %g GiB are unmounted, want 100; load balancers that nobody is behind cost %g, of %d", priced, unmounted, unallocated, len(s.Balancers))
		}
	}
}

// TestDiskUseOfRecording computes how full the disk of a node is, of what its kubelet exposed.
func TestDiskUseOfRecording(t *testing.T) {
	scrapes, w := recordedWindow(t)
	target := recordedTargets["kubelet-cadvisor-disks"]
	node := target[len(target)-1]
	series := recordedAt(t, "kubelet-cadvisor-disks", scrapes).Samples(target...)
	for _, labels := range [][]string{{"__name__", "kube_node_info"}, {"__name__", "kube_node_status_capacity", "resource", "cpu", "unit", "core"}} {
		one := promtest.Series{Labels: append(labels, "node", node)}
		for _, at := range scrapes {
			one.Samples = append(one.Samples, promtest.Sample{T: at, V: 1})
		}
		series = append(series, one)
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	s := compute(t, openBlocks(t, dir), allocation.Query{Window: w})[0]
	hours := w.End.Sub(w.Start).Hours()
	want := allocation.Disk{ByteHours: (1.01241290752e+11 + 1.279787008e+09) * hours, UsedByteHours: (3.91520256e+09 + 4.8293888e+08) * hours, UsedMax: 3.91520256e+09}
	if len(s.Disks) != 1 {
		t.Fatalf("%d disks, want 1", len(s.Disks))
	}
	got := allocation.Disk{ByteHours: s.Disks[0].ByteHours, UsedByteHours: s.Disks[0].UsedByteHours, UsedMax: s.Disks[0].UsedMax}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier is the earlier one of two times, of which the first may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || a.After(b) {
		return b
	}
	return a
}

// TestServicesByDefault finds the services of pods by what kube-state-metrics exposes without any flag.
func TestServicesByDefault(t *testing.T) {
	_, w := recordedWindow(t)
	s := compute(t, recordedBlocks(t, "kube-state-metrics"), allocation.Query{Window: w})[0]
	got := map[string][]string{}
	balanced := 0.0
	for row := range s.Len() {
		if services := texts(s, row); len(services) > 0 {
			got[s.Text(allocation.Controller, row)] = services
		}
		if s.Text(allocation.Controller, row) == "web" {
			balanced += s.Value(allocation.LoadBalancerCost, row)
		}
	}
	if diff := cmp.Diff(map[string][]string{"web": {"web"}, "db": {"db-headless"}}, got); diff != "" || balanced <= 0 {
		t.Errorf("the balancer costs its pods %g, services (-want +got):\n%s", balanced, diff)
	}
}

// TestStackRelabelings computes the recordings as a Prometheus stores them that scrapes like kube-prometheus-stack: the labels
// that it adds belong to nobody, and what it drops is not missed.
func TestStackRelabelings(t *testing.T) {
	scrapes, w := recordedWindow(t)
	var drops []*relabel.Config
	if err := yaml.Unmarshal([]byte(promtest.StackDrops), &drops); err != nil {
		t.Fatal(err)
	}
	for _, d := range drops {
		if err := d.Validate(model.UTF8Validation); err != nil {
			t.Fatal(err)
		}
	}
	kubelet := recordedAt(t, "kubelet-cadvisor", scrapes).Samples("job", "kubelet", "instance", "10.128.0.4:10250", "node", gkeNode,
		"namespace", "kube-system", "service", "kps-kubelet", "endpoint", "https-metrics", "metrics_path", "/metrics/cadvisor")
	all := len(kubelet)
	kubelet = slices.DeleteFunc(kubelet, func(s promtest.Series) bool {
		return !relabel.ProcessBuilder(labels.NewBuilder(labels.FromStrings(s.Labels...)), drops...)
	})
	if len(kubelet) == 0 || len(kubelet) == all {
		t.Fatalf("%d of %d series are kept", len(kubelet), all)
	}
	series := append(recordedAt(t, "kube-state-metrics-allowlists", scrapes).Samples(promtest.StackLabels...), kubelet...)
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	stack := openBlocks(t, dir)
	plain := recordedBlocks(t, "kube-state-metrics-allowlists", "kubelet-cadvisor")
	if diff := cmp.Diff(rowsOf(compute(t, plain, allocation.Query{Window: w})[0]), rowsOf(compute(t, stack, allocation.Query{Window: w})[0])); diff != "" {
		t.Errorf("rows (-plain +kube-prometheus-stack):\n%s", diff)
	}
	d, err := promquery.NewEngine(stack, config).Diagnose(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range d.Clusters[0].Inputs {
		switch in.Name {
		case "cpu usage", "memory usage", "bytes sent", "bytes received", "node disk":
			if len(in.Alternatives) == 0 {
				t.Errorf("input %q: nothing is left of it", in.Name)
			}
		}
	}
}

// rowsOf are all rows of a set with all that they have, as text.
func rowsOf(s *allocation.Set) []string {
	var out []string
	for row := range s.Len() {
		var b strings.Builder
		for p := range allocation.NumProperties {
			switch {
			case p.IsMap():
				fmt.Fprintf(&b, "%s=%v ", p, asMap(s, p, row))
			case p.IsList():
				fmt.Fprintf(&b, "%s=%v ", p, texts(s, row))
			default:
				fmt.Fprintf(&b, "%s=%s ", p, s.Text(p, row))
			}
		}
		for c := range allocation.NumColumns {
			fmt.Fprintf(&b, "%s=%g ", c, s.Value(c, row))
		}
		out = append(out, b.String())
	}
	return out
}
