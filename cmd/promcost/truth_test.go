package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// asProgram makes the test binary be the program: how tests run promcost as a process of its own.
const asProgram = "PROMCOST_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// spawn starts promcost as a process, which listens on a port that the kernel chooses, and returns its URL once it does.
func spawn(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--web.listen-address=127.0.0.1:0")...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		<-drained
		cmd.Wait() //nolint:errcheck // it was killed
	})
	select {
	case found := <-address:
		return "http://" + found
	case <-drained:
		t.Fatal("promcost ended before it listened")
	case <-time.After(patience):
		t.Fatal("promcost does not listen")
	}
	return ""
}

// cost is what an allocation and a container's truth have in common.
type cost struct {
	Minutes, CPUHours, RAMHours, GPUHours, CPUCost, RAMCost, GPUCost float64
	Life                                                             time.Duration // within the window
}

// values names the figures that are compared.
func (c *cost) values() map[string]float64 {
	return map[string]float64{
		"minutes": c.Minutes, "cpuCoreHours": c.CPUHours, "ramByteHours": c.RAMHours, "gpuHours": c.GPUHours,
		"cpuCost": c.CPUCost, "ramCost": c.RAMCost, "gpuCost": c.GPUCost,
	}
}

func (c *cost) add(o cost) {
	c.Minutes, c.Life = c.Minutes+o.Minutes, c.Life+o.Life
	c.CPUHours, c.RAMHours, c.GPUHours = c.CPUHours+o.CPUHours, c.RAMHours+o.RAMHours, c.GPUHours+o.GPUHours
	c.CPUCost, c.RAMCost, c.GPUCost = c.CPUCost+o.CPUCost, c.RAMCost+o.RAMCost, c.GPUCost+o.GPUCost
}

// readTruth reads the exact costs of a written demo, by allocation name.
func readTruth(t *testing.T, dir string) (*democluster.Truth, map[string]cost) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth democluster.Truth
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	costs := map[string]cost{}
	for i := range truth.Containers {
		x := &truth.Containers[i]
		name := strings.Join([]string{x.Cluster, x.Node, x.Namespace, x.Pod, x.Container}, "/")
		sum := costs[name]
		sum.add(cost{
			Minutes: x.RunningSeconds / 60, Life: time.Duration(x.RunningSeconds * float64(time.Second)),
			CPUHours: x.CPUCoreHours, RAMHours: x.RAMByteHours, GPUHours: x.GPUHours,
			CPUCost: x.CPUCost, RAMCost: x.RAMCost, GPUCost: x.GPUCost,
		})
		costs[name] = sum
	}
	return &truth, costs
}

// askFor asks promcost about a window at a resolution and decodes what it answers.
func askFor(t *testing.T, url string, start, end time.Time, resolution string, reply any) {
	t.Helper()
	window := start.Format(time.RFC3339) + "," + end.Format(time.RFC3339)
	code, body := get(t, url+"?window="+window+"&resolution="+resolution)
	if code != 200 {
		t.Fatalf("%s: %d %.500s", url, code, body)
	}
	if err := json.Unmarshal([]byte(body), reply); err != nil {
		t.Fatal(err)
	}
}

// answer asks for the allocations of a window, unaggregated.
func answer(t *testing.T, base string, start, end time.Time, resolution string) (costs map[string]cost, warnings []string) {
	t.Helper()
	var reply struct {
		Data []map[string]struct {
			Minutes, CPUCoreHours, RAMByteHours, GPUHours, CPUCost, RAMCost, GPUCost float64
		}
		Warnings []string
	}
	askFor(t, base+"/model/allocation/compute", start, end, resolution, &reply)
	if len(reply.Data) != 1 {
		t.Fatalf("%d sets, want 1", len(reply.Data))
	}
	costs = map[string]cost{}
	for name, x := range reply.Data[0] {
		if strings.Contains(name, allocation.UnmountedName) || strings.Contains(name, allocation.UnallocatedName) {
			continue // nobody ran there
		}
		costs[name] = cost{
			Minutes: x.Minutes, CPUHours: x.CPUCoreHours, RAMHours: x.RAMByteHours, GPUHours: x.GPUHours,
			CPUCost: x.CPUCost, RAMCost: x.RAMCost, GPUCost: x.GPUCost,
		}
	}
	return costs, reply.Warnings
}

// nodeCosts asks for the nodes of a window, by name.
func nodeCosts(t *testing.T, base string, start, end time.Time, resolution string) map[string]cost {
	t.Helper()
	var reply struct {
		Data map[string]struct {
			Type                      string
			CPUCost, RAMCost, GPUCost float64
			Properties                struct{ Name string }
		}
	}
	askFor(t, base+"/assets", start, end, resolution, &reply)
	nodes := map[string]cost{}
	for _, x := range reply.Data {
		if x.Type == "Node" {
			nodes[x.Properties.Name] = cost{CPUCost: x.CPUCost, RAMCost: x.RAMCost, GPUCost: x.GPUCost}
		}
	}
	return nodes
}

// TestTruth compares what promcost, a process beside a real Prometheus, answers with what the demo cluster costs exactly:
// by streamed remote read and by the query API, on the grid of 1m and with every sample.
func TestTruth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	p := start(t, "demo", "--write="+dir, "--demo.end=2026-03-03T12:00:00Z", "--demo.duration=26h", "--demo.seed=3")
	if code := <-p.code; code != exitOK {
		t.Fatalf("demo --write: exit %d: %s", code, p.err.String())
	}
	truth, want := readTruth(t, dir)
	server := promtest.Start(t, dir, promtest.Config{})
	bases := map[string]string{
		"remote read": spawn(t, "serve", "--prometheus.url="+server, "--source=remote-read"),
		"query API":   spawn(t, "serve", "--prometheus.url="+server, "--source=query"),
		"blocks":      spawn(t, "serve", "--source=blocks", "--tsdb.path="+dir),
	}
	for _, resolution := range []string{"1m", "exact"} {
		first, _ := answer(t, bases["remote read"], truth.Start, truth.End, resolution)
		t.Run("remote read/"+resolution, func(t *testing.T) {
			compareTruth(t, first, want, truth, resolution)
			nodes := nodeCosts(t, bases["remote read"], truth.Start, truth.End, resolution)
			checkConserved(t, first, nodes)
			compareNodes(t, nodes, truth, resolution)
		})
		t.Run("edges/"+resolution, func(t *testing.T) { checkEdges(t, bases["blocks"], first, truth, resolution) })
		for _, other := range []string{"query API", "blocks"} {
			t.Run(other+"/"+resolution, func(t *testing.T) {
				got, _ := answer(t, bases[other], truth.Start, truth.End, resolution)
				compareTruth(t, got, want, truth, resolution)
				if resolution == "1m" || other == "blocks" {
					compareAnswers(t, got, first)
				}
			})
		}
	}
}

// compareTruth checks every container that ran for an hour or more, and that every job of five minutes is there.
func compareTruth(t *testing.T, got, want map[string]cost, truth *democluster.Truth, resolution string) {
	t.Helper()
	compared, jobs := 0, 0
	for name, w := range want {
		g, ok := got[name]
		if w.Life < time.Hour {
			if strings.Contains(name, "-5m-") && w.Life >= 5*time.Minute {
				if jobs++; !ok {
					t.Errorf("%s is missing: it ran for %s", name, w.Life)
				}
			}
			continue
		}
		compared++
		for what, v := range w.values() {
			if err := within(g.values()[what], v, w.Life, resolution); err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && name != "__idle__" {
			t.Errorf("%s is not in the truth", name)
		}
	}
	if compared < 100 || jobs < 10 {
		t.Errorf("only %d containers of an hour and %d jobs of 5m compared: of %d", compared, jobs, len(truth.Containers))
	}
}

// within checks a figure: in exact mode to 0.5 %, on the grid by the documented bounds, to their two digits.
func within(got, want float64, life time.Duration, resolution string) error {
	if want == 0 {
		if got != 0 {
			return fmt.Errorf("got %g, want none", got)
		}
		return nil
	}
	ratio := got / want
	if resolution == "exact" {
		if math.Abs(ratio-1) > 0.005 {
			return fmt.Errorf("got %g, want %g: off by %.3f %%", got, want, (ratio-1)*100)
		}
		return nil
	}
	lower, upper := timeline.Bounds(life, time.Minute)
	if r := math.Floor(ratio*100+0.5) / 100; r < lower || r > upper {
		return fmt.Errorf("got %g, want %g: %.4f is outside of %v and %v", got, want, ratio, lower, upper)
	}
	return nil
}

// total sums costs.
func total(costs map[string]cost) (sum cost) {
	for _, x := range costs {
		sum.add(x)
	}
	return sum
}

// checkConserved checks that allocations and idle add up to the nodes.
func checkConserved(t *testing.T, allocations, nodes map[string]cost) {
	t.Helper()
	got, want := total(allocations), total(nodes)
	for _, pair := range [][2]float64{{got.CPUCost, want.CPUCost}, {got.RAMCost, want.RAMCost}, {got.GPUCost, want.GPUCost}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9*pair[1] || pair[1] <= 0 {
			t.Errorf("allocations and idle cost %v, the nodes %v", pair[0], pair[1])
		}
	}
}

// compareNodes compares the nodes with the truth.
func compareNodes(t *testing.T, nodes map[string]cost, truth *democluster.Truth, resolution string) {
	t.Helper()
	for _, n := range truth.Nodes {
		got, life := nodes[n.Name], n.End.Sub(n.Start)
		for _, pair := range [][2]float64{{got.CPUCost, n.CPUCost}, {got.RAMCost, n.RAMCost}, {got.GPUCost, n.GPUCost}} {
			if err := within(pair[0], pair[1], life, resolution); err != nil {
				t.Errorf("node %s: %v", n.Name, err)
			}
		}
	}
}

// checkEdges asks for windows whose edges lie where nothing was scraped: before the first sample, and before, in and after
// the outage of kube-state-metrics. Costs are conserved in all, nothing is charged for time without data, and a warning
// names the hours.
func checkEdges(t *testing.T, base string, whole map[string]cost, truth *democluster.Truth, resolution string) {
	t.Helper()
	outage := truth.Start.Add(truth.End.Sub(truth.Start) * 85 / 100)
	for _, w := range [][2]time.Time{
		{truth.Start.Add(-48 * time.Hour), truth.End},
		{outage.Add(-20 * time.Minute), outage.Add(6 * time.Minute)},
		{outage.Add(3 * time.Minute), outage.Add(10 * time.Minute)},
		{outage.Add(6 * time.Minute), outage.Add(30 * time.Minute)},
	} {
		got, warnings := answer(t, base, w[0], w[1], resolution)
		checkConserved(t, got, nodeCosts(t, base, w[0], w[1], resolution))
		if len(warnings) == 0 {
			t.Errorf("no warning about %v", w)
		}
		if w[0].Before(truth.Start) {
			if got, want := total(got).CPUCost, total(whole).CPUCost; math.Abs(got/want-1) > 0.002 {
				t.Errorf("with 48 h without data before it, the window costs %v, else %v", got, want)
			}
		}
	}
}

// compareAnswers checks that two ways of reading the same samples give the same figures.
func compareAnswers(t *testing.T, got, want map[string]cost) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d allocations, want %d", len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		for what, v := range w.values() {
			if math.Abs(g.values()[what]-v) > 1e-9*math.Abs(v)+1e-12 {
				t.Errorf("%s: %s: got %v, want %v", name, what, g.values()[what], v)
			}
		}
	}
}
