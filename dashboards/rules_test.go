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

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/dashboards"
)

// Files of the rules and of their tests for promtool, relative to this directory.
var (
	ruleFiles = []string{filepath.Join("rules", "costs.yaml"), filepath.Join("rules", "promcost.yaml")}
	testFiles = []string{filepath.Join("rules", "costs_test.yaml"), filepath.Join("rules", "promcost_test.yaml")}
)

// ruleList are the rules of all embedded files.
func ruleList(t *testing.T) []rulefmt.Rule {
	t.Helper()
	var rules []rulefmt.Rule
	for _, f := range dashboards.Rules() {
		groups, errs := rulefmt.Parse(f.Text, false, model.LegacyValidation, parse, slog.New(slog.DiscardHandler))
		for _, err := range errs {
			t.Errorf("%s: %v", f.Name, err)
		}
		if groups == nil {
			t.FailNow()
		}
		for _, g := range groups.Groups {
			rules = append(rules, g.Rules...)
		}
	}
	if len(rules) == 0 {
		t.Fatal("there are no rules")
	}
	return rules
}

// alerts are the rules that alert; the others record.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	return slices.DeleteFunc(ruleList(t), func(r rulefmt.Rule) bool { return r.Alert == "" })
}

func TestRulesReturnsACopy(t *testing.T) {
	for i, path := range ruleFiles {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		clear(dashboards.Rules()[i].Text)
		if got := dashboards.Rules()[i]; got.Name != filepath.ToSlash(path) || string(got.Text) != string(file) {
			t.Errorf("after the change of an earlier result: %s with %d bytes, want the %d of %s", got.Name, len(got.Text), len(file), path)
		}
	}
}

func TestRuleExpressions(t *testing.T) {
	metrics := exported(t)
	for _, rule := range ruleList(t) {
		t.Run(rule.Alert+rule.Record, func(t *testing.T) { checkExpr(t, rule.Expr, metrics) })
	}
}

// TestRecordedSeriesAreOfRulesOnly has dashboards work without the rules: promcost's own API has no recorded series.
func TestRecordedSeriesAreOfRulesOnly(t *testing.T) {
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		for _, rule := range ruleList(t) {
			if rule.Record != "" && strings.Contains(string(f.Text), rule.Record) {
				t.Errorf("%s reads %s, which promcost's own API has not", f.Name, rule.Record)
			}
		}
	}
}

func TestAlertsSayWhatToDo(t *testing.T) {
	for _, rule := range alerts(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			if !strings.HasPrefix(rule.Alert, "Promcost") {
				t.Errorf("the name of the alert %q does not start with Promcost", rule.Alert)
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

// TestAlertsSayHowToTryThem looks for it in the comment above each alert.
func TestAlertsSayHowToTryThem(t *testing.T) {
	said := regexp.MustCompile(`(?m)^ +# Try it: [^\n]+\.\n +- alert: (\w+)$`)
	var known []string
	for _, f := range dashboards.Rules() {
		for _, m := range said.FindAllSubmatch(f.Text, -1) {
			known = append(known, string(m[1]))
		}
	}
	for _, rule := range alerts(t) {
		if !slices.Contains(known, rule.Alert) {
			t.Errorf("nothing above %s says how to try it", rule.Alert)
		}
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
	var all unitTests
	for _, path := range testFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var tests unitTests
		if err := yaml.Unmarshal(text, &tests); err != nil {
			t.Fatal(err)
		}
		all.Tests = append(all.Tests, tests.Tests...)
	}
	return all
}

// TestUnitTestsUseExportedSeries keeps the unit tests from proving alerts over series that promcost does not export.
func TestUnitTestsUseExportedSeries(t *testing.T) {
	metrics := exported(t)
	for _, test := range readUnitTests(t).Tests {
		for _, s := range test.Series {
			series, err := parse.ParseMetric(s.Series)
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
		append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, ruleFiles...),
		append([]string{"test", "rules"}, testFiles...),
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
	advice := string(runbook)
	for _, rule := range ruleList(t) {
		advice = strings.Join([]string{advice, rule.Annotations["summary"], rule.Annotations["description"]}, "\n")
	}
	flags := strings.ReplaceAll(string(reference), "`--[no-]", "`--")
	for _, m := range regexp.MustCompile(`--(?:no-)?([a-z]+(?:[.-][a-z]+)*)`).FindAllStringSubmatch(advice, -1) {
		if !strings.Contains(flags, "`--"+m[1]) {
			t.Errorf("README.md or the rules name the flag %s, which REFERENCE.md does not know", m[0])
		}
	}
}
