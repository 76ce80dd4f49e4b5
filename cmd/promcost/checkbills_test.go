package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// billHeader and billLine begin files in FOCUS, and their lines.
const (
	billHeader = "BillingAccountId,BillingPeriodStart,BillingPeriodEnd,BillingCurrency,SubAccountId,ProviderName,ServiceName,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,BilledCost,ResourceId,Tags\n"
	billLine   = "payer,2026-01-01T00:00:00Z,2026-02-01T00:00:00Z,USD,other,AWS,EC2,Usage,2026-01-30T00:00:00Z,2026-01-31T00:00:00Z,"
)

// TestCheckBills compares bills with the demo's cluster: bills of it, bills with warnings, and bills that are of no use.
func TestCheckBills(t *testing.T) {
	t.Parallel()
	dir, configs := filepath.Join(t.TempDir(), "demo"), t.TempDir()
	p := start(t, "demo", "--write="+dir, "--demo.nodes=4", "--demo.pods=40", "--demo.duration=36h", "--demo.end=2026-01-31T02:00:00Z")
	if code := <-p.code; code != exitOK {
		t.Fatalf("demo --write: exit %d: %s", code, p.err.String())
	}
	written := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	provider := "- {name: provider, path: " + filepath.Join(dir, "bills", "aws") + "}\n"
	for name, text := range map[string]string{
		"whole.yaml":          "bills:\n" + provider + "- {name: vendor, path: " + filepath.Join(dir, "bills", "clearview") + "}\n",
		"damaged.yaml":        "bills:\n" + provider + "- {name: damaged, path: damaged}\n",
		"damaged/charges.csv": billHeader + billLine + "much,1,i-1,\n",
		"empty.yaml":          "bills:\n- {name: empty, path: none}\n",
		"none/.keep":          "",
		"stranger.yaml":       "bills:\n- {name: stranger, path: stranger}\n",
		"stranger/one.csv":    billHeader + billLine + "7,7,i-0stranger,\n" + billLine + "3,3,i-0tagged,\"{\"\"eks:cluster-name\"\":\"\"other\"\"}\"\n",
	} {
		file := filepath.Join(configs, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, written, written); err != nil {
			t.Fatal(err)
		}
	}
	checkTranscript(t, "bills", place{"DIR", dir}, place{"CONFIG", configs})
}
