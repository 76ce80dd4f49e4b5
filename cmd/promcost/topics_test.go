package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTopics asks about a cluster that exports no labels, annotations and services: answers warn of what concerns them.
func TestTopics(t *testing.T) {
	base := spawn(t, "serve", "--storage.path=", "--tsdb.path="+pricedThings(t))
	const (
		labels, annotations, services, nodes = "kube_pod_labels", "kube_pod_annotations", "kube_service_info", "kube_node_labels"
		window                               = "?window=2026-01-31T10:00:00Z,2026-01-31T12:00:00Z&"
	)
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"/model/allocation/compute" + window + "aggregate=namespace", nil},
		{"/model/allocation/compute" + window + "aggregate=namespace&labelNames=pair", nil},
		{"/model/allocation/compute" + window, []string{labels, annotations, services, nodes}},
		{"/model/allocation/compute" + window + "format=csv&aggregate=controller", nil},
		{"/model/allocation/compute" + window + "aggregate=label:app", []string{labels, nodes}},
		{"/model/allocation/compute" + window + "aggregate=namespace&filter=label[app]:%22x%22", []string{labels, nodes}},
		{"/model/allocation/compute" + window + "aggregate=namespace&filterLabels=app:x", []string{labels, nodes}},
		{"/model/allocation/compute" + window + "aggregate=namespace&shareLabels=app:x", []string{labels, nodes}},
		{"/model/allocation/compute" + window + "aggregate=team", []string{labels, annotations, nodes}},
		{"/model/allocation/compute" + window + "aggregate=annotation:note", []string{annotations}},
		{"/model/allocation/compute" + window + "aggregate=service", []string{services}},
		{"/model/allocation/compute" + window + "aggregate=namespace&includeAggregatedMetadata=true", []string{labels, annotations, nodes}},
		{"/model/allocation/summary" + window, nil},
		{"/model/allocation/autocomplete" + window + "field=label", []string{labels, nodes}},
		{"/model/assets" + window, []string{nodes}},
		{"/assets" + window, []string{nodes}},
		{"/model/assets/topline" + window, []string{nodes}},
	} {
		_, body := get(t, base+tt.query)
		var answer struct{ Warnings []string }
		if !strings.Contains(tt.query, "csv") {
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatalf("%s: %v in %.300s", tt.query, err, body)
			}
		}
		warnings := strings.Join(answer.Warnings, "\n")
		for _, metric := range [...]string{labels, annotations, services, nodes} {
			want := strings.Contains(strings.Join(tt.want, " "), metric)
			if got := strings.Contains(warnings, metric+" "); got != want {
				t.Errorf("%s: warns of %s: %v, want %v: %s", tt.query, metric, got, want, warnings)
			}
		}
		if !strings.Contains(tt.query, "csv") && !strings.Contains(tt.query, "autocomplete") && !strings.Contains(warnings, "kube_pod_owner") {
			t.Errorf("%s: no warning of what concerns everybody: %s", tt.query, warnings)
		}
	}
}
