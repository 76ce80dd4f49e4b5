package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/visible"
)

// changeFlags ask why costs changed.
type changeFlags struct {
	window, baseline, aggregate, drill, filter, unbilled, output string
	limit                                                        int
}

// defineQueryChange is the query change subcommand, which asks a Prometheus or a running promcost.
func defineQueryChange(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	return addChangeFlags(clause, io, anyPromcost(clause, io, logs))
}

// defineKubectlChange is the kubectl change subcommand, which asks the promcost of a cluster.
func defineKubectlChange(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addChangeFlags(clause, io, clusterPromcost(clause, io))
}

// addChangeFlags adds the flags of the question to a subcommand, which asks whom open opens.
func addChangeFlags(clause *kingpin.CmdClause, io streams, open opener) executor {
	f := &changeFlags{}
	clause.Flag("window", "What time: yesterday, lastweek, month, 7d, or two times separated by a comma.").Default("lastweek").StringVar(&f.window)
	clause.Flag("baseline", "What to compare with. Default: the previous day, week or month, or the period of equal length before the window.").PlaceHolder("WINDOW").StringVar(&f.baseline)
	clause.Flag("aggregate", "What to sum by: namespace, controller, node, label:app, … or several separated by commas.").Default("namespace").StringVar(&f.aggregate)
	clause.Flag("drill", "A field as of --aggregate, whose values that changed most stand below each row.").PlaceHolder("FIELD").StringVar(&f.drill)
	clause.Flag("filter", `Which workloads: namespace:"shop"+label[app]:"web" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	oneOf(clause, "unbilled", "What costs are that no bill charges yet: estimate from what bills charged last for nodes of the same kind, or list prices. Matters only where there are bills.", &f.unbilled, "estimate", "list")
	oneOf(clause, "output", "Output format: table, json or csv.", &f.output, "table", "json", "csv").Short('o')
	countOf(clause, "limit", "Most rows to show; 0 for all. The total is of all.", &f.limit, 0).Default("20")
	return open.then(f.query, io)
}

// parameters are the flags as the API's.
func (f *changeFlags) parameters() url.Values {
	v := url.Values{"limit": {strconv.Itoa(f.limit)}}
	for name, value := range map[string]string{"window": f.window, "baseline": f.baseline, "aggregate": f.aggregate, "drill": f.drill, "filter": f.filter, "unbilled": f.unbilled} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if f.output == "csv" {
		v.Set("format", "csv")
	}
	return v
}

// query asks, and prints the answer.
func (f *changeFlags) query(ctx context.Context, who *answerer, io streams) error {
	stop := showProgress(io.err, who.status)
	body, warnings, err := who.ask(ctx, "/model/allocation/change", f.parameters())
	stop()
	if err != nil {
		return err
	}
	var answer changeAnswer
	if f.output == "table" {
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("read answer of %s: %w", who.name, err)
		}
		warnings = append(warnings, answer.Warnings...)
	}
	for _, w := range warnings {
		if err := warn(io.err, w); err != nil {
			return err
		}
	}
	if f.output != "table" {
		_, err = io.raw.Write(append(bytes.TrimRight(body, "\n"), '\n'))
		return err
	}
	return answer.print(io.out, who.currency(ctx))
}

// changeAnswer is the answer of the API.
type changeAnswer struct {
	Data struct {
		Window, BaselineWindow struct{ Start, End time.Time }
		NotComparable          string
		Total                  changeRow
		Rows                   []changeRow
	}
	Warnings []string
}

// changeRow is a row of it.
type changeRow struct {
	Name                   string
	Baseline, Cost, Change float64
	Effects                map[string]float64
	WithinBounds           bool
	Parts                  []changeRow
}

// barCells is how wide the bar of the largest change is. What is below leastShown rounds to 0.00.
const (
	barCells   = 16
	leastShown = 0.005
)

// print writes a table: a line for each row and part, with a bar of its change on a terminal, and the largest effects in words.
func (a *changeAnswer) print(out io.Writer, currency string) error {
	const layout = "2006-01-02 15:04 MST"
	d := &a.Data
	fmt.Fprintf(out, "%s to %s against %s to %s, costs in %s\n\n",
		d.Window.Start.Format(layout), d.Window.End.Format(layout), d.BaselineWindow.Start.Format(layout), d.BaselineWindow.End.Format(layout), currency)
	if d.NotComparable != "" {
		fmt.Fprintf(out, "not comparable: %s\n\n", d.NotComparable)
	}
	most := 0.0
	for _, r := range d.Rows {
		most = max(most, math.Abs(r.Change))
	}
	if !isTerminal(out) {
		most = 0 // which draws no bars
	}
	lines := [][]string{{"NAME", "BEFORE", "AFTER", "CHANGE", "", "WHY"}}
	for _, r := range d.Rows {
		lines = append(lines, r.line(cmp.Or(visible.Text(r.Name), "(all)"), most))
		for _, p := range r.Parts {
			if math.Abs(p.Change) < leastShown {
				continue
			}
			lines = append(lines, p.line("  "+cmp.Or(visible.Text(p.Name), "(all)"), most))
		}
	}
	lines = append(lines, d.Total.line("TOTAL", 0))
	var widths [6]int
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		var b strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if 1 <= i && i <= 3 { // numbers
				cell, pad = pad+cell, ""
			}
			if b.WriteString(cell + pad); widths[i] > 0 {
				b.WriteString("  ")
			}
		}
		if err := writeLine(out, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// line is the cells of a row.
func (r *changeRow) line(name string, most float64) []string {
	money := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	change := money(r.Change)
	if r.Change > 0 {
		change = "+" + change
	}
	bar := ""
	if most > 0 {
		bar = strings.Repeat("█", int(math.Round(math.Abs(r.Change)/most*barCells)))
	}
	return []string{name, money(r.Baseline), money(r.Cost), change, bar, r.why()}
}

// why is the effects that matter, the largest first, in words.
func (r *changeRow) why() string {
	const (
		least = 0.02 // of the largest effect
		most  = 4
	)
	names := sortedKeys(r.Effects)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(math.Abs(r.Effects[b]), math.Abs(r.Effects[a])) })
	var words []string
	for _, name := range names[:min(most, len(names))] {
		v := r.Effects[name]
		if math.Abs(v) < leastShown || math.Abs(v) < least*math.Abs(r.Effects[names[0]]) {
			break
		}
		words = append(words, fmt.Sprintf("%s %+.2f", name, v))
	}
	if r.WithinBounds && r.Change != 0 {
		words = append(words, "(within the error bounds)")
	}
	return strings.Join(words, ", ")
}
