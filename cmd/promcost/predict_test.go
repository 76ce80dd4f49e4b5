package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// predictedFront is a Deployment of the demo cluster that requests so much for each of five replicas.
func predictedFront(requests string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-frontend, namespace: payments}\n" +
		"spec: {replicas: 5, template: {spec: {containers: [{name: nginx, resources: {requests: {" + requests + "}}}]}}}\n"
}

// handPrediction is what the exact costs of a demo cluster say of a container of a Deployment.
type handPrediction struct {
	hours               float64 // of the data
	core, gib           float64 // prices of an hour
	running             float64 // hours of all replicas
	cores, gibs         float64 // core-hours and GiB-hours that are charged
	usedCores, usedGibs float64
}

// handPredictionOf sums the truth.
func handPredictionOf(truth *democluster.Truth, controller string) handPrediction {
	const gib = 1 << 30
	h := handPrediction{hours: truth.End.Sub(truth.Start).Hours()}
	var nodes [4]float64
	for _, n := range truth.Nodes {
		nodes[0], nodes[1] = nodes[0]+n.CPUCost, nodes[1]+n.CPUCoreHours
		nodes[2], nodes[3] = nodes[2]+n.RAMCost, nodes[3]+n.RAMByteHours/gib
	}
	h.core, h.gib = nodes[0]/nodes[1], nodes[2]/nodes[3]
	for _, c := range truth.Containers {
		if c.Controller == controller {
			h.running += c.RunningSeconds / 3600
			h.cores, h.gibs = h.cores+c.CPUCoreHours, h.gibs+c.RAMByteHours/gib
			h.usedCores, h.usedGibs = h.usedCores+c.CPUUsageCoreHours, h.usedGibs+c.RAMUsageByteHours/gib
		}
	}
	return h
}

// TestPredict compares predictions with those by hand from the exact costs of the demo cluster: of requests above all usage, which is
// then of no account; of none, where usage alone counts; and of a workload that is not there.
func TestPredict(t *testing.T) {
	t.Parallel()
	dir, truth := writeTruth(t, "--demo.end=2026-03-03T12:00:00Z", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=26h", "--demo.seed=3")
	const month = 730 // hours
	h := handPredictionOf(truth, "web-frontend")
	window := truth.Start.Format(time.RFC3339) + "," + truth.End.Format(time.RFC3339)
	now := (h.cores*h.core + h.gibs*h.gib) / h.hours * month
	for _, tc := range []struct {
		name, text string
		before     float64
		after      float64
	}{
		{"requests above all usage", predictedFront("cpu: 20, memory: 60Gi"), now, 5 * month * (20*h.core + 60*h.gib)},
		{"no requests", predictedFront(""), now, 5 * month * (h.usedCores*h.core + h.usedGibs*h.gib) / h.running},
		{"a workload that is not there", strings.Replace(predictedFront("cpu: 500m, memory: 1Gi"), "web-frontend", "new", 1), 0, 5 * month * (0.5*h.core + h.gib)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var answer predictAnswer
			if err := json.Unmarshal([]byte(mustRun(t, "predict", "--tsdb.path="+dir, "--source=blocks", "--window="+window, "-f", file, "-o", "json")), &answer); err != nil {
				t.Fatal(err)
			}
			row := answer.Data.Workloads[0]
			for name, pair := range map[string][2]float64{"before": {*row.CostBefore.Total, tc.before}, "after": {*row.CostAfter.Total, tc.after}, "change": {*row.CostChange.Total, tc.after - tc.before}} {
				const off = 0.01 // samples are a minute apart, and some are missing
				if math.Abs(pair[0]-pair[1]) > off*max(math.Abs(pair[1]), 0.01) {
					t.Errorf("%s is %.4f, want %.4f", name, pair[0], pair[1])
				}
			}
		})
	}
}

// TestPredictTranscript holds tables, comments of pull requests, exit codes, and what is said of bad input.
func TestPredictTranscript(t *testing.T) {
	dir := t.TempDir()
	demo := filepath.Join(dir, "demo")
	mustRun(t, "demo", "--write="+demo, "--demo.end=2026-01-31T12:00:00Z", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=8h", "--demo.scrape-interval=1m", "--demo.seed=3")
	for name, text := range map[string]string{
		"more.yaml": predictedFront("cpu: 300m, memory: 512Mi") + "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: {containers: [{name: main}]}}}\n" +
			"---\nkind: Service\nmetadata: {name: \"x|`@team<b>\\e[31m\"}\n---\nkind: Service\nmetadata: {name: y}\n",
		"front.yaml": predictedFront("cpu: 300m, memory: 512Mi"), "units.yaml": predictedFront("memory: 512MB"), "none.yaml": "# nothing\n", "text.yaml": "hello", "many.yaml": strings.Repeat("kind: ConfigMap\n---\n", 10_000),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkTranscript(t, "predict", place{"DEMO", demo}, place{"DIR", dir})
}

// TestPredictFromStdin reads manifests from standard input, and asks a server.
func TestPredictFromStdin(t *testing.T) {
	t.Parallel()
	base := start(t, "demo", "--web.listen-address=127.0.0.1:0", "--demo.end=2026-01-31T12:00:00Z", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=8h", "--demo.scrape-interval=5m").url(t)
	eventually(t, "the demo does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == 200 })
	for _, tc := range []struct {
		flags, text string
		code        int
		want        string
	}{
		{"--max-increase=1e6", predictedFront("cpu: 2"), exitOK, "deployment payments/web-frontend"},
		{"--max-increase=0", predictedFront("cpu: 2"), exitAbove, "--max-increase allows 0"},
		{"--for-cluster=nowhere", predictedFront("cpu: 2"), exitError, `unknown cluster "nowhere": give one of cluster-one`},
		{"--no-usage", predictedFront("cpu: 2"), exitOK, "TOTAL"},
	} {
		var stdout, stderr bytes.Buffer
		f := streams{in: strings.NewReader(tc.text), out: &stdout, raw: &stdout, err: &stderr}
		app, executors := newApp(f)
		name, err := app.Parse([]string{"predict", "-f", "-", "--server=" + base, "--window=2026-01-31T04:00:00Z,2026-01-31T12:00:00Z", tc.flags})
		if err != nil {
			t.Fatal(err)
		}
		code := exitCode(executors[name](t.Context()), &stderr)
		if text := fmt.Sprint(stdout.String(), stderr.String()); code != tc.code || !strings.Contains(text, tc.want) {
			t.Errorf("%s: exit %d: %s, want %d: %s", tc.flags, code, text, tc.code, tc.want)
		}
	}
}
