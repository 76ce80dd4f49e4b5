package costapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// TestDerivedProperties aggregates by a property whose derivation is shown what the API's JSON has as properties.
func TestDerivedProperties(t *testing.T) {
	var needs []allocation.Property
	for p := range allocation.NumProperties {
		needs = append(needs, p)
	}
	var mu sync.Mutex
	shown := map[string]bool{}
	d, err := allocation.NewDerived("tier", needs, func(properties map[string]any) string {
		mu.Lock()
		defer mu.Unlock()
		text, err := json.Marshal(properties)
		if err != nil {
			t.Error(err)
		}
		shown[string(text)] = true
		namespace, _ := properties["namespace"].(string)
		if namespace == allocation.UnmountedName {
			return ""
		}
		return "of " + namespace
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
