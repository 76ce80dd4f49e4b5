package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// TestReference holds REFERENCE.md to the tables that it is made from: commands, flags, endpoints, parameters, metrics in and out.
func TestReference(t *testing.T) {
	var b strings.Builder
	referCommands(&b)
	referConfig(&b)
	referSheet(&b)
	referEndpoints(t, &b)
	referFilters(&b)
	referPromQL(&b)
	referFamilies(&b)
	referInputs(&b)
	referStores(&b)
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

// codes is a list of code.
func codes(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = code(name)
	}
	return strings.Join(list, ", ")
}

// contents is a line of links for each section and its subsections.
func contents(page string) string {
	var lines []string
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			lines = append(lines, "- **"+link(title)+"**")
		} else if title, ok := strings.CutPrefix(line, "### "); ok {
			lines[len(lines)-1] += " · " + link(title)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// link leads to a section of the page. Commands are called as they are typed after the program.
func link(title string) string {
	return fmt.Sprintf("[%s](#%s)", strings.TrimPrefix(title, "promcost "), anchor(title))
}

func referConfig(b *strings.Builder) {
	b.WriteString("\n## Config file\n\n`--config.file` names a YAML file. Every key is optional; unknown keys are errors. Flags win over it: " +
		"`--pricing.file` over `prices`, `--timezone` over `timeZone`. promcost reads it again at SIGHUP and, with `--web.enable-lifecycle`, at a POST or PUT to `/-/reload`. " +
		"A file with an error changes nothing: the error is logged, and `promcost_config_last_reload_successful` is 0. New computations use the new file; the costs on `/metrics` do from the next closed hour on. " +
		"`promcost check config` checks a file. Passwords and tokens do not belong in it.\n")
	table(b, "key", "value", "what")
	for _, k := range config.Keys() {
		line(b, code(k.Name), k.Value, k.Help)
	}
}

// referSheet tells the keys of price sheets, each with the lists that have it.
func referSheet(b *strings.Builder) {
	b.WriteString("\n## Price sheets\n\n`--pricing.file` names a YAML file with these keys, or a CSV file whose header has those of lists. " +
		"The first rule that matches and has a price sets it, else the default does; the price is multiplied by 1 − discount and by the multiplier. " +
		"Texts match as a whole, or as a prefix where they end in `*`. `from` and `to` are dates in UTC or RFC 3339 times. GiB are 2^30 bytes. `promcost check prices` checks a file.\n")
	type key struct{ names, value, help string }
	var keys []key
	lists := map[key][]string{}
	for _, k := range pricing.Keys() {
		row := key{codes(k.Names), k.Value, k.Help}
		if lists[row] == nil {
			keys = append(keys, row)
		}
		lists[row] = append(lists[row], cmp.Or(code(k.List), "the sheet itself"))
	}
	table(b, "key", "value", "in", "what")
	for _, k := range keys {
		line(b, k.names, k.value, strings.Join(lists[k], ", "), k.help)
	}
}

func referPromQL(b *strings.Builder) {
	b.WriteString("\n## PromQL\n\nCost series, for any past time, by Prometheus' own HTTP API, engine and JSON: give the URL of promcost where that of a Prometheus is asked for. " +
		"Parameters are those of https://prometheus.io/docs/prometheus/latest/querying/api/. A sample is of one hour, so an instant looks back for " + promapi.DefaultLookback.String() +
		", and a subquery without a step takes one of an hour. Paths: " + codes(promapi.Paths()) + ".\n")
}

func referFamilies(b *strings.Builder) {
	b.WriteString("\n## Metrics out\n\nCosts on `/metrics`. Metrics of promcost itself are there too: `promcost_computation_…`, `promcost_source_…`, `promcost_http_…`, `promcost_config_…` and `promcost_price_…`.\n")
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
	for _, f := range costseries.UsageFamilies() {
		line(b, code(f.Name), code(strings.Join(f.Labels, ",")), "only in PromQL", f.Help)
	}
	for _, f := range collector.BillFamilies() {
		line(b, code(f.Name), code(strings.Join(f.Labels, ",")), "always", f.Help)
	}
}

func referInputs(b *strings.Builder) {
	b.WriteString("\n## Metrics in\n\nThe metrics that promcost reads, the best alternative first, what is lost without them, and how to add them.\n")
	table(b, "input", "metrics", "without it", "how to add it")
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
