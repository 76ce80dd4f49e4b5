package dashboards_test

import (
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/dashboards"
)

// Files of the rules and of their tests for promtool, relative to this directory.
var (
	ruleFile = filepath.Join("rules", "promcost.yaml")
	testFile = filepath.Join("rules", "promcost_test.yaml")
)

// promql parses what a Prometheus without feature flags does.
var promql = parser.NewParser(parser.Options{})

// targetLabels are those that a scrape adds to every series.
var targetLabels = []string{"instance", "job"}

// alerts are the rules of the embedded file, which must all be alerts.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse(dashboards.Rules(), false, model.LegacyValidation, promql, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	var rules []rulefmt.Rule
	for _, g := range groups.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("there are no rules")
	}
	return rules
}

// oneHour is a Ledger whose last closed hour has nothing in it.
type oneHour struct{ set *allocation.Set }

func (h oneHour) Latest() (*allocation.Set, time.Time, error) { return h.set, h.set.Window.End, nil }

// exported are the labels of every metric that promcost exports, by name: those of the families table, and those that are
// registered as the program does it.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{}
	for _, s := range allocation.Subjects() {
		for _, f := range s.Families() {
			metrics[f.Name] = f.Labels
		}
	}
	end := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	set := allocation.NewSet(allocation.Window{Start: end.Add(-time.Hour), End: end}, allocation.NewDict())
	c, err := collector.New(oneHour{set}, collector.Config{})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	if _, err := collector.NewHealth(reg, "USD"); err != nil {
		t.Fatal(err)
	}
	reg.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gathered, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range gathered {
		names := []string{}
		for _, pair := range family.GetMetric()[0].GetLabel() {
			names = append(names, pair.GetName())
		}
		metrics[family.GetName()] = names
	}
	return metrics
}

func TestRulesReturnsACopy(t *testing.T) {
	file, err := os.ReadFile(ruleFile)
	if err != nil {
		t.Fatal(err)
	}
	changed := dashboards.Rules()
	clear(changed)
	if got := dashboards.Rules(); string(got) != string(file) {
		t.Errorf("Rules after the change of an earlier result: %d bytes that differ from the %d of %s", len(got), len(file), ruleFile)
	}
}

func TestExpressions(t *testing.T) {
	metrics := exported(t)
	for _, rule := range alerts(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			expr, err := promql.ParseExpr(rule.Expr)
			if err != nil {
				t.Fatal(err)
			}
			labels := slices.Clone(targetLabels) // of the series that the expression reads
			var grouping []string                // labels that it sums by or matches on
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				switch n := node.(type) {
				case *parser.VectorSelector:
					own, ok := metrics[n.Name]
					if !ok {
						t.Errorf("promcost exports no metric %q", n.Name)
					}
					labels = append(labels, own...)
					for _, m := range n.LabelMatchers {
						if m.Name != model.MetricNameLabel && !slices.Contains(own, m.Name) && !slices.Contains(targetLabels, m.Name) {
							t.Errorf("metric %s has no label %q", n.Name, m.Name)
						}
					}
				case *parser.AggregateExpr:
					grouping = append(grouping, n.Grouping...)
				case *parser.BinaryExpr:
					if n.VectorMatching != nil {
						grouping = append(grouping, n.VectorMatching.MatchingLabels...)
					}
				}
				return nil
			})
			for _, name := range grouping {
				if !slices.Contains(labels, name) {
					t.Errorf("no metric of the expression has a label %q", name)
				}
			}
		})
	}
}

func TestAlertsSayWhatToDo(t *testing.T) {
	for _, rule := range alerts(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			if rule.Record != "" || !strings.HasPrefix(rule.Alert, "Promcost") {
				t.Errorf("%q (record %q) is no alert whose name starts with Promcost", rule.Alert, rule.Record)
			}
			if severity := rule.Labels["severity"]; !slices.Contains([]string{"info", "warning"}, severity) {
				t.Errorf("severity is %q, want info or warning", severity)
			}
			for _, name := range []string{"summary", "description"} {
				if text := rule.Annotations[name]; !strings.HasSuffix(text, ".") {
					t.Errorf("annotation %s is no sentence: %q", name, text)
				}
			}
		})
	}
}

// unitTests is what is read here of promtool's test file.
type unitTests struct {
	Tests []struct {
		Name   string `yaml:"name"`
		Series []struct {
			Series string `yaml:"series"`
		} `yaml:"input_series"`
		Alerts []struct {
			Name   string      `yaml:"alertname"`
			Firing []yaml.Node `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

func readUnitTests(t *testing.T) unitTests {
	t.Helper()
	text, err := os.ReadFile(testFile)
	if err != nil {
		t.Fatal(err)
	}
	var tests unitTests
	if err := yaml.Unmarshal(text, &tests); err != nil {
		t.Fatal(err)
	}
	return tests
}

// TestUnitTestsUseExportedSeries keeps the unit tests from proving alerts over series that promcost does not export.
func TestUnitTestsUseExportedSeries(t *testing.T) {
	metrics := exported(t)
	for _, test := range readUnitTests(t).Tests {
		for _, s := range test.Series {
			series, err := promql.ParseMetric(s.Series)
			if err != nil {
				t.Errorf("%s: %v", test.Name, err)
				continue
			}
			name := series.Get(model.MetricNameLabel)
			own, ok := metrics[name]
			if !ok {
				t.Errorf("%s: promcost exports no metric %q", test.Name, name)
				continue
			}
			for label := range series.Map() {
				if label != model.MetricNameLabel && !slices.Contains(own, label) && !slices.Contains(targetLabels, label) {
					t.Errorf("%s: metric %s has no label %q", test.Name, name, label)
				}
			}
		}
	}
}

func TestEveryAlertIsUnitTested(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range readUnitTests(t).Tests {
		for _, a := range test.Alerts {
			if len(a.Firing) > 0 {
				fires[a.Name] = true
			} else {
				silent[a.Name] = true
			}
		}
	}
	for _, rule := range alerts(t) {
		if !fires[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: a test has it fire: %v, a test has it not fire: %v; want both", rule.Alert, fires[rule.Alert], silent[rule.Alert])
		}
	}
}

func TestPromtool(t *testing.T) {
	promtool := os.Getenv("PROMTOOL")
	if promtool == "" {
		promtool = filepath.Join("..", "bin", "promtool")
	}
	if _, err := os.Stat(promtool); err != nil {
		t.Fatalf("find promtool: %v: run make tools, or name the binary in PROMTOOL", err)
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", ruleFile},
		{"test", "rules", testFile},
	} {
		t.Run(args[0], func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
				t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		})
	}
}

// TestRunbook holds the runbook to the alerts, and what both advise to the flags that there are.
func TestRunbook(t *testing.T) {
	runbook, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile(filepath.Join("..", "REFERENCE.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (Promcost\w+)$`).FindAllSubmatch(runbook, -1) {
		sections[string(m[1])] = true
	}
	for _, rule := range alerts(t) {
		if !sections[rule.Alert] {
			t.Errorf("README.md has no section on %s", rule.Alert)
		}
		delete(sections, rule.Alert)
	}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		t.Errorf("README.md has a section on %s, which is no alert", name)
	}
	flags := strings.ReplaceAll(string(reference), "`--[no-]", "`--")
	for _, m := range regexp.MustCompile(`--(?:no-)?([a-z]+(?:[.-][a-z]+)*)`).FindAllStringSubmatch(string(runbook)+string(dashboards.Rules()), -1) {
		if !strings.Contains(flags, "`--"+m[1]) {
			t.Errorf("README.md or the rules name the flag %s, which is not in REFERENCE.md", m[0])
		}
	}
}
