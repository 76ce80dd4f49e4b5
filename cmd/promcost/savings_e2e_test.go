//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promtest"
)

// demoInits are the init containers of the demo cluster, with the restart policy of native sidecars.
var demoInits = map[string]string{"schema-check": "", "fetch-rates": "", "istio-proxy": "Always"}

// TestSavingsObjectsE2E applies what query savings writes to a real API, which has the controllers of the demo as users' kubectl makes them.
func TestSavingsObjectsE2E(t *testing.T) {
	crds := promtest.CRDs(t, "verticalpodautoscalers")
	k := promtest.StartKubernetes(t)
	base := start(t, clientsDemo()...).url(t)
	eventually(t, "the demo does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	if err := k.Apply(t.Context(), "", crds); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API does not know VerticalPodAutoscalers", func() bool {
		return k.Do(t.Context(), http.MethodGet, promtest.Path("VerticalPodAutoscaler", "default", ""), nil, nil) == nil
	})
	objects := makeControllers(t, k, savedRows(t, base))
	vpas, patches := savingsOutput(t, base, "vpa"), savingsOutput(t, base, "patch")
	if bytes.Contains(vpas, []byte("istio-proxy")) || !bytes.Contains(patches, []byte("istio-proxy")) {
		t.Errorf("a VerticalPodAutoscaler cannot size native sidecars, patches can:\n%s\n%s", vpas, patches)
	}
	taken := func(t *testing.T, documents []byte, args ...string) {
		t.Helper()
		said := askKubectl(t, k, "default", documents, append(args, "--dry-run=server", "-f", "-")...)
		if n := countObjects(t, documents); n < 10 || strings.Count(said, "(server dry run)") != n {
			t.Errorf("of %d objects the API takes\n%s", n, said)
		}
	}
	t.Run("vpa", func(t *testing.T) { taken(t, vpas, "apply") })
	t.Run("patch", func(t *testing.T) { taken(t, patches, "apply", "--server-side", "--force-conflicts") })
	t.Run("kustomize", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range map[string][]byte{"objects.yaml": objects, "patches.yaml": patches, "kustomization.yaml": []byte("resources: [objects.yaml]\npatches: [{path: patches.yaml}]\n")} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		taken(t, []byte(askKubectl(t, k, "default", nil, "kustomize", dir)), "apply")
	})
	t.Run("kubectl", func(t *testing.T) { testSavingsCommands(t, k, base) })
}

// savedRows are what the containers of the demo should request.
func savedRows(t *testing.T, base string) []savingsRow {
	t.Helper()
	var answer savingsAnswer
	if err := json.Unmarshal([]byte(answered(t, base+"/model/savings/requests")), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.Requests
}

// savingsOutput is what query savings writes.
func savingsOutput(t *testing.T, base, output string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"query", "savings", "--server=" + base, "--output=" + output}, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	return stdout.Bytes()
}

// makeControllers makes controllers with the containers that are in the rows, and what these request: every second one by kubectl apply, which
// keeps what was applied last, the others by kubectl create. It returns all.
func makeControllers(t *testing.T, k *promtest.Kubernetes, rows []savingsRow) (documents []byte) {
	t.Helper()
	pods, of := map[string]k8sObject{}, map[string]savingsRow{}
	for _, r := range rows {
		if _, ok := controllerKinds[r.ControllerKind]; !ok {
			continue
		}
		key := r.Namespace + "/" + r.ControllerKind + "/" + r.Controller
		if pods[key] == nil {
			pods[key], of[key] = k8sObject{"containers": []k8sObject{}}, r
		}
		container := k8sObject{"name": r.Container, "image": "registry.example.com/" + r.Container + ":1", "env": []k8sObject{{"name": "A", "value": "b"}}, "resources": resourcesNow(&r)}
		list := "containers"
		if policy, init := demoInits[r.Container]; init {
			if list = "initContainers"; policy != "" {
				container["restartPolicy"] = policy
			}
		}
		containers, _ := pods[key][list].([]k8sObject)
		pods[key][list] = append(containers, container)
	}
	for i, key := range slices.Sorted(maps.Keys(pods)) {
		r := of[key]
		object, err := json.Marshal(controllerOf(&r, pods[key]))
		if err != nil {
			t.Fatal(err)
		}
		k.Do(t.Context(), http.MethodPost, promtest.Path("Namespace", "", ""), k8sObject{"apiVersion": "v1", "kind": "Namespace", "metadata": k8sObject{"name": r.Namespace}}, nil) //nolint:errcheck // it may be there
		askKubectl(t, k, r.Namespace, object, []string{"apply", "create"}[i%2], "-f", "-")
		documents = append(append(documents, "---\n"...), append(object, '\n')...)
	}
	return documents
}

// resourcesNow are what a container requests today.
func resourcesNow(r *savingsRow) k8sObject {
	out := k8sObject{"requests": k8sObject{}, "limits": k8sObject{}}
	for _, x := range []struct {
		list, name string
		amount     float64
		text       func(float64) string
	}{
		{"requests", "cpu", r.CPU.Request, cpuQuantity},
		{"requests", "memory", r.Memory.Request, memoryQuantity},
		{"limits", "cpu", r.CPU.Limit, cpuQuantity},
		{"limits", "memory", r.Memory.Limit, memoryQuantity},
	} {
		if x.amount > 0 {
			out[x.list].(k8sObject)[x.name] = x.text(x.amount)
		}
	}
	return out
}

// controllerOf is a controller of pods.
func controllerOf(r *savingsRow, pod k8sObject) k8sObject {
	labels := k8sObject{"app": r.Controller}
	template := k8sObject{"metadata": k8sObject{"labels": labels}, "spec": pod}
	spec := k8sObject{"selector": k8sObject{"matchLabels": labels}, "template": template}
	switch r.ControllerKind {
	case "cronjob":
		pod["restartPolicy"] = "OnFailure"
		spec = k8sObject{"schedule": "0 3 1 1 *", "jobTemplate": k8sObject{"spec": k8sObject{"template": template}}}
	case "statefulset":
		spec["serviceName"] = r.Controller
	}
	kind := controllerKinds[r.ControllerKind]
	return k8sObject{"apiVersion": kind.apiVersion, "kind": kind.kind, "metadata": k8sObject{"name": r.Controller, "namespace": r.Namespace}, "spec": spec}
}

// testSavingsCommands runs what query savings writes, twice: the containers request what is recommended, and nothing else of Deployments changes.
func testSavingsCommands(t *testing.T, k *promtest.Kubernetes, base string) {
	before, rows := map[string]k8sObject{}, map[string]savingsRow{}
	for _, r := range savedRows(t, base) {
		if r.Namespace == "payments" && r.ControllerKind == "deployment" {
			rows[r.Controller+"/"+r.Container] = r
			before[r.Controller] = deploymentOf(t, k, r.Controller)
		}
	}
	commands := savingsOutput(t, base, "kubectl")
	for _, want := range []string{" patched\n", " patched (no change)\n"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-e")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig(), "PATH="+filepath.Dir(promtest.Kubectl(t))+":"+os.Getenv("PATH"))
		cmd.Stdin = bytes.NewReader(commands)
		out, err := cmd.CombinedOutput()
		if n := bytes.Count(commands, []byte("\nkubectl ")); err != nil || bytes.Count(out, []byte(want)) != n || n < 10 {
			t.Fatalf("%v: of %d commands%s:\n%s", err, n, want, out)
		}
	}
	for name, was := range before {
		is := deploymentOf(t, k, name)
		for _, list := range []string{"containers", "initContainers"} {
			for i, c := range containersOf(is, list) {
				r, ok := rows[name+"/"+c["name"].(string)]
				if !ok {
					t.Fatalf("%s: %v is no container of the demo", name, c["name"])
				}
				want := resourcesNow(&r)
				maps.Copy(want["requests"].(k8sObject), r.requested())
				maps.Copy(want["limits"].(k8sObject), r.limited())
				if diff := cmp.Diff(amountsOf(t, want), amountsOf(t, c["resources"].(k8sObject))); diff != "" {
					t.Errorf("%s, %v (-want +got):\n%s", name, c["name"], diff)
				}
				c["resources"] = containersOf(was, list)[i]["resources"]
			}
		}
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("something else of %s changed (-before +after):\n%s", name, diff)
		}
	}
	if len(before) < 3 {
		t.Errorf("%d deployments", len(before))
	}
}

// deploymentOf is the spec of a Deployment of payments.
func deploymentOf(t *testing.T, k *promtest.Kubernetes, name string) k8sObject {
	t.Helper()
	var object struct{ Spec k8sObject }
	if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Deployment", "payments", name), nil, &object); err != nil {
		t.Fatal(err)
	}
	return object.Spec
}

// containersOf are the containers, or the init containers, of a Deployment.
func containersOf(deployment k8sObject, list string) (all []k8sObject) {
	containers, _ := deployment["template"].(k8sObject)["spec"].(k8sObject)[list].([]any)
	for _, c := range containers {
		all = append(all, c.(k8sObject))
	}
	return all
}

// amountsOf are requests and limits as numbers.
func amountsOf(t *testing.T, resources k8sObject) map[string]float64 {
	t.Helper()
	amounts := map[string]float64{}
	for _, list := range []string{"requests", "limits"} {
		of, _ := resources[list].(k8sObject)
		for name, text := range of {
			amounts[list+"."+name] = amountOf(t, fmt.Sprint(text))
		}
	}
	return amounts
}

// amountOf is a quantity of Kubernetes in thousandths.
func amountOf(t *testing.T, quantity string) float64 {
	t.Helper()
	number := strings.TrimRight(quantity, "mkMGKi")
	unit, ok := map[string]float64{"m": 1, "": 1e3, "k": 1e6, "M": 1e9, "G": 1e12, "Ki": 1 << 10 * 1e3, "Mi": 1 << 20 * 1e3, "Gi": 1 << 30 * 1e3}[quantity[len(number):]]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok {
		t.Fatalf("%s is no quantity", quantity)
	}
	return math.Round(v * unit)
}
