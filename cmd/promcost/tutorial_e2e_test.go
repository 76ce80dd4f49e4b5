//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/promcost/promcost/dashboards"
	"github.com/promcost/promcost/promquery/promtest"
)

// substitutes are what the commands of the tutorial say, what the test runs in its place, and why.
var substitutes = []struct{ said, instead, why string }{
	{`kind (create|delete) cluster --name costs`, ":", "kind wants Docker: an API server with kwok's nodes runs already"},
	{`helm repo add .*`, ":", "the test must not depend on a network"},
	{`helm install monitoring (.*\\\n)*.*`, ":", "there is no chart without a network: the test starts the programs that it installs"},
	{`kubectl .* port-forward .*`, ":", "kwok's pods run nothing that a port could lead to: the programs listen on this machine"},
	{`oci://ghcr\.io/promcost/charts/promcost`, "$$CHART", "the published chart may be older than this tree"},
	{`http://localhost:9090`, "$$PROMETHEUS", "the port may be taken on this machine"},
	{`http://localhost:9003`, "$$SERVED", "the port may be taken on this machine"},
}

// reader types the commands of the tutorial.
type reader struct {
	*testing.T
	k          *promtest.Kubernetes
	dir        string
	env        []string
	prometheus string
	promcost   atomic.Pointer[url.URL] // that its Service leads to
}

// steps are what must be before a block of commands of a step, and what its output has. Steps and blocks count from 1.
var steps = map[string]struct {
	await string // an expression that Prometheus has a value of
	has   []string
}{
	"3.1": {has: []string{"successfully rolled out"}},
	"4.1": {await: `count(kube_pod_container_status_running{namespace="shop"} offset 75s) >= 3 and count(container_cpu_usage_seconds_total{namespace="shop"}) > 0`, has: []string{"kube_pod_container_status_running", "container_cpu_usage_seconds_total"}},
	"5.1": {has: []string{"shop", "__idle__"}},
	"5.2": {has: []string{"shop", "__idle__"}},
	"6.1": {has: []string{"STATUS: deployed"}},
	"6.2": {has: []string{"web"}},
	"7.1": {has: []string{"promcost-overview.json", "password"}},
	"8.1": {await: `count(ALERTS{alertname="PromcostPriceBuiltIn"}) > 0`, has: []string{`"alertstate":"pending"`}},
	"8.2": {has: []string{"STATUS: deployed"}},
	"8.3": {await: `absent(ALERTS{alertname="PromcostPriceBuiltIn"})`, has: []string{"shop", "1.00", `"result":[]`}},
}

// TestTutorialE2E runs all commands of TUTORIAL.md in their order, but for the substitutes, and looks at what they print.
func TestTutorialE2E(t *testing.T) {
	r := &reader{T: t, k: promtest.StartKubernetes(t, kwokUsage), dir: t.TempDir()}
	r.promcost.Store(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}) // nobody, until the pod runs
	service := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(r.promcost.Load()) }})
	t.Cleanup(service.Close)
	r.monitoring(service.URL)
	r.env = append(os.Environ(), "PATH="+r.programs()+":"+os.Getenv("PATH"), "HOME="+r.dir, "KUBECONFIG="+r.k.Kubeconfig(),
		"CHART="+chartOf(t), "PROMETHEUS="+r.prometheus, "SERVED="+service.URL)
	replaced, ran := map[string]bool{}, 0
	for _, section := range strings.Split(readText(t, filepath.Join("..", "..", "TUTORIAL.md")), "\n## ")[1:] {
		step, _, _ := strings.Cut(section, ".")
		for i, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
			block := fmt.Sprintf("%s.%d", step, i+1)
			want := steps[block]
			if want.await != "" {
				eventually(t, "step "+block+" cannot begin: "+want.await, func() bool {
					return len(answerOf(t, r.prometheus+"/api/v1/query", url.Values{"query": {want.await}})) > 0
				})
			}
			said := r.typed(block, m[1], replaced)
			for _, text := range want.has {
				if !strings.Contains(said, text) {
					t.Errorf("step %s prints no %s:\n%s", block, text, said)
				}
			}
			if len(want.has) > 0 {
				ran++
			}
			if strings.Contains(m[1], "wait pod/promcost-0") {
				r.serve()
			}
		}
	}
	if ran != len(steps) {
		t.Errorf("TUTORIAL.md has %d of the %d blocks that are looked at", ran, len(steps))
	}
	for _, s := range substitutes {
		if !replaced[s.said] {
			t.Errorf("TUTORIAL.md has no %s any more, which the test replaces: %s", s.said, s.why)
		}
	}
	r.checkImports(service.URL)
}

// monitoring is what step 2 installs: kube-state-metrics, a Prometheus that scrapes it, kubelets and the Service of promcost, whose rules it
// evaluates at once, the kinds of the Prometheus Operator, and the Secret of Grafana.
func (r *reader) monitoring(promcost string) {
	tr := watchTruth(r.T, r.k)
	f := startFront(r.T, tr)
	for i := range clusterNodes {
		r.k.Create(r, clusterNode(i+1, fmt.Sprintf("kind://docker/costs/costs-worker%d", i+1)))
	}
	r.k.Create(r, "{apiVersion: v1, kind: Namespace, metadata: {name: monitoring}}")
	r.k.Create(r, freeVolume("history", ""))
	r.k.Create(r, `{apiVersion: v1, kind: Secret, metadata: {name: monitoring-grafana, namespace: monitoring}, data: {admin-password: cGFzc3dvcmQ=}}`)
	r.k.Create(r, "{apiVersion: v1, kind: Service, metadata: {name: kps-kubelet, namespace: kube-system, labels: {app.kubernetes.io/name: kubelet, k8s-app: kubelet}}, spec: {clusterIP: None, ports: [{name: https-metrics, port: 10250}]}}")
	(&churner{T: r.T, k: r.k}).listKubelets(http.MethodPost)
	r.k.Create(r, ksmObjects("monitoring", 1))
	e := &episode{TB: r.T}
	r.T.Cleanup(e.end)
	startKSM(e, r.k, f, "monitoring", 1, nil)
	if err := r.k.Apply(r.Context(), "", promtest.CRDs(r, "servicemonitors", "prometheusrules")); err != nil {
		r.Fatal(err)
	}
	var rules []string
	for _, file := range dashboards.Rules() {
		path := filepath.Join(r.dir, filepath.Base(file.Name))
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(file.Text), "interval: 5m", "interval: 1s")), 0o600); err != nil {
			r.Fatal(err)
		}
		rules = append(rules, path)
	}
	jobs := stackJobs(r.k.Kubeconfig(), "5s", f.address(), "monitoring", false) +
		fmt.Sprintf("\n- {job_name: promcost, scrape_interval: 1s, honor_labels: true, static_configs: [{targets: [%q]}]}\n", strings.TrimPrefix(promcost, "http://"))
	r.prometheus = promtest.Start(r, "", promtest.Config{Rules: rules, YAML: "scrape_configs:" + jobs})
}

// programs is a directory with the programs that are typed.
func (r *reader) programs() (dir string) {
	dir = filepath.Join(r.dir, "programs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.Fatal(err)
	}
	for name, line := range map[string]string{"promcost": asProgram + "=1 exec " + os.Args[0], "kubectl": "exec " + promtest.Kubectl(r), "helm": "exec " + promtest.Helm(r)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+line+` "$@"`+"\n"), 0o755); err != nil { //nolint:gosec // they are run
			r.Fatal(err)
		}
	}
	return dir
}

// typed is what a block of commands prints, none of which may fail. It notes what was replaced.
func (r *reader) typed(name, block string, replaced map[string]bool) string {
	for _, s := range substitutes {
		if said := regexp.MustCompile(s.said); said.MatchString(block) {
			block, replaced[s.said] = said.ReplaceAllString(block, s.instead), true
		}
	}
	cmd := exec.CommandContext(r.Context(), "bash", "-euo", "pipefail", "-c", block)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("step %s: %v:\n%s\n%s", name, err, block, out)
	}
	r.Logf("step %s:\n%s\n%s", name, block, out)
	return string(out)
}

// serve runs what the pod of promcost would, at the Prometheus of the test, and has the Service lead to it.
func (r *reader) serve() {
	d := deployedIn(r.T, r.k, "promcost")
	to, err := url.Parse(spawn(r.T, atHome(d.args, d.dir(r.T), "", r.prometheus)...))
	if err != nil {
		r.Fatal(err)
	}
	r.promcost.Store(to)
	eventually(r, "promcost does not answer", func() bool { code, _ := get(r, to.String()+"/-/healthy"); return code == http.StatusOK })
}

// checkImports imports the two dashboards as Grafana does, and asks what their panels do.
func (r *reader) checkImports(promcost string) {
	for name, shows := range map[string]bool{"promcost-overview": false, "promcost-itself": true} { // no hour is over yet
		text := readText(r.T, filepath.Join(r.dir, "grafana", "import", name+".json"))
		var board struct {
			Inputs []struct{ Name, Value string } `json:"__inputs"`
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal([]byte(text), &board); err != nil || len(board.Inputs) != 2 || board.Inputs[1].Value != promcost {
			r.Fatalf("%s: %v, inputs %+v", name, err, board.Inputs)
		}
		found := 0
		for _, p := range board.Panels {
			for _, q := range p.Targets {
				expr := strings.ReplaceAll(grafanaFills.Replace(q.Expr), "${prices}", "hourly_cost")
				code, body := get(r, promcost+"/api/v1/query?"+url.Values{"query": {expr}}.Encode())
				if code != http.StatusOK {
					r.Errorf("%s, %s: %d %s", name, p.Title, code, body)
				}
				if !strings.Contains(body, `"result":[]`) {
					found++
				}
			}
		}
		if shows && found < 10 {
			r.Errorf("%s shows %d numbers", name, found)
		}
	}
}
