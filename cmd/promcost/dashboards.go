package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/dashboards"
)

// Formats that dashboards are written in.
const (
	formatGrafana   = "grafana"
	formatImport    = "import"
	formatConfigMap = "configmap"
)

// defineDashboards is the dashboards subcommand.
func defineDashboards(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	var out, format string
	var o dashboards.Settings
	clause.Flag("out", "Directory to write to, which is made where there is none; - is standard output, for manifests only.").
		Default("promcost-dashboards").StringVar(&out)
	oneOf(clause, "format", "What to write: grafana is JSON for Grafana's provisioning, and rule files in the directory rules; import is the same with JSON for Grafana's import page, which asks for the data source and the address of promcost's page; configmap is Kubernetes manifests, ConfigMaps for Grafana's sidecar and PrometheusRules for the Prometheus Operator.", &format, formatGrafana, formatImport, formatConfigMap)
	addFlag(clause, "currency", "ISO 4217 code of the currency that money is shown in.", func(text string) error {
		if !pricing.IsCurrency(text) {
			return errors.New("want a code of three letters such as USD")
		}
		o.Currency = text
		return nil
	}).Default(rates.Dollar)
	addFlag(clause, "page-url", "URL by which browsers reach promcost's page, without /ui/. Series of the dashboards lead there: why did this cost change?", func(text string) error {
		_, err := parseWebURL(text)
		o.Page = text
		return err
	}).Default(dashboards.DefaultPage).PlaceHolder("URL")
	return func(context.Context) error {
		files := slices.Concat(dashboards.Dashboards(o), dashboards.Rules())
		switch format {
		case formatImport:
			files = slices.Concat(dashboards.Imports(o), dashboards.Rules())
		case formatConfigMap:
			files = dashboards.Manifests(o)
		}
		if out != "-" {
			return writeAll(append(files, dashboards.Readme()), out, "out", io)
		}
		if format != formatConfigMap {
			return &usageError{cause: errors.New("--out=- has no place for several JSON files: give a directory, or --format=configmap")}
		}
		_, err := io.raw.Write(documents(files))
		return err
	}
}

// writeAll writes the files below dir, which a flag names, and says so. What is there of the same names is written over.
func writeAll(files []dashboards.File, dir, flag string, io streams) error {
	for _, f := range files {
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // as public as the program
			return fmt.Errorf("make directory: %w: give another with --%s=DIR", err, flag)
		}
		if err := os.WriteFile(to, f.Text, 0o644); err != nil { //nolint:gosec // as public as the program
			return fmt.Errorf("write file: %w: give another directory with --%s=DIR", err, flag)
		}
		if err := writeLine(io.out, to); err != nil {
			return err
		}
	}
	return nil
}

// documents are YAML files as one.
func documents(files []dashboards.File) []byte {
	texts := make([][]byte, len(files))
	for i, f := range files {
		texts[i] = f.Text
	}
	return bytes.Join(texts, []byte("---\n"))
}

// manifestsName is the name of the file of all manifests.
const manifestsName = "manifests.yaml"

// dashboardsHandler serves the dashboards, the rules and their manifests below /dashboards/, and a list of them there. It calls
// settings for every request.
func dashboardsHandler(settings func(*http.Request) dashboards.Settings) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := settings(r)
		files := slices.Concat(dashboards.Imports(o), dashboards.Dashboards(o), dashboards.Rules(), []dashboards.File{dashboards.Readme()})
		name := strings.TrimPrefix(r.URL.Path, "/dashboards/")
		switch name {
		case "":
			send(w, "text/html; charset=utf-8", dashboardsIndex(files))
			return
		case manifestsName:
			send(w, "application/yaml", documents(dashboards.Manifests(o)))
			return
		}
		for _, f := range files {
			if f.Name == name {
				send(w, dashboardTypes[path.Ext(name)], f.Text)
				return
			}
		}
		failPage(w, r, http.StatusNotFound, fmt.Sprintf("unknown dashboard %.200q: /dashboards/ lists them", name), "")
	})
}

// dashboardTypes are the media types of the files that are served, by the ends of their names.
var dashboardTypes = map[string]string{".json": "application/json", ".yaml": "application/yaml", ".md": "text/markdown; charset=utf-8"}

func send(w http.ResponseWriter, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// dashboardsIndex is a page that links to the files. Their names are the program's own and need no escaping.
func dashboardsIndex(files []dashboards.File) []byte {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>promcost: dashboards and rules</title></head>\n<body>\n" +
		"<h1>Dashboards and rules</h1>\n" +
		"<p>Grafana imports the dashboards in import/ (Dashboards, New, Import), and asks for their data source, which is of the type Prometheus: this address\n" +
		"without /dashboards/, or a Prometheus that scrapes it. Those outside of import/ are for its provisioning, which asks for nothing.\n" +
		"Prometheus loads the rules (rule_files), and <a href=\"README.md\">README.md</a> says what to do about the alerts.\n" +
		"On Kubernetes, <a href=\"" + manifestsName + "\">" + manifestsName + "</a> has all of them as ConfigMaps and PrometheusRules.</p>\n<ul>\n")
	for _, f := range files {
		fmt.Fprintf(&b, "<li><a href=\"%[1]s\">%[1]s</a></li>\n", f.Name)
	}
	b.WriteString("</ul>\n</body>\n</html>\n")
	return b.Bytes()
}
