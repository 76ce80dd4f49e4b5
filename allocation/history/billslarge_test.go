package history_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestBillsOfManyTags takes in a bill in which every line has a tag of its own, by a process whose memory is bounded: no line is lost.
func TestBillsOfManyTags(t *testing.T) {
	lines := soak.Of(30_000, 2_000_000)
	dir := t.TempDir()
	writeManyTags(t, filepath.Join(dir, "from", "focus.csv.gz"), lines)
	cmd, _ := child(t, "takebills", dir)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
		t.Logf("%d lines take %d MB", lines, usage.Maxrss>>10)
		if most := int64(250); soak.On() && usage.Maxrss>>10 > most {
			t.Errorf("the process took %d MB, at most %d are allowed", usage.Maxrss>>10, most)
		}
	}
	d, err := history.OpenDirectory(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	book, err := billIntake(t, history.New(d, history.Options{}).Bills(), filepath.Join(dir, "from")).Book(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen, total, peak, read := make([]bool, lines), 0.0, uint64(0), 0
	before := heap()
	err = book.Read(t.Context(), october, func(l *billing.Line) error {
		run, err := strconv.Atoi(l.Tags.Get("run"))
		if err != nil || run >= lines || seen[run] || l.Resource.ID != "i-"+strconv.Itoa(run%100) {
			return fmt.Errorf("a line of %s has the tags %v, which are not those that were written, or are there twice", l.Resource.ID, l.Tags)
		}
		seen[run] = true
		total += l.Cost
		if read++; read%200_000 == 0 {
			peak = max(peak, uint64(heap()-before))
		}
		return nil
	})
	if err != nil || total != float64(lines)/4 || read != lines {
		t.Errorf("%d lines cost %v: %v, want %d that cost %v", read, total, err, lines, float64(lines)/4)
	}
	if most := uint64(100 << 20); peak > most {
		t.Errorf("reading took %d MB, at most %d are allowed", peak>>20, most>>20)
	}
}

// writeManyTags writes a bill of October 2026 in which every line has a tag of its own and costs a quarter.
func writeManyTags(t *testing.T, name string, lines int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	packed := gzip.NewWriter(file)
	out := bufio.NewWriter(packed)
	fmt.Fprint(out, billHeader)
	for i := range lines {
		at := time.Date(2026, 10, 1, i*31*24/lines, 0, 0, 0, time.UTC)
		fmt.Fprintf(out, "payer,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,sub,Usage,%s,%s,0.25,i-%d,\"{\"\"run\"\":\"\"%d\"\"}\"\n",
			at.Format(time.RFC3339), at.Add(time.Hour).Format(time.RFC3339), i%100, i)
	}
	settle := func() error {
		written := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
		return os.Chtimes(name, written, written)
	}
	for _, done := range []func() error{out.Flush, packed.Close, file.Close, settle} {
		if err := done(); err != nil {
			t.Fatal(err)
		}
	}
}
