package costapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/costapi"
)

// pageAsset is what the Infrastructure Assets pages of OpenCost's web UI read of a row. They leave out rows without type or
// totalCost, and show nothing at all if the end of one is not a time.
type pageAsset struct {
	Type       *string
	TotalCost  *float64
	End        time.Time
	Properties struct{ Name, Provider, Cluster, Category string }
	Labels     map[string]string
	NodeType   *string
	CPUCores   float64
	RAMBytes   float64
	Bytes      *float64

	CPUBreakdown, RAMBreakdown *pageBreakdown
}

// pageBreakdown is what utilization is made of.
type pageBreakdown struct{ Idle, User, System, Other *float64 }

// plausible reports whether the pages show a true utilization. They must show none if it is unknown, because they take zeros for
// full use.
func (b *pageBreakdown) plausible() bool {
	return b == nil || b.Idle != nil && math.Abs(*b.Idle+*b.User+*b.System+*b.Other-1) < 1e-9
}

// assetsPage asks for rows as the pages do.
func assetsPage(t *testing.T, query string) (rows map[string]pageAsset) {
	t.Helper()
	decode(t, "/assets?"+query, &rows)
	for key, a := range rows {
		if a.Type == nil || *a.Type == "" || a.TotalCost == nil || a.End.IsZero() || a.Properties.Name == "" || a.Properties.Cluster == "" || a.Properties.Category == "" {
			t.Errorf("%s: the pages cannot show %s: %+v", query, key, a)
		}
		if a.Type == nil || *a.Type != "Node" {
			continue
		}
		if a.NodeType == nil || a.CPUCores <= 0 || a.RAMBytes <= 0 || !a.CPUBreakdown.plausible() || !a.RAMBreakdown.plausible() {
			t.Errorf("%s: the pages cannot show the details of node %s: %+v", query, key, a)
		}
	}
	return rows
}

// TestOpenCostAssetsPages sends the requests of the pages: each window and field that they offer.
func TestOpenCostAssetsPages(t *testing.T) {
	all := assetsPage(t, "window=yesterday")
	if len(all) != 10 {
		t.Fatalf("%d assets, want 10", len(all))
	}
	for _, window := range []string{"today", "yesterday", "24h", "7d", "14d", "30d", "2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"} {
		for _, aggregate := range []string{"assetType", "category", "cluster", "provider", "account", "service", "project", "providerID"} {
			for _, accumulate := range []string{"true", "false"} {
				query := fmt.Sprintf("window=%s&aggregate=%s&includeIdle=%[3]s&accumulate=%[3]s&step=1d", url.QueryEscape(window), aggregate, accumulate)
				if got := slices.Sorted(maps.Keys(assetsPage(t, query))); !slices.Equal(got, slices.Sorted(maps.Keys(all))) {
					t.Errorf("%s: rows %q", query, got)
				}
			}
		}
	}
}

// TestOpenCostAssetsFilters checks that each field that the pages filter by selects what OpenCost's own filters select.
func TestOpenCostAssetsFilters(t *testing.T) {
	for filter, want := range map[string]int{
		`type:"Disk"`: 3, `type:"disk"`: 3, `type!:"Disk"`: 7, `assetType:"Disk"`: 3, `assetType:"disk"`: 3,
		`category:"Storage"`: 3, `cluster:"one"`: 9, `provider:"GCP"`: 1, `account:"__unallocated__"`: 10, `service:"Kubernetes"`: 10,
		`project:"proj"`: 1, `providerID:"i-n1"`: 1, `name:"n1"`: 2, `label[rack]:"r7"`: 3, `team:"infra"`: 3, `type:"Node"+cluster:"one"`: 2, `type:"Nothing"`: 0,
	} {
		query := "window=7d&aggregate=assetType&includeIdle=true&accumulate=true&step=1d&filter=" + url.QueryEscape(filter)
		if got := assetsPage(t, query); len(got) != want {
			t.Errorf("%s: %d rows, want %d: %q", filter, len(got), want, slices.Sorted(maps.Keys(got)))
		}
	}
}

// TestOpenCostAssetsIgnores checks that parameters that OpenCost ignores on /assets are ignored whatever their value, with a
// warning only if the rows are not those that were asked for.
func TestOpenCostAssetsIgnores(t *testing.T) {
	want := slices.Sorted(maps.Keys(assetsPage(t, "window=1d")))
	for _, query := range []string{
		"aggregate=nonsense", "aggregate=type&aggregate=cluster", "aggregate=label:x,type", "accumulate=weeknow", "accumulate=true", "step=never", "step=1d", "step=10000h", "includeIdle=perhaps", "aggregate=",
	} {
		var body struct {
			Data     map[string]json.RawMessage
			Warnings []string
		}
		if err := json.Unmarshal(ask(t, "/assets?window=1d&"+query).Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(body.Data)); !slices.Equal(got, want) {
			t.Errorf("%s: rows %q", query, got)
		}
		said := slices.ContainsFunc(body.Warnings, func(w string) bool { return strings.Contains(w, "/model/assets") })
		if want := strings.HasPrefix(query, "aggregate=") && query != "aggregate="; said != want || len(body.Warnings) > 1 {
			t.Errorf("%s: warnings %q", query, body.Warnings)
		}
	}
	for _, path := range []string{"/model/assets", "/model/assets/topline"} {
		if w := get(richHandler(costapi.Config{}), path, "window=1d", "aggregate=nonsense"); w.Code != http.StatusBadRequest {
			t.Errorf("%s: an unknown field is status %d", path, w.Code)
		}
	}
}
