package costseries_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/costseries"
)

// lookups are the paths that take many selectors.
var lookups = [...]string{"/api/v1/series", "/api/v1/labels", "/api/v1/label/namespace/values", "/api/v1/label/__name__/values"}

// lookUp asks a path for what selectors match, and returns the items of the answer as JSON.
func lookUp(t *testing.T, base, path string, selectors ...string) (items []string) {
	t.Helper()
	query := url.Values{"match[]": selectors, "start": {noon.Format(time.RFC3339)}, "end": {noon.Add(20 * time.Hour).Format(time.RFC3339)}}.Encode()
	r := askLong(t, base, path, query)
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

// TestSelectorsAreLoadedTogether gives for many selectors what each of them gives, once, and reads hours no more often than
// for one of them.
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
			base := serve(t, newQueryable(h, costseries.Options{}), costseries.APIOptions{})
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
	base := serve(t, newQueryable(h, costseries.Options{}), costseries.APIOptions{Memory: memory.New(1 << 20)})
	for _, path := range lookups {
		lookUp(t, base, path, many(800)...)
	}
}

// TestTooManySelectors refuses more than may be.
func TestTooManySelectors(t *testing.T) {
	base := serve(t, newQueryable(someHours(3), costseries.Options{}), costseries.APIOptions{})
	for _, path := range append(lookups[:], "/federate", "/api/v1/rules") {
		r := askLong(t, base, path, url.Values{"match[]": many(1001)}.Encode())
		checkRefusal(t, path, r, http.StatusBadRequest, "match[] is given 1001 times, at most 1000")
	}
}

// TestUpstreamIsAskedOnce asks the upstream for all selectors in one request.
func TestUpstreamIsAskedOnce(t *testing.T) {
	asked := make(chan []string, 10)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked <- r.Form["match[]"]
		fmt.Fprint(w, `{"status":"success","data":[{"__name__":"up","job":"a"}]}`)
	}))
	t.Cleanup(up.Close)
	ours := serve(t, newQueryable(someHours(3), costseries.Options{}), costseries.APIOptions{Upstream: upstreamOf(t, up.URL, true, nil)})
	for path, want := range map[string]string{lookups[0]: `{"__name__":"up","job":"a"}`, lookups[1]: `"job"`, lookups[3]: `"up"`} {
		got := lookUp(t, ours, path, "up", `{job="a"}`, "promcost_namespace_cost_total", "kube_pod_info")
		if !slices.Contains(got, want) {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
		if n := len(asked); n != 1 {
			t.Fatalf("%s: %d requests", path, n)
		}
		if list := <-asked; len(list) != 3 || strings.Contains(list[0]+list[2], "promcost_namespace_cost_total") {
			t.Errorf("%s: match[]=%q", path, list)
		}
	}
}

// TestSeriesDrawTheirAnswer draws the text of an answer before it is sent.
func TestSeriesDrawTheirAnswer(t *testing.T) {
	for limit, want := range map[int64]int{1 << 20: http.StatusOK, 1 << 10: http.StatusUnprocessableEntity} {
		base := serve(t, openTSDB(t, litter(t, epoch)), costseries.APIOptions{Memory: memory.New(limit)})
		r := ask(t, http.MethodGet, base, "/api/v1/series", "match[]="+url.QueryEscape(`{__name__=~".+"}`))
		checkRefusal(t, memory.Text(limit), r, want, "--query.max-memory")
	}
}
