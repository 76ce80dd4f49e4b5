package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/allocation/savings/picture"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// backtestFlags ask how recommended requests would have done.
type backtestFlags struct{ window, filter, output string }

// defineSavingsBacktest is the savings backtest subcommand, which asks a Prometheus or a running promcost.
func defineSavingsBacktest(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &backtestFlags{}
	open := anyPromcost(clause, io, logs)
	clause.Flag("window", "What time to look at: each day with seven days before it is tested.").Default("28d").StringVar(&f.window)
	clause.Flag("filter", `Which workloads: namespace:"shop"+label[app]:"web" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	oneOf(clause, "output", "Output format: table, json, or svg for a picture.", &f.output, "table", "json", "svg").Short('o')
	return open.then(f.query, io, &f.output)
}

// backtestAnswer is the answer of the API.
type backtestAnswer struct {
	Data struct {
		TrainingDays int
		Points       []backtestPoint
	}
}

type backtestPoint struct {
	Profile                                            string
	Slack, Exceedance, MemorySlack, MemoryDaysExceeded *float64
	Containers, Days                                   int
}

// query asks, and prints the answer.
func (f *backtestFlags) query(ctx context.Context, who *answerer, io streams) error {
	v := url.Values{"window": {f.window}}
	if f.filter != "" {
		v.Set("filter", f.filter)
	}
	var answer backtestAnswer
	body, err := who.askFor(ctx, io, "/model/savings/backtest", v, &answer)
	if err != nil {
		return err
	}
	switch f.output {
	case "json":
		return writeLine(io.raw, body)
	case "svg":
		_, err = io.raw.Write(answer.picture())
		return err
	}
	return answer.print(io.out, io.layout(f.output))
}

// print writes a table of the points.
func (a *backtestAnswer) print(out io.Writer, layout texttable.Layout) error {
	part := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return strconv.FormatFloat(100**v, 'f', 1, 64) + " %"
	}
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "PROFILE"},
		{Name: "CPU UNUSED", Right: true},
		{Name: "CPU ABOVE", Right: true},
		{Name: "MEMORY UNUSED", Right: true},
		{Name: "MEMORY ABOVE", Right: true},
		{Name: "CONTAINERS", Right: true, Rank: 1},
		{Name: "DAYS", Right: true, Rank: 2},
	}}
	for _, p := range a.Data.Points {
		t.Rows = append(t.Rows, []string{p.Profile, part(p.Slack), part(p.Exceedance), part(p.MemorySlack), part(p.MemoryDaysExceeded), strconv.Itoa(p.Containers), strconv.Itoa(p.Days)})
	}
	if err := t.Write(out, layout); err != nil {
		return err
	}
	return writeLine(out, "\n"+texttable.Wrap(fmt.Sprintf("A request a day from the %d days before it. UNUSED is the part of what is requested that is not used; ABOVE is the part of the time, or for memory of the days, in which usage is "+
		"above the request. Means over containers, without smallest requests and rounding. Less of both is better.", a.Data.TrainingDays), cmp.Or(layout.Width, 160)))
}

// picture is the points as SVG.
func (a *backtestAnswer) picture() []byte {
	points := make([]savings.Point, len(a.Data.Points))
	containers, days := 0, 0
	for i, p := range a.Data.Points {
		points[i] = savings.Point{Preset: visible.Text(p.Profile), Slack: orNaN(p.Slack), Exceedance: orNaN(p.Exceedance)}
		containers, days = max(containers, p.Containers), max(days, p.Days)
	}
	return picture.Backtest(points, fmt.Sprintf("Means over %d containers on %d of their days, CPU only: the table has memory, too.", containers, days))
}

// orNaN is a number, NaN where it is unknown.
func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
