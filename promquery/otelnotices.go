package promquery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// otelSettings are what has to be set in a Collector so that its receivers report inputs.
var otelSettings = []struct {
	setting string
	inputs  []string
}{
	{"allocatable_types_to_report: [cpu, memory] of k8s_cluster", []string{"node cpu", "node memory"}},
	{"metrics: {k8s.container.status.state: {enabled: true}} of k8s_cluster", []string{"running"}},
	{"metrics: {k8s.persistentvolumeclaim.storage.capacity: {enabled: true}} of k8s_cluster", []string{"volume", "volume capacity", "volume claim"}},
	{"extra_metadata_labels: [k8s.volume.type] of kubeletstats", []string{"claim capacity", "pod volumes"}},
	{"metrics: {k8s.pod.volume.usage: {enabled: true}} of kubeletstats", []string{"claim usage"}},
	{"extract: {metadata: [k8s.deployment.name, k8s.statefulset.name, k8s.daemonset.name, k8s.cronjob.name, k8s.job.name]} of the processor k8s_attributes", []string{"pod owner", "replicaset owner", "job owner"}},
	{"up the receiver k8s_cluster", []string{"pod", "node", "cpu request", "memory request", "cpu limit", "memory limit"}},
	{"up the receiver kubeletstats, with metric_groups: [node, pod, container, volume]", []string{"cpu usage", "memory usage", "bytes sent", "bytes received", "node disk"}},
}

// otelSetting is what has to be set in a Collector so that its receivers report the input; "" if they never do.
func (in *Input) otelSetting() string {
	for _, x := range otelSettings {
		if slices.Contains(x.inputs, in.Name) {
			return "set " + x.setting
		}
	}
	return ""
}

// tells reports whether OpenTelemetry's receivers report of a cluster what no other program does.
func (o *otel) tells(cluster Symbol) bool {
	if o == nil || o.seen[cluster] == nil {
		return false
	}
	return o.seen[cluster][ClusterReceiver].counts()
}

// otelWarning says that OpenTelemetry's receivers report a cluster, what they never report, and what they could.
func otelWarning(cluster Symbol, lacking []*Input) string {
	texts := []string{fmt.Sprintf("cluster %s: OpenTelemetry's receivers report it. They never report GPUs, prices, load balancers, services, labels, and when containers start and end: kube-state-metrics beside them does", cluster.Value())}
	for _, x := range otelSettings {
		var costs []string
		for _, in := range lacking {
			if slices.Contains(x.inputs, in.Name) {
				costs = append(costs, in.Name+": "+in.Missing)
			}
		}
		if len(costs) > 0 {
			texts = append(texts, fmt.Sprintf("set %s in the Collector, for it lacks %s", x.setting, strings.Join(costs, ", ")))
		}
	}
	return strings.Join(texts, "; ")
}

// warnOTel warns of clusters of which others tell, too, and of series that nothing names.
func (w *window) warnOTel() {
	clusters := slices.SortedFunc(maps.Keys(w.otel.seen), func(a, b Symbol) int { return strings.Compare(a.Value(), b.Value()) })
	for _, cluster := range clusters {
		for r, s := range w.otel.seen[cluster] {
			if told := w.otel.told[cluster]; s.superseded() || told != nil && len(told[r]) > 0 {
				w.Warn(fmt.Sprintf("cluster %s: OpenTelemetry's receivers and other programs both report it: %s counts, and %s only while that has no samples", cluster.Value(), Receiver(r).classic(), Receiver(r)))
			}
		}
	}
	if w.otel.nameless {
		w.Warn("OpenTelemetry's receivers: some series name no pod, container or node, and are left out: let promote_resource_attributes of Prometheus, or resource_to_telemetry_conversion of the Collector's exporter, keep k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.container.name and k8s.node.name as labels")
	}
}

// lookForOTel finds out what a source has of OpenTelemetry's receivers in a window.
func (c *computation) lookForOTel(ctx context.Context, w allocation.Window) (*otel, error) {
	c.addWindow(ctx, allocation.Query{Window: w})
	of := c.windows[len(c.windows)-1]
	defer func() { c.windows = nil }()
	if err := c.findScrapeIntervals(ctx); err != nil {
		return nil, fmt.Errorf("find the scrape interval: %w", err)
	}
	return &of.otel, c.findOTel(ctx)
}
