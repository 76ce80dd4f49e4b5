package costapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/filter"
)

// keysOf are the keys of an answer's rows, sorted, and its warnings.
func keysOf(t *testing.T, body []byte) (keys, warnings []string) {
	t.Helper()
	var answer struct {
		Data     []map[string]json.RawMessage
		Warnings []string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, set := range answer.Data {
		for key := range set {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, answer.Warnings
}

// TestSelectors selects on all kinds of endpoints.
func TestSelectors(t *testing.T) {
	for _, tc := range []struct {
		path  string
		parts []string
		want  string
	}{
		{"/model/allocation/compute", []string{"idle=false", "fieldSelector=metadata.namespace=web"}, "one/n1/web/front-1/nginx"},
		{"/model/allocation/compute", []string{"idle=false", "fieldSelector=metadata.name=one/n1/web/front-1/nginx"}, "one/n1/web/front-1/nginx"},
		{"/allocation", []string{"fieldSelector=spec.controllerKind!=job"}, "one/n1/web/front-1/nginx"},
		{"/allocation", []string{"labelSelector=team in (red,blue)"}, "one/n1/web/front-1/nginx"},
		{"/allocation", []string{"labelSelector=!team"}, "one/n1/batch/sum-1/main"},
		{"/allocation", []string{"labelSelector=team=red", "fieldSelector=spec.namespace=batch"}, ""},
		{"/allocation", []string{"labelSelector=team=red", `filter=namespace:"batch"`}, ""},
		{"/allocation", []string{"labelSelector=team=red", `filter=namespace:"web","batch"`, "fieldSelector=spec.node=n1"}, "one/n1/web/front-1/nginx"},
		{"/allocation", []string{"labelSelector=!team", `filterNamespaces=web,batch`}, "one/n1/batch/sum-1/main"},
		{"/allocation", []string{`filter=team:"red"`}, "one/n1/web/front-1/nginx"},
		// Before anything is merged: what is aggregated lacks pods and labels.
		{"/allocation", []string{"aggregate=cluster", "fieldSelector=spec.pod=front-1"}, "one"},
		{"/allocation", []string{"aggregate=cluster", "labelSelector=team=red"}, "one"},
		{"/allocation", []string{"aggregate=cluster", "labelSelector=team=blue"}, ""},
		{"/v2/allocation", []string{"window=yesterday", "aggregate=namespace", "fieldSelector=spec.namespace=web"}, "web"},
		{"/model/assets", []string{"fieldSelector=spec.type=Node"}, "AWS/__undefined__/__undefined__/Compute/one/Node/Kubernetes/i-1/n1"},
		{"/model/assets", []string{"fieldSelector=metadata.name!=n1"}, ""},
		{"/model/assets", []string{"labelSelector=rack in (r7)"}, "AWS/__undefined__/__undefined__/Compute/one/Node/Kubernetes/i-1/n1"},
		{"/model/assets", []string{"labelSelector=rack=r7", `filter=cluster:"two"`}, ""},
		{"/model/assets", []string{"labelSelector=rack=r7", "filterTypes=disk"}, ""},
	} {
		t.Run(tc.path+"?"+strings.Join(tc.parts, "&"), func(t *testing.T) {
			parts := tc.parts
			if !strings.HasPrefix(parts[0], "window=") {
				parts = append(parts, "window=yesterday")
			}
			w := get(newHandler(&fake{}, costapi.Config{}), tc.path, parts...)
			if w.Code != 200 {
				t.Fatal(w.Body)
			}
			keys, _ := keysOf(t, w.Body.Bytes())
			if diff := cmp.Diff(tc.want, strings.Join(keys, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSelectorsEverywhere asks every path of allocations and of assets for what there is not.
func TestSelectorsEverywhere(t *testing.T) {
	for _, path := range costapi.Paths() {
		names := map[string]bool{}
		for _, p := range costapi.Parameters(path) {
			names[p.Name] = true
		}
		if !names["window"] || path == "/model/diagnose" || path == predictionPath || ofBills(path) {
			continue
		}
		for _, selector := range []string{"fieldSelector=spec.colorx=blue", "labelSelector=a in (b"} {
			parts := []string{"window=yesterday", selector, "names=web"}
			if strings.HasSuffix(path, "autocomplete") {
				parts = append(parts, "field=cluster")
			}
			w := get(newHandler(&fake{}, costapi.Config{}), path, parts...)
			if w.Code != 400 || !strings.Contains(w.Body.String(), "parameter "+selector[:13]) {
				t.Errorf("%s?%s: status %d, %s", path, selector, w.Code, w.Body)
			}
		}
	}
}

// TestSelectorsAreFilters selects nothing on every path that takes them, by filters of both languages and by selectors: the
// answers are the same, and not that to no selection.
func TestSelectorsAreFilters(t *testing.T) {
	h, asked := richHandler(costapi.Config{}), 0
	for _, path := range costapi.Paths() {
		takes := map[string]bool{}
		for _, p := range costapi.Parameters(path) {
			takes[p.Name] = !p.Ignored
		}
		if !takes["filter"] || ofBills(path) || takes["threshold"] || strings.HasPrefix(path, "/model/savings/") { // all days are alike, and none is unusual; see TestSavings
			continue
		}
		asked++
		parts := []string{"window=yesterday", "aggregate=namespace"}
		if strings.Contains(path, "assets") || strings.HasSuffix(path, "autocomplete") {
			parts = parts[:1]
		}
		if takes["before"] { // without which nothing differs
			parts = append(parts, "before=2026-11-19T00:00:00Z,2026-11-19T12:00:00Z")
		}
		if takes["names"] {
			parts = append(parts, "names=web")
		}
		if takes["field"] {
			parts = append(parts, "field=cluster")
		}
		data := func(selector ...string) any {
			return envelopeOf(t, get(h, path, append(selector, parts...)...))["data"]
		}
		all, none := data(), data(`filter=cluster:"nowhere"`)
		if cmp.Equal(all, none) {
			t.Errorf("%s: a filter changes nothing: %v", path, all)
		}
		selectors := []string{"fieldSelector=spec.cluster=nowhere", "labelSelector=nothing-has-this", "fieldSelector=spec.cluster=a,spec.cluster=b"}
		if takes["filterClusters"] {
			selectors = append(selectors, "filterClusters=nowhere", "filterLabels=nothing:x")
		}
		for _, selector := range selectors {
			if diff := cmp.Diff(none, data(selector)); diff != "" {
				t.Errorf("%s?%s: %s", path, selector, diff)
			}
		}
		if diff := cmp.Diff(all, data("fieldSelector=spec.cluster!=nowhere", "labelSelector=!nothing-has-this")); diff != "" {
			t.Errorf("%s: what selects all changes something: %s", path, diff)
		}
	}
	if asked < 14 {
		t.Errorf("%d paths take filters, want at least 14", asked)
	}
}

// TestV1BesideFilter ignores filters of the first language beside one of the second, and says so.
func TestV1BesideFilter(t *testing.T) {
	for path, parts := range map[string][]string{
		"/allocation":   {"window=1d", `filter=namespace:"web"`, "filterNamespaces=batch", "filterLabels=no colon"},
		"/model/assets": {"window=yesterday", `filter=assetType:"node"`, "filterTypes=Disk"},
	} {
		keys, warnings := keysOf(t, get(newHandler(&fake{}, costapi.Config{}), path, parts...).Body.Bytes())
		if len(keys) != 1 {
			t.Errorf("%s: keys %v", path, keys)
		}
		for _, part := range parts[2:] {
			name, _, _ := strings.Cut(part, "=")
			if want := "parameter " + name + " has no effect beside filter"; !slices.Contains(warnings, want) {
				t.Errorf("%s: warnings %q lack %q", path, warnings, want)
			}
		}
	}
}

// TestDeclaredFields selects by fields that the configuration declares, and publishes them.
func TestDeclaredFields(t *testing.T) {
	s := filter.NewSelectable()
	for _, path := range []string{".spec.providerID", ".spec.team", ".spec.nodeType"} {
		if err := s.Add(path, filter.Allocations, filter.Assets); err != nil {
			t.Fatal(err)
		}
	}
	h := newHandler(&fake{}, costapi.Config{Selectable: s, Labels: allocation.LabelMapping{"team": {"app"}}})
	for selector, want := range map[string]int{"spec.providerID=i-1": 2, "spec.team=front": 1, "spec.team=red": 0} {
		if keys, _ := keysOf(t, get(h, "/allocation", "window=1d", "fieldSelector="+selector).Body.Bytes()); len(keys) != want {
			t.Errorf("%s: %v", selector, keys)
		}
	}
	if keys, _ := keysOf(t, get(h, "/model/assets", "window=yesterday", "fieldSelector=spec.nodeType=m5.xlarge").Body.Bytes()); len(keys) != 1 {
		t.Errorf("%v", keys)
	}
	type published []struct {
		FieldPath string `json:"fieldPath"`
	}
	var document struct {
		OpenAPI    string `json:"openapi"`
		Paths      map[string]map[string]struct{ Parameters []struct{ Name, In string } }
		Components struct {
			Schemas map[string]struct {
				Type   string
				Fields published `json:"x-kubernetes-selectable-fields"`
			}
		}
	}
	w := get(h, "/openapi.json")
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || w.Code != 200 {
		t.Fatalf("%v, %s", err, w.Body)
	}
	var allocations, assets []string
	for _, f := range document.Components.Schemas["Allocation"].Fields {
		allocations = append(allocations, f.FieldPath)
	}
	for _, f := range document.Components.Schemas["Asset"].Fields {
		assets = append(assets, f.FieldPath)
	}
	if diff := cmp.Diff([][]string{s.Fields(filter.Allocations), s.Fields(filter.Assets)}, [][]string{allocations, assets}); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(allocations, "metadata.name") || !slices.Contains(allocations, "spec.providerID") || !slices.Contains(assets, "spec.nodeType") {
		t.Errorf("published %v, %v", allocations, assets)
	}
	for _, path := range costapi.Paths() {
		if len(document.Paths[path]) != 1 && path != "/openapi.json" {
			t.Errorf("%s is not described", path)
		}
	}
	if again := get(h, "/openapi.json").Body.String(); again != w.Body.String() || document.OpenAPI != "3.0.3" {
		t.Error("two answers differ")
	}
}
