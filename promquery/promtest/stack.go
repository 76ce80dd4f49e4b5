package promtest

import (
	"fmt"
	"strings"
)

// StackDrops are the metric_relabel_configs by which kube-prometheus-stack drops metrics of kubelets' cAdvisor by default:
// cAdvisorMetricRelabelings in charts/kube-prometheus-stack/values.yaml of version 88.5.3, read at
// prometheus-community/helm-charts cf408a290aec489277a94450bb3511432477a53a. It drops nothing of kube-state-metrics.
const StackDrops = `
- {source_labels: [__name__], action: drop, regex: 'container_cpu_(cfs_throttled_seconds_total|load_average_10s|system_seconds_total|user_seconds_total)'}
- {source_labels: [__name__], action: drop, regex: 'container_fs_(io_current|io_time_seconds_total|io_time_weighted_seconds_total|reads_merged_total|sector_reads_total|sector_writes_total|writes_merged_total)'}
- {source_labels: [__name__], action: drop, regex: 'container_memory_(mapped_file|swap)'}
- {source_labels: [__name__], action: drop, regex: 'container_(file_descriptors|tasks_state|threads_max)'}
- {source_labels: [__name__, scope], action: drop, regex: 'container_memory_failures_total;hierarchy'}
- {source_labels: [__name__, interface], action: drop, regex: 'container_network_.*;(cali|cilium|cni|lxc|nodelocaldns|tunl).*'}
- {source_labels: [__name__], action: drop, regex: 'container_spec.*'}
- {source_labels: [id, pod], action: drop, regex: '.+;'}
`

// StackLabels are the labels, as alternating names and values, that kube-prometheus-stack gives the target of its
// kube-state-metrics. It scrapes with honor_labels: series that have such labels keep their own, others get these.
var StackLabels = []string{
	"job", "kube-state-metrics", "instance", "10.9.0.101:8080", "namespace", "monitoring", "service", "kps-kube-state-metrics",
	"pod", "kps-kube-state-metrics-7d9f8b5c6d-x2x4z", "container", "kube-state-metrics", "endpoint", "http",
}

// StackMonitor is an endpoint of a ServiceMonitor of kube-prometheus-stack.
type StackMonitor struct {
	Name, Namespace string   // of the ServiceMonitor, and where the Services are that it selects
	Services        []string // their labels, as alternating names and values, as Prometheus writes them
	Port, Path      string
	JobLabel        string // label of the Service that is the job
	Timestamps      bool   // samples have times of their own, and their staleness is tracked
	More, Drops     string // further relabel_configs and metric_relabel_configs
}

// metricsPath is what the chart adds to all endpoints of kubelets.
const metricsPath = "\n  - {source_labels: [__metrics_path__], target_label: metrics_path}"

// The monitors of the chart whose metrics promcost reads, in a release that is called kps: KubeStateMetrics is templates/servicemonitor.yaml
// of charts/kube-state-metrics, the others are templates/exporters/kubelet/servicemonitor.yaml of charts/kube-prometheus-stack with
// the values of kubelet.serviceMonitor. All of it was read in the version that StackDrops names. By default the chart does not scrape
// StackResource.
var (
	StackCadvisor = StackMonitor{
		Name: "kps-kubelet", Namespace: "kube-system", Services: []string{"app_kubernetes_io_name", "kubelet", "k8s_app", "kubelet"},
		Port: "https-metrics", Path: "/metrics/cadvisor", JobLabel: "k8s_app", Timestamps: true, More: metricsPath, Drops: StackDrops,
	}
	StackResource = StackMonitor{
		Name: "kps-kubelet", Namespace: "kube-system", Services: StackCadvisor.Services,
		Port: "https-metrics", Path: "/metrics/resource", JobLabel: "k8s_app", Timestamps: true, More: metricsPath,
	}
)

// StackKubeStateMetrics is the monitor of a release of kube-state-metrics.
func StackKubeStateMetrics(release string) StackMonitor {
	return StackMonitor{
		Name: release + "-kube-state-metrics", Namespace: "monitoring", Port: "http", Path: "/metrics", JobLabel: "app_kubernetes_io_name",
		Services: []string{"app_kubernetes_io_instance", release, "app_kubernetes_io_name", "kube-state-metrics"},
	}
}

// Job is a job of scrapes as the Prometheus operator writes it: generateServiceMonitorConfig in pkg/prometheus/promcfg.go of
// prometheus-operator 0.93.0, read at 6adcebc5076c34f4f55f8f5f7b1e528929373ac7, with the role that Prometheus objects have by default. Relabelings
// that come last say where the target is in truth. Targets are found by the API of kubeconfig.
func (m *StackMonitor) Job(kubeconfig, interval, relabelings string) string {
	var keep strings.Builder
	for i := 0; i+1 < len(m.Services); i += 2 {
		fmt.Fprintf(&keep, "\n  - {action: keep, source_labels: [__meta_kubernetes_service_label_%[1]s, __meta_kubernetes_service_labelpresent_%[1]s], regex: (%[2]s);true}", m.Services[i], m.Services[i+1])
	}
	job := fmt.Sprintf(`
- job_name: serviceMonitor/monitoring/%[1]s%[2]s
  honor_labels: true
  honor_timestamps: true
  track_timestamps_staleness: %[3]t
  scrape_interval: %[4]s
  scrape_timeout: %[4]s
  metrics_path: %[2]s
  kubernetes_sd_configs: [{role: endpoints, kubeconfig_file: %[5]s, namespaces: {names: [%[6]s]}}]
  relabel_configs:
  - {source_labels: [job], target_label: __tmp_prometheus_job_name}%[7]s
  - {action: keep, source_labels: [__meta_kubernetes_endpoint_port_name], regex: %[8]s}
  - {source_labels: [__meta_kubernetes_endpoint_address_target_kind, __meta_kubernetes_endpoint_address_target_name], regex: Node;(.*), target_label: node}
  - {source_labels: [__meta_kubernetes_endpoint_address_target_kind, __meta_kubernetes_endpoint_address_target_name], regex: Pod;(.*), target_label: pod}
  - {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
  - {source_labels: [__meta_kubernetes_service_name], target_label: service}
  - {source_labels: [__meta_kubernetes_pod_name], target_label: pod}
  - {source_labels: [__meta_kubernetes_pod_container_name], target_label: container}
  - {action: drop, source_labels: [__meta_kubernetes_pod_phase], regex: (Failed|Succeeded)}
  - {source_labels: [__meta_kubernetes_service_name], target_label: job}
  - {source_labels: [__meta_kubernetes_service_label_%[9]s], regex: (.+), target_label: job}
  - {target_label: endpoint, replacement: %[8]s}%[10]s%[11]s`,
		m.Name, m.Path, m.Timestamps, interval, kubeconfig, m.Namespace, keep.String(), m.Port, m.JobLabel, m.More, relabelings)
	if m.Drops != "" {
		job += "\n  metric_relabel_configs:" + strings.ReplaceAll(m.Drops, "\n-", "\n  -")
	}
	return job + "\n"
}
