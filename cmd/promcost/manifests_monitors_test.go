package main

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestManifestsMonitors makes each kind of object by which promcost is scraped, and by which its rules are loaded.
func TestManifestsMonitors(t *testing.T) {
	always := []string{"--prometheus.url=http://p:9090", "--namespace=costs", "--service-monitor", "--prometheus-rule"}
	https := []string{"--web.secret=tls"}
	selector := map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/component": "server", "app.kubernetes.io/instance": "promcost", "app.kubernetes.io/name": "promcost"}}
	tls := map[string]any{"ca": map[string]any{"secret": map[string]any{"name": "tls", "key": "ca.crt"}}, "serverName": "promcost.costs.svc"}
	endpoint := map[string]any{"port": "http", "honorLabels": true, "interval": "1m"}
	secure := map[string]any{"port": "http", "honorLabels": true, "interval": "1m", "scheme": "https", "tlsConfig": tls}
	targets := []any{map[string]any{"targets": []any{"promcost.costs.svc:9003"}}}
	for _, tt := range []struct {
		kind, version string
		flags         []string
		spec          map[string]any
		rules         string
	}{
		{"ServiceMonitor", "monitoring.coreos.com/v1", nil, map[string]any{"selector": selector, "endpoints": []any{endpoint}}, "PrometheusRule"},
		{"ServiceMonitor", "monitoring.coreos.com/v1", https, map[string]any{"selector": selector, "endpoints": []any{secure}}, "PrometheusRule"},
		{"PodMonitor", "monitoring.coreos.com/v1", nil, map[string]any{"selector": selector, "podMetricsEndpoints": []any{endpoint}}, "PrometheusRule"},
		{"PodMonitor", "monitoring.coreos.com/v1", []string{"--sidecar=k8s"}, map[string]any{
			"selector":            map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": "prometheus", "prometheus": "k8s"}},
			"podMetricsEndpoints": []any{endpoint},
		}, "PrometheusRule"},
		{"PodMonitor", "monitoring.coreos.com/v1", https, map[string]any{"selector": selector, "podMetricsEndpoints": []any{secure}}, "PrometheusRule"},
		{"ScrapeConfig", "monitoring.coreos.com/v1alpha1", nil, map[string]any{"honorLabels": true, "scrapeInterval": "1m", "staticConfigs": targets}, "PrometheusRule"},
		{"ScrapeConfig", "monitoring.coreos.com/v1alpha1", https, map[string]any{"honorLabels": true, "scrapeInterval": "1m", "scheme": "HTTPS", "tlsConfig": tls, "staticConfigs": targets}, "PrometheusRule"},
		{"VMServiceScrape", "operator.victoriametrics.com/v1beta1", nil, map[string]any{"selector": selector, "endpoints": []any{endpoint}}, "VMRule"},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			found, rules := 0, 0
			for d := yaml.NewDecoder(bytes.NewReader(manifestsOf(t, append(append(tt.flags, always...), "--service-monitor.kind="+tt.kind, "--prometheus-rule.kind="+tt.rules)...))); ; {
				var o struct {
					APIVersion string `yaml:"apiVersion"`
					Kind       string
					Spec       map[string]any
				}
				if err := d.Decode(&o); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				switch o.Kind {
				case tt.kind:
					found++
					if diff := cmp.Diff(tt.spec, o.Spec); diff != "" || o.APIVersion != tt.version {
						t.Errorf("it is of %s (-want +got):\n%s", o.APIVersion, diff)
					}
				case tt.rules:
					rules++
					if groups, _ := o.Spec["groups"].([]any); len(groups) == 0 {
						t.Errorf("no group of rules: %v", o.Spec)
					}
				}
			}
			if found != 1 || rules != 2 {
				t.Errorf("%d objects to scrape by, %d of rules", found, rules)
			}
		})
	}
}
