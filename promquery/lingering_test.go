package promquery_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// span is a time [from, to) in seconds of a test's window.
type span struct{ from, to int }

// regularly returns a series of a pod, scraped every so many seconds: its samples are the values that value knows.
func regularly(scrape, from, to int, value func(second int) (v float64, known bool), name string, labels ...string) promtest.Series {
	out := promtest.Series{Labels: append([]string{"__name__", name, "namespace", "db", "pod", "db-0"}, labels...)}
	shown := false
	for t := from; t < to; t += scrape {
		at := lifeStart.Add(time.Duration(t) * time.Second).UnixMilli()
		switch v, known := value(t); {
		case known:
			out.Samples = append(out.Samples, promtest.Sample{T: at, V: v})
			shown = true
		case shown:
			out.Samples = append(out.Samples, promtest.Stale(at))
			shown = false
		}
	}
	return out
}

// restarting is a container that starts again and again in one pod. It uses two cores, and two or three GiB in turn. cAdvisor tells of each run for some time after
// its end.
type restarting struct {
	runs   []span
	linger int // seconds
	scrape int // seconds
	labels int // of usage
}

// What distinguishes the series of a restarting container's runs: an id, another label, or nothing, so that they are one series.
const (
	byID = iota
	byName
	byNothing
)

func (r restarting) series() []promtest.Series {
	const uid, end = "44440000-0000-4000-8000-000000000000", 7800
	at := func(second int) float64 { return float64(lifeStart.Unix()) + float64(second) }
	always := func(v float64) func(int) (float64, bool) { return func(int) (float64, bool) { return v, true } }
	began := func(t int) (last int, ok bool) { // the start of the last run that has begun
		for _, x := range r.runs {
			if x.from <= t {
				last, ok = x.from, true
			}
		}
		return last, ok
	}
	running := func(t int) bool {
		for _, x := range r.runs {
			if x.from <= t && t < x.to {
				return true
			}
		}
		return false
	}
	of := []string{"uid", uid, "container", "c", "job", "kube-state-metrics"}
	add := func(name string, value func(int) (float64, bool), labels ...string) promtest.Series {
		return regularly(r.scrape, -600, end, value, name, append(labels, of...)...)
	}
	out := []promtest.Series{
		regularly(r.scrape, -600, end, always(1), "kube_node_info", "node", "n1", "job", "kube-state-metrics"),
		regularly(r.scrape, -600, end, always(4), "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core", "job", "kube-state-metrics"),
		regularly(r.scrape, -600, end, always(1), "kube_pod_info", "node", "n1", "uid", uid, "job", "kube-state-metrics"),
		regularly(r.scrape, -600, end, always(at(r.runs[0].from)), "kube_pod_start_time", "uid", uid, "job", "kube-state-metrics"),
		add("kube_pod_container_resource_requests", always(0.1), "resource", "cpu", "unit", "core", "node", "n1"),
		add("kube_pod_container_status_running", func(t int) (float64, bool) {
			if running(t) {
				return 1, true
			}
			return 0, true
		}),
		add("kube_pod_container_state_started", func(t int) (float64, bool) {
			last, ok := began(t)
			return at(last), ok && running(t)
		}),
		add("kube_pod_container_status_last_terminated_timestamp", func(t int) (v float64, known bool) {
			for _, x := range r.runs {
				if x.to <= t {
					v, known = at(x.to), true
				}
			}
			return v, known
		}),
		add("kube_pod_container_status_restarts_total", func(t int) (float64, bool) {
			n := 0
			for _, x := range r.runs[1:] {
				if x.from <= t {
					n++
				}
			}
			return float64(n), true
		}),
	}
	if r.labels == byNothing {
		usage := func(value func(t, run int) float64) func(int) (float64, bool) {
			return func(t int) (v float64, known bool) {
				for i, x := range r.runs {
					if x.from <= t && t < x.to+r.linger {
						v, known = value(t, i), true
					}
				}
				return v, known
			}
		}
		return append(out,
			regularly(r.scrape, -600, end, usage(func(t, i int) float64 { return 2 * float64(min(t, r.runs[i].to)-r.runs[i].from) }), "container_cpu_usage_seconds_total", "container", "c", "node", "n1"),
			regularly(r.scrape, -600, end, usage(func(_, i int) float64 { return gibs(i) * (1 << 30) }), "container_memory_working_set_bytes", "container", "c", "node", "n1"))
	}
	for i, x := range r.runs {
		shown := func(value func(t int) float64) func(int) (float64, bool) {
			return func(t int) (float64, bool) { return value(t), x.from <= t && t < x.to+r.linger }
		}
		labels := []string{"container", "c", "node", "n1", "id", fmt.Sprintf("/kubepods.slice/kubepods-pod44440000_0000_4000_8000_000000000000.slice/cri-containerd-ctr%d.scope", i)}
		if r.labels == byName {
			labels = append(labels[:4], "name", fmt.Sprintf("ctr%d", i))
		}
		out = append(out,
			regularly(r.scrape, -600, end, shown(func(t int) float64 { return 2 * float64(min(t, x.to)-x.from) }), "container_cpu_usage_seconds_total", labels...),
			regularly(r.scrape, -600, end, shown(func(int) float64 { return gibs(i) * (1 << 30) }), "container_memory_working_set_bytes", labels...))
	}
	return out
}

// gibs is how much memory the i-th run uses.
func gibs(i int) float64 { return float64(2 + i%2) }

// TestLingeringContainers checks what a container uses that starts again in place, while cAdvisor still tells of the runs before: usually for up to
// two minutes. A series that no longer grows must not hide one that does (SEMANTICS §3).
func TestLingeringContainers(t *testing.T) {
	t.Parallel()
	one := []span{{-600, 3607}, {3612, 7800}}
	thrice := []span{{-600, 3607}, {3607, 3647}, {3647, 3687}, {3687, 7800}}
	var loop, long []span
	for i := range 80 {
		loop = append(loop, span{i*90 + 7, i*90 + 67})
	}
	for i := range 30 {
		long = append(long, span{i*240 + 7, i*240 + 207})
	}
	for _, tt := range []struct {
		name string
		runs []span
		near float64 // the part of its usage by which it may be off
	}{{"one restart", one, 0.002}, {"three restarts in two minutes", thrice, 0.015}, {"a crash loop", loop, 0.03}, {"a slower crash loop", long, 0.02}} {
		for i, linger := range []int{0, 30, 120, 170} {
			for k, scrape := range []int{10, 15, 30, 60} {
				if (i+k)%2 == 0 && !soak.On() {
					continue
				}
				r := restarting{tt.runs, linger, scrape, byID}
				t.Run(fmt.Sprintf("%s, linger %d s, scraped every %d s", tt.name, linger, scrape), func(t *testing.T) {
					dir := t.TempDir()
					promtest.WriteBlocks(t, dir, 2*time.Hour, r.series()...)
					db := openBlocks(t, dir)
					q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}}
					set, truth, memory := compute(t, db, q)[0], 0.0, 0.0
					for n, x := range r.runs {
						hours := float64(min(x.to, 7200)-max(x.from, 0)) / 3600
						truth, memory = truth+2*hours, memory+gibs(n)*hours
					}
					cores, gib := coresAndGibs(set)
					if math.Abs(cores-truth) > tt.near*truth {
						t.Errorf("%.4f core hours, want %.4f", cores, truth)
					}
					if math.Abs(gib-memory) > tt.near*memory {
						t.Errorf("%.4f GiB hours, want %.4f", gib, memory)
					}
					q.Step = time.Hour
					partsAddUp(t, db, q, nil)
				})
			}
		}
	}
}

// TestRestartsWithoutIDs checks what a container uses that starts again in place, where no id distinguishes the series of its runs, or they are one series.
func TestRestartsWithoutIDs(t *testing.T) {
	t.Parallel()
	var loop, long []span
	for i := range 80 {
		loop = append(loop, span{i*90 + 7, i*90 + 67})
	}
	for i := range 20 {
		long = append(long, span{i*360 + 7, i*360 + 52})
	}
	for name, runs := range map[string][]span{"restarts": {{-600, 3607}, {3607, 3647}, {3647, 3687}, {3687, 7800}}, "a crash loop": loop, "a slower crash loop": long} {
		for labels, by := range []string{byName: "by name", byNothing: "one series"} {
			for _, linger := range []int{0, 120} {
				if labels == byID {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, linger %d s", name, by, linger), func(t *testing.T) {
					dir := t.TempDir()
					promtest.WriteBlocks(t, dir, 2*time.Hour, restarting{runs, linger, 15, labels}.series()...)
					db := openBlocks(t, dir)
					q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}}
					truth := 0.0
					for _, x := range runs {
						truth += 2 * float64(min(x.to, 7200)-max(x.from, 0)) / 3600
					}
					if cores, _ := coresAndGibs(compute(t, db, q)[0]); math.Abs(cores-truth) > 0.02*truth {
						t.Errorf("%.4f core hours, want %.4f", cores, truth)
					}
					q.Step = time.Hour
					partsAddUp(t, db, q, nil)
				})
			}
		}
	}
}

// coresAndGibs returns the core hours and GiB hours of a set.
func coresAndGibs(set *allocation.Set) (cores, gibs float64) {
	for row := range set.Len() {
		cores += set.Value(allocation.Hours.Of(allocation.CPU), row)
		gibs += set.Value(allocation.Hours.Of(allocation.RAM), row) / (1 << 30)
	}
	return cores, gibs
}

// TestLingeringContainersOnAGrid checks that what cAdvisor still tells of ended containers takes nothing from the usage that a grid sees.
func TestLingeringContainersOnAGrid(t *testing.T) {
	t.Parallel()
	var loop []span
	for i := range 30 {
		loop = append(loop, span{i*240 + 7, i*240 + 207})
	}
	for name, runs := range map[string][]span{"restarts": {{-600, 3607}, {3607, 3647}, {3647, 3687}, {3687, 7800}}, "crash loop": loop} {
		var alone [2]float64
		for _, linger := range []int{0, 30, 120, 170} {
			t.Run(fmt.Sprintf("%s, linger %d s", name, linger), func(t *testing.T) {
				dir := t.TempDir()
				promtest.WriteBlocks(t, dir, 2*time.Hour, restarting{runs, linger, 15, byID}.series()...)
				db := openBlocks(t, dir)
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: time.Minute}
				cores, gibs := coresAndGibs(compute(t, db, q)[0])
				if linger == 0 {
					alone = [2]float64{cores, gibs}
				}
				if cores < 0.98*alone[0] || gibs < 0.98*alone[1] {
					t.Errorf("%.4f core hours, %.4f GiB hours, want no less than without lingering series, %.4f and %.4f", cores, gibs, alone[0], alone[1])
				}
				q.Step = time.Hour
				partsAddUp(t, db, q, nil)
			})
		}
	}
}
