package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"

	"github.com/promcost/promcost/promquery"
)

// allowlist is the lines by which a service that stores only the metrics it is told to stores those that costs are computed from.
type allowlist struct {
	name string // the value of --for
	text string // a template over the metrics of each program
}

// allowlists are those of the services.
var allowlists = []allowlist{
	{"azure", `# Azure Monitor managed Prometheus: under data of the ConfigMap ama-metrics-settings-configmap in the namespace kube-system.
# Labels and annotations: az aks update … --ksm-metric-labels-allow-list "{{.Labels}},nodes=[*]" --ksm-metric-annotations-allow-list "{{.Labels}}"
default-targets-metrics-keep-list: |-
  kubelet = "{{join .Kubelets "|"}}"
  cadvisor = "{{join .CAdvisor "|"}}"
  kubestate = "{{join .KubeStateMetrics "|"}}"
  nodeexporter = "{{join .NodeExporter "|"}}"
`},
	{"google", `# Google Managed Service for Prometheus: under the endpoints of the PodMonitoring or ClusterPodMonitoring of each program. Without these lines all metrics
# are stored. Kubelets and their cAdvisor have no such lines: OperatorConfig config in the namespace gmp-public, collection.kubeletScraping, stores all of theirs.
# Labels and annotations: kube-state-metrics --metric-labels-allowlist={{.Labels}},nodes=[*] --metric-annotations-allowlist={{.Labels}}
kube-state-metrics:
  metricRelabeling:
  - action: keep
    sourceLabels: [__name__]
    regex: {{join .KubeStateMetrics "|"}}
node-exporter:
  metricRelabeling:
  - action: keep
    sourceLabels: [__name__]
    regex: {{join .NodeExporter "|"}}
`},
	{"grafana-cloud", `# Grafana Cloud: values of the chart k8s-monitoring, version 2 or later.
# Labels and annotations: kube-state-metrics --metric-labels-allowlist={{.Labels}},nodes=[*] --metric-annotations-allowlist={{.Labels}}
clusterMetrics:
  kube-state-metrics:
    metricsTuning:
      includeMetrics: [{{join .KubeStateMetrics ", "}}]
  cadvisor:
    metricsTuning:
      includeMetrics: [{{join .CAdvisor ", "}}]
  kubelet:
    metricsTuning:
      includeMetrics: [{{join .Kubelets ", "}}]
  node-exporter:
    metricsTuning:
      includeMetrics: [{{join .NodeExporter ", "}}]
`},
	{"amp", `# Amazon Managed Service for Prometheus: under the job of each program, in the scrape_configs of what scrapes for it.
# Labels and annotations: kube-state-metrics --metric-labels-allowlist={{.Labels}},nodes=[*] --metric-annotations-allowlist={{.Labels}}
kube-state-metrics:
  metric_relabel_configs:
  - action: keep
    source_labels: [__name__]
    regex: {{join .KubeStateMetrics "|"}}
cadvisor:
  metric_relabel_configs:
  - action: keep
    source_labels: [__name__]
    regex: {{join .CAdvisor "|"}}
kubelet:
  metric_relabel_configs:
  - action: keep
    source_labels: [__name__]
    regex: {{join .Kubelets "|"}}
node-exporter:
  metric_relabel_configs:
  - action: keep
    source_labels: [__name__]
    regex: {{join .NodeExporter "|"}}
`},
	{"opentelemetry", `# OpenTelemetry Collector: a processor for what k8s_cluster and kubeletstats send. OPENTELEMETRY.md has the rest of its configuration.
processors:
  filter/promcost:
    metrics:
      include:
        match_type: strict
        metric_names: [{{join .OTelCollector ", "}}]
# Prometheus that takes it by OTLP: what stays a label of each series.
otlp:
  promote_resource_attributes: [{{join .Attributes ", "}}]
`},
}

// allowlistNames are the values of --for.
func allowlistNames() (names []string) {
	for _, a := range allowlists {
		names = append(names, a.name)
	}
	return names
}

// allowlistNamed is that of a service.
func allowlistNamed(name string) (*allowlist, error) {
	for i := range allowlists {
		if allowlists[i].name == name {
			return &allowlists[i], nil
		}
	}
	return nil, fmt.Errorf("it must be %s", oneOfList("", allowlistNames()))
}

// write writes the lines.
func (a *allowlist) write(io streams) error {
	metrics := map[string][]string{}
	for _, e := range promquery.Exporters() {
		metrics[e.Name] = e.Metrics
	}
	t, err := template.New(a.name).Funcs(template.FuncMap{"join": strings.Join}).Parse(a.text)
	if err != nil {
		return fmt.Errorf("parse allowlist of %s: %w", a.name, err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Labels": "namespaces=[*],pods=[*]", "KubeStateMetrics": metrics[promquery.KubeStateMetrics], "CAdvisor": metrics[promquery.CAdvisor],
		"Kubelets": metrics[promquery.Kubelets], "NodeExporter": metrics[promquery.NodeExporter],
		"OTelCollector": metrics[promquery.OTelCollector], "Attributes": promquery.OTelAttributes(),
	})
	if err != nil {
		return fmt.Errorf("write allowlist of %s: %w", a.name, err)
	}
	_, err = b.WriteTo(io.out)
	return err
}
