package history_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/history"
)

// TestPrepare removes temporary files of dead writers, of this version and of older ones, and none that is being written.
func TestPrepare(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tmp/part-123", "tmp/probe-4", "probe-5"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd, out := child(t, "begin", dir)
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the writer says nothing")
	}
	live := lines.Text()
	if err := open(t, dir).Prepare(); err != nil {
		t.Fatal(err)
	}
	if got := leftIn(t, dir); !slices.Equal(got, []string{live}) {
		t.Errorf("while a process writes %s there are %q", live, got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // it was killed
	if err := open(t, dir).Prepare(); err != nil {
		t.Fatal(err)
	}
	if got := leftIn(t, dir); len(got) > 0 {
		t.Errorf("after it was killed there are %q", got)
	}
}

// TestSeveralPrepare lets writers start at once: each finds that it can write, whatever the others tidy.
func TestSeveralPrepare(t *testing.T) {
	dir := t.TempDir()
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 50 {
				if err := open(t, dir).Prepare(); err != nil {
					t.Errorf("another writer started at once: %v", err)
					return
				}
			}
		})
	}
	writers.Wait()
	if got := leftIn(t, dir); len(got) > 0 {
		t.Errorf("after all have started there are %q", got)
	}
}

// TestGone says that the directory is gone, whatever is in its place, and neither writes there nor takes it for what was kept.
func TestGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "history")
	d := open(t, dir)
	put := func(name string) error { return d.Put(t.Context(), name, []byte("x")) }
	if err := errors.Join(d.Gone(), put("sets_hourly/a")); err != nil {
		t.Errorf("while it is there: %v", err)
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"nothing", "another directory"} {
		for what, err := range map[string]error{
			"gone": d.Gone(), "put": put("sets_hourly/b"), "delete": d.Delete(t.Context(), "sets_hourly/a"), "prepare": d.Prepare(),
			"list": d.List(t.Context(), "sets_hourly", false, func(history.Object) error { return nil }),
		} {
			if err == nil || !strings.Contains(err.Error(), "mount its volume") || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s is in its place, %s: %v", in, what, err)
			}
		}
		if list, err := os.ReadDir(dir); in == "nothing" && !errors.Is(err, fs.ErrNotExist) || len(list) > 0 {
			t.Errorf("%s is in its place, where %d files were made: %v", in, len(list), err)
		}
		open(t, dir)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".old", dir), d.Gone(), put("sets_hourly/b")); err != nil {
		t.Errorf("once it is there again: %v", err)
	}
}

// leftIn are the temporary files of a directory.
func leftIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"tmp/*", "probe-*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

// begin begins to write a file, prints its temporary name, and waits to be killed.
func begin(dir string) error {
	name, err := history.Begin(dir)
	if err != nil {
		return err
	}
	fmt.Println(name)
	time.Sleep(time.Hour)
	return nil
}
