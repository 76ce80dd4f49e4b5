package config_test

import (
	"os"
	"path/filepath"
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

// TestListWarnings checks what is said of the age and the currency of list prices.
func TestListWarnings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.csv")
	head := "provider,region,instanceType,option,os,price,currency,asOf\n"
	for _, tt := range []struct{ name, list, now, want string }{
		{"as of today", "", "2026-11-30", ""},
		{"built in long ago", "", "2027-08-25", "built-in list prices of AWS are as of 2026-07-20, more than 400 days ago: fetch newer ones with --pricing.fetch"},
		{"built in long ago, with others of AWS", "aws,eu-central-1,m,ondemand,linux,0.1,USD,2027-08-20", "2027-08-25", ""},
		{"built in long ago, with others of Google", "gcp,europe-west3,m,ondemand,linux,0.1,USD,2027-08-20", "2027-08-25", "more than 400 days ago"},
		{"a list of a month ago", "aws,eu-central-1,m,ondemand,linux,0.1,USD,2026-10-30", "2026-11-30", "list prices of " + file + " are as of 2026-10-30, more than 30 days ago: fetch them again"},
		{"in another currency", "aws,cn-north-1,m,ondemand,linux,0.1,CNY,2026-11-30", "2026-11-30", file + " are in CNY, and answers in USD: nothing is converted, they are not used"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := config.Flags{Zone: time.UTC}
			if tt.list != "" {
				if err := os.WriteFile(file, []byte(head+tt.list+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				flags.PriceLists = []string{file}
			}
			s, err := config.Read(flags)
			if err != nil {
				t.Fatal(err)
			}
			now, err := time.Parse(time.DateOnly, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Warnings(now.Add(time.Hour)); (tt.want != "" || len(got) > 0) && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for name, want := range map[string]string{filepath.Join(t.TempDir(), "none.csv"): "read --pricing.list: ", file: "read --pricing.list: read list prices " + file + ": line 2: "} {
		if err := os.WriteFile(file, []byte(head+"aws,eu-central-1,m,ondemand,linux,-1,USD,2026-11-30\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Read(config.Flags{Zone: time.UTC, PriceLists: []string{name}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// TestMonthlyList refuses a list of prices for a month, and takes others of unusual prices.
func TestMonthlyList(t *testing.T) {
	for price, want := range map[string]string{"0.096": "", "0.5": "", "9.6": "", "70.08": "m5.large in us-east-1 costs 70.08, some 730 times the built-in price of 0.096 an hour"} {
		file := filepath.Join(t.TempDir(), "list.csv")
		text := "provider,region,instanceType,option,os,price,currency,asOf\naws,us-east-1,m5.large,ondemand,linux," + price + ",USD,2026-11-01\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Read(config.Flags{PriceLists: []string{file}, Zone: time.UTC})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", price, err, want)
		}
	}
}
