package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/dashboards"
)

// Formats that dashboards are written in.
const (
	formatGrafana   = "grafana"
	formatConfigMap = "configmap"
)

// defineDashboards is the dashboards subcommand.
func defineDashboards(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	var out, format, currency string
	clause.Flag("out", "Directory to write to, which is made where there is none; - is standard output, for manifests only.").
		Default("promcost-dashboards").StringVar(&out)
	oneOf(clause, "format", "What to write: grafana is JSON to import, and rule files in the directory rules; configmap is Kubernetes manifests, ConfigMaps for Grafana's sidecar and PrometheusRules for the Prometheus Operator.", &format, formatGrafana, formatConfigMap)
	addFlag(clause, "currency", "ISO 4217 code of the currency that money is shown in.", func(text string) error {
		if !pricing.IsCurrency(text) {
			return errors.New("want a code of three letters such as USD")
		}
		currency = text
		return nil
	}).Default(rates.Dollar)
	return func(context.Context) error {
		files := append(dashboards.Dashboards(currency), dashboards.Rules()...)
		if format == formatConfigMap {
			files = dashboards.Manifests(currency)
		}
		if out != "-" {
			return writeAll(files, out, "out", io)
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
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as public as the program
			return fmt.Errorf("make directory: %w: give another with --%s=DIR", err, flag)
		}
		if err := os.WriteFile(path, f.Text, 0o644); err != nil { //nolint:gosec // as public as the program
			return fmt.Errorf("write file: %w: give another directory with --%s=DIR", err, flag)
		}
		if err := writeLine(io.out, path); err != nil {
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
// currency for every request.
func dashboardsHandler(currency func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files := append(dashboards.Dashboards(currency()), dashboards.Rules()...)
		name := strings.TrimPrefix(r.URL.Path, "/dashboards/")
		switch name {
		case "":
			send(w, "text/html; charset=utf-8", dashboardsIndex(files))
			return
		case manifestsName:
			send(w, "application/yaml", documents(dashboards.Manifests(currency())))
			return
		}
		for _, f := range files {
			if f.Name != name {
				continue
			}
			kind := "application/yaml"
			if strings.HasSuffix(name, ".json") {
				kind = "application/json"
			}
			send(w, kind, f.Text)
			return
		}
		failPage(w, r, http.StatusNotFound, fmt.Sprintf("unknown dashboard %.200q: /dashboards/ lists them", name), "")
	})
}

func send(w http.ResponseWriter, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// dashboardsIndex is a page that links to the files. Their names are the program's own and need no escaping.
func dashboardsIndex(files []dashboards.File) []byte {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>promcost: dashboards and rules</title></head>\n<body>\n" +
		"<h1>Dashboards and rules</h1>\n" +
		"<p>Grafana imports the dashboards (Dashboards, New, Import). Their data source is of the type Prometheus: this address without\n" +
		"/dashboards/, or a Prometheus that scrapes it. Prometheus loads the rules (rule_files).\n" +
		"On Kubernetes, <a href=\"" + manifestsName + "\">" + manifestsName + "</a> has all of them as ConfigMaps and PrometheusRules.</p>\n<ul>\n")
	for _, f := range files {
		fmt.Fprintf(&b, "<li><a href=\"%[1]s\">%[1]s</a></li>\n", f.Name)
	}
	b.WriteString("</ul>\n</body>\n</html>\n")
	return b.Bytes()
}
