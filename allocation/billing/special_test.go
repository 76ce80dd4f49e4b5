//go:build unix

package billing_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/promcost/promcost/allocation/billing"
)

// TestSpecialFiles leaves out pipes and devices among the files of a bill, which nobody may ever write to or which have no end, with a
// warning for each. The files beside them count.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "2026-11/a.csv", header+row("02", "i-1", "5"), 0)
	for _, name := range []string{"pipe.csv", "pipe.parquet", "pipe-manifest.json"} {
		if err := syscall.Mkfifo(filepath.Join(dir, "2026-11", name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	for name, target := range map[string]string{"zero.csv": os.DevNull, "folder.csv": t.TempDir()} {
		if err := os.Symlink(target, filepath.Join(dir, "2026-11", name)); err != nil {
			t.Fatal(err)
		}
	}
	n := newIntake(bucketOf(t, t.TempDir()), billing.Source{
		Bill: billing.Bill{Name: "b", Settle: billing.DefaultSettle, Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: bucketOf(t, dir), Root: dir, Where: dir},
	})
	book := look(t, n)
	if got := total(t, book); got != 5 {
		t.Errorf("the bill comes to %v, want 5", got)
	}
	told := strings.Join(book.Warnings(), "\n")
	for _, name := range []string{"pipe.csv", "pipe.parquet", "pipe-manifest.json", "zero.csv", "folder.csv"} {
		if !strings.Contains(told, name+" is a pipe, a device or a folder") {
			t.Errorf("the warnings lack %s: %s", name, told)
		}
	}
}
