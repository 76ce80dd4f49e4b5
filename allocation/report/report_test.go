package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/promcost/promcost/allocation/report"
)

var update = flag.Bool("update", false, "write golden files")

// hostile is a name that is markup, a mention and a link in one language or another, and that a terminal obeys.
const hostile = "<script>alert(1)</script>|[x](https://evil)*b*_i_`c`@channel<!here>\x1b[31m\u202e"

// week is a report of a week that has something of everything. name is that of its rows.
func week(name string) *report.Report {
	monday := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	return &report.Report{
		Title: "Costs of " + name, By: "team", Currency: "USD", Prices: "as billed until 2026-11-22", URL: "https://costs.example.com/ui/?window=lastweek&x=<y>",
		Window: report.Window{Start: monday, End: monday.AddDate(0, 0, 7)}, Baseline: report.Window{Start: monday.AddDate(0, 0, -7), End: monday},
		Total: report.Row{Name: "total", Before: 100, After: 110, Causes: []report.Cause{{Title: "Changed requests", Amount: 15}, {Title: "Node prices", Amount: -5}}},
		Movers: []report.Row{
			{Name: name, Owner: "alice", Before: 10, After: 25, Causes: []report.Cause{{Title: "Changed requests", Amount: 15}}},
			{Name: "search", Before: 50, After: 45, Causes: []report.Cause{{Title: "Node prices", Amount: -5}}},
		},
		Unusual: []report.Unusual{{Name: name, Day: report.Window{Start: monday, End: monday.AddDate(0, 0, 1)}, Cost: 9, Expected: 3}},
		Budgets: []report.Budget{{Name: name, Period: "month", Prices: "billed", Amount: 100, Spent: new(90.0), Forecast: new(120.0)}, {Name: "new", Period: "week", Prices: "list", Amount: 5}},
		Savings: &report.Savings{Monthly: 40, More: 55.5, Prices: "at list prices", Largest: []report.Saving{{Name: name + "/web/app", CPU: "2000m → 300m", Memory: "4Gi → 1Gi", Monthly: 40}}},
		Quality: report.Quality{CoveredHours: 160, WindowHours: 168, Warnings: []string{"no costs of " + name}},
	}
}

// indented is a message as JSON for people.
func indented(t *testing.T, message any) string {
	t.Helper()
	text, err := json.MarshalIndent(message, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// page is the report as HTML.
func page(t *testing.T, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	r := week("payments")
	for name, got := range map[string]string{"week.md": r.Markdown(), "week.html": page(t, r), "slack.json": indented(t, r.Slack()), "teams.json": indented(t, r.Teams())} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // golden files are public
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-update rewrites it (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParts leaves out what is not known, and says why windows cannot be compared.
func TestParts(t *testing.T) {
	r := &report.Report{Title: "x", By: "team", Currency: "EUR", Prices: "at list prices", NotComparable: "17 of 175 h have data", Total: report.Row{After: 5, Causes: []report.Cause{{Title: "New workloads", Amount: 5}}}}
	text := r.Markdown()
	if !strings.Contains(text, "5.00 EUR at list prices, not comparable with before: 17 of 175 h have data") || strings.Contains(text, "New workloads") || strings.Contains(text, "## ") {
		t.Error(text)
	}
	if page := page(t, r); strings.Contains(page, "<svg") || strings.Contains(page, "<h2>") {
		t.Error(page)
	}
}

// TestNames: names are text in every form, whatever they look like.
func TestNames(t *testing.T) {
	checkForms(t, hostile)
}

func FuzzNames(f *testing.F) {
	f.Add(hostile)
	f.Add("a\nb\r\n# c\t|---|")
	f.Fuzz(func(t *testing.T, name string) { checkForms(t, name) })
}

// checkForms compares forms of a report with those of a report of a plain name: the same elements, lines and blocks.
func checkForms(t *testing.T, name string) {
	t.Helper()
	odd, plain := week(name), week("n")
	if a, b := elements(t, page(t, odd)), elements(t, page(t, plain)); a != b {
		t.Errorf("%q adds elements:\n%s\n%s", name, a, b)
	}
	if a, b := odd.Markdown(), plain.Markdown(); strings.Count(a, "\n") != strings.Count(b, "\n") || strings.Count(strings.ReplaceAll(a, `\|`, ""), "|") != strings.Count(b, "|") || strings.Contains(a, "@") {
		t.Errorf("%q is markup in\n%s", name, a)
	}
	var slack struct {
		Blocks []struct{ Text struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(indented(t, odd.Slack())), &slack); err != nil {
		t.Fatal(err)
	}
	for _, block := range slack.Blocks[:len(slack.Blocks)-1] { // the last is a link
		if len([]rune(block.Text.Text)) > 3000 || strings.ContainsAny(block.Text.Text, "<>") && block.Text.Text != slack.Blocks[0].Text.Text {
			t.Errorf("%q is a mention or too long in %q", name, block.Text.Text)
		}
	}
	if text := indented(t, odd.Teams()); strings.Contains(strings.ReplaceAll(text, `\\](`, ""), "](http") {
		t.Errorf("%q is a link in %s", name, text)
	}
}

// elements are the names of a page's elements in order.
func elements(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			b.WriteString(n.Data + " ")
		}
	}
	return b.String()
}

// TestOtherCauses sums up the causes that have no room, so that those of a row come to its change.
func TestOtherCauses(t *testing.T) {
	r := week("web")
	r.Movers = []report.Row{{Name: "web", Before: 1, After: 11.5, Causes: []report.Cause{{Title: "a", Amount: 9}, {Title: "b", Amount: -3}, {Title: "c", Amount: 2.5}, {Title: "d", Amount: 1.5}, {Title: "e", Amount: 0.5}}}}
	if text := r.Markdown(); !strings.Contains(text, "a +9.00, b -3.00, c +2.50, others +2.00 |") {
		t.Errorf("%s", text)
	}
}
