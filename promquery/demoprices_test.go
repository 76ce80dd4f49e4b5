package promquery_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/promquery/democluster"
)

// TestDemoPrices checks that the nodes of the demo have prices from several sources, with an OpenCost and without, and cost what is true.
func TestDemoPrices(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg     democluster.Config
		want    []rates.SourceKind
		differs float64 // at most, of what is true
	}{
		"with OpenCost":    {democluster.Config{}, []rates.SourceKind{rates.ExporterSource, rates.ListSource, rates.MetricSource}, 1e-3}, // a scrape sees a change of prices late
		"without OpenCost": {democluster.Config{NoOpenCost: true}, []rates.SourceKind{rates.ExporterSource, rates.ListSource}, 1e-9},
	} {
		t.Run(name, func(t *testing.T) {
			tt.cfg.Duration, tt.cfg.End = 6*time.Hour, time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
			c, db := newDemoBlocks(t, tt.cfg.WithDefaults(time.Time{}))
			w := allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End().Add(-time.Hour)}
			set, truth := compute(t, db, allocation.Query{Window: w})[0], c.Truth(w.Start, w.End)
			costs := map[string]float64{}
			for i := range truth.Nodes {
				costs[truth.Nodes[i].Name] = truth.Nodes[i].CPUCost + truth.Nodes[i].RAMCost + truth.Nodes[i].GPUCost
			}
			var kinds []rates.SourceKind
			for i := range set.Nodes {
				n := &set.Nodes[i]
				kinds = append(kinds, rates.Kind(n.PriceSource[allocation.CPU]))
				if want := costs[n.Name]; math.Abs(n.TotalCost()-want) > tt.differs*want {
					t.Errorf("%s costs %g by %s, want %g", n.Name, n.TotalCost(), n.PriceSource[allocation.CPU], want)
				}
			}
			slices.Sort(kinds)
			if kinds = slices.Compact(kinds); !slices.Equal(kinds, tt.want) {
				t.Errorf("prices are by %v, want %v", kinds, tt.want)
			}
			if len(costs) != len(set.Nodes) {
				t.Errorf("%d nodes, want %d", len(set.Nodes), len(costs))
			}
		})
	}
}
