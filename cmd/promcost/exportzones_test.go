package main

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportOfTwoZones exports a history that was filled in two time zones: no time is exported twice.
func TestExportOfTwoZones(t *testing.T) {
	t.Parallel()
	blocks, base := writeDays(t), t.TempDir()
	utc, both := filepath.Join(base, "utc"), filepath.Join(base, "both")
	mustRun(t, backfillArgs(blocks, utc, "--from=2026-01-28T12:00:00Z", "--log.level=error")...)
	if err := os.CopyFS(both, os.DirFS(utc)); err != nil {
		t.Fatal(err)
	}
	mustRun(t, backfillArgs(blocks, both, "--from=2026-01-28T12:00:00Z", "--timezone=Asia/Kolkata", "--log.level=error")...)
	sum := func(dir string, args ...string) (float64, string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), append([]string{"history", "export", "--storage.path=" + dir, "-f", "focus"}, args...), &stdout, &stderr); code != exitOK {
			t.Fatalf("export %v: exit %d: %s", args, code, stderr.String())
		}
		lines, err := csv.NewReader(&stdout).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return columnSum(t, lines, "BilledCost"), stderr.String()
	}
	const days = "--window=2026-01-29,2026-01-31"
	const indian = "--window=2026-01-28T18:30:00Z,2026-01-30T18:30:00Z"
	want, _ := sum(utc, days)
	shifted, _ := sum(both, indian, "--timezone=Asia/Kolkata", "--period=hourly")
	for _, tt := range []struct {
		name string
		args []string
		want float64
		tol  float64
		warn bool
	}{
		{"days of UTC", []string{days}, want, 1e-9, false},
		{"days of UTC, asked for", []string{days, "--timezone=UTC"}, want, 1e-9, false},
		{"hours of UTC", []string{days, "--period=hourly"}, want, 1e-9, false},
		{"days of the other zone", []string{indian, "--timezone=Asia/Kolkata"}, shifted, 1e-9, false},
		{"the same by UTC's hours", []string{indian, "--timezone=UTC"}, shifted, 0.05, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, said := sum(both, tt.args...)
			if math.Abs(got-tt.want) > tt.tol*tt.want {
				t.Errorf("BilledCost is %v, want %v", got, tt.want)
			}
			if warned := strings.Contains(said, "is left out"); warned != tt.warn {
				t.Errorf("it says %q", said)
			}
		})
	}
	all, _ := sum(utc)
	if got, said := sum(both); math.Abs(got-all) > 0.02*all {
		t.Errorf("all of it: BilledCost is %v, want %v: %s", got, all, said)
	}
}
