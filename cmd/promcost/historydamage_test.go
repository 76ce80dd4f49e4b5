package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
)

// spoil flips a bit of the one file that a pattern is of.
func spoil(t *testing.T, pattern ...string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v are %v, %v", pattern, names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(names[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// rewriteHours writes hours of 2026-01-30 once more, as sets of a period, after change changed them.
func rewriteHours(t *testing.T, dir string, o history.WriteOptions, change func(*allocation.Set), hours ...int) {
	t.Helper()
	directory, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := history.New(directory, history.Options{})
	for _, h := range hours {
		start := time.Date(2026, 1, 30, h, 0, 0, 0, time.UTC)
		list, err := store.List(t.Context(), history.Hourly, allocation.Window{Start: start, End: start.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		sets, err := store.Read(t.Context(), list.Sets, nil)
		if err != nil || len(sets) != 1 {
			t.Fatalf("%d sets, %v", len(sets), err)
		}
		change(sets[0])
		if _, err := store.Write(t.Context(), sets[0], o); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackfillMends has backfill compute again what is damaged, in days and hours, data and manifests.
func TestBackfillMends(t *testing.T) {
	t.Parallel()
	dir, blocks := writeHistoryOf(t)
	spoil(t, dir, "allocations_hourly", "*", "date=2026-01-30", "hour=10", "*")
	if err := os.Remove(filepath.Join(dir, "sets_hourly", "date=2026-01-30", "hour=11.part-1of1.g1.json")); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir, "sets_hourly", "date=2026-01-30", "hour=12.part-1of1.g1.json")
	spoil(t, dir, "assets_daily", "*", "date=2026-01-30", "*")
	rewriteHours(t, dir, history.WriteOptions{Period: history.Counted, Complete: true}, func(*allocation.Set) {}, 5, 6) // as if they had been counted
	rewriteHours(t, dir, history.WriteOptions{Period: history.Hourly, Complete: true, Replace: true}, func(s *allocation.Set) { s.Disks[0].Cost++ }, 8)
	spoil(t, dir, "allocations_counted", "*", "date=2026-01-30", "hour=05", "*")
	spoil(t, dir, "sets_counted", "date=2026-01-30", "hour=06.part-1of1.g1.json")
	const from = "--from=2026-01-30"
	if out := mustRun(t, backfillArgs(blocks, dir, from, "--dry-run")...); !strings.Contains(out, "4 hours to compute") {
		t.Errorf("a dry run says\n%s", out)
	}
	if out := mustRun(t, backfillArgs(blocks, dir, from)...); !strings.Contains(out, "4 hours computed and kept, 32 were there") {
		t.Errorf("it says\n%s", out)
	}
	if out := mustRun(t, backfillArgs(blocks, dir, from)...); !strings.Contains(out, "0 hours computed and kept, 36 were there") {
		t.Errorf("again it says\n%s", out)
	}
	if out := mustRun(t, "history", "verify", "--storage.path="+dir); !strings.Contains(out, "40 sets in ") {
		t.Errorf("then verify says\n%s", out)
	}
}

// TestRemoveDamaged removes sets whose manifests cannot be read with the others of their time.
func TestRemoveDamaged(t *testing.T) {
	t.Parallel()
	dir := writeHistory(t)
	spoil(t, dir, "sets_hourly", "date=2026-01-30", "hour=03.part-1of1.g1.json")
	rm := []string{"history", "rm", "--storage.path=" + dir, "--window=2026-01-30T00:00:00Z,2026-01-30T06:00:00Z"}
	if out := mustRun(t, rm...); !strings.Contains(out, "5 sets would be removed, and 1 damaged manifest") || strings.Contains(out, "manifests") {
		t.Errorf("it says\n%s", out)
	}
	if out := mustRun(t, append(rm, "--yes")...); !strings.Contains(out, "5 sets removed, and 1 damaged manifest") || strings.Contains(out, "manifests") {
		t.Errorf("it says\n%s", out)
	}
	if out := mustRun(t, "history", "verify", "--storage.path="+dir); !strings.Contains(out, "31 sets in ") {
		t.Errorf("then verify says\n%s", out)
	}
}
