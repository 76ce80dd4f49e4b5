package manifest_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/manifest"
)

const gib = 1 << 30

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {disk: ssd}
      initContainers:
        - name: migrate
          resources: {requests: {cpu: "4"}}
        - name: proxy
          restartPolicy: Always
          resources: {requests: {cpu: 100m, memory: 64Mi}}
      containers:
        - name: main
          resources:
            requests: {cpu: 0.5}
            limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 1, example.com/fpga: 1}
`

func amounts(cpu, ram, gpu float64) [allocation.NumResources]float64 {
	return [allocation.NumResources]float64{cpu, ram, gpu}
}

// TestParse reads objects of all kinds.
func TestParse(t *testing.T) {
	object := func(kind, name string) manifest.Object {
		return manifest.Object{Kind: kind, Namespace: "shop", Name: name}
	}
	main := func(cpu, ram float64) []manifest.Container {
		return []manifest.Container{{Name: "main", Request: amounts(cpu, ram, 0)}}
	}
	head := func(group, kind, name string) string {
		return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: shop}\nspec: ", group, kind, name)
	}
	const containers = `{containers: [{name: main, resources: {requests: {cpu: 1, memory: 2Gi}}}]}`
	for _, tc := range []struct {
		name, text string
		want       manifest.Manifests
	}{
		{"containers, sidecars and limits", web, manifest.Manifests{Workloads: []manifest.Workload{{
			Object: object("Deployment", "web"), Replicas: new(3), NodeSelector: map[string]string{"disk": "ssd"},
			Containers: []manifest.Container{
				{Name: "migrate", Init: true, Request: amounts(4, 0, 0)}, {Name: "proxy", Request: amounts(0.1, 64<<20, 0)}, {Name: "main", Request: amounts(0.5, gib, 1)},
			},
			Notes: []string{"requests of example.com/fpga are not priced", "init container migrate requests more than the pod does later: that is counted only as long as it was seen to run"},
		}}}},
		{
			"kinds", head("apps/v1", "StatefulSet", "db") + `{template: {spec: ` + containers + `}, volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: ssd, resources: {requests: {storage: 10Gi}}}}]}` + "\n" +
				head("apps/v1", "DaemonSet", "agent") + `{template: {spec: ` + containers + "}}\n" + head("batch/v1", "Job", "once") + `{template: {spec: ` + containers + "}}\n" +
				head("batch/v1", "CronJob", "nightly") + `{jobTemplate: {spec: {template: {spec: ` + containers + "}}}}\n" + head("v1", "Pod", "debug") + containers + "\n" +
				head("argoproj.io/v1alpha1", "Rollout", "canary") + `{replicas: 0, template: {spec: ` + containers + "}}\n" + head("argoproj.io/v1alpha1", "Rollout", "other") + "{workloadRef: {name: web}}\n" +
				head("v1", "PersistentVolumeClaim", "files") + "{resources: {requests: {storage: 1Gi}}}\n" + head("autoscaling/v2", "HorizontalPodAutoscaler", "scale") + "{scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 9}\n" +
				head("v1", "Service", "web") + "{}\n" + head("serving.knative.dev/v1", "Deployment", "foreign") + "{}\n---\n# nothing\n---\n",
			manifest.Manifests{
				Workloads: []manifest.Workload{
					{Object: object("StatefulSet", "db"), Containers: main(1, 2*gib), Claims: []manifest.Claim{{Namespace: "shop", Name: "data-db", Class: "ssd", Bytes: 10 * gib}}},
					{Object: object("DaemonSet", "agent"), Containers: main(1, 2*gib)},
					{Object: object("Job", "once"), Containers: main(1, 2*gib)},
					{Object: object("CronJob", "nightly"), Containers: main(1, 2*gib)},
					{Object: object("Pod", "debug"), Replicas: new(1), Containers: main(1, 2*gib)},
					{Object: object("Rollout", "canary"), Replicas: new(0), Containers: main(1, 2*gib)},
				},
				Claims:   []manifest.Claim{{Namespace: "shop", Name: "files", Bytes: gib}},
				Scalers:  []manifest.Scaler{{Object: object("Deployment", "web"), Least: 1, Most: 9}},
				Unpriced: []manifest.Object{object("Rollout", "other"), object("Service", "web"), object("Deployment", "foreign")},
			},
		},
		{
			"a list in JSON, then an object", "{\n\t\"kind\": \"List\", \"items\": [{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\", \"namespace\": \"shop\", \"labels\": {\"x\": \"\\ud83d\\ude00\"}},\n\t\"spec\": " +
				`{"containers": [{"name": "main", "resources": {"requests": {"cpu": 0.25, "memory": "1e3"}}}]}}]} {"kind": "ConfigMap", "metadata": {"name": "c"}}`,
			manifest.Manifests{
				Workloads: []manifest.Workload{{Object: object("Pod", "a"), Replicas: new(1), Containers: main(0.25, 1000)}},
				Unpriced:  []manifest.Object{{Kind: "ConfigMap", Name: "c"}},
			},
		},
		{"what a pod requests as a whole", head("v1", "Pod", "a") + "{resources: {requests: {cpu: 3}}, containers: [{name: main, resources: {requests: {cpu: 1}}}]}", manifest.Manifests{
			Workloads: []manifest.Workload{{Object: object("Pod", "a"), Replicas: new(1), Containers: main(3, 0)}},
		}},
		{"an anchor for both", head("v1", "Pod", "a") + "{containers: [{name: main, resources: {limits: &r {cpu: 2, nvidia.com/gpu: 1}, requests: *r}}]}", manifest.Manifests{
			Workloads: []manifest.Workload{{Object: object("Pod", "a"), Replicas: new(1), Containers: []manifest.Container{{Name: "main", Request: amounts(2, 0, 1)}}}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := manifest.Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// explode is a text of anchors, each of which stands for nine of the one before, and the last, j, for 9^9 of the first.
func explode(first, open, end string) string {
	var b strings.Builder
	last := "a"
	b.WriteString("a: &a " + first + "\n")
	for name := range strings.SplitSeq("bcdefghij", "") {
		fmt.Fprintf(&b, "%[1]s: &%[1]s %[2]s%[3]s%[4]s\n", name, open, strings.TrimSuffix(strings.Repeat("*"+last+",", 9), ","), end)
		last = name
	}
	return b.String()
}

// bombs are manifests whose anchors explode: containers, merged keys and objects of lists.
var bombs = []string{
	explode("[x]", "[", "]") + "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: *j}\n",
	explode("{x: y}", "{<<: [", "]}") + "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {<<: *j}\n",
	explode("{kind: ConfigMap, metadata: {name: a}}", "{kind: List, items: [", "]}") + "kind: List\nitems: [*j]\n",
}

// numbered repeats a text with numbers.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestBadManifests holds what is said of bad input.
func TestBadManifests(t *testing.T) {
	pod := func(containers string) string {
		return "kind: Service\nmetadata: {name: x}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\nspec:\n  containers: " + containers + "\n"
	}
	with := func(requests string) string {
		return pod("[{name: main, resources: {requests: {" + requests + "}}}]")
	}
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", " \n", "there is no manifest"},
		{"comments", "# nothing\n---\n", "there is no manifest"},
		{"no YAML", "a: b: c\n\t- {", "document 1: it cannot be read: "},
		{"broken JSON", `{"kind": "Pod", `, "document 1: it cannot be read: it ends too early: give YAML or JSON"},
		{"text", "hello", "document 1: it is no object of Kubernetes: "},
		{"no kind", "a: 1", "document 1: it is no object of Kubernetes: it has no kind: give manifests with kind and metadata"},
		{"no spec", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}", "document 1 (Deployment a): spec: it is missing: give one"},
		{"no containers", pod("[]"), "document 2 (Pod shop/a): spec.containers: there are none: a pod has at least one"},
		{"no name", "apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: a}]}", "document 1 (Pod ): metadata.name: it is missing"},
		{"a container without a name", pod("[{image: a}]"), "document 2 (Pod shop/a): spec.containers[0].name: it is missing"},
		{"containers of one name", pod("[{name: a}, {name: a}]"), `spec.containers[1].name: "a" is the name of another container`},
		{"unknown unit", with("memory: 128MB"), `document 2 (Pod shop/a): spec.containers[0] (main): resources.requests.memory: "128MB" on line 8 is no quantity: write a quantity such as 500m, 2, 128Mi or 10Gi`},
		{"thousandths of bytes", with("memory: 128m"), `"128m" on line 8 is 0.128 bytes: write bytes, such as 128Mi or 10Gi; m is a thousandth`},
		{"cores in GiB", with("cpu: 1Gi"), `"1Gi" on line 8 is 1.07e+09 cores: write cores`},
		{"words", with("cpu: much"), `"much" on line 8 is no quantity`},
		{"below 0", with("cpu: -1"), `"-1" on line 8 is below 0 or infinite`},
		{"infinite", with("cpu: 1e400000000"), "is below 0 or infinite"},
		{"long", with("cpu: " + strings.Repeat("1", 1000)), "is too long"},
		{"a list for a quantity", with("cpu: [1]"), "a quantity is no list"},
		{"replicas below 0", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: -1, template: {spec: {containers: [{name: a}]}}}", "spec.replicas: -1 is below 0"},
		{"more replicas than Kubernetes allows", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 99999999999999, template: {spec: {containers: [{name: a}]}}}", "spec.replicas: 99999999999999 is below 0 or above 2147483647"},
		{"words for replicas", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: two}", "document 1 (Deployment a): spec: it cannot be read: line 4: !!str `two` does not belong there"},
		{"a claim without a size", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {}", "document 1 (PersistentVolumeClaim a): spec.resources.requests.storage: it is missing"},
		{"an object twice", pod("[{name: a}]") + "---\n" + pod("[{name: a}]"), "document 4 (Pod shop/a): it is there already, in document 2: keep one"},
		{"10,000 documents", strings.Repeat("kind: ConfigMap\n---\n", 10_000), "document 1001: there are more than 1000 objects: split them"},
		{"too long", strings.Repeat("#", manifest.MaxBytes+1), "at most 4194304 are allowed: split them"},
		{"anchors that explode", bombs[0], "line 9: !!seq does not belong there"},
		{"merged anchors that explode", bombs[1], "document contains excessive aliasing"},
		{"keys without end", with(numbered("x%d: 1, ", 2000) + "cpu: 1"), "line 8: a mapping has 2001 keys, at most 1000 are allowed: split it"},
		{"keys without end behind an anchor", "x: &x {" + numbered("k%d: 1, ", 2000) + "a: 1}\nkind: List\nmetadata: *x\nitems: []", "a mapping has 2001 keys"},
		{"a key twice", pod("[{name: a, name: b}]"), `line 8: key "name" is there already, on line 8: keep one`},
		{"keys that are all one", with(strings.Repeat("cpu: 1, ", 500_000) + "memory: 1"), "a mapping has 500001 keys"},
		{"values of a wrong type", pod("[" + strings.Repeat("1,", 500_000) + "]"), "line 8: !!int `1` does not belong there"},
		{"selectors without end", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {" + numbered("k%d: v, ", 101) + "}, containers: [{name: a}]}", "spec.nodeSelector: with those before there are 101 different labels, at most 100 are allowed"},
		{"claims without end", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a}]}}, volumeClaimTemplates: [" + numbered("{metadata: {name: c%d}},", 2000) + "]}", "spec.volumeClaimTemplates: there are 2000"},
		{"containers without end", pod("[" + numbered("{name: c%d},", 2000) + "]"), "there are 2000, at most 1000 are allowed: split the pod"},
		{"lists that explode", bombs[2], "there are more than 1000 objects"},
		{"deep nesting", strings.Repeat("[", 100_000), "exceeded max depth"},
		{"an anchor within itself", "kind: List\nitems: &a [*a]", "document 1: it is no object of Kubernetes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := manifest.Parse([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%+v: %v, want %s", got, err, tc.want)
			}
			if problem, ok := errors.AsType[*manifest.Error](err); ok && (problem.Document < 1 || errors.Unwrap(err) == nil) || len(err.Error()) > 1000 {
				t.Errorf("%d bytes: %+v", len(err.Error()), problem)
			}
		})
	}
}

// TestMemory checks that the longest text of the smallest parts takes no more memory than the factor says.
func TestMemory(t *testing.T) {
	for _, part := range []string{"1,", "{},", "a: &a 1,"} {
		text := []byte("x: [" + strings.Repeat(part, 1<<20/len(part)) + "]")
		before := allocated()
		_, _ = manifest.Parse(text)
		if took := allocated() - before; took > 2*manifest.MemoryFactor*uint64(len(text)) { // freed ones among them
			t.Errorf("%q: %d bytes of %d, want at most %d each", part, took, len(text), manifest.MemoryFactor)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// FuzzParse looks for texts that make Parse panic, or that give amounts which are none.
func FuzzParse(f *testing.F) {
	for _, text := range append(bombs, web, `{"kind":"List","items":[{"kind":"Pod"}]}`, "a: &a [*a]", "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [{name: a, resources: {requests: {cpu: 1e9}}}]}") {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := manifest.Parse(text)
		if (got == nil) == (err == nil) {
			t.Fatalf("%v, %v", got, err)
		}
		if err != nil {
			return
		}
		for i := range got.Workloads {
			w := &got.Workloads[i]
			if len(w.Containers) == 0 || w.Name == "" {
				t.Errorf("%+v has no containers or no name", w)
			}
			for r, amount := range w.Request() {
				if !(amount >= 0 && amount <= 1e300) {
					t.Errorf("%s requests %v of %s", w.Object, amount, allocation.Resource(r))
				}
			}
		}
	})
}
