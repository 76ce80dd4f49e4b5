package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// propertySet is a set of one row with labels and services.
func propertySet(labels map[string]string) *allocation.Set {
	s := allocation.NewSet(allocation.Window{Start: time.Unix(0, 0), End: time.Unix(3600, 0)}, allocation.NewDict())
	r := allocation.Row{Start: s.Window.Start, End: s.Window.End, Labels: labels, Services: []string{"admin", "web"}}
	r.Text[allocation.Namespace] = "shop-eu"
	s.Append(&r)
	return s
}

// derive is the property x of an expression, where two aliases are mapped.
func derive(expr string) (*allocation.Derived, error) {
	text, err := yaml.Marshal(map[string]any{"properties": map[string]string{"x": expr}, "labelMapping": map[string][]string{"team": {"squad-name"}, "owner": {"owner", "who"}}})
	if err != nil {
		return nil, err
	}
	f, err := config.Parse("config.yaml", text)
	if err != nil {
		return nil, err
	}
	return f.Derived[0], nil
}

func TestConfiguredProperties(t *testing.T) {
	for _, tt := range []struct {
		expr   string
		labels map[string]string
		want   string
	}{
		{"labels.team || labels.owner || 'unowned'", map[string]string{"team": "a", "owner": "b"}, "a"},
		{"labels.team || labels.owner || 'unowned'", map[string]string{"owner": "b"}, "b"},
		{"labels.team || labels.owner || 'unowned'", nil, "unowned"},
		{"labels.team", nil, ""},
		{"labels.team", map[string]string{"x": "y"}, ""},
		{`labels."app.kubernetes.io/name"`, map[string]string{"app.kubernetes.io/name": "cart"}, "cart"},
		{`labels."app.kubernetes.io/name" || 'unowned'`, map[string]string{"app_kubernetes_io_name": "cart"}, "cart"},
		{`labels."app.kubernetes.io/name" || 'unowned'`, map[string]string{"app": "cart"}, "unowned"},
		{"labels.app_kubernetes_io_name", map[string]string{"app.kubernetes.io/name": "b", "app.kubernetes.io-name": "a"}, ""}, // either may be meant
		{"labels.costCenter", map[string]string{"cost_center": "7"}, "7"},
		{"labels.team", map[string]string{"team_conflict1": "a", "team_conflict2": "b"}, ""},
		{"join(' ', [labels.team, labels.Team])", map[string]string{"team_conflict1": "a", "team_conflict2": "b"}, "b a"},
		{`labels."a.b"`, map[string]string{"a.b": "raw", "a_b": "written"}, "raw"},
		{`labels."a/b"`, map[string]string{"a.b": "raw", "a_b": "written"}, "written"},
		{`label_match({"a.b": 'x'}, labels)`, map[string]string{"a_b": "x"}, "true"},
		{"team", map[string]string{"squad_name": "a"}, "a"},
		{"team || 'none'", map[string]string{"team": "a"}, "none"},
		{"owner", map[string]string{"owner": "a", "who": "b"}, "a/b"},
		{"split(namespace, '-') | [1]", nil, "eu"},
		{"length(services)", nil, "2"},
		{"contains(services, 'admin')", nil, "true"},
		{"services", nil, ""},
		{"@.namespace", nil, "shop-eu"},
		{"to_number(labels.size) > `5`", map[string]string{"size": "7"}, "true"},
		{"divide(labels.size, '0')", map[string]string{"size": "7"}, ""},
	} {
		d, err := derive(tt.expr)
		if err != nil {
			t.Error(tt.expr, err)
			continue
		}
		if got := d.Text(propertySet(tt.labels), 0); got != tt.want {
			t.Errorf("%s of %v: %q, want %q", tt.expr, tt.labels, got, tt.want)
		}
	}
}

// TestProblemsOfProperties says why an expression gives no text for anything.
func TestProblemsOfProperties(t *testing.T) {
	for expr, want := range map[string]string{
		"services": "the result is a list: select one element, such as [0], or join them", "labels": "the result is a map",
		"labels.team": `Unknown key "team" in path`, "labels.team || ''": "", "labels.x": "", "labels.nothing && 'x'": "",
		"join('', [labels.x, labels.x]) | [@,@,@,@,@,@,@,@,@,@] | [@,@,@,@,@,@,@,@,@,@] | [@,@,@,@,@,@,@,@,@,@] | [@,@,@,@,@,@,@,@,@,@] | [@,@,@,@,@,@,@,@,@,@] | to_string(@)": "steps",
	} {
		d, err := derive(expr)
		if err != nil {
			t.Error(expr, err)
			continue
		}
		got := d.Problem([]*allocation.Set{propertySet(map[string]string{"x": "y"})})
		if got == "" != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// TestPropertiesOfCollidingLabels: an expression that reads a label which collides with another one goes on without it, and says so.
func TestPropertiesOfCollidingLabels(t *testing.T) {
	const (
		of     = "property x: label %s: its name collides with others, which are exported as %s_conflict1 and %[2]s_conflict2, and their values differ; 1 of 1 allocation is taken to have none"
		remedy = ": let the expression name all labels that collide, as they are in Kubernetes, or one of the exported ones"
	)
	for expr, want := range map[string]struct{ text, problem string }{
		"labels.team || 'none'":                   {"none", fmt.Sprintf(of, "team", "team") + remedy},
		"labels.team":                             {"", fmt.Sprintf(of, "team", "team") + remedy},
		"labels.squad || labels.Team || 'none'":   {"none", fmt.Sprintf(of, "Team", "team") + remedy},
		"team || 'none'":                          {"none", fmt.Sprintf(of, "squad-name", "squad_name") + remedy},
		"labels.team || labels.Team":              {"b", ""},
		"labels.team_conflict1":                   {"a", ""},
		"labels.app || 'none'":                    {"shop", ""},
		"labels.none || labels.nothing || 'none'": {"none", ""},
	} {
		d, err := derive(expr)
		if err != nil {
			t.Error(expr, err)
			continue
		}
		set := propertySet(map[string]string{"team_conflict1": "a", "team_conflict2": "b", "squad_name_conflict1": "c", "squad_name_conflict2": "d", "app": "shop"})
		if got, problem := d.Text(set, 0), d.Problem([]*allocation.Set{set}); got != want.text || problem != want.problem {
			t.Errorf("%s: %q, %q, want %q, %q", expr, got, problem, want.text, want.problem)
		}
	}
}

func TestConfigOfProperties(t *testing.T) {
	c, err := config.Parse("config.yaml", []byte("properties:\n  unit: namespace\n  team: \"labels.team || labels.owner || 'unowned'\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	aliases, err := config.Parse("config.yaml", []byte("properties:\n  unit: team\nlabelMapping: {team: squad}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := aliases.Derived[0].Text(propertySet(map[string]string{"squad": "a", "team": "b"}), 0); got != "a" {
		t.Errorf("an alias that is mapped later: %q", got)
	}
	var names []string
	for _, d := range c.Derived {
		names = append(names, d.Name())
	}
	if diff := cmp.Diff([]string{"team", "unit"}, names); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct{ text, want string }{
		{"properties: [a]", "properties is not made of keys"},
		{"properties:\n  team: labels.", "line 2: properties.team: parse JMESPath: column 8"},
		{"properties:\n  team: nosuch(labels)", "unknown function nosuch"},
		{"properties:\n  team: lables.team", `properties.team: there is no property "lables" to compute from: did you mean labels?`},
		{"properties:\n  namespace: labels.ns", `properties.namespace: name "namespace" of a property is taken`},
		{"properties:\n  a b: labels.ns", "use letters, digits"},
		{"properties:\n  age: time_now()", "function time_now may give something else each time"},
		{"properties:\n  a: namespace\n  A: namespace", "differs from a in case only"},
		{"properties:\n  team: {a: b}", "properties.team is no text"},
	} {
		_, err := config.Parse("config.yaml", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "config.yaml") {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestProblemOfSomeServices prefers what is wrong with an expression to what some rows lack.
func TestProblemOfSomeServices(t *testing.T) {
	d, err := derive("services")
	if err != nil {
		t.Fatal(err)
	}
	without := allocation.NewSet(allocation.Window{Start: time.Unix(0, 0), End: time.Unix(3600, 0)}, allocation.NewDict())
	without.Append(&allocation.Row{Start: without.Window.Start, End: without.Window.End})
	const want = "property x is missing everywhere: the result is a list: select one element, such as [0], or join them"
	if got := d.Problem([]*allocation.Set{without, propertySet(nil)}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBudgetsKnowConfiguredLabels filters a budget by one of two labels whose names collide. The other one is configured.
func TestBudgetsKnowConfiguredLabels(t *testing.T) {
	set := propertySet(map[string]string{"team_conflict1": "big", "team_conflict2": "small"})
	for filter, want := range map[string]bool{`label[team]:"small"`: true, `label[Team]:"small"`: false, `label[Team]:"big"`: true} {
		s := &config.Settings{Zone: time.UTC, File: config.File{
			LabelNames: labelnames.NewNames("Team", "team"), Budgets: []config.Budget{{Name: "b", Filter: filter, Amount: 1, Period: "day"}},
		}}
		budgets, err := s.MeteredBudgets()
		if err != nil {
			t.Fatal(err)
		}
		match, err := budgets[0].Options.Filter.Bind(set)
		if err != nil {
			t.Fatal(err)
		}
		if got := match(0); got != want {
			t.Errorf("%s: %v, want %v", filter, got, want)
		}
	}
}
