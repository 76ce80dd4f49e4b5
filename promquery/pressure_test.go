package promquery_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestPressure counts what goes wrong with a container that runs for three hours: in each second it has ten periods and is throttled in two, waits for a tenth of it, and
// it is killed once in half an hour.
func TestPressure(t *testing.T) {
	t.Parallel()
	counter := func(from, to int, each float64, name string, more ...string) promtest.Series {
		of := append([]string{"node", "n1", "container", "a"}, more...) // of the pod db-0
		return regularly(30, max(-600, from), min(7800, to), func(t int) (float64, bool) { return math.Floor(each * float64(t-from)), true }, name, of...)
	}
	one := []string{"id", "/kubepods/burstable/pod44440000-0000-4000-8000-000000000000/x"}
	all := func(from, to int, more ...string) []promtest.Series {
		return []promtest.Series{
			counter(from, to, 10, "container_cpu_cfs_periods_total", more...), counter(from, to, 2, "container_cpu_cfs_throttled_periods_total", more...),
			counter(from, to, 1./1800, "container_oom_events_total", more...), counter(from, to, 0.1, "container_pressure_cpu_waiting_seconds_total", more...),
		}
	}
	for name, tt := range map[string]struct {
		series  []promtest.Series
		seconds float64 // in which it is counted
	}{
		"one cgroup":      {all(-3600, 9000, one...), 7200},
		"scraped twice":   {slices.Concat(all(-3600, 9000, one...), all(-3600, 9000, append([]string{"replica", "2"}, one...)...)), 7200},
		"begins with it":  {all(3600, 9000, one...), 3600},
		"one after other": {slices.Concat(all(-3600, 3600, one...), all(3600, 9000, "id", one[1]+"y")), 7200 - 30},
		"no limit":        {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := reserving{"a", -3600, 9000, 1, 0, false}
			series := slices.Concat(reservesNode(), c.series(), tt.series, []promtest.Series{steadily(-600, 7800, 1, "kube_pod_info", "namespace", "db", "pod", "db-0", "uid", "44440000-0000-4000-8000-000000000000", "node", "n1")})
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			db := openBlocks(t, dir)
			for _, resolution := range []time.Duration{0, time.Minute} {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
				if plain := compute(t, db, q)[0]; plain.Value(allocation.CPUPeriods, 0) != 0 {
					t.Errorf("%v periods were read though nobody asked for them", plain.Value(allocation.CPUPeriods, 0))
				}
				q.Only = withLevels()
				whole := compute(t, db, q)
				for _, step := range []time.Duration{0, time.Hour} {
					q.Step = step
					set, err := passes.Merge(q.Window, compute(t, db, q))
					if err != nil {
						t.Fatal(err)
					}
					for column, each := range map[allocation.Column]float64{allocation.CPUPeriods: 10, allocation.ThrottledPeriods: 2, allocation.OOMKills: 1. / 1800, allocation.CPUWaitingSeconds: 0.1} {
						got, want := set.Value(column, 0), each*tt.seconds
						if math.Abs(got-want) > 0.01*want+max(1, each*30) {
							t.Errorf("%s, %s: %s is %v, want %v", allocation.ResolutionText(resolution), step, column, got, want)
						}
						if sum := whole[0].Value(column, 0); math.Abs(got-sum) > 1e-9*want {
							t.Errorf("%s: %s is %v in hours, and %v at once", allocation.ResolutionText(resolution), column, got, sum)
						}
					}
				}
			}
		})
	}
}
