package dashboards_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/dashboards"
)

// manifest is what the tests read of a Kubernetes object.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name   string            `yaml:"name"`
		Labels map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
	Data map[string]string `yaml:"data"`
	Spec yaml.Node         `yaml:"spec"`
}

// TestManifests holds manifests to the files that they carry.
func TestManifests(t *testing.T) {
	boards, rules := dashboards.Dashboards(dashboards.Settings{Currency: "EUR"}), dashboards.Rules()
	for i, f := range dashboards.Manifests(dashboards.Settings{Currency: "EUR"}) {
		var m manifest
		if err := yaml.Unmarshal(f.Text, &m); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if f.Name != m.Metadata.Name+".yaml" || m.Metadata.Labels["app.kubernetes.io/part-of"] != "promcost" {
			t.Errorf("%s has the name %q and the labels %v", f.Name, m.Metadata.Name, m.Metadata.Labels)
		}
		if i < len(boards) {
			if m.APIVersion != "v1" || m.Kind != "ConfigMap" || m.Metadata.Labels["grafana_dashboard"] != "1" {
				t.Errorf("%s is a %s %s with the labels %v", f.Name, m.APIVersion, m.Kind, m.Metadata.Labels)
			}
			if diff := cmp.Diff(map[string]string{boards[i].Name: string(boards[i].Text)}, m.Data); diff != "" {
				t.Errorf("%s (-dashboard +data):\n%s", f.Name, diff)
			}
			continue
		}
		var want, got any
		if err := yaml.Unmarshal(rules[i-len(boards)].Text, &want); err != nil {
			t.Fatal(err)
		}
		if err := m.Spec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || m.APIVersion != "monitoring.coreos.com/v1" || m.Kind != "PrometheusRule" {
			t.Errorf("%s is a %s %s (-rules +spec):\n%s", f.Name, m.APIVersion, m.Kind, diff)
		}
	}
}

// TestFilesHaveNamesOfTheirOwn as they are written side by side, and served.
func TestFilesHaveNamesOfTheirOwn(t *testing.T) {
	for _, files := range [][]dashboards.File{slices.Concat(dashboards.Dashboards(dashboards.Settings{}), dashboards.Imports(dashboards.Settings{}), dashboards.Rules(), []dashboards.File{dashboards.Readme()}), dashboards.Manifests(dashboards.Settings{Currency: "USD"})} {
		var names []string
		for _, f := range files {
			if len(f.Text) == 0 || strings.Contains(f.Name, "..") || strings.HasPrefix(f.Name, "/") {
				t.Errorf("%q has %d bytes", f.Name, len(f.Text))
			}
			names = append(names, f.Name)
		}
		if slices.Sort(names); len(slices.Compact(names)) != len(files) {
			t.Errorf("names are not unique: %v", names)
		}
	}
}
