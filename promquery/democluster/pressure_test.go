package democluster_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// TestPressure checks that the counters of pressure are there where they are asked for: of each container, and of its limit where it has one.
func TestPressure(t *testing.T) {
	for _, pressure := range []bool{false, true} {
		c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: time.Hour, Pressure: pressure})
		db := openBlocks(t, writeBlocks(t, c, c.Start(), c.End()))
		for name, perSecond := range map[string]float64{"container_cpu_cfs_periods_total": 10, "container_cpu_cfs_throttled_periods_total": 0.02, "container_oom_events_total": 0, "container_pressure_cpu_waiting_seconds_total": 0.001} {
			series := read(t, db, c.Start(), c.End(), "__name__", name)
			if got := len(series) > 40; got != pressure || !pressure && len(series) > 0 {
				t.Errorf("pressure %v: %d series of %s", pressure, len(series), name)
			}
			for labels, list := range series {
				first, last := list[0], list[len(list)-1]
				if isStale(last) {
					continue
				}
				if want := perSecond * float64(last.t-first.t) / 1000; relative(last.v-first.v, want) > 0.1 {
					t.Errorf("%s grows by %v, want %v", labels, last.v-first.v, want)
				}
			}
		}
	}
}
