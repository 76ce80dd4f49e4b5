//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestManifestsReleaseE2E has Helm install the chart of an older promcost in a real API, and upgrade it to that of this tree. The pods
// run: this promcost has the history that the older one kept, without its Prometheus.
func TestManifestsReleaseE2E(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running pods takes root")
	}
	const namespace = "release"
	tree, version := olderTree(t)
	programs := map[string]string{"older": buildStatic(t, tree, "promcost"), "this": buildStatic(t, "../..", "promcost")}
	t.Logf("the older promcost is that of %s", version)
	prometheus := promtest.Start(t, writeSmallDemo(t), promtest.Config{})
	before := chartBy(t, programs["older"], "--prometheus.url="+prometheus, "--image.tag=0.1.0")
	after := chartBy(t, programs["this"], "--image.tag=0.2.0")
	helm(t, nil, "lint", before) // before servers are started that would not be needed
	k := promtest.StartKubernetes(t)
	k.Create(t, strings.ReplaceAll(node("node-1", "test:///1"), "memory: 64Gi", "memory: 128Gi"))
	k.Create(t, freeVolume("volume", ""))
	k.Create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}", namespace))

	helm(t, k, "install", "costs", before, "--namespace="+namespace)
	root := t.TempDir()
	older, stop := awaitImage(t, k, namespace, ":0.1.0").run(t, k, root, programs["older"])
	end := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	for _, hour := range []time.Time{end.Add(-3 * time.Hour), end.Add(-2 * time.Hour), end.Add(-time.Hour)} {
		eventually(t, "the older promcost does not keep "+hour.String(), func() bool {
			files, err := filepath.Glob(filepath.Join(root, "data", "allocations_hourly", "*", hour.Format("date=2006-01-02"), hour.Format("hour=15"), "*.parquet"))
			return err == nil && len(files) > 0
		})
	}
	want := keptCosts(t, older, end)
	stop()
	claim := uidOf(t, k, "PersistentVolumeClaim", namespace, "history-costs-0")
	set := uidOf(t, k, "StatefulSet", namespace, "costs")

	// The values of the release lack those that charts have got since.
	helm(t, k, "upgrade", "costs", after, "--namespace="+namespace, "--reuse-values", "--set=image.tag=0.2.0,prometheus.url=http://127.0.0.1:1,pods=5000,service.headlamp=true")
	p := awaitImage(t, k, namespace, ":0.2.0")
	if got := uidOf(t, k, "PersistentVolumeClaim", namespace, "history-costs-0"); got != claim {
		t.Errorf("the claim was %s and is %s", claim, got)
	}
	if got := uidOf(t, k, "StatefulSet", namespace, "costs"); got != set {
		t.Errorf("the StatefulSet was %s and is %s", set, got)
	}
	this, stop := p.run(t, k, root, programs["this"])
	defer stop()
	if diff := cmp.Diff(want, keptCosts(t, this, end), cmpopts.EquateApprox(1e-9, 0)); diff != "" || len(want) < 3 {
		t.Errorf("the history is of %d namespaces and differs (-older +this):\n%s", len(want), diff)
	}
}

// TestManifestsHelmTestE2E has Helm install the chart and test it. The pods run, also that of the test, which asks the other.
func TestManifestsHelmTestE2E(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running pods takes root")
	}
	const namespace = "tested"
	program := buildStatic(t, "../..", "promcost")
	prometheus := promtest.Start(t, writeSmallDemo(t), promtest.Config{})
	chart := chartOf(t, "--prometheus.url="+prometheus, "--image.tag=0.2.0")
	helm(t, nil, "lint", chart) // before servers are started that would not be needed
	k := promtest.StartKubernetes(t)
	k.Create(t, node("node-1", "test:///1"))
	k.Create(t, freeVolume("volume", ""))
	k.Create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}", namespace))
	helm(t, k, "install", "costs", chart, "--namespace="+namespace)
	address, stop := awaitImage(t, k, namespace, ":0.2.0").run(t, k, t.TempDir(), program)
	defer stop()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	helm(t, k, "upgrade", "costs", chart, "--namespace="+namespace, "--reuse-values", "--set=service.port="+port) // where its Service leads here

	var said []byte
	var failed error
	var tested sync.WaitGroup
	tested.Go(func() {
		path, p := promtest.Path("Pod", namespace, "costs-test"), &podObject{}
		for k.Do(t.Context(), http.MethodGet, path, nil, p) != nil {
			if time.Sleep(200 * time.Millisecond); t.Context().Err() != nil {
				return
			}
		}
		said, failed = p.command(t, k, t.TempDir(), program, "costs").CombinedOutput()
		// When and how the pod ends is for kwok to say, which runs no images.
		patch := json.RawMessage(`{"metadata":{"annotations":{"promtest/run-for":"1s"}}}`)
		if err := k.Do(t.Context(), http.MethodPatch, path, patch, nil); err != nil {
			t.Error(err)
		}
	})
	out := helm(t, k, "test", "costs", "--namespace="+namespace, "--timeout=300s")
	tested.Wait()
	if failed != nil || !strings.Contains(string(said), "search") || !strings.Contains(string(out), "Succeeded") {
		t.Errorf("the pod of helm test ends with %v and says\n%s\nHelm says\n%s", failed, said, out)
	}
}

// olderTree writes the files of the last release before this tree, or of the first commit that has a chart if there is none.
func olderTree(t *testing.T) (dir, version string) {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", "../.."}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	if version = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^"); version == "" {
		version = git("log", "--diff-filter=A", "--format=%h", "-1", "--", "cmd/promcost/internal/manifests/chart.go")
	}
	if version == "" {
		t.Skip("git knows no older promcost")
	}
	dir = t.TempDir()
	archive := filepath.Join(t.TempDir(), "tree.tar")
	git("archive", "--output="+archive, version)
	shell(t, os.Environ(), "", "tar", "--extract", "--file="+archive, "--directory="+dir)
	return dir, version
}

// chartBy is the directory of a chart that a promcost writes.
func chartBy(t *testing.T, program string, flags ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "chart")
	if out, err := exec.CommandContext(t.Context(), program, append([]string{"manifests", "--helm=" + dir}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
	return dir
}

// awaitImage waits until the first pod of the release runs an image.
func awaitImage(t *testing.T, k *promtest.Kubernetes, namespace, tag string) *podObject {
	t.Helper()
	var p podObject
	eventually(t, "no pod runs an image "+tag, func() bool {
		p = podObject{}
		err := k.Do(t.Context(), http.MethodGet, promtest.Path("Pod", namespace, "costs-0"), nil, &p)
		return err == nil && p.Status.Phase == "Running" && strings.HasSuffix(p.Spec.Containers[0].Image, tag)
	})
	return &p
}

// keptCosts are what namespaces cost in three hours, by a promcost at an address.
func keptCosts(t *testing.T, address string, end time.Time) map[string]float64 {
	t.Helper()
	var reply struct {
		Data []map[string]struct{ TotalCost float64 }
	}
	askFor(t, "http://"+address+"/model/allocation/compute", end.Add(-3*time.Hour), end, "aggregate=namespace&accumulate=true", &reply)
	costs := map[string]float64{}
	for _, set := range reply.Data {
		for name, row := range set {
			costs[name] += row.TotalCost
		}
	}
	return costs
}
