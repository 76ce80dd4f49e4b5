package dashboards

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed json/*.json
var boards embed.FS

//go:embed rules/costs.yaml rules/promcost.yaml
var rules embed.FS

//go:embed README.md
var readme []byte

// Settings are what differs between the dashboards of two promcosts.
type Settings struct {
	Currency string // that money is shown in, an ISO 4217 code
	Page     string // URL of promcost's page, to which series lead; empty is DefaultPage
}

// DefaultPage is where promcost's page is if nothing else is said.
const DefaultPage = "http://localhost:9003"

// File is a file to be written or served.
type File struct {
	Name string // slash-separated, relative to the output directory
	Text []byte
}

// Dashboards are the Grafana dashboards as JSON, ready to be provisioned, sorted by name. Each call returns slices of its own.
func Dashboards(o Settings) []File {
	files := read(boards, "json", "")
	page, err := json.Marshal(cmp.Or(strings.TrimRight(o.Page, "/"), DefaultPage))
	if err != nil {
		panic("BUG: encode a string: " + err.Error())
	}
	for i := range files {
		files[i].Text = bytes.ReplaceAll(files[i].Text, []byte(`"currencyUSD"`), fmt.Appendf(nil, "%q", unit(o.Currency)))
		files[i].Text = bytes.ReplaceAll(files[i].Text, fmt.Appendf(nil, "%q", DefaultPage), page)
	}
	return files
}

// Rules are the Prometheus rule files, in YAML, below the directory rules, sorted by name: rules/costs.yaml about costs and
// rules/promcost.yaml about promcost itself. Each call returns slices of its own.
func Rules() []File { return read(rules, "rules", "rules/") }

// Readme is README.md: how to load the files, and the runbook of the alerts. Each call returns a slice of its own.
func Readme() File { return File{Name: "README.md", Text: bytes.Clone(readme)} }

// read reads all files of a directory and names them below prefix.
func read(from fs.ReadDirFS, dir, prefix string) []File {
	entries, err := from.ReadDir(dir)
	if err != nil {
		panic("BUG: embedded directory " + dir + ": " + err.Error())
	}
	files := make([]File, len(entries))
	for i, e := range entries {
		text, err := fs.ReadFile(from, dir+"/"+e.Name())
		if err != nil {
			panic("BUG: embedded file " + e.Name() + ": " + err.Error())
		}
		files[i] = File{Name: prefix + e.Name(), Text: text}
	}
	return files
}

// symbols are the currencies that Grafana has a unit of its own for.
var symbols = []string{
	"BGN", "BRL", "CHF", "CZK", "DKK", "EUR", "GBP", "IDR", "INR", "ISK", "JPY", "KRW", "MYR", "NOK", "PHP", "PLN", "PYG", "RUB",
	"SEK", "TRY", "UAH", "USD", "VND", "XPF", "ZAR",
}

// unit is Grafana's name for amounts of a currency.
func unit(currency string) string {
	if slices.Contains(symbols, currency) {
		return "currency" + currency
	}
	return "currency:" + currency + " "
}

// Manifests are the same files for Kubernetes: a ConfigMap for each dashboard, with the label that Grafana's sidecar looks for,
// and a PrometheusRule for each rule file, for the Prometheus Operator. They name no namespace.
func Manifests(o Settings) []File {
	var files []File
	for _, f := range Dashboards(o) {
		name := strings.TrimSuffix(f.Name, ".json")
		head := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "-dashboard\n  labels:\n" +
			"    app.kubernetes.io/part-of: promcost\n    grafana_dashboard: \"1\"\ndata:\n  " + f.Name + ": |\n"
		files = append(files, File{Name: name + "-dashboard.yaml", Text: append([]byte(head), indent(f.Text, "    ")...)})
	}
	for _, f := range Rules() {
		name := "promcost-" + strings.TrimSuffix(strings.TrimPrefix(f.Name, "rules/"), ".yaml") + "-rules"
		head := "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: " + name + "\n  labels:\n" +
			"    app.kubernetes.io/part-of: promcost\nspec:\n"
		files = append(files, File{Name: name + ".yaml", Text: append([]byte(head), indent(f.Text, "  ")...)})
	}
	return files
}

// indent puts by before every line that is not empty.
func indent(text []byte, by string) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			b.WriteString(by)
		}
		b.Write(line)
	}
	return b.Bytes()
}
