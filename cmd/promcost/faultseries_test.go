package main

import (
	"fmt"
	"iter"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// manyPods is the number of pods with 10^6 series, or with fewer.
func manyPods() int { return soak.Of(1_200, 333_334) }

// manyDay is a day after those of troubledDemo.
func manyDay() time.Time { return time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC) }

// podSeries are what is read of pods, three series each, in the order of labels. A pod is seen each minute of its life, which begins some
// minutes after those before it.
func podSeries(from, to int, start time.Time, minutes, apart int) iter.Seq[promtest.Series] {
	const nodes, perNamespace = 100, 5_000
	samples := func(begin int) []promtest.Sample {
		first := start.UnixMilli() + int64(begin)*60_000
		return promtest.Regular(first, first+int64(minutes-1)*60_000, 60_000, func(int64) float64 { return 1 })
	}
	lives := make([][]promtest.Sample, 1+(120-minutes)*min(apart, 1)) // by the minute that they begin in
	for i := range lives {
		lives[i] = samples(i)
	}
	always := promtest.Regular(start.UnixMilli(), start.Add(119*time.Minute).UnixMilli(), 60_000, func(int64) float64 { return 1 })
	return func(yield func(promtest.Series) bool) {
		for n := range nodes {
			if !yield(promtest.Series{Labels: []string{"__name__", "kube_node_info", "node", fmt.Sprintf("node-%03d", n)}, Samples: always}) {
				return
			}
		}
		for _, metric := range []string{"kube_pod_container_resource_requests", "kube_pod_container_status_running", "kube_pod_info"} {
			for i := from; i < to; i++ {
				pod := []string{"namespace", fmt.Sprintf("ns-%03d", i/perNamespace), "pod", fmt.Sprintf("pod-%07d", i), "uid", fmt.Sprintf("uid-%07d", i)}
				node := []string{"node", fmt.Sprintf("node-%03d", i%perNamespace*nodes/perNamespace)}
				name := []string{"__name__", metric}
				switch metric {
				case "kube_pod_info":
					name = slices.Concat(name, pod[:2], node, pod[2:])
				case "kube_pod_container_status_running":
					name = slices.Concat(name, []string{"container", "app"}, pod)
				default:
					name = slices.Concat(name, []string{"container", "app"}, pod[:2], node, pod[2:4], []string{"resource", "cpu"}, pod[4:], []string{"unit", "core"})
				}
				if !yield(promtest.Series{Labels: name, Samples: lives[i*apart%len(lives)]}) {
					return
				}
			}
		}
	}
}

// oneScrape writes a block of pods that all run for an hour.
func oneScrape(t *testing.T, dir string) {
	t.Helper()
	promtest.WriteSorted(t, dir, manyDay(), 2*time.Hour, podSeries(0, manyPods(), manyDay(), 60, 0))
}

// shortPods writes the blocks of a day in which pods run for ten minutes each.
func shortPods(t *testing.T, dir string) {
	t.Helper()
	const blocks = 12
	for n := range blocks {
		start := manyDay().Add(time.Duration(n) * 2 * time.Hour)
		promtest.WriteSorted(t, dir, start, 2*time.Hour, podSeries(manyPods()*n/blocks, manyPods()*(n+1)/blocks, start, 10, 1))
	}
}

// foreignSeries adds series that promcost has no use for to the blocks of the time that is asked for.
func foreignSeries(t *testing.T, dir string) {
	t.Helper()
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	samples := promtest.Regular(start.UnixMilli(), start.Add(119*time.Minute).UnixMilli(), 60_000, func(int64) float64 { return 1 })
	promtest.WriteSorted(t, dir, start, 2*time.Hour, func(yield func(promtest.Series) bool) {
		for i := range soak.Of(3_000, 1_000_000) {
			if !yield(promtest.Series{Labels: []string{"__name__", "http_request_duration_seconds_bucket", "instance", fmt.Sprintf("pod-%05d", i/100), "le", fmt.Sprintf("%02d", i%100)}, Samples: samples}) {
				return
			}
		}
	})
	names := blocksIn(t, dir)
	compact(t, dir, names)
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

// manySeries has 10^6 series, or fewer, beside a demo. Questions about them are answered or refused with a remedy. Meanwhile
// questions about the demo are answered, within the memory.
func manySeries(t *testing.T, source string, budget int64, write func(t *testing.T, dir string)) *troubled {
	t.Helper()
	blocks, want := troubledDemo(t, "", troubledQuestion)
	dir, _ := copyBlocks(t, blocks)
	write(t, dir)
	flag := "--tsdb.path=" + dir
	if source == sourceRemoteRead {
		flag = "--prometheus.url=" + promtest.Start(t, dir, promtest.Config{})
	}
	x := &troubled{question: troubledQuestion, want: want, calm: true, budget: budget}
	x.daemon = runDaemon(t, "serve", "--storage.path=", "--source="+source, flag, fmt.Sprint("--query.max-memory=", budget, "B"))
	x.disturb = func(round int) {
		window := manyDay().Format(time.RFC3339) + "," + manyDay().Add([]time.Duration{time.Hour, 24 * time.Hour}[round%2]).Format(time.RFC3339)
		r := x.ask(t, "/model/allocation/compute?aggregate=namespace&accumulate=true&window="+window)
		switch {
		case r.code == http.StatusOK:
		case r.code != http.StatusUnprocessableEntity && r.code != http.StatusServiceUnavailable, !strings.Contains(r.body, "raise --query.max-memory"):
			t.Errorf("%s: %d %.500s", window, r.code, r.body)
		}
	}
	return x
}

// mostMemory is how many bytes of RssAnon a promcost may have that has such a budget. The race detector is documented to take five to
// ten times as much.
func mostMemory(budget int64) int64 {
	most := budget*13/10 + 100<<20
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return most * 10
	}
	return most
}
