package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promapi"
)

// TestReference holds REFERENCE.md to the tables that it is made from: flags, parameters, metrics in and out.
func TestReference(t *testing.T) {
	var b strings.Builder
	referFlags(&b)
	referConfig(&b)
	referSheet(&b)
	referParameters(&b)
	referFilters(&b)
	b.WriteString(answers)
	referPromQL(&b)
	referFamilies(&b)
	referInputs(&b)
	text := "# Reference\n\n`make generate` makes this page from the program's own tables.\n\n" + contents(b.String()) + b.String()

	file := filepath.Join("..", "..", "REFERENCE.md")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Error("REFERENCE.md is out of date: run `make generate`")
	}
}

// answers describes the parts of promcost's answers that Kubecost and OpenCost do not have.
const answers = `
## HTTP answers

Allocations and assets are as Kubecost and OpenCost send them. Beside their ` + "`data`" + `, answers that were computed have ` +
	"`resolution`" + `, the one that was used (` + "`1m`, `exact`" + `), and with ` + "`explain=true`" + ` one element of ` + "`computations`" + ` for each computation behind them:

    "explain": {"computations": [{
      "window": {"start": …, "end": …}, "resolution": "1m", "scrapeInterval": "30s",
      "seconds": {"total": 0.31, "read": 0.2, "integrate": 0.1},
      "sources": [{"name": "blocks", "until": …, "seconds": …, "requests": …, "samples": …, "bytes": …, "series": …},
                  {"name": "remote-read", "from": …, …}],
      "stages": [{"name": "inputs", "seconds": …, "requests": …, "samples": …, "bytes": …}, …],
      "inputs": [{"name": "running", "alternatives": [{"metric": "kube_pod_container_status_running", "series": …, "samples": …,
                  "clusters": [{"cluster": "prod", "series": …, "samples": …}]}]}, …]}]}

` + "`read` and `integrate`" + ` are estimates from some of the series; seconds of sources and stages contain the integration of what
they gave. The data of ` + "`/model/diagnose`, and of `promcost check source -o json`" + `:

    {"window": {"start": …, "end": …}, "complete": true, "oldest": …, "sources": [as above],
     "clusters": [{"cluster": "prod", "scrapeInterval": "30s", "oldest": …, "newest": …, "uncovered": [{"start": …, "end": …}], "inputs": [
       {"name": "running", "state": "found", "required": true, "scrapeInterval": "30s", "oldest": …, "newest": …,
        "alternatives": [{"metric": "kube_pod_container_status_running", "series": 180}]},
       {"name": "pod labels", "state": "missing", "required": false, "alternatives": [],
        "missing": "no cost by label", "remedy": "run kube-state-metrics with …"}, …]}]}

A state is ` + "`found`" + ` (the best alternative is there), ` + "`fallback`" + ` (a later one is), ` + "`none`" + ` (there is nothing of the kind, which may be
right) or ` + "`missing`; `complete`" + ` says that no required input is missing, in no part of the window; parts of 15 minutes in which one is are
` + "`uncovered`" + `, and at the end of the window those of 5 minutes and two scrapes. ` + "`oldest`" + ` is
that of all samples where the source knows it, else of those in the window. What is not known is left out.
`

// table writes the head of a table.
func table(b *strings.Builder, columns ...string) {
	b.WriteString("\n| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat(" --- |", len(columns)) + "\n")
}

// line writes a line of a table.
func line(b *strings.Builder, cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// code is text in code style; empty text stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// contents lists the sections of a page, each with a link.
func contents(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			fmt.Fprintf(&b, "- [%s](#%s)\n", title, strings.ReplaceAll(strings.ToLower(title), " ", "-"))
		}
	}
	return b.String()
}

// setting is a flag or a parameter of one place: a command, or a path.
type setting struct{ name, values, def, help string }

// settingsTable writes one table of all settings. A row names the places that have it, with their defaults where these differ.
func settingsTable(b *strings.Builder, columns []string, places []string, of func(place string) []setting) {
	type row struct{ name, values, help string }
	var rows []row
	defaults := map[row][]string{} // in the order of in
	in := map[row][]string{}
	for _, place := range places {
		for _, s := range of(place) {
			r := row{s.name, s.values, s.help}
			if in[r] == nil {
				rows = append(rows, r)
			}
			in[r], defaults[r] = append(in[r], place), append(defaults[r], s.def)
		}
	}
	table(b, columns...)
	for _, r := range rows {
		where := strings.Join(in[r], ", ")
		if others := without(places, in[r]); len(others) == 0 {
			where = "all"
		} else if len(others) < min(len(in[r]), 4) {
			where = "all but " + strings.Join(others, ", ")
		}
		cells := []string{code(r.name), r.values, defaultsOf(in[r], defaults[r]), where, r.help}
		if r.values == "" {
			cells = slices.Delete(cells, 1, 2)
		}
		line(b, cells...)
	}
}

// without returns the places that are not in some.
func without(places, some []string) (out []string) {
	for _, place := range places {
		if !slices.Contains(some, place) {
			out = append(out, place)
		}
	}
	return out
}

// defaultsOf is one default where all places have the same, else each with its places.
func defaultsOf(places, defaults []string) string {
	var distinct []string
	in := map[string][]string{}
	for i, d := range defaults {
		if in[d] == nil {
			distinct = append(distinct, d)
		}
		in[d] = append(in[d], places[i])
	}
	if len(distinct) == 1 {
		return code(distinct[0])
	}
	for i, d := range distinct {
		distinct[i] = fmt.Sprintf("%s (%s)", cmp.Or(code(d), "none"), strings.Join(in[d], ", "))
	}
	return strings.Join(distinct, "; ")
}

func referFlags(b *strings.Builder) {
	app, _ := newApp(streams{out: io.Discard, err: io.Discard})
	model := app.Model()
	b.WriteString("\n## Commands\n\n`promcost help COMMAND` shows the flags of a command, by groups.\n")
	table(b, "command", "what")
	var commands []string
	flags := map[string][]setting{}
	for _, c := range model.FlattenedCommands() {
		if c.Name == "help" {
			continue
		}
		line(b, code("promcost "+c.FullCommand), c.Help)
		if len(c.Flags) > 0 {
			commands = append(commands, c.FullCommand)
			flags[c.FullCommand] = flagsOf(c.Flags)
		}
	}
	b.WriteString("\n## Flags\n\nOf all commands:\n")
	table(b, "flag", "default", "what")
	for _, f := range flagsOf(model.Flags) {
		line(b, code(f.name), code(f.def), f.help)
	}
	b.WriteString("\nOf some:\n")
	settingsTable(b, []string{"flag", "default", "commands", "what"}, commands, func(command string) []setting { return flags[command] })
}

func flagsOf(flags []*kingpin.FlagModel) (out []setting) {
	for _, f := range flags {
		name := "--" + f.Name
		if f.IsBoolFlag() && f.Name != "help" && f.Name != "version" {
			name = "--[no-]" + f.Name
		}
		if !f.Hidden && f.Name != "web.systemd-socket" { // only on Linux
			out = append(out, setting{name: name, def: strings.Join(f.Default, " "), help: f.Help})
		}
	}
	return out
}

func referConfig(b *strings.Builder) {
	b.WriteString("\n## Config file\n\n`--config.file` names a YAML file. Every key is optional; keys that are not known are errors. Flags that are given win over it: " +
		"`--pricing.file` over `prices`, `--timezone` over `timeZone`. It is read again at SIGHUP and, with `--web.enable-lifecycle`, at a POST or PUT to `/-/reload`, whole or not at all: " +
		"an error is logged, shown by `promcost_config_last_reload_successful`, and leaves everything as it was. What is computed from then on uses it; the costs on `/metrics` do from the next closed hour on. `promcost check config` checks a file. " +
		"Passwords and tokens have no place in it.\n")
	table(b, "key", "value", "what")
	for _, k := range config.Keys() {
		line(b, code(k.Name), k.Value, k.Help)
	}
}

func referSheet(b *strings.Builder) {
	b.WriteString("\n## Price sheets\n\n`--pricing.file` names a YAML file with these keys, or a CSV file whose header has those of lists. " +
		"Each price is that of the first rule which matches and has it, else the default; it is multiplied by 1 − discount and by the multiplier. " +
		"Texts match as a whole, or as a prefix where they end in `*`. `from` and `to` are dates in UTC or RFC 3339 times. GiB are 2^30 bytes. `promcost check prices` checks a file.\n")
	table(b, "list", "key", "value", "what")
	for _, k := range pricing.Keys() {
		names := make([]string, len(k.Names))
		for i, name := range k.Names {
			names[i] = code(name)
		}
		line(b, code(k.List), strings.Join(names, ", "), k.Value, k.Help)
	}
}

func referParameters(b *strings.Builder) {
	b.WriteString("\n## HTTP parameters\n\nThe paths below `/model` are Kubecost's, the others OpenCost's. An empty value means not given. " +
		"The table of parameters names paths by these letters:\n")
	table(b, "letter", "paths", "taken, for clients send them, and without effect")
	var letters []string
	same := map[string]string{} // letters of paths that take the same parameters
	paths := map[string][]string{}
	for _, path := range costapi.Paths() {
		parameters := fmt.Sprint(costapi.Parameters(path))
		if len(costapi.Parameters(path)) == 0 {
			continue
		}
		if same[parameters] == "" {
			same[parameters] = string(rune('A' + len(letters)))
			letters = append(letters, same[parameters])
		}
		paths[same[parameters]] = append(paths[same[parameters]], path)
	}
	for _, letter := range letters {
		var ignored []string
		for _, p := range costapi.Parameters(paths[letter][0]) {
			if p.Ignored {
				ignored = append(ignored, code(p.Name))
			}
		}
		line(b, letter, code(strings.Join(paths[letter], "`, `")), strings.Join(ignored, ", "))
	}
	settingsTable(b, []string{"parameter", "values", "default", "paths", "what"}, letters, func(letter string) (out []setting) {
		for _, p := range costapi.Parameters(paths[letter][0]) {
			if !p.Ignored {
				out = append(out, setting{strings.Join(append([]string{p.Name}, p.Aliases...), "`, `"), p.Type, p.Default, p.Help})
			}
		}
		return out
	})
}

func referPromQL(b *strings.Builder) {
	b.WriteString("\n## PromQL\n\nCost series, for any past time, by Prometheus' own HTTP API, engine and JSON: give the URL of promcost where that of a Prometheus is asked for. " +
		"Parameters are those of https://prometheus.io/docs/prometheus/latest/querying/api/. A sample is of one hour, so an instant looks back for " + promapi.DefaultLookback.String() +
		", and a subquery without a step takes one of an hour.\n\n")
	for _, path := range promapi.Paths() {
		fmt.Fprintf(b, "- `%s`\n", path)
	}
}

func referFamilies(b *strings.Builder) {
	b.WriteString("\n## Metrics out\n\nWhat `/metrics` says of costs. promcost's own health is there too, as `promcost_computation_…`, `promcost_source_…`, `promcost_http_…`, `promcost_config_…` and `promcost_price_…`.\n")
	table(b, "metric", "labels", "collector", "what")
	for _, s := range metering.Subjects() {
		for _, f := range s.Families() {
			shown := s.Collector()
			if s.Billed {
				shown = "only in PromQL"
			}
			line(b, code(f.Name), code(strings.Join(f.Labels, ",")), shown, f.Help)
		}
	}
	for _, f := range collector.BillFamilies() {
		line(b, code(f.Name), code(strings.Join(f.Labels, ",")), "always", f.Help)
	}
}

func referInputs(b *strings.Builder) {
	b.WriteString("\n## Metrics in\n\nWhat is read, the best alternative first, and what it costs not to have it.\n")
	table(b, "input", "metrics", "without it", "remedy")
	for _, in := range promquery.Inputs {
		var metrics []string
		for _, a := range in.Alternatives {
			var matchers []string
			for _, m := range a.Matchers {
				op := map[promquery.MatchType]string{
					promquery.MatchEqual: "=", promquery.MatchNotEqual: "!=", promquery.MatchRegexp: "=~", promquery.MatchNotRegexp: "!~",
				}[m.Type]
				matchers = append(matchers, fmt.Sprintf("%s%s%q", m.Name, op, m.Value))
			}
			selector := strings.Join(matchers, ",")
			if selector != "" {
				selector = "{" + selector + "}"
			}
			metrics = append(metrics, code(a.Metric+selector))
		}
		line(b, in.Name, strings.Join(metrics, " · "), in.Missing, in.Remedy)
	}
}
