package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// assetFlags ask what nodes, disks and the like cost.
type assetFlags struct {
	window, aggregate, filter, cost, unbilled, output string
	limit                                             int
}

// defineQueryAssets is the query assets subcommand, which asks a Prometheus or a running promcost.
func defineQueryAssets(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	return addAssetFlags(clause, io, anyPromcost(clause, io, logs))
}

// defineKubectlAssets is the kubectl assets subcommand, which asks the promcost of a cluster.
func defineKubectlAssets(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addAssetFlags(clause, io, clusterPromcost(clause, io))
}

// addAssetFlags adds the flags of the question to a subcommand, which asks whom open opens.
func addAssetFlags(clause *kingpin.CmdClause, io streams, open opener) executor {
	f := &assetFlags{}
	clause.Flag("window", "What time: today, lastweek, 30m, 12h, 7d, or two times separated by a comma.").Default("1d").StringVar(&f.window)
	clause.Flag("aggregate", "What to sum by: type, cluster, provider, service, label:team, … or several separated by commas; empty for single assets.").StringVar(&f.aggregate)
	clause.Flag("filter", `Which assets: assetType:"node"+cluster:"prod" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	addWhichCost(clause, &f.cost)
	addUnbilled(clause, &f.unbilled)
	outputOf(clause, &f.output, "json", "csv")
	countOf(clause, "limit", "Most rows to show in a table; 0 for all. The total is of all.", &f.limit, 0).Default("0")
	return open.then(f.query, io, &f.output)
}

// query asks, and prints the answer.
func (f *assetFlags) query(ctx context.Context, who *answerer, io streams) error {
	const path = "/model/assets"
	v := given(map[string]string{"accumulate": "true", "window": f.window, "aggregate": f.aggregate, "filter": f.filter, "unbilled": f.unbilled})
	if f.cost == "list" {
		v.Set("disableAdjustments", "true")
	}
	if f.output == "csv" {
		v.Set("format", "csv")
	}
	if !isTable(f.output) {
		return who.pass(ctx, io, path, v)
	}
	var answer assetAnswer
	if _, err := who.askFor(ctx, io, path, v, &answer); err != nil {
		return err
	}
	return answer.print(io, f, who.currency(ctx))
}

// assetAnswer is the answer of the API.
type assetAnswer struct {
	Data                      []map[string]*assetLine
	CoveredHours, WindowHours float64
	BilledUntil               *time.Time
}

// assetLine is what a table shows of an asset, or of several under one name.
type assetLine struct {
	Type                      string
	Properties                struct{ Name, Cluster, Service, Provider string }
	Window                    struct{ Start, End time.Time }
	NodeType                  string
	Preemptible               float64
	ClaimNamespace, ClaimName string
	IP                        string
	TotalCost                 float64

	name string
}

// what says which node, disk or the like it is.
func (a *assetLine) what() string {
	switch {
	case a.NodeType != "" && a.Preemptible > 0:
		return a.NodeType + ", spot"
	case a.ClaimName != "":
		return a.ClaimNamespace + "/" + a.ClaimName
	}
	return cmp.Or(a.NodeType, a.IP)
}

// print writes a table: a line for each asset, the most expensive first, then the total of all.
func (a *assetAnswer) print(io streams, f *assetFlags, currency string) error {
	var rows []*assetLine
	total := 0.0
	for _, set := range a.Data {
		for _, name := range sortedKeys(set) {
			line := set[name]
			line.name = name
			if f.aggregate == "" {
				line.name = cmp.Or(line.Properties.Name, name)
			} else {
				line.Type = "" // that of the first
			}
			rows, total = append(rows, line), total+line.TotalCost
		}
	}
	if len(rows) == 0 {
		return writeLine(io.out, "no assets")
	}
	slices.SortStableFunc(rows, func(x, y *assetLine) int { return cmp.Compare(y.TotalCost, x.TotalCost) })
	window := allocation.Window{Start: rows[0].Window.Start, End: rows[0].Window.End}
	covered := coverage.Measure(window, nil, time.Now())
	if a.WindowHours > 0 {
		covered.Hours, covered.Window = a.CoveredHours, a.WindowHours
	}
	o := tableOptions{currency: currency, layout: io.layout(f.output)}
	if err := o.head(io.out, window, "", &reply{BilledUntil: a.BilledUntil}, &covered); err != nil {
		return err
	}
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "NAME", Long: texttable.Cut},
		{Name: "TYPE", Spare: true, Rank: 2},
		{Name: "WHAT", Spare: true, Rank: 1, Long: texttable.Cut},
		{Name: "TOTAL", Right: true},
		{Name: "MONTHLY", Right: true},
	}}
	month := covered.Factor(coverage.MonthHours)
	for i, r := range rows {
		if f.limit > 0 && i == f.limit {
			t.Rows = append(t.Rows, []string{fmt.Sprintf("… and %d more", len(rows)-i)})
			break
		}
		t.Rows = append(t.Rows, []string{r.name, r.Type, r.what(), money(r.TotalCost), money(r.TotalCost * month)})
	}
	t.Rows = append(t.Rows, []string{"TOTAL", "", "", money(total), money(total * month)})
	return t.Write(io.out, o.layout)
}

// budgetFlags ask how budgets stand.
type budgetFlags struct{ output string }

// defineQueryBudgets is the query budgets subcommand, which asks a running promcost: budgets are counted while it runs.
func defineQueryBudgets(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addBudgetFlags(clause, io, runningPromcost(clause))
}

// defineKubectlBudgets is the kubectl budgets subcommand, which asks the promcost of a cluster.
func defineKubectlBudgets(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addBudgetFlags(clause, io, clusterPromcost(clause, io))
}

// addBudgetFlags adds the flags of the question to a subcommand, which asks whom open opens.
func addBudgetFlags(clause *kingpin.CmdClause, io streams, open opener) executor {
	f := &budgetFlags{}
	outputOf(clause, &f.output, "json")
	return open.then(f.query, io, &f.output)
}

// budgetAnswer is the answer of the API. What is not known of a budget is nil.
type budgetAnswer struct {
	Data []struct {
		Name, Period, Cost string
		Amount             float64
		Spent, Forecast    *float64
		// Of the period so far: the hours that have costs, and all of them.
		CoveredHours, WindowHours *float64
	}
}

// query asks, and prints the answer.
func (f *budgetFlags) query(ctx context.Context, who *answerer, io streams) error {
	var answer budgetAnswer
	body, err := who.askFor(ctx, io, "/model/budgets", url.Values{}, &answer)
	if err != nil {
		return err
	}
	if !isTable(f.output) {
		return writeLine(io.raw, body)
	}
	if len(answer.Data) == 0 {
		return writeLine(io.out, "no budgets: name them under budgets in the file of --config.file")
	}
	fmt.Fprintf(io.out, "budgets in %s\n\n", visible.Text(who.currency(ctx)))
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "BUDGET", Long: texttable.Cut},
		{Name: "PERIOD"},
		{Name: "PRICES"},
		{Name: "AMOUNT", Right: true},
		{Name: "SPENT", Right: true},
		{Name: "FORECAST", Right: true},
		{Name: "LEFT", Right: true},
		{Name: "DATA", Right: true, Spare: true, Rank: 1},
	}}
	for _, b := range answer.Data {
		left := (*float64)(nil)
		if b.Spent != nil {
			rest := b.Amount - *b.Spent
			left = &rest
		}
		data := ""
		if b.CoveredHours != nil && b.WindowHours != nil && *b.CoveredHours < *b.WindowHours {
			data = partText(*b.CoveredHours, *b.WindowHours)
		}
		t.Rows = append(t.Rows, []string{b.Name, b.Period, b.Cost, money(b.Amount), moneyOr(b.Spent), moneyOr(b.Forecast), moneyOr(left), data})
	}
	if err := t.Write(io.out, io.layout(f.output)); err != nil {
		return err
	}
	return writeLine(io.out, "\n"+texttable.Wrap(visible.Text(answer.verdict()), io.width))
}

// verdict says which budgets are spent, will be, or are not known; of those that are left nothing is to be said but that they are on track.
func (a *budgetAnswer) verdict() string {
	var spent, over, unknown []string
	for _, b := range a.Data {
		switch {
		case b.Spent != nil && *b.Spent > b.Amount:
			spent = append(spent, b.Name)
		case b.Forecast != nil && *b.Forecast > b.Amount:
			over = append(over, b.Name)
		case b.Spent == nil || b.Forecast == nil:
			unknown = append(unknown, b.Name)
		}
	}
	var texts []string
	for _, x := range [...]struct {
		what  string
		names []string
	}{{"Spent already", spent}, {"Over budget by the end of its period", over}, {"Not known yet", unknown}} {
		if len(x.names) > 0 {
			texts = append(texts, x.what+": "+strings.Join(x.names, ", ")+".")
		}
	}
	if len(texts) == 0 {
		return "All budgets are on track."
	}
	return strings.Join(texts, " ")
}

// moneyOr is an amount of money, – for what is not known.
func moneyOr(v *float64) string {
	if v == nil {
		return "–"
	}
	return money(*v)
}
