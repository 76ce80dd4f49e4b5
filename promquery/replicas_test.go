package promquery_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// replicas gives each series as a pair of replicas has it, one after the other: each scrapes at its own times and was down
// at its own.
type replicas struct {
	src  promquery.Source
	pair [2]replica
}

// replica is when one of a pair scrapes, and from when to when it was down.
type replica struct{ shift, downFrom, downTo int64 }

// Select implements promquery.Source.
func (h replicas) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		var stats promquery.Stats
		for _, r := range h.pair {
			part, err := promtest.Select(ctx, h.src, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
				return yieldSome(yield, i, key, p, r.shift, func(t int64) bool {
					return (t < r.downFrom || t >= r.downTo) && t >= sels[i].Start && t <= sels[i].End
				})
			})
			stats.Add(part)
			if err != nil {
				return stats, err
			}
		}
		return stats, nil
	})
}

// TestReplicas computes from a pair of replicas that scrape 13 s apart and were down at different times. The result is that of one
// that was never down.
func TestReplicas(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End().Add(-time.Hour)}
	at := func(hours int64) int64 { return w.Start.Add(time.Duration(hours) * time.Hour).UnixMilli() }
	const shift = 13_000
	for _, resolution := range grids() {
		want := costsOf(t, db, w, resolution)
		for _, tc := range []struct {
			name string
			a, b replica
		}{
			{"apart", replica{}, replica{shift: shift}},
			{"holes", replica{downFrom: at(1), downTo: at(2)}, replica{shift, at(3), at(4)}},
			{"adjacent holes", replica{downFrom: at(1), downTo: at(2)}, replica{shift, at(2), at(3)}},
		} {
			for _, first := range soak.Of([]string{"b"}, []string{"a", "b"}) {
				t.Run(fmt.Sprintf("%v/%s/%s first", resolution, tc.name, first), func(t *testing.T) {
					pair := [2]replica{tc.a, tc.b}
					if first == "b" {
						slices.Reverse(pair[:])
					}
					got := costsOf(t, replicas{db, pair}, w, resolution)
					for _, name := range slices.Sorted(maps.Keys(want)) {
						if math.Abs(got[name]-want[name]) > 0.005*want[name] {
							t.Errorf("%s is %v, want %v within 0.5 %%", name, got[name], want[name])
						}
					}
				})
			}
		}
	}
}

// costsOf sums each kind of cost of a source's window, over allocations and nodes.
func costsOf(t *testing.T, src promquery.Source, w allocation.Window, resolution time.Duration) map[string]float64 {
	t.Helper()
	sets, err := promquery.NewEngine(src, config).Compute(t.Context(), allocation.Query{Window: w, Resolution: resolution})
	if err != nil {
		t.Fatal(err)
	}
	s := sets[0]
	if err := passes.Check(s); err != nil {
		t.Error(err)
	}
	sums := map[string]float64{}
	for row := range s.Len() {
		sums["total"] += s.TotalCost(row)
		for col := range allocation.NumColumns {
			if name := col.String(); strings.HasSuffix(name, "Cost") {
				sums[name] += s.Value(col, row)
			}
		}
	}
	for i := range s.Nodes {
		sums["nodes"] += s.Nodes[i].TotalCost()
	}
	if sums["total"] == 0 || sums["nodes"] == 0 {
		t.Errorf("no costs: %v", sums)
	}
	return sums
}
