//go:build e2e

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

var clusterFor = flag.Duration("cluster", 4*time.Minute, "how long TestClusterE2E changes its cluster; 10m is the full proof")

// clusterViews are the ways in which clusters are observed: each has kube-state-metrics and a Prometheus of its own.
var clusterViews = []struct {
	release string
	shards  int
	flags   []string // of kube-state-metrics
	jobs    func(kubeconfig, front string) string
	late    float64 // by how many seconds usage may begin or end late
	hidden  float64 // for how many seconds nothing shows what runs
}{
	{"defaults", 1, nil, func(kubeconfig, front string) string { return naiveJobs(kubeconfig, clusterScrape.String(), front) }, 10, 0},
	{"readme", 1, promtest.Allowlists, func(kubeconfig, front string) string {
		return stackJobs(kubeconfig, clusterScrape.String(), front, "readme", false)
	}, 1, 0},
	{"sharded", 2, promtest.Allowlists, func(kubeconfig, front string) string {
		return stackJobs(kubeconfig, clusterScrape.String(), front, "sharded", false)
	}, 1, 0},
	{"restarted", 1, nil, func(kubeconfig, front string) string {
		return stackJobs(kubeconfig, clusterScrape.String(), front, "restarted", true)
	}, 1, 20},
}

// ksmObjects are a kube-state-metrics as its chart installs it: several shards are a StatefulSet.
func ksmObjects(release string, shards int) string {
	kind, more := "Deployment", ""
	if shards > 1 {
		kind, more = "StatefulSet", "serviceName: "+release+"-kube-state-metrics"
	}
	labels := fmt.Sprintf("{app.kubernetes.io/name: kube-state-metrics, app.kubernetes.io/instance: %s}", release)
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s-kube-state-metrics, namespace: monitoring, labels: %[2]s}
spec: {selector: %[2]s, ports: [{name: http, port: 8080, targetPort: http}]}
---
apiVersion: apps/v1
kind: %[3]s
metadata: {name: %[1]s-kube-state-metrics, namespace: monitoring}
spec:
  %[4]s
  replicas: %[5]d
  selector: {matchLabels: %[2]s}
  template:
    metadata: {labels: %[2]s}
    spec: {containers: [{name: kube-state-metrics, image: example/kube-state-metrics:2.18.0, ports: [{name: http, containerPort: 8080}], resources: {requests: {cpu: 10m, memory: 64Mi}}}]}
`, release, labels, kind, more, shards)
}

// episode is a part of a test: what is started in it ends with it, at the latest with the test.
type episode struct {
	testing.TB
	ends []func()
}

// Cleanup has something done at the episode's end.
func (e *episode) Cleanup(end func()) { e.ends = append(e.ends, end) }

// end ends it.
func (e *episode) end() {
	for _, end := range slices.Backward(e.ends) {
		end()
	}
	e.ends = nil
}

// startKSM starts the processes of a kube-state-metrics, which end with the episode.
func startKSM(e *episode, k *promtest.Kubernetes, f *front, release string, shards int, flags []string) {
	for i := range shards {
		prefix, more := release+"-kube-state-metrics", flags
		if shards > 1 {
			prefix, more = fmt.Sprintf("%s-%d", prefix, i), append(slices.Clone(flags), fmt.Sprintf("--shard=%d", i), fmt.Sprintf("--total-shards=%d", shards))
		}
		f.serveKSM(prefix, promtest.StartKubeStateMetrics(e, k, more...))
		e.Cleanup(func() { f.serveKSM(prefix, "") })
	}
}

// clusterNode is a node that agents run on, at first one of AWS; the last has GPUs.
func clusterNode(i int, provider string) string {
	name := fmt.Sprintf("node-%d", i)
	text := strings.Replace(node(name, provider), "labels: {", `labels: {agent: "yes", kubernetes.io/os: linux, `, 1)
	if i == clusterNodes {
		text = strings.ReplaceAll(text, `cpu: "16"`, `nvidia.com/gpu: "2", cpu: "16"`)
	}
	return text
}

const clusterNodes = 5

// listKubelets writes the addresses of all kubelets, as the Prometheus operator does.
func (c *churner) listKubelets(method string) {
	var nodes struct{ Items []apiObject }
	c.get(promtest.Path("Node", "", ""), &nodes)
	addresses := []any{}
	for i := range nodes.Items {
		m := &nodes.Items[i].Metadata
		addresses = append(addresses, map[string]any{"ip": "10.0.0.1" + m.Name[len(m.Name)-1:], "targetRef": map[string]any{"kind": "Node", "apiVersion": "v1", "name": m.Name, "uid": m.UID}})
	}
	name := "kps-kubelet"
	list := map[string]any{
		"apiVersion": "v1", "kind": "Endpoints",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"k8s-app": "kubelet", "app.kubernetes.io/name": "kubelet"}},
		"subsets":  []any{map[string]any{"addresses": addresses, "ports": []any{map[string]any{"name": "https-metrics", "port": 10250}}}},
	}
	if method == http.MethodPost {
		name = ""
	}
	c.do(method, promtest.Path("Endpoints", "kube-system", name), list)
}

// get reads an object that must be there.
func (c *churner) get(path string, reply any) {
	c.Helper()
	if err := c.k.Do(c.Context(), http.MethodGet, path, nil, reply); err != nil {
		c.Fatal(err)
	}
}

// reboot has the kubelet of a node gone for a time. Then all containers that ran there run again, in the same pods: they ended when
// it began.
func (c *churner) reboot(f *front, name string, takes time.Duration) {
	began := time.Now().UTC().Format(time.RFC3339)
	f.setDown(name, true)
	time.Sleep(takes)
	boot := json.RawMessage(fmt.Sprintf(`{"status":{"nodeInfo":{"bootID":"boot-%s"}}}`, began))
	c.do(http.MethodPatch, promtest.Path("Node", "", name)+"/status", boot)
	for _, p := range c.pods("/api/v1/pods?fieldSelector=spec.nodeName%3D" + name) {
		path := promtest.Path("Pod", p.Metadata.Namespace, p.Metadata.Name)
		var now struct {
			Metadata struct{ DeletionTimestamp string }
			Status   map[string]any
		}
		c.get(path, &now)
		if now.Metadata.DeletionTimestamp != "" {
			continue
		}
		again := map[string]any{}
		for _, kind := range []string{"containerStatuses", "initContainerStatuses"} {
			list, _ := now.Status[kind].([]any)
			for _, s := range list {
				restart(s.(map[string]any), began)
			}
			if len(list) > 0 {
				again[kind] = list
			}
		}
		c.do(http.MethodPatch, path+"/status", map[string]any{"status": again})
		c.do(http.MethodPatch, path, json.RawMessage(fmt.Sprintf(`{"metadata":{"annotations":{"promtest/since":"%d"}}}`, time.Now().Unix())))
	}
	f.setDown(name, false)
}

// restart is the status of a container which runs again after an end, if it ran then.
func restart(status map[string]any, ended string) {
	running, ok := status["state"].(map[string]any)["running"].(map[string]any)
	if !ok || running["startedAt"].(string) >= ended {
		return
	}
	restarts, _ := status["restartCount"].(float64)
	status["restartCount"] = restarts + 1
	status["lastState"] = map[string]any{"terminated": map[string]any{"exitCode": 255, "reason": "Unknown", "startedAt": running["startedAt"], "finishedAt": ended}}
	status["state"] = map[string]any{"running": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}}
}

// replace drains a node, and another one comes under its name.
func (c *churner) replace(i int, provider string) {
	name := fmt.Sprintf("node-%d", i)
	path := promtest.Path("Node", "", name)
	c.do(http.MethodPatch, path, json.RawMessage(`{"metadata":{"labels":{"agent":null}},"spec":{"unschedulable":true}}`))
	for range 60 {
		pods := c.pods("/api/v1/pods?fieldSelector=spec.nodeName%3D" + name)
		if len(pods) == 0 {
			break
		}
		for _, p := range pods {
			c.do(http.MethodDelete, promtest.Path("Pod", p.Metadata.Namespace, p.Metadata.Name), nil)
		}
		time.Sleep(time.Second)
	}
	c.do(http.MethodDelete, path, nil)
	c.listKubelets(http.MethodPut)
	time.Sleep(15 * time.Second)
	c.k.Create(c, clusterNode(i, provider))
	c.listKubelets(http.MethodPut)
}

// sidecarJob is a job with a native sidecar, whose pod runs for so long.
func sidecarJob(name string, runs time.Duration) string {
	return strings.NewReplacer("namespace: churn", "namespace: batch", "  ttlSecondsAfterFinished: 90\n", "",
		"restartPolicy: Never,", "restartPolicy: Never, initContainers: [{name: proxy, image: example/envoy:1, restartPolicy: Always, resources: {requests: {cpu: 150m, memory: 96Mi}}}],").Replace(job(name, runs))
}

// clusterChurns are what happens in the cluster. Restart restarts a kube-state-metrics.
func clusterChurns(f *front, restart func(c *churner)) []churn {
	remove := func(kind, namespace, name string) func(c *churner) {
		return func(c *churner) { c.do(http.MethodDelete, promtest.Path(kind, namespace, name), nil) }
	}
	again := strings.ReplaceAll(deployment("batch", "again", 2, ""), "cpu: 100m", "cpu: 700m")
	late := "{apiVersion: v1, kind: Service, metadata: {name: late, namespace: shop}, spec: {type: LoadBalancer, selector: {app: db}, ports: [{port: 5432}]}, status: {loadBalancer: {ingress: [{ip: 203.0.113.9}]}}}"
	return []churn{
		{3, 11, func(c *churner) { // shorter than a scrape
			c.k.Create(c, strings.ReplaceAll(job(fmt.Sprintf("blink-%d", c.n), 2*time.Second), "namespace: churn", "namespace: batch"))
		}},
		{12, 37, func(c *churner) { c.k.Create(c, sidecarJob(fmt.Sprintf("meshed-%d", c.n), 20*time.Second)) }},
		{5, 0, func(c *churner) { c.k.Create(c, again) }},
		{40, 0, remove("Deployment", "batch", "again")},
		{55, 0, func(c *churner) { c.k.Create(c, again) }},
		{30, 61, remove("Pod", "shop", "db-0")}, // made again under its name, with its claim
		{20, 0, func(c *churner) { c.k.Create(c, late) }},
		{150, 0, remove("Service", "shop", "late")},
		{50, 67, func(c *churner) { // a rollout
			patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"rollout":"%d"}}}}}`, c.n)
			c.do(http.MethodPatch, promtest.Path("Deployment", "shop", "web"), json.RawMessage(patch))
		}},
		{70, 0, func(c *churner) { c.reboot(f, "node-2", 15*time.Second) }},
		{100, 0, restart},
		{130, 0, func(c *churner) { c.replace(3, "gce://project/europe-west1-b/node-3") }},
	}
}

// TestClusterE2E lets a cluster of everything that costs something live under a real control plane, and watches it by several sets of
// kube-state-metrics, usage and Prometheus. A promcost with the flags of its manifest, as the API has them, computes costs of each. They
// are compared with what the times, requests and prices of the API's own objects give: each pod within its error bounds.
func TestClusterE2E(t *testing.T) {
	k := promtest.StartKubernetes(t, kwokUsage)
	c := &churner{T: t, k: k}
	tr := watchTruth(t, k)
	f := startFront(t, tr)
	for i := range clusterNodes {
		provider := fmt.Sprintf("aws:///eu-west-1a/i-000%d", i+1)
		if i == 3 {
			provider = "gce://project/europe-west1-b/node-4"
		}
		k.Create(t, clusterNode(i+1, provider))
	}
	objects, err := os.ReadFile(filepath.Join("testdata", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	k.Create(t, string(objects))
	c.listKubelets(http.MethodPost)
	prometheus, restarting := map[string]string{}, &episode{TB: t}
	t.Cleanup(restarting.end)
	for _, v := range clusterViews {
		k.Create(t, ksmObjects(v.release, v.shards))
		e := &episode{TB: t}
		t.Cleanup(e.end)
		if v.release == "restarted" {
			e = restarting
		}
		startKSM(e, k, f, v.release, v.shards, v.flags)
		prometheus[v.release] = promtest.Start(t, "", promtest.Config{YAML: "scrape_configs:" + v.jobs(k.Kubeconfig(), f.address())})
	}
	flags := deploy(t, k)
	time.Sleep(30 * time.Second) // all pods run and were scraped
	start := time.Now().Truncate(time.Second)
	end := start.Add(*clusterFor)
	c.churn(end, clusterChurns(f, func(c *churner) {
		restarting.end()
		for _, p := range c.pods(promtest.Path("Pod", "monitoring", "")) {
			if strings.HasPrefix(p.Metadata.Name, "restarted-") {
				c.do(http.MethodDelete, promtest.Path("Pod", "monitoring", p.Metadata.Name), nil)
			}
		}
		time.Sleep(10 * time.Second)
		startKSM(restarting, k, f, "restarted", 1, nil)
	}))
	time.Sleep(time.Until(end) + 75*time.Second) // what was scraped in the minute after the end says more about it
	tr.check()
	for _, v := range clusterViews {
		base := spawn(t, atHome(flags.args, flags.dir(t), "", prometheus[v.release])...)
		t.Run(v.release, func(t *testing.T) {
			for _, resolution := range []string{"exact", "15s"} {
				cell, _ := time.ParseDuration(resolution) // 0 if it is exact
				t.Run(resolution, func(t *testing.T) {
					compareCosts(t, tr, base, start, end, &sight{scrape: clusterScrape, cell: cell, late: v.late, hidden: v.hidden, usage: true})
				})
			}
			t.Run("assets", func(t *testing.T) { compareClusterAssets(t, tr, base, start, end, &sight{scrape: clusterScrape}) })
		})
	}
}

// deployed is a promcost as the API has it.
type deployed struct {
	args  []string
	files map[string]string // of its ConfigMaps
}

// dir is a directory with the files.
func (d *deployed) dir(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range d.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// deploy applies the manifests of a promcost with prices, and returns what its pod says.
func deploy(t *testing.T, k *promtest.Kubernetes) *deployed {
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte(clusterPrices), 0o600); err != nil {
		t.Fatal(err)
	}
	k.Create(t, "{apiVersion: v1, kind: Namespace, metadata: {name: costs, labels: {pod-security.kubernetes.io/enforce: restricted}}}")
	k.Create(t, freeVolume("history", ""))
	apply(t, k, "costs", manifestsOf(t, "--namespace=costs", "--prometheus.url=http://prometheus-operated.monitoring:9090", "--pricing.file="+prices, "--debug.check"))
	awaitPods(t, k, "costs", 1)
	return deployedIn(t, k, "costs")
}

// deployedIn is the promcost of a namespace.
func deployedIn(t *testing.T, k *promtest.Kubernetes, namespace string) *deployed {
	t.Helper()
	var pod struct {
		Spec struct{ Containers []struct{ Args []string } }
	}
	var configs struct {
		Items []struct{ Data map[string]string }
	}
	for path, reply := range map[string]any{promtest.Path("Pod", namespace, "promcost-0"): &pod, promtest.Path("ConfigMap", namespace, ""): &configs} {
		if err := k.Do(t.Context(), http.MethodGet, path, nil, reply); err != nil {
			t.Fatal(err)
		}
	}
	d := &deployed{args: pod.Spec.Containers[0].Args, files: map[string]string{}}
	for _, m := range configs.Items {
		maps.Copy(d.files, m.Data)
	}
	return d
}

// clusterCosts are what is compared of a row.
var clusterCosts = []string{"cpuCost", "ramCost", "gpuCost", "pvCost", "loadBalancerCost", "totalCost"}

// compareCosts asks promcost about a window and compares each row, with its bounds, and in exact mode the sums.
func compareCosts(t *testing.T, tr *truth, base string, start, end time.Time, sees *sight) {
	answer, warnings := allocations(t, base, start, end, "idle=false&resolution="+sees.resolution())
	want := tr.costs(start, end, sees)
	outside, sums, totals, slacks := 0, map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, x := range want {
		for _, cost := range clusterCosts {
			totals[cost], slacks[cost] = totals[cost]+x.costs[cost], max(slacks[cost], x.slack[cost])
		}
	}
	for name, r := range answer {
		_, name, _ = strings.Cut(name, "/") // the cluster
		x := want[name]
		if x == nil {
			if r.figures["totalCost"] > 0 && !strings.HasPrefix(name, "__") && !strings.Contains(name, "__un") {
				t.Errorf("%s costs %v, by the API it does not run", name, r.figures["totalCost"])
			}
			continue
		}
		delete(want, name)
		lower, upper := r.figures["errorBounds/lower"], r.figures["errorBounds/upper"]
		_, bounded := r.figures["errorBounds/upper"]
		for _, cost := range clusterCosts {
			got, exact, slack := r.figures[cost], x.costs[cost], x.slack[cost]+1e-9
			sums[cost] += got
			if got < lower*exact-slack || bounded && got > upper*exact+slack {
				outside++
				t.Errorf("%s: %s is %g of %g, %.4f, outside of {%.3f, %.3f}: %s", name, cost, got, exact, got/exact, lower, upper, timesOf(x.runs))
			}
		}
	}
	for name, x := range want {
		// An init container can be missed, and what is gone before the next scrape; on a grid anything that is not longer than a cell.
		missable := !slices.ContainsFunc(x.runs, func(r promtest.Run) bool { return !r.Init && !tr.missable(&r, sees) })
		if !missable && (sees.cell == 0 || x.seconds > sees.cell.Seconds()+sees.hidden) {
			t.Errorf("no row: %s runs for %.1fs: %s", name, x.seconds, timesOf(x.runs))
		} else {
			t.Logf("no row: %s runs for %.1fs: %s", name, x.seconds, timesOf(x.runs))
		}
	}
	t.Logf("%d rows, %d figures outside of their bounds; warnings: %s", len(answer), outside, strings.Join(warnings, "\n"))
	for _, cost := range clusterCosts {
		t.Logf("%s is %g of %g (%+.3f%%)", cost, sums[cost], totals[cost], 100*(sums[cost]/totals[cost]-1))
		if limit := 0.01*totals["totalCost"] + slacks[cost]; sees.cell == 0 && math.Abs(sums[cost]-totals[cost]) > limit {
			t.Errorf("%s is %g, by the API it is %g, give or take %g", cost, sums[cost], totals[cost], limit)
		}
	}
}

// compareClusterAssets compares assets with what the API says.
func compareClusterAssets(t *testing.T, tr *truth, base string, start, end time.Time, sees *sight) {
	want := tr.assets(start, end, sees)
	var reply struct{ Data map[string]map[string]any }
	askFor(t, base+"/assets", start, end, "resolution=exact", &reply)
	for _, asset := range reply.Data {
		r := newRow(0)
		r.flatten("", asset)
		name := r.texts["type"] + "/" + r.texts["properties/name"]
		if r.texts["type"] == "Node" {
			name += "/" + lastPart(r.texts["properties/providerID"])
		}
		x := want[name]
		if name == "Network/network" && r.figures["totalCost"] == 0 {
			continue // traffic was seen, and nothing says where it went
		}
		if x == nil {
			t.Errorf("%s costs %g, by the API it is not there", name, r.figures["totalCost"])
			continue
		}
		delete(want, name)
		for figure, got := range map[string]float64{"seconds": 60 * r.figures["minutes"], "cost": r.figures["totalCost"]} {
			if math.Abs(got-x.costs[figure]) > x.slack[figure]+1e-9 {
				t.Errorf("%s: %s is %g, by the API it is %g, give or take %g", name, figure, got, x.costs[figure], x.slack[figure])
			}
		}
	}
	for name, x := range want {
		t.Errorf("no asset: %s of %v", name, x.costs)
	}
}
