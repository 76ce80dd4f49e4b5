package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/notices"
)

// keptOnce fills a history from the blocks of writeDays, next to them.
var keptOnce = sync.OnceValues(func() (dir string, err error) {
	blocks, err := threeDaysOnce()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(threeDays, "history")
	var stderr bytes.Buffer
	if code := run(context.Background(), backfillArgs(blocks, dir, "--from=2026-01-30", "--log.level=error"), io.Discard, &stderr); code != exitOK {
		return "", fmt.Errorf("promcost backfill: exit %d: %s", code, stderr.String())
	}
	return dir, nil
})

// writeHistory fills a history from blocks and returns its directory.
func writeHistory(t *testing.T) string {
	t.Helper()
	dir, _ := writeHistoryOf(t)
	return dir
}

// writeHistoryOf fills a history and returns its directory and that of the blocks.
func writeHistoryOf(t *testing.T) (dir, blocks string) {
	t.Helper()
	kept, err := keptOnce()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "history")
	if err := os.CopyFS(dir, os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	return dir, writeDays(t)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	dir := writeHistory(t)
	at := "--storage.path=" + dir

	t.Run("ls", func(t *testing.T) {
		for args, want := range map[string]int{"": 37, "--period=daily": 1, "--period=hourly": 36, "--window=2026-01-30,2026-01-31": 25} {
			var list []listedSet
			if err := json.Unmarshal([]byte(mustRun(t, append([]string{"history", "ls", at, "-o", "json"}, strings.Fields(args)...)...)), &list); err != nil {
				t.Fatal(err)
			}
			if len(list) != want {
				t.Errorf("%q lists %d sets, want %d", args, len(list), want)
			}
		}
		if out := mustRun(t, "history", "ls", at); !strings.Contains(out, "2026-01-30T00:00:00Z  2026-01-31T00:00:00Z") || !strings.Contains(out, "37 sets, ") {
			t.Errorf("it says\n%s", out)
		}
	})
	t.Run("verify", func(t *testing.T) {
		if out := mustRun(t, "history", "verify", at); !strings.Contains(out, "37 sets in 147 files") {
			t.Errorf("it says\n%s", out)
		}
	})
	t.Run("export", func(t *testing.T) { testExport(t, dir) })
	t.Run("rm", func(t *testing.T) {
		rm := []string{"history", "rm", at, "--window=2026-01-30T00:00:00Z,2026-01-30T06:00:00Z"}
		if out := mustRun(t, rm...); !strings.Contains(out, "6 sets would be removed") {
			t.Errorf("it says\n%s", out)
		}
		if out := mustRun(t, append(rm, "--yes")...); !strings.Contains(out, "6 sets removed") {
			t.Errorf("it says\n%s", out)
		}
		if out := mustRun(t, "history", "verify", at); !strings.Contains(out, "31 sets in 123 files") {
			t.Errorf("it says\n%s", out)
		}
	})
	t.Run("damage", func(t *testing.T) {
		names, err := filepath.Glob(filepath.Join(dir, "allocations_hourly", "*", "date=2026-01-30", "hour=10", "*"))
		if err != nil || len(names) != 1 {
			t.Fatalf("%v %v", names, err)
		}
		data, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(names[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"history", "verify", at}, &stdout, &stderr)
		if code != exitError || !strings.Contains(stderr.String(), "date=2026-01-30/hour=10/part-1of1.g1.parquet") {
			t.Errorf("exit %d: %s", code, stderr.String())
		}
	})
}

// testExport compares the sums of the exported rows with those of the history.
func testExport(t *testing.T, dir string) {
	directory, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := history.New(directory, history.Options{})
	list, err := store.List(t.Context(), history.Hourly, allocation.Window{})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := store.Read(t.Context(), list.Sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, allocations, assetCosts := 0, 0.0, 0.0
	for _, s := range sets {
		rows += s.Len()
		for row := range s.Len() {
			allocations += s.TotalCost(row)
		}
		cost, _ := assets.List(s, assets.Options{}).TotalCost()
		assetCosts += cost
	}
	for _, tt := range []struct {
		name, args, column string
		want               float64
	}{
		{"csv of hours", "--period=hourly", "totalCost", allocations},
		{"csv of days, else hours", "", "totalCost", allocations},
		{"FOCUS 1.2", "-f focus --period=hourly", "EffectiveCost", assetCosts},
		{"FOCUS 1.3 of days, else hours", "-f focus --focus-version=1.3", "BilledCost", assetCosts},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := mustRun(t, append([]string{"history", "export", "--storage.path=" + dir}, strings.Fields(tt.args)...)...)
			lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if got := columnSum(t, lines, tt.column); math.Abs(got-tt.want) > 1e-9*tt.want {
				t.Errorf("the sum of %s is %v, want %v", tt.column, got, tt.want)
			}
			if tt.name == "csv of hours" && len(lines) != rows+1 {
				t.Errorf("%d lines of %d rows", len(lines), rows)
			}
			if has := slices.Contains(lines[0], "AllocatedMethodId"); has != strings.Contains(tt.args, "1.3") {
				t.Errorf("AllocatedMethodId: %t", has)
			}
		})
	}
}

// columnSum adds up a column of CSV.
func columnSum(t *testing.T, lines [][]string, name string) (sum float64) {
	t.Helper()
	at := slices.Index(lines[0], name)
	if at < 0 {
		t.Fatalf("no column %s in %v", name, lines[0])
	}
	for _, line := range lines[1:] {
		v, err := strconv.ParseFloat(line[at], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	return sum
}

// TestExportWarns checks that an export says what the sets that it has were computed without, once for all of them.
func TestExportWarns(t *testing.T) {
	t.Parallel()
	dir := writeHistory(t)
	var listed []listedSet
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"history", "ls", "--storage.path=" + dir, "--period=hourly", "-o", "json"}, &out, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if err := json.Unmarshal(out.Bytes(), &listed); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range listed {
		all = append(all, s.Warnings...)
	}
	many := len(all)
	want := notices.JoinWarnings(all)
	if len(want) == 0 || len(want) == many {
		t.Fatalf("%d of %d warnings are left: the history has none to join", len(want), many)
	}
	if code := run(t.Context(), []string{"history", "export", "--storage.path=" + dir, "--period=hourly"}, io.Discard, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if got := stderr.String(); got != "warning: "+strings.Join(want, "\nwarning: ")+"\n" {
		t.Errorf("got %s, want %q", got, want)
	}
}
