package dashboards_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/promcost/promcost/dashboards"
)

// board is what the tests read of a dashboard's JSON.
type board struct {
	UID         string   `json:"uid"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Schema      int      `json:"schemaVersion"`
	Time        struct{ From, To string }
	Links       []boardLink `json:"links"`
	Templating  struct {
		List []struct {
			Name, Type string
			Query      string `json:"query"`
			Options    []struct{ Text, Value string }
			Datasource *sourceRef `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type boardLink struct {
	Type        string   `json:"type"`
	URL         string   `json:"url"`
	Tags        []string `json:"tags"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
}

type sourceRef struct{ Type, UID string }

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Pos         struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Datasource  sourceRef   `json:"datasource"`
	FieldConfig fieldConfig `json:"fieldConfig"`

	Transformations []struct {
		Options struct {
			RenameByName map[string]string `json:"renameByName"`
		} `json:"options"`
	} `json:"transformations"`
	Targets []struct {
		Expr       string    `json:"expr"`
		RefID      string    `json:"refId"`
		Datasource sourceRef `json:"datasource"`
		Instant    bool      `json:"instant"`
		Range      bool      `json:"range"`
		Format     string    `json:"format"`
		Legend     string    `json:"legendFormat"`
	} `json:"targets"`
}

type fieldConfig struct {
	Defaults struct {
		Unit string `json:"unit"`
	} `json:"defaults"`
	Overrides []struct {
		Properties []struct {
			ID    string `json:"id"`
			Value any    `json:"value"`
		} `json:"properties"`
	} `json:"overrides"`
}

// readBoards decodes all dashboards, in dollars.
func readBoards(t *testing.T) []board {
	t.Helper()
	var boards []board
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		var b board
		if err := json.Unmarshal(f.Text, &b); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if f.Name != b.UID+".json" {
			t.Errorf("%s has the uid %s", f.Name, b.UID)
		}
		boards = append(boards, b)
	}
	return boards
}

// unitsOf are the units of all panels of a dashboard.
func unitsOf(t *testing.T, f dashboards.File) []string {
	t.Helper()
	var b board
	if err := json.Unmarshal(f.Text, &b); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	var units []string
	for _, p := range b.Panels {
		units = append(units, p.units()...)
	}
	return units
}

func (p *panel) units() []string {
	units := []string{p.FieldConfig.Defaults.Unit}
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if property.ID == "unit" {
				units = append(units, fmt.Sprint(property.Value))
			}
		}
	}
	return units
}

// TestSchema has Grafana's own SDK read the dashboards: strictly, so that what it does not know is an error.
func TestSchema(t *testing.T) {
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		var d dashboard.Dashboard
		if err := d.UnmarshalJSONStrict(f.Text); err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestBoards(t *testing.T) {
	boards := readBoards(t)
	if len(boards) != 9 {
		t.Errorf("%d dashboards, want 9", len(boards))
	}
	uids, titles := map[string]bool{}, map[string]bool{}
	for _, b := range boards {
		t.Run(b.UID, func(t *testing.T) {
			if uids[b.UID] || titles[b.Title] || !strings.HasPrefix(b.UID, "promcost-") || len(b.UID) > 40 || !strings.HasPrefix(b.Title, "promcost / ") {
				t.Errorf("uid %q or title %q is taken, too long or of no form", b.UID, b.Title)
			}
			uids[b.UID], titles[b.Title] = true, true
			if !slices.Contains(b.Tags, "promcost") || b.Schema < 36 || b.Time.To != "now" || !strings.HasPrefix(b.Time.From, "now-") {
				t.Errorf("tags %v, schema version %d or time range %v", b.Tags, b.Schema, b.Time)
			}
			if b.Links[0].Type != "dashboards" || !slices.Equal(b.Links[0].Tags, []string{"promcost"}) || !b.Links[0].IncludeVars || !b.Links[0].KeepTime {
				t.Errorf("it does not link to the others with its variables and time: %+v", b.Links)
			}
			if !strings.Contains(b.Description, "at list prices") {
				t.Errorf("its description does not say whether costs are at list prices or by bill: %s", b.Description)
			}
			checkPrices(t, &b)
			checkVariables(t, &b)
			checkPanels(t, &b)
		})
	}
}

// unswitched are the dashboards that do not choose between list prices and bills.
var unswitched = []string{"promcost-budgets", "promcost-bill", "promcost-itself"}

// checkPrices wants a choice between list prices and bills, links that make it, and titles that say what it does not change.
func checkPrices(t *testing.T, b *board) {
	t.Helper()
	if slices.Contains(unswitched, b.UID) {
		return
	}
	for _, prices := range bothPrices {
		if !slices.ContainsFunc(b.Links, func(l boardLink) bool {
			return strings.HasPrefix(l.URL, "/d/"+b.UID+"?") && strings.Contains(l.URL, "&var-prices="+prices+"&from=now-")
		}) {
			t.Errorf("no link chooses %s", prices)
		}
	}
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			switches, atList := strings.Contains(q.Expr, "${prices}"), strings.Contains(p.Title, "at list prices")
			if strings.Contains(q.Expr, "_cost") && switches == atList && !strings.Contains(p.title(q.RefID), "(list)") {
				t.Errorf("panel %q, query %s: it switches: %v, its title says that it is at list prices: %v", p.Title, q.RefID, switches, atList)
			}
		}
	}
}

// title is what the column of a query in a table is called.
func (p *panel) title(ref string) string {
	for _, tr := range p.Transformations {
		if name := tr.Options.RenameByName["Value #"+ref]; name != "" {
			return name
		}
	}
	return ""
}

// checkVariables wants a data source and a cluster to be chosen, and every variable to be of that source.
func checkVariables(t *testing.T, b *board) {
	t.Helper()
	var names []string
	for _, v := range b.Templating.List {
		names = append(names, v.Name)
		switch {
		case v.Type == "datasource" && v.Name == "datasource" && v.Query == "prometheus":
		case v.Type == "custom" && v.Name == "prices" && v.Query == "list : hourly_cost, billed : billed_hourly_cost":
		case v.Type == "constant" && v.Name == "promcost" && v.Query == dashboards.DefaultPage:
		case v.Type != "query" || v.Datasource == nil || *v.Datasource != (sourceRef{"prometheus", "${datasource}"}):
			t.Errorf("variable %s is of type %s and data source %v", v.Name, v.Type, v.Datasource)
		}
	}
	if len(names) < 2 || names[0] != "datasource" || names[1] != "cluster" {
		t.Errorf("variables are %v, want datasource and cluster first", names)
	}
	used := regexp.MustCompile(`\$\{?(\w+)`)
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			for _, m := range used.FindAllStringSubmatch(q.Expr, -1) {
				if !slices.Contains(names, m[1]) && !strings.HasPrefix(m[1], "__") {
					t.Errorf("panel %q uses the variable %s, which there is not", p.Title, m[1])
				}
			}
		}
	}
}

// knownUnits are the units that values are shown in.
var knownUnits = []string{"currencyUSD", "percentunit", "short", "s", "ops", "Bps", "bytes"}

func checkPanels(t *testing.T, b *board) {
	t.Helper()
	ids, titles := map[int]bool{}, map[string]bool{}
	for i, p := range b.Panels {
		if p.ID == 0 || ids[p.ID] || p.Title == "" || titles[p.Title] {
			t.Errorf("panel %q: its id %d or its title is taken or empty", p.Title, p.ID)
		}
		ids[p.ID], titles[p.Title] = true, true
		if !strings.HasSuffix(p.Description, ".") || len(p.Targets) == 0 {
			t.Errorf("panel %q has no description or no query", p.Title)
		}
		for _, u := range p.units() {
			if !slices.Contains(knownUnits, u) {
				t.Errorf("panel %q has the unit %q", p.Title, u)
			}
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if want := (sourceRef{"prometheus", "${datasource}"}); q.Datasource != want || p.Datasource != want {
				t.Errorf("panel %q: data sources %v and %v, want the variable", p.Title, p.Datasource, q.Datasource)
			}
			if refs[q.RefID] || q.Instant == q.Range || (q.Format == "table") != (p.Type == "table") {
				t.Errorf("panel %q: query %q is of a name that is taken, or of no kind that suits it", p.Title, q.RefID)
			}
			refs[q.RefID] = true
		}
		if p.Pos.W < 1 || p.Pos.H < 1 || p.Pos.X < 0 || p.Pos.Y < 0 || p.Pos.X+p.Pos.W > 24 {
			t.Errorf("panel %q is off the grid: %+v", p.Title, p.Pos)
		}
		for _, o := range b.Panels[:i] {
			if p.Pos.X < o.Pos.X+o.Pos.W && o.Pos.X < p.Pos.X+p.Pos.W && p.Pos.Y < o.Pos.Y+o.Pos.H && o.Pos.Y < p.Pos.Y+p.Pos.H {
				t.Errorf("panels %q and %q overlap", o.Title, p.Title)
			}
		}
	}
}

// bothPrices are the values of the variable prices.
var bothPrices = []string{"hourly_cost", "billed_hourly_cost"}

// valuesAt stand for the variables in queries: what "All" means, ranges that Grafana fills in, and these prices.
func valuesAt(prices string) *strings.Replacer {
	return strings.NewReplacer(
		"$cluster", ".*", "$namespace", ".*", "$controller", ".*", "$label", ".*", "$budget", ".*", "$instance", ".*", "$__rate_interval", "5m", "${prices}", prices,
	)
}

// values are those at list prices.
var values = valuesAt("hourly_cost")

func TestBoardExpressions(t *testing.T) {
	metrics := exported(t)
	for _, b := range readBoards(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				for _, prices := range bothPrices {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", b.UID, p.Title, q.RefID, prices), func(t *testing.T) { checkExpr(t, valuesAt(prices).Replace(q.Expr), metrics) })
				}
			}
		}
		query := regexp.MustCompile(`^label_values\((\w+(?:\{.*\})?), (\w+)\)$`)
		for _, v := range b.Templating.List {
			if v.Type != "query" {
				continue
			}
			t.Run(b.UID+"/"+v.Name, func(t *testing.T) {
				m := query.FindStringSubmatch(v.Query)
				if m == nil {
					t.Fatalf("query %q is not label_values(selector, label)", v.Query)
				}
				checkExpr(t, "max by ("+m[2]+") ("+values.Replace(m[1])+")", metrics)
			})
		}
	}
}
