//go:build e2e

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/promquery/promtest"
)

// freeVolume is a volume for claims of a class.
func freeVolume(name, class string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: 1Ti}, accessModes: [ReadWriteOnce], storageClassName: %q, hostPath: {path: /tmp}}}", name, class)
}

// TestManifestsE2E has a real API validate the manifests, strictly, in namespaces that allow restricted pods only. Its
// controllers make the pods, its scheduler places them, and they run as far as kwok lets them. It validates what Helm renders, too.
func TestManifestsE2E(t *testing.T) {
	k := startWithDefinitions(t)
	k.Create(t, strings.NewReplacer(`"16", memory: 64Gi`, `"64", memory: 512Gi`, "labels: {", "labels: {kubernetes.io/os: linux, ").Replace(node("node-1", "test:///1")))
	for i := range 6 {
		k.Create(t, freeVolume(fmt.Sprintf("default-%d", i), ""))
		k.Create(t, freeVolume(fmt.Sprintf("fast-%d", i), "fast"))
	}
	everything := []string{"--service-monitor", "--prometheus-rule", "--dashboards", "--service.headlamp"}
	for _, tt := range manifestCases {
		t.Run(tt.name, func(t *testing.T) {
			namespace, flags := "test-"+tt.name, slices.Clone(tt.flags)
			for _, more := range everything {
				web := slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--web.secret=") })
				if !slices.Contains(flags, more) && (!web || more != "--service.headlamp") { // which asks by HTTP only
					flags = append(flags, more)
				}
			}
			for _, flag := range flags {
				if name, ok := strings.CutPrefix(flag, "--namespace="); ok {
					namespace = name
				}
			}
			k.Create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}", namespace))
			if tt.name == "claim" {
				for _, claim := range []string{"history", "bills"} {
					k.Create(t, fmt.Sprintf("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s, namespace: %s}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: ''}}", claim, namespace))
				}
			}
			objects := manifestsOf(t, flags...)
			for range 2 { // what is there already stays
				apply(t, k, namespace, objects)
			}
			if tt.name == "sidecar" {
				return // there is no operator, and the chart has no sidecar
			}
			awaitPods(t, k, namespace, strings.Count(string(objects), "\nkind: StatefulSet")+strings.Count(string(objects), "\nkind: Deployment"))
			rendered := helm(t, nil, "template", "rendered", chartOf(t, flags...), "--namespace="+namespace, "--no-hooks", "--set=service.nodePort=0") // which another Service has
			validated := askKubectl(t, k, namespace, rendered, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "--filename=-")
			if want := countObjects(t, rendered); strings.Count(validated, "(server dry run)") != want {
				t.Errorf("of %d objects of the chart the API takes\n%s", want, validated)
			}
		})
	}
}

// countObjects is how many objects YAML has.
func countObjects(t *testing.T, documents []byte) (n int) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(documents)); ; {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if o != nil {
			n++
		}
	}
}

// apply applies objects, again as long as the API does not know a new kind yet.
func apply(t *testing.T, k *promtest.Kubernetes, namespace string, objects []byte) {
	t.Helper()
	for range 30 {
		err := k.Apply(t.Context(), namespace, objects)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "404") {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the API does not know all kinds")
}

// askKubectl runs kubectl in a namespace, which must succeed, with what it is to read. The namespace is that of its context, so that
// objects may name another one.
func askKubectl(t *testing.T, k *promtest.Kubernetes, namespace string, stdin []byte, args ...string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(readText(t, k.Kubeconfig()), "user: admin}", "user: admin, namespace: "+namespace+"}")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), promtest.Kubectl(t), args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "KUBECONFIG="+config, "HOME="+t.TempDir()), bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", args, err, out)
	}
	return string(out)
}

// awaitPods waits until all pods of a namespace run, of which there are at least so many.
func awaitPods(t *testing.T, k *promtest.Kubernetes, namespace string, least int) {
	t.Helper()
	var list struct{ Items []pod }
	for range 60 {
		if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Pod", namespace, ""), nil, &list); err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, p := range list.Items {
			if p.Status.Phase == "Running" {
				running++
			}
		}
		if running == len(list.Items) && running >= least {
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("pods of %s do not run: %+v", namespace, list.Items)
}

// helm runs Helm, which must succeed.
func helm(t *testing.T, k *promtest.Kubernetes, args ...string) []byte {
	t.Helper()
	out, said, err := runHelm(t, k, args...)
	if err != nil {
		t.Fatalf("helm %s: %v: %s%s", args, err, out, said)
	}
	return out
}

// runHelm runs Helm, and returns what it prints and what it says to that.
func runHelm(t *testing.T, k *promtest.Kubernetes, args ...string) (out []byte, said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), promtest.Helm(t), args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG=/dev/null")
	if k != nil {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+k.Kubeconfig())
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	return out, stderr.String(), err
}

// TestManifestsChartE2E has Helm lint the chart and render it for random values.
func TestManifestsChartE2E(t *testing.T) {
	dir := chartOf(t)
	helm(t, nil, "lint", "--strict", dir)
	compareRendered(t, func(t *testing.T, name string, values []byte) []byte {
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, values, 0o600); err != nil {
			t.Fatal(err)
		}
		return helm(t, nil, "template", name, dir, "--namespace=costs", "--values="+file, "--no-hooks")
	})
}

// TestManifestsChartRefusesE2E gives Helm values that the manifests refuse, too.
func TestManifestsChartRefusesE2E(t *testing.T) {
	dir := chartOf(t)
	for set, want := range map[string]string{
		"replicas=1":                                              "prometheus.url is missing",
		"prometheus.url=http://p,shards=2":                        "shards fill one history",
		"prometheus.url=http://p,pods=0":                          "/pods",
		"prometheus.url=http://p,replica=2":                       "replica",
		`prometheus.url=http://p,flags.no\.flag=1`:                "no.flag",
		`prometheus.url=http://p,flags.web\.enable-lifecycle=yes`: "web.enable-lifecycle",
		"prometheus.url=http://p,httpRoute.enabled=true":          "httpRoute.parentRefs is missing",
	} {
		if out, said, err := runHelm(t, nil, "template", "costs", dir, "--set="+set); err == nil || !strings.Contains(said, want) {
			t.Errorf("%s: %v, want %q: %s%s", set, err, want, out, said)
		}
	}
}

// TestReadmeInKubernetesE2E types the lines of README that put promcost into a cluster: that of Helm, with the chart of this tree in place of the
// published one, then those without it, in another cluster, but for the last, which forwards a port.
func TestReadmeInKubernetesE2E(t *testing.T) {
	kubectl := promtest.Kubectl(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## In Kubernetes\n\n")
	install, section, _ := strings.Cut(section, "\n\n")
	_, section, _ = strings.Cut(section, "\n\n") // of what is without Helm
	lines, _, _ := strings.Cut(section, "\n\n")
	const published = "oci://ghcr.io/promcost/charts/promcost"
	if !strings.Contains(install, "helm install promcost "+published) {
		t.Fatalf("README begins with %s", install)
	}
	helm(t, nil, append([]string{"template"}, strings.Fields(strings.NewReplacer("helm install", "", published, chartOf(t)).Replace(install))...)...)
	typed := strings.Split(strings.NewReplacer("promcost manifests", os.Args[0]+" manifests", "kubectl ", kubectl+" ").Replace(lines), "\n")
	if len(typed) != 3 || !strings.Contains(typed[2], "port-forward service/promcost 9003") {
		t.Fatalf("README has these lines:\n%s", lines)
	}
	k := promtest.StartKubernetes(t)
	k.Create(t, node("node-1", "test:///1"))
	k.Create(t, freeVolume("volume", ""))
	for _, line := range typed[:2] {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+k.Kubeconfig())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	awaitPods(t, k, "promcost", 1)
	var service struct {
		Spec struct{ Ports []struct{ Port int } }
	}
	if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Service", "promcost", "promcost"), nil, &service); err != nil || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 9003 {
		t.Errorf("the Service is %+v, %v", service, err)
	}
}

// uidOf is the uid of an object.
func uidOf(t *testing.T, k *promtest.Kubernetes, kind, namespace, name string) string {
	t.Helper()
	var o struct{ Metadata struct{ UID string } }
	if err := k.Do(t.Context(), http.MethodGet, promtest.Path(kind, namespace, name), nil, &o); err != nil {
		t.Fatal(err)
	}
	return o.Metadata.UID
}
