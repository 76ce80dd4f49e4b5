package main

import (
	"bytes"
	"encoding/csv"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/democluster"
)

// writeBilledHistory fills a history and has it keep the bill of the demo's provider. It returns its directory and a config
// file with the bill.
func writeBilledHistory(t *testing.T) (dir, config string) {
	t.Helper()
	dir, blocks := writeHistoryOf(t)
	files := filepath.Join(blocks, demoBillsDir, democluster.ProviderBill)
	return dir, keepBill(t, dir, files)
}

// keepBill has the history in a directory keep the bill whose files are in another. It returns a config file with the bill.
func keepBill(tb testing.TB, dir, files string) (config string) {
	tb.Helper()
	bucket, err := filesystem.NewBucket(files)
	if err != nil {
		tb.Fatal(err)
	}
	directory, err := history.OpenDirectory(dir)
	if err != nil {
		tb.Fatal(err)
	}
	intake := billing.NewIntake(history.New(directory, history.Options{}).Bills(), log.NewNopLogger(), billing.IntakeOptions{})
	intake.Set([]billing.Source{{Bill: billing.Bill{Name: "aws", Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: bucket, Where: files}}}, time.UTC)
	if err := intake.Look(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	config = filepath.Join(tb.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("bills: [{name: aws, path: "+files+"}]\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return config
}

// TestExportBilled verifies that exports with a config file have the costs that the API has with the same bills.
func TestExportBilled(t *testing.T) {
	t.Parallel()
	dir, config := writeBilledHistory(t)
	p := start(t, "serve", "--source=none", "--storage.path="+dir, "--config.file="+config, "--web.listen-address=127.0.0.1:0")
	base := p.url(t)
	const day = "2026-01-30T00:00:00Z,2026-01-31T00:00:00Z"
	total := func(query string) (sum float64) {
		eventually(t, "it does not answer", func() bool {
			code, _ := get(t, base+"/-/ready")
			return code == http.StatusOK
		})
		for _, set := range decodeCosts(t, base+"/model/allocation?window="+day+query) {
			for _, row := range set {
				sum += row.TotalCost
			}
		}
		return sum
	}
	whole, list := total("&shareTenancyCosts=true"), total("&shareTenancyCosts=true&reconcile=false")
	withoutTenancy, workloads := total("&shareTenancyCosts=false"), total("&shareTenancyCosts=false&includeIdle=false")
	if with := total("&shareTenancyCosts=true&external=true"); with <= whole { // what was read of stored rows is less than all
		t.Errorf("with what buckets cost, the day costs %v, without %v", with, whole)
	}
	p.end(t)
	if math.Abs(whole-list) < 0.01*list {
		t.Fatalf("the bill changes nothing: %v", whole)
	}
	for _, tt := range []struct {
		name, args, column string
		want               float64
	}{
		{"FOCUS", "-f focus --window=" + day, "EffectiveCost", whole},
		{"FOCUS without tenancy", "-f focus --no-share-tenancy --window=" + day, "EffectiveCost", withoutTenancy},
		{"FOCUS of hours", "-f focus --period=hourly --window=" + day, "EffectiveCost", whole},
		{"csv", "--window=" + day, "totalCost", workloads},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, err := csv.NewReader(strings.NewReader(mustRun(t, append([]string{"history", "export", "--storage.path=" + dir, "--config.file=" + config}, strings.Fields(tt.args)...)...))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			got := columnSum(t, lines, tt.column)
			if math.Abs(got-tt.want) > 1e-9*tt.want {
				t.Errorf("%s is %v, of the API %v", tt.column, got, tt.want)
			}
		})
	}
	t.Run("beyond the bill", func(t *testing.T) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"history", "export", "--storage.path=" + dir, "--config.file=" + config}, &stdout, &stderr)
		if code != exitOK || strings.Count(stderr.String(), "costs from 2026-01-31T00:00:00Z on are at list prices") != 1 {
			t.Errorf("exit %d: %s", code, stderr.String())
		}
	})
}
