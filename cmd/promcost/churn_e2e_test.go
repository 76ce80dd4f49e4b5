//go:build e2e

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
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
	name, interval string
	labels         []string // that the target is given
}{
	{"plain", "15s", nil},
	{"kube-prometheus-stack", "30s", promtest.StackLabels},
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

// scrapeOf is the configuration that scrapes a target, which is given labels by alternating names and values.
func scrapeOf(target, interval string, labels []string) string {
	var given []string
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i] != "job" {
			given = append(given, fmt.Sprintf("%s: %q", labels[i], labels[i+1]))
		}
	}
	return fmt.Sprintf(`
scrape_configs:
- job_name: kube-state-metrics
  scrape_interval: %s
  scrape_timeout: 10s
  honor_labels: true
  static_configs: [{targets: [%s], labels: {%s}}]
`, interval, target, strings.Join(given, ", "))
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
	{20, 127, func(c *churner) { // a rollout, in step with no scrape
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"rollout":"%d"}}}}}`, c.n)
		c.do(http.MethodPatch, promtest.Path("Deployment", "churn", "web"), json.RawMessage(patch))
	}},
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
		c.do(http.MethodPatch, promtest.Path("Node", "", name), json.RawMessage(`{"spec":{"unschedulable":true}}`))
		for _, p := range c.pods("/api/v1/pods?fieldSelector=spec.nodeName%3D" + name) {
			c.do(http.MethodDelete, promtest.Path("Pod", p.Metadata.Namespace, p.Metadata.Name), nil)
			time.Sleep(1700 * time.Millisecond) // one after the other, as budgets of disruptions would have it
		}
		time.Sleep(3 * time.Second)
		c.do(http.MethodDelete, promtest.Path("Node", "", name), nil)
		time.Sleep(20 * time.Second)
		c.k.Create(c, node(name, "test:///replacement"))
	}},
}

// churn changes the cluster until a time.
func (c *churner) churn(until time.Time, churns []churn) {
	start := time.Now()
	done := make([]int, len(churns))
	for time.Now().Before(until) {
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
}

// TestChurnE2E compares what is computed from a real kube-state-metrics, over a real API whose pods come and go, with the times in
// the pods' own status.
func TestChurnE2E(t *testing.T) {
	k := promtest.StartKubernetes(t)
	ksm := strings.TrimPrefix(promtest.StartKubeStateMetrics(t, k, promtest.Allowlists...), "http://")
	observer := promtest.Observe(t, k)
	for i := range churnNodes {
		k.Create(t, node(fmt.Sprintf("node-%d", i+1), fmt.Sprintf("test:///%d", i+1)))
	}
	for _, namespace := range []string{"still", "churn", "brief"} {
		k.Create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {team: first}}}", namespace))
	}
	k.Create(t, deployment("still", "base", still, ""))
	k.Create(t, deployment("churn", "web", 6, "promtest/start-after: 6s"))
	k.Create(t, deployment("churn", "crasher", 1, "promtest/crash-after: 12s"))
	k.Create(t, deployment("brief", "app", 2, ""))
	urls := map[string]string{}
	for _, s := range scrapers {
		urls[s.name] = promtest.Start(t, "", promtest.Config{YAML: scrapeOf(ksm, s.interval, s.labels)})
	}
	time.Sleep(40 * time.Second) // all pods run and were scraped
	start := time.Now().Truncate(time.Second)
	end := start.Add(*churnFor)
	(&churner{T: t, k: k}).churn(end, churns)
	time.Sleep(time.Until(end) + 70*time.Second) // two scrapes with the ends
	runs := observer.Runs(t)
	for _, s := range scrapers {
		t.Run(s.name, func(t *testing.T) { compareChurn(t, urls[s.name], start, end.Truncate(time.Second), runs) })
	}
}

// compareChurn asks a promcost over a Prometheus about the time of the churn.
func compareChurn(t *testing.T, prometheus string, start, end time.Time, runs []promtest.Run) {
	base := spawn(t, "serve", "--storage.path=", "--prometheus.url="+prometheus)
	for _, resolution := range []string{"exact", "1m"} {
		t.Run(resolution, func(t *testing.T) { compareRuns(t, base, start, end, resolution, runs) })
	}
	t.Run("namespace", func(t *testing.T) {
		answer, _ := allocations(t, base, start, end, "idle=false&resolution=exact")
		want, _ := runsWithin(runs, start, end)
		for name, r := range answer {
			_, name, _ = strings.Cut(name, "/")
			if x := want[name]; x != nil && x.runs[0].Namespace == "brief" {
				team := "second"
				if end := x.runs[0].End; !end.IsZero() && end.Before(start.Add(90*time.Second)) {
					team = "first"
				}
				if got := r.texts["properties/namespaceLabels/team"]; got != team {
					t.Errorf("%s was in a namespace of team %s, and is of %q", name, team, got)
				}
			}
		}
	})
	t.Run("node", func(t *testing.T) {
		var reply struct {
			Data map[string]struct {
				Properties struct{ Name, ProviderID string }
				Minutes    float64
			}
		}
		askFor(t, base+"/assets", start, end, "filter="+url.QueryEscape(`assetType:"node"`), &reply)
		of := map[string]float64{}
		for _, x := range reply.Data {
			if strings.HasPrefix(x.Properties.Name, fmt.Sprintf("node-%d", churnNodes)) {
				of[x.Properties.ProviderID] = x.Minutes
			}
		}
		if first, second := of[fmt.Sprintf("test:///%d", churnNodes)], of["test:///replacement"]; len(of) != 2 || first <= 0 || second <= 0 || first+second >= end.Sub(start).Minutes() {
			t.Errorf("the node that was replaced is told as %v minutes by provider id", of)
		}
	})
}

// trueRuns are the runs of a container in a window, by the API.
type trueRuns struct {
	seconds, cores float64 // cores: those requested, times seconds
	runs           []promtest.Run
}

// runsWithin sums the runs of each container in a window.
func runsWithin(runs []promtest.Run, start, end time.Time) (of map[string]*trueRuns, all trueRuns) {
	of = map[string]*trueRuns{}
	for _, r := range runs {
		from, to := r.Start, r.End
		if from.Before(start) {
			from = start
		}
		if to.IsZero() || to.After(end) {
			to = end
		}
		if !from.Before(to) {
			continue
		}
		name := strings.Join([]string{r.Node, r.Namespace, r.Pod, r.Container}, "/")
		if of[name] == nil {
			of[name] = &trueRuns{}
		}
		seconds := to.Sub(from).Seconds()
		for _, x := range []*trueRuns{of[name], &all} {
			x.seconds, x.cores, x.runs = x.seconds+seconds, x.cores+seconds*r.CPU, append(x.runs, r)
		}
	}
	return of, all
}

// compareRuns asks promcost about a window and compares it with the true runs: each row with its bounds, and in exact mode
// the sums.
func compareRuns(t *testing.T, base string, start, end time.Time, resolution string, runs []promtest.Run) {
	answer, warnings := allocations(t, base, start, end, "idle=false&resolution="+resolution)
	want, all := runsWithin(runs, start, end)
	var sum trueRuns
	outside := 0
	for name, r := range answer {
		_, name, _ = strings.Cut(name, "/") // the cluster
		counted := 60 * r.figures["minutes"]
		sum.seconds, sum.cores = sum.seconds+counted, sum.cores+3600*r.figures["cpuCoreRequestHours"]
		x := want[name]
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
		// The API's times are whole seconds, cut: what it says of a run may be off by one.
		off := float64(len(x.runs))
		if counted < lower*(x.seconds-off) || counted > upper*(x.seconds+off) {
			outside++
			t.Errorf("%s runs for %.1fs of %.1fs, %.4f, outside of {%.3f, %.3f}: %s", name, counted, x.seconds, counted/x.seconds, lower, upper, times(x.runs))
		} else if math.Abs(counted-x.seconds) > 2 {
			t.Logf("%s runs for %.1fs of %.1fs: %s", name, counted, x.seconds, times(x.runs))
		}
	}
	for name, x := range want {
		t.Logf("no row: %s runs for %.1fs: %s", name, x.seconds, times(x.runs))
	}
	t.Logf("warnings: %s", strings.Join(warnings, "\n"))
	seconds, cores := sum.seconds/all.seconds-1, sum.cores/all.cores-1
	t.Logf("%d rows, %d outside of their bounds, %d containers without a row; running %.1fs of %.1fs (%+.4f%%), requests %.1f core-seconds of %.1f (%+.4f%%)",
		len(answer), outside, len(want), sum.seconds, all.seconds, 100*seconds, sum.cores, all.cores, 100*cores)
	limit := 0.001
	if *churnFor < churnProof {
		limit = 0.005 // ends that nothing reports are off by up to half a scrape, which few pods do not even out
	}
	if resolution == "exact" && (math.Abs(seconds) > limit || math.Abs(cores) > limit) {
		t.Errorf("running seconds or requests are off by more than %g %%", 100*limit)
	}
}

// times are runs as text.
func times(runs []promtest.Run) string {
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
