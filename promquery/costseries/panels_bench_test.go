package costseries_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/dashboards"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// benchBudget is what the board of budgets shows.
func benchBudget(b *testing.B) *metering.Metering {
	b.Helper()
	m, err := metering.New(metering.Options{
		LabelNames: []string{"app"}, Budgets: []metering.Budget{{Name: "all", Amount: 1e6, Period: metering.BudgetMonth}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// boardQueries are the queries of a dashboard by panel. All values of every variable are chosen, except that a board with pods has
// one namespace.
type boardQueries struct {
	Title  string
	Panels []struct {
		Title   string
		Targets []struct {
			Expr, RefID string
			Range       bool
		}
	}
}

// BenchmarkPanels asks what panels do of 30 days of 10,000 containers: as Grafana does, at a step of an hour. What a board of
// several panels takes is the sum.
func BenchmarkPanels(b *testing.B) {
	m := benchBudget(b)
	l, start, end := benchLedger(b, benchDays, m)
	engine := promapi.NewEngine(promapi.EngineOptions{})
	q := costseries.New(l, costseries.Options{
		Grace: grace, Subjects: m.Table(), Now: func() time.Time { return end.Add(time.Hour) },
	})
	variables := strings.NewReplacer("$cluster", ".*", "$namespace", ".*", "$controller", ".*", "$label", "app", "$budget", ".*", "$instance", ".*", "${prices}", "hourly_cost")
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		var board boardQueries
		if err := json.Unmarshal(f.Text, &board); err != nil {
			b.Fatal(err)
		}
		if strings.HasSuffix(board.Title, "promcost itself") {
			continue // its costs are one number an hour
		}
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				b.Run(strings.Join([]string{board.Title, p.Title, target.RefID}, "/"), func(b *testing.B) {
					from, until := start.Add(2*time.Hour), end.Add(grace)
					if !target.Range {
						from = until
					}
					before := cpuTime(b)
					for b.Loop() {
						if r := resultOf(b, engine, q, variables.Replace(target.Expr), from, until, time.Hour); r.Err != nil || len(r.Warnings) > 0 {
							b.Fatal(r.Err, r.Warnings)
						}
					}
					b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
				})
			}
		}
	}
}
