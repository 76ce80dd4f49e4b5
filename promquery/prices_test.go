package promquery_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestPrices counts what the source prices of sets that have other prices.
func TestPrices(t *testing.T) {
	own := scraped(9, cpuPrice, "node", "n1", "job", "promcost", "instance", "promcost:9004", "exported_instance", "n1")
	late := opencostPrice("opencost")
	for len(late.Samples) > 0 && late.Samples[0].T <= ownWindow.Start.UnixMilli() {
		late.Samples = late.Samples[1:]
	}
	for _, tt := range []struct {
		name   string
		source string // of the price that the sets have
		prices []promtest.Series
		want   []map[string]int // of the hour before, and of the hour
	}{
		{"nothing", "sheet.yaml", nil, []map[string]int{{}, {}}},
		{"a price", "sheet.yaml", []promtest.Series{opencostPrice("opencost")}, []map[string]int{{cpuPrice: 1}, {cpuPrice: 1}}},
		{"a price of the second hour", "sheet.yaml", []promtest.Series{late}, []map[string]int{{}, {cpuPrice: 1}}},
		{"the price that it has", cpuPrice, []promtest.Series{opencostPrice("opencost")}, []map[string]int{{}, {}}},
		{"the price of another node", "sheet.yaml", []promtest.Series{scraped(2, cpuPrice, "node", "n2")}, []map[string]int{{}, {}}},
		{"a negative price", "sheet.yaml", []promtest.Series{scraped(-2, cpuPrice, "node", "n1")}, []map[string]int{{}, {}}},
		{"promcost's own", "sheet.yaml", []promtest.Series{own, buildInfo("promcost")}, []map[string]int{{}, {}}},
		{"what promcost exposed", "sheet.yaml", []promtest.Series{scraped(9, cpuPrice, "node", "n1"), scraped(1, "promcost_build_info")}, []map[string]int{{}, {}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(tt.prices...)...)
			cfg := config
			x := exposed(9, tt.source)
			cfg.Exposed = func(context.Context, allocation.Window) ([]metering.Exposure, error) {
				return []metering.Exposure{x}, nil
			}
			prices, err := promquery.NewEngine(openBlocks(t, dir), cfg).Prices(t.Context(), []allocation.Window{{Start: ownWindow.Start.Add(-time.Hour), End: ownWindow.Start}, ownWindow})
			if err != nil {
				t.Fatal(err)
			}
			got := []map[string]int{prices[0].Missed(x.Set), prices[1].Missed(x.Set)}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPricesOfManagement: a cluster whose management has a price in the source, and no asset in the set, lacks it. A price of 0 makes none.
func TestPricesOfManagement(t *testing.T) {
	const metric = "kubecost_cluster_management_cost"
	for price, want := range map[float64]map[string]int{0.1: {metric: 1}, 0: {}} {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(scraped(price, metric, "provisioner_name", "EKS"))...)
		x := exposed(9, "sheet.yaml")
		prices, err := promquery.NewEngine(openBlocks(t, dir), config).Prices(t.Context(), []allocation.Window{ownWindow})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, prices[0].Missed(x.Set)); diff != "" {
			t.Errorf("price %v (-want +got):\n%s", price, diff)
		}
	}
}

// TestPricesOfServers attributes prices that a running Prometheus returns, by both protocols.
func TestPricesOfServers(t *testing.T) {
	t.Parallel()
	federated := func(v float64, metric, job string) promtest.Series {
		return scraped(v, metric, "node", "n1", "job", "federate", "instance", "prometheus:9090", "exported_job", job, "exported_instance", job+":80")
	}
	for name, prices := range map[string][]promtest.Series{
		"known targets": {
			scraped(9, cpuPrice, "node", "n1", "job", "promcost", "instance", "promcost:9004", "exported_instance", "n1"), buildInfo("promcost"), opencostPrice("opencost"),
		},
		"federation":      {federated(9, cpuPrice, "promcost"), federated(1, "promcost_build_info", "promcost"), federated(2, cpuPrice, "opencost")},
		"no known target": {scraped(9, cpuPrice, "node", "n1"), scraped(2, cpuPrice, "node", "n1", "job", "b")},
	} {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(prices...)...)
		url := promtest.Start(t, dir, promtest.Config{})
		for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				server, err := remote.New(remote.Config{URL: url, Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				cfg := config
				cfg.Priced = true
				cfg.Exposed = func(context.Context, allocation.Window) ([]metering.Exposure, error) {
					return []metering.Exposure{exposed(9, cpuPrice)}, nil
				}
				if got := price(t, server, cfg); got != 2 {
					t.Errorf("price %v, want 2", got)
				}
			})
		}
	}
}
