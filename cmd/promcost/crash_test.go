package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestKill kills backfills at random points. What was stored before is still stored and sound, and in the end the history is that
// of an uninterrupted run, to the last byte.
func TestKill(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	blocks := filepath.Join(base, "blocks")
	mustRun(t, "demo", "--write="+blocks, "--demo.end=2026-01-31T02:00:00Z", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=6h", "--demo.scrape-interval=1m")
	args := func(dir string) []string { return backfillArgs(blocks, dir, "--from=2026-01-30", "--log.level=error") }
	begun := time.Now()
	uninterrupted := filepath.Join(base, "uninterrupted")
	backfillProcess(t, args(uninterrupted), -1)
	longest := time.Since(begun)
	want := historyFiles(t, uninterrupted)
	if len(want) != 3*(7+1) { // volumes lived for half a scrape interval before the first sample
		t.Fatalf("got %d files, want those of 7 hours and a day", len(want))
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same points each time
	dir, ended := filepath.Join(base, "0"), 0
	kills := soak.Of(10, 200)
	for killed := 0; killed < kills; {
		before := setNames(t, dir)
		// Many are killed late, where files are written.
		at := time.Duration((0.4 + random.Float64()/2) * float64(longest))
		done := backfillProcess(t, args(dir), at)
		after := setNames(t, dir)
		for name := range before {
			if !after[name] {
				t.Fatalf("after %d kills, %s is gone", killed, name)
			}
		}
		// The machine may be busier now than it was, or less.
		if !done {
			killed++
			longest += longest / 50
			continue
		}
		longest -= longest / 10
		if diff := cmp.Diff(want, historyFiles(t, dir)); diff != "" {
			t.Fatalf("after %d kills, the history differs (-uninterrupted +killed):\n%s", killed, diff)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		ended++
	}
	t.Logf("%d runs were killed, %d histories were finished, with runs of up to %s", kills, ended, longest)
	if backfillProcess(t, args(dir), -1); cmp.Diff(want, historyFiles(t, dir)) != "" {
		t.Error("the last history differs")
	}
}

// backfillProcess runs the program as a process of its own, kills it after a time unless that is below 0, and reports whether it
// came to its end.
func backfillProcess(t *testing.T, args []string, after time.Duration) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after >= 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer timer.Stop()
	}
	err := cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return false
	}
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return true
}

// setNames are the sets of a history, all of which must be sound.
func setNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	if _, err := os.Stat(dir); err != nil {
		return names
	}
	mustRun(t, "history", "verify", "--storage.path="+dir)
	var list []listedSet
	if err := json.Unmarshal([]byte(mustRun(t, "history", "ls", "--storage.path="+dir, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		names[list[i].Period+" "+list[i].Start.Format(time.RFC3339)] = true
	}
	return names
}

// TestCannotWrite checks the errors if a history cannot be written or read.
func TestCannotWrite(t *testing.T) {
	base := t.TempDir()
	blocks := filepath.Join(base, "blocks")
	mustRun(t, "demo", "--write="+blocks, "--demo.end=2026-01-31T02:00:00Z", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=2h", "--demo.scrape-interval=1m")
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(base, "newer")
	mustRun(t, backfillArgs(blocks, newer, "--from=2026-01-31T00:00:00Z", "--to=2026-01-31T01:00:00Z")...)
	names, err := filepath.Glob(filepath.Join(newer, "sets_hourly", "*", "*g1.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v %v", names, err)
	}
	rewriteManifest(t, names[0])
	for _, tt := range []struct {
		name, dir string
		want      []string
	}{
		{"not a directory", file, []string{"--storage.path=" + file, "give a"}},
		{"no directory", "/proc/promcost", []string{"--storage.path=/proc/promcost", "give a"}},
		{"newer schema", newer, []string{"hour=00", "written by a newer version of promcost", "upgrade this promcost"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), backfillArgs(blocks, tt.dir, "--from=2026-01-31"), &stdout, &stderr)
			for _, want := range tt.want {
				if code != exitError || !strings.Contains(stderr.String(), want) {
					t.Errorf("exit %d, want %q in: %s", code, want, stderr.String())
				}
			}
		})
	}
}

// rewriteManifest makes a manifest one of a newer version.
func rewriteManifest(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(strings.Replace(string(data), `{"version":1,`, `{"version":99,`, 1), "\n")
	sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, fmt.Appendf(nil, "%s\n%08x\n", text, sum), 0o600); err != nil {
		t.Fatal(err)
	}
}
