package promquery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/value"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// otelSeries is a series as a receiver of OpenTelemetry sends it.
type otelSeries struct {
	metric          otlptranslator.Metric
	resource, point map[string]string // attributes
	samples         []promtest.Sample
}

// counterpart is what a receiver of OpenTelemetry has in place of a metric.
type counterpart struct {
	name, unit string
	counter    bool
	point      map[string]string // attributes of its points
}

// counterparts are those of metrics, each with the value of a label that it is for.
var counterparts = map[string]counterpart{
	"kube_pod_container_resource_requests cpu":    {name: "k8s.container.cpu_request", unit: "{cpu}"},
	"kube_pod_container_resource_requests memory": {name: "k8s.container.memory_request", unit: "By"},
	"kube_pod_container_resource_limits cpu":      {name: "k8s.container.cpu_limit", unit: "{cpu}"},
	"kube_pod_container_resource_limits memory":   {name: "k8s.container.memory_limit", unit: "By"},
	"kube_pod_container_status_running":           {name: "k8s.container.status.state", unit: "{container}", point: map[string]string{"k8s.container.status.state": "running"}},
	"kube_pod_container_status_restarts_total":    {name: "k8s.container.restarts", unit: "{restart}"},
	"kube_pod_info":                          {name: "k8s.pod.phase"},
	"kube_node_info":                         {name: "k8s.node.condition_ready"},
	"kube_node_status_allocatable cpu":       {name: "k8s.node.allocatable_cpu", unit: "{cpu}"},
	"kube_node_status_allocatable memory":    {name: "k8s.node.allocatable_memory", unit: "By"},
	"container_cpu_usage_seconds_total":      {name: "container.cpu.time", unit: "s", counter: true},
	"container_memory_working_set_bytes":     {name: "container.memory.working_set", unit: "By"},
	"container_network_transmit_bytes_total": {name: "k8s.pod.network.io", unit: "By", counter: true, point: map[string]string{"direction": "transmit"}},
	"container_network_receive_bytes_total":  {name: "k8s.pod.network.io", unit: "By", counter: true, point: map[string]string{"direction": "receive"}},
}

// attributes are how OpenTelemetry calls labels of resources.
var attributes = map[string]string{
	"namespace": "k8s.namespace.name", "pod": "k8s.pod.name", "uid": "k8s.pod.uid", "container": "k8s.container.name", "node": "k8s.node.name",
}

// unmarked are samples without staleness markers, which nothing writes for what OpenTelemetry sends.
func unmarked(samples []promtest.Sample) []promtest.Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s promtest.Sample) bool { return value.IsStaleNaN(s.V) })
}

// inBoth returns what both dialects can report of a cluster: as kube-state-metrics and cAdvisor report it, and as OpenTelemetry's receivers do.
func inBoth(t *testing.T, list []promtest.Series) (classic []promtest.Series, sent []otelSeries) {
	t.Helper()
	uids, owners := map[string]string{}, map[string]map[string]string{}
	for i := range list {
		if s := &list[i]; label(s, "__name__") == "kube_pod_info" {
			name := label(s, "namespace") + "/" + label(s, "pod")
			uids[name] = label(s, "uid")
			owners[name] = map[string]string{"k8s." + strings.ToLower(label(s, "created_by_kind")) + ".name": label(s, "created_by_name")}
		}
	}
	for i := range list {
		s := &list[i]
		name := label(s, "__name__")
		t, ok := counterparts[strings.TrimSpace(name+" "+label(s, "resource"))]
		usage := strings.HasPrefix(name, "container_")
		if name == "container_cpu_usage_seconds_total" && label(s, "id") == "/" {
			ok, t.name, usage = true, "k8s.node.cpu.time", false
		}
		if !ok || usage && !strings.Contains(name, "network") && label(s, "container") == "" {
			continue
		}
		samples := unmarked(s.Samples)
		classic = append(classic, promtest.Series{Labels: s.Labels, Samples: samples})
		x := otelSeries{metric: otlptranslator.Metric{Name: t.name, Unit: t.unit, Type: otlptranslator.MetricTypeGauge}, resource: map[string]string{}, point: maps.Clone(t.point), samples: samples}
		if t.counter {
			x.metric.Type = otlptranslator.MetricTypeMonotonicCounter
		}
		for from, to := range attributes {
			if v := label(s, from); v != "" && (!usage || from != "node") {
				x.resource[to] = v
			}
		}
		pod := label(s, "namespace") + "/" + label(s, "pod")
		if uid := uids[pod]; usage {
			x.resource["k8s.pod.uid"] = uid
			if p, ok := promquery.PodUID(label(s, "id")); ok {
				x.resource["k8s.pod.uid"] = string(p[:])
			}
			if label(s, "container") != "" {
				x.resource["container.id"] = label(s, "name")
			}
		}
		if name == "kube_pod_info" {
			maps.Copy(x.resource, owners[pod])
			x.samples = slices.Clone(samples)
			for k := range x.samples {
				x.samples[k].V = 2 // it is running
			}
		}
		if v := label(s, "interface"); v != "" {
			x.point["interface"] = v
		}
		sent = append(sent, x)
	}
	return classic, sent
}

// strategies are how Prometheus names what comes by OTLP.
var strategies = []otlptranslator.TranslationStrategyOption{
	otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.UnderscoreEscapingWithoutSuffixes,
	otlptranslator.NoUTF8EscapingWithSuffixes, otlptranslator.NoTranslation,
}

// storedAs are the series that Prometheus makes of what it is sent, with the attributes of resources as labels, or in target_info.
func storedAs(t *testing.T, sent []otelSeries, strategy otlptranslator.TranslationStrategyOption, promoted bool) (list []promtest.Series) {
	t.Helper()
	names, labels := otlptranslator.NewMetricNamer("", strategy), otlptranslator.LabelNamer{UTF8Allowed: !strategy.ShouldEscape()}
	targets := map[string]bool{}
	for i := range sent {
		x := &sent[i]
		name, err := names.Build(x.metric)
		if err != nil {
			t.Fatal(err)
		}
		s := promtest.Series{Labels: []string{"__name__", name}, Samples: x.samples}
		resource := []string{}
		for _, k := range slices.Sorted(maps.Keys(x.resource)) {
			name, err := labels.Build(k)
			if err != nil {
				t.Fatal(err)
			}
			resource = append(resource, name, x.resource[k])
		}
		for k, v := range x.point {
			name, err := labels.Build(k)
			if err != nil {
				t.Fatal(err)
			}
			s.Labels = append(s.Labels, name, v)
		}
		if promoted {
			s.Labels = append(s.Labels, resource...)
		} else {
			instance := strings.Join(resource, "/")
			s.Labels = append(s.Labels, "job", "kubernetes", "instance", instance)
			if !targets[instance] {
				list = append(list, promtest.Series{Labels: append([]string{"__name__", "target_info", "job", "kubernetes", "instance", instance}, resource...), Samples: x.samples})
			}
			targets[instance] = true
		}
		list = append(list, s)
	}
	return list
}

// otelRow is what a row of a container is compared by.
type otelRow struct {
	Node, Controller                                         string
	Seconds, CPU, RAM, Network, Requested, Used, Level, Cost float64
}

// otelRows are the rows of containers, by namespace, pod and container.
func otelRows(s *allocation.Set) map[string]otelRow {
	rows := map[string]otelRow{}
	for row := range s.Len() {
		name := strings.Join([]string{s.Text(allocation.Namespace, row), s.Text(allocation.Pod, row), s.Text(allocation.PodUID, row), s.Text(allocation.Container, row), fmt.Sprint(s.Special(row))}, "/")
		rows[name] = otelRow{
			Node: s.Text(allocation.NodeName, row), Controller: s.Text(allocation.ControllerKind, row) + "/" + s.Text(allocation.Controller, row),
			Seconds: s.Value(allocation.RunningSeconds, row), CPU: s.Value(allocation.Cost.Of(allocation.CPU), row), RAM: s.Value(allocation.Cost.Of(allocation.RAM), row),
			Network: s.Value(allocation.NetworkTransferBytes, row), Requested: s.Value(allocation.RequestHours.Of(allocation.CPU), row),
			Used: s.Value(allocation.UsageHours.Of(allocation.CPU), row), Level: s.Value(allocation.UsageHours.Of(allocation.RAM), row),
			Cost: s.TotalCost(row),
		}
	}
	return rows
}

// TestOpenTelemetryEquals writes a cluster in both dialects: rows are equal, whatever Prometheus makes of the names and wherever the attributes are.
func TestOpenTelemetryEquals(t *testing.T) {
	t.Parallel()
	c, _ := newDemoBlocks(t, democluster.Config{End: time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC), Duration: 5 * time.Hour, Nodes: 4, Pods: 40, Seed: 3})
	all, sent := inBoth(t, seriesOfCluster(t, c))
	w := allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End().Add(-time.Hour)}
	for _, resolution := range grids() {
		q := allocation.Query{Window: w, Resolution: resolution}
		want := otelRows(compute(t, blocksOf(t, all), q)[0])
		for _, strategy := range strategies {
			for _, promoted := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %s promoted=%t", allocation.ResolutionText(resolution), strategy, promoted), func(t *testing.T) {
					set := compute(t, blocksOf(t, storedAs(t, sent, strategy, promoted)), q)[0]
					if diff := cmp.Diff(want, otelRows(set), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
						t.Errorf("%d rows (-classic +OpenTelemetry):\n%.3000s\n%q", len(want), diff, set.Warnings)
					}
				})
			}
		}
	}
}
