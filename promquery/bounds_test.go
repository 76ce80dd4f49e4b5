package promquery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// bounded is what is counted of a container, and how long it ran at the least and at the most, in seconds.
type bounded struct{ counted, least, most float64 }

// boundsOf adds up what is counted of each container by pod, UID and container, over all sets.
func boundsOf(sets []*allocation.Set) map[string]bounded {
	out := map[string]bounded{}
	for _, s := range sets {
		for row := range s.Len() {
			if s.Special(row) == allocation.Workload {
				name := strings.Join([]string{s.Text(allocation.Pod, row), s.Text(allocation.PodUID, row), s.Text(allocation.Container, row)}, "/")
				x := out[name]
				x.counted += s.Value(allocation.RunningSeconds, row)
				x.least += s.Value(allocation.LeastSeconds, row)
				x.most += s.Value(allocation.MostSeconds, row)
				out[name] = x
			}
		}
	}
	return out
}

// TestBoundsHoldTheTruth compares what the demo's containers truly ran for with the least and the most that answers allow: short
// jobs, outages, a crash loop, windows that are cut at any second, scrapes of 30 and of 60 seconds, on grids and with every sample,
// in one set and by hours that are computed each by itself, as the history's are. What has no row is counted apart.
func TestBoundsHoldTheTruth(t *testing.T) {
	end := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	seeds, duration, nodes, pods := soak.Of(1, 4), soak.Of(8*time.Hour, 48*time.Hour), soak.Of(4, 20), soak.Of(60, 400)
	compared, outside, missing := 0, 0, map[string]int{} // by query and container
	for seed := range seeds {
		for _, scrape := range []time.Duration{30 * time.Second, time.Minute} {
			c, err := democluster.New(democluster.Config{End: end, Duration: duration, Nodes: nodes, Pods: pods, Seed: int64(seed + 1), ScrapeInterval: scrape})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := c.WriteBlocks(t.Context(), dir, c.Start(), c.End(), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
			db := openBlocks(t, dir)
			for _, w := range []allocation.Window{
				{Start: c.Start().Add(time.Hour), End: c.End().Add(-time.Hour)},
				{Start: c.Start().Add(time.Hour + 1234*time.Second), End: c.Start().Add(duration/2 + 17*time.Second)},
			} {
				truth := map[string]float64{}
				for _, x := range c.Truth(w.Start, w.End).Containers {
					truth[x.Pod+"/"+x.UID+"/"+x.Container] += x.RunningSeconds
				}
				for name, q := range map[string]allocation.Query{
					"1m": {Resolution: time.Minute}, "5m": {Resolution: 5 * time.Minute}, "1h": {Resolution: time.Hour},
					"exact": {}, "exact, by hours": {Step: time.Hour, Alone: true},
				} {
					q.Window, q.After = w, time.Hour
					sets, err := promquery.NewEngine(db, config).Compute(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					got, where := boundsOf(sets), fmt.Sprintf("seed %d, scrapes of %s, %s, %s", seed+1, scrape, w.Start.Format(time.TimeOnly), name)
					for _, of := range slices.Sorted(maps.Keys(truth)) {
						x, ok := got[of]
						if !ok {
							missing[name+" "+of[strings.LastIndexByte(of, '/')+1:]]++
							continue
						}
						compared++
						const slack = 0.001
						if truth[of] < x.least-slack || truth[of] > x.most+slack {
							if outside++; outside <= 20 {
								t.Errorf("%s: %s ran for %.1f s, outside of %.1f and %.1f; %.1f are counted", where, of, truth[of], x.least, x.most, x.counted)
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d containers compared, %d outside of their bounds; without a row: %v", compared, outside, missing)
}
