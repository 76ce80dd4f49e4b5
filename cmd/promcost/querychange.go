package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// changeFlags ask why costs changed.
type changeFlags struct {
	window, baseline, aggregate, drill, filter, cost, unbilled, output string
	limit                                                              int
}

// defineQueryChange is the query change subcommand, which asks a Prometheus or a running promcost.
func defineQueryChange(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	return addChangeFlags(clause.Alias("why"), io, anyPromcost(clause, io, logs))
}

// defineKubectlChange is the kubectl change subcommand, which asks the promcost of a cluster.
func defineKubectlChange(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addChangeFlags(clause.Alias("why"), io, clusterPromcost(clause, io))
}

// addChangeFlags adds the flags of the question to a subcommand, which asks whom open opens.
func addChangeFlags(clause *kingpin.CmdClause, io streams, open opener) executor {
	f := &changeFlags{}
	clause.Flag("window", "What time: yesterday, lastweek, month, 7d, or two times separated by a comma.").Default("lastweek").StringVar(&f.window)
	clause.Flag("baseline", "What to compare with. Default: the previous day, week or month, or the period of equal length before the window.").PlaceHolder("WINDOW").StringVar(&f.baseline)
	clause.Flag("aggregate", "What to sum by: namespace, controller, node, label:app, … or several separated by commas.").Default("namespace").StringVar(&f.aggregate)
	clause.Flag("drill", "A field as of --aggregate, whose values that changed most stand below each row.").PlaceHolder("FIELD").StringVar(&f.drill)
	clause.Flag("filter", `Which workloads: namespace:"shop"+label[app]:"web" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	addWhichCost(clause, &f.cost)
	addUnbilled(clause, &f.unbilled)
	outputOf(clause, &f.output, "json", "csv")
	countOf(clause, "limit", "Most rows to show; 0 for all. The total is of all.", &f.limit, 0).Default("20")
	return open.then(f.query, io, &f.output)
}

// parameters are the flags as the API's.
func (f *changeFlags) parameters() url.Values {
	v := given(map[string]string{
		"window": f.window, "baseline": f.baseline, "aggregate": f.aggregate, "drill": f.drill, "filter": f.filter, "unbilled": f.unbilled, "limit": strconv.Itoa(f.limit),
	})
	if f.cost == "list" {
		v.Set("reconcile", "false")
	}
	if f.output == "csv" {
		v.Set("format", "csv")
	}
	return v
}

// query asks, and prints the answer.
func (f *changeFlags) query(ctx context.Context, who *answerer, io streams) error {
	const path = "/model/allocation/change"
	if !isTable(f.output) {
		return who.pass(ctx, io, path, f.parameters())
	}
	var answer changeAnswer
	if _, err := who.askFor(ctx, io, path, f.parameters(), &answer); err != nil {
		return err
	}
	return answer.print(io.out, who.currency(ctx), io.layout(f.output))
}

// changeAnswer is the answer of the API.
type changeAnswer struct {
	Data struct {
		Window, BaselineWindow struct{ Start, End time.Time }
		NotComparable          string
		Total                  changeRow
		Rows                   []changeRow
	}
	BilledUntil *time.Time
	Warnings    []string
}

// changeRow is a row of it.
type changeRow struct {
	Name                   string
	Baseline, Cost, Change float64
	Effects                map[string]float64
	WithinBounds           bool
	Since                  *time.Time
	Owner, Team            string
	Parts                  []changeRow
}

// barCells is how wide the bar of the largest change is. What is below leastShown rounds to 0.00.
const (
	barCells   = 16
	leastShown = 0.005
)

// print writes a table: a line for each row and part, with a bar of its change on a terminal, and the largest effects in words.
func (a *changeAnswer) print(out io.Writer, currency string, layout texttable.Layout) error {
	d := &a.Data
	head := fmt.Sprintf("%s to %s against %s to %s, costs in %s %s", d.Window.Start.Format(times), d.Window.End.Format(times),
		d.BaselineWindow.Start.Format(times), d.BaselineWindow.End.Format(times), currency, pricesText(a.BilledUntil))
	fmt.Fprintf(out, "%s\n\n", texttable.Wrap(visible.Text(head), layout.Width))
	if d.NotComparable != "" {
		return writeLine(out, texttable.Wrap("not comparable: "+visible.Text(d.NotComparable), layout.Width))
	}
	most := 0.0
	for _, r := range d.Rows {
		most = max(most, math.Abs(r.Change))
	}
	if layout.Width == 0 {
		most = 0 // which draws no bars
	}
	table := texttable.Table{Columns: []texttable.Column{
		{Name: "NAME", Long: texttable.Cut},
		{Name: "BEFORE", Right: true},
		{Name: "AFTER", Right: true},
		{Name: "CHANGE", Right: true},
		{Rank: 1, Spare: true},
		{Name: "SINCE", Rank: 2, Spare: true},
		{Name: "OWNER", Rank: 3, Spare: true, Long: texttable.Cut},
		{Name: "WHY", Long: texttable.Wrapped},
	}}
	for _, r := range d.Rows {
		table.Rows = append(table.Rows, r.line(cmp.Or(r.Name, "(all)"), most))
		for _, p := range r.Parts {
			if math.Abs(p.Change) < leastShown {
				continue
			}
			table.Rows = append(table.Rows, p.line("  "+cmp.Or(p.Name, "(all)"), most))
		}
	}
	table.Rows = append(table.Rows, d.Total.line("TOTAL", 0))
	return table.Write(out, layout)
}

// line is the cells of a row.
func (r *changeRow) line(name string, most float64) []string {
	by := money(r.Change)
	if r.Change > 0 {
		by = "+" + by
	}
	bar := ""
	if most > 0 {
		bar = strings.Repeat("█", int(math.Round(math.Abs(r.Change)/most*barCells)))
	}
	since := ""
	if r.Since != nil {
		since = r.Since.Format("2006-01-02 15:04")
	}
	return []string{name, money(r.Baseline), money(r.Cost), by, bar, since, cmp.Or(r.Team, r.Owner), r.why()}
}

// why is the effects that matter, the largest first, in words, and what the others come to: together they are the change.
func (r *changeRow) why() string {
	const (
		least = 0.02 // of the largest effect
		most  = 4
	)
	names := slices.DeleteFunc(sortedKeys(r.Effects), func(name string) bool { return math.Abs(r.Effects[name]) < leastShown })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(math.Abs(r.Effects[b]), math.Abs(r.Effects[a])) })
	var words []string
	others := cents(r.Change)
	for _, name := range names[:min(most, len(names))] {
		v := r.Effects[name]
		if math.Abs(v) < least*math.Abs(r.Effects[names[0]]) {
			break
		}
		words, others = append(words, fmt.Sprintf("%s %+.2f", change.TitleOf(name), v)), others-cents(v)
	}
	if len(words) < len(names) && math.Abs(others) >= leastShown {
		words = append(words, fmt.Sprintf("others %+.2f", others))
	}
	if r.WithinBounds && r.Change != 0 {
		words = append(words, "(within the error bounds)")
	}
	return strings.Join(words, ", ")
}

// cents is an amount as it is shown.
func cents(v float64) float64 { return math.Round(v*100) / 100 }
