package promtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// collectorConfig is the configuration that OPENTELEMETRY.md recommends, over a kubelet of one node, and what a test adds to its exporters.
const collectorConfig = `
receivers:
  k8s_cluster:
    auth_type: kubeConfig
    collection_interval: 5s
    allocatable_types_to_report: [cpu, memory]
    metrics:
      k8s.container.status.state: {enabled: true}
  kubeletstats:
    auth_type: none
    collection_interval: 5s
    endpoint: %s
    metric_groups: [node, pod, container, volume]
    extra_metadata_labels: [container.id, k8s.volume.type]
processors:
  k8s_attributes:
    auth_type: kubeConfig
    extract: {metadata: [k8s.deployment.name, k8s.statefulset.name, k8s.daemonset.name, k8s.cronjob.name, k8s.job.name]}
    pod_association: [{sources: [{from: resource_attribute, name: k8s.pod.uid}]}]
exporters:
  prometheus: {endpoint: %q, resource_to_telemetry_conversion: {enabled: true}, metric_expiration: 20s}
  %s
service:
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines:
    metrics: {receivers: [k8s_cluster, kubeletstats], processors: [k8s_attributes], exporters: [prometheus%s]}
`

// StartCollector runs an OpenTelemetry Collector over the API until the test ends, $OTELCOL or bin/otelcol, and returns the URL of what its exporter prometheus
// exposes. It sends what it collects to a Prometheus, too, by OTLP, unless that is "". The Collector needs the receivers k8s_cluster and kubeletstats, the
// processor k8s_attributes, and the exporters prometheus and otlphttp. StartCollector skips the test if there is no binary.
func StartCollector(t testing.TB, k *Kubernetes, prometheus string) (url string) {
	t.Helper()
	binary := optional(t, "OTELCOL", "otelcol")
	stats := httptest.NewServer(kubeletStats{k, time.Now()})
	t.Cleanup(stats.Close)
	exporter, name := "", ""
	if prometheus != "" {
		exporter, name = fmt.Sprintf("otlphttp: {endpoint: %s/api/v1/otlp, compression: none}", prometheus), ", otlphttp"
	}
	dir := t.TempDir()
	return run(t, process{
		name: "OpenTelemetry Collector", binary: binary, ready: "/metrics",
		args: func(addr []string) []string {
			return []string{"--config=file:" + writeFile(t, dir, "collector.yaml", fmt.Sprintf(collectorConfig, stats.URL, addr[0], exporter, name))}
		},
		env: func([]string) []string { return []string{"KUBECONFIG=" + k.kubeconfig} },
	})[0]
}

// kubeletStats answers as a kubelet of one node does that has all pods, which kwok does not: containers use a tenth of a core and 100 MiB, and send 1 kB a second.
type kubeletStats struct {
	k     *Kubernetes
	start time.Time
}

// podStatus is what is needed of a pod.
type podStatus struct {
	Metadata struct{ Namespace, Name, UID string }
	Spec     struct {
		Volumes []struct {
			Name                  string
			PersistentVolumeClaim *struct{ ClaimName string }
		}
	}
	Status struct {
		ContainerStatuses []struct {
			Name  string
			State struct {
				Running *struct{ StartedAt time.Time }
			}
		}
	}
}

// ServeHTTP implements http.Handler.
func (s kubeletStats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const path = "/api/v1/pods"
	if strings.HasPrefix(r.URL.Path, "/pods") {
		var pods json.RawMessage
		s.answer(w, s.k.Do(r.Context(), http.MethodGet, path, nil, &pods), pods)
		return
	}
	var list struct{ Items []podStatus }
	err := s.k.Do(r.Context(), http.MethodGet, path, nil, &list)
	s.answer(w, err, map[string]any{"node": map[string]any{"nodeName": "one", "startTime": s.start, "cpu": s.cpu(s.start, 1), "memory": memory(1 << 30), "fs": disk(100 << 30)}, "pods": s.pods(list.Items)})
}

func (kubeletStats) answer(w http.ResponseWriter, err error, body any) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_ = json.NewEncoder(w).Encode(body) // the Collector says if it does not come
}

// pods are the statistics of pods with running containers.
func (s kubeletStats) pods(list []podStatus) []any {
	pods := []any{}
	for i := range list {
		p := &list[i]
		var containers []any
		for _, c := range p.Status.ContainerStatuses {
			if at := c.State.Running; at != nil {
				containers = append(containers, map[string]any{"name": c.Name, "startTime": at.StartedAt, "cpu": s.cpu(at.StartedAt, 0.1), "memory": memory(100 << 20)})
			}
		}
		if containers == nil {
			continue
		}
		volumes := []any{}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				volume := disk(20 << 30)
				volume["name"], volume["pvcRef"] = v.Name, map[string]any{"name": v.PersistentVolumeClaim.ClaimName, "namespace": p.Metadata.Namespace}
				volumes = append(volumes, volume)
			}
		}
		sent := int64(1000 * time.Since(s.start).Seconds())
		pods = append(pods, map[string]any{
			"podRef": map[string]any{"name": p.Metadata.Name, "namespace": p.Metadata.Namespace, "uid": p.Metadata.UID}, "startTime": s.start, "containers": containers,
			"cpu": s.cpu(s.start, 0.1), "memory": memory(100 << 20), "volume": volumes,
			"network": map[string]any{"time": time.Now(), "name": "eth0", "rxBytes": sent, "txBytes": sent},
		})
	}
	return pods
}

// cpu are cores that are used since some time.
func (kubeletStats) cpu(since time.Time, cores float64) any {
	return map[string]any{"time": time.Now(), "usageNanoCores": int64(cores * 1e9), "usageCoreNanoSeconds": int64(cores * float64(time.Since(since)))}
}

// memory is a working set.
func memory(bytes int64) any {
	return map[string]any{"time": time.Now(), "workingSetBytes": bytes, "usageBytes": bytes, "rssBytes": bytes}
}

// disk is a file system of which half is used.
func disk(bytes int64) map[string]any {
	return map[string]any{"time": time.Now(), "capacityBytes": bytes, "usedBytes": bytes / 2, "availableBytes": bytes / 2}
}
