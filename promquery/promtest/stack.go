package promtest

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
