package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// benchBillDays is the window of the questions of BenchmarkBills.
const benchBillDays = 30

// BenchmarkBills asks a server in a process of its own for the costs of 30 days at list prices, and then for what was billed: every node is
// charged by the hour. x-list is the processor time of the latter as a multiple of the former, without the first answers.
func BenchmarkBills(b *testing.B) {
	dir := b.TempDir()
	*benchDays, *benchHours = benchBillDays, benchBillDays*24
	writeBenchHistory(b, dir)
	config := writeBenchBill(b, dir)
	window := "window=" + benchEnd().AddDate(0, 0, -benchBillDays).Format(time.RFC3339) + "," + benchEnd().Format(time.RFC3339)
	for _, q := range []struct{ name, path string }{
		{"namespace", "/model/allocation?aggregate=namespace&accumulate=true&"},
		{"controller-a-day", "/model/allocation?aggregate=controller&accumulate=day&"},
		{"hours", "/model/allocation?step=1h&aggregate=namespace&accumulate=true&"},
		{"assets", "/model/assets?accumulate=true&"},
	} {
		without := time.Duration(0)
		b.Run(q.name+"/list", func(b *testing.B) {
			without = benchmarkHistory(b, dir, q.path+window+"&reconcile=false", "identity", "--config.file="+config)
		})
		b.Run(q.name+"/billed", func(b *testing.B) {
			with := benchmarkHistory(b, dir, q.path+window, "identity", "--config.file="+config)
			b.ReportMetric(with.Seconds()/max(without, time.Millisecond).Seconds(), "x-list")
		})
	}
}

// writeBenchBill writes a bill of the nodes of the history of a directory, takes it in, and returns a config file that names it.
func writeBenchBill(b *testing.B, dir string) (config string) {
	b.Helper()
	from := filepath.Join(b.TempDir(), "aws")
	if err := os.Mkdir(from, 0o755); err != nil {
		b.Fatal(err)
	}
	file, err := os.Create(filepath.Join(from, "march.csv"))
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "BillingAccountId,BillingPeriodStart,BillingPeriodEnd,BillingCurrency,ServiceProviderName,ServiceName,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,ResourceId,ResourceType")
	for i := range 1 + *benchContainers/50 {
		for at := benchEnd().AddDate(0, 0, -benchBillDays); at.Before(benchEnd()); at = at.Add(time.Hour) {
			fmt.Fprintf(out, "payer,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,USD,AWS,Amazon Elastic Compute Cloud,Usage,%s,%s,0.7,arn:aws:ec2:eu-west-1:123456789012:instance/i-node-%d,instance\n",
				at.Format(time.RFC3339), at.Add(time.Hour).Format(time.RFC3339), i)
		}
	}
	for _, done := range []func() error{out.Flush, file.Close} {
		if err := done(); err != nil {
			b.Fatal(err)
		}
	}
	return keepBill(b, dir, from)
}
