//go:build e2e

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// churnProof is how long the cluster of TestChurnE2E is to change for the full proof.
const churnProof = 14 * time.Minute

var churnFor = flag.Duration("churn", 3*time.Minute, "how long TestChurnE2E changes its cluster; 14m is the full proof")

// scrapers are the servers that watch the cluster: one as it comes, and one that scrapes as kube-prometheus-stack does. What
// that drops of kubelets' metrics is dropped of the recordings, for kwok has no such metrics.
var scrapers = []struct {
	name   string
	labels []string // that the target is given
	sees   sight
}{
	{"plain", nil, sight{scrape: 15 * time.Second, more: true}},
	{"kube-prometheus-stack", promtest.StackLabels, sight{scrape: 30 * time.Second}},
}

// churnNodes are how many nodes there are, the last of which is replaced; still is how many pods run all the time.
const (
	churnNodes = 8
	still      = 150
)

// node is a node of 16 cores.
func node(name, provider string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s, topology.kubernetes.io/zone: eu-west-1a}}
spec: {providerID: %[2]q}
status:
  addresses: [{type: InternalIP, address: 10.0.0.%[3]d}]
  capacity: {cpu: "16", memory: 64Gi, pods: "110"}
  allocatable: {cpu: "16", memory: 64Gi, pods: "110"}
`, name, provider, 10+int(name[len(name)-1]-'0'))
}

// deployment is one of pods with a container of 100m, and annotations that say how they run. It replaces them one by one.
func deployment(namespace, name string, replicas int, annotations string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: %[3]d
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}, annotations: {%[4]s}}
    spec: {containers: [{name: main, image: example/%[2]s:1, resources: {requests: {cpu: 100m, memory: 64Mi}}}]}
`, namespace, name, replicas, annotations)
}

// job is one whose pod runs for so long.
func job(name string, runs time.Duration) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: churn}
spec:
  ttlSecondsAfterFinished: 90
  template:
    metadata: {annotations: {promtest/run-for: %s}}
    spec: {restartPolicy: Never, containers: [{name: work, image: example/job:1, resources: {requests: {cpu: 500m, memory: 64Mi}}}]}
`, name, runs)
}

// scrapeOf is a job of scrapes of a target, which is given labels by alternating names and values.
func scrapeOf(job, target, interval string, labels []string) string {
	var given []string
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i] != "job" {
			given = append(given, fmt.Sprintf("%s: %q", labels[i], labels[i+1]))
		}
	}
	return fmt.Sprintf(`
- job_name: %s
  scrape_interval: %s
  scrape_timeout: 10s
  honor_labels: true
  static_configs: [{targets: [%s], labels: {%s}}]
`, job, interval, target, strings.Join(given, ", "))
}

// churner changes a cluster.
type churner struct {
	*testing.T
	k *promtest.Kubernetes
	n int // jobs and pods made
}

// do sends a request that must succeed, but for objects that are gone.
func (c *churner) do(method, path string, object any) {
	c.Helper()
	if err := c.k.Do(c.Context(), method, path, object, nil); err != nil && !strings.Contains(err.Error(), "404") {
		c.Error(err)
	}
}

// gone waits until an object is gone.
func (c *churner) gone(path string) {
	c.Helper()
	for range 120 {
		if err := c.k.Do(c.Context(), http.MethodGet, path, nil, nil); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
	c.Fatalf("%s does not go", path)
}

// pod is what is needed of one.
type pod struct {
	Metadata struct{ Namespace, Name string }
	Status   struct{ Phase string }
}

// pods lists those at a path.
func (c *churner) pods(path string) []pod {
	c.Helper()
	var list struct{ Items []pod }
	if err := c.k.Do(c.Context(), http.MethodGet, path, nil, &list); err != nil {
		c.Fatal(err)
	}
	return list.Items
}

// churn is what happens, and how often.
type churn struct {
	first, every int // seconds; 0: once
	do           func(c *churner)
}

// churns are those of TestChurnE2E.
var churns = []churn{
	{5, 10, func(c *churner) { c.k.Create(c, job(fmt.Sprintf("blink-%d", c.n), 4*time.Second)) }},
	{8, 45, func(c *churner) { c.k.Create(c, job(fmt.Sprintf("crunch-%d", c.n), 40*time.Second)) }},
	{20, 127, func(c *churner) { c.rollOut("churn", "web") }}, // in step with no scrape
	{15, 50, func(c *churner) {
		c.k.Create(c, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: hungry-%d, namespace: churn}, spec: {containers: [{name: main, image: example/hungry:1, resources: {requests: {cpu: 200m}}}]}}", c.n))
	}},
	{38, 50, func(c *churner) { // evicts it
		for _, p := range c.pods(promtest.Path("Pod", "churn", "")) {
			if strings.HasPrefix(p.Metadata.Name, "hungry-") && p.Status.Phase == "Running" {
				c.do(http.MethodPatch, promtest.Path("Pod", "churn", p.Metadata.Name), json.RawMessage(`{"metadata":{"annotations":{"promtest/evict":"yes"}}}`))
			}
		}
	}},
	{60, 0, func(c *churner) { // a namespace, made again with other labels
		c.do(http.MethodDelete, promtest.Path("Namespace", "", "brief"), nil)
		c.gone(promtest.Path("Namespace", "", "brief"))
		c.k.Create(c, "{apiVersion: v1, kind: Namespace, metadata: {name: brief, labels: {team: second}}}")
		c.k.Create(c, deployment("brief", "app", 2, ""))
	}},
	{25, 71, func(c *churner) { // a pod, made again under its name on its node
		path := promtest.Path("Pod", "churn", "again")
		c.do(http.MethodDelete, path, nil)
		c.gone(path)
		c.k.Create(c, "{apiVersion: v1, kind: Pod, metadata: {name: again, namespace: churn}, spec: {nodeName: node-1, containers: [{name: main, image: example/again:1, resources: {requests: {cpu: 300m}}}]}}")
	}},
	{90, 0, func(c *churner) { // a node, made again under its name: it is drained, and is gone for a while
		name := fmt.Sprintf("node-%d", churnNodes)
		c.drain(name)
		c.do(http.MethodDelete, promtest.Path("Node", "", name), nil)
		time.Sleep(20 * time.Second)
		c.k.Create(c, node(name, "test:///replacement"))
	}},
}

// churn changes the cluster until a time, and until each of churns has happened: on a busy machine that takes longer. It returns the end.
func (c *churner) churn(until time.Time, churns []churn) (end time.Time) {
	start := time.Now()
	done := make([]int, len(churns))
	for time.Now().Before(until) || slices.Contains(done, 0) {
		elapsed := int(time.Since(start).Seconds())
		for i, x := range churns {
			due := 0
			switch {
			case elapsed < x.first:
			case x.every == 0:
				due = 1
			default:
				due = 1 + (elapsed-x.first)/x.every
			}
			if done[i] < due {
				done[i]++
				c.n++
				x.do(c)
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
	return time.Now().Truncate(time.Second)
}

// awaitRunning waits until so many pods there are, which run.
func (c *churner) awaitRunning(n int) {
	c.Helper()
	for range 300 {
		pods := c.pods("/api/v1/pods")
		if len(pods) == n && !slices.ContainsFunc(pods, func(p pod) bool { return p.Status.Phase != "Running" }) {
			return
		}
		time.Sleep(time.Second)
	}
	c.Fatalf("%d pods do not run", n)
}

// awaitValue waits until a query's value is at least so much.
func awaitValue(t *testing.T, prometheus, query string, least float64) {
	t.Helper()
	got := -1.0
	for range 300 {
		var reply struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		code, body := get(t, prometheus+"/api/v1/query?query="+url.QueryEscape(query))
		if err := json.Unmarshal([]byte(body), &reply); err != nil || code != http.StatusOK {
			t.Fatalf("%s: %d %.500s", query, code, body)
		}
		if list := reply.Data.Result; len(list) == 1 {
			if got, _ = strconv.ParseFloat(list[0].Value[1].(string), 64); got >= least {
				return
			}
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("%s is %g, and does not become %g", query, got, least)
}

// TestChurnE2E compares what is computed from a real kube-state-metrics, over a real API whose pods come and go, with the times in
// the pods' own status, and what it costs with the objects of the API.
func TestChurnE2E(t *testing.T) {
	k := promtest.StartKubernetes(t)
	ksm := strings.TrimPrefix(promtest.StartKubeStateMetrics(t, k, promtest.Allowlists...), "http://")
	tr, c := watchTruth(t, k), &churner{T: t, k: k}
	pods := c.populate()
	urls := map[string]string{}
	for _, s := range scrapers {
		interval := s.sees.scrape.String()
		jobs := scrapeOf("kube-state-metrics", ksm, interval, s.labels)
		if s.sees.more {
			jobs += scrapeOf("newer", startNewer(t, tr), interval, nil) + k.SchedulerJob(interval)
		}
		urls[s.name] = promtest.Start(t, "", promtest.Config{YAML: "scrape_configs:" + jobs})
	}
	c.awaitRunning(pods)
	for _, s := range scrapers {
		awaitValue(t, urls[s.name], `sum(kube_pod_status_phase{phase="Running"})`, float64(pods))
	}
	start := time.Now().Truncate(time.Second)
	end := c.churn(start.Add(*churnFor), slices.Concat(churns, sizeChurns))
	for _, s := range scrapers { // what is scraped in the minute after the end says more about it
		awaitValue(t, urls[s.name], "min(timestamp(up))", float64(end.Unix())+max(60, 2*s.sees.scrape.Seconds()))
	}
	tr.check()
	for _, s := range scrapers {
		t.Run(s.name, func(t *testing.T) { compareChurn(t, tr, urls[s.name], start, end, s.sees) })
	}
}

// populate makes the nodes and what runs on them from the beginning, and returns how many pods that are.
func (c *churner) populate() (pods int) {
	for i := range churnNodes {
		c.k.Create(c, node(fmt.Sprintf("node-%d", i+1), fmt.Sprintf("test:///%d", i+1)))
	}
	for _, namespace := range []string{"still", "churn", "brief"} {
		c.k.Create(c, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {team: first}}}", namespace))
	}
	c.k.Create(c, deployment("still", "base", still, ""))
	c.k.Create(c, deployment("churn", "web", 6, "promtest/start-after: 6s"))
	c.k.Create(c, deployment("churn", "crasher", 1, "promtest/crash-after: 12s"))
	c.k.Create(c, deployment("brief", "app", 2, ""))
	objects, err := os.ReadFile(filepath.Join("testdata", "churn.yaml"))
	if err != nil {
		c.Fatal(err)
	}
	c.k.Create(c, string(objects))
	return still + 6 + 1 + 2 + 2 + 2 + 1 + 1 + 2 + 1
}

// compareChurn asks a promcost over a Prometheus about the time of the churn.
func compareChurn(t *testing.T, tr *truth, prometheus string, start, end time.Time, sees sight) {
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte(clusterPrices), 0o600); err != nil {
		t.Fatal(err)
	}
	base := spawn(t, "serve", "--storage.path=", "--pricing.file="+prices, "--debug.check", "--prometheus.url="+prometheus)
	for _, cell := range []time.Duration{0, time.Minute} {
		sees := sees
		sees.cell = cell
		t.Run(sees.resolution(), func(t *testing.T) { compareRuns(t, tr, base, start, end, &sees) })
		t.Run(sees.resolution()+" costs", func(t *testing.T) { compareCosts(t, tr, base, start, end, &sees) })
	}
	t.Run("namespace", func(t *testing.T) {
		answer, _ := allocations(t, base, start, end, "idle=false&resolution=exact")
		want := tr.costs(start, end, &sees)
		for name, r := range answer {
			_, name, _ = strings.Cut(name, "/")
			if x := want[name]; x != nil && x.runs[0].Namespace == "brief" {
				pod := tr.pods.of(x.runs[0].UID)
				namespace := tr.namespaces.named("", "brief", pod.Metadata.CreationTimestamp)
				if got, team := r.texts["properties/namespaceLabels/team"], namespace.Metadata.Labels["team"]; got != team {
					t.Errorf("%s was in a namespace of team %s, and is of %q", name, team, got)
				}
			}
		}
	})
	t.Run("assets", func(t *testing.T) { compareClusterAssets(t, tr, base, start, end, &sees) })
}

// compareRuns asks promcost about a window and compares it with the true runs: each row with its bounds, and in exact mode
// the sums. Requests that change are left to compareCosts: a change is seen at the next scrape.
func compareRuns(t *testing.T, tr *truth, base string, start, end time.Time, sees *sight) {
	answer, warnings := allocations(t, base, start, end, "idle=false&resolution="+sees.resolution())
	want := tr.costs(start, end, sees)
	var sum, all trueCost
	for _, x := range want {
		all.seconds += x.seconds
		if !x.resized {
			all.cores += x.cores
		}
	}
	outside := 0
	for name, r := range answer {
		_, name, _ = strings.Cut(name, "/") // the cluster
		counted := 60 * r.figures["minutes"]
		sum.seconds += counted
		x := want[name]
		if x == nil || !x.resized {
			sum.cores += 3600 * r.figures["cpuCoreRequestHours"]
		}
		if x == nil {
			if counted > 1 {
				t.Errorf("%s runs for %.1fs, by the API it does not", name, counted)
			}
			continue
		}
		delete(want, name)
		lower, upper := r.figures["errorBounds/lower"], math.Inf(1)
		if u, ok := r.figures["errorBounds/upper"]; ok {
			upper = u
		}
		if counted < lower*(x.seconds-x.off) || counted > upper*(x.seconds+x.off) {
			outside++
			t.Errorf("%s runs for %.1fs of %.1fs, %.4f, outside of {%.3f, %.3f}: %s", name, counted, x.seconds, counted/x.seconds, lower, upper, timesOf(x.runs))
		} else if math.Abs(counted-x.seconds) > 2 {
			t.Logf("%s runs for %.1fs of %.1fs: %s", name, counted, x.seconds, timesOf(x.runs))
		}
	}
	for name, x := range want {
		t.Logf("no row: %s runs for %.1fs: %s", name, x.seconds, timesOf(x.runs))
	}
	t.Logf("warnings: %s", strings.Join(warnings, "\n"))
	seconds, cores := sum.seconds/all.seconds-1, sum.cores/all.cores-1
	t.Logf("%d rows, %d outside of their bounds, %d containers without a row; running %.1fs of %.1fs (%+.4f%%), requests %.1f core-seconds of %.1f (%+.4f%%)",
		len(answer), outside, len(want), sum.seconds, all.seconds, 100*seconds, sum.cores, all.cores, 100*cores)
	limit := 0.001
	if *churnFor < churnProof {
		limit = 0.005 // ends that nothing reports are off by up to half a scrape, which few pods do not even out
	}
	if sees.cell == 0 && (math.Abs(seconds) > limit || math.Abs(cores) > limit) {
		t.Errorf("running seconds or requests are off by more than %g %%", 100*limit)
	}
}

// timesOf are runs as text.
func timesOf(runs []promtest.Run) string {
	var out []string
	for _, r := range runs {
		end := "…"
		if !r.End.IsZero() {
			end = r.End.Format(time.TimeOnly)
		}
		out = append(out, r.Start.Format(time.TimeOnly)+"–"+end)
	}
	return strings.Join(out, " ")
}
