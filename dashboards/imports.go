package dashboards

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// input is a question that Grafana asks when a dashboard is imported by hand. It replaces ${Name} by the answer.
type input struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Help     string `json:"description"`
	Type     string `json:"type"`
	PluginID string `json:"pluginId,omitempty"`
	Plugin   string `json:"pluginName,omitempty"`
	Value    string `json:"value,omitempty"` // that is suggested
}

// requirement is a part of Grafana that a dashboard needs.
type requirement struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"` // at least; empty for any
}

// Imports are the dashboards for Grafana's import page, which asks for the data source and for the address of promcost's page. They are
// not for provisioning, where Grafana asks nobody and leaves the answers out.
func Imports(o Settings) []File {
	files := Dashboards(o)
	for i := range files {
		var board map[string]any
		if err := json.Unmarshal(files[i].Text, &board); err != nil {
			panic("BUG: embedded dashboard " + files[i].Name + ": " + err.Error())
		}
		page := cmp.Or(strings.TrimRight(o.Page, "/"), DefaultPage)
		board["__inputs"] = []input{
			{Name: "DS_PROMETHEUS", Label: "promcost, or a Prometheus that scrapes it", Help: "Only promcost itself has costs by bill.", Type: "datasource", PluginID: "prometheus", Plugin: "Prometheus"},
			{Name: "VAR_PROMCOST", Label: "promcost's page", Help: "Address by which browsers reach promcost: series lead there.", Type: "constant", Value: page},
		}
		board["__requires"] = requirements(board)
		for _, v := range elements(board["templating"], "list") {
			switch v["name"] {
			case "datasource":
				v["current"] = option("${DS_PROMETHEUS}")
			case "promcost":
				v["query"], v["current"], v["options"] = "${VAR_PROMCOST}", option("${VAR_PROMCOST}"), []any{option("${VAR_PROMCOST}")}
			}
		}
		text, err := json.MarshalIndent(board, "", "  ")
		if err != nil {
			panic("BUG: encode dashboard " + files[i].Name + ": " + err.Error())
		}
		files[i] = File{Name: "import/" + files[i].Name, Text: append(text, '\n')}
	}
	return files
}

// option is a value of a variable that is chosen.
func option(value string) map[string]any { return map[string]any{"text": value, "value": value} }

// requirements are Grafana, its data source and the panels of a dashboard.
func requirements(board map[string]any) []requirement {
	list := []requirement{{"datasource", "prometheus", "Prometheus", "1.0.0"}, {"grafana", "grafana", "Grafana", "10.0.0"}}
	for _, p := range elements(board, "panels") {
		if kind, _ := p["type"].(string); !slices.ContainsFunc(list, func(r requirement) bool { return r.ID == kind }) {
			list = append(list, requirement{Type: "panel", ID: kind, Name: kind})
		}
	}
	return list
}

// elements are the objects in a list that is a field of an object.
func elements(of any, field string) (list []map[string]any) {
	object, _ := of.(map[string]any)
	all, _ := object[field].([]any)
	for _, e := range all {
		if o, ok := e.(map[string]any); ok {
			list = append(list, o)
		}
	}
	return list
}
