package costapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// TestMergedBy checks which questions let the ledger leave out labels and annotations of rows that are merged.
func TestMergedBy(t *testing.T) {
	const compute, summary = "/model/allocation/compute", "/model/allocation/summary"
	for _, tt := range []struct {
		name, path string
		params     []string
		want       string
	}{
		{"merged rows", compute, []string{"aggregate=cluster"}, "cluster"},
		{"several keys", compute, []string{"aggregate=namespace,controllerKind", "accumulate=true", "includeIdle=false"}, "namespace controllerKind"},
		{"a summary", summary, []string{"aggregate=namespace", "step=1h", "resolution=1m"}, "namespace"},
		{"services", compute, []string{"aggregate=service"}, "service"},
		{"all rows", compute, nil, ""},
		{"a row a pod", compute, []string{"aggregate=namespace,pod"}, ""},
		{"a label is a key", compute, []string{"aggregate=label:app"}, ""},
		{"an alias of a label", compute, []string{"aggregate=team"}, ""},
		{"labels in common", compute, []string{"aggregate=namespace", "includeAggregatedMetadata=true"}, ""},
		{"a filter", compute, []string{"aggregate=namespace", `filter=label[app]:"web"`}, ""},
		{"a filter of something else, which may leave one row", compute, []string{"aggregate=namespace", `filter=container:"web"`}, ""},
		{"idle is shared", compute, []string{"aggregate=namespace", "shareIdle=true"}, ""},
		{"labels are shared", compute, []string{"aggregate=namespace", "shareLabels=app:web"}, ""},
		{"stored hours", "/model/allocation", []string{"aggregate=namespace"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{}
			if w := get(newHandler(f, costapi.Config{}), tt.path, over("yesterday", tt.params)...); w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			if got := strings.Trim(fmt.Sprint(f.asked[0].MergedBy), "[]"); got != tt.want {
				t.Errorf("merged by %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAssetsNeeded checks which computations read what is used of disks and of nodes' cores: those of questions that show assets, or look
// at all of them.
func TestAssetsNeeded(t *testing.T) {
	for _, tt := range []struct {
		path   string
		params []string
		few    bool
	}{
		{"/model/allocation/compute", []string{"aggregate=cluster"}, true},
		{"/model/allocation/compute", []string{"shareIdle=true", `filter=namespace:"shop"`}, true},
		{"/model/allocation/summary", []string{"resolution=1m"}, true},
		{"/model/allocation/compute", []string{"aggregate=cluster", "includeProportionalAssetResourceCosts=true"}, false},
		{"/model/assets", []string{"resolution=1m"}, false},
		{"/model/allocation/change", []string{"resolution=1m"}, false},
	} {
		f := &fake{}
		if w := get(newHandler(f, costapi.Config{}), tt.path, over("yesterday", tt.params)...); w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", tt.path, w.Code, w.Body)
		}
		if only := f.asked[0].Only; (only != nil && only.FewOfAssets) != tt.few {
			t.Errorf("%s %v: few assets %t, want %t", tt.path, tt.params, !tt.few, tt.few)
		} else if tt.few && (len(only.Properties) != int(allocation.NumProperties) || len(only.Columns) != int(allocation.NumColumns) || !only.Volumes || !only.Balancers || only.WithoutAssets) {
			t.Errorf("%s %v: only a part of rows is needed: %+v", tt.path, tt.params, only)
		}
	}
}
