package history_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest"
)

var billLines = flag.Int("bills.lines", 10_000_000, "how many lines BenchmarkBills takes in")

// billsOfDuckDB is a bill of one month as a query: resources that are charged by the hour, by several services, with tags.
const billsOfDuckDB = `SELECT 'payer' BillingAccountId, 'Payer' BillingAccountName, TIMESTAMP '2026-10-01' BillingPeriodStart, TIMESTAMP '2026-11-01' BillingPeriodEnd,
	'USD' BillingCurrency, 'sub-' || (r %% 40) SubAccountId, 'Team ' || (r %% 40) SubAccountName, 'AWS' ProviderName, 'Amazon Web Services, Inc.' InvoiceIssuerName,
	'Amazon Web Services, Inc.' PublisherName, 'Compute' ServiceCategory, 'Service ' || (r %% 25) ServiceName, 'Usage' ChargeCategory, 'Usage-Based' ChargeFrequency,
	'$0.0' || (r %% 997) || ' per hour of instance' ChargeDescription, 'Standard' PricingCategory, 'Hours' PricingUnit, 'Hours' ConsumedUnit, 'SKU' || (r %% 997) SkuId,
	'arn:aws:ec2:eu-central-1:123456789012:instance/i-' || printf('%%017x', r * 2654435761) ResourceId, 'node-' || r ResourceName, 'instance' ResourceType,
	'eu-central-1' RegionId, 'eu-central-1' || chr((97 + r %% 3)::INT) AvailabilityZone,
	'{"team":"team-' || (r %% 50) || '","env":"' || CASE WHEN r %% 2 = 0 THEN 'dev' ELSE 'prod' END || '","app":"app-' || (r %% 3000) || '"}' Tags,
	TIMESTAMP '2026-10-01' + INTERVAL 1 HOUR * h ChargePeriodStart, TIMESTAMP '2026-10-01' + INTERVAL 1 HOUR * (h + 1) ChargePeriodEnd,
	(r %% 997) * 0.0001 + h * 0.000001 EffectiveCost, (r %% 997) * 0.0001 BilledCost, (r %% 997) * 0.0001 ContractedCost, (r %% 997) * 0.00013 ListCost,
	1.0 ConsumedQuantity, 1.0 PricingQuantity
	FROM (SELECT range // 744 r, range %% 744 h FROM range(%d))`

// sumsOfDuckDB sums the same columns of a file: numbers, and the lengths of texts.
const sumsOfDuckDB = `SELECT sum(EffectiveCost), sum(BilledCost), sum(ContractedCost), sum(ListCost), sum(ConsumedQuantity), sum(PricingQuantity), min(ChargePeriodStart), max(ChargePeriodEnd),
	sum(strlen(BillingAccountId)), sum(strlen(BillingAccountName)), min(BillingPeriodStart), max(BillingPeriodEnd), sum(strlen(BillingCurrency)), sum(strlen(SubAccountId)), sum(strlen(SubAccountName)),
	sum(strlen(ProviderName)), sum(strlen(InvoiceIssuerName)), sum(strlen(PublisherName)), sum(strlen(ServiceCategory)), sum(strlen(ServiceName)), sum(strlen(ChargeCategory)), sum(strlen(ChargeFrequency)),
	sum(strlen(ChargeDescription)), sum(strlen(PricingCategory)), sum(strlen(PricingUnit)), sum(strlen(ConsumedUnit)), sum(strlen(SkuId)), sum(strlen(ResourceId)), sum(strlen(ResourceName)),
	sum(strlen(ResourceType)), sum(strlen(RegionId)), sum(strlen(AvailabilityZone)), sum(strlen(Tags)) FROM '%s'`

// runDuckDB runs statements, and returns the seconds of processor time.
func runDuckDB(b *testing.B, sql ...string) float64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), promtest.DuckDB(b))
	cmd.Stdin = strings.NewReader(strings.Join(sql, ";"))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}

// BenchmarkBills takes in a bill in a process of its own, and reports its lines a second of processor time, its peak of memory, and its
// processor time as a multiple of what DuckDB takes with one thread to sum the same columns.
func BenchmarkBills(b *testing.B) {
	for _, format := range []struct{ name, options string }{
		{"focus.csv.gz", "FORMAT csv, COMPRESSION gzip"},
		{"focus.parquet", "FORMAT parquet"},
	} {
		b.Run(format.name, func(b *testing.B) {
			dir := b.TempDir()
			file := filepath.Join(dir, "from", format.name)
			if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
				b.Fatal(err)
			}
			runDuckDB(b, fmt.Sprintf("COPY ("+billsOfDuckDB+") TO '%s' (%s)", *billLines, file, format.options))
			yardstick := runDuckDB(b, "SET threads = 1", fmt.Sprintf(sumsOfDuckDB, file))
			for b.Loop() {
				if err := os.RemoveAll(filepath.Join(dir, "store")); err != nil {
					b.Fatal(err)
				}
				cmd := exec.CommandContext(b.Context(), os.Args[0], "takebills", dir)
				cmd.Stderr = io.Discard
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				if got := linesKept(b, dir); got != int64(*billLines) {
					b.Fatalf("%d lines are kept, want %d", got, *billLines)
				}
				seconds := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
				b.ReportMetric(float64(*billLines)/seconds, "lines/cpu-s")
				b.ReportMetric(seconds/yardstick, "x-duckdb")
				b.ReportMetric(yardstick, "duckdb-cpu-s")
				if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
					b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MB")
				}
			}
		})
	}
}

// linesKept is how many lines the statements of a store have.
func linesKept(b *testing.B, dir string) (lines int64) {
	b.Helper()
	d, err := history.OpenDirectory(filepath.Join(dir, "store"))
	if err != nil {
		b.Fatal(err)
	}
	list, _, err := history.New(d, history.Options{}).Bills().List(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for i := range list {
		lines += list[i].Lines
	}
	return lines
}
