//go:build e2e

package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// housekeeping is how often the kubelets' cAdvisor looks at a container.
const housekeeping = 10 * time.Second

// front is where Prometheus finds everything that it scrapes, at /kubelet/NODE/… and /ksm/NAME/…. It stands in front of kwok and
// of the processes of kube-state-metrics, so that they can be down.
type front struct {
	*httptest.Server
	truth *truth

	mu   sync.Mutex
	ksm  map[string]string // URLs, by the beginning of the names of pods
	down map[string]bool   // kubelets, by their nodes
}

// startFront starts one until the test ends.
func startFront(t *testing.T, tr *truth) *front {
	f := &front{truth: tr, ksm: map[string]string{}, down: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/ksm/{name}/metrics", func(w http.ResponseWriter, r *http.Request) {
		to := f.findKSM(r.PathValue("name"))
		if to == "" {
			hangUp(w)
			return
		}
		forwardTo(w, r, to+"/metrics")
	})
	mux.HandleFunc("/kubelet/{node}/metrics/{what}", func(w http.ResponseWriter, r *http.Request) {
		node := r.PathValue("node")
		f.mu.Lock()
		down := f.down[node]
		f.mu.Unlock()
		switch {
		case down:
			hangUp(w)
		case r.PathValue("what") == "cadvisor":
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			fmt.Fprint(w, cadvisorText(f.truth, node, time.Now()))
		default:
			forwardTo(w, r, f.truth.k.Kubelet(node)+"/metrics/resource")
		}
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// address is where it listens.
func (f *front) address() string { return strings.TrimPrefix(f.URL, "http://") }

// serveKSM says where the kube-state-metrics is whose pods' names begin so, "" for nowhere.
func (f *front) serveKSM(prefix, url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ksm[prefix] = url
}

// findKSM is the URL of the kube-state-metrics in a pod, "" if it does not run.
func (f *front) findKSM(pod string) (url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for prefix, to := range f.ksm {
		if strings.HasPrefix(pod, prefix) {
			url = to
		}
	}
	return url
}

// setDown says whether a kubelet is down.
func (f *front) setDown(node string, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down[node] = down
}

// forwardTo passes a request on.
func forwardTo(w http.ResponseWriter, r *http.Request, to string) {
	target, err := url.Parse(to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	proxy := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }}
	proxy.ServeHTTP(w, r)
}

// hangUp closes the connection, as if nobody listened.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		err = conn.Close()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// exposition is metrics as text, by family.
type exposition struct {
	order  []string
	blocks map[string]*strings.Builder
}

// add adds a sample, at a time unless that is zero.
func (e *exposition) add(kind, metric, labels string, value float64, at time.Time) {
	b := e.blocks[metric]
	if b == nil {
		b = &strings.Builder{}
		e.blocks[metric], e.order = b, append(e.order, metric)
		fmt.Fprintf(b, "# TYPE %s %s\n", metric, kind)
	}
	fmt.Fprintf(b, "%s{%s} %v", metric, labels, value)
	if !at.IsZero() {
		fmt.Fprintf(b, " %d", at.UnixMilli())
	}
	b.WriteString("\n")
}

// text is all of it.
func (e *exposition) text() string {
	var all strings.Builder
	for _, metric := range e.order {
		all.WriteString(e.blocks[metric].String())
	}
	return all.String()
}

// cadvisorText is what a kubelet's /metrics/cadvisor says of the containers that run on a node: labels, cgroups and times as in
// promquery/promtest/testdata/recorded/kubelet-cadvisor.txt. Samples are as old as the last look at the container.
func cadvisorText(tr *truth, node string, now time.Time) string {
	e := &exposition{blocks: map[string]*strings.Builder{}}
	pods := map[string]bool{}
	for _, r := range tr.running(node, now) {
		use := tr.usage(r.UID)
		at := r.Start.Add(now.Sub(r.Start).Truncate(housekeeping))
		group := "/kubepods/burstable/pod" + r.UID
		id := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, r.UID, r.Container, r.Start)))
		own := fmt.Sprintf("container=%q,id=%q,image=\"example/%s:1\",name=%q,namespace=%q,pod=%q", r.Container, group+"/"+id, r.Container, id, r.Namespace, r.Pod)
		spent := use.cpu * at.Sub(r.Start).Seconds()
		e.add("counter", "container_cpu_usage_seconds_total", `cpu="total",`+own, spent, at)
		e.add("counter", "container_cpu_user_seconds_total", own, spent/2, at)
		e.add("gauge", "container_memory_working_set_bytes", own, use.ram, at)
		e.add("gauge", "container_start_time_seconds", own, float64(r.Start.Unix()), at)
		if pods[r.UID] {
			continue
		}
		pods[r.UID] = true
		whole := fmt.Sprintf("container=\"\",id=%q,image=\"\",name=\"\",namespace=%q,pod=%q", group, r.Namespace, r.Pod)
		e.add("counter", "container_cpu_usage_seconds_total", `cpu="total",`+whole, 2*spent, at)
		e.add("gauge", "container_memory_working_set_bytes", whole, 2*use.ram, at)
		sandbox := fmt.Sprintf("%x", sha256.Sum256([]byte(r.UID)))
		pause := fmt.Sprintf("container=\"\",id=%q,image=\"example/pause:3\",interface=\"eth0\",name=%q,namespace=%q,pod=%q", group+"/"+sandbox, sandbox, r.Namespace, r.Pod)
		e.add("counter", "container_network_transmit_bytes_total", pause, 1000*at.Sub(r.Start).Seconds(), at)
		e.add("counter", "container_network_receive_bytes_total", pause, 500*at.Sub(r.Start).Seconds(), at)
	}
	root := `container="",id="/",image="",name="",namespace="",pod=""`
	e.add("counter", "container_cpu_usage_seconds_total", `cpu="total",`+root, float64(now.Unix()), now)
	e.add("gauge", "container_memory_working_set_bytes", root, 1<<33, now)
	return e.text()
}

// kwokUsage has kwok serve usage in the shape of a kubelet's /metrics/resource: what annotations of pods say that their containers
// use. Other than of a kubelet, there is none of init containers, some of pods that do not run, and counters begin with the pod, or
// at the Unix time of an annotation.
const kwokUsage = `
kind: ClusterResourceUsage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: annotations}
spec:
  usages:
  - usage:
      cpu:
        expression: |
          pod.status.phase != "Running" ? Quantity("0")
          : "kwok.x-k8s.io/usage-cpu" in pod.metadata.annotations ? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-cpu"]) : Quantity("1m")
      memory:
        expression: |
          pod.status.phase != "Running" ? Quantity("0")
          : "kwok.x-k8s.io/usage-memory" in pod.metadata.annotations ? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-memory"]) : Quantity("1Mi")
---
kind: Metric
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: resource}
spec:
  path: "/metrics/nodes/{nodeName}/metrics/resource"
  metrics:
  - name: container_cpu_usage_seconds_total
    dimension: container
    kind: counter
    help: "[STABLE] Cumulative cpu time consumed by the container in core-seconds"
    labels: [{name: container, value: container.name}, {name: namespace, value: pod.metadata.namespace}, {name: pod, value: pod.metadata.name}]
    value: |
      pod.status.phase != "Running" ? 0.0
      : pod.Usage("cpu", container.name) * (UnixSecond(Now()) - ("promtest/since" in pod.metadata.annotations ? double(pod.metadata.annotations["promtest/since"]) : UnixSecond(pod.status.startTime)))
  - name: container_memory_working_set_bytes
    dimension: container
    kind: gauge
    help: "[STABLE] Current working set of the container in bytes"
    labels: [{name: container, value: container.name}, {name: namespace, value: pod.metadata.namespace}, {name: pod, value: pod.metadata.name}]
    value: 'pod.Usage("memory", container.name)'
`

// naiveJobs are scrapes as in documentation/examples/prometheus-kubernetes.yml of Prometheus 3.15, the jobs of nodes and of the
// endpoints of services, which do not honor labels.
func naiveJobs(kubeconfig, interval, front string) string {
	return fmt.Sprintf(`
- job_name: kubernetes-resource
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  metrics_path: /metrics/resource
  kubernetes_sd_configs: [{role: node, kubeconfig_file: %[2]s}]
  relabel_configs:
  - {action: labelmap, regex: __meta_kubernetes_node_label_(.+)}%[3]s
- job_name: kubernetes-service-endpoints
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  kubernetes_sd_configs: [{role: endpoints, kubeconfig_file: %[2]s, namespaces: {names: [monitoring]}}]
  relabel_configs:
  - {action: keep, source_labels: [__meta_kubernetes_service_label_app_kubernetes_io_instance], regex: defaults}
  - {action: labelmap, regex: __meta_kubernetes_service_label_(.+)}
  - {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
  - {source_labels: [__meta_kubernetes_service_name], target_label: service}%[4]s
`, interval, kubeconfig, moved("__meta_kubernetes_node_name", "/kubelet/${1}/metrics/resource", front), moved("__meta_kubernetes_pod_name", "/ksm/${1}/metrics", front))
}

// moved are the last relabelings of a target: it is at a path of the front that depends on a label, but keeps the instance that it
// would have in a cluster.
func moved(label, path, front string) string {
	return fmt.Sprintf(`
  - {source_labels: [__address__], target_label: instance}
  - {source_labels: [%s], regex: (.+), target_label: __metrics_path__, replacement: %q}
  - {target_label: __address__, replacement: %q}
  - {target_label: __scheme__, replacement: http}`, label, path, front)
}

// stackJobs are scrapes as by kube-prometheus-stack.
func stackJobs(kubeconfig, interval, front, release string, resource bool) string {
	kubelets := func(m promtest.StackMonitor) string {
		return m.Job(kubeconfig, interval, moved("__meta_kubernetes_endpoint_address_target_name", "/kubelet/${1}"+m.Path, front))
	}
	ksm := promtest.StackKubeStateMetrics(release)
	jobs := ksm.Job(kubeconfig, interval, moved("__meta_kubernetes_pod_name", "/ksm/${1}/metrics", front)) + kubelets(promtest.StackCadvisor)
	if resource {
		jobs += kubelets(promtest.StackResource)
	}
	return jobs
}
