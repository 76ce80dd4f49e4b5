package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEfficiency recommends requests by what is used, at the price of what is allocated, and nothing where usage is not known.
func TestEfficiency(t *testing.T) {
	const rest = `"start":"2026-11-20T00:00:00Z","end":"2026-11-21T00:00:00Z"`
	rows := map[string]string{
		"wide":    `{"name":"wide","totalCost":13,"cpuCores":4,"cpuCoreRequestAverage":4,"cpuCoreUsageAverage":1,"cpuCost":7,"cpuCostAdjustment":1,"cpuEfficiency":0.25,"ramBytes":1e9,"ramByteRequestAverage":1e9,"ramByteUsageAverage":5e8,"ramCost":4,"ramEfficiency":0.5,` + rest + `}`,
		"unknown": `{"name":"unknown","totalCost":9,"cpuCores":4,"cpuCoreRequestAverage":4,"cpuCoreUsageAverage":null,"cpuCost":8,"ramByteUsageAverage":null,` + rest + `}`,
		"volume":  `{"name":"volume","totalCost":1,"cpuCoreUsageAverage":null,"ramByteUsageAverage":null,` + rest + `}`,
	}
	var list []string
	for name, row := range rows {
		list = append(list, fmt.Sprintf("%q:%s", name, row))
	}
	var asked url.Values
	api := func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		fmt.Fprint(w, `{"data":[{`+strings.Join(list, ",")+`}],"warnings":["w"]}`)
	}
	text, failed := ask(t, api, 0, "get_efficiency", map[string]any{"window": "1d", "buffer_multiplier": 1.5})
	var got struct {
		Data      struct{ Efficiencies []map[string]any }
		Warnings  []string
		QueryInfo struct{ QueryID string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || failed || got.QueryInfo.QueryID == "" {
		t.Fatalf("failed %v, %v: %s", failed, err, text)
	}
	want := []map[string]any{{
		"name": "wide", "cpuEfficiency": 0.25, "memoryEfficiency": 0.5, "cpuCoresRequested": 4.0, "cpuCoresUsed": 1.0, "ramBytesRequested": 1e9, "ramBytesUsed": 5e8,
		"recommendedCpuRequest": 1.5, "recommendedRamRequest": 7.5e8, "resultingCpuEfficiency": 1 / 1.5, "resultingMemoryEfficiency": 1 / 1.5,
		"currentTotalCost": 13.0, "recommendedCost": 7.0, "costSavings": 6.0, "costSavingsPercent": 600.0 / 13, "efficiencyBufferMultiplier": 1.5,
		"start": "2026-11-20T00:00:00Z", "end": "2026-11-21T00:00:00Z",
	}}
	if diff := cmp.Diff(want, got.Data.Efficiencies); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"w", "1 rows are left out, for nothing is known of what they use"}, got.Warnings); diff != "" {
		t.Error(diff)
	}
	if asked.Get("aggregate") != "pod" || asked.Get("nulls") != "true" || asked.Get("accumulate") != "true" {
		t.Errorf("asked %v", asked)
	}
	for _, wrong := range []any{0, -1, "much", 1e9} {
		if text, failed := ask(t, api, 0, "get_efficiency", map[string]any{"window": "1d", "buffer_multiplier": wrong}); !failed || !strings.Contains(text, "argument buffer_multiplier") {
			t.Errorf("%v: failed %v: %s", wrong, failed, text)
		}
	}
}

// TestCloudFilters joins OpenCost's arguments for single fields with the filter.
func TestCloudFilters(t *testing.T) {
	for _, tt := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{}, ""},
		{map[string]any{"provider": "AWS"}, `provider:"AWS"`},
		{map[string]any{"service": `a "b" \ c`, "category": "Disk", "region": "us-east-1", "account": "prod"}, `service:"a \"b\" \\ c"+category:"Disk"+regionID:"us-east-1"+accountID:"prod"`},
		{map[string]any{"filter": `label[team]:"a"|label[team]:"b"`, "provider": "GCP"}, `(label[team]:"a"|label[team]:"b")+provider:"GCP"`},
	} {
		var asked url.Values
		api := func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Query()
			fmt.Fprint(w, `{"data":{"sets":[]}}`)
		}
		tt.args["window"] = "1d"
		if text, failed := ask(t, api, 0, "get_cloud_costs", tt.args); failed {
			t.Fatalf("%v: %s", tt.args, text)
		}
		if got := asked.Get("filter"); got != tt.want || len(asked) > 2 {
			t.Errorf("%v asks %v, want the filter %s", tt.args, asked, tt.want)
		}
	}
	if text, failed := ask(t, answers(nil), 0, "get_cloud_costs", map[string]any{"window": "1d", "provider": 5}); !failed || !strings.Contains(text, "argument provider: give a text") {
		t.Errorf("failed %v: %s", failed, text)
	}
}
