package costapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// TestDerivedProperties aggregates by a property that is derived from the properties in the API's JSON.
func TestDerivedProperties(t *testing.T) {
	var needs []allocation.Property
	for p := range allocation.NumProperties {
		needs = append(needs, p)
	}
	var mu sync.Mutex
	shown := map[string]bool{}
	d, err := allocation.NewDerived("tier", needs, func(properties map[string]any) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		text, err := json.Marshal(properties)
		if err != nil {
			t.Error(err)
		}
		shown[string(text)] = true
		namespace, _ := properties["namespace"].(string)
		if namespace == allocation.UnmountedName {
			return "", nil
		}
		return "of " + namespace, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h := richHandler(costapi.Config{Derived: []*allocation.Derived{d}})
	window := "window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"
	var answer struct {
		Data []map[string]struct{ Properties map[string]any }
	}
	for _, aggregate := range []string{"aggregate=tier", "aggregate="} {
		answer.Data = nil
		w := get(h, "/model/allocation/compute", window, aggregate, "idle=false", "shareTenancyCosts=false")
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %v: %.300s", aggregate, err, w.Body)
		}
		if aggregate == "aggregate=tier" {
			want := []string{"__unallocated__", "of batch", "of kube-system", "of ml", "of ops", "of web"}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(answer.Data[0]))); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		}
	}
	want := map[string]bool{}
	for _, row := range answer.Data[0] {
		text, err := json.Marshal(row.Properties)
		if err != nil {
			t.Fatal(err)
		}
		want[string(text)] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(shown))); diff != "" {
		t.Errorf("properties (-JSON +derivation):\n%s", diff)
	}
	for _, filter := range []string{`filter=tier:"of web"`, `filter=tier<~:"of w"`} {
		answer.Data = nil
		w := get(h, "/model/allocation/compute", window, "aggregate=namespace", "idle=false", "shareTenancyCosts=false", filter)
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Data) != 1 || len(answer.Data[0]) != 1 || answer.Data[0]["web"].Properties == nil {
			t.Errorf("%s: %v: %.300s", filter, err, w.Body)
		}
	}
	checkError(t, get(h, "/model/allocation/compute", window, "aggregate=teir"), http.StatusBadRequest, `did you mean "tier"?`)
}

// TestDerivedEverywhere completes a derived property, and warns only those who use it that it is missing everywhere.
func TestDerivedEverywhere(t *testing.T) {
	derived := func(name string, of allocation.Derivation) *allocation.Derived {
		d, err := allocation.NewDerived(name, []allocation.Property{allocation.Namespace}, of)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	good := derived("unit", func(properties map[string]any) (string, error) {
		return fmt.Sprint("of ", properties["namespace"]), nil
	})
	bad := derived("bad", func(map[string]any) (string, error) { return "", errors.New("it is a list") })
	h := newHandler(&fake{}, costapi.Config{Derived: []*allocation.Derived{good, bad}})
	const window, warning = "window=yesterday", "property bad is missing everywhere: it is a list"
	for _, tc := range []struct {
		path  string
		parts []string
		warns bool
	}{
		{"/model/allocation/compute", []string{window, "aggregate=bad"}, true},
		{"/model/allocation/compute", []string{window, `filter=bad:"x"|namespace:"web"`}, true},
		{"/allocation/autocomplete", []string{window, "field=BAD"}, true},
		{"/model/allocation/compute", []string{window, "aggregate=unit"}, false},
		{"/model/allocation/compute", []string{window}, false},
	} {
		warnings, _ := envelopeOf(t, get(h, tc.path, tc.parts...))["warnings"].([]any)
		if slices.Contains(warnings, any(warning)) != tc.warns {
			t.Errorf("%s %v: warnings %v", tc.path, tc.parts, warnings)
		}
	}
	got := envelopeOf(t, get(h, "/model/allocation/autocomplete", window, "field=unit", "jmespath=data"))["data"]
	if diff := cmp.Diff([]any{"of batch", "of web"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestCompletionOfSpecialRows has the values that what nobody mounts has, and those of aliases.
func TestCompletionOfSpecialRows(t *testing.T) {
	d, err := allocation.NewDerived("unit", []allocation.Property{allocation.Labels}, func(properties map[string]any) (string, error) {
		if labels, _ := properties["labels"].(map[string]any); len(labels) == 0 {
			return "unowned", nil
		}
		return "owned", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h := richHandler(costapi.Config{Derived: []*allocation.Derived{d}, Labels: allocation.LabelMapping{"team": {"nothing", "app"}, "owner": {"nothing"}}})
	for field, want := range map[string]string{
		"namespace": `["__unmounted__","batch","kube-system","ml","ops","web"]`, "unit": `["owned","unowned"]`, "Team": `["front","proxy","sum","train"]`, "owner": `[]`,
	} {
		if w := get(h, "/model/allocation/autocomplete", richDay, "field="+field); !strings.Contains(w.Body.String(), `{"data":`+want+"}") {
			t.Errorf("%s: %s, want %s", field, w.Body, want)
		}
	}
	checkError(t, get(h, "/model/assets/autocomplete", richDay, "field=team"), http.StatusBadRequest, "unknown field")
}

// TestDerivedOfAllocationsOnly says so where assets, and the aggregations of ACK, are asked for a property.
func TestDerivedOfAllocationsOnly(t *testing.T) {
	d, err := allocation.NewDerived("unit", nil, func(map[string]any) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(&fake{}, costapi.Config{Derived: []*allocation.Derived{d}})
	const want = "property unit of the configuration is of allocations only"
	for path, param := range map[string]string{
		"/model/assets": "aggregate=type,UNIT", "/assets": `filter=unit:"x"`, "/model/assets/topline": `aggregate=unit`, "/v2/allocation": "aggregate=unit",
	} {
		checkError(t, get(h, path, "window=1d", param), http.StatusBadRequest, want)
	}
	if w := get(h, "/model/assets", "window=1d", "aggregate=nothing"); w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), want) {
		t.Errorf("another error: %s", w.Body)
	}
}
