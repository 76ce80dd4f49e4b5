package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
	"github.com/promcost/promcost/cmd/promcost/internal/kubectl"
)

// queryFlags ask for allocations.
type queryFlags struct {
	window, aggregate, filter, resolution, step string
	cost, unbilled, share                       string
	accumulate, idle, shareIdle, shareTenancy   bool
	output                                      string
	limit                                       int
}

// answerer is who is asked: a promcost over the network, or the same API within this process.
type answerer struct {
	client *http.Client
	base   string        // of URLs
	name   string        // in errors
	status func() string // how far the work is
	close  func()

	asked    url.Values // the parameters of the last question
	lacks    bool       // the last answer says that no hour of the window has data, and has no row
	warnings []string   // of all answers
}

// opener opens whom to ask.
type opener func(ctx context.Context) (*answerer, error)

// then carries out a question: it opens whom to ask, asks, and closes. What was found goes first, to the standard output, the warnings about it
// after it. A source that has nothing of what promcost needs is an error.
func (open opener) then(ask func(ctx context.Context, who *answerer, io streams) error, io streams, output *string) executor {
	return func(ctx context.Context) error {
		who, err := open(ctx)
		if err != nil {
			return err
		}
		defer who.close()
		err = ask(ctx, who, io)
		if failed := warnFor(io.err, who.warnings, *output); failed != nil || err != nil || !who.lacks {
			return cmp.Or(err, failed)
		}
		return who.explainNothing(ctx, io)
	}
}

// anyPromcost adds the flags that say whom to ask: a Prometheus, or a running promcost.
func anyPromcost(clause *kingpin.CmdClause, io streams, logs *logFlags) opener {
	source, cost, server := addSourceFlags(clause), addCostFlags(clause), serverFlag{}
	server.add(clause, "server", "PROMCOST_SERVER", "URL of a promcost that is asked in place of computing here; Kubecost answers too.")
	return func(context.Context) (*answerer, error) {
		if server.url == "" {
			svc, err := openService(source, cost, io.err, logs)
			if err != nil {
				return nil, err
			}
			return askService(svc), nil
		}
		if source.given() {
			return nil, usageErrorf("--server computes by itself: leave --prometheus.url and --tsdb.path out")
		}
		client, base, err := server.client()
		return askServer(client, base, "--server="+base), err
	}
}

// runningPromcost adds the flag that says which running promcost to ask.
func runningPromcost(clause *kingpin.CmdClause) opener {
	server := serverFlag{}
	server.add(clause, "server", "PROMCOST_SERVER", "URL of the promcost that is asked, such as http://127.0.0.1:9003.")
	return func(context.Context) (*answerer, error) {
		if server.url == "" {
			return nil, usageErrorf("--server is missing: give the URL of a running promcost, such as --server=http://127.0.0.1:9003")
		}
		client, base, err := server.client()
		return askServer(client, base, "--server="+base), err
	}
}

// clusterPromcost adds the flags that say which cluster's promcost to ask.
func clusterPromcost(clause *kingpin.CmdClause, io streams) opener {
	flags := kubectl.AddFlags(clause)
	return func(ctx context.Context) (*answerer, error) {
		service, err := flags.Find(ctx, io.in, io.err)
		return askServer(&http.Client{Transport: service}, "http://promcost", fmt.Sprint("Service ", service)), err
	}
}

// defineQueryAllocation is the query allocation subcommand, which asks a Prometheus or a running promcost.
func defineQueryAllocation(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	return addQueryFlags(clause, io, anyPromcost(clause, io, logs))
}

// defineKubectlAllocation is the kubectl allocation subcommand, which asks the promcost of a cluster.
func defineKubectlAllocation(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addQueryFlags(clause, io, clusterPromcost(clause, io))
}

// addQueryFlags adds the flags of a question to a subcommand, which asks whom open opens.
func addQueryFlags(clause *kingpin.CmdClause, io streams, open opener) executor {
	f := &queryFlags{}
	clause.Flag("window", "What time: today, lastweek, 30m, 12h, 7d, or two times separated by a comma.").Default("1d").StringVar(&f.window)
	clause.Flag("aggregate", "What to sum by: namespace, controller, node, nodePool, label:app, … or several separated by commas; empty for containers.").
		Default("namespace").StringVar(&f.aggregate)
	clause.Flag("filter", `Which workloads: namespace:"shop"+label[app]:"web" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	clause.Flag("resolution", "How finely to sample: a duration such as 1m, exact for every sample there is, or auto: exact where blocks, streamed remote read or VictoriaMetrics' exports serve the whole window, else 1m or the scrape interval.").Default("auto").StringVar(&f.resolution)
	clause.Flag("step", "Length of a set, such as 1d; the whole window where none is given.").PlaceHolder("DURATION").StringVar(&f.step)
	clause.Flag("accumulate", "Sum all sets into one.").BoolVar(&f.accumulate)
	clause.Flag("idle", "Show what nodes cost and nobody was allocated, as __idle__.").Default("true").BoolVar(&f.idle)
	clause.Flag("share-idle", "Give idle capacity to the workloads of its cluster, in proportion to what they cost.").BoolVar(&f.shareIdle)
	clause.Flag("share-tenancy-costs", "Let workloads also bear what control planes and node disks cost. PromQL's costs of workloads have none of that.").Default("true").BoolVar(&f.shareTenancy)
	clause.Flag("share", `Whose costs the others bear, as of --filter: namespace:"kube-system".`).PlaceHolder("EXPR").StringVar(&f.share)
	addWhichCost(clause, &f.cost)
	addUnbilled(clause, &f.unbilled)
	outputOf(clause, &f.output, "json", "csv")
	countOf(clause, "limit", "Most rows to show in a table; 0 for all. The total is of all.", &f.limit, 0).Default("0")
	return open.then(f.query, io, &f.output)
}

// parameters are the flags as the API's.
func (f *queryFlags) parameters() url.Values {
	v := given(map[string]string{
		"window": f.window, "aggregate": f.aggregate, "filter": f.filter, "resolution": f.resolution, "step": f.step, "unbilled": f.unbilled, "share": f.share,
		"accumulate": strconv.FormatBool(f.accumulate), "idle": strconv.FormatBool(f.idle), "nulls": "true", "shareTenancyCosts": strconv.FormatBool(f.shareTenancy),
	})
	if f.shareIdle {
		v.Set("shareIdle", "true")
	}
	if f.cost == "list" {
		v.Set("reconcile", "false")
	}
	if f.output == "csv" {
		v.Set("format", "csv")
	}
	return v
}

// query asks, and prints the answer.
func (f *queryFlags) query(ctx context.Context, who *answerer, io streams) error {
	stop := showProgress(io.err, who.status)
	body, warnings, err := who.ask(ctx, computePath, f.parameters())
	stop()
	if err != nil {
		return err
	}
	answer, invalid := readReply(bytes.NewReader(body))
	if invalid == nil {
		who.lacks, warnings = answer.lacksData(), answer.Warnings
	}
	who.warnings = warnings
	switch f.output {
	case "csv":
		who.lacks = lacksRows(string(body), warnings)
		fallthrough
	case "json":
		_, err = io.raw.Write(append(bytes.TrimRight(body, "\n"), '\n'))
		return err
	}
	if invalid != nil {
		return invalid
	}
	return printTables(io, answer, tableOptions{limit: f.limit, currency: who.currency(ctx), layout: io.layout(f.output)})
}

// lacksRows reports whether an answer in CSV has no row, and a promcost says why.
func lacksRows(text string, warnings []string) bool {
	return strings.Count(strings.TrimSpace(text), "\n") == 0 && len(warnings) > 0
}

// explainNothing says on standard error what the source scrapes and what must be there, if it has none of what promcost needs: then it returns an
// error.
func (a *answerer) explainNothing(ctx context.Context, io streams) error {
	body, _, err := a.ask(ctx, "/model/diagnose", given(map[string]string{"window": a.asked.Get("window")}))
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Window   allocation.Window
			Nothing  bool
			Sources  []struct{ Name string }
			Jobs     []diagnosis.Job
			Clusters []diagnosis.Cluster
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || !answer.Data.Nothing {
		return nil //nolint:nilerr // it has some of it, of which the answer's warnings tell
	}
	d := diagnosis.Diagnosis{Window: answer.Data.Window, Nothing: true, Jobs: answer.Data.Jobs, Clusters: answer.Data.Clusters}
	for _, s := range answer.Data.Sources {
		d.Sources = append(d.Sources, allocation.SourceReading{Name: s.Name})
	}
	if err := encode.DiagnosisTable(io.err, &d, time.UTC, texttable.Layout{Width: widthOf(io.err)}); err != nil {
		return err
	}
	return fmt.Errorf("%w: none of the metrics that promcost needs has samples", allocation.ErrNoData)
}

// currency is that of the costs, USD if the server does not say.
func (a *answerer) currency(ctx context.Context) string {
	const dollars = "USD"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/model/getConfigs", nil)
	if err != nil {
		return dollars
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return dollars
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct {
			CurrencyCode string `json:"currencyCode"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(&answer) != nil {
		return dollars
	}
	return cmp.Or(answer.Data.CurrencyCode, dollars)
}

// askServer asks over the network.
func askServer(client *http.Client, base, name string) *answerer {
	return &answerer{client: client, base: base, name: name, status: func() string { return "waiting for " + strings.TrimPrefix(name, "--server=") }, close: func() {}}
}

// askService asks the API within this process.
func askService(svc *service) *answerer {
	return &answerer{client: &http.Client{Transport: httpclient.InProcess(svc.api)}, base: "http://promcost", name: "promcost", status: svc.status, close: func() { _ = svc.Close() }}
}

// computePath is the path of allocations.
const computePath = "/model/allocation/compute"

// ask sends a query to a path and returns the body of the answer, and the warnings in its header. A refusal is an error with the
// API's own message.
func (a *answerer) ask(ctx context.Context, path string, parameters url.Values) (body []byte, warnings []string, err error) {
	return a.send(ctx, http.MethodGet, path, parameters, nil)
}

// send is ask with another method, and with a text in the body.
func (a *answerer) send(ctx context.Context, method, path string, parameters url.Values, text []byte) (body []byte, warnings []string, err error) {
	a.asked = parameters
	req, err := http.NewRequestWithContext(ctx, method, a.base+path+"?"+parameters.Encode(), bytes.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("ask %s: %w", a.name, err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err // without the request's parameters
		}
		return nil, nil, fmt.Errorf("ask %s: %w: is promcost running there?", a.name, err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, nil, fmt.Errorf("read answer of %s: %w", a.name, err)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return nil, nil, fmt.Errorf("ask %s: it answered with a page of HTML: give the URL of a promcost, without a path", a.name)
	}
	if resp.StatusCode == http.StatusOK {
		return body, headerWarnings(resp.Header), nil
	}
	if answer, err := readReply(bytes.NewReader(body)); err == nil && answer.Message != "" {
		return nil, nil, errors.New(answer.Message)
	}
	return nil, nil, fmt.Errorf("ask %s: it answered %s to %s: give the URL of a promcost, without a path", a.name, resp.Status, path)
}

// askFor asks a path, with progress on standard error, keeps the warnings, and reads the answer, which it also returns as it came, without the last line feed.
func (a *answerer) askFor(ctx context.Context, io streams, path string, v url.Values, answer any) (text string, err error) {
	text, err = a.askText(ctx, io, path, v)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		return "", fmt.Errorf("read answer of %s: %w", a.name, err)
	}
	return text, nil
}

// askText is askFor for an answer in a format that is passed on, such as CSV, whose warnings are in its header, not in its text.
func (a *answerer) askText(ctx context.Context, io streams, path string, v url.Values) (text string, err error) {
	stop := showProgress(io.err, a.status)
	body, warnings, err := a.ask(ctx, path, v)
	stop()
	if err != nil {
		return "", err
	}
	text = strings.TrimRight(string(body), "\n")
	var said struct {
		Warnings                  []string
		WindowHours, CoveredHours float64
	}
	if json.Unmarshal(body, &said) == nil {
		a.lacks, warnings = said.WindowHours > 0 && said.CoveredHours == 0, said.Warnings
	} else {
		a.lacks = lacksRows(text, warnings)
	}
	a.warnings = append(a.warnings, warnings...)
	return text, nil
}

// pass asks a path, and prints the answer as it came.
func (a *answerer) pass(ctx context.Context, io streams, path string, v url.Values) error {
	text, err := a.askText(ctx, io, path, v)
	if err != nil {
		return err
	}
	return writeLine(io.raw, text)
}

// given are parameters, without those that are empty.
func given(parameters map[string]string) url.Values {
	v := url.Values{}
	for name, value := range parameters {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// headerWarnings are the texts of an answer's Warning headers, which hold the warnings of an answer in CSV.
func headerWarnings(h http.Header) []string {
	var out []string
	for _, v := range h.Values("Warning") {
		if i := strings.IndexByte(v, '"'); i >= 0 {
			if text, err := strconv.Unquote(v[i:]); err == nil {
				out = append(out, text)
			}
		}
	}
	return out
}

// wideOutput is the output of tables with all of their columns.
const wideOutput = "wide"

// outputOf adds the flag --output of a command that prints a table, or formats for programs.
func outputOf(g flagGroup, target *string, formats ...string) {
	words := append([]string{"table", wideOutput}, formats...)
	help := "Output format: table, which leaves out empty columns and what does not fit the terminal, wide for all of it"
	for i, name := range formats {
		if help += ", "; i == len(formats)-1 {
			help = strings.TrimSuffix(help, ", ") + " or "
		}
		help += name
	}
	oneOf(g, "output", help+".", target, words...).Short('o')
}

// addWhichCost adds the flag that says whether bills correct costs.
func addWhichCost(g flagGroup, target *string) {
	oneOf(g, "cost", "Which cost: billed as bills correct it, where there are bills, or list prices.", target, "billed", "list")
}

// addUnbilled adds the flag about costs that bills do not charge yet.
func addUnbilled(g flagGroup, target *string) {
	oneOf(g, "unbilled", "What costs are that no bill charges yet: estimate from what bills charged last for nodes of the same kind, or list prices. Matters only where there are bills.", target, "estimate", "list")
}

// isTable reports whether an output is a table.
func isTable(output string) bool { return output == "table" || output == wideOutput }

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
