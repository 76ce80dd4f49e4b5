package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// threeDays is the directory of threeDaysOnce, "" before it is there; TestMain removes it.
var threeDays string

var threeDaysOnce = sync.OnceValues(func() (dir string, err error) {
	if threeDays, err = os.MkdirTemp("", "promcost-days"); err != nil {
		return "", err
	}
	dir = filepath.Join(threeDays, "demo")
	var stderr bytes.Buffer
	args := []string{"demo", "--write=" + dir, "--demo.end=2026-01-31T12:00:00Z", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=3d", "--demo.scrape-interval=2m"}
	if code := run(context.Background(), args, io.Discard, &stderr); code != exitOK {
		return "", fmt.Errorf("promcost %s: exit %d: %s", strings.Join(args, " "), code, stderr.String())
	}
	return dir, nil
})

// writeDays writes three days of a small cluster, which ended long ago, and returns their directory. All tests have the same
// one: it is only to be read.
func writeDays(t *testing.T) string {
	t.Helper()
	dir, err := threeDaysOnce()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// mustRun runs the program, which must end well, and returns what it wrote to standard output.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, &stdout, &stderr); code != exitOK {
		t.Fatalf("promcost %s: exit %d: %s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String()
}

// backfillArgs are the arguments of a backfill of blocks.
func backfillArgs(blocks, history string, more ...string) []string {
	return append([]string{"backfill", "--source=blocks", "--tsdb.path=" + blocks, "--storage.path=" + history, "--history.grace=0s"}, more...)
}

// historyFiles are the checksums of the files of a history, without what says how long things took.
func historyFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".stats.json") || strings.HasPrefix(path, filepath.Join(dir, "tmp")) {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	blocks, base := writeDays(t), t.TempDir()
	whole, parts := filepath.Join(base, "whole"), filepath.Join(base, "parts")

	t.Run("dry run keeps nothing", func(t *testing.T) {
		out := mustRun(t, backfillArgs(blocks, whole, "--from=2026-01-28T06:00:00Z", "--dry-run")...)
		if !strings.Contains(out, "78 hours to compute") || !strings.Contains(out, "million samples") {
			t.Errorf("it says\n%s", out)
		}
		if _, err := os.Stat(whole); err == nil {
			t.Error("the directory is there")
		}
	})
	t.Run("whole", func(t *testing.T) {
		out := mustRun(t, backfillArgs(blocks, whole, "--from=2026-01-28")...)
		// What ran when the data begin is charged from a scrape before, which is in the hour before.
		if !strings.Contains(out, "73 hours computed and kept, 0 were there, 11 without data") {
			t.Errorf("it says\n%s", out)
		}
	})
	t.Run("again finds nothing to do", func(t *testing.T) {
		before := historyFiles(t, whole)
		out := mustRun(t, backfillArgs(blocks, whole, "--from=2026-01-28T12:00:00Z")...)
		if !strings.Contains(out, "0 hours computed and kept, 72 were there") {
			t.Errorf("it says\n%s", out)
		}
		if diff := cmp.Diff(before, historyFiles(t, whole)); diff != "" {
			t.Error(diff)
		}
		if out := mustRun(t, backfillArgs(blocks, whole, "--from=2026-01-29", "--dry-run")...); !strings.Contains(out, "nothing to do") {
			t.Errorf("a dry run says\n%s", out)
		}
	})
	t.Run("what is no whole hour is left out", func(t *testing.T) {
		out := mustRun(t, backfillArgs(blocks, whole, "--from=2026-01-29T00:10:00Z", "--to=2026-01-31T11:30:00Z")...)
		for _, want := range []string{"00:10:00Z to 2026-01-29T01:00:00Z: only whole", "left out: 2026-01-31T11:00:00Z to 2026-01-31T11:30:00Z: only whole hours are kept that ended at least 0s ago", "58 were there"} {
			if !strings.Contains(out, want) {
				t.Errorf("it lacks %s:\n%s", want, out)
			}
		}
	})
	t.Run("in parts is the same", func(t *testing.T) {
		mustRun(t, backfillArgs(blocks, parts, "--from=2026-01-29T23:00:00Z", "--to=2026-01-30T00:00:00Z")...)
		mustRun(t, backfillArgs(blocks, parts, "--from=2026-01-29T03:00:00Z", "--to=2026-01-29T20:00:00Z", "--parallel=1")...)
		mustRun(t, backfillArgs(blocks, parts, "--from=2026-01-28", "--parallel=3")...)
		if diff := cmp.Diff(historyFiles(t, whole), historyFiles(t, parts)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("interrupted goes on", func(t *testing.T) { testInterrupted(t, blocks, whole) })
}

// stopWriter ends a context at the first line that has a text in it.
type stopWriter struct {
	text string
	stop context.CancelFunc
	lockedBuffer
}

func (w *stopWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.stop()
	}
	return w.lockedBuffer.Write(p)
}

// testInterrupted interrupts a backfill once some hours are kept: they stay, and another run does the others.
func testInterrupted(t *testing.T, blocks, want string) {
	dir := filepath.Join(t.TempDir(), "history")
	ctx, stop := context.WithCancel(t.Context())
	stderr := &stopWriter{text: "msg=Backfilling", stop: stop}
	var stdout bytes.Buffer
	code := run(ctx, backfillArgs(blocks, dir, "--from=2026-01-28T12:00:00Z", "--parallel=1"), &stdout, stderr)
	kept := 0
	for name := range historyFiles(t, dir) {
		if strings.HasPrefix(name, "sets_hourly") {
			kept++
		}
	}
	if told := fmt.Sprintf("interrupted: %d of 72 missing hours are kept: run it again", kept); kept == 0 || kept == 72 || code != exitError || !strings.Contains(stderr.String(), told) {
		t.Fatalf("exit %d, %d hours are kept: %s", code, kept, stderr.String())
	}
	if out := mustRun(t, backfillArgs(blocks, dir, "--from=2026-01-28")...); !strings.Contains(out, fmt.Sprintf("%d were there", kept)) && !strings.Contains(out, "1 was there") {
		t.Errorf("the second run says\n%s", out)
	}
	if diff := cmp.Diff(historyFiles(t, want), historyFiles(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestPaceLine(t *testing.T) {
	for _, tt := range []struct {
		done, all int
		elapsed   time.Duration
		want      string
	}{
		{0, 10, time.Second, "0 of 10 hours"},
		{5, 10, 2 * time.Second, "5 of 10 hours, 2s left, 2.5 hours/s"},
		{10, 10, 2 * time.Second, "10 of 10 hours, 0s left, 5.0 hours/s"},
	} {
		if got := paceLine(tt.done, tt.all, tt.elapsed); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	bar := barLine(6, 12, "x")
	for width, want := range map[int]string{0: "[============            ] x", 80: "[============            ] x", 40: "x"} {
		if got := withoutBar(bar, width); got != want {
			t.Errorf("in %d cells: got %q, want %q", width, got, want)
		}
	}
}
