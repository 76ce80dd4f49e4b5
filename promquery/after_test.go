package promquery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

// TestAfter checks that samples after a window do not change its assets if none are missing at its end, however many sets it has:
// with many sets, counters of nodes are read at the window's own start and end only.
func TestAfter(t *testing.T) {
	c, db := demoBlocks(t)
	end := c.End().Add(-time.Hour)
	for _, q := range []allocation.Query{
		{Window: allocation.Window{Start: end.Add(-5 * time.Hour), End: end}},
		{Window: allocation.Window{Start: end.Add(-5 * time.Hour), End: end}, Step: time.Hour},
		{Window: allocation.Window{Start: end.Add(-5 * time.Hour), End: end}, Step: 10 * time.Minute, Resolution: time.Minute},
	} {
		t.Run(fmt.Sprintf("%s/%s", q.Step, allocation.ResolutionText(q.Resolution)), func(t *testing.T) {
			without := compute(t, db, q)
			q.After = 5 * time.Minute
			known := 0
			for i, s := range compute(t, db, q) {
				for k, n := range s.Nodes {
					if want := without[i].Nodes[k].CPUBreakdown; n.CPUBreakdown != want {
						t.Errorf("set %d: CPU of node %s was used for %v, without the time after %v", i, n.Name, n.CPUBreakdown, want)
					} else if want != (allocation.Breakdown{}) {
						known++
					}
				}
			}
			if known == 0 {
				t.Error("no CPU of any node is broken down")
			}
		})
	}
}
