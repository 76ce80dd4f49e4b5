//go:build e2e

package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/promquery/promtest"
)

// pluginRights are what a user needs who may not even list Services.
const pluginRights = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: costs, namespace: costs}, rules: [{apiGroups: [""], resources: [services/proxy], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: costs, namespace: costs}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: costs},
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]}
`

// TestKubectlE2E applies the manifests, whose pod is a promcost with exactly its flags, and asks that with kubectl and its plugin by
// the proxy of a real API.
func TestKubectlE2E(t *testing.T) {
	binary := promtest.Kubectl(t)
	k := promtest.StartKubernetes(t)
	blocks, truth := writeTruth(t, "--demo.end=2026-03-03T12:00:00Z", "--demo.duration=3h")
	prometheus := promtest.Start(t, blocks, promtest.Config{})
	k.Create(t, node("node-1", "test:///1"))
	k.Create(t, freeVolume("volume", ""))
	k.Create(t, "{apiVersion: v1, kind: Namespace, metadata: {name: costs}}")
	objects := manifestsOf(t, "--namespace=costs", "--prometheus.url="+prometheus, "--pods=100")
	apply(t, k, "costs", objects)
	awaitPods(t, k, "costs", 1)
	args := manifests.Args(objects)[0]
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("currency: EUR"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		args[i] = strings.NewReplacer("=/data", "="+dir, "=/etc/promcost/config", "="+dir).Replace(arg)
	}
	server := spawn(t, args...)
	var p struct{ Status struct{ PodIP string } }
	if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Pod", "costs", "promcost-0"), nil, &p); err != nil {
		t.Fatal(err)
	}
	k.Route(p.Status.PodIP+":9003", server)

	window := "--window=" + truth.Start.Format("2006-01-02T15:04:05Z") + "," + truth.End.Format("2006-01-02T15:04:05Z")
	const later = "--window=2026-03-05T00:00:00Z,2026-03-06T00:00:00Z"
	for _, tt := range []struct {
		name  string
		args  []string
		fails bool
	}{
		{"table", []string{window}, false},
		{"json", []string{window, "-o", "json", "--aggregate=controller"}, false},
		{"csv", []string{window, "-o", "csv", "--aggregate=label:team,pod", "--filter=namespace!:\"a&b c\"+pod!:\"x\""}, false},
		{"no data", []string{later, "-o", "csv"}, true},
		{"a wrong filter", []string{window, "--filter=namespce:\"a\""}, true},
		{"a wrong window", []string{"--window=7x"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"query", "allocation", "--server=" + server}, tt.args...), &stdout, &stderr)
			out, said, err := kubectlPromcost(t, binary, k, append([]string{"allocation"}, tt.args...)...)
			if (err != nil) != tt.fails || (code != exitOK) != tt.fails {
				t.Fatalf("%v: %s; query: exit %d: %s", err, said, code, stderr.String())
			}
			if diff := cmp.Diff(stdout.String(), out); diff != "" {
				t.Errorf("the plugin prints something else (-query +kubectl):\n%s", diff)
			}
			if diff := cmp.Diff(stderr.String(), said); diff != "" {
				t.Errorf("the plugin says something else (-query +kubectl):\n%s", diff)
			}
		})
	}
	t.Run("rights", func(t *testing.T) {
		for _, step := range []struct {
			args []string
			want string // that is said; "" if it answers
		}{
			{nil, "give its namespace by --namespace"},
			{[]string{"-n", "costs"}, "give it by --service=http:NAME:PORT"},
			{[]string{"-n", "costs", "--service=http:promcost:http"}, "asking takes the verb get of services/proxy in namespace costs"},
		} {
			if _, said, err := kubectlPromcost(t, binary, k, append([]string{"allocation", window, "--as=jane"}, step.args...)...); err == nil || !strings.Contains(said, step.want) {
				t.Errorf("%s: %v, want %q: %s", step.args, err, step.want, said)
			}
		}
		k.Create(t, pluginRights)
		eventually(t, "rights do not come to be", func() bool {
			out, _, err := kubectlPromcost(t, binary, k, "allocation", window, "--as=jane", "-n", "costs", "--service=http:promcost:http")
			return err == nil && strings.Contains(out, "costs in EUR")
		})
	})
	t.Run("no pod", func(t *testing.T) {
		scaled := map[string]any{"spec": map[string]any{"replicas": 0}}
		if err := k.Do(t.Context(), http.MethodPatch, promtest.Path("StatefulSet", "costs", "promcost"), scaled, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it does not say that there is no pod", func() bool {
			_, said, err := kubectlPromcost(t, binary, k, "allocation", window)
			return err != nil && strings.Contains(said, "no pod of Service costs/promcost is ready")
		})
	})
}

// kubectlPromcost runs kubectl, which finds its plugin in the path, and returns what it prints and what it says to that.
func kubectlPromcost(t *testing.T, binary string, k *promtest.Kubernetes, args ...string) (out, said string, err error) {
	t.Helper()
	dir := t.TempDir()
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if binary, err = filepath.Abs(binary); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"kubectl-promcost": program, "kubectl": binary} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "kubectl"), append([]string{"promcost"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+k.Kubeconfig(), "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), err
}
