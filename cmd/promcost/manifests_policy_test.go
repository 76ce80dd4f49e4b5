package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestManifestsPolicy lets pods of promcost's own ask it, whoever else may.
func TestManifestsPolicy(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("networkPolicy: {from: [{namespaceSelector: {matchLabels: {team: finops}}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	type selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	type peer struct {
		PodSelector       *selector `yaml:"podSelector"`
		NamespaceSelector *selector `yaml:"namespaceSelector"`
	}
	var peers []peer
	var asking map[string]string // labels of the pods of promcost-apiserver
	for d := yaml.NewDecoder(bytes.NewReader(manifestsOf(t, "--values="+values, "--prometheus.url=http://p:9090", "--namespace=costs", "--apiserver"))); ; {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Ingress  []struct{ From []peer }
				Template struct {
					Metadata struct{ Labels map[string]string }
				}
			}
		}
		if err := d.Decode(&o); err != nil {
			break
		}
		switch o.Kind + " " + o.Metadata.Name {
		case "NetworkPolicy promcost":
			for _, rule := range o.Spec.Ingress {
				peers = append(peers, rule.From...)
			}
		case "Deployment promcost-apiserver":
			asking = o.Spec.Template.Metadata.Labels
		}
	}
	teams, own := 0, 0
	for _, p := range peers {
		switch {
		case p.NamespaceSelector != nil && p.NamespaceSelector.MatchLabels["team"] == "finops":
			teams++
		case p.PodSelector != nil && p.NamespaceSelector == nil:
			own++
			for name, value := range p.PodSelector.MatchLabels {
				if asking[name] != value {
					t.Errorf("pods of promcost-apiserver have %q, and may ask with %s=%s", asking, name, value)
				}
			}
		}
	}
	if teams != 1 || own != 1 {
		t.Errorf("%d peers are the team, %d are pods of promcost: %+v", teams, own, peers)
	}
}
