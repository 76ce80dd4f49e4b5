package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"

	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/report"
	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
	"github.com/promcost/promcost/cmd/promcost/internal/webhook"
)

// reportFlags say what to report, and where to send it.
type reportFlags struct {
	title, window, by, filter, cost, output string
	send, receiver, page                    string
	limit                                   int
	dryRun                                  bool
}

// defineReport is the report subcommand, which asks a Prometheus or a running promcost.
func defineReport(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &reportFlags{}
	open := anyPromcost(clause, io, logs)
	clause.Flag("title", "Heading of the report.").Default("Kubernetes costs").StringVar(&f.title)
	clause.Flag("window", "What time: yesterday, lastweek, lastmonth, 7d, or two times separated by a comma.").Default("lastweek").StringVar(&f.window)
	clause.Flag("by", "What rows are of: namespace, team, controller, label:app, …").Default("namespace").StringVar(&f.by)
	clause.Flag("filter", `Which workloads: namespace:"shop"+label[app]:"web" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	addWhichCost(clause, &f.cost)
	countOf(clause, "limit", "Most rows of each part.", &f.limit, 1).Default("10")
	oneOf(clause, "output", "Output format: markdown, html for a page that needs nothing else, slack or teams for a message as their webhooks take it, or json.",
		&f.output, "markdown", "html", "slack", "teams", "json").Short('o')
	clause.Flag("send", "File with the URL of a webhook to post the report to, in place of printing it. What fails for a time is tried again.").PlaceHolder("FILE").StringVar(&f.send)
	oneOf(clause, "receiver", "What the webhook takes: slack (Mattermost and others, too), teams, or json for anything; auto goes by its URL.", &f.receiver, "auto", "slack", "teams", "json")
	clause.Flag("dry-run", "Print the message that would be posted, and post nothing.").BoolVar(&f.dryRun)
	clause.Flag("page", "URL of promcost as readers reach it, such as https://costs.example.com: the report links to its page.").PlaceHolder("URL").StringVar(&f.page)
	return open.then(f.report, io, &f.output)
}

// report asks, and prints or posts the report.
func (f *reportFlags) report(ctx context.Context, who *answerer, io streams) error {
	var to *webhook.Webhook
	if f.send != "" {
		var err error
		if to, err = f.hook(); err != nil { // before anything is computed
			return err
		}
	} else if f.dryRun {
		return usageErrorf("--dry-run shows what --send would post: give --send=FILE")
	}
	r, err := f.gather(ctx, who, io)
	if err != nil {
		return err
	}
	if to == nil {
		return f.print(r, io)
	}
	message := messageFor(r, f.receiverOf(to.URL))
	if f.dryRun {
		return writeJSON(io.raw, message)
	}
	if err := to.Post(ctx, message); err != nil {
		return fmt.Errorf("--send=%s: %w", f.send, err)
	}
	return nil
}

// print prints the report.
func (f *reportFlags) print(r *report.Report, io streams) error {
	switch f.output {
	case "markdown":
		_, err := io.out.Write([]byte(r.Markdown()))
		return err
	case "html":
		return r.HTML(io.raw)
	}
	return writeJSON(io.raw, messageFor(r, f.output))
}

// messageFor is the message that a receiver takes.
func messageFor(r *report.Report, receiver string) any {
	switch receiver {
	case "slack":
		return r.Slack()
	case "teams":
		return r.Teams()
	}
	return r.Plain()
}

// writeJSON writes a value, indented.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// retryAfter is how long to wait before a message is posted again.
const retryAfter = time.Second

// hook is the webhook whose URL is in the file of --send. No error repeats the URL, which is a secret.
func (f *reportFlags) hook() (*webhook.Webhook, error) {
	text, err := os.ReadFile(f.send)
	if err != nil {
		return nil, usageErrorf("read --send: %w: give a file with the URL of a webhook", err)
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, usageErrorf("read --send=%s: it has no URL: write that of the webhook into it, https://…, and nothing else", f.send)
	}
	cfg := httpclient.Config{HTTP: promconfig.DefaultHTTPClientConfig}
	cfg.HTTP.ProxyFromEnvironment = true
	client, err := httpclient.New(cfg, nil)
	if err != nil {
		return nil, err
	}
	return &webhook.Webhook{Client: client, URL: u.String(), Wait: retryAfter}, nil
}

// receiverOf is what the webhook at a URL takes.
func (f *reportFlags) receiverOf(text string) string {
	u, err := url.Parse(text)
	switch {
	case f.receiver != "auto" || err != nil:
		return f.receiver
	case u.Hostname() == "hooks.slack.com":
		return "slack"
	case strings.HasSuffix(u.Hostname(), ".webhook.office.com"), strings.HasSuffix(u.Hostname(), ".logic.azure.com"), strings.HasSuffix(u.Hostname(), ".api.powerplatform.com"):
		return "teams"
	}
	return "json"
}

// gather asks for all that is reported. What a server does not answer, for it is older or does not keep a history, is left out with a warning.
func (f *reportFlags) gather(ctx context.Context, who *answerer, io streams) (*report.Report, error) {
	stop := showProgress(io.err, who.status)
	defer stop()
	r := &report.Report{Title: f.title, By: f.by, Currency: who.currency(ctx)}
	if err := f.addChange(ctx, who, r); err != nil {
		return nil, err
	}
	for _, part := range [...]struct {
		what string
		add  func(context.Context, *answerer, *report.Report) error
	}{{"unusual days", f.addUnusual}, {"budgets", f.addBudgets}, {"savings", f.addSavings}} {
		if err := part.add(ctx, who, r); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			r.Quality.Warnings = append(r.Quality.Warnings, fmt.Sprintf("%s are left out: %v", part.what, err))
		}
	}
	return r, nil
}

// get asks a path and reads the answer.
func (f *reportFlags) get(ctx context.Context, who *answerer, path string, parameters map[string]string, answer any) error {
	body, _, err := who.ask(ctx, path, given(parameters))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("read answer of %s: %w", who.name, err)
	}
	return nil
}

// addChange adds the total, what changed most and why, and how good the data are.
func (f *reportFlags) addChange(ctx context.Context, who *answerer, r *report.Report) error {
	parameters := map[string]string{"window": f.window, "aggregate": f.by, "filter": f.filter, "limit": strconv.Itoa(f.limit), "unbilled": "estimate"}
	if f.cost == "list" {
		parameters["reconcile"] = "false"
	}
	var answer struct {
		changeAnswer
		CoveredHours, WindowHours float64
	}
	if err := f.get(ctx, who, "/model/allocation/change", parameters, &answer); err != nil {
		return err
	}
	d := &answer.Data
	r.Window, r.Baseline = report.Window(d.Window), report.Window(d.BaselineWindow)
	r.NotComparable = d.NotComparable
	r.Prices = reportPrices(answer.BilledUntil)
	r.Total = reportRow(&d.Total)
	if f.page != "" {
		v := url.Values{"view": {"why"}, "window": {stamps(r.Window)}, "baseline": {stamps(r.Baseline)}, "aggregate": {f.by}, "filter": {f.filter}}
		r.URL = strings.TrimRight(f.page, "/") + "/ui/?" + v.Encode()
	}
	for i := range d.Rows {
		if row := &d.Rows[i]; math.Abs(row.Change) >= leastShown {
			r.Movers = append(r.Movers, reportRow(row))
		}
	}
	r.Quality = report.Quality{CoveredHours: answer.CoveredHours, WindowHours: answer.WindowHours, Warnings: weighty(answer.Warnings)}
	return nil
}

// weighty are the warnings that matter to those who read only the result.
func weighty(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(text string) bool { return notices.KindOf(text).Level == notices.Minor })
}

// reportPrices says what costs of a report are.
func reportPrices(until *time.Time) string {
	if until == nil {
		return "at list prices"
	}
	return "as billed until " + until.Format(time.DateOnly)
}

// stamps is a window as the API takes it.
func stamps(w report.Window) string {
	return w.Start.Format(time.RFC3339) + "," + w.End.Format(time.RFC3339)
}

// reportRow is a row of changes, with the causes that matter.
func reportRow(r *changeRow) report.Row {
	row := report.Row{Name: cmp.Or(r.Name, "(all)"), Owner: cmp.Or(r.Team, r.Owner), Before: r.Baseline, After: r.Cost}
	for _, name := range sortedKeys(r.Effects) {
		if v := r.Effects[name]; math.Abs(v) >= leastShown {
			row.Causes = append(row.Causes, report.Cause{Title: change.TitleOf(name), Amount: v})
		}
	}
	slices.SortStableFunc(row.Causes, func(a, b report.Cause) int { return cmp.Compare(math.Abs(b.Amount), math.Abs(a.Amount)) })
	return row
}

// addUnusual adds the days on which a row cost more or less than was expected.
func (f *reportFlags) addUnusual(ctx context.Context, who *answerer, r *report.Report) error {
	var answer struct {
		Data struct {
			Rows []struct {
				Name           string
				Day            struct{ Start, End time.Time }
				Cost, Expected float64
			}
		}
	}
	if err := f.get(ctx, who, "/model/anomalies", map[string]string{"window": f.window, "aggregate": f.by, "filter": f.filter, "limit": strconv.Itoa(f.limit)}, &answer); err != nil {
		return err
	}
	for _, row := range answer.Data.Rows {
		r.Unusual = append(r.Unusual, report.Unusual{Name: row.Name, Day: report.Window(row.Day), Cost: row.Cost, Expected: row.Expected})
	}
	return nil
}

// addBudgets adds the budgets.
func (f *reportFlags) addBudgets(ctx context.Context, who *answerer, r *report.Report) error {
	var answer budgetAnswer
	if err := f.get(ctx, who, "/model/budgets", nil, &answer); err != nil {
		return err
	}
	for _, b := range answer.Data {
		if b.Spent != nil { // of one that was not running, nothing is known
			r.Budgets = append(r.Budgets, report.Budget{Name: b.Name, Period: b.Period, Prices: b.Cost, Amount: b.Amount, Spent: b.Spent, Forecast: b.Forecast})
		}
	}
	return nil
}

// addSavings adds what smaller requests would save, and larger ones would cost.
func (f *reportFlags) addSavings(ctx context.Context, who *answerer, r *report.Report) error {
	var answer savingsAnswer
	if err := f.get(ctx, who, "/model/savings/requests", map[string]string{"window": "14d", "filter": f.filter}, &answer); err != nil {
		return err
	}
	if answer.Data.MonthlySaving <= 0 {
		return nil
	}
	s := &report.Savings{Monthly: answer.Data.MonthlySaving, More: answer.Data.MonthlyRisk, Prices: reportPrices(answer.BilledUntil)}
	for i := range answer.Data.Requests {
		x := &answer.Data.Requests[i]
		s.More -= x.raisedBy()
		if x.MonthlySaving < leastShown {
			continue
		}
		s.Largest = append(s.Largest, report.Saving{
			Name: x.name(), Monthly: x.MonthlySaving,
			CPU:    coresText(&x.CPU.Request) + " → " + coresText(x.CPU.Recommended),
			Memory: bytesText(&x.Memory.Request) + " → " + bytesText(x.Memory.Recommended),
		})
	}
	slices.SortStableFunc(s.Largest, func(a, b report.Saving) int { return cmp.Compare(b.Monthly, a.Monthly) })
	if f.limit > 0 {
		s.Largest = s.Largest[:min(f.limit, len(s.Largest))]
	}
	r.Savings = s
	return nil
}
