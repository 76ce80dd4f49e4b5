package promquery_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// Metrics that allow lists and relabelings drop.
const (
	startTimes   = "kube_pod_container_state_started"
	endTimes     = "kube_pod_container_status_last_terminated_timestamp"
	completions  = "kube_pod_completion_time"
	restartCount = "kube_pod_container_status_restarts_total"
	statuses     = "kube_pod_container_status_running"
	initStatuses = "kube_pod_init_container_status_running"
	cgroupStarts = "container_start_time_seconds"
	memoryUse    = "container_memory_working_set_bytes"
)

// TestBoundsOfCrashLoops asks for an hour of a container that runs for 200 s and then waits for 100 s, in step with a grid of 5 minutes,
// whose points all see it run. It runs for 2,400 s, and whatever is known of its starts, its ends and its restarts, the bounds say so.
func TestBoundsOfCrashLoops(t *testing.T) {
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	const period, waits, again = 300, 30, 130 // seconds
	at := func(t int64) int64 { return t/1000 - start.Unix() }
	running := func(t int64) bool { x := at(t) % period; return x < waits || x >= again }
	count := func(t int64) int64 { return (at(t) - again + period) / period }
	series := func(name string, value func(t int64) float64, labels ...string) promtest.Series {
		list := promtest.Regular(start.UnixMilli()+7000, start.Add(3*time.Hour).UnixMilli(), 30_000, value)
		kept := slices.DeleteFunc(list, func(x promtest.Sample) bool { return x.V == -1 })
		return promtest.Series{Labels: append([]string{"__name__", name}, labels...), Samples: kept}
	}
	pod := []string{"namespace", "shop", "pod", "web-0", "uid", "u-1"}
	container := append(slices.Clip(pod), "container", "app")
	all := []promtest.Series{
		series("kube_node_info", func(int64) float64 { return 1 }, "node", "n1"),
		series("kube_node_status_capacity", func(int64) float64 { return 4 }, "node", "n1", "resource", "cpu", "unit", "core"),
		series("kube_pod_info", func(int64) float64 { return 1 }, append(slices.Clip(pod), "node", "n1")...),
		series(statuses, func(t int64) float64 {
			if running(t) {
				return 1
			}
			return 0
		}, container...),
		series(startTimes, func(t int64) float64 {
			if !running(t) {
				return -1
			}
			return float64(start.Unix() + again + period*(count(t)-1))
		}, container...),
		series(endTimes, func(t int64) float64 { return float64(start.Unix() + waits + period*((at(t)-waits)/period)) }, container...),
		series(restartCount, func(t int64) float64 { return float64(count(t)) }, container...),
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, all...)
	db := openBlocks(t, dir)
	const truth = 2400
	for _, dropped := range [][]string{nil, {startTimes}, {endTimes}, {restartCount}, {startTimes, endTimes}, {startTimes, restartCount}, {startTimes, endTimes, restartCount}} {
		for _, resolution := range []time.Duration{0, time.Minute, 5 * time.Minute, 10 * time.Minute} {
			q := allocation.Query{Window: allocation.Window{Start: start.Add(time.Hour), End: start.Add(2 * time.Hour)}, Resolution: resolution, After: time.Hour}
			sets := []*allocation.Set{compute(t, without{db, dropped}, q)[0]}
			got := boundsOf(sets, func(s *allocation.Set, row int) string { return s.Text(allocation.Container, row) })["app"]
			if !got.holds(truth) {
				t.Errorf("without %q at %s: it ran for %d s, outside of %.0f and %.0f", dropped, allocation.ResolutionText(resolution), truth, got.least, got.most)
			}
			if resolution == 5*time.Minute && got.counted != 3600 {
				t.Errorf("without %q: %.0f s are counted, want all of the hour: it is not in step", dropped, got.counted)
			}
		}
	}
}

// interruption is a window of a demo cluster with outages around its ends and in its middle, and with metrics that are dropped.
type interruption struct {
	cluster *democluster.Cluster
	window  allocation.Window
	outages []down
	dropped []string
}

// droppable are sets of metrics that an installation may lack, none more often than others.
var droppable = [][]string{
	nil,
	{startTimes},
	{completions},
	{endTimes},
	{startTimes, endTimes},
	{startTimes, completions},
	{startTimes, completions, endTimes},
	{startTimes, cgroupStarts},
	{startTimes, cgroupStarts, completions, endTimes, "kube_pod_start_time", "kube_pod_deletion_timestamp"},
	{statuses, initStatuses},
	{statuses, initStatuses, memoryUse},
	{statuses, initStatuses, startTimes, completions},
	{initStatuses},
	{memoryUse, "container_cpu_usage_seconds_total", cgroupStarts},
}

func newInterruption(t *testing.T, seed int) (x interruption) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 77))
	scrape := []time.Duration{15 * time.Second, 30 * time.Second, time.Minute}[r.IntN(3)]
	var err error
	x.cluster, err = democluster.New(democluster.Config{
		End: time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC), Duration: 6 * time.Hour, Nodes: 4, Pods: 60, Seed: int64(seed%5 + 1), ScrapeInterval: scrape,
	})
	if err != nil {
		t.Fatal(err)
	}
	const longest = 45 * 60
	seconds := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Second }
	x.window = allocation.Window{Start: x.cluster.Start().Add(time.Hour + seconds(3600)), End: x.cluster.End().Add(-time.Hour - seconds(3600))}
	for _, near := range []time.Time{x.window.Start, x.window.End, x.window.Start.Add(x.window.Duration() / 2)} {
		if r.IntN(4) == 0 {
			continue
		}
		d := down{from: near.Add(-seconds(longest / 2)), job: []string{"", "kube-state-metrics", "kubelet"}[r.IntN(3)], marked: r.IntN(2) == 0}
		d.to = d.from.Add(time.Minute + seconds(longest))
		d.marked = d.marked && d.job != "" // Prometheus itself leaves no markers
		x.outages = append(x.outages, d)
	}
	if x.dropped = droppable[r.IntN(len(droppable))]; r.IntN(3) == 0 {
		x.dropped = nil
	}
	return x
}

// source is what is left of the cluster's samples.
func (x *interruption) source(t *testing.T) promquery.Source {
	t.Helper()
	list, broken := seriesOfCluster(t, x.cluster), t.TempDir()
	for _, d := range x.outages {
		list = interrupted(list, d)
	}
	promtest.WriteBlocks(t, broken, 2*time.Hour, list...)
	return without{openBlocks(t, broken), x.dropped}
}

// TestBoundsOverOutages compares the truth of demo clusters with the computed bounds if outages touch the window and metrics are
// dropped: with every sample, on grids, and by hours computed one by one. Containers without a row are not compared.
func TestBoundsOverOutages(t *testing.T) {
	t.Parallel()
	seeds := []int{
		3,  // the first point after an outage is a cell of 10 minutes later
		14, // the start of a crash loop changes between two points
		15, // what ended in the margin before the window may have run into it
		18, // so much of an hour is an outage that the distance of samples shows no scrape interval
		74, // an init container ends in an outage, and its pod is over after it
	}
	for seed := range soak.Of(0, 80) {
		if !slices.Contains(seeds, seed) {
			seeds = append(seeds, seed)
		}
	}
	for _, seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			x := newInterruption(t, seed)
			src := x.source(t)
			what := fmt.Sprintf("window of %s to %s, without %q, outages %v", x.window.Start.Format(time.TimeOnly), x.window.End.Format(time.TimeOnly), x.dropped, x.outages)
			truth := map[string]float64{}
			for _, c := range x.cluster.Truth(x.window.Start, x.window.End).Containers {
				truth[containerName(&c)] += c.RunningSeconds
			}
			for _, q := range []allocation.Query{{}, {Step: time.Hour, Alone: true}, {Resolution: time.Minute}, {Resolution: 2 * time.Minute, Step: 30 * time.Minute}, {Resolution: 5 * time.Minute}, {Resolution: 10 * time.Minute}} {
				q.Window, q.After = x.window, time.Hour
				var outside []string
				for name, got := range boundsOf(compute(t, src, q), instanceOf) {
					if !got.holds(truth[name]) {
						outside = append(outside, fmt.Sprintf("%s ran for %.1f s, outside of %.1f and %.1f", name, truth[name], got.least, got.most))
					}
				}
				slices.Sort(outside)
				if n := len(outside); n > 0 {
					t.Errorf("%s: at %s by %s: %d containers are outside of their bounds:\n%s", what, allocation.ResolutionText(q.Resolution), q.Step, n, strings.Join(outside[:min(n, 3)], "\n"))
				}
			}
		})
	}
}
