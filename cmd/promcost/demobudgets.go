package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/promquery/democluster"
)

// demoBudgets are the budgets of the demo if the config file has none: one that will last, by bill if there is one, one that will
// not, and one that is spent.
var demoBudgets = []struct {
	team, period string
	amount       func(spent, expected float64) float64
}{
	{"team-a", "month", func(_, expected float64) float64 { return 2 * expected }},
	{"team-b", "month", func(spent, expected float64) float64 { return (spent + expected) / 2 }},
	{"team-c", "year", func(spent, _ float64) float64 { return spent / 2 }},
}

// demoBudgetsOf sizes the demo's budgets by the cost of the last day of its history, so that they fit any demo cluster.
func demoBudgetsOf(c *democluster.Cluster, zone *time.Location) []config.Budget {
	day := allocation.Window{Start: c.End().Add(-24 * time.Hour), End: c.End()}
	if c.Start().After(day.Start) {
		day.Start = c.Start()
	}
	perHour := costOfTeams(c.Truth(day.Start, day.End))
	var budgets []config.Budget
	for i, b := range demoBudgets {
		period := metering.BudgetPeriod(b.period).Window(c.End(), zone)
		known := period.Start
		if c.Start().After(known) {
			known = c.Start()
		}
		hourly := perHour[b.team] / day.Duration().Hours()
		spent := hourly * c.End().Sub(known).Hours()
		expected := spent + hourly*period.End.Sub(c.End()).Hours()
		if amount := rounded(b.amount(spent, expected)); amount > 0 {
			budgets = append(budgets, config.Budget{Name: b.team, Filter: fmt.Sprintf("label[team]:%q", b.team), Amount: amount, Period: b.period})
			if _, _, billed := billedDay(c); i == 0 && billed {
				budgets[len(budgets)-1].Cost = config.BilledCost
			}
		}
	}
	return budgets
}

// costOfTeams adds up what containers cost by the label team of their namespaces.
func costOfTeams(t *democluster.Truth) map[string]float64 {
	cost := map[string]float64{}
	for i := range t.Containers {
		row := &t.Containers[i]
		cost[t.NamespaceOf(row).Labels["team"]] += row.CPUCost + row.RAMCost + row.GPUCost + row.PVCost + row.LoadBalancerCost
	}
	return cost
}

// rounded has three digits that count: amounts of budgets are round.
func rounded(amount float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(amount, 'g', 3, 64), 64)
	if err != nil { // it never is: the text is a number
		return amount
	}
	return r
}
