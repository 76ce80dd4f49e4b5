package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// TestPriceWarnings checks what is said of prices as a whole: their age, and currencies that are not converted.
func TestPriceWarnings(t *testing.T) {
	const all = "cpuPerCoreHour: 1, ramPerGiBHour: 0.1, gpuPerDeviceHour: 1, spotCPUPerCoreHour: 1, spotRAMPerGiBHour: 0.1, spotGPUPerDeviceHour: 1, " +
		"storagePerGiBMonth: 0.1, loadBalancerPerHour: 0.1, egressZonePerGiB: 0.1, egressRegionPerGiB: 0.1, egressInternetPerGiB: 0.1"
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, sheet, currency string
		want                  []string // of each warning
	}{
		{"dollars", "asOf: 2025-06-01", "USD", nil},
		{"old ones", "asOf: 2025-05-30", "USD", []string{"prices of p.yaml are as of 2025-05-30, more than a year ago"}},
		{"francs by nobody", "", "CHF", []string{
			"built-in defaults are in USD, not converted to CHF: give defaults for what no rule and no metric prices (cpuPerCoreHour, ramPerGiBHour, ",
			"prices by metrics, such as node_cpu_hourly_cost, are taken to be in CHF",
		}},
		{"francs for all", "defaults: {" + all + "}", "CHF", []string{"taken to be in CHF"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rates, err := pricing.Parse("p.yaml", []byte(tt.sheet))
			if err != nil {
				t.Fatal(err)
			}
			got := (&config.Settings{Rates: rates, Currency: tt.currency}).Warnings(now)
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %d", got, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%q lacks %q", got[i], want)
				}
			}
		})
	}
}
