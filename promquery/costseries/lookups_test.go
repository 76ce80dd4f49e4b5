package costseries_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
)

// lookups are the paths that take many selectors.
var lookups = [...]string{"/api/v1/series", "/api/v1/labels", "/api/v1/label/namespace/values", "/api/v1/label/__name__/values"}

// lookUp asks a path for what selectors match, and returns the items of the answer as JSON.
func lookUp(t *testing.T, base, path string, selectors ...string) (items []string) {
	t.Helper()
	query := url.Values{"match[]": selectors, "start": {noon.Format(time.RFC3339)}, "end": {noon.Add(20 * time.Hour).Format(time.RFC3339)}}.Encode()
	r := apitest.AskLong(t, base, path, query)
	body, _ := r.Body.(map[string]any)
	list, ok := body["data"].([]any)
	if !ok || r.Code != http.StatusOK {
		t.Fatalf("%s of %d selectors: %d %.500v", path, len(selectors), r.Code, r.Body)
	}
	for _, item := range list {
		text, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, string(text))
	}
	return items
}

// many are selectors that all match much of the same.
func many(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`{__name__=~"promcost_(namespace|pod)_.*", namespace!="n%d"}`, i))
	}
	return list
}

// TestSelectorsAreLoadedTogether checks that many selectors return what each of them returns, once, and read hours no more often
// than one of them.
func TestSelectorsAreLoadedTogether(t *testing.T) {
	for name, selectors := range map[string][]string{
		"equal":                 slices.Repeat([]string{`{__name__=~"promcost_namespace_.*"}`}, 30),
		"reordered":             {`{__name__=~"promcost_namespace_.*",cluster="c1"}`, `{cluster="c1",__name__=~"promcost_namespace_.*"}`},
		"others":                {`promcost_namespace_hourly_cost{namespace="shop"}`, `promcost_namespace_hourly_cost{resource=~"cpu|ram",namespace!="shop"}`, `promcost_namespace_cost_total`, `{__name__=~"promcost_node_.*",cluster!="c1"}`, "promcost_resolution_seconds", "nothing"},
		"everything and a part": {`{__name__=~"promcost_.*"}`, `promcost_namespace_hourly_cost{namespace="shop"}`},
		"many":                  many(300),
	} {
		for _, path := range lookups {
			h := someHours(30)
			base := apitest.Serve(t, newQueryable(h, costseries.Options{}), promapi.Options{})
			var want []string
			for _, s := range selectors[:min(len(selectors), 6)] {
				want = append(want, lookUp(t, base, path, s)...)
			}
			slices.Sort(want)
			before := len(h.read)
			lookUp(t, base, path, `{__name__=~".+"}`)
			between := len(h.read)
			got := lookUp(t, base, path, selectors...)
			if one, n := between-before, len(h.read)-between; n > one {
				t.Errorf("%s: %s: hours are read %d times, for one selector of everything %d times", name, path, n, one)
			}
			slices.Sort(got)
			if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
				t.Errorf("%s: %s (-one by one +together):\n%s", name, path, diff)
			}
		}
	}
}

// TestSelectorsShareMemory holds series once that many selectors match.
func TestSelectorsShareMemory(t *testing.T) {
	h := someHours(30)
	base := apitest.Serve(t, newQueryable(h, costseries.Options{}), promapi.Options{Memory: memory.New(1 << 20)})
	for _, path := range lookups {
		lookUp(t, base, path, many(800)...)
	}
}
