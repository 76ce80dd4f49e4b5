//go:build e2e

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/promquery/promtest"
)

// tried is a chart that is rendered for values of some seed.
type tried struct {
	chart  string         // a directory
	values map[string]any // in a file that Helm is given
}

// TestManifestsValuesE2E has Helm lint and render the chart for random values, alone and within charts, and a real API validate all
// objects, strictly.
func TestManifestsValuesE2E(t *testing.T) {
	var groups [][]map[string]any
	if err := yaml.Unmarshal([]byte(readText(t, filepath.Join("testdata", "manifests", "random.values.yaml"))), &groups); err != nil {
		t.Fatal(err)
	}
	checkAllValuesVary(t, groups)
	k, chart := startWithDefinitions(t), chartOf(t, "--prometheus.url=http://prometheus-operated.monitoring:9090", "--image.tag=1.2.3")
	k.Create(t, "{apiVersion: v1, kind: Namespace, metadata: {name: costs}}")
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			by := []func(*testing.T, *rand.Rand, string, [][]map[string]any) tried{alone, underAlias, twice, withOwnValues}[seed%4](t, r, chart, groups)
			text, err := yaml.Marshal(by.values)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if t.Failed() {
					t.Logf("for\n%s", text)
				}
			}()
			helm(t, nil, "lint", "--strict", by.chart, "--values="+file)
			args := []string{"template", "rendered", by.chart, "--namespace=costs", "--values=" + file}
			if r.IntN(2) == 0 {
				args = append(args, "--api-versions=security.openshift.io/v1")
			}
			rendered := helm(t, nil, args...)
			validated := askKubectl(t, k, "costs", rendered, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "--filename=-")
			if want := countObjects(t, rendered); strings.Count(validated, "(server dry run)") != want || want < 3 {
				t.Errorf("of %d objects of the chart the API takes\n%s", want, validated)
			}
		})
	}
}

// checkAllValuesVary checks that there are several of every value that a chart has, but for switches and those with a list of their own.
func checkAllValuesVary(t *testing.T, groups [][]map[string]any) {
	t.Helper()
	paths := map[string]bool{}
	var add func(path string, value any)
	add = func(path string, value any) {
		paths[path] = true
		if section, ok := value.(map[string]any); ok {
			for key, value := range section {
				add(strings.TrimPrefix(path+"."+key, "."), value)
			}
		}
	}
	for _, group := range groups {
		for _, values := range group {
			add("", values)
		}
	}
	for _, f := range manifests.Default("latest").Fields() {
		if f.Path != "name" && f.Path != "namespace" && !strings.HasPrefix(f.Path, "sidecar.") && !paths[f.Path] {
			t.Errorf("no group of random.values.yaml has %s", f.Path)
		}
	}
}

// startWithDefinitions starts a Kubernetes that knows the kinds of others.
func startWithDefinitions(t *testing.T) *promtest.Kubernetes {
	t.Helper()
	crds := promtest.CRDs(t, "prometheuses", "servicemonitors", "podmonitors", "scrapeconfigs", "prometheusrules", "httproutes")
	k := promtest.StartKubernetes(t)
	for _, documents := range [][]byte{crds, []byte(readText(t, filepath.Join("testdata", "manifests", "definitions.yaml")))} {
		if err := k.Apply(t.Context(), "", documents); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "ScrapeConfig", "PrometheusRule", "HTTPRoute", "VMServiceScrape", "VMRule", "Route"} {
		eventually(t, "the API does not know "+kind, func() bool {
			return k.Do(t.Context(), http.MethodGet, promtest.Path(kind, "default", ""), nil, nil) == nil
		})
	}
	return k
}

// randomGroups takes values of some groups.
func randomGroups(r *rand.Rand, groups [][]map[string]any) map[string]any {
	all := map[string]any{}
	for _, group := range groups {
		if i := r.IntN(2 * len(group)); i < len(group) {
			all = overlaid(all, group[i])
		}
	}
	return all
}

// alone is the chart itself.
func alone(_ *testing.T, r *rand.Rand, chart string, groups [][]map[string]any) tried {
	return tried{chart: chart, values: randomGroups(r, groups)}
}

// underAlias is the chart as part of another one, which shares what is global.
func underAlias(t *testing.T, r *rand.Rand, chart string, groups [][]map[string]any) tried {
	values := randomGroups(r, groups)
	global := values["global"]
	delete(values, "global")
	values["enabled"] = true
	return tried{chart: chartAround(t, chart, []string{"", "costs", "spot_costs"}[r.IntN(3)]), values: map[string]any{"costs": values, "promcost": values, "spot_costs": values, "global": global}}
}

// twice are two of the chart within another one, of which one may be switched off. One cluster has one API of costs.
func twice(t *testing.T, r *rand.Rand, chart string, groups [][]map[string]any) tried {
	all, second := underAlias(t, r, chart, groups), randomGroups(r, groups)
	for _, only := range []string{"apiserver", "global", "fullnameOverride"} {
		delete(second, only)
	}
	second["enabled"] = r.IntN(2) == 0
	all.values["second"] = second
	all.chart = chartAround(t, chart, "", "second")
	return all
}

// withOwnValues is the chart as part of another one, whose own values.yaml has the values.
func withOwnValues(t *testing.T, r *rand.Rand, chart string, groups [][]map[string]any) tried {
	all := underAlias(t, r, chart, groups)
	text, err := yaml.Marshal(all.values)
	if err == nil {
		err = os.WriteFile(filepath.Join(all.chart, "values.yaml"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tried{chart: all.chart, values: map[string]any{}}
}

// chartAround writes a chart that has another one under aliases, or under its own name.
func chartAround(t *testing.T, chart string, aliases ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "platform")
	for _, sub := range []string{"charts", "templates"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "charts", "promcost"), os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: v2\nname: platform\nversion: 0.1.0\nicon: https://platform.example/icon.svg\ndependencies:\n"
	for _, alias := range aliases {
		name := "promcost"
		text += "  - name: promcost\n    version: '>=0.0.0-0'\n"
		if alias != "" {
			name, text = alias, text+"    alias: "+alias+"\n"
		}
		text += "    condition: " + name + ".enabled\n"
	}
	for name, text := range map[string]string{"Chart.yaml": text, "values.yaml": "{}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestManifestsOpenShiftE2E has Helm install two of the chart within another one, in a namespace whose pods must have users of its range, as
// OpenShift's do, and upgrade them. All pods run; those of a chart that names other users do not get in.
func TestManifestsOpenShiftE2E(t *testing.T) {
	chart := chartOf(t, "--prometheus.url=http://prometheus-operated.monitoring:9090", "--image.tag=1.2.3")
	helm(t, nil, "lint", "--strict", chart) // before servers are started that would not be needed
	k := startWithDefinitions(t)
	k.Create(t, strings.ReplaceAll(node("node-1", "test:///1"), "memory: 64Gi", "memory: 256Gi"))
	for i := range 3 {
		k.Create(t, freeVolume(fmt.Sprintf("volume-%d", i), ""))
	}
	if err := k.Apply(t.Context(), "", []byte(readText(t, filepath.Join("testdata", "manifests", "restricted-v2.yaml")))); err != nil {
		t.Fatal(err)
	}
	k.Create(t, `
apiVersion: v1
kind: Namespace
metadata:
  name: platform
  labels: {test/openshift: "yes", pod-security.kubernetes.io/enforce: restricted}
  annotations: {openshift.io/sa.scc.uid-range: 1000650000/10000}
`)
	user := func(id int) error {
		return k.Apply(t.Context(), "platform", fmt.Appendf(nil, `
apiVersion: v1
kind: Pod
metadata: {name: user-%[1]d}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: %[1]d, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: sleep, image: "registry.example/sleep:1", securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
`, id))
	}
	id := 65532
	eventually(t, "the policy does not count", func() bool {
		err := user(id)
		id++ // the pod is there now
		if err != nil && !strings.Contains(err.Error(), "not in the namespace's range") {
			t.Fatal(err)
		}
		return err != nil
	})
	if err := user(1000650001); err != nil {
		t.Fatal(err)
	}
	around := chartAround(t, chart, "", "spot")
	install := []string{"--namespace=platform", "--set=promcost.enabled=true,promcost.apiserver.enabled=true,promcost.route.enabled=true,promcost.route.host=costs.apps.example.org", "--set=spot.enabled=true,spot.storage.emptyDir=true"}
	helm(t, k, append([]string{"install", "platform", around}, install...)...)
	awaitPods(t, k, "platform", 4)
	helm(t, k, "upgrade", "platform", around, "--namespace=platform", "--reuse-values", "--set=spot.replicas=2,spot.serviceMonitor.enabled=true")
	awaitPods(t, k, "platform", 5)
	var list struct{ Items []podObject }
	if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Pod", "platform", ""), nil, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Items {
		if strings.HasPrefix(p.Metadata.Name, "user-") {
			continue
		}
		names = append(names, p.Metadata.Labels["app.kubernetes.io/instance"]+"/"+p.Metadata.Labels["app.kubernetes.io/component"])
	}
	slices.Sort(names)
	if got, want := strings.Join(names, " "), "platform-promcost/apiserver platform-promcost/server platform-spot/server platform-spot/server"; got != want {
		t.Errorf("the pods are those of %s, want %s", got, want)
	}

	// Where Helm does not know OpenShift, and nothing is set, no pod gets in.
	fixed := helm(t, nil, "template", "fixed", chart, "--namespace=platform", "--no-hooks")
	apply(t, k, "platform", fixed)
	eventually(t, "no pod was refused", func() bool {
		var events struct{ Items []struct{ Message string } }
		err := k.Do(t.Context(), http.MethodGet, "/api/v1/namespaces/platform/events", nil, &events)
		return err == nil && slices.ContainsFunc(events.Items, func(e struct{ Message string }) bool {
			return strings.Contains(e.Message, "fixed-0") && strings.Contains(e.Message, "not in the namespace's range")
		})
	})
	// What README says to set there is enough.
	unset := helm(t, nil, "template", "unset", chart, "--namespace=platform", "--no-hooks", "--set-json=podSecurityContext={\"runAsUser\":null,\"runAsGroup\":null,\"fsGroup\":null}")
	apply(t, k, "platform", unset)
	eventually(t, "the pod of a chart without users does not run", func() bool {
		var p podObject
		err := k.Do(t.Context(), http.MethodGet, promtest.Path("Pod", "platform", "unset-0"), nil, &p)
		return err == nil && p.Status.Phase == "Running"
	})
}
