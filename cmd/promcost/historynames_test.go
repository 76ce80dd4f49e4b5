package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMisplacedManifest copies a day's manifest to the name of another day. Every command names the file, none counts the
// day twice, and serving answers as before.
func TestMisplacedManifest(t *testing.T) {
	t.Parallel()
	dir := writeHistory(t)
	before := mustRun(t, "history", "export", "--storage.path="+dir, "--period=daily")
	days, err := filepath.Glob(filepath.Join(dir, "sets_daily", "*", "*.g1.json"))
	if err != nil || len(days) == 0 {
		t.Fatal(days, err)
	}
	data, err := os.ReadFile(days[0])
	if err != nil {
		t.Fatal(err)
	}
	const name = "sets_daily/year=2026/date=2026-01-15.part-1of1.g1.json"
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"history", "verify"},
		{"history", "ls"},
		{"history", "ls", "-o", "json"},
		{"history", "export"},
		{"history", "export", "--period=daily"},
		{"history", "export", "--format=focus"},
	} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), append(args, "--storage.path="+dir), &out, &stderr); code != exitError || !strings.Contains(stderr.String(), name) || !strings.Contains(stderr.String(), "remove it") {
			t.Errorf("%s: exit %d, %s; want %d and %s", strings.Join(args, " "), code, &stderr, exitError, name)
		}
	}
	p := start(t, "serve", "--source=none", "--storage.path="+dir, "--web.listen-address=127.0.0.1:0")
	const query = "/model/allocation?aggregate=cluster&accumulate=true&window="
	_, month := get(t, p.url(t)+query+"2026-01-01T00:00:00Z,2026-01-31T00:00:00Z")
	p.end(t)
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	p = start(t, "serve", "--source=none", "--storage.path="+dir, "--web.listen-address=127.0.0.1:0")
	if _, same := get(t, p.url(t)+query+"2026-01-01T00:00:00Z,2026-01-31T00:00:00Z"); costsOf(month) != costsOf(same) || costsOf(same) == "" {
		t.Errorf("with the misplaced manifest costs are\n%s, without\n%s", month, same)
	}
	p.end(t)
	if after := mustRun(t, "history", "export", "--storage.path="+dir, "--period=daily"); after != before {
		t.Error("the export differs after the copy is removed")
	}
	mustRun(t, "history", "verify", "--storage.path="+dir)
}

// costsOf is the data of an answer, without its warnings.
func costsOf(answer string) string {
	_, data, _ := strings.Cut(answer, `"data":`)
	data, _, _ = strings.Cut(data, `"warning`)
	return data
}

// TestMisplacedDataFile checks that verify names a copy of a data file, which promcost does not read, but others do.
func TestMisplacedDataFile(t *testing.T) {
	t.Parallel()
	dir := writeHistory(t)
	names, err := filepath.Glob(filepath.Join(dir, "allocations_daily", "*", "*", "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(names[0]), "copy.parquet"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"history", "verify", "--storage.path=" + dir}, &out, &stderr); code != exitOK || !strings.Contains(stderr.String(), "1 file belongs to no set, and promcost does not read it") || !strings.Contains(stderr.String(), "copy.parquet") {
		t.Errorf("exit %d, %s", code, &stderr)
	}
}

// TestListDamagedData checks that ls names data files that are missing or have another length than their manifests say.
func TestListDamagedData(t *testing.T) {
	t.Parallel()
	dir := writeHistory(t)
	names, err := filepath.Glob(filepath.Join(dir, "allocations_hourly", "*", "date=2026-01-30", "hour=0[23]", "*"))
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	if err := errors.Join(os.Remove(names[0]), os.Truncate(names[1], 0)); err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"history", "ls", "--storage.path=" + dir}, &out, &stderr)
	if code != exitError || !strings.Contains(stderr.String(), "it is missing") || !strings.Contains(stderr.String(), "it has 0 bytes") {
		t.Errorf("exit %d, %s", code, &stderr)
	}
}

// TestVerifyCounts has verify count every file that it reads, those with what was read for a set included.
func TestVerifyCounts(t *testing.T) {
	t.Parallel()
	dir := writeHistory(t)
	stats, err := filepath.Glob(filepath.Join(dir, "sets_*", "*", "*.stats.json"))
	if err != nil || len(stats) == 0 {
		t.Fatal(stats, err)
	}
	files := len(historyFiles(t, dir)) + len(stats)
	if out := mustRun(t, "history", "verify", "--storage.path="+dir); !strings.Contains(out, fmt.Sprintf(" sets in %d files of ", files)) {
		t.Errorf("there are %d files, it says\n%s", files, out)
	}
}
