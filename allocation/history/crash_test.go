package history_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

var crashSeed = flag.Uint64("crash.seed", 1, "when processes are killed")

// TestMain is also the main function of processes that the tests kill: they are started with the name of what they do and
// a directory.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && children[os.Args[1]] != nil {
		if err := children[os.Args[1]](os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		return
	}
	os.Exit(soak.Main(m))
}

// children are the functions that child processes of the tests run in a directory.
var children = map[string]func(dir string) error{"fill": fill, "overfill": overfill, "compact": compact, "begin": begin, "takebills": takeBills}

// crashHours are how many hours are stored by a process that is not killed.
const crashHours = 12

// phases are the phases of fill, in order, as it prints them.
var phases = []string{"phase writing", "phase rolling up", "phase replacing", "phase compaction", "phase retention"}

// fill stores missing hours, then their day, then the first hours again, cleans up, and removes the first hour. It prints
// what is stored for good and what it is about to do.
func fill(dir string) error {
	ctx := context.Background()
	b, err := history.OpenDirectory(dir)
	if err != nil {
		return err
	}
	s := history.New(b, history.Options{Keep: time.Nanosecond})
	put := func(set *allocation.Set, o history.WriteOptions) error {
		o.Complete = true
		stored, err := s.Write(ctx, set, o)
		if err == nil {
			fmt.Println("stored", stored.Period, stored.Window.Start.Hour())
		}
		return err
	}
	var hours []*allocation.Set
	fmt.Println(phases[0])
	for i := range crashHours {
		set := soundSet(1, hour(i), 2, "c1", "c2")
		hours = append(hours, set)
		if err := put(set, history.WriteOptions{}); err != nil {
			return err
		}
	}
	fmt.Println(phases[1])
	day, err := passes.Merge(days(2)[1], hours)
	if err != nil {
		return err
	}
	if err := put(day, history.WriteOptions{Period: history.Daily}); err != nil {
		return err
	}
	fmt.Println(phases[2])
	for i := range 3 {
		l, err := s.List(ctx, history.Hourly, hour(i))
		if err != nil {
			return err
		}
		if l.Sets[0].Generation == 1 {
			if err := put(soundSet(2, hour(i), 2, "c1"), history.WriteOptions{Replace: true}); err != nil {
				return err
			}
		}
	}
	fmt.Println(phases[3])
	if _, err := s.Clean(ctx); err != nil {
		return err
	}
	fmt.Println(phases[4])
	_, err = s.Retain(ctx, history.Hourly, hour(0).End)
	return err
}

// child is a process that does one thing in a directory.
func child(t *testing.T, what, dir string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], what, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// TestKill kills processes that store sets, in each phase. Everything they reported as stored exists, and everything that
// exists is intact. In the end the store is the same as that of a process that was not killed.
func TestKill(t *testing.T) {
	want := tree(t, undisturbed(t))
	rng := rand.New(rand.NewPCG(*crashSeed, 0))
	t.Logf("-crash.seed=%d", *crashSeed)
	dir, reported, rounds, killed := t.TempDir(), map[string]bool{}, 0, map[string]int{}
	for i := range soak.Of(20, 200) {
		cmd, out := child(t, "fill", dir)
		lines := bufio.NewScanner(out)
		at, phase := phases[i%len(phases)], ""
		for lines.Scan() {
			if line := lines.Text(); !slices.Contains(phases, line) {
				reported[line] = true
				continue
			}
			if phase = lines.Text(); phase == at {
				time.AfterFunc(time.Duration(rng.IntN(20_000))*time.Microsecond, func() { _ = cmd.Process.Kill() }) // it may have ended
			}
		}
		err := cmd.Wait()
		if err != nil {
			killed[phase]++
		}
		if code := cmd.ProcessState.ExitCode(); code == 3 {
			t.Fatalf("it failed: %v %v", slices.Collect(maps.Keys(reported)), err)
		}
		checkWhole(t, dir, reported)
		if err == nil { // it came to its end
			if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
				t.Fatalf("-undisturbed +killed\n%s", diff)
			}
			rounds++
			dir, reported = t.TempDir(), map[string]bool{}
		}
	}
	if rounds == 0 {
		cmd, out := child(t, "fill", dir)
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Fatalf("-undisturbed +killed\n%s", diff)
		}
	}
	t.Logf("%d runs came to their end, the others were killed in %v", rounds, killed)
	if soak.On() && len(killed) < len(phases)-2 { // the last ones are short
		t.Errorf("processes were killed in %v only", killed)
	}
}

// undisturbed returns a directory that was filled by a process that was not killed.
func undisturbed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd, out := child(t, "fill", dir)
	text, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return dir
}

// checkWhole verifies that everything that was reported exists, and that everything that exists is intact.
func checkWhole(t *testing.T, dir string, reported map[string]bool) {
	t.Helper()
	b, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, there := history.New(b, history.Options{}), map[string]bool{}
	for p := range history.NumPeriods {
		sets := list(t, s, p, allocation.Window{})
		for i := range sets {
			there["stored "+p.String()+" "+strconv.Itoa(sets[i].Window.Start.Hour())] = true
			if _, err := s.Verify(t.Context(), &sets[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for line := range reported {
		if !there[line] && line != "stored hourly 0" { // which retention removes
			t.Fatalf("%s, and it is gone", line)
		}
	}
}

// tree is the content of a directory after all that is not needed was removed.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	b, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := history.New(b, history.Options{Now: func() time.Time { return time.Now().Add(24 * time.Hour) }})
	if _, err := s.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names(t, b) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	return files
}

// overfill stores an hour, then another one while files may not grow beyond what a disk that is full would let them.
func overfill(dir string) error {
	b, err := history.OpenDirectory(dir)
	if err != nil {
		return err
	}
	s := history.New(b, history.Options{})
	if _, err := s.Write(context.Background(), soundSet(1, hour(0), 2, "c1"), history.WriteOptions{}); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		return err
	}
	_, err = s.Write(context.Background(), soundSet(1, hour(1), 2, "c1"), history.WriteOptions{})
	return err
}

// TestDiskFull makes writes fail: the error names the file and the remedy, nothing of the file is left, and older files do
// not change.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	cmd, out := child(t, "overfill", dir)
	text, _ := io.ReadAll(out)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, want := range []string{"store hourly set of 2026-03-02T01:00:00Z: write history", "hour=01/part-1of1.g1.parquet", "file too large: is there room on the disk"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("error %s, want %s", text, want)
		}
	}
	checkWhole(t, dir, map[string]bool{"stored hourly 0": true})
	b, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, b); len(got) != 3 {
		t.Errorf("files %q", got)
	}
	write(t, history.New(b, history.Options{}), soundSet(1, hour(1), 2, "c1"), history.WriteOptions{})
	checkWhole(t, dir, map[string]bool{"stored hourly 0": true, "stored hourly 1": true})
}

// TestNotWritable has a file where a directory has to be, which stops root, too.
func TestNotWritable(t *testing.T) {
	s, dir := directory(t, history.Options{})
	if err := os.WriteFile(filepath.Join(dir, "tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Write(t.Context(), soundSet(1, hour(0), 2, "c1"), history.WriteOptions{})
	if err == nil || !strings.Contains(err.Error(), "may it be written to?") || errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if got := list(t, s, history.Hourly, allocation.Window{}); len(got) != 0 {
		t.Errorf("sets %+v", got)
	}
}
