package dashboards_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/promcost/promcost/dashboards"
	"github.com/promcost/promcost/dashboards/grafana"
)

var update = flag.Bool("update", false, "rewrite the dashboards' JSON")

// TestGenerated holds the JSON to the code that it is made from.
func TestGenerated(t *testing.T) {
	files, err := grafana.Files()
	if err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join("json", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join("json", f.Name)
		old = slices.DeleteFunc(old, func(o string) bool { return o == path })
		if *update {
			if err := os.WriteFile(path, f.Text, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != string(f.Text) {
			t.Errorf("%s is out of date: run `make generate`", path)
		}
	}
	for _, path := range old {
		if !*update {
			t.Errorf("%s is of no dashboard: run `make generate`", path)
		} else if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func TestDashboardsAreInOneCurrency(t *testing.T) {
	for _, tt := range []struct{ currency, unit string }{
		{"USD", `"currencyUSD"`},
		{"EUR", `"currencyEUR"`},
		{"CNY", `"currency:CNY "`},
	} {
		t.Run(tt.currency, func(t *testing.T) {
			money := 0
			for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: tt.currency}) {
				units := unitsOf(t, f)
				for _, u := range units {
					if len(u) > 8 && u[:8] == "currency" {
						money++
						if `"`+u+`"` != tt.unit {
							t.Errorf("%s: unit %q, want %s", f.Name, u, tt.unit)
						}
					}
				}
			}
			if money == 0 {
				t.Error("no panel shows money")
			}
		})
	}
}
