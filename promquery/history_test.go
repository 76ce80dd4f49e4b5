package promquery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// keeping is a ledger that keeps the hours of a source in a directory.
func keeping(t *testing.T, src promquery.Source, dir string, o ledgertest.Options) ledgertest.Recorded {
	t.Helper()
	backend, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return ledgertest.New(promquery.NewEngine(src, config), ledgertest.History{Store: history.New(backend, history.Options{})}, log.NewNopLogger(), o)
}

// keptHours fills the history of a ledger with the hours of a window, and reads them back.
func keptHours(t *testing.T, l ledgertest.Recorded, w allocation.Window) []*allocation.Set {
	t.Helper()
	if err := l.Fill(t.Context(), w, 2, nil); err != nil {
		t.Fatal(err)
	}
	if missing, err := l.Missing(t.Context(), w); err != nil || len(missing) > 0 {
		t.Fatalf("hours that are not kept: %v, %v", missing, err)
	}
	var hours []*allocation.Set
	for s, err := range l.Hours(t.Context(), w, nil) {
		if err != nil {
			t.Fatal(err)
		}
		hours = append(hours, s)
	}
	return hours
}

// TestHistoryKeepsAllTraffic checks the traffic of a pod that runs for five minutes and ends near the border of an hour: it sends
// 6,469 bytes a second, 1,940,700 in all. The history once kept 1,700,706 of them.
func TestHistoryKeepsAllTraffic(t *testing.T) {
	t.Parallel()
	const rate, sent = 6469.0, 1_940_700.0
	border := time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC)
	window := allocation.Window{Start: border.Add(-time.Hour), End: border.Add(time.Hour)}
	for _, ends := range []time.Duration{-70 * time.Second, -37100 * time.Millisecond, -time.Second, 0, 8 * time.Second, 37100 * time.Millisecond, 150 * time.Second, 299 * time.Second} {
		t.Run(ends.String(), func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, shortPod(border.Add(ends-sent/rate*time.Second), border.Add(ends), rate)...)
			src := openBlocks(t, dir)
			figure := func(sets []*allocation.Set) (bytes, seconds float64) {
				for _, s := range sets {
					for row := range s.Len() {
						if s.Text(allocation.Pod, row) == "short-1" {
							bytes += s.Value(allocation.NetworkTransferBytes, row)
							seconds += s.Value(allocation.RunningSeconds, row)
						}
					}
				}
				return bytes, seconds
			}
			now := func() time.Time { return window.End.Add(2 * time.Hour) }
			l := keeping(t, src, t.TempDir(), ledgertest.Options{Ledger: ledger.Options{Now: now, Grace: 10 * time.Minute}})
			for what, sets := range map[string][]*allocation.Set{
				"computed":    compute(t, src, allocation.Query{Window: window, After: time.Hour}),
				"hours kept":  keptHours(t, l, window),
				"from stored": {only(t, l.Ledger, allocation.Query{Window: window})},
			} {
				bytes, seconds := figure(sets)
				if !near(bytes, sent, 1e-9) || !near(seconds, 300, 1e-9) {
					t.Errorf("%s: %.0f bytes in %.3f s, want %.0f in 300", what, bytes, seconds, sent)
				}
			}
		})
	}
}

// near reports whether two numbers differ by no more than a part of the second.
func near(got, want, part float64) bool { return got >= want*(1-part) && got <= want*(1+part) }

// shortPod is a pod that runs between two instants and sends so many bytes a second, and the node that it is on with another pod:
// kube-state-metrics is scraped every 30 s, the kubelet every 60 s.
func shortPod(from, to time.Time, rate float64) []promtest.Series {
	var (
		first, last = from.Add(-2 * time.Hour).Truncate(time.Hour).UnixMilli(), to.Add(3 * time.Hour).Truncate(time.Hour).UnixMilli()
		begin, end  = from.UnixMilli(), to.UnixMilli()
		list        []promtest.Series
	)
	add := func(every, offset, from, to int64, f func(t int64) float64, labels ...string) {
		samples := promtest.Regular(first+offset, last, every, f)
		samples = slices.DeleteFunc(samples, func(x promtest.Sample) bool { return x.T < from || x.T > to })
		if n := len(samples); n > 0 && to < last {
			samples = append(samples, promtest.Stale(samples[n-1].T+every))
		}
		list = append(list, promtest.Series{Labels: append([]string{"__name__"}, labels...), Samples: samples})
	}
	state := func(until int64, v float64, labels ...string) {
		add(30_000, 7_000, begin, until, func(int64) float64 { return v }, labels...)
	}
	one := func(int64) float64 { return 1 }
	const uid, cgroup = "0f2d3c1a-0000-4000-8000-000000000001", "/kubepods/pod0f2d3c1a-0000-4000-8000-000000000001/main"
	of := func(metric string, more ...string) []string {
		return append([]string{metric, "namespace", "shop", "pod", "short-1", "uid", uid}, more...)
	}
	add(30_000, 7_000, first, last, one, "kube_node_info", "node", "n1")
	add(30_000, 7_000, first, last, func(int64) float64 { return 4 }, "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core")
	add(30_000, 7_000, first, last, one, "kube_pod_info", "namespace", "shop", "pod", "other-9", "uid", "0f2d3c1a-0000-4000-8000-000000000009", "node", "n1")
	add(30_000, 7_000, first, last, one, "kube_pod_container_status_running", "namespace", "shop", "pod", "other-9", "uid", "0f2d3c1a-0000-4000-8000-000000000009", "container", "other")
	gone := end + 90_000 // it is shown as completed until then
	state(gone, 1, of("kube_pod_info", "node", "n1")...)
	add(30_000, 7_000, begin, gone, func(t int64) float64 {
		if t < end {
			return 1
		}
		return 0
	}, of("kube_pod_container_status_running", "container", "main")...)
	add(30_000, 7_000, end, gone, func(int64) float64 { return float64(end) / 1000 }, of("kube_pod_completion_time")...)
	state(end-1, float64(begin)/1000, of("kube_pod_container_state_started", "container", "main")...)
	of = func(metric string, more ...string) []string {
		return append([]string{metric, "namespace", "shop", "pod", "short-1", "id", cgroup}, more...)
	}
	add(60_000, 22_900, begin, end-1, func(t int64) float64 { return float64(t-begin) / 1000 * 0.1 }, of("container_cpu_usage_seconds_total", "container", "main")...)
	add(60_000, 22_900, begin, end-1, func(int64) float64 { return 1 << 28 }, of("container_memory_working_set_bytes", "container", "main")...)
	add(60_000, 22_900, begin, end-1, func(t int64) float64 { return float64(t-begin) / 1000 * rate }, of("container_network_transmit_bytes_total", "interface", "eth0")...)
	return list
}
