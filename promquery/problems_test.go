package promquery_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// diagnosed is what is said of a source's last hour, of its one cluster.
func diagnosed(t *testing.T, src promquery.Source, end time.Time, sheet string) *diagnosis.Cluster {
	t.Helper()
	cfg := config
	cfg.Sheet = sheet
	d, err := promquery.NewEngine(src, cfg).Diagnose(t.Context(), lastHour(end))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Clusters) != 1 {
		t.Fatalf("%d clusters, want one", len(d.Clusters))
	}
	return &d.Clusters[0]
}

// inputOf is the input of a name.
func inputOf(t *testing.T, d *diagnosis.Cluster, name string) *diagnosis.Input {
	t.Helper()
	i := slices.IndexFunc(d.Inputs, func(in diagnosis.Input) bool { return in.Name == name })
	if i < 0 {
		t.Fatalf("no input %s", name)
	}
	return &d.Inputs[i]
}

// TestRemedies checks that remedies name the metric if its exporter is scraped, and the exporter if it is not.
func TestRemedies(t *testing.T) {
	c, db := demoBlocks(t)
	kubeState := []string{"kube_"}
	for _, tt := range []struct {
		name, input     string
		metrics, prefix []string // that the source lacks
		state           diagnosis.State
		remedy, missing string
	}{
		{
			"a metric of kube-state-metrics", "started",
			[]string{"kube_pod_container_state_started"},
			nil, diagnosis.Missing,
			"kube-state-metrics is scraped, but `kube_pod_container_state_started` is not among its metrics: add kube_pod_container_state_started to its --metric-allowlist", "starts are as late as the first scrape",
		},
		{
			"one that another stands in for", "running",
			[]string{"kube_pod_container_status_running"},
			nil, diagnosis.Fallback,
			"kube-state-metrics is scraped, but `kube_pod_container_status_running` is not among its metrics: add kube_pod_container_status_running to its --metric-allowlist", "containers run while they have usage",
		},
		{
			"one that nothing stands in for", "pod owner",
			[]string{"kube_pod_owner"},
			nil, diagnosis.Missing,
			"kube-state-metrics is scraped, but `kube_pod_owner` is not among its metrics: add kube_pod_owner to its --metric-allowlist", "pods whose creator kube_pod_info does not name",
		},
		{
			"a metric of cAdvisor", "cpu usage",
			[]string{"container_cpu_usage_seconds_total"},
			nil, diagnosis.Missing,
			"cAdvisor (/metrics/cadvisor of the kubelets) is scraped, but `container_cpu_usage_seconds_total` is not among its metrics: metricRelabelings drop it (cAdvisorMetricRelabelings in kube-prometheus-stack)", "cpu costs what is requested",
		},
		{
			"one that not every cluster has, but every one with pods", "restarts",
			[]string{"kube_pod_container_status_restarts_total"},
			nil, diagnosis.Missing,
			"kube-state-metrics is scraped, but `kube_pod_container_status_restarts_total` is not among its metrics: add kube_pod_container_status_restarts_total to its --metric-allowlist", "containers that no scrape saw running are free",
		},
		{
			"every one with volumes", "volume capacity",
			[]string{"kube_persistentvolume_capacity_bytes"},
			nil, diagnosis.Missing,
			"kube-state-metrics is scraped, but `kube_persistentvolume_capacity_bytes` is not among its metrics: add kube_persistentvolume_capacity_bytes to its --metric-allowlist", "volumes have the size",
		},
		{
			"every one with init containers", "init running",
			[]string{"kube_pod_init_container_status_running"},
			nil, diagnosis.Missing,
			"kube-state-metrics is scraped, but `kube_pod_init_container_status_running` is not among its metrics: add kube_pod_init_container_status_running to its --metric-allowlist", "init containers and native sidecars count only",
		},
		{"a cluster without volumes", "volume capacity", nil, []string{"kube_persistentvolume", "kube_pod_spec_volumes", "pv_", "kubelet_volume_"}, diagnosis.None, "run kube-state-metrics", "volumes have the size"},
		{"no cAdvisor", "cpu usage", nil, []string{"container_"}, diagnosis.Missing, "scrape /metrics/cadvisor of every kubelet", "cpu costs what is requested"},
		{"no kube-state-metrics", "pod owner", nil, kubeState, diagnosis.Missing, "run kube-state-metrics and let this Prometheus scrape it", "pods whose creator kube_pod_info does not name"},
		{"labels have a flag of their own", "pod labels", []string{"kube_pod_labels"}, nil, diagnosis.Missing, "--metric-labels-allowlist", "no cost by label"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := diagnosed(t, lacking{db, tt.metrics, tt.prefix}, c.End(), "")
			if in := inputOf(t, d, tt.input); in.State != tt.state || !strings.Contains(in.Remedy, tt.remedy) || !strings.HasPrefix(in.Missing, tt.missing) {
				t.Errorf("%s: %s: %s, want %s: %s: %s", in.State, in.Missing, in.Remedy, tt.state, tt.missing, tt.remedy)
			}
		})
	}
}

// TestFallbacks checks that texts about fallbacks are about metrics that are fallbacks.
func TestFallbacks(t *testing.T) {
	c, db := demoBlocks(t)
	for _, s := range promquery.Fallbacks() {
		i := slices.IndexFunc(promquery.Inputs, func(in promquery.Input) bool { return in.Name == s[0] })
		if i < 0 || !slices.ContainsFunc(promquery.Inputs[i].Alternatives[1:], func(a promquery.Alternative) bool { return a.Metric == s[1] }) {
			t.Errorf("%s is no fallback of the best metric of %s", s[1], s[0])
		}
	}
	if in := inputOf(t, diagnosed(t, db, c.End(), ""), "running"); in.Missing != "" || in.Remedy != "" {
		t.Errorf("of what is found it is said: %s: %s", in.Missing, in.Remedy)
	}
}

// lacking is a source without some metrics, and those of some prefixes.
type lacking struct {
	promquery.Source
	metrics, prefixes []string
}

// Select implements promquery.Source.
func (s lacking) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		lacks := func(metric string) bool {
			return slices.Contains(s.metrics, metric) || slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(metric, p) })
		}
		var kept []promquery.Request
		var of []int
		for i, sel := range sels {
			if !lacks(sel.Metric) {
				kept, of = append(kept, sel), append(of, i)
			}
		}
		return promtest.Select(ctx, s.Source, kept, func(i int, key []promquery.Symbol, p *timeline.Points) error { return yield(of[i], key, p) })
	})
}

// TestSheetOfPrices checks that prices without a metric are attributed to the price sheet, if there is one.
func TestSheetOfPrices(t *testing.T) {
	c, db := demoBlocks(t)
	src := lacking{db, []string{"node_cpu_hourly_cost", "pv_hourly_cost"}, nil}
	for _, name := range []string{"node cpu price", "volume price"} {
		if in := inputOf(t, diagnosed(t, src, c.End(), "prices.yaml"), name); in.State != diagnosis.Sheet || in.Missing != "prices are those of prices.yaml" || in.Remedy != "" {
			t.Errorf("with a sheet, %s: %+v", name, in)
		}
		if in := inputOf(t, diagnosed(t, src, c.End(), ""), name); in.State == diagnosis.Sheet || !strings.Contains(in.Remedy, "--pricing.file") {
			t.Errorf("without a sheet, %s: %+v", name, in)
		}
	}
}

// TestDiagnosisOfRecordings: of a real kube-state-metrics and a real kubelet with their defaults, only labels and prices are
// missing; with the flags of README, nothing but prices.
func TestDiagnosisOfRecordings(t *testing.T) {
	_, w := recordedWindow(t)
	for kubeState, want := range map[string]struct{ missing, problem string }{
		"kube-state-metrics":            {"pod labels, pod annotations, namespace labels, namespace annotations, endpoint slice, node labels, node cpu price, node memory price", ""},
		"kube-state-metrics-allowlists": {"node cpu price, node memory price", "names in kube_pod_labels collide (label_cost_center_conflict1, label_cost_center_conflict2)"},
	} {
		d, err := promquery.NewEngine(recordedBlocks(t, kubeState, "kubelet-cadvisor"), config).Diagnose(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		var missing []string
		for _, in := range d.Clusters[0].Inputs {
			if in.State == diagnosis.Missing || in.State == diagnosis.Fallback {
				missing = append(missing, in.Name)
			}
		}
		if got := strings.Join(missing, ", "); got != want.missing {
			t.Errorf("%s: %s are missing, want %s", kubeState, got, want.missing)
		}
		if got := strings.Join(d.Clusters[0].Problems, "; "); !strings.Contains(got, want.problem) || want.problem == "" && got != "" {
			t.Errorf("%s: wrong is %q, want %q", kubeState, got, want.problem)
		}
	}
}

// TestProblems checks that each problem in the data is named with its place and what is lost.
func TestProblems(t *testing.T) {
	const uid = "0f2d3c1a-0000-4000-8000-000000000001"
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	series := func(from, to time.Duration, v float64, name string, labels ...string) promtest.Series {
		samples := promtest.Regular(end.Add(from).UnixMilli(), end.Add(to).UnixMilli(), 30_000, func(int64) float64 { return v })
		return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: samples}
	}
	always := func(name string, labels ...string) promtest.Series {
		return series(-2*time.Hour, 0, 1, name, labels...)
	}
	pod := func(shard int, from, to time.Duration, labels ...string) promtest.Series {
		labels = append([]string{"job", "kube-state-metrics", "instance", fmt.Sprintf("10.0.0.%d:8080", shard), "namespace", "a", "pod", fmt.Sprint("p", shard)}, labels...)
		return series(from, to, 1, "kube_pod_info", labels...)
	}
	usage := func(labels ...string) promtest.Series {
		return always("container_cpu_usage_seconds_total", append([]string{"namespace", "a", "pod", "p1", "container", "c"}, labels...)...)
	}
	whole := []promtest.Series{pod(1, -2*time.Hour, 0, "uid", uid), usage("id", "/kubepods/pod"+uid+"/x", "image", "web:1")}
	for _, tt := range []struct {
		name string
		list []promtest.Series // instead of sound series, or beside them
		want []string          // texts that say so
	}{
		{"nothing", whole, nil},
		{"no uid", []promtest.Series{pod(1, -2*time.Hour, 0), whole[1]}, []string{"1 of 1 series of kube_pod_info have no label `uid`"}},
		{"uid under another name", []promtest.Series{pod(1, -2*time.Hour, 0, "exported_uid", uid), whole[1]}, nil},
		{"no id", []promtest.Series{whole[0], usage("image", "web:1")}, []string{"1 of 1 series of container_cpu_usage_seconds_total have no label `id`"}},
		{"an id that is no path", []promtest.Series{whole[0], usage("id", "x", "image", "web:1")}, []string{"the label `id` of 1 of 1 series"}},
		{"pods that kube-state-metrics does not know", append(slices.Clone(whole),
			always("container_cpu_usage_seconds_total", "namespace", "b", "pod", "p7", "container", "c", "id", "/kubepods/pod0f2d3c1a-0000-4000-8000-000000000007/x", "image", "web:1"),
			series(-time.Minute, 0, 1, "container_cpu_usage_seconds_total", "namespace", "b", "pod", "new", "container", "c", "id", "/kubepods/pod0f2d3c1a-0000-4000-8000-000000000008/x", "image", "web:1"),
		), []string{"kube-state-metrics: 1 pod with usage is not in kube_pod_info (b/p7)"}},
		{"usage with the labels of its exporter", []promtest.Series{whole[0], always("container_cpu_usage_seconds_total", "namespace", "monitoring", "pod", "cadvisor-x", "container", "c", "id", "/kubepods/pod"+uid+"/x", "image", "web:1")}, nil},
		{"no image", []promtest.Series{whole[0], usage("id", "/kubepods/pod"+uid+"/x")}, []string{"no series of container_cpu_usage_seconds_total has the label `image`"}},
		{"names that collide", append(slices.Clone(whole), always("kube_pod_labels", "namespace", "a", "pod", "p1", "label_cost_center_conflict1", "x", "label_cost_center_conflict2", "y")), []string{
			"names in kube_pod_labels collide (label_cost_center_conflict1, label_cost_center_conflict2)",
		}},
		{"a shard that is gone", append(slices.Clone(whole), pod(2, -2*time.Hour, -30*time.Minute, "uid", uid)), []string{
			`1 of its targets are down (job="kube-state-metrics" instance="10.0.0.2:8080" since 2026-03-02T11:30:00Z) while others are scraped`,
		}},
		{"a shard that is down all the time", append(slices.Clone(whole), series(-2*time.Hour, 0, 0, "up", "job", "kube-state-metrics", "instance", "10.0.0.2:8080")), []string{
			`1 of its targets are down (job="kube-state-metrics" instance="10.0.0.2:8080" all the time)`,
		}},
		{"a pod of kube-state-metrics that was made again", []promtest.Series{pod(1, -29*time.Minute, 0, "uid", uid), pod(2, -2*time.Hour, -30*time.Minute, "uid", uid), whole[1]}, nil},
		{"two promcosts", append(slices.Clone(whole), always("promcost_build_info", "job", "promcost", "instance", "a:9003"), always("promcost_build_info", "job", "promcost", "instance", "b:9003")), []string{
			`2 promcosts are scraped (job="promcost" instance="a:9003", job="promcost" instance="b:9003")`,
		}},
		{"a promcost that took the place of another", append(slices.Clone(whole), always("promcost_build_info", "job", "promcost", "instance", "a:9003"), series(-2*time.Hour, -30*time.Minute, 1, "promcost_build_info", "job", "promcost", "instance", "b:9003")), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, tt.list...)
			got := diagnosed(t, openBlocks(t, dir), end, "").Problems
			if len(got) != len(tt.want) {
				t.Fatalf("%d problems, want %d: %q", len(got), len(tt.want), got)
			}
			for i := range got {
				if !strings.Contains(got[i], tt.want[i]) {
					t.Errorf("%q does not say %q", got[i], tt.want[i])
				}
			}
		})
	}
}
