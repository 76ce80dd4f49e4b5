package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/dashboards"
)

func TestDashboardsAreWritten(t *testing.T) {
	readme := []dashboards.File{dashboards.Readme()}
	for _, tt := range []struct {
		name  string
		flags []string
		want  []dashboards.File
	}{
		{"for Grafana and Prometheus", nil, slices.Concat(dashboards.Dashboards(dashboards.Settings{Currency: "USD"}), dashboards.Rules(), readme)},
		{"in another currency", []string{"--currency=EUR"}, slices.Concat(dashboards.Dashboards(dashboards.Settings{Currency: "EUR"}), dashboards.Rules(), readme)},
		{"for Kubernetes", []string{"--format=configmap"}, append(dashboards.Manifests(dashboards.Settings{Currency: "USD"}), readme...)},
		{"for Grafana's import page", []string{"--format=import", "--page-url=https://costs.example.com"}, slices.Concat(dashboards.Imports(dashboards.Settings{Currency: "USD", Page: "https://costs.example.com"}), dashboards.Rules(), readme)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made", "by it")
			for range 2 { // the second time the files exist
				var out, stderr bytes.Buffer
				if code := run(t.Context(), append([]string{"dashboards", "--out=" + dir}, tt.flags...), &out, &stderr); code != exitOK {
					t.Fatalf("exit %d: %s", code, stderr.String())
				}
				if lines := strings.Count(out.String(), "\n"); lines != len(tt.want) {
					t.Errorf("it names %d files, want %d", lines, len(tt.want))
				}
			}
			for _, f := range tt.want {
				text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
				if err != nil || !bytes.Equal(text, f.Text) {
					t.Errorf("%s: %d bytes, %v; want %d", f.Name, len(text), err, len(f.Text))
				}
			}
		})
	}
}

// TestDashboardsSayWhereTheyGo looks for the directory that is taken where none is given.
func TestDashboardsSayWhereTheyGo(t *testing.T) {
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"dashboards", "--help"}, &out, &stderr); code != exitOK || !strings.Contains(out.String()+stderr.String(), `--out="promcost-dashboards"`) {
		t.Errorf("exit %d: %s%s", code, &out, &stderr)
	}
}

func TestManifestsToStandardOutput(t *testing.T) {
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"dashboards", "--out=-", "--format=configmap"}, &out, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if docs := strings.Split(out.String(), "\n---\n"); len(docs) != len(dashboards.Manifests(dashboards.Settings{Currency: "USD"})) {
		t.Errorf("%d documents, want %d", len(docs), len(dashboards.Manifests(dashboards.Settings{Currency: "USD"})))
	}
}

func TestDashboardsThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		flags []string
		code  int
		parts []string
	}{
		{"no directory", []string{"--out=" + file}, exitError, []string{file, "--out=DIR"}},
		{"JSON to standard output", []string{"--out=-"}, exitUsage, []string{"--out=-", "--format=configmap"}},
		{"no currency", []string{"--currency=dollars"}, exitUsage, []string{"--currency", "dollars", "USD"}},
		{"no format", []string{"--format=helm"}, exitUsage, []string{"--format", "grafana, import, configmap"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			if code := run(t.Context(), append([]string{"dashboards"}, tt.flags...), &out, &stderr); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			for _, part := range tt.parts {
				if !strings.Contains(stderr.String(), part) {
					t.Errorf("error %q lacks %q", stderr.String(), part)
				}
			}
		})
	}
}
