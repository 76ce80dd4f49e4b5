package dashboards

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed json/*.json
var boards embed.FS

//go:embed rules/costs.yaml rules/promcost.yaml
var rules embed.FS

// File is a file to be written or served.
type File struct {
	Name string // slash-separated, relative to the output directory
	Text []byte
}

// Dashboards are the Grafana dashboards as JSON, ready to be imported, sorted by name, with money shown in a currency given
// by its ISO 4217 code. Each call returns slices of its own.
func Dashboards(currency string) []File {
	files := read(boards, "json", "")
	for i := range files {
		files[i].Text = bytes.ReplaceAll(files[i].Text, []byte(`"currencyUSD"`), fmt.Appendf(nil, "%q", unit(currency)))
	}
	return files
}

// Rules are the Prometheus rule files, in YAML, below the directory rules, sorted by name: rules/costs.yaml about costs and
// rules/promcost.yaml about promcost itself. Each call returns slices of its own.
func Rules() []File { return read(rules, "rules", "rules/") }

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
func Manifests(currency string) []File {
	var files []File
	for _, f := range Dashboards(currency) {
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
