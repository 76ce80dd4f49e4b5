package filter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// documented are rows that show which of them each example of Kubecost's and Kubernetes' documents selects.
var documented = []struct {
	name string
	row
}{
	{"cost-model", row{
		cluster: "cluster-one", node: "node-one", namespace: "kubecost", kind: "deployment", controller: "deployment-one", pod: "pod-one", container: "cost-model",
		services: []string{"frontend-one"}, labels: map[string]string{"app": "cost-analyzer"}, annotations: map[string]string{"name": "annotation-one"},
	}},
	{"proxy", row{
		cluster: "cluster-two", node: "node-two", namespace: "kube-system", kind: "daemonset", controller: "proxy", pod: "pod-two", container: "proxy",
		labels: map[string]string{"app": "proxy"}, annotations: map[string]string{"name": "annotation-two"},
	}},
	{"prometheus", row{
		cluster: "cluster-one", node: "node-two", namespace: "namespace-one", kind: "statefulset", controller: "statefulset-two", pod: "prometheus-0", container: "main",
		services: []string{"frontend-two", "prometheus"}, labels: map[string]string{"app": "prometheus"},
	}},
	{"job", row{cluster: "cluster-three", node: "node-three", namespace: "namespace-two", kind: "job", controller: "job", pod: "job-x", container: "main"}},
}

func documentedSet() *allocation.Set {
	plain := make([]row, len(documented))
	for i := range documented {
		plain[i] = documented[i].row
	}
	return makeSet(plain)
}

func documentedBy(f *filter.Filter) string {
	match := bound(f, documentedSet())
	var names []string
	for i := range documented {
		if match(i) {
			names = append(names, documented[i].name)
		}
	}
	return strings.Join(names, " ")
}

// TestDocumentOfV2 checks the examples of Kubecost's page on v2 filters, in their own words.
func TestDocumentOfV2(t *testing.T) {
	for _, tc := range []struct{ filter, want string }{
		{`namespace:"kubecost"+container:"cost-model"`, "cost-model"},
		{`cluster:"cluster-one"+label[app]:"cost-analyzer"`, "cost-model"},
		{`cluster!:"cluster-one"`, "proxy job"},
		{`namespace:"kubecost","kube-system"`, "cost-model proxy"},
		{`namespace!:"kubecost","kube-system"`, "prometheus job"},
	} {
		f, err := filter.Parse(tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := documentedBy(f); got != tc.want {
			t.Errorf("%s selects %q, want %q", tc.filter, got, tc.want)
		}
	}
	// Its lists of the fields of allocations and of assets, and the pool of nodes.
	allocations := "cluster node namespace controllerName controllerKind container pod services label annotation department environment owner product team nodePool"
	if diff := cmp.Diff(strings.Fields(allocations), filter.FieldNames(filter.Allocations)); diff != "" {
		t.Error(diff)
	}
	assets := "name assetType category cluster project provider providerID account service label department environment owner product team region nodePool"
	if diff := cmp.Diff(strings.Fields(assets), filter.FieldNames(filter.Assets)); diff != "" {
		t.Error(diff)
	}
}

// TestDocumentOfV1 checks the examples in the table of parameters of Kubecost's allocation API.
func TestDocumentOfV1(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"filterClusters", "cluster-one,cluster-two", "cost-model proxy prometheus"},
		{"filterNodes", "node-one,node-two", "cost-model proxy prometheus"},
		{"filterNamespaces", "namespace-one,namespace-two", "prometheus job"},
		{"filterControllerKinds", "deployment,job", "cost-model job"},
		{"filterControllers", "deployment-one,statefulset-two", "cost-model prometheus"},
		{"filterPods", "pod-one,pod-two", "cost-model proxy"},
		{"filterAnnotations", "name:annotation-one,name:annotation-two", "cost-model proxy"},
		{"filterLabels", "app:cost-analyzer, app:prometheus", "cost-model prometheus"},
		{"filterServices", "frontend-one,frontend-two", "cost-model prometheus"},
		{"filterClusters", "cluster-one", "cost-model prometheus"},
		{"filterContainers", "main", "prometheus job"},
		{"filterProducts", "prometheus", "prometheus"},
		{"filterControllers", "JOB:j*, proxy", "proxy job"},
		{"filterControllerKinds", "State*", "prometheus"},
	} {
		e, err := filter.V1(tc.name, tc.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := documentedBy(filter.New(e)); got != tc.want {
			t.Errorf("%s=%s selects %q, want %q", tc.name, tc.value, got, tc.want)
		}
	}
	for _, tc := range []struct{ parameter, value, want string }{
		{"shareNamespaces", "kube-system, kubecost", "cost-model proxy"},
		{"shareLabels", "env:staging, app:prometheus", "prometheus"},
	} {
		var some filter.Or
		list, err := filter.Sharing(tc.parameter, tc.value)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			some = append(some, s.Expr)
		}
		if got := documentedBy(filter.New(some)); got != tc.want {
			t.Errorf("%s=%s shares %q, want %q", tc.parameter, tc.value, got, tc.want)
		}
	}
}

// TestDocumentOfFieldSelectors checks what KEP 4358 shows: equality, chains, the text of the error, and the published fields.
func TestDocumentOfFieldSelectors(t *testing.T) {
	s := filter.NewSelectable()
	if _, err := s.Parse(filter.Allocations, "spec.colorx=blue"); err == nil || !strings.Contains(err.Error(), "field label not supported: spec.colorx") {
		t.Errorf("got %v", err)
	}
	for _, set := range []string{"spec.node in (a)", "spec.node notin (a)", "!spec.node"} {
		if _, err := s.Parse(filter.Allocations, set); err == nil {
			t.Errorf("%s is taken: set-based operators are not supported", set)
		}
	}
	// spec.color=green,spec.size=M, with fields that exist here.
	e, err := s.Parse(filter.Allocations, "spec.cluster=cluster-one,spec.container=main")
	if err != nil {
		t.Fatal(err)
	}
	if got := documentedBy(filter.New(e)); got != "prometheus" {
		t.Errorf("selected %q", got)
	}
	for _, r := range []filter.Resource{filter.Allocations, filter.Assets} {
		fields := s.Fields(r)
		if !slices.Contains(fields, "metadata.name") || !slices.Contains(fields, "metadata.namespace") || !slices.Contains(fields, "spec.cluster") {
			t.Errorf("%s have %v", r, fields)
		}
	}
}
