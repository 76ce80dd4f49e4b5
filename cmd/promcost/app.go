package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// executor carries out a subcommand whose flags have been parsed.
type executor func(ctx context.Context) error

// streams are the input and the outputs of a subcommand.
type streams struct {
	in  io.Reader // answers that were saved
	out io.Writer // what people read: nothing that a terminal obeys gets through
	raw io.Writer // answers in formats for programs, as they are unless they go to a terminal
	err io.Writer // logs and progress

	width int // cells in a line of the terminal that out is; 0 is any number
}

// layout is that of tables: as wide as they are where -o wide asks for that, else as wide as the terminal.
func (s *streams) layout(output string) texttable.Layout {
	return texttable.Layout{Width: s.width, Wide: output == wideOutput}
}

// subcommands are the rows of the command line: each adds its flags to its clause and returns what carries it out.
var subcommands = []struct {
	name, help string
	define     func(clause *kingpin.CmdClause, io streams, logs *logFlags) executor
}{
	{"serve", "Compute costs from a Prometheus or from TSDB blocks, and serve them over HTTP and as metrics.", defineServe},
	{"demo", "Run a demo with a generated cluster. It needs no Prometheus and no Kubernetes.", defineDemo},
	{"backfill", "Compute past closed hours that a history lacks, and sum them into days.", defineBackfill},
	{"history ls", "List the hours and days that a history has.", defineHistoryList},
	{"history verify", "Read every file of a history and check that it is sound.", defineHistoryVerify},
	{"history export", "Write allocations of a history as CSV, Parquet or FOCUS.", defineHistoryExport},
	{"history rm", "Remove the hours and days of a window from a history.", defineHistoryRemove},
	{"query allocation", "Print what workloads cost over a window.", defineQueryAllocation},
	{"query change", "Print why costs changed between two windows. Also: query why.", defineQueryChange},
	{"predict", "Print what rendered manifests would cost a month, what they cost now, and the difference.", definePredict},
	{"query savings", "Print what containers should request, what that saves and what it risks.", defineQuerySavings},
	{"query nodes", "Print what pools of nodes are used for, and what would be saved without them.", defineQueryNodes},
	{"query assets", "Print what nodes, disks, load balancers and the like cost.", defineQueryAssets},
	{"query budgets", "Print how budgets stand, and what they will come to.", defineQueryBudgets},
	{"savings backtest", "Print how recommended requests would have done on the days of a history: what is requested in vain, against how often usage is above.", defineSavingsBacktest},
	{"report", "Report what a window cost, why that changed, what was unusual and what to save: as Markdown, HTML, or a message to a webhook.", defineReport},
	{"kubectl allocation", "Print what workloads cost over a window, asking the promcost in kubectl's cluster. Also: kubectl promcost allocation.", defineKubectlAllocation},
	{"kubectl change", "Print why costs changed between two windows, asking the promcost in kubectl's cluster. Also: kubectl promcost change, or why.", defineKubectlChange},
	{"kubectl savings", "Print what containers should request, asking the promcost in kubectl's cluster. Also: kubectl promcost savings.", defineKubectlSavings},
	{"kubectl nodes", "Print what pools of nodes are used for, and what would be saved without them, asking the promcost in kubectl's cluster. Also: kubectl promcost nodes.", defineKubectlNodes},
	{"kubectl assets", "Print what nodes, disks, load balancers and the like cost, asking the promcost in kubectl's cluster. Also: kubectl promcost assets.", defineKubectlAssets},
	{"kubectl budgets", "Print how budgets stand, asking the promcost in kubectl's cluster. Also: kubectl promcost budgets.", defineKubectlBudgets},
	{"mcp", "Serve a running promcost to assistants on standard input and output (Model Context Protocol).", defineMCP},
	{"filter", "Apply a filter to a saved API response and print the names that match.", defineFilter},
	{"check source", "Check, per cluster, which required metrics the source has, what you lose without the missing ones, and how to add them.", defineCheckSource},
	{"check bills", "Check bills: which days they cover, which lines match nodes, volumes and other assets of a source, which do not, and how to fix that.", defineCheckBills},
	{"check prices", "Check prices: warn of those that look wrong, and say where the prices of a source's nodes, volumes, load balancers, control planes and traffic come from.", defineCheckPrices},
	{"prices import", "Make a price sheet of a file of OpenCost, Kubecost or Karpenter: default.json, a ConfigMap of custom prices, a CSV of prices, or initial-prices.json of Karpenter's provider for Google Cloud.", definePricesImport},
	{"prices fetch", "Fetch what AWS, Azure and Google list for machines, volumes and load balancers, for --pricing.list.", defineFetchPrices},
	{"check config", "Check a config file and print what it sets.", defineCheckConfig},
	{"jp query", "Evaluate JMESPath expressions, in Kyverno's dialect, over JSON or YAML.", defineJPQuery},
	{"jp function", "List the functions of JMESPath expressions.", defineJPFunction},
	{"jp parse", "Print JMESPath expressions as trees.", defineJPParse},
	{"dashboards", "Write the Grafana dashboards and the Prometheus rules that belong to promcost.", defineDashboards},
	{"manifests", "Print what Kubernetes needs to run promcost, or write a Helm chart of it. Flags of serve become those of its container.", defineManifests},
	{"bounds", "Print the least and most run time counted per true run time, by resolution and pod lifetime: 1.00 is exact, -1.00 may be missed altogether.", defineBounds},
	{"completion", "Print completions of commands and flags for a shell.", defineCompletion},
	{"version", "Print the version.", defineVersion},
}

// setKingpin sets options of the library that are global to a process.
func setKingpin() {
	kingpin.EnableFileExpansion = false // an argument may begin with @, as expressions of JMESPath do
	kingpin.ManPageTemplate, kingpin.BashCompletionTemplate = manPage, bashCompletion
}

// newApp is the command line and what carries out its subcommands, by their full names.
func newApp(io streams) (*kingpin.Application, map[string]executor) {
	app := kingpin.New("promcost", "What Kubernetes workloads cost, from the metrics that a Prometheus already has.")
	app.HelpFlag.Short('h').Help("Show what the command does and its flags.")
	app.Version(versionText())
	app.VersionFlag.Help("Print the version.")
	app.UsageTemplate(usageTemplate()).UsageFuncs(usageFuncs(version.Version, sourceDate))
	logs := addLogFlags(app)
	if s, ok := io.err.(*screen); ok {
		s.logs = logs
	}
	executors := defineAll(app, io, logs)
	if _, err := app.ParseContext(nil); err == nil { // it makes the help command
		app.HelpCommand.GetArg("command").HintAction(func() []string { return commandWords(app) })
	}
	return app, executors
}

// commandWords are the words of commands, for shells that complete what follows help.
func commandWords(app *kingpin.Application) (words []string) {
	for _, c := range app.Model().FlattenedCommands() {
		words = append(words, strings.Fields(c.FullCommand)...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// newStreams are the streams of a process.
func newStreams(stdout, stderr io.Writer) streams {
	s := streams{in: os.Stdin, out: &visible.Writer{W: stdout}, raw: stdout, err: &screen{w: stderr}, width: widthOf(stdout)}
	if isTerminal(stdout) {
		s.raw = s.out
	}
	return s
}

// parse reads the command line. It returns nil after help and version, which it prints itself.
func parse(args []string, stdout, stderr io.Writer) (executor, error) {
	var printed bytes.Buffer // what kingpin prints, up to the first time that it would end the process
	ends := 0
	app, executors := newApp(newStreams(stdout, stderr))
	app.UsageWriter(&printed).ErrorWriter(&printed)
	app.Terminate(func(int) {
		ends++
		app.UsageWriter(io.Discard).ErrorWriter(io.Discard)
	})

	if len(args) > 1 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help") // kingpin's help does not report mistyped flags
	}
	name, err := app.Parse(args)
	if errors.Is(err, kingpin.ErrCommandNotSpecified) && ends == 1 {
		_, _ = printed.WriteTo(stderr)
		return nil, errors.New("no command given: name one of those above")
	}
	if ends > 0 {
		_, err = printed.WriteTo(stdout)
		return nil, err
	}
	if err != nil {
		return nil, explainMistake(app, args, err)
	}
	return executors[name], nil
}

// defineAll adds all subcommands to app and returns what carries them out, by their full names.
func defineAll(app *kingpin.Application, io streams, logs *logFlags) map[string]executor {
	executors := make(map[string]executor, len(subcommands))
	groups := map[string]*kingpin.CmdClause{}
	for _, sub := range subcommands {
		clause := app.Command
		name := sub.name
		if group, rest, ok := strings.Cut(sub.name, " "); ok {
			if groups[group] == nil {
				groups[group] = app.Command(group, "")
			}
			clause, name = groups[group].Command, rest
		}
		executors[sub.name] = sub.define(clause(name, sub.help), io, logs)
	}
	return executors
}

// defineVersion is the version subcommand.
func defineVersion(_ *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return func(context.Context) error {
		return writeLine(io.out, versionText())
	}
}

// counted returns a sentence about n things by a template as notices.Notice has it, and appends what follows the sentence.
func counted(n int, template notices.Notice, more ...any) string {
	texts := make([]string, len(more))
	for i, x := range more {
		texts[i] = fmt.Sprint(x)
	}
	return template.Text(n, nil, texts...)
}

// writeLine writes text and a line feed.
func writeLine(w io.Writer, text string) error {
	_, err := io.WriteString(w, text+"\n")
	return err
}
