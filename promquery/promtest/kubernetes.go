package promtest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed" // the stages are a file
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// stages is how kwok lets nodes and pods live. It does what a kubelet does to their status, as annotations of the pods
// tell it.
//
//go:embed testdata/stages.yaml
var stages []byte

// token is what clients of the API authenticate with, as its administrator.
const token = "promtest"

// Kubernetes is a real Kubernetes API with the controllers and the scheduler, whose nodes and pods are made up by kwok.
type Kubernetes struct {
	url, kubeconfig, kubelets, scheduler string
	network                              *podNetwork
}

// StartKubernetes runs a Kubernetes control plane and kwok until the test ends. Their binaries are $ETCD, $KUBE_APISERVER
// and so on, else those in bin. It skips the test where one is missing. Documents are more of kwok's configuration.
func StartKubernetes(t testing.TB, documents ...string) *Kubernetes {
	t.Helper()
	etcd := optional(t, "ETCD", "etcd")
	apiserver := optional(t, "KUBE_APISERVER", "kube-apiserver")
	manager := optional(t, "KUBE_CONTROLLER_MANAGER", "kube-controller-manager")
	scheduler := optional(t, "KUBE_SCHEDULER", "kube-scheduler")
	kwok := optional(t, "KWOK", "kwok")

	dir := t.TempDir()
	public, private := writeKeys(t, dir)
	tokens := writeFile(t, dir, "tokens.csv", token+",admin,admin,system:masters\n")
	store := run(t, process{name: "etcd", binary: etcd, ready: "/health", ports: 2, args: func(addr []string) []string {
		client, peer := "http://"+addr[0], "http://"+addr[1]
		return []string{
			"--data-dir=" + filepath.Join(dir, "etcd"), "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
			"--unsafe-no-fsync", "--log-level=error",
		}
	}})[0]
	k := &Kubernetes{network: &podNetwork{routes: map[string]string{}}}
	selector := writeFile(t, dir, "egress.yaml", fmt.Sprintf(egress, k.network.start(t)))
	aggregation := frontProxy(t, dir)
	k.url = run(t, process{name: "kube-apiserver", binary: apiserver, ready: "/readyz", tls: true, args: func(addr []string) []string {
		return append([]string{
			"--etcd-servers=" + store, "--secure-port=" + port(addr[0]), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
			"--cert-dir=" + filepath.Join(dir, "certs"), "--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + public, "--service-account-signing-key-file=" + private, "--token-auth-file=" + tokens,
			"--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.0.0.0/16", "--disable-admission-plugins=ServiceAccount",
			"--endpoint-reconciler-type=none", "--egress-selector-config-file=" + selector,
		}, aggregation...)
	}})[0]
	k.kubeconfig = writeFile(t, dir, "kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}],
users: [{name: admin, user: {token: %s}}], contexts: [{name: test, context: {cluster: test, user: admin}}]}
`, k.url, token))
	for name, binary := range map[string]string{"kube-controller-manager": manager, "kube-scheduler": scheduler} {
		url := run(t, process{name: name, binary: binary, ready: "/healthz", tls: true, args: func(addr []string) []string {
			args := []string{
				"--kubeconfig=" + k.kubeconfig, "--authentication-kubeconfig=" + k.kubeconfig, "--authorization-kubeconfig=" + k.kubeconfig,
				"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + port(addr[0]),
			}
			if binary == manager {
				args = append(args, "--service-account-private-key-file="+private)
			}
			return args
		}})[0]
		if binary == scheduler {
			k.scheduler = url
		}
	}
	config := writeFile(t, dir, "stages.yaml", strings.Join(append([]string{string(stages)}, documents...), "\n---\n"))
	k.kubelets = run(t, process{name: "kwok", binary: kwok, ready: "/healthz", args: func(addr []string) []string {
		return []string{
			"--kubeconfig=" + k.kubeconfig, "--config=" + config, "--manage-all-nodes=true", "--server-address=" + addr[0],
			"--node-ip=127.0.0.1", "--cidr=10.9.0.0/16",
		}
	}})[0]
	return k
}

// Allowlists are the flags that README recommends for kube-state-metrics.
var Allowlists = []string{
	"--metric-labels-allowlist=pods=[*],namespaces=[*],nodes=[*],endpointslices=[kubernetes.io/service-name]",
	"--metric-annotations-allowlist=pods=[*],namespaces=[*]",
}

// StartKubeStateMetrics runs a kube-state-metrics over the API until the test ends, $KUBE_STATE_METRICS or bin/kube-state-metrics,
// and returns its URL. It skips the test if there is no binary.
func StartKubeStateMetrics(t testing.TB, k *Kubernetes, flags ...string) (url string) {
	t.Helper()
	binary := optional(t, "KUBE_STATE_METRICS", "kube-state-metrics")
	return run(t, process{name: "kube-state-metrics", binary: binary, ready: "/healthz", ports: 2, args: func(addr []string) []string {
		return append([]string{
			"--kubeconfig=" + k.kubeconfig, "--host=127.0.0.1", "--port=" + port(addr[0]),
			"--telemetry-host=127.0.0.1", "--telemetry-port=" + port(addr[1]),
		}, flags...)
	}})[0]
}

// StartNodeExporter runs a node_exporter until the test ends, $NODE_EXPORTER or bin/node-exporter, and returns its URL. It skips
// the test if there is no binary.
func StartNodeExporter(t testing.TB, flags ...string) (url string) {
	t.Helper()
	binary := optional(t, "NODE_EXPORTER", "node-exporter")
	return run(t, process{name: "node_exporter", binary: binary, ready: "/", args: func(addr []string) []string {
		return append([]string{"--web.listen-address=" + addr[0], "--log.level=error"}, flags...)
	}})[0]
}

// StartOpenCost runs an OpenCost over the API and a Prometheus until the test ends, and returns its URL. Its prices are the
// file prices, in OpenCost's own format; it asks no cloud. Only $OPENCOST names its binary: it skips the test where that is
// not set.
func StartOpenCost(t testing.TB, k *Kubernetes, prometheus, prices string) (url string) {
	t.Helper()
	binary := optional(t, "OPENCOST", "opencost")
	configs := t.TempDir()
	writeFile(t, configs, "default.json", prices)
	return run(t, process{
		name: "OpenCost", binary: binary, ready: "/healthz",
		args: func([]string) []string { return nil },
		env: func(addr []string) []string {
			return []string{
				"API_PORT=" + port(addr[0]), "KUBERNETES_PORT=set", "KUBECONFIG=" + k.kubeconfig, "CONFIG_PATH=" + configs + "/",
				"PROMETHEUS_SERVER_ENDPOINT=" + prometheus, "CLUSTER_ID=test", "USE_CUSTOM_PROVIDER=true", "CACHE_WARMING_ENABLED=false",
				"LOG_COLLECTION_ENABLED=false", "PRODUCT_ANALYTICS_ENABLED=false", "ERROR_REPORTING_ENABLED=false", "VALUES_REPORTING_ENABLED=false",
			}
		},
	})[0]
}

// CRDs are the custom resource definitions in a directory, $CRDS or bin/crds, whose names have one of these endings. It skips
// the test where there are none.
func CRDs(t testing.TB, endings ...string) (documents []byte) {
	t.Helper()
	dir := optional(t, "CRDS", "crds")
	for _, ending := range endings {
		files, err := filepath.Glob(filepath.Join(dir, "*_"+ending+".yaml"))
		if err != nil || len(files) != 1 {
			t.Fatalf("find custom resource definition %s in %s: %d files, %v", ending, dir, len(files), err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		documents = append(append(documents, "\n---\n"...), text...)
	}
	return documents
}

// Kubeconfig is a file by which clients reach the API as its administrator.
func (k *Kubernetes) Kubeconfig() string { return k.kubeconfig }

// Address is the host and the port of the API.
func (k *Kubernetes) Address() string { return strings.TrimPrefix(k.url, "https://") }

// KubeletPort is that of 127.0.0.1 on which kwok answers for the kubelets of all nodes.
func (k *Kubernetes) KubeletPort() string { return port(strings.TrimPrefix(k.kubelets, "http://")) }

// Kubelet is the URL at which kwok answers for the kubelet of a node, with metrics that its configuration says.
func (k *Kubernetes) Kubelet(node string) string { return k.kubelets + "/metrics/nodes/" + node }

// SchedulerJob is a job of scrapes of what the scheduler says of the resources of pods.
func (k *Kubernetes) SchedulerJob(interval string) string {
	return fmt.Sprintf(`
- job_name: kube-scheduler
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  scheme: https
  metrics_path: /metrics/resources
  authorization: {credentials: %[2]s}
  tls_config: {insecure_skip_verify: true}
  static_configs: [{targets: [%[3]q]}]
`, interval, token, strings.TrimPrefix(k.scheduler, "https://"))
}

// Do sends a request to the API with an object as JSON (nil: none), and decodes its answer into reply unless that is nil.
// The error of an answer that is not 2xx has its text.
func (k *Kubernetes) Do(ctx context.Context, method, path string, object, reply any) error {
	var body []byte
	if object != nil {
		var err error
		if body, err = json.Marshal(object); err != nil {
			return fmt.Errorf("encode object: %w", err)
		}
	}
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
	}
	_, text, err := exchange(ctx, method, k.url+path, body, map[string]string{"Authorization": "Bearer " + token, "Content-Type": kind})
	if err != nil || reply == nil {
		return err
	}
	return json.Unmarshal(text, reply)
}

// Token is a token of a service account.
func (k *Kubernetes) Token(t testing.TB, namespace, account string) string {
	t.Helper()
	var reply struct{ Status struct{ Token string } }
	request := map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{}}
	if err := k.Do(t.Context(), http.MethodPost, Path("ServiceAccount", namespace, account)+"/token", request, &reply); err != nil {
		t.Fatal(err)
	}
	return reply.Status.Token
}

// Apply makes or changes the objects of a file of YAML documents, which are validated strictly, on the API's side. Those
// that name no namespace are in one, unless they are of the cluster.
func (k *Kubernetes) Apply(ctx context.Context, namespace string, documents []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(documents))
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var object struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		if err == nil {
			err = doc.Decode(&object)
		}
		if err != nil {
			return fmt.Errorf("read objects: %w", err)
		}
		if object.Kind == "" { // nothing between two marks
			continue
		}
		body, err := yaml.Marshal(&doc)
		if err != nil {
			return fmt.Errorf("encode object: %w", err)
		}
		path := Path(object.Kind, cmp.Or(object.Metadata.Namespace, namespace), object.Metadata.Name)
		_, _, err = exchange(ctx, http.MethodPatch, k.url+path+"?fieldManager=promtest&fieldValidation=Strict", body,
			map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/apply-patch+yaml"})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.Kind, object.Metadata.Name, err)
		}
	}
}

// Watch calls event with each line of the watch at path, which is an event with its object as JSON, until the context ends. The API ends
// a watch when it likes, such as one that reads too slowly on a busy machine: it goes on after the last object, so that no event is lost.
func (k *Kubernetes) Watch(ctx context.Context, path string, event func(line []byte) error) error {
	var last int64 // resource version
	note := func(line []byte) error {
		var e struct {
			Type   string
			Object struct {
				Metadata struct{ ResourceVersion string }
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read event of a watch: %w", err)
		}
		if e.Type == "ERROR" {
			return fmt.Errorf("watch ends: %s", line)
		}
		if version, err := strconv.ParseInt(e.Object.Metadata.ResourceVersion, 10, 64); err == nil {
			last = max(last, version) // the first events come in no order
		}
		return event(line)
	}
	for ctx.Err() == nil {
		from := path
		if last > 0 {
			from += "&resourceVersion=" + strconv.FormatInt(last, 10)
		}
		if err := k.watchOnce(ctx, from, note); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// watchOnce calls event with each line of a watch until the context or the API ends it.
func (k *Kubernetes) watchOnce(ctx context.Context, path string, event func(line []byte) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := trusting.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as wanted
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("watch %s: %s", path, resp.Status)
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil // what comes after the last line is a part of one
		case err != nil:
			return err
		}
		if err := event(line); err != nil {
			return err
		}
	}
}

// Fetch returns what a URL answers.
func Fetch(t testing.TB, url string) string {
	t.Helper()
	_, text, err := exchange(t.Context(), http.MethodGet, url, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// port is that of an address.
func port(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic("BUG: an address without a port: " + addr)
	}
	return port
}

// writeFile writes a file and returns its name.
func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// writeKeys makes the key pair that the API signs tokens of service accounts with.
func writeKeys(t testing.TB, dir string) (public, private string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public = writeFile(t, dir, "sa.pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	private = writeFile(t, dir, "sa.key", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	return public, private
}

// collections are where the API keeps the objects of a kind.
var collections = map[string]string{
	"Node": "/api/v1/nodes", "Namespace": "/api/v1/namespaces", "PersistentVolume": "/api/v1/persistentvolumes",
	"StorageClass": "/apis/storage.k8s.io/v1/storageclasses", "Pod": "/api/v1/namespaces/%s/pods",
	"Endpoints": "/api/v1/namespaces/%s/endpoints",
	"Service":   "/api/v1/namespaces/%s/services", "PersistentVolumeClaim": "/api/v1/namespaces/%s/persistentvolumeclaims",
	"Deployment": "/apis/apps/v1/namespaces/%s/deployments", "StatefulSet": "/apis/apps/v1/namespaces/%s/statefulsets",
	"DaemonSet": "/apis/apps/v1/namespaces/%s/daemonsets", "Job": "/apis/batch/v1/namespaces/%s/jobs",
	"CronJob": "/apis/batch/v1/namespaces/%s/cronjobs", "ConfigMap": "/api/v1/namespaces/%s/configmaps",
	"Secret": "/api/v1/namespaces/%s/secrets", "ServiceAccount": "/api/v1/namespaces/%s/serviceaccounts",
	"NetworkPolicy":            "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
	"Ingress":                  "/apis/networking.k8s.io/v1/namespaces/%s/ingresses",
	"PodDisruptionBudget":      "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
	"CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	"HTTPRoute":                "/apis/gateway.networking.k8s.io/v1/namespaces/%s/httproutes",
	"Role":                     "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
	"RoleBinding":              "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
	"ClusterRole":              "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"ClusterRoleBinding":       "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"RuntimeClass":             "/apis/node.k8s.io/v1/runtimeclasses",
	"DeviceClass":              "/apis/resource.k8s.io/v1/deviceclasses",
	"ResourceSlice":            "/apis/resource.k8s.io/v1/resourceslices",
	"ResourceClaim":            "/apis/resource.k8s.io/v1/namespaces/%s/resourceclaims",
	"ResourceClaimTemplate":    "/apis/resource.k8s.io/v1/namespaces/%s/resourceclaimtemplates",
	"APIService":               "/apis/apiregistration.k8s.io/v1/apiservices",
	"Prometheus":               "/apis/monitoring.coreos.com/v1/namespaces/%s/prometheuses",
	"PrometheusRule":           "/apis/monitoring.coreos.com/v1/namespaces/%s/prometheusrules",
	"PodMonitor":               "/apis/monitoring.coreos.com/v1/namespaces/%s/podmonitors",
	"ScrapeConfig":             "/apis/monitoring.coreos.com/v1alpha1/namespaces/%s/scrapeconfigs",
	"VMServiceScrape":          "/apis/operator.victoriametrics.com/v1beta1/namespaces/%s/vmservicescrapes",
	"VMRule":                   "/apis/operator.victoriametrics.com/v1beta1/namespaces/%s/vmrules",
	"Route":                    "/apis/route.openshift.io/v1/namespaces/%s/routes",
	"VerticalPodAutoscaler":    "/apis/autoscaling.k8s.io/v1/namespaces/%s/verticalpodautoscalers",

	"ValidatingAdmissionPolicy":        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
	"ServiceMonitor":                   "/apis/monitoring.coreos.com/v1/namespaces/%s/servicemonitors",
}

// Path is the path of an object in the API. An object of the cluster has no namespace. Without a name it is the path of all
// objects of the kind.
func Path(kind, namespace, name string) string {
	path, ok := collections[kind]
	if !ok {
		panic("BUG: unknown kind " + kind)
	}
	if strings.Contains(path, "%s") {
		path = fmt.Sprintf(path, namespace)
	}
	if name != "" {
		path += "/" + name
	}
	return path
}

// Create makes the objects of a file of YAML documents. The status of one that has it is written, too.
func (k *Kubernetes) Create(t testing.TB, documents string) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(documents))
	for {
		var object map[string]any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("read objects: %v", err)
		}
		meta, _ := object["metadata"].(map[string]any)
		kind, namespace, name := text(object["kind"]), text(meta["namespace"]), text(meta["name"])
		if err := k.Do(t.Context(), http.MethodPost, Path(kind, namespace, ""), object, nil); err != nil {
			t.Fatalf("create %s %s: %v", kind, name, err)
		}
		if status := object["status"]; status != nil && kind != "Node" {
			if err := k.Do(t.Context(), http.MethodPatch, Path(kind, namespace, name)+"/status", map[string]any{"status": status}, nil); err != nil {
				t.Fatalf("write status of %s %s: %v", kind, name, err)
			}
		}
	}
}

// text is a value of an object that is one, else "".
func text(v any) string {
	s, _ := v.(string)
	return s
}
