//go:build e2e

package history_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/history"
)

// TestDuckDBBillsE2E lets DuckDB sum the FOCUS sample and the lines that are kept of it, which must agree with each other and with what
// the store reads.
func TestDuckDBBillsE2E(t *testing.T) {
	s, dir := directory(t, history.Options{})
	from := t.TempDir()
	sample, err := os.ReadFile(filepath.Join("..", "billing", "testdata", "focus_sample.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	putBill(t, from, "focus_sample.csv.gz", string(sample), 0)
	n := billIntake(t, s.Bills(), from)
	_, book := looked(t, n)
	own := billing.Costs{}
	all := allocation.Window{Start: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	err = book.Read(t.Context(), all, func(l *billing.Line) error {
		for k, v := range l.Costs {
			own[k] += v
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const sums = `SELECT sum("EffectiveCost"::DOUBLE) AS c0, sum("BilledCost"::DOUBLE) AS c1, sum("ContractedCost"::DOUBLE) AS c2, sum("ListCost"::DOUBLE) AS c3, count(*)::INT AS n,
		count(DISTINCT "BillingAccountId" || "SubAccountId" || "ServiceName")::INT AS groups FROM `
	file := duckDB(t, sums+fmt.Sprintf("read_csv('%s/focus_sample.csv.gz', nullstr = 'NULL', all_varchar = true)", from))
	kept := duckDB(t, sums+fmt.Sprintf("read_parquet('%s/bills_daily/**/*.parquet', hive_partitioning = true)", dir))
	for k, want := range own {
		for name, row := range map[string]map[string]any{"the sample": file, "the history": kept} {
			if got, _ := row[fmt.Sprintf("c%d", k)].(float64); math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("DuckDB's %s of %s is %v, want %v", billing.Cost(k), name, got, want)
			}
		}
	}
	if file["n"] != 1000.0 || kept["n"] != 1000.0 || file["groups"] != kept["groups"] {
		t.Errorf("the sample has %v lines of %v services and accounts, the history %v of %v", file["n"], file["groups"], kept["n"], kept["groups"])
	}
}
