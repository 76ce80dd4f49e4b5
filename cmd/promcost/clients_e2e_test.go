//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promtest"
)

var recordClients = flag.Bool("record", false, "write the sessions below testdata/clients again, from real clients")

// sessionRecorder passes requests on to promcost and keeps each once.
type sessionRecorder struct {
	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	all   []clientRequest
}

// unrecorded are headers that differ between machines and browsers, and that no answer depends on.
var unrecorded = []string{"Connection", "User-Agent", "Referer", "Sec-", "X-Forwarded-", "Content-Length", "Cookie"}

func (rec *sessionRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	q := clientRequest{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body), Header: map[string]string{}}
	for name, values := range r.Header {
		if !slices.ContainsFunc(unrecorded, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			q.Header[name] = strings.Join(values, ", ")
		}
	}
	spy := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	rec.proxy.ServeHTTP(spy, r)
	if spy.status != http.StatusOK && r.Context().Err() == nil { // a browser that leaves a page leaves its requests, too
		q.Status = spy.status
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if !slices.ContainsFunc(rec.all, func(other clientRequest) bool { return cmp.Equal(q, other) }) {
		rec.all = append(rec.all, q)
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// record starts the demo and a recorder before it, lets use ask it, and writes the session, or without -record compares
// which requests there are.
func record(t *testing.T, file string, s session, use func(t *testing.T, to http.Handler)) {
	base := start(t, clientsDemo()...).url(t)
	eventually(t, "the demo does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	rec := &sessionRecorder{proxy: httputil.NewSingleHostReverseProxy(target)}
	use(t, rec)
	slices.SortStableFunc(rec.all, func(a, b clientRequest) int { return strings.Compare(a.String(), b.String()) })
	s.Requests = rec.all
	if len(rec.all) == 0 {
		t.Fatal("the client asked for nothing")
	}
	if *recordClients {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(s); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept session
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept.Requests, s.Requests); diff != "" {
		t.Errorf("the client asks otherwise than in %s (-kept +asked); -record writes it again:\n%s", file, diff)
	}
}

// fromEnvironment returns a path that an environment variable names, and skips the test where it names none.
func fromEnvironment(t *testing.T, variable, what string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("%s is not set, which names %s", variable, what)
	}
	return path
}

// servePage serves a built page of OpenCost as its own web server does: what is below /model goes to the API.
func servePage(t *testing.T, dir string, api http.Handler) (url string) {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/model/") {
			http.StripPrefix("/model", api).ServeHTTP(w, r)
			return
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.Clean(r.URL.Path))); err != nil {
			r.URL.Path = "/"
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestOpenCostPageE2E uses OpenCost's web page in a browser: all of it, and each choice of its pages of cloud and external costs, which must
// show costs.
func TestOpenCostPageE2E(t *testing.T) {
	page := fromEnvironment(t, "OPENCOST_UI", "the directory of OpenCost's built page")
	legacy := fromEnvironment(t, "OPENCOST_UI_LEGACY", "the directory of the page that build:legacy makes")
	for _, c := range []struct{ client, script, file string }{
		{"OpenCost's web page", "session.mjs", "opencost-ui.json"},
		{"OpenCost's web page: all that its pages of cloud and external costs can ask for", "bills.mjs", "opencost-ui-bills.json"},
	} {
		t.Run(c.script, func(t *testing.T) {
			s := session{
				Client: c.client, Source: "github.com/opencost/opencost-ui at 5babf86adf8d75677e721d62902b3b2b4d1a59a0",
				How: "recorded before promcost, while Chromium 156 went through .ci/tools/opencost-ui/" + c.script,
			}
			record(t, "testdata/clients/"+c.file, s, func(t *testing.T, to http.Handler) {
				now := clientsNow.Format("2006-01-02T15:04:05Z07:00")
				cmd := exec.CommandContext(t.Context(), "node", c.script, servePage(t, page, to), servePage(t, legacy, to), now)
				cmd.Dir = "../../.ci/tools/opencost-ui"
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("use the page: %v: %s", err, out)
				}
			})
		})
	}
}

// kubectlCost are commands of kubectl-cost that print something.
var kubectlCost = []string{
	"namespace", "namespace --window=yesterday --show-all-resources", "namespace --historical --window=7d", "deployment --window=3d", "pod --window=1d -n search",
	"controller --window=2d", "pod --window=1d", "label -l app --window=1d", "node --window=1d",
	"savings", "savings --window=7d",
}

// kubectlCostPredict are those that predict what manifests cost.
var kubectlCostPredict = []string{
	"predict -f testdata/clients/manifests.yaml", "predict -f testdata/clients/manifests.yaml --no-usage --window-usage=3d --window-cost=5d",
}

// TestKubectlCostE2E runs kubectl-cost, which reaches promcost as in a cluster: by a forwarded port of the pod that is behind
// the service of Kubecost, or of OpenCost.
func TestKubectlCostE2E(t *testing.T) {
	binary := fromEnvironment(t, "KUBECTL_COST", "the binary of kubectl-cost")
	for file, commands := range map[string][]string{"kubectl-cost.json": kubectlCost, "kubectl-cost-predict.json": kubectlCostPredict} {
		t.Run(file, func(t *testing.T) { recordKubectlCost(t, binary, file, commands) })
	}
}

// recordKubectlCost records what commands of kubectl-cost ask.
func recordKubectlCost(t *testing.T, binary, file string, commands []string) {
	t.Helper()
	s := session{
		Client: "kubectl-cost",
		Source: "github.com/kubecost/kubectl-cost at 3f7453691e1e",
		How:    "recorded before promcost, while the program reached it through ports that a real API server forwarded",
	}
	record(t, "testdata/clients/"+file, s, func(t *testing.T, to http.Handler) {
		server := httptest.NewServer(to)
		t.Cleanup(server.Close)
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		k := promtest.StartKubernetes(t, fmt.Sprintf("kind: ClusterPortForward\napiVersion: kwok.x-k8s.io/v1alpha1\nmetadata: {name: promcost}\n"+
			"spec: {forwards: [{target: {address: 127.0.0.1, port: %s}}]}\n", port))
		k.Create(t, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {addresses: [{type: InternalIP, address: 127.0.0.1}], "+
			"daemonEndpoints: {kubeletEndpoint: {Port: %s}}, capacity: {cpu: 4, memory: 4Gi, pods: 110}}}\n", k.KubeletPort()))
		for _, at := range []struct{ namespace, service string }{{"kubecost", "kubecost-cost-analyzer"}, {"opencost", "opencost"}} {
			k.Create(t, fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[2]s, namespace: %[1]s}, spec: {selector: {app: promcost}, ports: [{port: 9003}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: promcost, namespace: %[1]s, labels: {app: promcost}}, spec: {nodeName: node-1, containers: [{name: promcost, image: promcost}]}}
`, at.namespace, at.service))
			path := promtest.Path("Pod", at.namespace, "promcost")
			eventually(t, "the pod does not get ready", func() bool {
				var pod struct{ Status struct{ Phase string } }
				return k.Do(t.Context(), http.MethodGet, path, nil, &pod) == nil && pod.Status.Phase == "Running"
			})
		}
		for _, command := range commands {
			for _, peer := range []string{"", " --opencost"} {
				cmd := exec.CommandContext(t.Context(), binary, strings.Fields(command+peer+" --kubeconfig="+k.Kubeconfig())...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("kubectl cost %s: %v: %s", command+peer, err, out)
				}
			}
		}
	})
}
