package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entries are the names in a directory.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestTemporaryDirectories kills a demo. The next one removes its directory, but not that of a third one that runs.
func TestTemporaryDirectories(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if err := os.Mkdir(filepath.Join(dir, "promcost-demo-of-others"), 0o755); err != nil {
		t.Fatal(err)
	}
	small := append([]string{"demo"}, smallDemo...)
	running := runDaemon(t, small...)
	own := entries(t, dir)
	killed := runDaemon(t, small...)
	both := entries(t, dir)
	if len(both) <= len(own) {
		t.Fatalf("two demos have %q", both)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.Wait() //nolint:errcheck // it was killed
	next := runDaemon(t, small...)
	for _, name := range both {
		_, err := os.Stat(filepath.Join(dir, name))
		if kept := slices.Contains(own, name); kept != (err == nil) {
			t.Errorf("%s is there: %v, want %v", name, err == nil, kept)
		}
	}
	for _, p := range []*daemon{running, next} {
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.Wait() //nolint:errcheck // it was killed
	}
	sweepTemporary()
	if left := entries(t, dir); len(left) != 1 || !strings.HasSuffix(left[0], "of-others") {
		t.Errorf("in the end there are %q", left)
	}
}
