//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// apiTeams are a team that may read the costs of its namespace by the role of the manifests, and a viewer of another namespace.
const apiTeams = `
{apiVersion: v1, kind: Namespace, metadata: {name: search}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: payments}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NAMESPACE, namespace: search}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "NAMESPACE:finops-apiserver:allocations"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: team}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view, namespace: payments}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}]
`

// costService is the APIService of promcost-apiserver.
var costService = promtest.Path("APIService", "", "v1alpha1.cost.promcost.io")

// TestAPIServerOfManifestE2E applies the manifests of promcost-apiserver to a real API, and runs the pod that its controllers make of them.
// The API reaches it by its Service and checks its certificate.
func TestAPIServerOfManifestE2E(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running a pod takes root")
	}
	kubectl := promtest.Kubectl(t)
	k := promtest.StartKubernetes(t)
	k.Create(t, node("node-1", "test:///1"))
	program := buildStatic(t, "../..", "promcost-apiserver")
	const namespaced = "{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}"
	for _, tt := range []struct {
		namespace string
		secrets   bool // certificates come from Secrets, else from memory
	}{{"costs-memory", false}, {"costs-secrets", true}} {
		t.Run(tt.namespace, func(t *testing.T) {
			k.Create(t, fmt.Sprintf(namespaced, tt.namespace))
			flags := []string{"--apiserver", "--apiserver.view", "--name=finops", "--namespace=" + tt.namespace, "--prometheus.url=http://prometheus:9090"}
			serving := []string{"demo", "--demo.nodes=4", "--demo.pods=40", "--demo.end=2026-03-05T00:30:00Z", "--demo.duration=26h"}
			if tt.secrets {
				web, api := selfSigned(t, "finops."+tt.namespace+".svc"), selfSigned(t, "finops-apiserver."+tt.namespace+".svc")
				createSecret(t, k, tt.namespace, "web-tls", web)
				createSecret(t, k, tt.namespace, "api-tls", api)
				flags = append(flags, "--web.secret=web-tls", "--apiserver.secret=api-tls", "--apiserver.ca-bundle="+base64.StdEncoding.EncodeToString(api["ca.crt"]))
				serving = append(serving, "--web.config.file="+writeWebConfig(t, web))
			}
			_, port, err := net.SplitHostPort(strings.TrimPrefix(spawn(t, serving...), "http://"))
			if err != nil {
				t.Fatal(err)
			}
			flags = append(flags, "--service.port="+port)
			apply(t, k, tt.namespace, append(manifestsOf(t, flags...), strings.ReplaceAll("\n---\n"+apiTeams, "NAMESPACE", tt.namespace)...))
			defer func() { // the next has one of its own
				if err := k.Do(context.Background(), http.MethodDelete, costService, nil, nil); err != nil {
					t.Error(err)
				}
			}()

			stop := runAPIServerPod(t, k, program, tt.namespace)
			checkAPIService(t, k, kubectl)
			if !tt.secrets { // another process makes another authority
				stop()
				stop = runAPIServerPod(t, k, program, tt.namespace)
				checkAPIService(t, k, kubectl)
			}
			checkDeletion(t, k)
			stop()

			changes := map[string]bool{"apiservices/v1alpha1.cost.promcost.io": !tt.secrets, "apiservices/v1.apps": false, "clusterroles/view": false, "secrets": false}
			for what, want := range changes {
				out, _, err := askAs(t, k, kubectl, "system:serviceaccount:"+tt.namespace+":finops-apiserver", "auth", "can-i", "patch", what)
				if got := out == "yes\n"; got != want {
					t.Errorf("it may patch %s: %q, %v, want %t", what, out, err, want)
				}
			}
		})
	}
}

// checkAPIService waits until the API trusts the program behind its APIService, and lets a team ask, which is refused elsewhere.
func checkAPIService(t *testing.T, k *promtest.Kubernetes, kubectl string) {
	t.Helper()
	var s struct {
		Spec struct {
			CABundle              []byte
			InsecureSkipTLSVerify bool
		}
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	eventually(t, "kubectl gets no allocations", func() bool {
		out, _, err := askAs(t, k, kubectl, "team", "get", "allocations", "--namespace=search")
		return err == nil && strings.Contains(out, "elasticsearch-0")
	})
	const lacking = "of 168 h have data: they begin at 2026-03-0"
	if out, said, err := askAs(t, k, kubectl, "team", "get", "allocations", "--namespace=search", "--field-selector=spec.window=7d", "--output=wide"); err != nil || !strings.Contains(said, lacking) || !strings.Contains(out, "OWNER") {
		t.Errorf("a team asks for more than there is, and is not warned of it: %v: %s%s", err, out, said)
	}
	if err := k.Do(t.Context(), http.MethodGet, costService, nil, &s); err != nil {
		t.Fatal(err)
	}
	if s.Spec.InsecureSkipTLSVerify || len(s.Spec.CABundle) == 0 || len(s.Status.Conditions) != 1 || s.Status.Conditions[0].Status != "True" {
		t.Errorf("the APIService is %+v", s)
	}
	for who, namespace := range map[string]string{"team": "payments", "viewer": "search"} {
		if _, said, err := askAs(t, k, kubectl, who, "get", "allocations", "--namespace="+namespace); err == nil || !strings.Contains(said, "Forbidden") {
			t.Errorf("%s gets costs of %s: %v: %s", who, namespace, err, said)
		}
	}
	if out, said, err := askAs(t, k, kubectl, "viewer", "get", "allocations", "--namespace=payments"); err != nil || !strings.Contains(out, "postgres-0") {
		t.Errorf("whoever may view a namespace gets no costs of it: %v: %s%s", err, out, said)
	}
}

// checkDeletion deletes a namespace. The API deletes what it finds in one, so that an API which answers wrongly keeps it forever.
func checkDeletion(t *testing.T, k *promtest.Kubernetes) {
	t.Helper()
	k.Create(t, "{apiVersion: v1, kind: Namespace, metadata: {name: gone}}")
	path := promtest.Path("Namespace", "", "gone")
	if err := k.Do(t.Context(), http.MethodDelete, path, nil, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a namespace does not go", func() bool {
		err := k.Do(t.Context(), http.MethodGet, path, nil, nil)
		return err != nil && strings.Contains(err.Error(), "404")
	})
}

// askAs runs kubectl as a user of the API.
func askAs(t *testing.T, k *promtest.Kubernetes, kubectl, user string, args ...string) (out, said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), kubectl, append(args, "--as="+user)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig(), "HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// runAPIServerPod runs the pod of promcost-apiserver in a namespace, where its Service leads. stop ends it.
func runAPIServerPod(t *testing.T, k *promtest.Kubernetes, program, namespace string) (stop func()) {
	t.Helper()
	var found *podObject
	eventually(t, "there is no pod of promcost-apiserver", func() bool {
		var list struct{ Items []podObject }
		if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Pod", namespace, ""), nil, &list); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Items, func(p podObject) bool { return p.Spec.ServiceAccountName == "finops-apiserver" })
		if i < 0 {
			return false
		}
		found = &list.Items[i]
		return found.Status.Phase == "Running"
	})
	var service struct{ Spec struct{ ClusterIP string } }
	if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Service", namespace, "finops-apiserver"), nil, &service); err != nil {
		t.Fatal(err)
	}
	address, stop := found.run(t, k, t.TempDir(), program, "finops", "finops."+namespace+".svc")
	k.Route(service.Spec.ClusterIP+":443", "https://"+address)
	return stop
}

// createSecret makes a Secret with files.
func createSecret(t *testing.T, k *promtest.Kubernetes, namespace, name string, files map[string][]byte) {
	t.Helper()
	object := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": name}, "data": files}
	if err := k.Do(t.Context(), http.MethodPost, promtest.Path("Secret", namespace, ""), object, nil); err != nil {
		t.Fatal(err)
	}
}

// writeWebConfig writes files of a certificate, and a configuration that serves by it.
func writeWebConfig(t *testing.T, files map[string][]byte) (file string) {
	t.Helper()
	dir := t.TempDir()
	all := map[string][]byte{"web-config.yaml": []byte("tls_server_config: {cert_file: tls.crt, key_file: tls.key}")}
	maps.Copy(all, files)
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "web-config.yaml")
}
