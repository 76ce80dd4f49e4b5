package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
)

// storedSets are the sets of a period in the history of a directory within a window, all for the zero window.
func storedSets(t *testing.T, dir string, p history.Period, w allocation.Window) (*history.Store, []history.Stored) {
	t.Helper()
	directory, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := history.New(directory, history.Options{})
	list, err := store.List(t.Context(), p, w)
	if err != nil {
		t.Fatal(err)
	}
	return store, list.Sets
}

// age makes stored sets of a window look as if the oldest rules had computed them.
func age(t *testing.T, dir string, p history.Period, w allocation.Window) {
	t.Helper()
	store, list := storedSets(t, dir, p, w)
	sets, err := store.Read(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		s.Rules = allocation.OldestRules
		if _, err := store.Write(t.Context(), s, history.WriteOptions{Period: p, Complete: true, Replace: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOlderRules lists hours and days that older rules computed, and computes them again.
func TestOlderRules(t *testing.T) {
	dir, blocks := writeHistoryOf(t)
	day := allocation.Window{Start: time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)}
	age(t, dir, history.Daily, day)
	age(t, dir, history.Hourly, allocation.Window{Start: day.Start.Add(4 * time.Hour), End: day.Start.Add(10 * time.Hour)})
	verify := func() string { return mustRun(t, "history", "verify", "--storage.path="+dir) }
	before := verify()
	for _, want := range []string{
		"37 sets in 141 files",
		"1 daily set was computed by older rules (version 1, the current one is 2): promcost backfill --recompute --from=2026-01-30T00:00:00Z --to=2026-01-31T00:00:00Z computes them again",
		"6 hourly sets were computed by older rules (version 1, the current one is 2): promcost backfill --recompute --from=2026-01-30T04:00:00Z --to=2026-01-30T10:00:00Z computes them again",
	} {
		if !strings.Contains(before, want) {
			t.Errorf("it lacks %q:\n%s", want, before)
		}
	}
	out := mustRun(t, backfillArgs(blocks, dir, "--recompute", "--from=2026-01-30T04:00:00Z", "--to=2026-01-30T10:00:00Z", "--log.level=error")...)
	if want := "0 hours computed and kept, 6 were there, of which 6 were computed again and replaced and 0 stay as they were, for the source has less of them now, 0 without data"; !strings.Contains(out, want) {
		t.Errorf("it lacks %q:\n%s", want, out)
	}
	if after := verify(); strings.Contains(after, "older rules") {
		t.Errorf("it still says\n%s", after)
	}
	_, hours := storedSets(t, dir, history.Hourly, day)
	for i := range hours {
		want := 1
		if h := hours[i].Window.Start.Hour(); h >= 4 && h < 10 {
			want = 3
		}
		if hours[i].Generation != want || hours[i].Rules != allocation.RulesVersion {
			t.Errorf("the hour of %s is of generation %d and rules %d, want generation %d", hours[i].Window.Start, hours[i].Generation, hours[i].Rules, want)
		}
	}
	if _, counted := storedSets(t, dir, history.Counted, day); len(counted) != 6 {
		t.Errorf("%d hours are kept as counters have counted them, want 6", len(counted))
	}
}

// TestRecomputeGivesTheSameBytes computes hours again that are as the source has them: their files stay the same but for the generation.
func TestRecomputeGivesTheSameBytes(t *testing.T) {
	dir, blocks := writeHistoryOf(t)
	before := historyFiles(t, dir)
	mustRun(t, backfillArgs(blocks, dir, "--recompute", "--from=2026-01-30", "--log.level=error")...)
	after := historyFiles(t, dir)
	for name, sum := range before {
		if filepath.Ext(name) == ".parquet" && after[strings.Replace(name, ".g1.", ".g2.", 1)] != sum {
			t.Errorf("%s is not the same when it is computed again", name)
		}
	}
}

// TestVerifyPrices finds hours that were kept with default prices although the source has prices, and computes them again.
func TestVerifyPrices(t *testing.T) {
	blocks, base := writeDays(t), t.TempDir()
	right, wrong := filepath.Join(base, "right"), filepath.Join(base, "wrong")
	fill := func(dir string, more ...string) {
		t.Helper()
		mustRun(t, backfillArgs(blocks, dir, append(more, "--log.level=error")...)...)
	}
	fill(right, "--from=2026-01-31T00:00:00Z", "--to=2026-01-31T06:00:00Z")
	fill(wrong, "--from=2026-01-31T02:00:00Z", "--to=2026-01-31T05:00:00Z", `--prometheus.exclude=job="opencost"`)
	fill(wrong, "--from=2026-01-31T00:00:00Z", "--to=2026-01-31T06:00:00Z")
	verify := func(dir string, more ...string) (code int, told string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), append([]string{"history", "verify", "--storage.path=" + dir, "--source=blocks", "--tsdb.path=" + blocks, "--log.level=error"}, more...), &stdout, &stderr)
		return code, stderr.String()
	}
	if code, told := verify(right); code != exitOK {
		t.Errorf("exit %d: %s", code, told)
	}
	code, told := verify(wrong)
	for _, want := range []string{
		"2026-01-31T02:00:00Z to 2026-01-31T05:00:00Z: prices of the sheet or defaults, although the source has ",
		" of node_cpu_hourly_cost, ", " of node_ram_hourly_cost, ", " of pv_hourly_cost: ",
		"promcost backfill --recompute --from=2026-01-31T02:00:00Z --to=2026-01-31T05:00:00Z computes them again",
		"3 hours have prices of the sheet or defaults although the source has prices",
	} {
		if code != exitError || !strings.Contains(told, want) {
			t.Errorf("exit %d, it lacks %q:\n%s", code, want, told)
		}
	}
	if _, told := verify(wrong, "--collector.opencost"); !strings.Contains(told, "promcost backfill --recompute --collector.opencost --from=2026-01-31T02:00:00Z --to=2026-01-31T05:00:00Z") {
		t.Errorf("the remedy does not say that promcost exposes prices:\n%s", told)
	}
	fill(wrong, "--recompute", "--from=2026-01-31T02:00:00Z", "--to=2026-01-31T05:00:00Z")
	if code, told := verify(wrong); code != exitOK {
		t.Errorf("exit %d after it was computed again: %s", code, told)
	}
	sameHours(t, readHours(t, right, allocation.Window{}), readHours(t, wrong, allocation.Window{}))
}
