package promquery_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// busyPods are pods that ran for d at random times of the four hours from start on and used one core, scraped every 30 s.
func busyPods(start time.Time, pods int, d time.Duration) []promtest.Series {
	const scrape = 30_000
	r := rand.New(rand.NewPCG(16, uint64(d)))
	first, last := start.UnixMilli(), start.Add(6*time.Hour).UnixMilli()
	node := func(v float64, labels ...string) promtest.Series {
		return promtest.Series{Labels: append(labels, "node", "n1"), Samples: promtest.Regular(first-600_000, last, scrape, func(int64) float64 { return v })}
	}
	list := []promtest.Series{
		node(1, "__name__", "kube_node_info"),
		node(4000, "__name__", "kube_node_status_capacity", "resource", "cpu", "unit", "core"),
		node(16<<40, "__name__", "kube_node_status_capacity", "resource", "memory", "unit", "byte"),
	}
	for i := range pods {
		began := first + 60_000 + r.Int64N(4*3_600_000)
		end, uid := began+d.Milliseconds(), fmt.Sprintf("0f2d3c1a-0000-4000-8000-%012d", i)
		add := func(phase int64, f func(t int64) float64, labels ...string) {
			samples := promtest.Regular((began-phase+scrape-1)/scrape*scrape+phase, end, scrape, f)
			if len(samples) == 0 {
				return
			}
			if phase == 0 {
				samples = append(samples, promtest.Stale(samples[len(samples)-1].T+scrape))
			}
			list = append(list, promtest.Series{Labels: append([]string{"namespace", "batch", "pod", fmt.Sprint("p", i)}, labels...), Samples: samples})
		}
		one := func(int64) float64 { return 1 }
		add(0, one, "__name__", "kube_pod_info", "node", "n1", "uid", uid)
		add(0, one, "__name__", "kube_pod_container_status_running", "uid", uid, "container", "main")
		add(0, func(int64) float64 { return float64(began) / 1000 }, "__name__", "kube_pod_container_state_started", "uid", uid, "container", "main")
		add(1+r.Int64N(scrape-1), func(t int64) float64 { return float64(t-began) / 1000 }, "__name__", "container_cpu_usage_seconds_total", "container", "main", "id", "/kubepods/pod"+uid+"/x", "node", "n1")
	}
	return list
}

// TestUsageOnAGrid checks README's table of the part of short pods' CPU usage that a grid sees.
func TestUsageOnAGrid(t *testing.T) {
	const pods = 150
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ran  time.Duration
		want map[time.Duration]float64 // by resolution
	}{
		{time.Minute, map[time.Duration]float64{time.Minute: 0.3, 5 * time.Minute: 0.1, time.Hour: 0}},
		{5 * time.Minute, map[time.Duration]float64{time.Minute: 0.85, 5 * time.Minute: 0.4, time.Hour: 0}},
		{15 * time.Minute, map[time.Duration]float64{time.Minute: 0.95, 5 * time.Minute: 0.8, time.Hour: 0.1}},
		{time.Hour, map[time.Duration]float64{time.Minute: 0.99, 5 * time.Minute: 0.95, time.Hour: 0.5}},
	} {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, busyPods(start, pods, tt.ran)...)
		db := openBlocks(t, dir)
		for resolution, want := range tt.want {
			w := allocation.Window{Start: start, End: start.Add(6 * time.Hour)}
			s, used := compute(t, db, allocation.Query{Window: w, Resolution: resolution})[0], 0.0
			for row := range s.Len() {
				used += s.Value(allocation.UsageHours.Of(allocation.CPU), row)
			}
			if got := used / (pods * tt.ran.Hours()); math.Abs(got-want) > 0.06 {
				t.Errorf("of pods that run for %s, a grid of %s sees %.2f of the usage, README says %.2f", tt.ran, resolution, got, want)
			}
		}
	}
}
