package costapi_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/costapi"
)

// choices are values of parameters, of which each request takes some at random; "" leaves the parameter out. None of them
// changes what everything costs.
var choices = map[string][]string{
	"aggregate":                             {"", "namespace", "cluster,namespace,pod", "label:app", "team,environment", "node", "nodePool", "nodePool,namespace", "all", "controller,service"},
	"idleByNode":                            {"", "true"},
	"splitIdle":                             {"", "true"},
	"shareIdle":                             {"", "true", "weighted", "even"},
	"shareNamespaces":                       {"", "kube-system", "kube-*,ml", "*"},
	"shareLabels":                           {"", "app:front", "env:staging,team:red"},
	"share":                                 {"", `namespace!:"web"`},
	"shareSplit":                            {"", "even", "weighted"},
	"shareTenancyCosts":                     {"", "true", "false"},
	"sharelb":                               {"", "true"},
	"reconcile":                             {"", "false"},
	"unbilled":                              {"", "estimate"},
	"external":                              {"", "true"},
	"step":                                  {"", "1h"},
	"accumulate":                            {"", "true", "day", "week", "month"},
	"includeAggregatedMetadata":             {"", "true"},
	"sortBy":                                {"", "name", "cpuCost"},
	"includeProportionalAssetResourceCosts": {"", "true"},
	"includeSharedCostBreakdown":            {"", "false"},
}

// TestCombinedParameters checks that rows cost in total what all assets cost, whatever is shared, split, merged and summed, except
// for costs of clusters besides nodes that are not shared. Every law must hold after every pass.
func TestCombinedParameters(t *testing.T) {
	assets := totalOf(t, "/model/assets", []string{richDay})
	tenancy := assets - totalOf(t, "/model/allocation/compute", []string{richDay, "idle=true", "shareTenancyCosts=false"})
	if tenancy <= 0 {
		t.Fatalf("clusters cost %v besides nodes", tenancy)
	}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 1))
		params := []string{richDay, "idle=true"}
		for _, p := range costapi.Parameters("/model/allocation") {
			values := choices[p.Name]
			if len(values) == 0 {
				continue
			}
			if v := values[random.IntN(len(values))]; v != "" {
				params = append(params, p.Name+"="+v)
			}
		}
		path := []string{"/model/allocation", "/model/allocation/compute", "/allocation", "/allocation/compute"}[random.IntN(4)]
		want, told := assets, slices.Contains(params, "shareTenancyCosts=true")
		if slices.Contains(params, "shareTenancyCosts=false") || !told && strings.HasPrefix(path, "/allocation") {
			want -= tenancy
		}
		if got := totalOf(t, path, params); math.Abs(got-want) > 1e-9*assets {
			t.Errorf("seed %d: %s?%s: rows cost %v, want %v", seed, path, strings.Join(params, "&"), got, want)
		}
	}
}

// totalOf is the sum of what all rows of all sets cost.
func totalOf(t *testing.T, path string, params []string) float64 {
	t.Helper()
	w := get(richHandler(costapi.Config{}), path, params...)
	if w.Code != http.StatusOK {
		t.Fatalf("%s?%s: status %d: %.400s", path, strings.Join(params, "&"), w.Code, w.Body)
	}
	var answer struct {
		Data []map[string]struct{ TotalCost float64 }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, set := range answer.Data {
		for _, row := range set {
			sum += row.TotalCost
		}
	}
	return sum
}
