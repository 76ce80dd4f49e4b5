package costapi_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation/costapi"
)

// listedSaving is what the path of each part of the overview lists, in money a month.
var listedSaving = map[string]struct {
	path string
	sum  func(data any) float64
}{
	"containerRequestSizing": {"requestSizingV2/topline", func(data any) float64 { return data.(map[string]any)["TotalMonthlySavings"].(float64) }},
	"abandonedWorkloads": {"abandonedWorkloads", func(data any) (sum float64) {
		for _, pod := range data.([]any) {
			sum += pod.(map[string]any)["monthlySavings"].(float64)
		}
		return sum
	}},
	"unclaimedVolumes": {"unclaimedVolumes", func(data any) float64 { return data.(map[string]any)["monthlyCost"].(float64) }},
	"idleGPUs":         {"idleGPUs", func(data any) float64 { return data.(map[string]any)["monthlyCost"].(float64) }},
}

// TestSavingsOverview compares the overview with the paths that it sums up.
func TestSavingsOverview(t *testing.T) {
	cfg := costapi.Config{Now: func() time.Time { return now }, Cluster: func() costapi.ClusterInfo { return costapi.ClusterInfo{ID: "one"} }}
	data := func(t *testing.T, h http.Handler, path string, params ...string) any {
		var answer struct {
			Data     any
			Warnings []string
		}
		w := get(h, path, append(params, "jmespath=@")...)
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: status %d, %v: %s", path, w.Code, err, w.Body)
		}
		return answer.Data
	}
	for _, tc := range []struct {
		name   string
		ledger costapi.Ledger
		params []string
		saves  string // the parts that save something
	}{
		{"waste", &wasteful{}, nil, "abandonedWorkloads unclaimedVolumes idleGPUs"},
		{"waste of a window", &wasteful{}, []string{"window=2026-11-17,2026-11-20"}, "abandonedWorkloads unclaimedVolumes idleGPUs"},
		{"waste of a namespace", &wasteful{}, []string{`filter=namespace:"web"`}, "abandonedWorkloads idleGPUs"},
		{"waste of no namespace", &wasteful{}, []string{`filterNamespaces=none`}, ""},
		{"requests", &busyLedger{}, nil, "containerRequestSizing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := costapi.New(tc.ledger, log.NewNopLogger(), cfg)
			overview := data(t, h, "/model/savings", tc.params...).(map[string]any)
			if overview["cluster"] != "one" || overview["profile"] != "kubecost" || len(overview) != 2+len(listedSaving) {
				t.Errorf("%v", overview)
			}
			for name, listed := range listedSaving {
				part := overview[name].(map[string]any)
				want := listed.sum(data(t, h, "/model/savings/"+listed.path, tc.params...))
				if got := part["savingsPerMonth"].(float64); math.Abs(got-want) > 1e-9 || got > 0 != strings.Contains(tc.saves, name) {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
				until := now.Truncate(time.Minute).Format(time.RFC3339)
				if strings.Contains(tc.name, "window") {
					until = "2026-11-20T00:00:00Z"
				}
				if part["lastRefresh"] != until {
					t.Errorf("%s: refreshed at %v, want %s", name, part["lastRefresh"], until)
				}
			}
		})
	}
}

// TestSavingsOverviewWarnings says once what the parts warn of, and refuses what they refuse.
func TestSavingsOverviewWarnings(t *testing.T) {
	w := get(wastefulHandler(), "/model/savings", "window=yesterday")
	for _, warning := range []string{"usage or traffic of 1 pod", "the window is shorter than days=7"} {
		if n := strings.Count(w.Body.String(), warning); n != 1 {
			t.Errorf("%d times %q: %s", n, warning, w.Body)
		}
	}
	if w := get(wastefulHandler(), "/model/savings", "filter=namespace:"); w.Code != http.StatusBadRequest {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
