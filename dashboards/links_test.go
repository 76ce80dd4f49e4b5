package dashboards_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/dashboards"
)

// TestLinksLeadSomewhere holds links of panels to dashboards and variables that there are.
func TestLinksLeadSomewhere(t *testing.T) {
	boards := readBoards(t)
	address := regexp.MustCompile(`"url": "/d/([\w-]+)\?([^"]*__url_time_range[^"]*)"`)
	variable := regexp.MustCompile(`var-(\w+)=\$\{__(?:field\.labels|data\.fields)\.(\w+)\}`)
	found := 0
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		for _, m := range address.FindAllStringSubmatch(string(f.Text), -1) {
			found++
			i := slices.IndexFunc(boards, func(b board) bool { return b.UID == m[1] })
			if i < 0 {
				t.Errorf("%s links to %s, which is no dashboard", f.Name, m[1])
				continue
			}
			var names []string
			for _, v := range boards[i].Templating.List {
				names = append(names, v.Name)
			}
			set := variable.FindAllStringSubmatch(m[2], -1)
			if len(set) < 2 || set[0][1] != "cluster" || set[1][1] != "namespace" {
				t.Errorf("%s links to %s without the cluster and the namespace of the row: %s", f.Name, m[1], m[2])
			}
			for _, v := range set {
				if v[1] != v[2] || !slices.Contains(names, v[1]) {
					t.Errorf("%s sets the variable %s of %s, which has only %v, to the label %s", f.Name, v[1], m[1], names, v[2])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no panel links to another dashboard")
	}
}

// pageLinks are the links of a dashboard to promcost's page, with the labels filled in.
func pageLinks(t *testing.T, f dashboards.File) (list []*url.URL) {
	t.Helper()
	variable := regexp.MustCompile(`\$\{__(?:field\.labels|data\.fields)\.(\w+):percentencode\}`)
	grafana := strings.NewReplacer(
		"${promcost:raw}", "https://costs.example.com", "${__from:date:seconds}", "1764460800", "${__to:date:seconds}", "1764547200",
		"${prices:text}", "list", "${label:percentencode}", "team",
	)
	for _, m := range regexp.MustCompile(`"url": ("\$\{promcost[^"]*")`).FindAllSubmatch(f.Text, -1) {
		var text string
		if err := json.Unmarshal(m[1], &text); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(grafana.Replace(variable.ReplaceAllString(text, "a$1%2F%26x")))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		list = append(list, u)
	}
	return list
}

// TestLinksOpenOnThePage holds links to promcost's page to what its router reads of an address.
func TestLinksOpenOnThePage(t *testing.T) {
	source := func(name string) string {
		text, err := os.ReadFile(filepath.Join("explorer", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	defaults := regexp.MustCompile(`(?s)export const DEFAULTS = \{(.*?)\n\};`).FindStringSubmatch(source("state.js"))
	if defaults == nil {
		t.Fatal("state.js has no DEFAULTS")
	}
	var parameters []string
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): "`).FindAllStringSubmatch(defaults[1], -1) {
		parameters = append(parameters, m[1])
	}
	app := source("app.js")
	found := 0
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		for _, u := range pageLinks(t, f) {
			found++
			q := u.Query()
			for name := range q {
				if !slices.Contains(parameters, name) {
					t.Errorf("%s: the page has no parameter %q, only %q: %s", f.Name, name, parameters, u)
				}
			}
			if view := q.Get("view"); u.Path != "/ui/" || !strings.Contains(app, "\n  "+view+": { title:") {
				t.Errorf("%s: the page has no view %q at %q", f.Name, view, u.Path)
			}
			var steps [][2]string
			if err := json.Unmarshal([]byte(q.Get("path")), &steps); err != nil || len(steps) == 0 {
				t.Errorf("%s: path %q: %v", f.Name, q.Get("path"), err)
			}
			for _, s := range steps {
				if !strings.HasSuffix(s[1], "/&x") {
					t.Errorf("%s: %s is %q: the label's value is not whole", f.Name, s[0], s[1])
				}
			}
			if q.Get("window") != "1764460800,1764547200" || !slices.Contains([]string{"list", "billed"}, q.Get("prices")) || q.Get("aggregate") == "" {
				t.Errorf("%s: window, prices or aggregate are missing: %s", f.Name, u)
			}
		}
	}
	if found < 15 {
		t.Errorf("%d links lead to the page", found)
	}
}

// TestImports holds the files for Grafana's import page to what it asks, and the others to asking nothing.
func TestImports(t *testing.T) {
	o := dashboards.Settings{Currency: "USD", Page: "https://costs.example.com/"}
	plain := dashboards.Dashboards(o)
	for i, f := range dashboards.Imports(o) {
		if f.Name != "import/"+plain[i].Name {
			t.Errorf("%s is made of %s", f.Name, plain[i].Name)
		}
		var board struct {
			Inputs     []struct{ Name, Type, PluginID, Value string } `json:"__inputs"`
			Requires   []struct{ Type, ID string }                    `json:"__requires"`
			Panels     []struct{ Type string }
			Templating struct {
				List []struct {
					Name    string
					Query   string
					Current struct{ Value any }
				}
			}
		}
		if err := json.Unmarshal(f.Text, &board); err != nil {
			t.Fatal(err)
		}
		if n := board.Inputs; len(n) != 2 || n[0].Type != "datasource" || n[0].PluginID != "prometheus" || n[1].Type != "constant" || n[1].Value != "https://costs.example.com" {
			t.Errorf("%s asks for %+v", f.Name, board.Inputs)
		}
		for _, p := range board.Panels {
			if !slices.ContainsFunc(board.Requires, func(r struct{ Type, ID string }) bool { return r.Type == "panel" && r.ID == p.Type }) {
				t.Errorf("%s does not require %s", f.Name, p.Type)
			}
		}
		if list := board.Templating.List; list[0].Current.Value != "${DS_PROMETHEUS}" || list[len(list)-1].Query != "${VAR_PROMCOST}" {
			t.Errorf("%s does not use the answers: %+v", f.Name, list)
		}
		if text := string(plain[i].Text); strings.Contains(text, "__inputs") || strings.Contains(text, "${DS_") || strings.Contains(text, "${VAR_") || !strings.Contains(text, `"query": "https://costs.example.com"`) {
			t.Errorf("%s asks something, or does not lead to the page", plain[i].Name)
		}
	}
}
