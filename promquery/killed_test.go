package promquery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestKilledByReason counts a container's restarts of which kube-state-metrics says that it was killed for its memory, where cAdvisor's counter, whose cgroup ends with the container,
// does not show the kill. It is killed at 1000 and at 3000 s and fails for another reason at 5000 s; each time it starts again 10 s later.
func TestKilledByReason(t *testing.T) {
	t.Parallel()
	const uid = "44440000-0000-4000-8000-000000000000"
	of := []string{"uid", uid, "container", "a"}
	starts := []int{-3600, 1010, 3010, 5010}
	last := func(second int) (n int) { // the run at a second, and what ended before it
		for n+1 < len(starts) && second >= starts[n+1] {
			n++
		}
		return n
	}
	when := func(name string, is func(run int) bool, labels ...string) promtest.Series {
		return regularly(30, -600, 7800, func(t int) (float64, bool) { return 1, is(last(t)) }, name, append(slices.Clone(of), labels...)...)
	}
	started := regularly(30, -600, 7800, func(t int) (float64, bool) { return float64(lifeStart.Unix()) + float64(starts[last(t)]), true }, "kube_pod_container_state_started", of...)
	killed := when("kube_pod_container_status_last_terminated_reason", func(run int) bool { return run == 1 || run == 2 }, "reason", "OOMKilled")
	failed := when("kube_pod_container_status_last_terminated_reason", func(run int) bool { return run == 3 }, "reason", "Error")
	old := regularly(30, -600, 7800, func(t int) (float64, bool) { // an old kube-state-metrics shows all reasons
		if run := last(t); run == 1 || run == 2 {
			return 1, true
		}
		return 0, true
	}, "kube_pod_container_status_last_terminated_reason", append(slices.Clone(of), "reason", "OOMKilled")...)
	counted := func(from, to int, kills ...int) promtest.Series { // by the cgroup of a run
		return regularly(30, max(from, -600), to, func(t int) (v float64, known bool) {
			for _, at := range kills {
				if t >= at {
					v++
				}
			}
			return v, true
		}, "container_oom_events_total", "node", "n1", "container", "a", "id", "/kubepods/burstable/pod"+uid+"/"+string(rune('a'+last(from))))
	}
	for name, tt := range map[string]struct {
		series []promtest.Series
		want   [2]float64 // in each hour
	}{
		"no counter":                       {[]promtest.Series{killed, failed}, [2]float64{2, 0}},
		"all reasons":                      {[]promtest.Series{old, failed}, [2]float64{2, 0}},
		"a counter that never counts":      {[]promtest.Series{killed, failed, counted(-3600, 1000), counted(1010, 3000), counted(3010, 5000)}, [2]float64{2, 0}},
		"a counter that counts one":        {[]promtest.Series{killed, failed, counted(-3600, 1000, 960), counted(1010, 3000), counted(3010, 5000)}, [2]float64{2, 0}},
		"a counter of processes in it":     {[]promtest.Series{killed, failed, counted(-3600, 1000), counted(1010, 3000, 1500, 2000), counted(3010, 9000, 6000)}, [2]float64{3, 1}},
		"killed for another reason":        {[]promtest.Series{failed}, [2]float64{}},
		"scraped twice":                    {[]promtest.Series{killed, {Labels: append(slices.Clone(killed.Labels), "replica", "b"), Samples: killed.Samples}}, [2]float64{2, 0}},
		"a counter that counts, by itself": {[]promtest.Series{counted(-3600, 1000, 960)}, [2]float64{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			series := slices.Concat(reservesNode(), tt.series, []promtest.Series{
				steadily(-600, 7800, 1, "kube_pod_info", "namespace", "db", "pod", "db-0", "uid", uid, "node", "n1"),
				started, when("kube_pod_container_status_running", func(int) bool { return true }),
			})
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			db := openBlocks(t, dir)
			for _, resolution := range []time.Duration{0, time.Minute} {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
				if plain := compute(t, db, q)[0]; plain.Value(allocation.OOMKills, 0) != 0 {
					t.Errorf("%v kills were read though nobody asked for them", plain.Value(allocation.OOMKills, 0))
				}
				for _, alone := range []bool{false, true} {
					q.Only, q.Step, q.Alone = withLevels(), time.Hour, alone
					for hour, set := range compute(t, db, q) {
						if got := set.Value(allocation.OOMKills, 0); got != tt.want[hour] {
							t.Errorf("%s, alone %v: %v kills in hour %d, want %v", allocation.ResolutionText(resolution), alone, got, hour, tt.want[hour])
						}
					}
				}
				q.Step, q.Alone = 0, false
				set, err := passes.Merge(q.Window, compute(t, db, q))
				if err != nil {
					t.Fatal(err)
				}
				if got := set.Value(allocation.OOMKills, 0); got != tt.want[0]+tt.want[1] {
					t.Errorf("%s: %v kills at once, want %v", allocation.ResolutionText(resolution), got, tt.want)
				}
			}
		})
	}
}
