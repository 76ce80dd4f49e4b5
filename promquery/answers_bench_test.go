package promquery_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
)

// BenchmarkPricesOfAnswer computes 6 hours of 3,000 pods on nodes without prices by metrics, in turn by defaults and by list prices. times is the processor time
// by list prices, of that by defaults.
func BenchmarkPricesOfAnswer(b *testing.B) {
	until := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	_, db := newDemoBlocks(b, democluster.Config{End: until, Duration: 7 * time.Hour, Nodes: 100, Pods: 3000, NoOpenCost: true})
	q := allocation.Query{Window: allocation.Window{Start: until.Add(-6 * time.Hour), End: until}, Resolution: time.Minute}
	var engines [2]*promquery.Engine
	for i, sheet := range [...]*pricing.Sheet{pricing.Default(), pricing.Default().WithList(listprices.Embedded())} {
		cfg := config
		cfg.Rates = sheet
		engines[i] = promquery.NewEngine(db, cfg)
	}
	reportTimes(b, func(i int) error {
		_, err := engines[i].Compute(b.Context(), q)
		return err
	})
}

// reportTimes reports how many times the processor time of the first thing to do the second one takes, in turns.
func reportTimes(b *testing.B, do func(i int) error) {
	b.Helper()
	var took [2]time.Duration
	for b.Loop() {
		for i := range took {
			began := processorTime(b)
			if err := do(i); err != nil {
				b.Fatal(err)
			}
			took[i] += processorTime(b) - began
		}
	}
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "times")
}

// BenchmarkLevelsOfAnswer is how many times the processor time of an answer about 3,000 pods one takes with levels of usage.
func BenchmarkLevelsOfAnswer(b *testing.B) {
	until := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	_, db := newDemoBlocks(b, democluster.Config{End: until, Duration: 7 * time.Hour, Nodes: 100, Pods: 3000})
	engine := promquery.NewEngine(db, config)
	for name, resolution := range map[string]time.Duration{"exact": 0, "1m": time.Minute} {
		b.Run(name, func(b *testing.B) {
			q := allocation.Query{Window: allocation.Window{Start: until.Add(-6 * time.Hour), End: until}, Resolution: resolution, Step: time.Hour}
			reportTimes(b, func(i int) error {
				asked := q
				if i == 1 {
					asked.Only = withLevels()
				}
				_, err := engine.Compute(b.Context(), asked)
				return err
			})
		})
	}
}
