package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestAllowlists holds the lines for services that store only what they are told to against the table of inputs.
func TestAllowlists(t *testing.T) {
	t.Parallel()
	of := map[string][]string{}
	for _, e := range promquery.Exporters() {
		of[e.Name] = e.Metrics
	}
	every := []string{promquery.KubeStateMetrics, promquery.CAdvisor, promquery.Kubelets, promquery.NodeExporter}
	for _, tc := range []struct {
		service  string
		programs []string
	}{
		{"azure", every},
		{"google", []string{promquery.KubeStateMetrics, promquery.NodeExporter}}, // which stores all of kubelets
		{"grafana-cloud", every},
		{"amp", every},
	} {
		t.Run(tc.service, func(t *testing.T) {
			text := mustRun(t, "check", "source", "--for="+tc.service)
			var lines any
			if err := yaml.Unmarshal([]byte(text), &lines); err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			var want []string
			for _, p := range tc.programs {
				if len(of[p]) == 0 {
					t.Errorf("no metric is of %s", p)
				}
				want = append(want, of[p]...)
			}
			got := regexp.MustCompile(`\b(kube|container|kubelet|node)_\w+`).FindAllString(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(text, ""), -1)
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-inputs +lines):\n%s", diff)
			}
		})
	}
}

// TestAllowlistOfOpenTelemetry holds the lines for a Collector and the Prometheus behind it against the table of inputs.
func TestAllowlistOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	var got struct {
		Processors map[string]struct {
			Metrics struct {
				Include struct {
					MatchType   string   `yaml:"match_type"`
					MetricNames []string `yaml:"metric_names"`
				}
			}
		}
		OTLP struct {
			Attributes []string `yaml:"promote_resource_attributes"`
		}
	}
	if err := yaml.Unmarshal([]byte(mustRun(t, "check", "source", "--for=opentelemetry")), &got); err != nil {
		t.Fatal(err)
	}
	exporters := promquery.Exporters()
	i := slices.IndexFunc(exporters, func(e promquery.Exporter) bool { return e.Name == promquery.OTelCollector })
	include := got.Processors["filter/promcost"].Metrics.Include
	if diff := cmp.Diff(exporters[i].Metrics, include.MetricNames); diff != "" || include.MatchType != "strict" {
		t.Errorf("metrics (-inputs +lines):\n%s", diff)
	}
	if diff := cmp.Diff(promquery.OTelAttributes(), got.OTLP.Attributes); diff != "" || !slices.Contains(got.OTLP.Attributes, "k8s.pod.uid") {
		t.Errorf("attributes (-inputs +lines):\n%s", diff)
	}
}

// TestAllowlistOfPrometheus has Prometheus read the lines that its own configuration takes.
func TestAllowlistOfPrometheus(t *testing.T) {
	t.Parallel()
	var jobs map[string]map[string]any
	if err := yaml.Unmarshal([]byte(mustRun(t, "check", "source", "--for=amp")), &jobs); err != nil {
		t.Fatal(err)
	}
	var scrapes []any
	for name, job := range jobs {
		job["job_name"] = name
		scrapes = append(scrapes, job)
	}
	text, err := yaml.Marshal(map[string]any{"scrape_configs": scrapes})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtest.Promtool(t), "check", "config", file).CombinedOutput(); err != nil || len(scrapes) != 4 {
		t.Errorf("%d jobs: %v: %s", len(scrapes), err, out)
	}
}
