package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"net/url"
	"strconv"
	"text/tabwriter"

	"github.com/alecthomas/kingpin/v2"

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
	return open.then(f.query, io)
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
	return answer.print(io.out)
}

// print writes a table of the points.
func (a *backtestAnswer) print(out io.Writer) error {
	part := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return strconv.FormatFloat(100**v, 'f', 1, 64) + " %"
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PROFILE\tCPU UNUSED\tCPU ABOVE\tMEMORY UNUSED\tMEMORY ABOVE\tCONTAINERS\tDAYS")
	for _, p := range a.Data.Points {
		fmt.Fprintln(t, visible.Row(p.Profile, part(p.Slack), part(p.Exceedance), part(p.MemorySlack), part(p.MemoryDaysExceeded), strconv.Itoa(p.Containers), strconv.Itoa(p.Days)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return writeLine(out, fmt.Sprintf("\nA request a day from the %d days before it. UNUSED is the part of what is requested that is not used; ABOVE is the part of the time, or for memory of the days, in which usage is\n"+
		"above the request. Means over containers, without smallest requests and rounding. Less of both is better.", a.Data.TrainingDays))
}

// The picture's size and margins, in pixels.
const (
	pictureWidth, pictureHeight = 640, 400
	pictureMargin               = 60
)

// picture is the points as SVG: what is not used of requests against how often usage is above them.
func (a *backtestAnswer) picture() []byte {
	mostX, mostY := 0.1, 0.01
	for _, p := range a.Data.Points {
		if p.Slack != nil && p.Exceedance != nil {
			mostX, mostY = max(mostX, *p.Slack), max(mostY, *p.Exceedance)
		}
	}
	mostX, mostY = mostX*1.15, mostY*1.15
	x := func(v float64) float64 { return pictureMargin + v/mostX*(pictureWidth-2*pictureMargin) }
	y := func(v float64) float64 {
		return pictureHeight - pictureMargin - v/mostY*(pictureHeight-2*pictureMargin)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img" aria-label="Back-test of recommended requests">`+"\n", pictureWidth, pictureHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", pictureWidth, pictureHeight)
	fmt.Fprintf(&b, `<path d="M%d %d V%d H%d" fill="none" stroke="#444"/>`+"\n", pictureMargin, pictureMargin, pictureHeight-pictureMargin, pictureWidth-pictureMargin)
	const ticks = 4
	for i := range ticks + 1 {
		vx, vy := mostX*float64(i)/ticks, mostY*float64(i)/ticks
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%.0f %%</text><text x="%d" y="%.1f" text-anchor="end">%.1f %%</text>`+"\n", x(vx), pictureHeight-pictureMargin+18, 100*vx, pictureMargin-6, y(vy)+4, 100*vy)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">requested CPU that is not used</text>`+"\n", pictureWidth/2, pictureHeight-14)
	fmt.Fprintf(&b, `<text x="16" y="%d" text-anchor="middle" transform="rotate(-90 16 %d)">time with usage above the request</text>`+"\n", pictureHeight/2, pictureHeight/2)
	for _, p := range a.Data.Points {
		if p.Slack == nil || p.Exceedance == nil {
			continue
		}
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="#1f6feb"/><text x="%.1f" y="%.1f">%s</text>`+"\n", x(*p.Slack), y(*p.Exceedance), x(*p.Slack)+8, y(*p.Exceedance)-6, html.EscapeString(visible.Text(p.Profile)))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
