//go:build e2e

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/visible"
	"github.com/promcost/promcost/promquery/promtest"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// rights are what README says that the program may do, and where the Kubernetes API finds it. The Service leads to this machine, in
// place of pods.
const rights = `
{apiVersion: v1, kind: Namespace, metadata: {name: promcost}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: search}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: payments}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: promcost-apiserver, namespace: promcost}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: team, namespace: search}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: promcost-apiserver-auth}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:auth-delegator"}
subjects: [{kind: ServiceAccount, name: promcost-apiserver, namespace: promcost}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: promcost-apiserver, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: promcost-apiserver, namespace: promcost}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: promcost-apiserver-ca}
rules: [{apiGroups: [apiregistration.k8s.io], resources: [apiservices], resourceNames: [v1alpha1.cost.promcost.io], verbs: [get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: promcost-apiserver-ca}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: promcost-apiserver-ca}
subjects: [{kind: ServiceAccount, name: promcost-apiserver, namespace: promcost}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: costs, namespace: search}
rules: [{apiGroups: [cost.promcost.io], resources: [allocations], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: costs, namespace: search}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: costs}
subjects: [{kind: ServiceAccount, name: team, namespace: search}]
---
apiVersion: v1
kind: Service
metadata: {name: promcost-apiserver, namespace: promcost}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.cost.promcost.io}
spec: {group: cost.promcost.io, version: v1alpha1, groupPriorityMinimum: 100, versionPriority: 100, service: {name: promcost-apiserver, namespace: promcost, port: PORT}}
`

// cluster is a Kubernetes API with the program behind it, which asks a promcost.
type cluster struct {
	*promtest.Kubernetes
	kubectl, team string // the program, and the token of a team
	direct        string // the URL of the program itself
	own           string // the kubeconfig of the program
	pid           int    // of the program
}

// freeAddress is an address of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// background runs a program until the test ends.
func background(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%.20000s", cmd.Path, output.String())
		}
	})
}

// demoEnd is when most made-up clusters end, and demoDuration how long they last.
const demoEnd, demoDuration = "2026-03-05T00:30:00Z", "50h"

// startDemo runs a promcost over a made-up cluster that ends at a time and has data of so long, and returns its URL.
func startDemo(t *testing.T, end, duration string, flags ...string) (url string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "promcost")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "disable_grpc_modules", "-o", binary, "../promcost")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build promcost: %v: %s", err, out)
	}
	config := filepath.Join(dir, "config.yaml")
	questions := "questions:\n- {name: by-namespace, query: 'window=2026-03-03T00:00:00Z,2026-03-04T00:00:00Z&aggregate=namespace'}\n- {name: by-team, query: 'window=2026-03-04T00:00:00Z,2026-03-05T00:00:00Z&aggregate=team&limit=3&costUnit=monthly&sortBy=totalCost'}\n- {name: empty, query: 'window=2020-01-01T00:00:00Z,2020-01-02T00:00:00Z'}\n"
	if err := os.WriteFile(config, []byte(questions), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	background(t, exec.Command(binary, append([]string{"demo", "--demo.end=" + end, "--demo.duration=" + duration, "--web.listen-address=" + address, "--config.file=" + config}, flags...)...))
	await(t, "http://"+address+"/-/ready")
	return "http://" + address
}

// await waits until a URL answers 200.
func await(t *testing.T, url string) {
	t.Helper()
	for range 600 {
		resp, err := http.Get(url)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s does not answer", url)
}

// startCluster starts everything. The program has the rights of its service account, and no others.
func startCluster(t *testing.T, promcost string, flags ...string) *cluster {
	t.Helper()
	c := &cluster{kubectl: promtest.Kubectl(t), Kubernetes: promtest.StartKubernetes(t)}
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	c.direct = "https://" + address
	if err := c.Apply(t.Context(), "", []byte(strings.ReplaceAll(rights, "PORT", port))); err != nil {
		t.Fatal(err)
	}
	c.team = c.Token(t, "search", "team")
	config, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	c.own = filepath.Join(t.TempDir(), "kubeconfig")
	text := strings.Replace(string(config), "token: promtest", "token: "+c.Token(t, "promcost", "promcost-apiserver"), 1)
	if err := os.WriteFile(c.own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], append([]string{"--promcost.url=" + promcost, "--kubeconfig=" + c.own, "--web.listen-address=" + address}, flags...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	background(t, cmd)
	c.pid = cmd.Process.Pid
	for range 300 {
		if c.Do(t.Context(), http.MethodGet, "/apis/cost.promcost.io/v1alpha1", nil, nil) == nil {
			return c
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatal("the Kubernetes API does not reach the program")
	return nil
}

// command is kubectl with arguments.
func (c *cluster) command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, c.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "HOME="+t.TempDir())
	return cmd
}

// transcribe runs every "$ kubectl …" line of a transcript and writes its output below it: "> " lines are standard output, "! " lines
// standard error. What a terminal obeys is written as Go escapes it. Lines that start with # are kept.
func (c *cluster) transcribe(t *testing.T, text string) string {
	t.Helper()
	places := strings.NewReplacer("$TEAM", c.team, "$DIRECT", c.direct)
	back := strings.NewReplacer(c.team, "$TEAM", c.direct, "$DIRECT")
	var b strings.Builder
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ kubectl ")
		if !ok {
			if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
				b.WriteString(line)
			}
			continue
		}
		b.WriteString(line)
		var stdout, stderr bytes.Buffer
		cmd := c.command(t.Context(), t, strings.Fields(places.Replace(command))...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		for _, out := range []struct{ prefix, text string }{{"> ", stdout.String()}, {"! ", stderr.String()}} {
			for line := range strings.Lines(back.Replace(out.text)) {
				b.WriteString(strings.TrimRight(out.prefix+visible.Text(strings.TrimRight(line, "\n")), " ") + "\n")
			}
		}
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
	}
	return b.String()
}

// holds compares a transcript with what kubectl says now.
func (c *cluster) holds(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := c.transcribe(t, string(want))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", file, diff)
	}
}

// TestKubectlE2E holds transcripts of kubectl: the examples of the KEP on field selectors, tables and pages, and a team that sees its costs
// and no others.
func TestKubectlE2E(t *testing.T) {
	c := startCluster(t, startDemo(t, demoEnd, demoDuration, "--demo.nodes=4", "--demo.pods=40"))
	for _, name := range []string{"selectors", "tables", "pages", "explain", "team"} {
		t.Run(name, func(t *testing.T) { c.holds(t, name) })
	}
	t.Run("OpenAPI", func(t *testing.T) { checkOpenAPI(t, c) })
	t.Run("certificates", func(t *testing.T) { checkCertificates(t, c) })
}

// checkOpenAPI holds what OpenAPI v3 says of kinds and selectable fields, as the Kubernetes API passes it on.
func checkOpenAPI(t *testing.T, c *cluster) {
	var api struct {
		Components struct {
			Schemas map[string]struct {
				Kinds      []map[string]string          `json:"x-kubernetes-group-version-kind"`
				Selectable []struct{ FieldPath string } `json:"x-kubernetes-selectable-fields"`
				Properties map[string]map[string]any    `json:"properties"`
			}
		}
	}
	if err := c.Do(t.Context(), http.MethodGet, "/openapi/v3/apis/cost.promcost.io/v1alpha1", nil, &api); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{
		"Allocation":        "metadata.name metadata.namespace spec.window spec.pod spec.node spec.controller spec.controllerKind",
		"ClusterAllocation": "metadata.name",
		"Asset":             "metadata.name spec.window spec.type spec.category spec.provider spec.nodeType spec.nodePool",
	} {
		s := api.Components.Schemas["io.promcost.cost.v1alpha1."+kind]
		var got []string
		for _, f := range s.Selectable {
			got = append(got, f.FieldPath)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if diff := cmp.Diff([]map[string]string{{"group": "cost.promcost.io", "version": "v1alpha1", "kind": kind}}, s.Kinds); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// checkCertificates serves by a certificate in files, and by the next one once they change.
func checkCertificates(t *testing.T, c *cluster) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(host string) {
		a, err := newAuthority(host)
		if err != nil {
			t.Fatal(err)
		}
		certText, keyText := a.CurrentCertKeyContent()
		for file, text := range map[string][]byte{cert: certText, key: keyText} {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("first.test")
	address := freeAddress(t)
	cmd := exec.Command(os.Args[0], "--promcost.url=http://127.0.0.1:1", "--kubeconfig="+c.own, "--web.listen-address="+address, "--tls.cert-file="+cert, "--tls.key-file="+key)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	background(t, cmd)
	serves := func(host string) {
		for range 1200 {
			conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			if err == nil {
				name := conn.ConnectionState().PeerCertificates[0].Subject.CommonName
				_ = conn.Close()
				if name == host {
					return
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("it does not serve by the certificate of %s", host)
	}
	serves("first.test")
	write("second.test")
	serves("second.test")
}
